r"""The exponents of the kernel ``rbf`` as sums of squares of linear functions of the counts.

With ``k(x, x_i) = exp(-u_i / 2)`` for the i-th observation,

.. math:: u_i(x) = a_i + \sum_j d_j (C_j(x) - t_{ij})^2 ,

where every *cell* ``C_j`` is a sum of some counts of one type (pairs with given labels within a
number of steps, or farther apart; nodes with a feature), and ``a_i`` is constant in the piece: it
includes the numbers of nodes with each label, pairs with labels that no node of the piece has, and,
in connected graphs, pairs joined by a path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import cast

import numpy as np

from ....arrays import FloatArray
from ....groups import PATH_GROUPS, divisors, group_counts, path_layers
from ....kernels import RBF
from ....posterior import FittedModel
from ..distances.coordinates import LabelledDistance
from ..distances.variables import Variables
from .lines_below import Box


@dataclass(frozen=True, eq=False, kw_only=True)
class RbfCells:
    """The cells ``rows @ x``, with their weights and the targets of the observations.

    With `Variables` that are pairs within s steps, a cell is one of them, or the difference of two.
    """

    rows: FloatArray  # (J, variables), entries -1, 0 and 1
    weights: FloatArray  # (J,): d above
    targets: FloatArray  # (T, J): t above
    apart: FloatArray  # (T,): a above
    # ranges of the cells that follow from limits on pairs far apart
    least: FloatArray  # (J,)
    most: FloatArray

    @classmethod
    def of(
        cls,
        fitted: FittedModel,
        variables: Variables,
        *,
        connected: bool,
        most_far: Sequence[float] = (),
    ) -> RbfCells:
        """The cells of a piece with a composition.

        If all pairs of nodes are ``connected``, ``most_far[s]`` is the largest number of pairs at
        distance s or more.
        """
        made = _Maker(fitted, variables, connected, most_far)
        made.labels()
        made.paths()
        made.features()
        return made.cells()

    def exponents(self, x: FloatArray) -> FloatArray:
        """``u_i(x)`` for one x."""
        return self.apart + (self.rows @ x - self.targets) ** 2 @ self.weights

    def ranges(self, box: Box) -> tuple[FloatArray, FloatArray]:
        """The least and the largest value of each cell."""
        plus, minus = np.maximum(self.rows, 0.0), np.maximum(-self.rows, 0.0)
        low = np.maximum(plus @ box.low - minus @ box.high, self.least)
        high = np.minimum(plus @ box.high - minus @ box.low, self.most)
        return low, np.maximum(low, high)  # low > high if no counts are in the box


class _Maker:
    def __init__(
        self,
        fitted: FittedModel,
        variables: Variables,
        connected: bool,
        most_far: Sequence[float],
    ) -> None:
        coordinates = variables.coordinates
        self._variables = variables
        if coordinates.composition is None:
            raise ValueError("expected a piece with a composition, got one without")
        self._composition = coordinates.composition
        self._coordinates, self._connected = coordinates, connected
        self._most_far = most_far
        self._kernel_weights = cast("RBF", fitted.kernel).weights
        n_lengths = max(coordinates.longest + 1, fitted.counts.lengths.shape[1])
        n_labels = max(coordinates.shape.n_labels, fitted.counts.n_labels)
        self._n_labels = n_labels
        self._layers = path_layers(n_lengths)
        observed = fitted.counts.padded(n_lengths, n_labels)
        self._observed = {
            group: rows / divisors(observed, group)[:, None]
            for group, rows in group_counts(observed, self._kernel_weights).items()
        }
        self._apart = np.zeros(len(observed))
        # weight and targets of each cell, by the positions of the counts that it adds up
        self._found: dict[tuple[int, ...], tuple[float, FloatArray]] = {}
        self._types: dict[tuple[int, ...], tuple[int, ...] | None] = {}

    def labels(self) -> None:
        numbers = np.zeros(self._n_labels)
        numbers[: len(self._composition)] = self._composition
        self._constant("labels", numbers / self._coordinates.shape.n_nodes**2)

    def paths(self) -> None:
        n, directed = self._coordinates.shape.n_nodes, self._coordinates.shape.directed
        at = self._coordinates.at_labelled_distance
        names = range(self._n_labels)
        there = [label for label, number in enumerate(self._composition) if number]
        missing = np.ones((self._n_labels, self._n_labels), dtype=bool)
        missing[np.ix_(there, there)] = False
        for group in PATH_GROUPS[1:]:
            layers, of_group = self._layers[group], self._kernel_weights[group]
            shape = (len(layers), self._n_labels, self._n_labels)
            targets = self._observed[group].reshape(-1, *shape)
            # these counts are zero in every graph of the piece
            self._apart += of_group * (targets[:, :, missing] ** 2).sum(axis=(1, 2))
            for layer, inside in enumerate(layers):
                lengths = np.flatnonzero(inside).tolist()
                for a, b in product(names, names):
                    if missing[a, b] or (a > b and not directed):
                        continue  # (b, a) counts twice instead
                    members = [at.get(LabelledDistance(s, a, b)) for s in lengths]
                    places = tuple(sorted(i for i in members if i is not None))
                    # an unordered pair is two ordered ones: both in one cell, or in two equal cells
                    each = (2 if a == b and not directed else 1) / n**2
                    weight = of_group * (2 if a < b and not directed else 1)
                    nodes = self._composition[a] if a == b else 0
                    fixed = inside[0] * nodes / n**2
                    self._add(weight, places, (a, b), each, targets[:, layer, a, b] - fixed)

    def features(self) -> None:
        if "features" not in self._kernel_weights:
            return
        n = self._coordinates.shape.n_nodes
        first = len(self._coordinates.paths)
        for m, target in enumerate(self._observed["features"].T):
            weight = self._kernel_weights["features"]
            self._add(weight, (first + m,), None, 1 / n, target)

    def _constant(self, group: str, value: FloatArray) -> None:
        squares = (value - self._observed[group]) ** 2
        self._apart += self._kernel_weights[group] * squares.sum(axis=1)

    def _add(
        self,
        weight: float,
        places: tuple[int, ...],
        kind: tuple[int, ...] | None,
        each: float,
        target: FloatArray,
    ) -> None:
        """Add the weighted square of ``each * (sum of the counts at these places) - target``."""
        if not places:
            self._apart += weight * target**2
            return
        if kind is not None and self._connected and len(places) == self._coordinates.longest:
            total = self._coordinates.n_pairs(*kind)
            self._apart += weight * (each * total - target) ** 2
            return
        weight, target = weight * each**2, target / each
        self._types[places] = kind
        if places in self._found:  # two squares in one variable are one plus a constant
            other, beside = self._found[places]
            both = weight + other
            self._apart += weight * other / both * (target - beside) ** 2
            weight, target = both, (weight * target + other * beside) / both
        self._found[places] = weight, target

    def cells(self) -> RbfCells:
        shape = len(self._found), len(self._coordinates)
        rows = np.zeros(shape)
        lowest, highest = np.zeros(shape[0]), np.full(shape[0], math.inf)
        for j, places in enumerate(self._found):
            rows[j, list(places)] = 1.0
            kind = self._types[places]
            if kind is not None:
                lowest[j], highest[j] = self._range(places, self._coordinates.n_pairs(*kind))
        targets = [target for _, target in self._found.values()]
        return RbfCells(
            rows=rows @ self._variables.matrix,
            weights=np.array([weight for weight, _ in self._found.values()]),
            targets=np.array(targets).reshape(shape[0], len(self._apart)).T,
            apart=self._apart,
            least=lowest,
            most=highest,
        )

    def _range(self, places: tuple[int, ...], n_pairs: int) -> tuple[float, float]:
        """Range of a cell, from limits on the numbers of pairs far apart."""
        if not self._most_far:
            return 0.0, n_pairs
        lengths = [self._coordinates.paths[i][0] for i in places]
        far = [*self._most_far, 0.0]  # no pair is beyond the longest distance
        if min(lengths) > 1:
            return 0.0, min(n_pairs, far[min(lengths)])
        is_near = len(lengths) == max(lengths)
        return (max(0.0, n_pairs - far[max(lengths) + 1]) if is_near else 0.0), n_pairs
