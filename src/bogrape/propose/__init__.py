"""Methods that find the next graph: one file each, one `Proposal` type, one `propose`."""

from .joint_criterion import JointModel
from .portfolio import MOST_STARTS, Method, propose
from .proposal import Proposal, Stage

__all__ = ["MOST_STARTS", "JointModel", "Method", "Proposal", "Stage", "propose"]
