"""Methods that find the next graph: one file each, one `Proposal` type, one `propose`."""

from .joint_criterion import JointModel
from .portfolio import MOST_STARTS, Method, check_client, propose
from .proposal import Proposal, Stage

__all__ = ["MOST_STARTS", "JointModel", "Method", "Proposal", "Stage", "check_client", "propose"]
