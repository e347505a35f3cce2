"""The kernel ``rbf`` on molecules, proved by skeletons: the same answers as by enumeration."""

from __future__ import annotations

import math
import time
from functools import cache
from itertools import product

import networkx as nx
import numpy as np
import pytest
from networkx.generators.atlas import graph_atlas_g

from bogrape import EI, LCB, GraphGP, GraphSpace, propose
from bogrape.batch import Batch
from bogrape.constraints import CycleRange, DegreeRange
from bogrape.counts import count
from bogrape.encoding import structures
from bogrape.encoding.enumeration import enumerate_graphs
from bogrape.kernels import RBF
from bogrape.molecules import ForbiddenSubstructure, from_smiles, molecule_space
from bogrape.molecules.valence import features
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds import rbf_candidates
from bogrape.propose.exact.bounds.rbf_factors import RbfFactors
from bogrape.propose.exact.bounds.rbf_screens import RbfScreens
from bogrape.propose.exact.proof.by_placements import TooManyPlacements
from bogrape.propose.exact.proof.by_rbf_placements import promising_rbf_placements
from bogrape.propose.exact.proof.by_skeletons import SolveBySkeletons, has_skeletons
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.skeletons import edge_tables
from bogrape.propose.exact.skeletons.edge_tables import EdgeTables, TooManyTables, further_tables
from bogrape.propose.exact.skeletons.node_sums import NodeSums
from bogrape.propose.exact.skeletons.store import skeletons_of

SPACES = {
    "qm7": molecule_space("qm7", 4),
    "qm9": molecule_space("qm9", 4),
    "rules": molecule_space(
        ["C", "N", "O"], 4, [ForbiddenSubstructure("N-O"), CycleRange(maximum=1)]
    ),
    "aromatic": molecule_space(["C", "N"], 5, [CycleRange(maximum=1)], aromatic=True),
}


def structure_of(space):
    (structure,) = structures([space.shape(space.n_max)], space.connected, space.rules)
    return structure


@cache
def all_graphs(name):
    """All graphs of a space; two Kekulé forms of a molecule are two graphs."""
    space = SPACES[name]
    graphs = list(enumerate_graphs(structure_of(space)))
    inside = space.excess(Batch.of(graphs)) == 0
    return [graph for graph, there in zip(graphs, inside, strict=True) if there]


def instance(space, acquisition, seed, n_observed=10, *, smooth=False):
    graphs = space.sample(n_observed, seed=seed, distinct=True)
    values = np.random.default_rng(seed).normal(size=n_observed)
    if smooth:
        values = np.array([g.edge_labels.sum() / 10 + g.labels.sum() for g in graphs])
    gp = GraphGP("rbf", space=space, noise="fit" if smooth else 1e-6).fit(graphs, values)
    return Criterion(space, gp.posterior, acquisition), graphs


def job_for(criterion, value=math.inf, exclude=(), seconds=120.0):
    space = criterion.space
    structure = structure_of(space)
    assert has_skeletons(structure)
    values = choose(criterion).skeleton_values(space.n_max)
    assert isinstance(values, RbfFactors)
    return SolveBySkeletons(
        structure=structure,
        values=values,
        value=value,
        excluded=frozenset(map(space.identity, exclude)),
        seed=0,
        time_limit=seconds,
    )


def check(criterion, exclude, graphs):
    """Compare with all graphs: without an incumbent, with a poor one, and with the best one."""
    space = criterion.space
    known = set(map(space.identity, exclude))
    left = [graph for graph in graphs if space.identity(graph) not in known]
    best = float(criterion.of_batch(Batch.of(left)).min())
    for value in (math.inf, best + 0.3, best):
        answer = job_for(criterion, value, exclude).solve()
        assert answer.proved
        assert answer.value == pytest.approx(best, abs=1e-8)
        if value > best:
            assert space.contains(answer.graph)
            assert criterion.of_graph(answer.graph) == pytest.approx(answer.value, abs=1e-8)
            assert space.identity(answer.graph) not in known


@pytest.mark.parametrize(
    ("name", "acquisition"),
    [
        ("qm7", LCB(1.0)),
        pytest.param("qm7", EI(), marks=pytest.mark.deep),
        pytest.param("qm9", LCB(1.0), marks=pytest.mark.deep),
        ("qm9", EI()),
    ],
    ids=str,
)
def test_the_best_of_all_molecules_is_found(name, acquisition):
    for smooth in (False, True):
        criterion, graphs = instance(SPACES[name], acquisition, 1, smooth=smooth)
        check(criterion, graphs, all_graphs(name))


def test_the_best_of_all_molecules_is_found_under_rules():
    criterion, graphs = instance(SPACES["rules"], LCB(2.0), 1)
    check(criterion, graphs, all_graphs("rules"))


@pytest.mark.deep
@pytest.mark.parametrize("acquisition", [LCB(1.0), LCB(0.0), EI(), EI(0.3)], ids=str)
@pytest.mark.parametrize("name", SPACES)
def test_the_best_of_all_molecules_is_found_with_many_models(name, acquisition):
    for seed in range(8):
        criterion, graphs = instance(SPACES[name], acquisition, seed, smooth=seed > 4)
        check(criterion, graphs, all_graphs(name))


def molecules_of_six_atoms(data):
    """All molecules of six atoms, by trying all orders of bonds and all elements of atoms."""
    space = molecule_space(data, 6)
    valences = np.array({"qm7": (4, 3, 2, 2), "qm9": (4, 3, 2, 1)}[data])
    labels = np.array(list(product(range(4), repeat=6)))
    for graph in graph_atlas_g():
        if len(graph) != 6 or not nx.is_connected(graph) or graph.size() > 10:
            continue
        u, v = np.array(graph.edges).T
        orders = np.array(list(product((1, 2, 3), repeat=len(u))), dtype=np.int64)
        used = np.stack(
            [orders[:, (u == node) | (v == node)].sum(axis=1) for node in range(6)], axis=1
        )
        fits = (used <= 4).all(axis=1)
        orders, used = orders[fits], used[fits]
        for start in range(0, len(orders), 500):
            some = slice(start, start + 500)
            i, j = np.nonzero((used[some, None] <= valences[labels]).all(axis=2))
            bonds = np.zeros((len(i), 6, 6), dtype=np.int64)
            bonds[:, u, v] = bonds[:, v, u] = orders[some][i]
            bits = features(labels[j], bonds, valences.tolist())
            batch = Batch(bonds > 0, labels[j], bits, bonds, False)
            inside = space.excess(batch) == 0
            if inside.any():
                yield batch.select(inside)


@pytest.mark.deep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("data", ["qm7", "qm9"])
def test_the_best_of_all_molecules_of_six_atoms_is_found(data):
    space = molecule_space(data, 6)
    criteria = [
        instance(space, acquisition, seed, 20, smooth=seed == 2)[0]
        for seed, acquisition in product(range(3), (LCB(1.0), EI()))
    ]
    best = np.full(len(criteria), math.inf)
    for batch in molecules_of_six_atoms(data):
        found = [float(criterion.of_batch(batch).min()) for criterion in criteria]
        best = np.minimum(best, found)
    for criterion, value in zip(criteria, best.tolist(), strict=True):
        for incumbent in (value + 0.3, value):
            answer = job_for(criterion, incumbent, seconds=600.0).solve()
            assert answer.proved
            assert answer.value == pytest.approx(value, abs=1e-8)


@pytest.mark.deep
@pytest.mark.parametrize("data", ["qm7", "qm9"])
def test_the_best_of_all_molecules_of_five_atoms_is_found(data):
    space = molecule_space(data, 5)
    graphs = list(enumerate_graphs(structure_of(space)))
    for seed, acquisition in product(range(3), (LCB(1.0), EI())):
        criterion, observed = instance(space, acquisition, seed, 20, smooth=seed == 2)
        check(criterion, observed, graphs)


def test_proposals_are_proved_and_equal_to_the_best_of_all():
    space = SPACES["rules"]
    graphs = space.sample(12, seed=5, distinct=True)
    gp = GraphGP("rbf", space=space).fit(graphs, np.random.default_rng(5).normal(size=12))
    proposal = propose(space, gp, LCB(1.0), method="exact", exclude=graphs, n_evaluations=300)
    assert proposal.status == "optimal"
    assert proposal.method in ("search+cp-sat", "cp-sat")
    known = set(map(space.identity, graphs))
    left = [graph for graph in all_graphs("rules") if space.identity(graph) not in known]
    mean, std = gp.predict(left)
    assert proposal.value == pytest.approx(float((mean - std).min()), abs=1e-6)


def test_factors_multiply_to_the_kernel():
    space = molecule_space("qm7", (4, 9))
    observed = [
        *space.sample(10, seed=0),
        from_smiles("CCCCCCCCC", space),
        from_smiles("C#CC=C", space),
    ]
    gp = GraphGP("rbf", space=space).fit(observed, np.arange(12.0))
    criterion = Criterion(space, gp.posterior, LCB(1.0))
    for n in (4, 7):
        factors = RbfFactors(criterion, n)
        graphs = molecule_space("qm7", n).sample(20, seed=1)
        model = gp.posterior.model
        expected = np.log(model.kernel.cross(count(graphs, 4, edges=True), model.counts))
        for graph, row in zip(graphs, expected, strict=True):
            paths, tables, further, sums = counted(graph, factors)
            logs = factors.of_sums(sums) + factors.of_edges(tables, sums[0, :4])
            logs += factors.of_further(further) + factors.between(tables, further)
            logs += factors.of_paths(paths, sums[0, :4])
            assert logs[0] == pytest.approx(row, abs=1e-9)
            value = criterion.of_graph(graph)
            assert factors.exact(paths, sums, further)[0] == pytest.approx(value, abs=1e-9)


def counted(graph, factors):
    """The counts of one graph, pair by pair."""
    n, n_types = graph.n_nodes, len(factors.types)
    paths = np.zeros((1, n - 1, n_types))
    further = np.zeros((1, factors.n_edge_labels - 1, n_types), dtype=np.int64)
    distances = graph.distances().astype(int)
    for u in range(n):
        for v in range(u):
            ends = tuple(sorted((int(graph.labels[u]), int(graph.labels[v]))))
            t = factors.types.index(ends)
            paths[0, distances[u, v] - 1, t] += 1
            if graph.adjacency[u, v] and graph.edge_labels[u, v] > 1:
                further[0, graph.edge_labels[u, v] - 2, t] += 1
    sums = [*np.bincount(graph.labels, minlength=factors.n_labels), *graph.features.sum(axis=0)]
    tables = paths[:, 0].astype(np.int64)
    return paths.reshape(1, -1), tables, further, np.array([sums])


@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("acquisition", [LCB(1.0), LCB(0.0), LCB(3.0), EI(), EI(0.5)], ids=str)
def test_screens_leave_out_nothing_below_the_limit(acquisition, smooth):
    space = molecule_space("qm9", 7)
    criterion, observed = instance(space, acquisition, 3, 20, smooth=smooth)
    graphs = [*space.sample(200, seed=4), *observed]
    model = criterion.posterior.model
    kernel = model.cross(count(graphs, space.n_labels, edges=True))
    values = criterion.of_batch(Batch.of(graphs))
    rng = np.random.default_rng(0)
    left_out = 0
    for limit in np.quantile(values, [0.02, 0.2, 0.6, 1.0]):
        screens = RbfScreens(RbfFactors(criterion, 7), float(limit))
        below = values < limit
        for least in (1.0, rng.uniform(0.5, 1.0, size=kernel.shape), 1e-3):
            passed = screens.of_largest(np.minimum(kernel / least, model.alpha))
            assert passed[below].all()
            left_out += int((~passed).sum())
        left = rng.uniform(0.6, 1.0, size=(10, kernel.shape[1]))
        for i in range(10):  # row i and its own columns make up the kernel values
            right = kernel[i::10] / left[i]
            rows, columns = screens.of_products(left, right)
            assert set(np.flatnonzero(below[i::10])) <= set(columns[rows == i].tolist())
            # with a single row, hardly anything but rounding is lost
            _, columns = screens.of_products(left[i : i + 1], right)
            assert set(np.flatnonzero(below[i::10])) <= set(columns.tolist())
            assert (values[i::10][columns] < limit + 0.02).all()
    assert smooth or acquisition == LCB(3.0) or left_out > 50


def test_tables_of_edges_are_identified_by_numbers(monkeypatch):
    types = [(a, b) for a in range(3) for b in range(a, 3)]
    rng = np.random.default_rng(0)
    labels = np.array([rng.permutation([0, 0, 0, 1, 1, 2]) for _ in range(40)])
    u, v = np.triu_indices(6, 1)
    edges = np.array([rng.permutation([1.0] * 7 + [0.0] * 8) for _ in range(30)])
    of_pairs = np.array(
        [[types.index(tuple(sorted((row[a], row[b])))) for a, b in zip(u, v, strict=True)]
         for row in labels.tolist()]
    )  # fmt: skip
    expected = np.array(
        [[np.bincount(row[on > 0], minlength=6) for on in edges] for row in of_pairs]
    )
    for most in (10**7, 0):
        monkeypatch.setattr(edge_tables, "_MOST_NUMBERS", most)
        tables = EdgeTables(types, [3, 2, 1], 7)
        numbers = tables.numbers(tables.weights(of_pairs), edges)
        distinct = tables.distinct(iter([numbers[:20], numbers[20:]]))
        assert distinct.tolist() == sorted(set(numbers.ravel().tolist()))
        places = tables.places(numbers, distinct[::2])
        assert (tables.tables(distinct)[::2][places[places >= 0]] == expected[places >= 0]).all()
        assert ((places < 0) == ~np.isin(numbers, distinct[::2])).all()
        assert (tables.places(numbers, distinct[:0]) < 0).all()


def test_further_tables_are_complete():
    most = ((2, 1, 0), (1, 1, 3))
    for totals in product(range(4), repeat=2):
        found = further_tables(totals, most, 3)
        expected = {
            (a, b)
            for a in product(range(3), range(2), range(1))
            for b in product(range(2), range(2), range(4))
            if (sum(a), sum(b)) == totals
        }
        assert {tuple(map(tuple, table)) for table in found.tolist()} == expected
        assert len(found) == len(expected)
    assert further_tables((), (), 3).shape == (1, 0, 3)
    with pytest.raises(TooManyTables):
        further_tables((40, 40), ((9,) * 12,) * 2, 12)


def test_sharp_kernels_and_too_many_candidates_may_have_no_answer(monkeypatch):
    space = SPACES["qm7"]
    graphs = space.sample(8, seed=0, distinct=True)
    kernel = RBF(length_edge_labels=0.02).scaled_to(count(space.sample(50, seed=9), 4, edges=True))
    gp = GraphGP(kernel).fit(graphs, np.random.default_rng(0).normal(size=8))
    criterion = Criterion(space, gp.posterior, LCB(1.0))
    sharp = job_for(criterion, exclude=graphs).solve()
    assert sharp is None or sharp.proved
    criterion, graphs = instance(space, LCB(1.0), 0)
    monkeypatch.setattr(rbf_candidates, "MOST_CANDIDATES", 10)
    assert job_for(criterion, exclude=graphs).solve() is None


def test_the_result_of_the_search_is_returned_when_time_runs_out():
    space = molecule_space("qm7", 9)
    criterion, graphs = instance(space, LCB(1.0), 0, 20, smooth=True)
    began = time.monotonic()
    assert job_for(criterion, exclude=graphs, seconds=0.5).solve() is None
    assert time.monotonic() - began < 5.0
    gp = GraphGP("rbf", space=space, noise="fit").fit(graphs, range(20))
    proposal = propose(space, gp, LCB(1.0), "exact", 1.0, graphs, n_evaluations=300)
    assert proposal.status == "time_limit"
    assert -math.inf < proposal.bound < proposal.value


def test_placements_refuse_edge_labels_that_are_not_tied_to_nodes():
    space = GraphSpace(4, labels=2, edge_labels=2, rules=[DegreeRange(maximum=2)])
    criterion, _ = instance(space, LCB(1.0), 0)
    assert choose(criterion) is None
    structure = structure_of(space)
    skeletons = skeletons_of(4, 2, range(2))
    sums = NodeSums.of(structure)
    with pytest.raises(TooManyPlacements):
        promising_rbf_placements(skeletons, sums, RbfFactors(criterion, 4), 0.0, math.inf)
