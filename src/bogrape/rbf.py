r"""`RBF`: a Gaussian kernel over groups of counts, with a length scale for each.

With the counts :math:`C_g` of each group g (`bogrape.groups`), which include labels and features
of nodes, so that no feature kernel is needed,

.. math:: k = \exp\Bigl(-\tfrac12 \sum_g \frac{\|C_g - C'_g\|^2}{v_g\, \ell_g^2}\Bigr) .

The scale :math:`v_g` is the mean of the numerator over pairs of typical graphs. They should be
random graphs of the space: observed ones concentrate around the best, so that the meaning of
a length scale, and of its prior, would change from step to step.

The value of a graph with itself is the same for all graphs, so none is attractive merely for being
extreme, and the fitted length scales show which distances matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from .arrays import FloatArray
from .counts import Counts
from .errors import InvalidInputError
from .groups import GROUPS, squared_distances, typical_squares
from .kernel import Kernel, LogNormal

# Two random graphs differ by about as much as one length scale; the factor is that of the
# experiments in which these priors were chosen.
_LENGTH_PRIOR = LogNormal(0.3, 1.0)
_LENGTH_RANGE = (2e-2, 1e2)
_USUAL_LENGTH = math.exp(_LENGTH_PRIOR.mean)
_ALIKE = 1.5  # largest factor between the importance of groups reported as equally important


@final
@dataclass(frozen=True, kw_only=True)
class RBF(Kernel):
    """A Gaussian of the distances between two graphs in each group of counts.

    Attributes:
        length_labels, ...: length scales; the shorter, the more the group matters. The unit is the
            root mean square distance of the graphs it is scaled to.
        scales: squares of those distances for the compared groups; see `scaled_to`.
    """

    length_labels: float = _USUAL_LENGTH
    length_within_1: float = _USUAL_LENGTH
    length_within_2: float = _USUAL_LENGTH
    length_within_3: float = _USUAL_LENGTH
    length_farther: float = _USUAL_LENGTH
    length_features: float = _USUAL_LENGTH
    length_edge_labels: float = _USUAL_LENGTH
    scales: tuple[tuple[str, float], ...] = ()
    name = "rbf"
    labelled = True
    includes_features = True

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups it compares; all of them while it is not scaled."""
        return tuple(group for group, _ in self.scales) or GROUPS

    @property
    def edge_labelled(self) -> bool:
        """True if it reads ``Counts.edges``."""
        return "edge_labels" in self.groups

    @property
    def lengths(self) -> dict[str, float]:
        """The length scale of each group."""
        return {group: float(getattr(self, f"length_{group}")) for group in self.groups}

    def scaled_to(self, counts: Counts) -> RBF:
        """The kernel scaled so that these graphs are at root mean square distance 1 in each group.

        Groups in which such graphs cannot differ are left out: features, where there are none, and
        edge labels likewise. The graphs may be random ones of a space or observed ones; their
        counts must have been made with ``edges=True``.
        """
        return replace(self, scales=tuple(typical_squares(counts).items()))

    @property
    def weights(self) -> dict[str, float]:
        """Factors of the squared distances in the exponent: ``1 / (v l^2)``."""
        return {group: 1.0 / (v * self.lengths[group] ** 2) for group, v in self.scales}

    def squares(self, left: Counts, right: Counts) -> dict[str, FloatArray]:
        """Squared distances in each group."""
        if not self.scales:
            raise InvalidInputError(
                "expected a kernel that is scaled to some graphs, got an unscaled RBF(); try "
                "RBF().scaled_to(count(graphs, edges=True)), or GraphGP, which does so"
            )
        return squared_distances(left, right, self.groups)

    def of_squares(self, squares: Mapping[str, FloatArray]) -> FloatArray:
        """Kernel values at these `squares`."""
        (first, weight), *others = self.weights.items()
        total = squares[first] * (-0.5 * weight)
        for group, weight in others:
            total += squares[group] * (-0.5 * weight)
        return np.asarray(np.exp(total, out=total))

    def gradients_of_squares(
        self, values: FloatArray, squares: Mapping[str, FloatArray]
    ) -> dict[str, FloatArray]:
        """Derivatives of kernel values by the logarithms of the length scales."""
        weights = self.weights.items()
        return {f"length_{group}": values * (weight * squares[group]) for group, weight in weights}

    def cross(self, left: Counts, right: Counts) -> FloatArray:
        """Matrix of kernel values between two batches."""
        return self.of_squares(self.squares(left, right))

    def diagonal(self, counts: Counts) -> FloatArray:
        """The value of each graph with itself, which is one."""
        return np.ones(len(counts))

    def hyperparameters(self) -> dict[str, tuple[float, float]]:
        """The length scales of the groups it compares."""
        return {f"length_{group}": _LENGTH_RANGE for group in self.groups}

    def gradients(self, counts: Counts) -> dict[str, FloatArray]:
        """Derivatives of ``cross(counts, counts)`` by the logarithms of the length scales."""
        squares = self.squares(counts, counts)
        return self.gradients_of_squares(self.of_squares(squares), squares)

    def priors(self) -> dict[str, LogNormal]:
        """Log-normal for all length scales and the amplitude."""
        return {
            "alpha": LogNormal(0.0, 1.0),
            **dict.fromkeys(self.hyperparameters(), _LENGTH_PRIOR),
        }

    def largest(self) -> float:
        """The value of a graph with itself."""
        return 1.0

    def in_words(self, n_labels: int) -> list[str]:
        """The most important groups in one sentence."""
        shares = self.importance()
        words = [f"{_words(group, n_labels)} ({100 * shares[group]:.0f} %)" for group in shares]
        if max(shares.values()) < _ALIKE * min(shares.values()):
            return [f"All of these matter about equally: {', '.join(words)}."]
        others = "".join(
            f", then {word}" if i == 0 else f", {word}" for i, word in enumerate(words[1:])
        )
        return [f"Most important for the prediction: {words[0]}{others}."]

    def importance(self) -> dict[str, float]:
        """Share of each group in the distance between two typical graphs, largest first."""
        weights = {group: 1.0 / length**2 for group, length in self.lengths.items()}
        total = sum(weights.values())
        ordered = sorted(weights, key=lambda group: -weights[group])
        return {group: weights[group] / total for group in ordered}


def _words(group: str, n_labels: int) -> str:
    pairs = "pairs of labels" if n_labels > 1 else "pairs of nodes"
    if group.startswith("within_"):
        n_steps = int(group.removeprefix("within_"))
        return f"{pairs} within {n_steps} step{'s' if n_steps > 1 else ''}"
    return {
        "labels": "numbers of nodes with each label" if n_labels > 1 else "the number of nodes",
        "farther": f"{pairs} farther apart",
        "features": "features of nodes",
        "edge_labels": "labels of edges",
    }[group]
