"""`NodeKind`: a possible combination of label, degree and features of a node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Kind of node: its label, its number of edges and its features.

    ``ends`` says how many of its edges have the edge labels 1, 2, ...; it is empty if edge
    labels are not restricted.
    """

    label: int
    degree: int
    features: tuple[bool, ...] = ()
    ends: tuple[int, ...] = ()
