"""Checks of custom kernels, made where their values are used.

A matrix that is not symmetric or not positive semidefinite would not cause an error: a Cholesky
factor reads one triangle, and a negative variance would be read as certainty.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .arrays import FloatArray
from .counts import Counts
from .errors import InvalidInputError
from .kernel import BoxBounds, Kernel

_ROUNDING = 1e-8  # tolerance for sums of floats, relative to the largest value
_LOST_VARIANCE = 1e-4  # tolerance for rounding of a posterior variance, relative to the prior


def checked_cross(kernel: Kernel, left: Counts, right: Counts) -> FloatArray:
    """``kernel.cross``, of the right shape and finite."""
    return _numbers(kernel, "cross", kernel.cross(left, right), (len(left), len(right)))


def checked_diagonal(kernel: Kernel, counts: Counts) -> FloatArray:
    """``kernel.diagonal``, of the right shape, finite and not negative."""
    out = _numbers(kernel, "diagonal", kernel.diagonal(counts), (len(counts),))
    largest = kernel.largest()
    if out.min(initial=0.0) < 0 or (largest is not None and out.max(initial=0.0) > largest):
        raise _error(
            kernel,
            "diagonal",
            f"values between 0 and {'any number' if largest is None else f'largest() = {largest}'}",
            f"{out.min(initial=0.0):.6g} to {out.max(initial=0.0):.6g}",
        )
    return out


def checked_gradients(kernel: Kernel, counts: Counts) -> Mapping[str, FloatArray] | None:
    """``kernel.gradients``, one matrix per hyperparameter; ``None`` if it offers none."""
    found, names = kernel.gradients(counts), set(kernel.hyperparameters())
    if found is None:
        return None
    if set(found) != names:
        raise _error(kernel, "gradients", f"one for each of {sorted(names)}", f"{sorted(found)}")
    shape = (len(counts), len(counts))
    return {name: _numbers(kernel, f"gradients[{name!r}]", found[name], shape) for name in names}


def check_gram(kernel: Kernel, counts: Counts) -> None:
    """Raise unless the kernel of these graphs is symmetric, and positive up to rounding."""
    gram, diagonal = checked_cross(kernel, counts, counts), checked_diagonal(kernel, counts)
    room = _ROUNDING * max(float(np.abs(gram).max()), 1e-300)
    if not np.allclose(gram, gram.T, rtol=0, atol=room):
        i, j = np.unravel_index(np.abs(gram - gram.T).argmax(), gram.shape)
        raise _error(
            kernel, "cross", "a symmetric matrix", f"{gram[i, j]:.6g} and {gram[j, i]:.6g}"
        )
    if not np.allclose(gram.diagonal(), diagonal, rtol=0, atol=room):
        i = np.abs(gram.diagonal() - diagonal).argmax()
        raise _error(kernel, "diagonal", f"{gram[i, i]:.6g}, as cross has it", f"{diagonal[i]:.6g}")
    smallest = float(np.linalg.eigvalsh(gram)[0])
    if smallest < -len(gram) * room:
        raise _error(
            kernel, "cross", "no negative eigenvalues (positive semidefinite)", f"{smallest:.6g}"
        )
    wider = counts.padded(counts.lengths.shape[1] + 1, counts.n_labels + 1)
    if not np.allclose(checked_cross(kernel, wider, counts), gram, rtol=0, atol=room):
        raise _error(
            kernel,
            "cross",
            "the same values when counts are padded with zeros",
            "others; see bogrape.kernels.aligned",
        )


def checked_box_bounds(kernel: Kernel, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
    """``kernel.box_bounds``, of the right shapes, finite, and in the right order."""
    found = kernel.box_bounds(low, high, observed)
    if not isinstance(found, BoxBounds):
        raise _error(kernel, "box_bounds", "BoxBounds, as for other boxes", type(found).__name__)
    shape = (len(low), len(observed))
    lowest = _numbers(kernel, "box_bounds(...).lowest", found.lowest, shape)
    largest = _numbers(kernel, "box_bounds(...).largest", found.largest, shape)
    diagonal = _numbers(kernel, "box_bounds(...).diagonal", found.diagonal, shape[:1])
    room = _ROUNDING * max(float(np.abs(largest).max(initial=0.0)), 1e-300)
    if (lowest > largest + room).any():
        b, i = np.argwhere(lowest > largest + room)[0]
        raise _error(
            kernel,
            "box_bounds(...).lowest",
            f"at most largest, {largest[b, i]:.6g}",
            f"{lowest[b, i]:.6g}",
        )
    return BoxBounds(np.minimum(lowest, largest), largest, diagonal)


def refuse_false_boxes(
    kernel: Kernel, counts: Counts, low: Counts, high: Counts, observed: Counts
) -> None:
    """Raise if the values of a graph, one per box, violate the bounds of its box."""
    bounds = checked_box_bounds(kernel, low, high, observed)
    values, own = checked_cross(kernel, counts, observed), checked_diagonal(kernel, counts)
    room = _ROUNDING * max(float(np.abs(values).max(initial=0.0)), float(own.max(initial=0.0)))
    false = (values < bounds.lowest - room) | (values > bounds.largest + room)
    if false.any():
        b, i = np.argwhere(false)[0]
        raise _error(
            kernel,
            "box_bounds",
            "bounds on the values of all graphs of a box",
            f"{bounds.lowest[b, i]:.6g} to {bounds.largest[b, i]:.6g} where a graph has "
            f"{values[b, i]:.6g}; fix it, or remove box_bounds, which disables these proofs",
        )
    if (own > bounds.diagonal + room).any():
        b = int(np.argmax(own - bounds.diagonal))
        raise _error(
            kernel,
            "box_bounds(...).diagonal",
            f"at least that of all graphs of a box, {own[b]:.6g}",
            f"{bounds.diagonal[b]:.6g}",
        )


def check_variance(kernel: Kernel, variance: FloatArray, prior: FloatArray) -> None:
    """Raise if a posterior variance is below zero by more than rounding."""
    short = variance + _LOST_VARIANCE * np.maximum(prior, 1e-300)
    if short.min(initial=0.0) < 0:
        i = int(short.argmin())
        raise _error(
            kernel,
            "cross",
            "a positive semidefinite kernel",
            f"a posterior variance of {variance[i]:.6g} where the prior variance is {prior[i]:.6g}",
        )


def _numbers(kernel: Kernel, what: str, values: object, shape: tuple[int, ...]) -> FloatArray:
    try:
        out = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise _error(kernel, what, "an array of numbers", type(values).__name__) from None
    if out.shape != shape:
        raise _error(kernel, what, f"shape {shape}", f"shape {out.shape}")
    if not np.isfinite(out).all():
        raise _error(kernel, what, "finite numbers", f"{out[~np.isfinite(out)][0]}")
    return out


def _error(kernel: Kernel, what: str, expected: str, got: str) -> InvalidInputError:
    return InvalidInputError(f"kernel {kernel.name!r}: expected {what} to be {expected}, got {got}")
