"""Checks of arguments: numbers, and the arrays of a graph.

Each check returns its argument in normal form, or raises an error that says what was expected and
what was found. Callers with their own message, such as a rule with a remedy, use `is_whole` or
`is_number`. Checked arrays are read-only copies.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import BoolArray, IntArray
from .errors import InvalidGraphError, InvalidInputError

LARGEST = 2**31 - 1  # of a label or an edge label
MAX_NODES = 1000  # of graphs read from text; checked before matrices are created
_Scalar = TypeVar("_Scalar", bound=np.generic)


def is_whole(value: object) -> TypeGuard[Any]:
    """True for an integer of Python or numpy, but not for a bool."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def is_number(value: object) -> TypeGuard[Any]:
    """True for a real number in the range of floats; not for NaN or a bool."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:  # an integer of too many digits
        return False


def whole(
    value: object,
    what: str,
    least: int,
    error: type[InvalidInputError] = InvalidInputError,
    most: int | None = None,
) -> int:
    """An integer of at least ``least``, and at most ``most``."""
    if not is_whole(value) or value < least:
        raise error(f"expected {what} to be an integer >= {least}, got {shown(value)}")
    if most is not None and value > most:
        raise error(f"expected {what} to be at most {most}, got {shown(value)}; try a smaller one")
    return int(value)


def positive(value: object, what: str, *, finite: bool = True) -> float:
    """A number above zero, which may be infinite unless ``finite``."""
    if not is_number(value) or not value > 0 or (finite and math.isinf(value)):
        kind = "finite number" if finite else "number"
        raise InvalidInputError(f"expected {what} to be a {kind} > 0, got {shown(value)}")
    return float(value)


def seconds(value: object, what: str) -> float:
    """A duration above zero; one beyond the range of floats is infinite."""
    if is_whole(value) and value > 0 and not is_number(value):
        return math.inf
    if not is_number(value) or not value > 0:
        raise InvalidInputError(
            f"expected {what} to be a number of seconds > 0, got {shown(value)}"
        )
    return float(value)


def shown(value: object) -> str:
    """The value as text for a message, shortened."""
    try:
        text = repr(value)
    except Exception:  # a custom class, or an integer of too many digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 200 else text[:199] + "…"


# -- the arrays of a graph -----------------------------------------------------------------------


def _frozen(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """The same array, made read-only."""
    array.setflags(write=False)
    return array


def _numeric(values: ArrayLike, what: str) -> NDArray[Any]:
    """A new numeric array; raises an error that names ``what`` for anything else."""
    try:
        array = np.array(values)
    except (ValueError, TypeError) as error:
        raise InvalidGraphError(f"{what} must be a rectangular array of numbers: {error}") from None
    if array.size and array.dtype.kind not in "biuf":
        raise InvalidGraphError(f"{what} must be numbers, got {array.dtype} entries")
    return array


def adjacency_matrix(adjacency: ArrayLike, directed: bool) -> BoolArray:
    """Check an adjacency matrix: square, without self-loops, symmetric unless directed."""
    if type(adjacency).__module__.startswith("networkx."):
        raise InvalidGraphError(
            "adjacency must be a matrix, got a networkx graph; use Graph.from_networkx"
        )
    array = _numeric(adjacency, "adjacency")
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise InvalidGraphError(
            f"adjacency must be a square matrix with at least one node, got shape {array.shape}"
        )
    odd = array[(array != 0) & (array != 1)]
    if odd.size:
        raise InvalidGraphError(
            f"adjacency must hold only 0 and 1, got {odd[0]!s}; pass edge labels as "
            "edge_labels; parallel edges are not supported"
        )
    matrix: BoolArray = array.astype(bool)
    loops = np.flatnonzero(matrix.diagonal())
    if loops.size:
        raise InvalidGraphError(
            f"self-loops are not supported, got one at node {loops[0]}; clear the diagonal"
        )
    if not directed and (place := _asymmetry(matrix)):
        u, v = place
        raise InvalidGraphError(
            f"an undirected graph needs a symmetric adjacency, but entries ({u}, {v}) and "
            f"({v}, {u}) differ; pass directed=True for a directed graph"
        )
    return _frozen(matrix)


def _asymmetry(matrix: NDArray[Any]) -> tuple[int, int] | None:
    """The first entry at which a square matrix is not symmetric."""
    places = np.argwhere(matrix != matrix.T)
    return (int(places[0, 0]), int(places[0, 1])) if len(places) else None


def _not_integers(array: NDArray[Any]) -> BoolArray:
    """Mask of entries that are not integers between 0 and the largest label."""
    return np.asarray((array != np.floor(array)) | (array < 0) | (array > LARGEST))


def label_vector(labels: ArrayLike | None, n: int) -> IntArray:
    """Check labels: one integer per node, all zero by default."""
    if labels is None:
        return _frozen(np.zeros(n, dtype=np.int64))
    array = _numeric(labels, "labels")
    if array.shape != (n,):
        raise InvalidGraphError(
            f"labels must be one integer for each of the {n} nodes, got shape {array.shape}"
        )
    if _not_integers(array).any():
        raise InvalidGraphError(
            f"labels must be integers >= 0 and at most {LARGEST}, got {array.tolist()}"
        )
    return _frozen(array.astype(np.int64))


def feature_matrix(features: ArrayLike | None, n: int) -> BoolArray:
    """Check features: one row per node, no columns by default."""
    if features is None:
        return _frozen(np.zeros((n, 0), dtype=bool))
    array = _numeric(features, "features")
    if array.ndim != 2 or array.shape[0] != n:
        raise InvalidGraphError(
            f"features must have {n} rows, one per node, and one column per feature; "
            f"got shape {array.shape}"
        )
    odd = array[(array != 0) & (array != 1)]
    if odd.size:
        raise InvalidGraphError(f"features must hold only 0 and 1, got {odd[0]!s}")
    return _frozen(array.astype(bool))


def edge_label_matrix(edge_labels: ArrayLike, matrix: BoolArray, directed: bool) -> IntArray:
    """Check edge labels: integers from 1 on edges, 0 elsewhere."""
    array = _numeric(edge_labels, "edge_labels")
    if array.shape != matrix.shape:
        raise InvalidGraphError(
            f"edge_labels must have the shape of adjacency {matrix.shape}, got {array.shape}"
        )
    if _not_integers(array).any():
        raise InvalidGraphError(
            f"edge_labels must be integers, >= 1 on edges and 0 elsewhere, at most {LARGEST}; "
            f"got {array[_not_integers(array)][0]!s}"
        )
    if ((array > 0) != matrix).any():
        u, v = np.argwhere((array > 0) != matrix)[0]
        raise InvalidGraphError(
            f"edge_labels must be >= 1 exactly on the edges; entry ({u}, {v}) is {array[u, v]} "
            f"but adjacency there is {int(matrix[u, v])}"
        )
    if not directed and (place := _asymmetry(array)):
        u, v = place
        raise InvalidGraphError(
            f"edge_labels of an undirected graph must be symmetric, but entries ({u}, {v}) and "
            f"({v}, {u}) are {array[u, v]} and {array[v, u]}"
        )
    return _frozen(array.astype(np.int64))
