"""Identity of molecules, checked against RDKit's canonical SMILES."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rdkit")

from rdkit import Chem

from bogrape import Graph, GraphGP, GraphSpace, Study, propose
from bogrape.molecules import (
    RequiredSubstructure,
    Valence,
    from_smiles,
    molecule_space,
    objectives,
    scaffold,
    to_smiles,
)

from strategies import graphs

SPACES = {
    "any": molecule_space("qm7", (4, 12)),
    "benzenes": molecule_space("qm7", 9, rules=[RequiredSubstructure("C1=CC=CC=C1")]),
    "azines": molecule_space("qm9", (8, 14), rules=[scaffold("C1=CC=NC=C1")]),
    "five-rings": molecule_space(("C", "N", "O"), 10, rules=[scaffold("C1=CC=CN1")]),
}


@cache
def samples(name: str) -> list[Graph]:
    return SPACES[name].sample(60, seed=0)


def smiles_by_rdkit(graph: Graph, space: GraphSpace) -> str:
    """Canonical SMILES, by way of a mol block that RDKit reads."""
    assert graph.edge_labels is not None
    assert space.label_names is not None
    lines = ["", "", "", f"{graph.n_nodes:3}{graph.n_edges:3}  0  0  0  0  0  0  0  0999 V2000"]
    for label in graph.labels:
        lines.append(f"    0.0000    0.0000    0.0000 {space.label_names[label]:<3} 0" + "  0" * 11)
    for u, v in graph.edges():
        lines.append(f"{u + 1:3}{v + 1:3}{graph.edge_labels[u, v]:3}  0  0  0  0")
    mol = Chem.MolFromMolBlock("\n".join([*lines, "M  END"]))
    return str(Chem.MolToSmiles(mol, isomericSmiles=False))


def alternating_cycles(graph: Graph) -> list[list[int]]:
    """Rings of even size with alternating single and double bonds."""
    assert graph.edge_labels is not None
    out = []
    for ring in nx.simple_cycles(graph.to_networkx(), length_bound=10):
        orders = [int(graph.edge_labels[u, v]) for u, v in pairwise([*ring, ring[0]])]
        if len(ring) % 2 == 0 and {tuple(orders[::2]), tuple(orders[1::2])} == {
            (1,) * (len(ring) // 2),
            (2,) * (len(ring) // 2),
        }:
            out.append(ring)
    return out


def rewritten(graph: Graph, ring: list[int]) -> Graph:
    """The graph with single and double bonds of an alternating ring swapped, same features."""
    assert graph.edge_labels is not None
    order = graph.edge_labels.copy()
    for u, v in pairwise([*ring, ring[0]]):
        order[u, v] = order[v, u] = 3 - graph.edge_labels[u, v]
    return Graph(graph.adjacency, graph.labels, graph.features, edge_labels=order)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SPACES)), st.integers(0, 59), st.integers(0, 59), st.randoms())
def test_graphs_are_the_same_exactly_when_their_canonical_smiles_are(
    name: str, i: int, j: int, random: object
) -> None:
    space = SPACES[name]
    first, other = samples(name)[i], samples(name)[j]
    candidates = [other, first.permuted(_shuffled(first.n_nodes, random))]
    for ring in alternating_cycles(first):
        twin = rewritten(first, ring)
        candidates += [twin, twin.permuted(_shuffled(first.n_nodes, random))]
    for candidate in candidates:
        same = smiles_by_rdkit(first, space) == smiles_by_rdkit(candidate, space)
        assert (space.identity(first) == space.identity(candidate)) == same
    assert space.identity(first) == to_smiles(first, space)


def _shuffled(n: int, random: object) -> list[int]:
    order = list(range(n))
    random.shuffle(order)  # type: ignore[attr-defined]
    return order


def test_kekule_forms_are_one_molecule_and_antiaromatic_ones_are_two() -> None:
    space = molecule_space(("C", "O"), 8)
    xylene = from_smiles("CC1=C(C)C=CC=C1", space)
    (ring,) = alternating_cycles(xylene)
    twin = rewritten(xylene, ring)
    assert twin.canonical_key() != xylene.canonical_key()
    assert space.identity(twin) == space.identity(xylene) == "Cc1ccccc1C"
    square = from_smiles("CC1=C(C)C=C1", ("C", "O"))
    (ring,) = alternating_cycles(square)
    assert space.identity(rewritten(square, ring)) != space.identity(square)


TINY = molecule_space(("C", "N"), (2, 5))
MOLECULES = {TINY.identity(graph) for graph in TINY.sample(50, seed=0)}


@settings(max_examples=100, deadline=None)
@given(
    graphs(n_nodes=(1, 5), n_labels=3, n_features=None, directed=None, edge_labels=None),
    graphs(n_nodes=(2, 4), n_labels=3, n_features=11, edge_labels=True),
    graphs(n_nodes=(2, 4), n_labels=3, n_features=11, edge_labels=True),
)
def test_graphs_that_are_not_molecules_have_an_identity_too(odd: Graph, a: Graph, b: Graph) -> None:
    same = a.canonical_key() == b.canonical_key()
    assert (TINY.identity(a) == TINY.identity(b)) == same
    assert TINY.identity(odd) not in MOLECULES


def test_identity_is_isomorphism_if_labels_do_not_fit_the_valences() -> None:
    graph = from_smiles("CO", ("C", "O"))
    for labels in (2, ("C", "X"), ("O", "C")):
        space = GraphSpace(2, labels=labels, features=11, edge_labels=3, rules=[Valence((4, 2))])
        assert space.identity(graph) == graph.canonical_key()
    same_valences = [molecule_space(("C", symbol), 2) for symbol in ("O", "S")]
    assert [space.identity(graph) for space in same_valences] == ["CO", "CS"]


def test_spaces_with_the_rule_of_old_databases_are_read_as_before() -> None:
    space = molecule_space("qm7", 4)
    assert '"valences":[4,3,2,2]}' in space.to_json()
    assert GraphSpace.from_json(space.to_json()).identity(from_smiles("CCCO")) == "CCCO"
    assert "RDKit" in space.identity_version


BENZENES = molecule_space(("C", "N", "O"), 8, rules=[scaffold("c1ccccc1", keep_rings=True)])


def test_enumeration_and_samples_contain_every_molecule_once() -> None:
    every = BENZENES.enumerate()
    names = [to_smiles(graph, BENZENES) for graph in every]
    assert len(set(names)) == len(names) == BENZENES.count()
    assert len({graph.canonical_key() for graph in every}) == len(every)
    drawn = BENZENES.sample(len(every), seed=1, distinct=True)
    assert sorted(to_smiles(graph, BENZENES) for graph in drawn) == sorted(names)


@pytest.mark.parametrize("method", ["search", "evolve", "sample", "exact"])
def test_no_method_proposes_a_molecule_twice(method: str) -> None:
    graphs = BENZENES.sample(6, seed=0, distinct=True)
    gp = GraphGP("ssp").fit(graphs, [objectives.log_p(g, BENZENES) for g in graphs])
    twins = [rewritten(g, ring) for g in graphs for ring in alternating_cycles(g)]
    known = [to_smiles(graph, BENZENES) for graph in twins]
    proposals = propose(BENZENES, gp, method=method, exclude=twins, n=6, time_limit=2)
    names = [to_smiles(proposal.graph, BENZENES) for proposal in proposals]
    assert len({*names, *known}) == len(names) + len(set(known))


def test_three_batches_of_eight_repeat_no_molecule() -> None:
    study = Study(BENZENES, method="search", n_initial=8, time_limit=0.15, seed=0)
    names: list[str] = []
    for _ in range(3):
        trials = [study.ask() for _ in range(8)]
        names += [to_smiles(trial.graph, BENZENES) for trial in trials]
        for trial in trials[:-1]:
            study.tell(trial, objectives.log_p(trial.graph, BENZENES))
        study.fail(trials[-1], "could not be made")
    assert len(set(names)) == 24
