"""Graphs of a batch as RDKit molecules, cached for the next rule that needs them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from ..batch import Batch
from .identity import unchecked_mol

_MOST = 10_000  # molecules that are kept, a few kilobytes each
_kept: OrderedDict[Hashable, Any] = OrderedDict()


def molecule(batch: Batch, i: int, elements: tuple[str, ...]) -> Any:
    """The i-th graph as a sanitised ``Mol``; ``None`` if it is not a valid molecule."""
    key = (batch.n_nodes, batch.raw(i), elements)
    if key not in _kept:
        _kept[key] = _made(batch, i, elements)
        if len(_kept) > _MOST:
            _kept.popitem(last=False)
    return _kept[key]


def _made(batch: Batch, i: int, elements: tuple[str, ...]) -> Any:
    if batch.edge_labels is None or batch.labels[i].max() >= len(elements):
        return None
    try:
        return unchecked_mol(batch.graph(i), elements)
    except (ValueError, RuntimeError, KeyError):
        return None
