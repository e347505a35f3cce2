"""Inequalities for graphs with limited degrees, against all small ones and random larger ones."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

from bogrape import LCB, GraphGP, GraphSpace
from bogrape.constraints import CycleRange, DegreeRange, RequiredEdge
from bogrape.encoding import structures
from bogrape.graph import Graph
from bogrape.molecules import from_smiles, molecule_space
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.distances.coordinates import Coordinates
from bogrape.propose.exact.distances.limited_degrees import _independent, of_limited_degrees
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.piece import Piece

PORTS = [DegreeRange(maximum=3), DegreeRange(maximum=1, label="leaf"), CycleRange(maximum=2)]
SPACES = {
    "qm7": molecule_space("qm7", 3),
    "organic": molecule_space(["C", "O", "N+", "O-", "F"], 3),
    "ports": GraphSpace(5, labels=["hub", "leaf"], rules=PORTS),
    "one label": GraphSpace(6, rules=[DegreeRange(maximum=3)]),
}


def structure_of(space):
    (structure,) = structures([space.shape(space.n_max)], space.connected, space.rules)
    return structure


def all_coordinates(space, graph):
    """Coordinates of a graph: with or without labels, with or without its composition."""
    shape = space.shape(graph.n_nodes)
    composition = tuple(np.bincount(graph.labels, minlength=shape.n_labels).tolist())
    for longest in (int(graph.distances().max()), graph.n_nodes - 1):
        yield Coordinates.of(shape, labelled=False, longest=longest)
        yield Coordinates.of(shape, labelled=True, longest=longest)
        yield Coordinates.of(shape, labelled=True, longest=longest, composition=composition)


def check(space, graph):
    structure = structure_of(space)
    n_met = 0
    for coordinates in all_coordinates(space, graph):
        counts = dict(enumerate(coordinates.values(graph)))
        found = list(of_limited_degrees(structure, coordinates))
        assert len({inequality.name for inequality in found}) == len(found) > 0
        for inequality in found:
            assert inequality.holds(counts), (inequality, graph.to_json())
            total = sum(weight * counts[i] for i, weight in inequality.weights.items())
            n_met += total in (inequality.low, inequality.high)
    return n_met


@pytest.mark.parametrize("name", SPACES)
def test_they_hold_for_all_small_graphs(name):
    space = SPACES[name]
    for graph in space.enumerate():
        assert check(space, graph) > 0


@pytest.mark.parametrize("data", ["qm7", "qm9"])
@pytest.mark.parametrize("n", [10, 24])
def test_they_hold_for_random_molecules(data, n):
    space = molecule_space(data, n)
    for graph in space.sample(25, seed=n):
        check(space, graph)


def test_they_hold_for_the_densest_and_the_longest_graphs():
    space = molecule_space(["C"], 17)
    for smiles in ("CC(C)(C)C(C(C)(C)C)(C(C)(C)C)C(C)(C)C", "C" * 17, "C#CC#CC#CC#CC#CC#CC#CC#CC"):
        check(space, from_smiles(smiles, space))
    space = GraphSpace(10, rules=[DegreeRange(maximum=3)])
    for graph in (nx.petersen_graph(), nx.path_graph(10), nx.cycle_graph(10)):
        check(space, Graph(nx.to_numpy_array(graph)))


def named(space, coordinates, prefix):
    found = of_limited_degrees(structure_of(space), coordinates)
    return [inequality for inequality in found if inequality.name.startswith(prefix)]


def extreme(space, weights, coordinates):
    """Largest value of a linear function of counts that the inequalities allow."""
    rows, most = [], []
    for inequality in of_limited_degrees(structure_of(space), coordinates):
        for side in inequality.one_sided():
            rows.append(side.dense(range(len(coordinates))))
            most.append(side.high)
    found = linprog(-np.array(weights), A_ub=np.array(rows), b_ub=most, bounds=(0, None))
    return -found.fun


def test_sums_have_the_limits_of_single_nodes():
    space = molecule_space("qm7", 12)
    coordinates = Coordinates.of(space.shape(12), labelled=False, longest=11)

    def most(**weights):
        names = [*(f"h{s}" for s in range(1, 12)), *"CNOS", "n1", "n2", "n3", "n4"]
        names += ["H0", "H1", "H2", "H3", "H4", "double", "triple"]
        assert len(names) == len(coordinates)
        return extreme(space, [weights.get(name, 0) for name in names], coordinates)

    assert most(H3=1, n2=1) == pytest.approx(12)  # no atom has both
    assert most(H0=1, H1=1, H2=1, H3=1, H4=1) == pytest.approx(12)
    assert most(H4=1) == pytest.approx(0)
    assert most(h1=2, n1=-1, n2=-2, n3=-3, n4=-4) == pytest.approx(0)
    assert most(h1=-2, n1=1, n2=2, n3=3, n4=4) == pytest.approx(0)
    assert most(h2=1, n2=-1, n3=-3, n4=-6) == pytest.approx(0)
    assert most(triple=1, n3=1) == pytest.approx(12)
    assert most(h3=1, h2=-3) == pytest.approx(0)


def test_growth_depends_on_the_label_at_the_other_end():
    space = SPACES["ports"]
    coordinates = Coordinates.of(space.shape(5), labelled=True, longest=4, composition=(3, 2))
    at = coordinates.at_labelled_distance
    places = {name: inequality.weights for name, inequality in
              ((i.name, i) for i in named(space, coordinates, "growth"))}  # fmt: skip
    assert places["growth[1,1]"] == {
        at[2, 0, 1]: 1, at[1, 0, 1]: -2, at[2, 1, 1]: 2, at[1, 1, 1]: 0,
    }  # fmt: skip
    assert {i.name: i.high for i in named(space, coordinates, "ends")} == {
        "ends[0]": 9,
        "ends[1]": 2,
    }


@pytest.mark.parametrize(
    "space",
    [
        GraphSpace(5, labels=2),
        GraphSpace(5, labels=2, directed=True, rules=[DegreeRange(maximum=2)]),
        GraphSpace(5, labels=2, connected=False, rules=[DegreeRange(maximum=2)]),
        GraphSpace(5, labels=2, rules=[DegreeRange(maximum=2), RequiredEdge(0, 1)]),
        GraphSpace(5, labels=2, features=1, rules=[DegreeRange(maximum=2)]),
    ],
    ids=["no rules", "directed", "disconnected", "a rule names a node", "free features"],
)
def test_other_spaces_have_no_such_inequalities(space):
    coordinates = Coordinates.of(space.shape(5), labelled=False, longest=4)
    assert list(of_limited_degrees(structure_of(space), coordinates)) == []


def test_relations_hold_for_all_rows():
    rng = np.random.default_rng(0)
    basis = rng.integers(-2, 3, size=(3, 7))
    table = rng.integers(-3, 4, size=(20, 3)) @ basis + rng.integers(0, 2, size=7)
    free, relations = _independent(table)
    assert len(free) + len(relations) == 7
    assert np.linalg.matrix_rank(np.column_stack([np.ones(20), table[:, free]])) == len(free) + 1
    for relation in relations:
        assert len(set((table @ relation).tolist())) == 1


def test_bounds_from_them_are_below_all_values():
    space = molecule_space("qm7", 4)
    graphs = space.sample(12, seed=0, distinct=True)
    gp = GraphGP("ssp", space=space).fit(graphs, np.random.default_rng(0).normal(size=12))
    criterion = Criterion(space, gp.posterior, LCB(1.0))
    values = {}
    for graph in space.enumerate():
        diameter = int(graph.distances().max())
        values[diameter] = min(values.get(diameter, np.inf), criterion.of_graph(graph))
    strategy, n_better = choose(criterion), 0
    for structure in structure_of(space).by_diameter():
        if structure.diameter in values:
            least = values[structure.diameter]
            for room in (1e-6, 0.5):
                bound = strategy.quick_bound(Piece(structure), least + room)
                assert bound <= least + 1e-7
                n_better += bound > corner_bound_of(strategy, structure, least + room) + 0.1
    assert n_better


def corner_bound_of(strategy, structure, value):
    return super(type(strategy), strategy).quick_bound(Piece(structure), value)
