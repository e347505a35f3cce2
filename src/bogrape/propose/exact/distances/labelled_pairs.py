r"""Inequalities for pairs of nodes by distance and labels of their ends.

*The triangle inequality.* For undirected graphs with ``n_a`` nodes of label a, let ``X_ab(s)`` be
the number of pairs with labels a and b within s steps. Around a node v of label b let A be the
nodes of label a within s steps and C those of label c within t steps; v itself belongs to A if
a = b. Any two nodes, one of A and one of C, are within s + t steps of each other. So for every v

.. math:: X_{aa}(2s) \ge \binom{|A|}{2} \ge k |A| - \binom{k + 1}{2} \quad (k = 1, 2, \dots),
          \qquad X_{ac}(s + t) \ge |A| |C| \ge n_c |A| + n_a |C| - n_a n_c ,

and the sum over the ``n_b`` nodes v of label b, where :math:`\sum_v |A|` is ``X_ab(s)``, or
``2 X_aa(s) + n_a`` if a = b, is linear in the counts.

*Connectedness.* For connected undirected graphs let ``x_sab`` be the number of pairs with labels a
and b at distance s, and for a set S of labels let ``|S|`` be the number of nodes that have one of
them; some nodes have none.

* ``span``: at least ``|S|`` edges have an end in S. (Merge all other nodes into one: the result is
  connected and has ``|S| + 1`` nodes.)
* ``cut``: some edge leads from S to the other nodes.
* ``see``: every node has a node at each distance up to its eccentricity, which is at least half of
  the diameter d, so ``2 x_saa + sum_{b != a} x_sab >= n_a`` for ``s <= ceil(d / 2)``.
* ``before``: a node with a node at distance s has one at distance s - 1. So each node of label b
  has at most ``n_a`` of the pairs (a, b) at distance s, and none unless it has a node at s - 1:
  ``x_sab <= n_a (2 x_tbb + sum_{c != b} x_tbc)`` with ``t = s - 1``, and half of that if a = b.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import combinations

from .coordinates import LabelledDistance
from .inequality import Inequality

Weights = Counter[LabelledDistance]


def triangles(sizes: Mapping[int, int], longest: int) -> Iterator[Inequality[LabelledDistance]]:
    """Consequences of the triangle inequality for given numbers of nodes per label."""
    labels = [label for label, size in sizes.items() if size]
    for b in labels:
        for a in labels:
            for s in range(1, (longest - 1) // 2 + 1):
                yield from _alike(sizes, a, b, s)
            for c in labels:
                if a < c:
                    for s in range(1, longest - 1):
                        for t in range(1, longest - s):
                            yield _apart(sizes, a, c, b, s, t)


def _alike(
    sizes: Mapping[int, int], a: int, b: int, s: int
) -> Iterator[Inequality[LabelledDistance]]:
    """``n_b X_aa(2s) >= k sum|A| - n_b k (k + 1) / 2``."""
    around, itself = _sum_around(sizes, a, b, s)
    for k in range(1, sizes[a]):
        weights = _within(a, a, 2 * s, sizes[b])
        weights.subtract({key: k * weight for key, weight in around.items()})
        low = k * itself - sizes[b] * k * (k + 1) // 2
        yield Inequality(f"alike[{a},{b},{s},{k}]", weights, low)


def _apart(
    sizes: Mapping[int, int], a: int, c: int, b: int, s: int, t: int
) -> Inequality[LabelledDistance]:
    """``n_b X_ac(s + t) >= n_c sum|A| + n_a sum|C| - n_a n_b n_c``."""
    weights = _within(a, c, s + t, sizes[b])
    low = -sizes[a] * sizes[b] * sizes[c]
    for other, steps, factor in ((a, s, sizes[c]), (c, t, sizes[a])):
        around, itself = _sum_around(sizes, other, b, steps)
        weights.subtract({key: factor * weight for key, weight in around.items()})
        low += factor * itself
    return Inequality(f"apart[{a},{c},{b},{s},{t}]", weights, low)


def _sum_around(sizes: Mapping[int, int], a: int, b: int, s: int) -> tuple[Weights, int]:
    """The sum of ``|A|`` over the nodes of label b: weights of the counts, and a constant."""
    return (_within(a, b, s, 1), 0) if a != b else (_within(a, a, s, 2), sizes[a])


def _within(a: int, b: int, s: int, factor: int) -> Weights:
    return Counter(dict.fromkeys(_keys(min(a, b), max(a, b), s), factor))


@lru_cache(4096)
def _keys(a: int, b: int, s: int) -> tuple[LabelledDistance, ...]:
    return tuple(LabelledDistance(t, a, b) for t in range(1, s + 1))


def connections(
    sizes: Mapping[int, int], longest: int, diameter: int | None
) -> Iterator[Inequality[LabelledDistance]]:
    """Consequences of connectedness for given numbers of nodes per label."""
    labels = [label for label, size in sizes.items() if size]
    for size in range(1, len(labels)):
        for chosen in combinations(labels, size):
            others = [label for label in labels if label not in chosen]
            outward = Counter({_key(1, a, b): 1 for a in chosen for b in others})
            inward = Counter({_key(1, a, b): 1 for a in chosen for b in chosen})
            n_chosen = sum(sizes[a] for a in chosen)
            yield Inequality(f"span{[*chosen]}", outward + inward, n_chosen)
            if labels[0] in chosen:
                yield Inequality(f"cut{[*chosen]}", outward, 1)
    half = 0 if diameter is None else (diameter + 1) // 2
    for b in labels:
        for s in range(1, half + 1):
            yield Inequality(f"see[{b},{s}]", _seen(labels, b, s, 1), sizes[b])
        for s in range(max(2, half + 1), longest + 1):
            for a in labels:
                weights = _seen(labels, b, s - 1, sizes[a])
                weights.subtract({_key(s, a, b): 2 if a == b else 1})
                yield Inequality(f"before[{a},{b},{s}]", weights, 0)


def _seen(labels: list[int], b: int, s: int, factor: int) -> Counter[LabelledDistance]:
    """``factor`` times the number of pairs of a node of label b and one at distance s."""
    return Counter({_key(s, b, c): factor * (2 if c == b else 1) for c in labels})


def _key(s: int, a: int, b: int) -> LabelledDistance:
    return LabelledDistance(s, min(a, b), max(a, b))
