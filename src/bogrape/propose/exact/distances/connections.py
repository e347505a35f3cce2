r"""What connectedness says about pairs of labelled nodes.

For connected undirected graphs with ``n_a`` nodes of label a, let ``x_sab`` be the number of pairs
with labels a and b at distance s, and for a set S of labels let ``|S|`` be the number of nodes that
have one of them, fewer than all nodes.

* ``span``: at least ``|S|`` edges have an end in S. (Take all other nodes together as one: what is
  left is connected and has ``|S| + 1`` nodes.)
* ``cut``: some edge leads from S to the other nodes.
* ``see``: every node has a node at each distance up to its eccentricity, which is at least half of
  the diameter d, so ``2 x_saa + sum_{b != a} x_sab >= n_a`` for ``s <= ceil(d / 2)``.
* ``before``: a node with a node at distance s has one at distance s - 1. So at most
  ``n_a`` pairs (a, b) at distance s belong to each node of label b that sees any at s - 1:
  ``x_sab <= n_a (2 x_tbb + sum_{c != b} x_tbc)`` with ``t = s - 1``, and half of that if a = b.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from .coordinates import LabelledDistance
from .inequality import Inequality


def inequalities(
    sizes: Mapping[int, int], longest: int, diameter: int | None
) -> Iterator[Inequality[LabelledDistance]]:
    """What holds for connected graphs with so many nodes of each label."""
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
