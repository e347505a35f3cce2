"""Bayesian optimisation over graphs: a graph space and a few observations go in, the best next graph
comes out, with a proof of how good it is."""

from . import constraints
from .acquisition import EI, LCB
from .errors import BoGrapeError
from .gp import GraphGP
from .graph import Graph
from .propose import Proposal, propose
from .space import GraphSpace

__all__ = [
    "EI",
    "LCB",
    "BoGrapeError",
    "Graph",
    "GraphGP",
    "GraphSpace",
    "Proposal",
    "constraints",
    "propose",
]
