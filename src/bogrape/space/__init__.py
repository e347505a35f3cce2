"""`GraphSpace`: the set of graphs to choose from."""

from .graph_space import GraphSpace

__all__ = ["GraphSpace"]
