"""Kernels, posterior and acquisition, computed literally by their formulas.

Everything is computed twice, in double and in extended precision. The difference is the error to
be expected of any program in double precision, and the checks allow a multiple of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from typing import Any

import numpy as np

from attack.graphs import Plain, distances

Acquisition = tuple[str, float]  # ("lcb", kappa) or ("ei", xi in units of the objective)

_PLACES = 40
_DIGITS = 400  # enough for sums of double precision numbers of any size


@dataclass(frozen=True)
class Standard:
    """Observed values as ``mean + scale * y``, without rounding in between."""

    y: tuple[Decimal, ...]
    mean: Decimal
    scale: Decimal

    @classmethod
    def of(cls, values: Sequence[float]) -> Standard:
        with localcontext(Context(prec=_DIGITS, Emin=-99999, Emax=99999)):
            exact = [Decimal(float(value)) for value in values]
            mean = sum(exact, Decimal(0)) / len(exact)
            variance = sum(((x - mean) ** 2 for x in exact), Decimal(0)) / len(exact)
            scale = variance.sqrt() if min(exact) < max(exact) else Decimal(1)
            return cls(tuple((x - mean) / scale for x in exact), mean, scale)

    def standard(self, value: float, offset: bool) -> float:
        """A value in units of the objective, converted to standard deviations."""
        with localcontext(Context(prec=_DIGITS, Emin=-99999, Emax=99999)):
            return float((Decimal(value) - (self.mean if offset else 0)) / self.scale)


def path_counts(graph: Plain, labelled: bool) -> Counter[tuple[int, ...]]:
    """Number of ordered pairs of nodes, equal ones included, at each distance, by their labels."""
    out: Counter[tuple[int, ...]] = Counter()
    for u, row in enumerate(distances(graph.bonds)):
        for v, length in enumerate(row):
            if length < math.inf:
                ends = (graph.labels[u], graph.labels[v]) if labelled else ()
                out[int(length), *ends] += 1
    return out


def node_counts(graph: Plain) -> Counter[tuple[str, int]]:
    """Number of nodes with each label and with each feature."""
    out: Counter[tuple[str, int]] = Counter(("label", label) for label in graph.labels)
    for row in graph.features:
        out.update(("feature", m) for m, there in enumerate(row) if there)
    return out


def _products(left: Sequence[Counter[Any]], right: Sequence[Counter[Any]]) -> np.ndarray:
    keys = sorted({key for counts in (*left, *right) for key in counts})
    a, b = (np.array([[counts[key] for key in keys] for counts in x]) for x in (left, right))
    return a.reshape(len(left), -1) @ b.reshape(len(right), -1).T


@dataclass(frozen=True, kw_only=True)
class Model:
    """A kernel, its amplitudes and the observations."""

    kernel: str
    alpha: float
    beta: float
    noise: float
    n_labels: int
    data: tuple[Plain, ...]
    y: Any  # standardised, in extended precision

    def _cross(self, left: Sequence[Plain], right: Sequence[Plain], real: Any) -> np.ndarray:
        labelled = self.kernel.endswith("sp") and not self.kernel.endswith("ssp")
        sizes = [np.array([graph.n for graph in side], dtype=real) for side in (left, right)]
        paths = [[path_counts(graph, labelled) for graph in side] for side in (left, right)]
        k = _products(*paths).astype(real) / np.outer(sizes[0] ** 2, sizes[1] ** 2)
        if self.kernel.startswith("e"):
            k = np.exp(k)
        nodes = [[node_counts(graph) for graph in side] for side in (left, right)]
        M = self.n_labels + len(self.data[0].features[0])
        k_nodes = _products(*nodes).astype(real) / (np.outer(*sizes) * M)
        return real(self.alpha) * k + real(self.beta) * k_nodes

    def _own(self, graphs: Sequence[Plain], real: Any) -> np.ndarray:
        return np.array([self._cross([graph], [graph], real)[0, 0] for graph in graphs])

    def posterior(
        self, graphs: Sequence[Plain], real: Any = np.longdouble
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of every graph, standardised."""
        K = self._cross(self.data, self.data, real) + real(self.noise) * np.eye(
            len(self.data), dtype=real
        )
        k = self._cross(graphs, self.data, real)
        root = _cholesky(K)
        y = np.asarray(self.y, dtype=real)
        if real is np.float64:  # no more binary places than the package keeps
            y = np.ldexp(np.round(np.ldexp(y, _PLACES)), -_PLACES)
        solved = _solve_lower(root, np.column_stack([y, k.T]))
        mean = solved[:, 1:].T @ solved[:, 0]
        variance = self._own(graphs, real) - (solved[:, 1:] ** 2).sum(axis=0)
        return mean, np.sqrt(np.maximum(variance, 0))

    def believing(self, graphs: Sequence[Plain]) -> Model:
        """The model after observing each graph at its mean."""
        if not graphs:
            return self
        mean, _ = self.posterior(graphs)
        data = (*self.data, *graphs)
        y = np.concatenate([self.y, mean])
        return replace(self, data=data, y=y)

    def values(
        self, acquisition: Acquisition, scale: Decimal, graphs: Sequence[Plain]
    ) -> tuple[np.ndarray, float]:
        """Standardised acquisition of every graph, and its error in double precision."""
        exact = self._values(acquisition, scale, graphs, np.longdouble)
        double = self._values(acquisition, scale, graphs, np.float64)
        return exact, float(np.abs(exact - double).max())

    def _values(
        self, acquisition: Acquisition, scale: Decimal, graphs: Sequence[Plain], real: Any
    ) -> np.ndarray:
        mean, std = self.posterior(graphs, real)
        name, number = acquisition
        if name == "lcb":
            return np.asarray(mean - real(number) * std, dtype=float)
        target = float(min(self.y)) - float(Decimal(number) / scale)
        return np.array(
            [-_improvement(target - float(m), float(s)) for m, s in zip(mean, std, strict=True)]
        )


def _improvement(gain: float, std: float) -> float:
    """The expected value of ``max(0, gain + std * z)`` for a standard normal z."""
    if std == 0 or not math.isfinite(gain / std):
        return max(gain, 0.0)
    u = gain / std
    density = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
    return max(gain * math.erfc(-u / math.sqrt(2)) / 2 + std * density, 0.0)


def _cholesky(K: np.ndarray) -> np.ndarray:
    root = np.zeros_like(K)
    for i in range(len(K)):
        for j in range(i + 1):
            rest = K[i, j] - (root[i, :j] * root[j, :j]).sum()
            root[i, j] = np.sqrt(rest) if i == j else rest / root[j, j]
    return root


def _solve_lower(root: np.ndarray, right: np.ndarray) -> np.ndarray:
    out = np.zeros_like(right)
    for i in range(len(root)):
        out[i] = (right[i] - root[i, :i] @ out[:i]) / root[i, i]
    return out
