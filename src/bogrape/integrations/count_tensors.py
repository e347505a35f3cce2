"""`CountTensors`: graphs as rows of a tensor with all counts that kernels use.

Columns, for graphs with at most n nodes, L labels, F features and K edge labels:

=============  ====================  ===============================================================
``sizes``      1                     number of nodes
``lengths``    n                     pairs of nodes at distance 0, 1, ...
``features``   L + F                 nodes with each label and feature
``pairs``      n * L * L             pairs at each distance, by the labels of their ends
``edges``      (K + 1) * L * L       edges by their labels and those of their ends, if K > 0
=============  ====================  ===============================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ..counts import Counts, count
from ..errors import InvalidInputError
from ..graph import Graph
from ..space import GraphSpace
from .missing import missing

try:
    import torch
except ImportError:
    raise missing("this module", "PyTorch", "torch") from None


@dataclass(frozen=True)
class CountTensors:
    """The counts of the graphs of a space as rows of double precision; `counts` reads them back.

    >>> tensors = CountTensors(GraphSpace(3, labels=2))
    >>> path = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]], labels=[0, 1, 0])
    >>> tensors([path])[0, :6].tolist()  # three nodes; pairs 0, 1 and 2 steps apart; labels
    [3.0, 3.0, 4.0, 2.0, 2.0, 1.0]
    """

    space: GraphSpace

    @cached_property
    def columns(self) -> dict[str, slice]:
        """Columns of each kind of count."""
        space = self.space
        squares = space.n_labels**2
        widths = {
            "sizes": 1,
            "lengths": space.n_max,
            "features": space.n_labels + space.n_features,
            "pairs": space.n_max * squares,
            "edges": (space.n_edge_labels + 1) * squares if space.n_edge_labels else 0,
        }
        ends = np.cumsum([0, *widths.values()]).tolist()
        pairs = pairwise(ends)
        return {name: slice(*pair) for name, pair in zip(widths, pairs, strict=True)}

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(max(part.stop for part in self.columns.values()))

    def __call__(self, graphs: Sequence[Graph]) -> torch.Tensor:
        """One row per graph."""
        space = self.space
        edges = space.n_edge_labels > 0
        counts = count(graphs, space.n_labels, pairs=True, edges=edges)
        if counts.lengths.shape[1] > space.n_max or counts.sizes.max() > space.n_max:
            raise InvalidInputError(
                f"expected graphs with at most {space.n_max} nodes, got {counts.sizes.max()}"
            )
        if counts.n_extra != space.n_features or counts.n_edge_labels > space.n_edge_labels:
            raise InvalidInputError(
                f"expected graphs with {space.n_features} features and edge labels up to "
                f"{space.n_edge_labels}, got {counts.n_extra} and {counts.n_edge_labels}"
            )
        counts = counts.padded(space.n_max, space.n_labels, space.n_edge_labels)
        assert counts.pairs is not None
        parts = [counts.sizes, counts.lengths, counts.features, counts.pairs]
        parts += [counts.edges] if counts.edges is not None else []
        rows = [part.reshape(len(counts), -1) for part in parts]
        return torch.from_numpy(np.concatenate(rows, axis=1).astype(np.float64))

    def counts(self, rows: torch.Tensor) -> Counts:
        """The counts stored in rows ``(B, width)``."""
        if rows.ndim != 2 or rows.shape[1] != self.width:
            raise InvalidInputError(
                f"expected rows of {self.width} counts, got shape {tuple(rows.shape)}; "
                "CountTensors(space)(graphs) makes them"
            )
        values = rows.detach().cpu().numpy()
        whole = np.rint(values).astype(np.int64)
        if not np.array_equal(values, whole):
            raise InvalidInputError("expected rows of whole numbers: counts of graphs")
        at: dict[str, Any] = {name: whole[:, part] for name, part in self.columns.items()}
        n_labels, b = self.space.n_labels, len(whole)
        ends = (b, -1, n_labels, n_labels)
        edges = at["edges"].reshape(ends) if self.space.n_edge_labels else None
        return Counts(
            at["sizes"][:, 0],
            at["lengths"],
            at["pairs"].reshape(ends),
            at["features"],
            n_labels,
            edges,
        )
