"""`Kernel`: the interface of kernels for Gaussian processes over graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, is_dataclass, replace
from typing import Self

from .arrays import FloatArray
from .counts import Counts


@dataclass(frozen=True)
class LogNormal:
    """Log-normal prior: the logarithm has this mean and standard deviation."""

    mean: float
    deviation: float


@dataclass(frozen=True, eq=False)
class BoxBounds:
    """Bounds on the values of a kernel for all graphs of some boxes of counts.

    Attributes:
        lowest, largest: one row per box, one column per graph that values are taken with.
        diagonal: for each box, an upper bound on the value of a graph with itself.
    """

    lowest: FloatArray
    largest: FloatArray
    diagonal: FloatArray


class Kernel(ABC):
    """A positive semidefinite function of the counts of two graphs; base class of custom kernels.

    The Gaussian process multiplies it by an amplitude, adds the feature kernel unless disabled, and
    fits amplitudes, noise and the hyperparameters of the kernel by maximum likelihood.

    Attributes:
        name: its name in messages and reports.
        labelled: whether it reads ``Counts.pairs``, path counts split by labels. A kernel that
            does not depends only on ``lengths``, ``features`` and ``sizes``, which allows proofs
            in far larger spaces.
        edge_labelled: whether it reads ``Counts.edges``, edges by their labels; False by default.
        includes_features: whether it compares labels and features of nodes itself, so that no
            feature kernel is added; False by default.
        amplitude_bounds: range of the fitted amplitude, for standardised observations.
    """

    name: str
    labelled: bool
    includes_features: bool = False
    amplitude_bounds: tuple[float, float] = (1e-2, 1e2)

    @property
    def edge_labelled(self) -> bool:
        """True if it reads ``Counts.edges``."""
        return False

    @abstractmethod
    def cross(self, left: Counts, right: Counts) -> FloatArray:
        """Matrix of kernel values, one row per left graph, one column per right graph.

        The two batches may have different numbers of lengths and labels; missing entries
        count as zero: see `aligned`.
        """

    @abstractmethod
    def diagonal(self, counts: Counts) -> FloatArray:
        """Kernel value of each graph with itself."""

    def hyperparameters(self) -> Mapping[str, tuple[float, float]]:
        """Names of its own positive hyperparameters, and the range to fit each in; none by default.

        The current value of a hyperparameter is the attribute of that name.
        """
        return {}

    def with_hyperparameters(self, values: Mapping[str, float]) -> Self:
        """The same kernel with other values of its hyperparameters."""
        if is_dataclass(self) and not isinstance(self, type):
            return replace(self, **dict(values))
        out = copy(self)
        for name, value in values.items():
            setattr(out, name, value)
        return out

    def gradients(self, counts: Counts) -> Mapping[str, FloatArray] | None:  # noqa: ARG002
        """Derivatives of ``cross(counts, counts)`` by the *logarithm* of each hyperparameter.

        With ``None``, the default, the likelihood is differentiated by finite differences.
        """
        return None

    def priors(self) -> Mapping[str, LogNormal]:
        """Priors of its hyperparameters and of its amplitude ``alpha``; none by default.

        Without a prior, a hyperparameter is fitted by maximum likelihood.
        """
        return {}

    def in_words(self, n_labels: int) -> list[str]:  # noqa: ARG002
        """Sentences on what matters most to the kernel, given the number of node labels."""
        return [f"The kernel is {self.name}."]

    def largest(self) -> float | None:
        """Upper bound on `diagonal` for all graphs; ``None`` if it is unknown.

        With it, proposals have a finite bound even in spaces too large for a proof.
        """
        return None

    def box_bounds(
        self,
        low: Counts,  # noqa: ARG002
        high: Counts,  # noqa: ARG002
        observed: Counts,  # noqa: ARG002
    ) -> BoxBounds | None:
        """Bounds on the kernel between any graph of a box and each observed graph.

        Row b of ``low`` and ``high`` is a box: all graphs with ``sizes[b]`` nodes none of whose
        counts is below that of ``low`` or above that of ``high``. The closer the bounds come to the
        values as a box shrinks, the larger the spaces that can be proved; in a box of one point
        they should be the value itself. With ``None``, the default, there are no such proofs.
        """
        return None
