r"""Groups of counts, and distances between graphs in each group, for the kernel ``"rbf"``.

With :math:`P_{sab}`, :math:`N_m`, :math:`E_{kab}` and n as in `bogrape.counts`:

===============  ===================================================================================
``labels``       :math:`P_0 / n^2`: how many nodes have each label
``within_s``     :math:`\sum_{t \le s} P_t / n^2`, for s = 1, 2, 3: pairs within s steps
``farther``      :math:`J = \sum_t P_t / n^2`, pairs joined by a path, and for each s = 4, 5, ...
                 :math:`\sum_{t > s} P_t / n^2`, pairs farther apart than s steps
``features``     :math:`N_m / n` for features m beyond the labels
``edge_labels``  :math:`E / n^2`: edges by their labels and those of their ends
===============  ===================================================================================

In connected graphs with given labels, ``J`` is constant, and pairs farther apart than s are the
complement of those within s. Counted this way, all counts are zero from the longest path on, so
that nothing depends on the lengths of paths in other graphs. Pairs without a path are in no group.

All of it is linear in the counts: `path_layers` is the map. Distances are computed from
integers, so that those between graphs of one size are exact and none depends on the batch.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .arrays import FloatArray, IntArray
from .counts import Counts
from .errors import InvalidInputError

N_NEAR = 4  # lengths s = 0, 1, 2, 3 have one group each
PATH_GROUPS = ("labels", *(f"within_{s}" for s in range(1, N_NEAR)), "farther")
GROUPS = (*PATH_GROUPS, "features", "edge_labels")


def path_layers(n_lengths: int) -> dict[str, IntArray]:
    """For each group of paths a 0/1 matrix (rows, S): times ``P`` it gives the group's counts.

    >>> path_layers(6)["within_2"].tolist(), path_layers(6)["farther"].tolist()
    ([[1, 1, 1, 0, 0, 0]], [[1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1]])
    """
    lengths = np.arange(n_lengths)
    out = {PATH_GROUPS[s]: (lengths <= s)[None].astype(np.int64) for s in range(N_NEAR)}
    beyond = [lengths > s for s in range(N_NEAR, n_lengths - 1)]
    out["farther"] = np.array([lengths >= 0, *beyond], dtype=np.int64)
    return out


def groups_of(counts: Counts) -> tuple[str, ...]:
    """The groups in which graphs like these can differ: features and edge labels if they have any.

    Needs counts made with ``edges=True``.
    """
    edges = _needed(counts.edges, "edges")
    there = {"features": counts.n_extra > 0, "edge_labels": bool(edges[:, 1:].any())}
    return tuple(group for group in GROUPS if there.get(group, True))


def divisors(counts: Counts, group: str) -> IntArray:
    """Divisor of the counts of each graph: n for features, otherwise the square of n."""
    return counts.sizes if group == "features" else counts.sizes**2


def group_counts(counts: Counts, groups: Iterable[str]) -> dict[str, IntArray]:
    """The counts of each group as rows (B, columns), not yet divided by `divisors`."""
    out = {}
    within: IntArray | None = None
    for group in groups:
        if group == "labels":
            rows = counts.features[:, : counts.n_labels]
        elif group == "features":
            rows = counts.features[:, counts.n_labels :]
        elif group == "edge_labels":
            rows = _needed(counts.edges, "edges")
        else:
            if within is None:
                within = _within(_needed(counts.pairs, "pairs"))
            rows = _path_counts(within, group)
        out[group] = rows.reshape(len(counts), -1)
    return out


def _within(pairs: IntArray) -> IntArray:
    """Pairs within s = 0, 1, ... steps, from those at each distance (B, S, L, L).

    As ``np.cumsum(pairs, axis=1)``, several times faster: searches spend their time here.
    """
    out = np.empty_like(pairs)
    out[:, 0] = pairs[:, 0]
    for s in range(1, pairs.shape[1]):
        np.add(out[:, s - 1], pairs[:, s], out=out[:, s])
    return out


def _path_counts(within: IntArray, group: str) -> IntArray:
    """The counts of a group of paths, from pairs within s = 0, 1, ... steps, (B, S, L, L)."""
    n_lengths = within.shape[1]
    if group != "farther":
        return within[:, min(PATH_GROUPS.index(group), n_lengths - 1)]
    joined = within[:, -1:]
    return np.concatenate([joined, joined - within[:, N_NEAR : n_lengths - 1]], axis=1)


def squared_distances(left: Counts, right: Counts, groups: Iterable[str]) -> dict[str, FloatArray]:
    """Squared distances between all graphs on the left and all on the right, by group."""
    groups = tuple(groups)
    # pad labels; only lengths that both sides have are compared: beyond, one side is zero
    n_labels = max(left.n_labels, right.n_labels)
    n_edge_labels = max(left.n_edge_labels, right.n_edge_labels)
    left, right = (part.padded(0, n_labels, n_edge_labels) for part in (left, right))
    missing = [group for group in groups if group not in right.memo]
    right.memo.update(_rows(right, missing))  # searches compare with the same graphs repeatedly
    ours = _rows(left, groups)
    return {
        group: _squares(
            ours[group], divisors(left, group), right.memo[group], divisors(right, group)
        )
        for group in groups
    }


_Rows = tuple[FloatArray, FloatArray]  # whole numbers, and the square of the length of each row


def _rows(counts: Counts, groups: Iterable[str]) -> dict[str, _Rows]:
    found = {name: rows.astype(float) for name, rows in group_counts(counts, groups).items()}
    return {name: (rows, np.einsum("ij,ij->i", rows, rows)) for name, rows in found.items()}


def _squares(a: _Rows, n_a: IntArray, b: _Rows, n_b: IntArray) -> FloatArray:
    """``|a / n_a - b / n_b|^2``; shorter rows are padded with zeros."""
    (first, of_first), (second, of_second) = a, b
    of_first = of_first[:, None]
    width = min(first.shape[1], second.shape[1])
    # exact in any order of summation: integers far below 2^53
    twice = first[:, :width] @ second[:, :width].T
    twice *= -2.0
    u, w = n_a.astype(float)[:, None], n_b.astype(float)
    rounded = None
    if not (u == w).all():
        rounded = np.maximum(of_first / u**2 + of_second / w**2 + twice / (u * w), 0.0)
    twice += of_first
    twice += of_second
    twice /= u**2
    return np.asarray(twice if rounded is None else np.where(u == w, twice, rounded))


def typical_squares(counts: Counts) -> dict[str, float]:
    """The mean squared distance of two of these graphs, in each of their groups.

    It is at least the square of the smallest possible change (one more pair of nodes, or one more
    node with a feature), in case hardly any graphs differ.
    """
    out = {}
    for group, rows in group_counts(counts, groups_of(counts)).items():
        shares = rows / divisors(counts, group)[:, None]
        mean = 2.0 * float(shares.var(axis=0, ddof=1).sum()) if len(counts) > 1 else 0.0
        out[group] = max(mean, 1.0 / float(divisors(counts, group).max()) ** 2)
    return out


def _needed(counted: IntArray | None, what: str) -> IntArray:
    if counted is None:
        raise InvalidInputError(f"kernel 'rbf' needs counts made with {what}=True")
    return counted
