"""Gaussian processes on graphs to compare: shortest-path kernels and those of the literature.

Names: ``ssp``, ``sp``, ``essp``, ``esp`` are BoGrape's `GraphGP`, feature term included; ``rw``,
``sm``, ``wl``, ``wloa`` are the kernels of `benchmarks.surrogates.kernels` alone, as the paper uses
them; with a star, the same feature term is added. ``ssp-``, ``sp-``, ``essp-``, ``esp-`` are the
shortest-path kernels without it.

>>> surrogate_names()[:6]
('ssp', 'sp', 'essp', 'esp', 'ssp-', 'sp-')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import threadpool_limits

from bogrape.arrays import FloatArray
from bogrape.counts import Counts, count
from bogrape.errors import FitError, InvalidInputError
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.kernels import KERNELS, Kernel, feature_cross, feature_diagonal, get_kernel

from .gram_gp import GramGP
from .kernels import KERNEL_NAMES, TrainedKernel, kernel_variants


class Surrogate(Protocol):
    """A regression model on graphs that predicts means and standard deviations."""

    def fit(self, graphs: Sequence[Graph], values: ArrayLike) -> Surrogate:
        """Learn from observations; returns self."""

    def predict(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of an observation of each graph, noise included."""

    def latent(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the function itself, for acquisition functions."""


class ShortestPathSurrogate:
    """BoGrape's own Gaussian process."""

    def __init__(
        self, kernel: Kernel, *, feature_kernel: bool = True, n_labels: int | None = None
    ) -> None:
        self._gp = GraphGP(kernel, feature_kernel=feature_kernel, n_labels=n_labels)

    def fit(self, graphs: Sequence[Graph], values: ArrayLike) -> ShortestPathSurrogate:
        """Learn from observations; returns self."""
        self._gp.fit(graphs, values)
        return self

    def latent(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the function itself."""
        found = self._gp.predict(graphs)
        assert isinstance(found, tuple)
        return found

    def predict(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of an observation of each graph."""
        mean, std = self.latent(graphs)
        posterior = self._gp.posterior.model
        return mean, np.sqrt(std**2 + posterior.noise * posterior.y_scale**2)


class ClassicSurrogate:
    """A Gaussian process with a kernel of the literature, with or without the feature term."""

    def __init__(
        self, kernel: str, *, feature_kernel: bool = False, n_labels: int | None = None
    ) -> None:
        if kernel not in KERNEL_NAMES:
            raise InvalidInputError(
                f"unknown kernel {kernel!r}; choose one of {', '.join(KERNEL_NAMES)}"
            )
        self._name = kernel
        self._feature_kernel = feature_kernel
        self._n_labels = n_labels
        self._fitted: tuple[GramGP, TrainedKernel, Counts] | None = None

    def fit(self, graphs: Sequence[Graph], values: ArrayLike) -> ClassicSurrogate:
        """Learn from observations, with the kernel variant of the largest likelihood."""
        counts = count(graphs, self._n_labels, pairs=False)
        n_features = counts.features.shape[1]
        best: tuple[GramGP, TrainedKernel, Counts] | None = None
        with threadpool_limits(1):  # threads slow matrices this small by a factor of 5 to 20
            terms = [feature_cross(counts, counts, n_features)] if self._feature_kernel else []
            for kernel in kernel_variants(self._name, graphs):
                gp = GramGP.fit([kernel.gram, *terms], values)
                if best is None or gp.log_likelihood > best[0].log_likelihood:
                    best = gp, kernel, counts
        self._fitted = best
        return self

    def latent(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of the function itself."""
        if self._fitted is None:
            raise FitError("this surrogate has no data yet; call fit(graphs, values) first")
        gp, kernel, observed = self._fitted
        with threadpool_limits(1):
            crosses, diagonals = [kernel.cross(graphs)], [np.ones(len(graphs))]
            if self._feature_kernel:
                n_features = observed.features.shape[1]
                queries = count(graphs, pairs=False)
                crosses.append(feature_cross(queries, observed, n_features))
                diagonals.append(feature_diagonal(queries, n_features))
            return gp.mean_std(crosses, diagonals)

    def predict(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of an observation of each graph."""
        mean, std = self.latent(graphs)
        assert self._fitted is not None
        gp = self._fitted[0]
        return mean, np.sqrt(std**2 + gp.noise * gp.scale**2)


def surrogate_names() -> tuple[str, ...]:
    """Names of all surrogates, BoGrape's first."""
    classic = (*KERNEL_NAMES, *(f"{name}*" for name in KERNEL_NAMES))
    return (*KERNELS, *(f"{name}-" for name in KERNELS), *classic)


def get_surrogate(name: str, n_labels: int | None = None) -> Surrogate:
    """A fresh surrogate of that name, or an error that lists the valid ones.

    Args:
        name: see `surrogate_names`.
        n_labels: number of labels, if the observations may lack some.
    """
    if name not in surrogate_names():
        raise InvalidInputError(
            f"unknown surrogate {name!r}; choose one of {', '.join(surrogate_names())}"
        )
    kernel = name.rstrip("*-")
    if kernel in KERNELS:
        return ShortestPathSurrogate(
            get_kernel(kernel), feature_kernel=not name.endswith("-"), n_labels=n_labels
        )
    return ClassicSurrogate(kernel, feature_kernel=name.endswith("*"), n_labels=n_labels)


__all__ = ["Surrogate", "get_surrogate", "surrogate_names"]
