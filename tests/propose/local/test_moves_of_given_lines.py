"""If only some pairs of nodes can have an edge, moves use only these and exchange edges."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np

from bogrape import EI, Graph, GraphGP, GraphSpace, propose
from bogrape.batch import Batch
from bogrape.constraints import CycleRange, LinearRule
from bogrape.propose.local.moves import EXCHANGE, ON_CYCLE, MoveTable, places

LINES = ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 4), (2, 5))
NAMES = tuple(f"bus {v}" for v in range(6))
NONE = {(NAMES[u], NAMES[v]): 1 for u, v in combinations(range(6), 2) if (u, v) not in LINES}
SPACE = GraphSpace(
    nodes=NAMES,
    labels={name: name for name in NAMES},
    rules=[CycleRange(0, 0), LinearRule(edges=NONE, maximum=0)],
)


def spanning_trees() -> list[Graph]:
    out = []
    for chosen in combinations(LINES, 5):
        tree = nx.Graph(chosen)
        if len(tree) == 6 and nx.is_connected(tree):
            out.append(Graph(nx.to_numpy_array(tree, range(6), dtype=bool), labels=range(6)))
    return out


def test_only_pairs_that_the_rules_allow_are_places_for_edges() -> None:
    possible, some_impossible = places(SPACE, 6)
    assert some_impossible
    assert {(int(u), int(v)) for u, v in np.argwhere(np.triu(possible))} == set(LINES)
    assert not places(GraphSpace(6), 6)[1]


def test_moves_reach_exactly_the_trees_one_exchange_away() -> None:
    trees = spanning_trees()
    moves = MoveTable.of(SPACE, 6)
    first = trees[0]
    everything = np.arange(len(moves))
    batch = moves.apply(
        Batch.of([first]), everything, np.random.default_rng(0), np.zeros(len(moves), dtype=int)
    )
    allowed = nx.to_numpy_array(nx.Graph(LINES), range(6), dtype=bool)
    assert not (batch.adjacency & ~allowed).any()
    reached = {batch.graph(int(i)).to_json() for i in np.flatnonzero(SPACE.excess(batch) == 0)}
    near = {
        tree.to_json() for tree in trees if np.triu(tree.adjacency ^ first.adjacency).sum() == 2
    }
    assert near <= reached <= near | {first.to_json()}


def test_a_space_where_any_pair_can_have_an_edge_has_no_exchanges() -> None:
    assert EXCHANGE not in MoveTable.of(GraphSpace(6, labels=2), 6).rows[:, 0]


def test_local_search_finds_the_best_of_all_spanning_trees() -> None:
    trees = spanning_trees()
    assert len(trees) == round(
        np.linalg.det(nx.laplacian_matrix(nx.Graph(LINES)).toarray()[1:, 1:].astype(float))
    )
    rng = np.random.default_rng(0)
    seen = [SPACE.named(trees[int(i)]) for i in rng.choice(len(trees), 8, replace=False)]
    gp = GraphGP("rbf", "fit", space=SPACE).fit(seen, rng.normal(size=8))
    known = {graph.to_json() for graph in seen}
    others = [tree for tree in map(SPACE.named, trees) if tree.to_json() not in known]
    mean, std = gp.predict(others)
    best = EI()(mean, std, gp.posterior.model.best).min()
    found = propose(SPACE, gp, EI(), "search", exclude=seen, seed=0, n_evaluations=2_000)
    assert abs(found.value - best) <= 1e-9 * max(1.0, abs(best))


def test_exchanges_on_cycles_lead_to_all_adjacent_trees_and_nothing_else() -> None:
    trees = spanning_trees()
    moves = MoveTable.of(SPACE, 6)
    rows = np.tile(np.flatnonzero(moves.rows[:, 0] == ON_CYCLE), 60)
    for tree in trees[::7]:
        start = Batch.of([tree])
        found = moves.apply(start, rows, np.random.default_rng(1), np.zeros(len(rows), dtype=int))
        assert not SPACE.excess(found).any()
        reached = {found.graph(i).to_json() for i in range(len(found))}
        near = {
            other.to_json()
            for other in trees
            if np.triu(other.adjacency ^ tree.adjacency).sum() == 2
        }
        assert near <= reached <= near | {tree.to_json()}  # a line on no cycle stays


def test_exchanges_on_cycles_do_not_join_components() -> None:
    parts = nx.Graph([(0, 1), (3, 4)])
    parts.add_nodes_from(range(6))
    two_parts = Graph(nx.to_numpy_array(parts, range(6), dtype=bool), labels=range(6))
    moves = MoveTable.of(SPACE, 6)
    absent = [
        i for i, (kind, a, b, *_) in enumerate(moves.rows) if kind == ON_CYCLE and (a, b) == (1, 2)
    ]
    assert absent
    found = moves.apply(Batch.of([two_parts]), np.array(absent), np.random.default_rng(0))
    assert (found.adjacency[0] == two_parts.adjacency).all()
