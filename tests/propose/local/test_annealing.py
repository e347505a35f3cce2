"""Search in large molecules: moves that change something, and steps that make values worse."""

from __future__ import annotations

import numpy as np
import pytest

from bogrape import LCB, GraphGP
from bogrape.batch import Batch
from bogrape.molecules import molecule_space
from bogrape.propose.criterion import Criterion
from bogrape.propose.local import chains
from bogrape.propose.local.cooling import Cooling
from bogrape.propose.local.moves import MoveTable
from bogrape.propose.local.search import search


def test_drawn_moves_change_graphs_and_are_of_all_kinds():
    space = molecule_space("qm7", 12)
    batch = Batch.of(space.sample(4, seed=0))
    table, rng = MoveTable.of(space, 12), np.random.default_rng(0)
    each = 50
    index = table.draw_changes(batch, each, rng)
    assert index.shape == (4 * each,)
    owner = np.repeat(np.arange(4), each)
    moved = table.apply(batch, index, rng, owner)
    kept = batch.select(owner)
    same = (moved.edge_labels == kept.edge_labels).all(axis=(1, 2))
    same &= (moved.labels == kept.labels).all(axis=1)
    assert same.mean() < 0.2  # atoms with too many bonds may get their old ones back
    plain = table.apply(batch, table.draw(4 * each, rng), rng, owner)
    unchanged = (plain.edge_labels == kept.edge_labels).all(axis=(1, 2))
    unchanged &= (plain.labels == kept.labels).all(axis=1)
    assert unchanged.mean() > 0.4
    assert set(table.rows[index, 0]) == set(table.rows[:, 0])
    # every row that is called useless leaves its graph unchanged
    everything = np.arange(len(table))
    owner = np.zeros(len(table), dtype=np.int64)
    useless = ~table._changes(batch, owner, everything)
    left = table.apply(batch, everything[useless], rng, owner[useless])
    assert (left.edge_labels == batch.edge_labels[0]).all()
    assert (left.labels == batch.labels[0]).all()
    assert 0.3 < useless.mean() < 0.99


def test_temperatures_fall_with_the_evaluations():
    rng = np.random.default_rng(0)
    cooling = Cooling(1000, spread=2.0)
    found = []
    for _ in range(12):
        found.append(cooling.temperature)
        allowed = cooling.allowed(4000, 100, rng)
        assert (allowed >= 0).all()
        assert allowed.mean() == pytest.approx(found[-1], rel=0.1)
    assert np.diff(found[:11]).max() < 0
    assert found[0] == pytest.approx(1.2)
    assert found[10] == found[11] == pytest.approx(0.02)


def test_annealing_finds_better_molecules(monkeypatch):
    space = molecule_space("qm7", 16)
    graphs = space.sample(20, seed=0, distinct=True)
    found = {}
    for at_least in (16, 17):
        monkeypatch.setattr(chains, "_SPARSE_NODES", at_least)
        found[at_least] = []
        for seed in range(2):
            gp = GraphGP("ssp", space=space).fit(
                graphs, np.random.default_rng(seed).normal(size=20)
            )
            criterion = Criterion(space, gp.posterior, LCB(1.0))
            elite = search(criterion, n_evaluations=20_000, seed=seed)
            best = next(iter(elite.ties.values()))
            assert space.contains(best)
            assert criterion.of_graph(best) == pytest.approx(elite.value, abs=1e-9)
            assert 20_000 <= elite.n_evaluations < 21_500
            found[at_least].append(elite.value)
    assert np.mean(found[16]) < np.mean(found[17]) - 0.1


def test_chains_of_several_sizes_are_annealed():
    space = molecule_space("qm7", (16, 18))
    graphs = space.sample(10, seed=0, distinct=True)
    gp = GraphGP("ssp", space=space).fit(graphs, range(10))
    criterion = Criterion(space, gp.posterior, LCB(1.0))
    values = [search(criterion, n_evaluations=3_000, seed=s).value for s in (1, 1, 2)]
    assert values[0] == values[1]
