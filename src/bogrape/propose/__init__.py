"""How the next graph is found: one file a method, one `Proposal` type, one `propose` function."""

from .portfolio import Method, propose
from .proposal import Proposal
from .request import Stage

__all__ = ["Method", "Proposal", "Stage", "propose"]
