"""Of several equally good graphs, the one least like those already seen is proposed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bogrape.graph import Graph
from bogrape.propose.local import search as local_search
from bogrape.propose.local.search import break_tie

from oracles import networkx_graph, path_counts
from strategies import graph_lists, relabelled

ALREADY_PAST = 0.0


def by_identity(graphs: Sequence[Graph]) -> dict[str, Graph]:
    return {graph.canonical_key(): graph for graph in graphs}


def shares(graph: Graph) -> Counter[tuple[object, ...]]:
    """Shares of ordered pairs by distance and labels, and of nodes by degree, by networkx."""
    n = graph.n_nodes
    out: Counter[tuple[object, ...]] = Counter()
    for kind, number in path_counts(graph).items():
        out["pairs", kind] += Fraction(number, n**2)  # type: ignore[assignment]
    for _, degree in networkx_graph(graph).degree():
        out["nodes", degree] += Fraction(1, n)  # type: ignore[assignment]
    return out


def distance(left: Graph, right: Graph) -> Fraction:
    """Difference of two graphs, as an exact fraction."""
    here, there = shares(left), shares(right)
    return sum((abs(Fraction(here[k]) - there[k]) for k in here | there), Fraction(0))


def nearest(graph: Graph, seen: Sequence[Graph]) -> Fraction:
    return min(distance(graph, other) for other in seen)


@st.composite
def tied_and_seen(draw: st.DrawFn) -> tuple[dict[str, Graph], list[Graph]]:
    """Up to five different graphs, and up to four that may be among them."""
    graphs = draw(graph_lists(min_size=2, max_size=9, n_features=0, n_nodes=(1, 6)))
    some = draw(st.integers(1, min(5, len(graphs) - 1)))
    return by_identity(graphs[:some]), graphs[some:]


@given(case=tied_and_seen(), seed=st.integers(0, 100))
def test_no_tied_graph_is_farther_from_those_seen(
    case: tuple[dict[str, Graph], list[Graph]], seed: int
) -> None:
    tied, seen = case
    chosen = break_tie(tied, seen, seed)
    assert any(chosen is graph for graph in tied.values())
    farthest = max(nearest(graph, seen) for graph in tied.values())
    assert nearest(chosen, seen) >= farthest - Fraction(1, 10**11)


@given(case=tied_and_seen(), seed=st.integers(0, 100), data=st.data())
def test_neither_order_nor_numbering_matters(
    case: tuple[dict[str, Graph], list[Graph]], seed: int, data: st.DataObject
) -> None:
    tied, seen = case
    chosen = break_tie(tied, seen, seed)
    shuffled = dict(data.draw(st.permutations(list(tied.items()))))
    renamed = [data.draw(relabelled(graph)) for graph in data.draw(st.permutations(seen))]
    assert break_tie(shuffled, renamed, seed) is chosen


@given(case=tied_and_seen(), data=st.data())
def test_graphs_compared_in_parts_give_the_same_choice(
    case: tuple[dict[str, Graph], list[Graph]], data: st.DataObject
) -> None:
    tied, seen = case
    whole = break_tie(tied, seen, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_search, "_AT_ONCE", data.draw(st.integers(1, len(seen))))
        assert break_tie(tied, seen, 0) is whole


@given(case=tied_and_seen(), seed=st.integers(0, 100))
def test_past_the_deadline_the_first_of_those_seen_decides(
    case: tuple[dict[str, Graph], list[Graph]], seed: int
) -> None:
    tied, seen = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_search, "_AT_ONCE", 1)
        assert break_tie(tied, seen, seed, ALREADY_PAST) is break_tie(tied, seen[:1], seed)


def path(labels: Sequence[int]) -> Graph:
    n = len(labels)
    return Graph([[abs(u - v) == 1 for v in range(n)] for u in range(n)], labels)


def test_a_graph_that_was_seen_is_chosen_last() -> None:
    tied = by_identity([path([0, 0, 0]), path([0, 1, 0])])
    for graph in tied.values():
        assert all(break_tie(tied, [graph], seed) != graph for seed in range(20))


def test_the_seed_breaks_remaining_ties_independently_of_the_order() -> None:
    """Two paths that differ only in their label, and a seen one equally far from both."""
    tied = by_identity([path([0, 0, 0]), path([1, 1, 1])])
    for seen in ([], [path([2, 2, 2])]):
        chosen = [break_tie(tied, seen, seed) for seed in range(20)]
        assert set(chosen) == set(tied.values())
        turned = dict(reversed(tied.items()))
        assert chosen == [break_tie(turned, seen, seed) for seed in range(20)]


def test_the_only_graph_is_chosen_whatever_was_seen() -> None:
    (only,) = (tied := by_identity([path([0, 1])])).values()
    assert break_tie(tied, [only], 0) is only
