r"""`ShortestPathKernel`: the covariance of a `GraphGP`, for ``GaussianProcessRegressor``.

.. math:: k(x, x') = \alpha\, k_G(G, G') + \beta\, k_F(F, F')

with the graph kernel :math:`k_G` and the feature kernel :math:`k_F` of `bogrape.kernels`. As in
scikit-learn, hyperparameters are optimised in logarithms: ``theta`` holds those of alpha, beta and
the graph kernel's own hyperparameters, unless their bounds are ``"fixed"``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import GenericKernelMixin, Hyperparameter, Kernel

from ...arrays import FloatArray
from ...counts import Counts, count, n_given
from ...errors import InvalidInputError
from ...gp import scaled_to_space
from ...graph import Graph
from ...kernels import (
    FEATURE_AMPLITUDE_BOUNDS,
    RBF,
    KernelName,
    cross_of,
    diagonal_of,
    feature_cross,
    feature_diagonal,
    get_kernel,
)
from ...kernels import Kernel as OurKernel
from ...space import GraphSpace

Bounds = tuple[float, float] | Literal["fixed"]

_STEP = 1e-5  # of differences, in logarithms, for kernels without gradients


class ShortestPathKernel(GenericKernelMixin, Kernel):
    """A kernel over lists of graphs, with gradients.

    Args:
        kernel: ``"ssp"``, ``"sp"``, ``"essp"``, ``"esp"``, ``"rbf"``, or one of your own.
        alpha: amplitude of the graph kernel.
        beta: amplitude of the feature kernel; 0 for none. Kernels that compare features of nodes by
            themselves, as ``"rbf"`` does, have none.
        own: values of the kernel's own hyperparameters, in the order of
            ``kernel.hyperparameters()``; by default its current ones.
        n_labels: number of labels; that of the space, or 1. Graphs with more are refused.
        space: the graphs from which the observed ones are chosen. The kernel ``"rbf"`` needs it to
            measure length scales, or has to be scaled: ``RBF().scaled_to(counts)``.
        alpha_bounds, beta_bounds, own_bounds: ranges to optimise in, or ``"fixed"``; by default
            those of `GraphGP`. ``own_bounds`` has one range per own hyperparameter.
    """

    def __init__(
        self,
        kernel: KernelName | OurKernel = "ssp",
        alpha: float = 1.0,
        beta: float = 1.0,
        own: ArrayLike | None = None,
        *,
        n_labels: int | None = None,
        space: GraphSpace | None = None,
        alpha_bounds: Bounds | None = None,
        beta_bounds: Bounds | None = None,
        own_bounds: Sequence[tuple[float, float]] | Literal["fixed"] | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.beta = beta
        self.own = own
        self.n_labels = n_labels
        self.space = space
        self.alpha_bounds = alpha_bounds
        self.beta_bounds = beta_bounds
        self.own_bounds = own_bounds

    # -- hyperparameters --------------------------------------------------------------------------

    @property
    def hyperparameter_alpha(self) -> Hyperparameter:
        """The amplitude of the graph kernel."""
        bounds = self.alpha_bounds or self._unscaled.amplitude_bounds
        return Hyperparameter("alpha", "numeric", bounds)

    @property
    def hyperparameter_beta(self) -> Hyperparameter:
        """The amplitude of the feature kernel; fixed where there is none."""
        bounds = self.beta_bounds or FEATURE_AMPLITUDE_BOUNDS
        return Hyperparameter("beta", "numeric", bounds if self._has_features else "fixed")

    @property
    def hyperparameter_own(self) -> Hyperparameter:
        """The hyperparameters of the graph kernel itself."""
        ranges = list(self.graph_kernel.hyperparameters().values())
        bounds = self.own_bounds or ranges
        if not ranges or isinstance(bounds, str):
            return Hyperparameter("own", "numeric", "fixed", max(1, len(ranges)))
        return Hyperparameter("own", "numeric", np.array(bounds, dtype=float), len(ranges))

    @property
    def theta(self) -> FloatArray:
        """Logarithms of the hyperparameters that are not fixed."""
        values: dict[str, Any] = {
            "alpha": self.alpha,
            "beta": self.beta,
            "own": self._own_values,
        }
        free = [values[h.name] for h in self.hyperparameters if not h.fixed]
        return np.log(np.hstack(free)) if free else np.zeros(0)

    @theta.setter
    def theta(self, theta: FloatArray) -> None:
        Kernel.theta.fset(self, theta)
        if self.own is not None:
            self.own = np.atleast_1d(self.own)

    @property
    def graph_kernel(self) -> OurKernel:
        """The kernel of the graphs, scaled, with the values of ``own``."""
        kernel = self._unscaled
        if isinstance(kernel, RBF) and not kernel.scales:
            scaled = None if self.space is None else scaled_to_space(kernel, self.space)
            if scaled is None:
                raise InvalidInputError(
                    "kernel 'rbf' needs graphs to measure length scales: give space=..., or "
                    "RBF().scaled_to(count(graphs, edges=True)) as the kernel"
                )
            kernel = scaled
        names = list(kernel.hyperparameters())
        if self.own is None:
            return kernel
        values = np.atleast_1d(np.asarray(self.own, dtype=float))
        if values.shape != (len(names),):
            raise InvalidInputError(
                f"own must be one value for each of {', '.join(names) or 'no hyperparameters'}, "
                f"got {self.own!r:.100}"
            )
        return kernel.with_hyperparameters(dict(zip(names, values.tolist(), strict=True)))

    @property
    def _unscaled(self) -> OurKernel:
        return get_kernel(self.kernel)

    @property
    def _own_values(self) -> FloatArray:
        kernel = self.graph_kernel
        return np.array([getattr(kernel, name) for name in kernel.hyperparameters()], dtype=float)

    @property
    def _has_features(self) -> bool:
        return bool(self.beta) and not self._unscaled.includes_features

    # -- values -----------------------------------------------------------------------------------

    def __call__(
        self,
        X: Sequence[Graph],
        Y: Sequence[Graph] | None = None,
        eval_gradient: bool = False,
    ) -> Any:
        """Matrix of values and, on request, derivatives by ``theta``, ``(n, n, len(theta))``."""
        if eval_gradient and Y is not None:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        kernel = self.graph_kernel
        left = self._counts(X, kernel)
        right = left if Y is None else self._counts(Y, kernel)
        of_graphs = self.alpha * cross_of(kernel, left, right)
        of_features = None
        if self._has_features:
            of_features = self.beta * feature_cross(left, right, left.features.shape[1])
        values = of_graphs if of_features is None else of_graphs + of_features
        if not eval_gradient:
            return values
        layers: list[FloatArray] = []
        for hyperparameter in self.hyperparameters:
            if hyperparameter.fixed:
                continue
            if hyperparameter.name == "alpha":
                layers.append(of_graphs)
            elif hyperparameter.name == "beta":
                assert of_features is not None  # else it is fixed
                layers.append(of_features)
            else:
                layers += [self.alpha * layer for layer in _own_gradients(kernel, left)]
        return values, np.dstack(layers) if layers else np.empty((*values.shape, 0))

    def diag(self, X: Sequence[Graph]) -> FloatArray:
        """Value of each graph with itself."""
        kernel = self.graph_kernel
        counts = self._counts(X, kernel)
        out = self.alpha * diagonal_of(kernel, counts)
        if self._has_features:
            out = out + self.beta * feature_diagonal(counts, counts.features.shape[1])
        return np.asarray(out)

    def is_stationary(self) -> bool:
        """False: graphs have no differences that a kernel could be a function of."""
        return False

    def _counts(self, graphs: Sequence[Graph], kernel: OurKernel) -> Counts:
        n_labels = self.n_labels
        if n_labels is None:
            n_labels = 1 if self.space is None else self.space.n_labels
        n_given(graphs)
        edges = kernel.edge_labelled or isinstance(kernel, RBF)  # RBF must know if there are none
        counts = _counted(tuple(graphs), n_labels, kernel.labelled, edges)
        if counts.n_edge_labels and not kernel.edge_labelled:
            raise InvalidInputError(
                "graphs have edge labels, and those the kernel is scaled to have none"
            )
        return counts

    def __repr__(self) -> str:
        kernel = self._unscaled
        own = "" if self.own is None else f", own={np.round(self._own_values, 3).tolist()}"
        beta = f", beta={self.beta:.3g}" if self._has_features else ""
        return f"ShortestPathKernel({kernel.name!r}, alpha={self.alpha:.3g}{beta}{own})"


@lru_cache(maxsize=8)  # an optimiser evaluates the same graphs repeatedly
def _counted(graphs: tuple[Graph, ...], n_labels: int, pairs: bool, edges: bool) -> Counts:
    return count(graphs, n_labels, pairs=pairs, edges=edges)


def _own_gradients(kernel: OurKernel, counts: Counts) -> list[FloatArray]:
    """Derivatives by the logarithms of the kernel's own hyperparameters."""
    names = list(kernel.hyperparameters())
    known = kernel.gradients(counts)
    if known is not None:
        return [np.asarray(known[name]) for name in names]
    out = []
    for name in names:
        value = math.log(getattr(kernel, name))
        there, back = (
            kernel.with_hyperparameters({name: math.exp(value + step)}).cross(counts, counts)
            for step in (_STEP, -_STEP)
        )
        out.append((there - back) / (2 * _STEP))
    return out
