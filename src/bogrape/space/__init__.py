"""`GraphSpace`: which graphs there are to choose from."""

from .graph_space import GraphSpace

__all__ = ["GraphSpace"]
