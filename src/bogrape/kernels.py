r"""Kernels by name: the four shortest-path kernels, the feature kernel, RBF, and your own.

With :math:`D_s`, :math:`P_{sab}`, :math:`N_m` as in `bogrape.counts`:

.. math::

    k(x, x')  &= \alpha\, k_G(G, G') + \beta\, k_F(F, F') \\
    k_{SSP}   &= \langle D, D' \rangle / (n^2 n'^2)
    \qquad      k_{SP}  = \langle P, P' \rangle / (n^2 n'^2)            \\
    k_{ESSP}  &= \exp(k_{SSP}) \qquad\qquad\;\;   k_{ESP} = \exp(k_{SP})  \\
    k_F       &= \langle N, N' \rangle / (n\, n'\, M)

The paper's :math:`\sigma_k^2` of the exponential kernels is not identifiable beside
:math:`\alpha` (erratum E5), so one amplitude stands for :math:`\alpha / \sigma_k^2`.

The fifth kernel, ``"rbf"``, has a module of its own, `bogrape.rbf`.

A custom kernel derives from `Kernel` (``docs/extending/own-kernel.md``). Specialised methods depend
on the type of the kernel, so they test `is_published` or `is_linear`, never attributes that
another kernel may happen to have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeGuard

import numpy as np

from .arrays import FloatArray, IntArray
from .counts import Counts
from .counts import aligned as aligned  # for custom kernels
from .errors import InvalidInputError
from .kernel import Kernel as Kernel
from .kernel import LogNormal as LogNormal
from .kernel_checks import checked_cross, checked_diagonal
from .rbf import RBF as RBF

KernelName = Literal["ssp", "sp", "essp", "esp", "rbf"]


@dataclass(frozen=True)
class GraphKernel(Kernel):
    """One of the paper's graph kernels."""

    name: KernelName
    labelled: bool  # compares the end labels of paths (SP, ESP)
    exponential: bool  # exp of the linear kernel (ESSP, ESP)
    amplitude_bounds: tuple[float, float]  # of alpha, or of alpha / sigma_k^2

    def __init_subclass__(cls, **_: Any) -> None:
        raise TypeError(
            "expected a kernel of your own to derive from bogrape.kernels.Kernel, got one that "
            "derives from GraphKernel: proofs would take it for a kernel of the paper"
        )

    def features(self, counts: Counts) -> FloatArray:
        """``D / n^2`` as (B, S), or ``P / n^2`` as (B, S, L, L)."""
        return path_features(counts, labelled=self.labelled)

    def _raw(self, counts: Counts) -> IntArray:
        return _path_counts(counts, labelled=self.labelled)

    def cross(self, left: Counts, right: Counts) -> FloatArray:
        """Matrix of ``k_G`` between two batches."""
        linear = _inner(self._raw(left), self._raw(right))
        linear /= np.outer(left.sizes.astype(float) ** 2, right.sizes.astype(float) ** 2)
        return np.exp(linear) if self.exponential else linear

    def diagonal(self, counts: Counts) -> FloatArray:
        """``k_G`` of each graph with itself."""
        raw = self._raw(counts).reshape(len(counts), -1)
        linear = np.einsum("ij,ij->i", raw, raw) / counts.sizes.astype(float) ** 4
        return np.asarray(np.exp(linear) if self.exponential else linear)

    def largest(self) -> float:
        """Upper bound: at most ``n^2`` pairs are counted, so the linear kernels are at most 1."""
        return math.e if self.exponential else 1.0


_PAPER_BOX = (1e-2, 1e2)
_RATIO_BOX = (1e-4, 1e4)  # image of the paper's box under alpha / sigma_k^2

KERNELS: Mapping[KernelName, GraphKernel] = MappingProxyType(
    {
        "ssp": GraphKernel("ssp", labelled=False, exponential=False, amplitude_bounds=_PAPER_BOX),
        "sp": GraphKernel("sp", labelled=True, exponential=False, amplitude_bounds=_PAPER_BOX),
        "essp": GraphKernel("essp", labelled=False, exponential=True, amplitude_bounds=_RATIO_BOX),
        "esp": GraphKernel("esp", labelled=True, exponential=True, amplitude_bounds=_RATIO_BOX),
    }
)
FEATURE_AMPLITUDE_BOUNDS = _PAPER_BOX
_BUILT_IN: Mapping[str, Kernel] = {kernel.name: kernel for kernel in (*KERNELS.values(), RBF())}
_OWN: dict[str, Kernel] = {}


def is_published(kernel: Kernel) -> TypeGuard[GraphKernel]:
    """True if it is one of the paper's four kernels, for which specialised methods exist."""
    return type(kernel) is GraphKernel


def is_linear(kernel: Kernel) -> TypeGuard[GraphKernel]:
    """True if it is SSP or SP: an inner product of the finite vectors ``kernel.features``."""
    return is_published(kernel) and not kernel.exponential


def is_built_in(kernel: Kernel) -> bool:
    """True if it is a kernel of this package, which needs no checks."""
    return is_published(kernel) or type(kernel) is RBF


def cross_of(kernel: Kernel, left: Counts, right: Counts) -> FloatArray:
    """``kernel.cross``, checked unless it is a kernel of this package."""
    compute = kernel.cross if is_built_in(kernel) else partial(checked_cross, kernel)
    return compute(left, right)


def diagonal_of(kernel: Kernel, counts: Counts) -> FloatArray:
    """``kernel.diagonal``, checked unless it is a kernel of this package."""
    compute = kernel.diagonal if is_built_in(kernel) else partial(checked_diagonal, kernel)
    return compute(counts)


def register_kernel(kernel: Kernel) -> Kernel:
    """Register a custom kernel so that it can be chosen by name; returns the kernel.

    Registering another kernel under the same name replaces the first one. The names of the
    package's kernels are reserved.
    """
    checked = _checked(kernel)
    if checked.name.lower() in _BUILT_IN:
        raise InvalidInputError(
            f"expected a name other than those of the package's kernels ({', '.join(_BUILT_IN)}), "
            f"got {checked.name!r}"
        )
    _OWN[checked.name.lower()] = checked
    return checked


def get_kernel(kernel: str | Kernel) -> Kernel:
    """The kernel with this name, or the given kernel; the error lists the valid names.

    >>> get_kernel("essp").name
    'essp'
    """
    if isinstance(kernel, (Kernel, type)):
        return _checked(kernel)
    known = {**_BUILT_IN, **_OWN}
    if isinstance(kernel, str) and kernel.lower() in known:
        return known[kernel.lower()]
    raise InvalidInputError(
        f"unknown kernel {kernel!r:.100}; choose one of {', '.join(known)}, or give an instance of "
        "a class that derives from bogrape.kernels.Kernel"
    )


def _checked(kernel: object) -> Kernel:
    """Return the kernel if its class and attributes are valid."""
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InvalidInputError(
            f"expected an instance of a kernel, got the class {kernel.__name__}; try "
            f"{kernel.__name__}()"
        )
    if not isinstance(kernel, Kernel):
        raise InvalidInputError(
            "expected a kernel that derives from bogrape.kernels.Kernel, got "
            f"{type(kernel).__name__}"
        )
    name, labelled = getattr(kernel, "name", None), getattr(kernel, "labelled", None)
    if not isinstance(name, str) or not name or not isinstance(labelled, (bool, np.bool_)):
        raise InvalidInputError(
            f"kernel {type(kernel).__name__}: expected a string `name` and `labelled`, True or "
            f"False, got {name!r:.50} and {labelled!r:.50}"
        )
    ranges = {"amplitude_bounds": kernel.amplitude_bounds, **kernel.hyperparameters()}
    for what, (low, high) in ranges.items():
        if not 0 < low < high < math.inf:
            raise InvalidInputError(
                f"kernel {name!r}: expected 0 < low < high for the range of {what}, got "
                f"({low!r}, {high!r})"
            )
    for what in kernel.hyperparameters():
        value = getattr(kernel, what, None)
        if what in ("alpha", "beta", "noise") or not isinstance(value, (int, float)):
            raise InvalidInputError(
                f"kernel {name!r}: expected the hyperparameter {what!r} to be a number that is an "
                "attribute of the kernel, and not to be called alpha, beta or noise, got "
                f"{value!r:.50}"
            )
    return kernel


def path_features(counts: Counts, *, labelled: bool) -> FloatArray:
    """``D / n^2`` as (B, S), or ``P / n^2`` as (B, S, L, L)."""
    raw = _path_counts(counts, labelled=labelled)
    scale = counts.sizes.astype(float) ** 2
    return np.asarray(raw / scale.reshape(-1, *[1] * (raw.ndim - 1)))


def _path_counts(counts: Counts, *, labelled: bool) -> IntArray:
    """``D`` as (B, S), or ``P`` as (B, S, L, L)."""
    raw = counts.pairs if labelled else counts.lengths
    if raw is None:
        raise InvalidInputError("kernels with labels need counts made with pairs=True")
    return raw


def node_features(counts: Counts, n_features: int) -> FloatArray:
    r""":math:`N / (n \sqrt M)` with M = ``n_features``, so that k_F is a plain inner product."""
    return np.asarray(counts.features / (counts.sizes[:, None] * np.sqrt(n_features)))


def feature_cross(left: Counts, right: Counts, n_features: int) -> FloatArray:
    """Matrix of ``k_F`` between two batches, with M = ``n_features``."""
    linear = _inner(left.features, right.features)
    linear /= np.outer(left.sizes.astype(float) * n_features, right.sizes)
    return linear


def feature_diagonal(counts: Counts, n_features: int) -> FloatArray:
    """``k_F`` of each graph with itself."""
    sums = np.einsum("ij,ij->i", counts.features, counts.features)
    return np.asarray(sums / (counts.sizes.astype(float) ** 2 * n_features))


def _inner(left: IntArray, right: IntArray) -> FloatArray:
    """Inner products over the coordinates of both batches; missing coordinates count as zero.

    Integers far below 2^53, so the products are exact in any order of summation: the kernel of two
    graphs does not depend on their batches, to the last bit.
    """
    common = tuple(slice(min(a, b)) for a, b in zip(left.shape[1:], right.shape[1:], strict=True))
    a = left[(slice(None), *common)].reshape(len(left), -1)
    b = right[(slice(None), *common)].reshape(len(right), -1)
    return np.asarray(a.astype(float) @ b.T.astype(float))
