"""How the next graph is found: one file a method, one `Proposal` type, one `propose` function."""

from .joint_criterion import JointModel
from .portfolio import MOST_STARTS, Method, propose
from .proposal import Proposal, Stage

__all__ = ["MOST_STARTS", "JointModel", "Method", "Proposal", "Stage", "propose"]
