"""Graphs as variables of a Boolean solver, and back: the only place that knows both.

`GraphEncoding` writes all graphs of one `Structure` into a CP-SAT model; `lift` turns a graph into
values of its variables and `decode` turns values back into a graph.
"""

from .graph_encoding import GraphEncoding
from .structure import Structure, structures

__all__ = ["GraphEncoding", "Structure", "structures"]
