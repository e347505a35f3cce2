"""Canonical numberings of the nodes, for many graphs at once.

Nodes are coloured repeatedly by the colours they see at each distance; if nodes still share a
colour, each of them in turn is given one of its own. Of all numberings that this leads to, the one
with the smallest code is the *canonical* one. The colours are hashes, whole numbers modulo 2^64. An
accidental collision makes a search longer but no answer wrong: colours do not depend on the
numbering, and codes are compared bit by bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....arrays import BoolArray, IntArray

Distances = NDArray[np.int8]  # (B, n, n)
Colours = NDArray[np.uint64]  # (B, n)
Codes = NDArray[np.uint64]  # (B, 2): the bits above the diagonal

NONE: Codes = np.zeros((0, 2), dtype=np.uint64)
MOST_NODES = 16  # as many as fit into a code, and into the colours below
_ROUNDS = 3
_ROWS = 20_000  # graphs at a time: a few arrays of this many times n^2 words
_ODD = np.random.default_rng(0).integers(0, 2**63, MOST_NODES, dtype=np.uint64) * 2 + 1
_PROFILE = np.uint64(1) << np.arange(0, 4 * MOST_NODES, 4, dtype=np.uint64)
_OWN = np.uint64(0x9E3779B97F4A7C15)


def profiles(distances: Distances) -> Colours:
    """Number of nodes at each distance from each node, as one word."""
    return np.asarray(_PROFILE[distances].sum(axis=2, dtype=np.uint64))


def refined(colours: Colours, distances: Distances, rounds: int = _ROUNDS) -> Colours:
    """Finer colours, which differ if nodes see different colours at some distance."""
    weights = _ODD[distances]
    for _ in range(rounds):
        seen = np.einsum("bvu,bu->bv", weights, _mixed(colours))
        colours = _mixed(colours) * _OWN + seen
    return colours


def _mixed(words: Colours) -> Colours:
    """Words with their bits mixed (the finaliser of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def canonical_codes(adjacency: BoolArray, distances: Distances) -> Codes:
    """The code of each graph; two codes are equal if and only if the graphs are isomorphic.

    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> both = np.stack([path, path[[1, 0, 2]][:, [1, 0, 2]]])
    >>> far = np.where(both, 1, 2 * ~np.eye(3, dtype=bool)).astype(np.int8)
    >>> first, second = canonical_codes(both, far)
    >>> bool((first == second).all())
    True
    """
    out = np.empty((len(adjacency), 2), dtype=np.uint64)
    for start in range(0, len(adjacency), _ROWS):
        part = slice(start, start + _ROWS)
        out[part] = _codes_of_part(adjacency[part], distances[part])
    return out


def _codes_of_part(adjacency: BoolArray, distances: Distances) -> Codes:
    graphs = np.arange(len(adjacency))
    colours = refined(profiles(distances), distances)
    best = np.full((len(adjacency), 2), np.iinfo(np.uint64).max, dtype=np.uint64)
    while len(graphs):
        order = np.argsort(colours, axis=1)
        in_order = np.take_along_axis(colours, order, axis=1)
        repeated = in_order[:, 1:] == in_order[:, :-1]
        done = ~repeated.any(axis=1)
        _keep_smallest(best, graphs[done], _words(adjacency[graphs[done]], order[done]))
        graphs, colours, in_order = graphs[~done], colours[~done], in_order[~done]
        first = repeated[~done].argmax(axis=1)
        cell = colours == in_order[np.arange(len(graphs)), first][:, None]
        rows, nodes = np.nonzero(cell & ~_has_earlier_twin(adjacency[graphs], cell))
        graphs, colours = graphs[rows], colours[rows]
        colours[np.arange(len(graphs)), nodes] ^= _OWN
        colours = refined(colours, distances[graphs], 2)
    return best


def _has_earlier_twin(adjacency: BoolArray, cell: BoolArray) -> BoolArray:
    """True for nodes with an earlier twin in the cell: the same neighbours, apart from the two.

    Exchanging twins changes nothing, so one of them is enough.
    """
    n = adjacency.shape[1]
    out = np.zeros_like(cell)
    for v in range(1, n):
        for u in range(v):
            differ = adjacency[:, u] ^ adjacency[:, v]
            differ[:, [u, v]] = False
            out[:, v] |= cell[:, u] & cell[:, v] & ~differ.any(axis=1)
    return out


def _words(adjacency: BoolArray, order: IntArray) -> Codes:
    """The bits above the diagonal, with the nodes in this order, as two words."""
    n = adjacency.shape[1]
    u, v = np.triu_indices(n, 1)
    rows = np.arange(len(adjacency))[:, None]
    bits = np.zeros((len(adjacency), 128), dtype=bool)
    bits[:, : len(u)] = adjacency[rows, order[:, u], order[:, v]]
    return np.packbits(bits, axis=1).view(">u8").astype(np.uint64)


def _keep_smallest(best: Codes, graphs: IntArray, codes: Codes) -> None:
    """Replace the best code of each graph by the smallest of these, if that is smaller."""
    order = np.lexsort((codes[:, 1], codes[:, 0], graphs))
    graphs, codes = graphs[order], codes[order]
    first = np.ones(len(graphs), dtype=bool)
    first[1:] = graphs[1:] != graphs[:-1]
    graphs, codes = graphs[first], codes[first]
    old = best[graphs]
    equal = codes[:, 0] == old[:, 0]
    smaller = (codes[:, 0] < old[:, 0]) | (equal & (codes[:, 1] < old[:, 1]))
    best[graphs[smaller]] = codes[smaller]


def distinct(codes: Codes) -> Codes:
    """The codes in ascending order, each once."""
    codes = codes[np.lexsort((codes[:, 1], codes[:, 0]))]
    return codes[np.r_[True, (codes[1:] != codes[:-1]).any(axis=1)]] if len(codes) else codes


def adjacency_of(codes: Codes, n: int) -> BoolArray:
    """The graphs of some codes."""
    bits = np.unpackbits(codes.astype(">u8").view(np.uint8), axis=1)
    u, v = np.triu_indices(n, 1)
    out = np.zeros((len(codes), n, n), dtype=bool)
    out[:, u, v] = bits[:, : len(u)]
    return out | out.transpose(0, 2, 1)
