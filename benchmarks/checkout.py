"""Path of the checkout. Modules of `benchmarks` can only be imported from there."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
