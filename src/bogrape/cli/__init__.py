"""The ``bogrape`` command: parse, compose, print."""

from .main import main

__all__ = ["main"]
