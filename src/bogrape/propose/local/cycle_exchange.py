"""Exchanges that keep a graph connected: add an edge, and remove another of the cycle it closes.

If only some pairs of nodes can have an edge, hardly one in thirty exchanges of any edge for any
other leads from a spanning tree to another; these all do. The cycle is a shortest one, so they also
keep the number of independent cycles of any connected graph.
"""

from __future__ import annotations

import numpy as np

from ...arrays import BoolArray, IntArray

Exchange = tuple[IntArray, IntArray]  # ends of the removed and of the added edge


def exchange_on_cycle(
    place: IntArray,
    places: IntArray,
    adjacency: BoolArray,
    distances: IntArray,
    rng: np.random.Generator,
) -> Exchange | None:
    """An exchange of the edge at ``place`` (two nodes) for another, or of another for it.

    If there is no edge, it is added, and a random edge of a shortest path between its ends is
    removed. If there is one, it is removed, and another is added whose ends are nearer to different
    ends of it: in a tree, this joins the two parts again.

    Args:
        place: a pair of nodes.
        places: all pairs that may have an edge, (K, 2).
        adjacency: adjacency matrix of the graph, which is undirected.
        distances: distances in the graph, with the number of nodes for "no path".
        rng: picks the other edge.

    Returns:
        The removed and the added edge, or ``None`` if there is no other edge.
    """
    a, b = place
    u, v = places.T
    there = adjacency[u, v]
    if not adjacency[a, b]:
        length = distances[a, b]
        if length >= len(adjacency):
            return None
        on_path = distances[a, u] + 1 + distances[v, b] == length
        on_path |= distances[a, v] + 1 + distances[u, b] == length
        gone = np.flatnonzero(there & on_path)
        return (places[rng.choice(gone)], place) if len(gone) else None
    nearer = distances[a] < distances[b]
    come = np.flatnonzero(~there & (nearer[u] != nearer[v]))
    return (place, places[rng.choice(come)]) if len(come) else None
