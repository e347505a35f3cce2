"""`NodeKind`: a possible combination of label, degree and features of a node."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeKind:
    """A node with this label, this many edges and these features.

    ``ends`` says how many of its edges have the edge labels 1, 2, ...; it is empty where nothing
    is said about them.
    """

    label: int
    degree: int
    features: tuple[bool, ...] = ()
    ends: tuple[int, ...] = ()
