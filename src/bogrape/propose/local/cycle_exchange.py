"""Exchanges that keep a graph connected: an edge comes, and one of the cycle that it closes goes.

Of the exchanges of any edge for any other, hardly one in thirty leads from a spanning tree of given
lines to another; these all do. The cycle is a shortest one, so they keep the number of independent
cycles of any connected graph, too.
"""

from __future__ import annotations

import numpy as np

from ...arrays import BoolArray, IntArray

Exchange = tuple[IntArray, IntArray]  # the ends of the edge that goes, and of the one that comes


def exchange_on_cycle(
    place: IntArray,
    places: IntArray,
    adjacency: BoolArray,
    distances: IntArray,
    rng: np.random.Generator,
) -> Exchange | None:
    """An exchange of an edge at ``place`` (two nodes) for another one, or of another one for it.

    If there is no edge, one comes, and a random edge of a shortest path between its ends goes. If
    there is one, it goes, and another comes whose ends lie nearer to different ends of it: in a
    tree, that joins the two parts again.

    Args:
        place: a pair of nodes.
        places: all pairs that may have an edge, (K, 2).
        adjacency: of the graph, which is undirected.
        distances: of the graph, with its number of nodes for "no path".
        rng: decides which edge.

    Returns:
        ``None`` if there is no such edge.
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
