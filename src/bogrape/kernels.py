r"""The four shortest-path kernels and the feature kernel, over counts.

With :math:`D_s`, :math:`P_{sab}`, :math:`N_m` as in `bogrape.counts`:

.. math::

    k(x, x')  &= \alpha\, k_G(G, G') + \beta\, k_F(F, F') \\
    k_{SSP}   &= \langle D, D' \rangle / (n^2 n'^2)
    \qquad      k_{SP}  = \langle P, P' \rangle / (n^2 n'^2)            \\
    k_{ESSP}  &= \exp(k_{SSP}) \qquad\qquad\;\;   k_{ESP} = \exp(k_{SP})  \\
    k_F       &= \langle N, N' \rangle / (n\, n'\, M)

The paper's :math:`\sigma_k^2` of the exponential kernels is not identifiable beside
:math:`\alpha` (erratum E5), so one amplitude stands for :math:`\alpha / \sigma_k^2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrays import FloatArray, IntArray
from .counts import Counts
from .errors import InvalidInputError

KernelName = Literal["ssp", "sp", "essp", "esp"]


@dataclass(frozen=True)
class GraphKernel:
    """One of the paper's graph kernels."""

    name: KernelName
    labelled: bool  # compares the end labels of paths (SP, ESP)
    exponential: bool  # exp of the linear kernel (ESSP, ESP)
    amplitude_bounds: tuple[float, float]  # of alpha, or of alpha / sigma_k^2

    def features(self, counts: Counts) -> FloatArray:
        """``D / n^2`` as (B, S), or ``P / n^2`` as (B, S, L, L)."""
        raw = self._raw(counts)
        scale = counts.sizes.astype(float) ** 2
        return np.asarray(raw / scale.reshape(-1, *[1] * (raw.ndim - 1)))

    def _raw(self, counts: Counts) -> IntArray:
        """``D`` as (B, S), or ``P`` as (B, S, L, L)."""
        raw = counts.lengths if not self.labelled else counts.pairs
        if raw is None:
            raise InvalidInputError(f"kernel {self.name!r} needs counts made with pairs=True")
        return raw

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


_PAPER_BOX = (1e-2, 1e2)
_RATIO_BOX = (1e-4, 1e4)  # image of the paper's box under alpha / sigma_k^2

KERNELS: dict[KernelName, GraphKernel] = {
    "ssp": GraphKernel("ssp", labelled=False, exponential=False, amplitude_bounds=_PAPER_BOX),
    "sp": GraphKernel("sp", labelled=True, exponential=False, amplitude_bounds=_PAPER_BOX),
    "essp": GraphKernel("essp", labelled=False, exponential=True, amplitude_bounds=_RATIO_BOX),
    "esp": GraphKernel("esp", labelled=True, exponential=True, amplitude_bounds=_RATIO_BOX),
}
FEATURE_AMPLITUDE_BOUNDS = _PAPER_BOX


def get_kernel(name: str) -> GraphKernel:
    """The kernel of that name, or an error that lists the valid ones.

    >>> get_kernel("essp").exponential
    True
    """
    for kernel in KERNELS.values():
        if isinstance(name, str) and kernel.name == name.lower():
            return kernel
    raise InvalidInputError(f"unknown kernel {name!r}; choose one of {', '.join(KERNELS)}")


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
    """Inner products over the coordinates both batches have; what one lacks is zero there.

    Whole numbers far below 2^53, so the products are exact whatever the order of summation: the
    kernel of two graphs does not depend on the batches they came in, to the last bit.
    """
    common = tuple(slice(min(a, b)) for a, b in zip(left.shape[1:], right.shape[1:], strict=True))
    a = left[(slice(None), *common)].reshape(len(left), -1)
    b = right[(slice(None), *common)].reshape(len(right), -1)
    return np.asarray(a.astype(float) @ b.T.astype(float))
