"""Limits on ring sizes: definition against networkx and RDKit, rows in every engine."""

from __future__ import annotations

from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pytest

pytest.importorskip("rdkit")

from networkx.generators.atlas import graph_atlas_g
from rdkit import Chem

from bogrape import LCB, Graph, GraphGP, GraphSpace, propose
from bogrape.batch import Batch
from bogrape.constraints import CycleRange
from bogrape.molecules import LargestRing, SmallestRing, from_smiles, molecule_space, to_mol
from bogrape.propose.criterion import Criterion
from bogrape.propose.mip.build import AcquisitionProgram
from bogrape.propose.mip.options import MipOptions

ATLAS: list[Any] = [g for g in graph_atlas_g() if g.number_of_nodes() > 0]  # all with 1..7 nodes


@cache
def smallest_rings(index: int) -> tuple[int, ...]:
    """Length of the shortest cycle through each edge of a graph of the atlas that has one."""
    out, graph = [], ATLAS[index]
    for u, v in graph.edges:
        rest = graph.copy()
        rest.remove_edge(u, v)
        if nx.has_path(rest, u, v):
            out.append(nx.shortest_path_length(rest, u, v) + 1)
    return tuple(out)


@pytest.mark.parametrize("n", range(1, 8))
def test_excess_counts_edges_whose_shortest_cycle_is_too_long(n: int) -> None:
    chosen = [i for i, g in enumerate(ATLAS) if g.number_of_nodes() == n]
    batch = Batch.of([Graph(nx.to_numpy_array(ATLAS[i])) for i in chosen])
    for k in range(3, 8):
        excess = LargestRing(k).excess(batch)
        assert excess.tolist() == [sum(size > k for size in smallest_rings(i)) for i in chosen]


def test_a_limit_on_the_rings_of_the_sssr_implies_the_rule() -> None:
    """A limit on the smallest set of smallest rings is rarely stricter than the rule."""
    stricter = 0
    chosen = [i for i, g in enumerate(ATLAS) if g.number_of_nodes() <= 6]
    for i in chosen:
        largest = max((len(ring) for ring in nx.minimum_cycle_basis(ATLAS[i])), default=0)
        for k in range(3, 7):
            holds = LargestRing(k).holds(Graph(nx.to_numpy_array(ATLAS[i])))
            assert holds or largest > k
            stricter += holds and largest > k
    assert 0 < stricter < len(chosen) / 20


@pytest.mark.parametrize(
    ("smiles", "largest"),
    [
        ("CCCCCCCC", 3),
        ("C1CC1", 3),
        ("C1CCCCCCC1", 8),
        ("C1CCC2CCCCC2C1", 6),  # decalin: the rim is a ring of ten
        ("C1CC2CCC1C2", 5),  # norbornane: two rings of five, though there is one of six
        ("C1CC2CCC1CC2", 6),
        ("C12C3C4C1C5C2C3C45", 4),  # cubane
        ("C1CC12CCCCC2", 6),  # a spiro compound
        ("C1CC1CCC1CCCCCC1", 7),  # two rings joined by a chain
    ],
)
def test_known_molecules_have_the_largest_ring_a_chemist_names(smiles: str, largest: int) -> None:
    graph = from_smiles(smiles)
    assert LargestRing(largest).holds(graph)
    assert largest == 3 or not LargestRing(largest - 1).holds(graph)


def test_a_belt_of_small_rings_may_close_around_a_larger_one() -> None:
    """The documented difference from the SSSR: a square whose sides are sides of triangles too."""
    graph = from_smiles("C125C3C1C34C5C24")
    assert max(len(ring) for ring in Chem.GetSSSR(to_mol(graph))) == 4
    assert LargestRing(3).holds(graph)


@pytest.mark.parametrize("n", [8, 12, 20])
def test_rdkit_finds_the_same_smallest_ring_of_every_bond(n: int) -> None:
    graphs = molecule_space("qm9", n).sample(150, seed=n)
    batch = Batch.of(graphs)
    mols = [to_mol(graph, "qm9") for graph in graphs]
    for k in range(3, 9):
        wanted = [
            sum(mol.GetRingInfo().MinBondRingSize(b) > k for b in range(mol.GetNumBonds()))
            for mol in mols
        ]
        assert LargestRing(k).excess(batch).tolist() == wanted


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize(("n", "k"), [(4, 3), (5, 3), (5, 4), (6, 3), (6, 4)])
def test_the_rows_admit_exactly_the_graphs_of_the_definition(
    n: int, k: int, connected: bool
) -> None:
    space = GraphSpace(n, connected=connected, rules=[LargestRing(k)])
    wanted = [
        Graph(nx.to_numpy_array(g))
        for i, g in enumerate(ATLAS)
        if g.number_of_nodes() == n
        and (not connected or nx.is_connected(g))
        and all(size <= k for size in smallest_rings(i))
    ]
    found = {graph.canonical_key() for graph in space.enumerate()}
    assert found == {graph.canonical_key() for graph in wanted}


@pytest.mark.deep
@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_the_rows_admit_exactly_the_graphs_of_the_definition_with_seven_nodes(k: int) -> None:
    wanted = sum(
        all(size <= k for size in smallest_rings(i))
        for i, g in enumerate(ATLAS)
        if g.number_of_nodes() == 7 and nx.is_connected(g)
    )
    assert GraphSpace(7, rules=[LargestRing(k)]).count() == wanted


@pytest.mark.parametrize(("method", "limit"), [("exact", 60), ("mip", 60), ("search", 2)])
def test_every_method_proposes_the_best_graph_without_larger_rings(
    method: str, limit: float
) -> None:
    space = GraphSpace(5, rules=[LargestRing(3), CycleRange(1)])
    graphs = space.enumerate()
    rng = np.random.default_rng(0)
    gp = GraphGP("ssp").fit(graphs[:4], rng.normal(size=4))
    mean, std = gp.predict(graphs, return_std=True)
    proposal = propose(space, gp, method=method, time_limit=limit)
    assert space.contains(proposal.graph)
    assert proposal.value == pytest.approx((mean - std).min(), abs=1e-4)


@pytest.mark.parametrize("n", [10, 20, 30])
def test_samples_respect_the_ring_sizes(n: int) -> None:
    space = molecule_space("qm7", n, rules=[SmallestRing(5), LargestRing(6), CycleRange(1)])
    graphs = space.sample(50, seed=1, distinct=True)
    assert all(map(space.contains, graphs))
    sizes = {len(ring) for graph in graphs for ring in Chem.GetSSSR(to_mol(graph))}
    assert sizes >= {5, 6}


@pytest.mark.parametrize("connected", [True, False])
def test_a_known_graph_can_start_the_mip(connected: bool) -> None:
    """``lift`` gives the rule's helper variables values that satisfy all rows."""
    space = GraphSpace(6, connected=connected, rules=[LargestRing(4)])
    graphs = space.enumerate()
    gp = GraphGP("ssp").fit(graphs[:4], [1.0, 2.0, 0.5, 1.5])
    objective = Criterion(space, gp.posterior, LCB(1.0))
    encoded = AcquisitionProgram(objective, MipOptions(symmetry=False))
    for graph in graphs[::9]:
        assert encoded.program.violations(encoded.lift(graph)) == []
    hexagon = Graph(from_smiles("C1CCCCC1").adjacency)
    assert encoded.program.violations(encoded.lift(hexagon)) != []
