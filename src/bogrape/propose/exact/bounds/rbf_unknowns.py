r"""What is not known of a molecule at each step of a screen, as whole numbers in ranges.

Unknown are, at first, the table of edges X, the tables M of edges with labels from 2 on, and the
numbers W of pairs within 2, 3, .. steps; then M and W, and then W alone (`rbf_factors`). Scaled
cells of the kernel are multiples of X, of :math:`X - \sum_k M_k`, of :math:`M_k` and of W, apart
from constants. This module finds the middle of the ranges, the kernel values there and the
quantities that `rbf_expansion` needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....arrays import FloatArray, IntArray
from ....groups import N_NEAR
from .rbf_expansion import Around, Expansion
from .rbf_factors import RbfFactors
from .rbf_screens import RbfScreens


@dataclass(frozen=True, eq=False)
class Tables:
    """Ranges of the tables of edges and of further labels, one pair of them per row."""

    edges: FloatArray  # middle of X, (B, types)
    edges_reach: FloatArray
    further: FloatArray  # middle of M, (B, labels, types)
    further_reach: FloatArray

    @classmethod
    def between(
        cls, low: IntArray, high: IntArray, totals: IntArray, most: IntArray
    ) -> tuple[Tables, IntArray]:
        """Ranges of the rows that are possible, and the indices of these rows.

        Args:
            low: the fewest edges of each type, (B, types).
            high: the most.
            totals: number of edges with each further label, (B, labels).
            most: the largest number of these of each type, (labels, types).
        """
        caps = np.minimum(np.minimum(totals[:, :, None], most), high[:, None])
        room = caps.sum(axis=2)
        possible = np.flatnonzero((room >= totals).all(axis=1))
        caps, room, totals = caps[possible], room[possible], totals[possible]
        least = np.maximum(totals[:, :, None] - (room[:, :, None] - caps), 0)
        low, high = low[possible], high[possible]
        out = cls((low + high) / 2, (high - low) / 2, (least + caps) / 2, (caps - least) / 2)
        return out, possible


class Unknowns:
    """Unknown counts of graphs with one composition, on skeletons with the same degrees."""

    def __init__(
        self, screens: RbfScreens, composition: IntArray, low: IntArray, high: IntArray
    ) -> None:
        """``low`` and ``high`` are numbers of pairs within 1, 2, .. steps, (n - 1, types)."""
        self._screens, self._composition = screens, composition
        self.factors: RbfFactors = screens.factors
        self.low, self.high = low, high
        weights, n = self.factors.weights, self.factors.n_nodes
        self._near = math.sqrt(weights.get("within_1", 0.0)) * self.factors.units / n**2
        self._labelled = math.sqrt(weights.get("edge_labels", 0.0)) * self.factors.units / n**2

    # -- steps --------------------------------------------------------------------------------

    def with_tables(self, tables: Tables) -> tuple[Expansion, Around]:
        """The test if tables are in ranges, too, and what it needs to know for each row."""
        factors = self.factors
        number, width = len(tables.edges), len(self._paths_reach)
        edges, further = tables.edges.mean(axis=0), tables.further.mean(axis=0)
        tau = np.concatenate([self._targets(edges, further), self._paths_away], axis=1)
        reach = np.concatenate(
            [
                tables.edges_reach,
                tables.further_reach.reshape(number, -1),
                np.broadcast_to(self._paths_reach, (number, width)),
            ],
            axis=1,
        )
        moved, others = edges - tables.edges, further - tables.further
        rest = self._labelled**2 * (moved - others.sum(axis=1))
        pulls = self._labelled**2 * others - rest[:, None]
        pull = np.zeros_like(reach)
        pull[:, : len(factors.types)] = self._near**2 * moved + rest
        pull[:, len(factors.types) : -width or None] = pulls.reshape(number, -1)
        most = tables.edges_reach + tables.further_reach.sum(axis=1)
        square = ((self._near * tables.edges_reach) ** 2).sum(axis=1)
        square += ((self._labelled * most) ** 2).sum(axis=1)
        square += ((self._labelled * tables.further_reach) ** 2).sum(axis=(1, 2))
        square += float(self._paths_reach @ self._paths_reach)
        around = Around(reach, pull, square * (1.0 + 1e-12))
        return Expansion(self._screens, tau), around

    @cached_property
    def paths(self) -> tuple[Expansion, Around]:
        """The test if only paths are unknown, and what it needs to know."""
        reach = self._paths_reach[None]
        square = (reach**2).sum(axis=1) * (1.0 + 1e-12)
        return Expansion(self._screens, self._paths_away), Around(reach, 0.0 * reach, square)

    def kernel(self, logs: FloatArray) -> FloatArray:
        """Kernel values with paths in the middle of their ranges, given the other factors."""
        return np.asarray(self._screens.alpha * np.exp(logs + self._of_paths))

    def of_middle(self, tables: Tables) -> FloatArray:
        """Logarithms of the factors of tables in the middle of their ranges."""
        logs = self.factors.of_edges(tables.edges, self._composition)
        logs = logs + self.factors.of_further(tables.further)
        both = self._labelled**2 * tables.edges * tables.further.sum(axis=1)
        return np.asarray(logs + both.sum(axis=1)[:, None])

    # -- cells --------------------------------------------------------------------------------

    def _targets(self, edges: FloatArray, further: FloatArray) -> FloatArray:
        """The observations relative to two tables, times what each number does to the cells."""
        factors, group = self.factors, self.factors.of_group
        weights, n = factors.weights, factors.n_nodes
        nodes = factors.of_nodes(self._composition) / n**2
        near = math.sqrt(weights.get("within_1", 0.0)) * (group["within_1"] - nodes)
        near = self._near * (near - self._near * edges)
        n_labels = 1 + len(further)
        labels = math.sqrt(weights.get("edge_labels", 0.0)) * group["edge_labels"]
        away = np.zeros((len(labels), n_labels, len(factors.types)))
        there = min(n_labels, labels.shape[1] - 1)
        away[:, :there] = labels[:, 1 : there + 1]
        away[:, 0] -= self._labelled * (edges - further.sum(axis=0))
        away[:, 1:] -= self._labelled * further
        away *= self._labelled
        others = away[:, 1:] - away[:, :1]
        return np.concatenate([near + away[:, 0], others.reshape(len(labels), -1)], axis=1)

    @cached_property
    def _path_cells(self) -> tuple[FloatArray, FloatArray]:
        """The smallest and the largest cells of paths, in the order of the factors."""
        factors, n = self.factors, self.factors.n_nodes
        nodes = factors.of_nodes(self._composition)
        low, high = [], []
        for s in range(2, N_NEAR):
            scale = math.sqrt(factors.weights.get(f"within_{s}", 0.0)) / n**2
            step = min(s, n - 1) - 1
            low.append(scale * (self.low[step] * factors.units + nodes))
            high.append(scale * (self.high[step] * factors.units + nodes))
        scale = math.sqrt(factors.weights.get("farther", 0.0)) / n**2
        for s in range(N_NEAR, n - 1):
            low.append(scale * (self.high[-1] - self.high[s - 1]) * factors.units)
            high.append(scale * (self.low[-1] - self.low[s - 1]) * factors.units)
        return np.concatenate(low), np.concatenate(high)

    @cached_property
    def _moving(self) -> IntArray:
        low, high = self._path_cells
        return np.flatnonzero(high > low)

    @cached_property
    def _paths_reach(self) -> FloatArray:
        low, high = self._path_cells
        return np.asarray((high - low)[self._moving] / 2)

    @cached_property
    def _paths_away(self) -> FloatArray:
        low, high = self._path_cells
        observed, _ = self.factors.observed_paths
        return np.asarray((observed - (low + high) / 2)[:, self._moving])

    @cached_property
    def _of_paths(self) -> FloatArray:
        """Logarithms of the factors of paths in the middle of their ranges."""
        low, high = self._path_cells
        observed, squares = self.factors.observed_paths
        middle = (low + high) / 2
        return np.asarray(observed @ middle - 0.5 * float(middle @ middle) - squares)
