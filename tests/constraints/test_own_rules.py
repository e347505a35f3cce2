"""Rules that users write: with or without rows, checked when a space is made, proved right."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, GraphGP, GraphSpace, propose
from bogrape.batch import Batch
from bogrape.constraints import RULES, Edge, NumberOfEdges, Row, Rule, Shape, TwoConnected
from bogrape.constraints.rows import bounded, total
from bogrape.errors import (
    InfeasibleSpaceError,
    InvalidSpaceError,
    SearchSpaceExhausted,
    UnsupportedError,
)
from bogrape.graph import Graph
from bogrape.molecules import molecule_space, to_smiles
from exhaustive import assert_optimal, everything, fitted, prove

from oracles import networkx_graph

KERNELS = ("ssp", "sp", "essp", "esp")


class EvenWithoutTriangle(Rule):
    """A rule without rows, decided by networkx: no solver knows it."""

    def holds(self, graph: Graph) -> bool:
        plain = networkx_graph(graph).to_undirected()
        return graph.n_edges % 2 == 0 and not any(nx.triangles(plain).values())


@dataclass(frozen=True)
class LabelsDoNotMeet(Rule):
    """No edge joins two nodes of the label, unless both are leaves: ties labels to edges."""

    label: int = 0

    def holds(self, graph: Graph) -> bool:
        plain = networkx_graph(graph)
        return not any(
            graph.labels[u] == graph.labels[v] == self.label and plain.degree[u] > 1
            for u, v in plain.to_directed().edges
        )


class NoBridge(Rule):
    """A rule that decides whole batches, in floats; no rows."""

    def excess(self, batch: Batch) -> np.ndarray[Any, Any]:
        return np.array(
            [
                float(len(list(nx.bridges(networkx_graph(batch.graph(i))))))
                for i in range(len(batch))
            ]
        )


@dataclass(frozen=True)
class AtMostEdges(Rule):
    """A rule with `holds` and `rows`."""

    most: int

    def holds(self, graph: Graph) -> bool:
        return graph.n_edges <= self.most

    def rows(self, shape: Shape) -> Iterator[Row]:
        yield from bounded("edges", total(Edge(u, v) for u, v in shape.pairs()), None, self.most)


class Refuses(Rule):
    """A rule that no graph satisfies."""

    def holds(self, graph: Graph) -> bool:  # noqa: ARG002
        return False


# -- spaces -------------------------------------------------------------------------------------


def test_a_rule_is_encoded_when_it_has_rows_and_checked_otherwise() -> None:
    space = GraphSpace(5, rules=[EvenWithoutTriangle(), AtMostEdges(6), NumberOfEdges(maximum=7)])
    assert [rule.encoded for rule in space.rules] == [False, True, True]
    assert space.checked_rules == (EvenWithoutTriangle(),)
    assert "EvenWithoutTriangle() (checked graph by graph" in space.describe()


def test_every_rule_of_the_package_is_encoded_except_what_rdkit_computes() -> None:
    from bogrape.molecules import RULES as MOLECULES

    without_rows = [name for name, kind in (RULES | MOLECULES).items() if kind.rows is Rule.rows]
    assert without_rows == ["Property"]


@pytest.mark.parametrize(
    ("space", "rule"),
    [
        (GraphSpace((3, 6)), EvenWithoutTriangle()),
        (GraphSpace(6), NoBridge()),
        (GraphSpace(4, labels=2), LabelsDoNotMeet(1)),
        (GraphSpace(4, directed=True, connected="strong"), AtMostEdges(5)),
        (GraphSpace(4, features=1, connected=False), EvenWithoutTriangle()),
    ],
    ids=["networkx", "batches", "labels", "rows", "features"],
)
def test_listing_counting_and_sampling_obey_rules_of_users(space: GraphSpace, rule: Rule) -> None:
    ruled = space.with_rules([rule])
    inside = {g.canonical_key() for g in space.enumerate() if rule.holds(g)}
    assert 0 < len(inside) < space.count()
    assert {graph.canonical_key() for graph in ruled.enumerate()} == inside
    assert ruled.count() == len(inside)
    assert {graph.canonical_key() for graph in ruled.sample(60)} <= inside
    assert all(ruled.contains(graph) == rule.holds(graph) for graph in space.sample(60))


def test_the_limit_of_an_enumeration_counts_only_graphs_that_obey() -> None:
    space = GraphSpace(6, rules=[EvenWithoutTriangle()])
    some = space.enumerate(limit=3)
    assert len(some) == 3
    assert all(map(EvenWithoutTriangle().holds, some))


# -- proofs -------------------------------------------------------------------------------------

_CASES = {
    "bare": GraphSpace(5, rules=[EvenWithoutTriangle()]),
    "sizes": GraphSpace((3, 5), rules=[EvenWithoutTriangle(), AtMostEdges(6)]),
    "labels": GraphSpace(4, labels=2, rules=[LabelsDoNotMeet()]),
    "features": GraphSpace(4, features=1, rules=[NoBridge()]),
    "directed": GraphSpace(4, directed=True, rules=[EvenWithoutTriangle(), AtMostEdges(6)]),
    "rows": GraphSpace(5, rules=[AtMostEdges(7)]),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("acquisition", [LCB(1.0), EI()], ids=["lcb", "ei"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("case", _CASES)
def test_proofs_under_rules_of_users_equal_exhaustive_search(
    case: str, kernel: str, acquisition: LCB | EI
) -> None:
    space = _CASES[case]
    assert_optimal(space, fitted(space, kernel, seed=3), acquisition)


@dataclass(frozen=True)
class Lottery(Rule):
    """A random third of all graphs, so that graphs with equal counts are decided independently."""

    salt: int

    def holds(self, graph: Graph) -> bool:
        return zlib.crc32(f"{self.salt}{graph.canonical_key()}".encode()) % 3 == 0


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(KERNELS),
    st.sampled_from([GraphSpace(5), GraphSpace(4, labels=2), GraphSpace((2, 4), features=1)]),
    st.sampled_from([LCB(1.0), EI()]),
)
def test_proofs_under_a_random_rule_equal_exhaustive_search(
    salt: int, kernel: str, space: GraphSpace, acquisition: LCB | EI
) -> None:
    ruled = space.with_rules([Lottery(salt)])
    assume(everything(ruled))
    assert_optimal(ruled, fitted(space, kernel, seed=salt % 7), acquisition)


@pytest.mark.parametrize("kernel", KERNELS)
def test_excluded_graphs_and_checked_rules_together_leave_the_best_of_the_rest(
    kernel: str,
) -> None:
    space = GraphSpace(6, rules=[EvenWithoutTriangle()])
    gp = fitted(space, kernel, seed=5)
    graphs = list(everything(space))
    assert_optimal(space, gp, exclude=graphs[::2])


def test_the_mip_refuses_rules_it_cannot_encode() -> None:
    space = GraphSpace(4, rules=[EvenWithoutTriangle()])
    with pytest.raises(UnsupportedError, match=r'EvenWithoutTriangle.*method="exact"'):
        propose(space, fitted(space, "ssp"), method="mip")


def test_the_mip_solves_spaces_with_rules_of_users_that_have_rows() -> None:
    space = GraphSpace(4, rules=[AtMostEdges(4)])
    gp = fitted(space, "ssp")
    proposal = propose(space, gp, method="mip", time_limit=30)
    assert proposal.status == "optimal"
    assert proposal.graph.n_edges <= 4


@pytest.mark.parametrize("method", ["exact", "search", "sample", "evolve"])
def test_every_other_method_proposes_graphs_that_obey_the_rule(method: Any) -> None:
    space = GraphSpace(7, rules=[EvenWithoutTriangle()])
    proposal = propose(space, fitted(space, "ssp"), method=method, time_limit=3)
    assert EvenWithoutTriangle().holds(proposal.graph)


def test_if_no_graph_passes_a_checked_rule_the_error_names_this_rule_alone() -> None:
    space = GraphSpace(4, rules=[Refuses(), NumberOfEdges(maximum=5)])
    gp = fitted(GraphSpace(4), "ssp")
    with pytest.raises(InfeasibleSpaceError, match="satisfies the other rules breaks") as caught:
        prove(space, gp)
    assert caught.value.rules == ("Refuses()",)


def test_a_contradiction_between_encoded_rules_names_them_and_no_checked_rule() -> None:
    space = GraphSpace(5, rules=[Refuses(), TwoConnected(), AtMostEdges(4)])
    gp = fitted(GraphSpace(5), "ssp")
    with pytest.raises(InfeasibleSpaceError, match="no graph satisfies") as caught:
        prove(space, gp)
    assert set(caught.value.rules) == {TwoConnected().name, AtMostEdges(4).name}


def test_if_all_graphs_that_pass_are_excluded_the_space_is_exhausted() -> None:
    space = GraphSpace(5, rules=[EvenWithoutTriangle()])
    gp = fitted(space, "ssp")
    with pytest.raises(SearchSpaceExhausted, match=r"excluded ones, or breaks EvenWithoutTriangle"):
        prove(space, gp, exclude=space.enumerate())


class FailsLater(Rule):
    """Works for the graphs it is tried on when the space is made, and raises later."""

    failing = False

    def holds(self, graph: Graph) -> bool:  # noqa: ARG002
        if type(self).failing:
            raise ZeroDivisionError("in a rule")
        return True


def test_an_error_in_a_rule_propagates_from_an_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    space = GraphSpace(4, rules=[FailsLater()])
    monkeypatch.setattr(FailsLater, "failing", True)
    with pytest.raises(ZeroDivisionError, match="in a rule"):
        space.enumerate()


# -- mistakes -----------------------------------------------------------------------------------


def test_a_rule_that_changes_the_meaning_of_another_is_refused_when_it_is_defined() -> None:
    with pytest.raises(InvalidSpaceError, match=r"derived from NumberOfEdges.*Even\(Rule\)"):

        class Even(NumberOfEdges):
            def holds(self, graph: Graph) -> bool:
                return graph.n_edges % 2 == 0


class Nothing(Rule):
    """A rule with neither `holds` nor `excess`."""


class Raises(Rule):
    def holds(self, graph: Graph) -> bool:
        return bool(nx.find_cycle(graph.to_networkx()))  # raises if there is none


class NumberedFirst(Rule):
    def holds(self, graph: Graph) -> bool:
        return bool(graph.adjacency[0].sum() >= 2)


class NegativeExcess(Rule):
    def excess(self, batch: Batch) -> np.ndarray[Any, Any]:
        return batch.adjacency.sum(axis=(1, 2)) / 2.0 - 6.0


class Disagree(Rule):
    def holds(self, graph: Graph) -> bool:
        return graph.n_edges <= 6

    def excess(self, batch: Batch) -> np.ndarray[Any, Any]:
        return np.maximum(0.0, batch.adjacency.sum(axis=(1, 2)) / 2 - 5)


class WrongRows(Rule):
    def holds(self, graph: Graph) -> bool:
        return graph.n_edges <= 6

    def rows(self, shape: Shape) -> Iterator[Row]:
        yield from bounded("edges", total(Edge(u, v) for u, v in shape.pairs()), None, 5)


@dataclass
class CanChange(Rule):
    most: int = 3

    def holds(self, graph: Graph) -> bool:
        return graph.n_edges <= self.most


class HasState(Rule):
    def __init__(self, most: int) -> None:
        self.most = most

    def holds(self, graph: Graph) -> bool:
        return graph.n_edges <= self.most


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (Nothing(), r"holds\(graph\) or excess\(batch\), got neither"),
        (Raises(), "rest of the space, got NetworkXNoCycle"),
        (NumberedFirst(), r"however its nodes are numbered.*nodes\(\)"),
        (NegativeExcess(), "one number >= 0 for each graph"),
        (Disagree(), "graphs on which they differ"),
        (WrongRows(), "rows equivalent to"),
        (CanChange(), "a frozen dataclass"),
        (HasState(3), "attributes most; try @dataclass"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Rule) else "",
)
def test_a_rule_that_contradicts_itself_is_refused_with_the_reason(
    rule: Rule, message: str
) -> None:
    with pytest.raises(InvalidSpaceError, match=message):
        GraphSpace(6, rules=[rule])


def test_a_rule_about_numbered_nodes_is_accepted_if_nodes_have_names() -> None:
    space = GraphSpace(nodes=("a", "b", "c", "d"), rules=[NumberedFirst()])
    assert all(graph.adjacency[0].sum() >= 2 for graph in space.enumerate())
    values = [float(g.n_edges) for g in space.sample(5)]
    gp = GraphGP("ssp").fit(space.sample(5), values)
    proposal = propose(space, gp, method="exact")
    assert proposal.status == "optimal"
    assert NumberedFirst().holds(proposal.graph)


class ShortName(Rule):
    """Raises for graphs that are not molecules."""

    def holds(self, graph: Graph) -> bool:
        return len(to_smiles(graph)) <= 5


def test_a_checked_rule_is_called_only_with_graphs_that_satisfy_all_else() -> None:
    space = molecule_space("qm7", n_atoms=4, rules=[ShortName()], bounds=False)
    free = molecule_space("qm7", n_atoms=4, bounds=False)
    short = {space.identity(g) for g in free.enumerate() if ShortName().holds(g)}
    assert {space.identity(g) for g in space.enumerate()} == short
    gp = fitted(free, "ssp")
    proposal = prove(space, gp, n_evaluations=2000)
    assert proposal.status == "optimal"
    assert ShortName().holds(proposal.graph)
    assert not any("ShortName" in words for words in space.violations(_overloaded(free)))


def _overloaded(space: GraphSpace) -> Graph:
    """The complete graph with triple bonds everywhere, which is not a molecule."""
    n = space.n_max
    joined = ~np.eye(n, dtype=bool)
    return Graph(
        joined,
        np.zeros(n, dtype=int),
        np.zeros((n, space.n_features), dtype=bool),
        edge_labels=3 * joined,
    )


@dataclass(frozen=True)
class FirstHasDegree(Rule):
    """A rule that names a node: some numbering of a graph must satisfy it."""

    degree: int

    def nodes(self) -> frozenset[int]:
        return frozenset({0})

    def holds(self, graph: Graph) -> bool:
        return bool(graph.adjacency[0].sum() == self.degree)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_checked_rule_that_names_a_node_must_hold_for_some_numbering(kernel: str) -> None:
    space = GraphSpace(5, rules=[FirstHasDegree(3)])
    assert_optimal(space, fitted(space, kernel, seed=2))
