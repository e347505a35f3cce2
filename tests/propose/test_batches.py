"""Large batches: within one time limit, no graph twice, and chosen one after another."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np
import pytest

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, Study, propose
from bogrape.batch import Batch
from bogrape.posterior import posterior_of
from bogrape.propose import batches
from bogrape.propose.criterion import Criterion
from bogrape.propose.proposal import Request

SPACE = GraphSpace(9, labels=3)
BUSY = 6.0  # seconds beyond the two promised, on a busy machine


def value(graph: Graph) -> float:
    return graph.n_edges / 9 + float(np.cos(graph.labels).mean())


def fitted(kernel: Any, n: int = 30) -> tuple[GraphGP, list[Graph]]:
    graphs = SPACE.sample(n, seed=0, distinct=True)
    gp = GraphGP(kernel, noise=1e-3, space=SPACE, restarts=1)
    return gp.fit(graphs, [value(graph) for graph in graphs]), graphs


@pytest.mark.parametrize(("kernel", "acquisition"), [("rbf", EI()), ("sp", LCB(1.0))])
def test_forty_graphs_take_one_time_limit_and_are_better_than_random_ones(
    kernel: Any, acquisition: Any
) -> None:
    gp, seen = fitted(kernel)
    pending = SPACE.sample(3, seed=7, distinct=True)
    propose(SPACE, gp, acquisition, time_limit=1.0)  # late imports
    began = time.monotonic()
    found = propose(SPACE, gp, acquisition, time_limit=2.0, n=40, exclude=seen, pending=pending)
    assert time.monotonic() - began < 2.0 + 2.0 + BUSY
    assert isinstance(found, list)
    keys = {SPACE.identity(proposal.graph) for proposal in found}
    assert len(keys) == len(found) == 40
    assert not keys & {SPACE.identity(graph) for graph in (*seen, *pending)}
    assert {proposal.method for proposal in found[1:]} == {"search"}
    assert {proposal.bound for proposal in found[1:]} == {-np.inf}
    random = [value(graph) for graph in SPACE.sample(200, seed=9)]
    assert np.median([value(p.graph) for p in found]) < np.quantile(random, 0.1)


@pytest.mark.parametrize("kernel", ["rbf", "ssp", "essp"])
def test_the_choice_from_a_pool_equals_evaluating_all_graphs_each_time(
    kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gp, _ = fitted(kernel)
    graphs = SPACE.sample(80, seed=3, distinct=True)

    def offer(objective: Criterion, pool: batches.Pool, **_: Any) -> list[None]:
        for start in range(0, len(graphs), 10):  # all are kept
            batch = Batch.of(graphs[start : start + 10])
            pool.offer(batch, objective.of_batch(batch))
        return []

    monkeypatch.setattr(batches, "search_steps", offer)
    found = batches._some(
        lambda model: Criterion(SPACE, model, LCB(1.0)),
        lambda model, more: model.believe(more),
        gp.posterior,
        Request(time_limit=1e6, identify=SPACE.identity),
        12,
    )
    posterior, left, truth = gp.posterior, list(graphs), []
    for _ in range(12):  # no bounds, no updates: every value again, from a model built from scratch
        values = Criterion(SPACE, posterior_of(posterior.model), LCB(1.0)).of_batch(Batch.of(left))
        truth.append(float(values.min()))
        posterior = posterior.believe([left.pop(int(values.argmin()))])
    units = Criterion(SPACE, gp.posterior, LCB(1.0)).units
    assert [units.standard(p.value) for p in found] == pytest.approx(truth, rel=1e-5, abs=1e-5)


def test_a_study_asks_for_sixty_at_once() -> None:
    study = Study(SPACE, n_initial=4, seed=1)
    study.add_all([(graph, value(graph)) for graph in SPACE.sample(20, seed=0, distinct=True)])
    study.ask(time_limit=1.0)  # late imports
    began = time.monotonic()
    trials = study.ask(60, time_limit=2.0, progress=False)
    assert time.monotonic() - began < 2.0 + 2.0 + BUSY
    assert [trial.id for trial in trials] == list(range(21, 81))
    assert len({SPACE.identity(trial.graph) for trial in study.trials}) == 81
    assert {trial.origin for trial in trials} == {"proposal"}
    assert all("mean" in trial.certificate for trial in trials)


def test_a_limit_on_the_number_of_trials_holds_for_a_batch() -> None:
    study = Study(SPACE, n_initial=4, seed=1)
    study.add_all([(graph, value(graph)) for graph in SPACE.sample(20, seed=0, distinct=True)])
    assert len(study.ask(40, time_limit=2.0, most=15, progress=False)) == 15


def test_a_space_with_fewer_graphs_than_asked_for_is_exhausted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    space = GraphSpace(5)  # 21 connected graphs
    study = Study(space, n_initial=3, seed=1)
    for trial in study.ask(3):
        study.tell(trial, value(trial.graph))
    with caplog.at_level(logging.WARNING):
        rest = study.ask(50, time_limit=2.0, progress=False)
    assert len(rest) == 18
    assert "18 of 50 graphs" in caplog.text
