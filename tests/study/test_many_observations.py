"""Models and studies with more observations than an exponential kernel can take."""

from __future__ import annotations

import logging
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, Graph, GraphSpace, Study
from bogrape.batch import Batch
from bogrape.constraints import NumberOfEdges
from bogrape.counts import count
from bogrape.errors import InvalidInputError
from bogrape.gp import STUDY_CLIP, STUDY_OBSERVATIONS, GraphGP
from bogrape.left_out import Inverse
from bogrape.posterior import FunctionPosterior, WeightPosterior
from bogrape.propose import propose
from bogrape.propose.criterion import Criterion
from bogrape.propose.local.search import break_tie
from bogrape.study import planner

from strategies import any_graphs

names = pytest.mark.parametrize("name", ["ssp", "sp", "essp", "esp"])
exponential = pytest.mark.parametrize("name", ["essp", "esp"])
SPACE = GraphSpace(6, labels=2)
MOST = 24
SETTINGS: Any = {
    **{"preset": "paper", "kernel": "essp", "method": "search"},
    "most_observations": MOST,
    "n_evaluations": 10_000,
}


def observations(n: int, space: GraphSpace = SPACE) -> list[tuple[Graph, float]]:
    rng = np.random.default_rng(0)
    graphs = space.sample(n, seed=3, distinct=True)
    return [(g, float(g.n_edges - g.labels.sum() + rng.normal())) for g in graphs]


def study_of(n: int, storage: str | None = None, **settings: Any) -> Study:
    study = Study(SPACE, storage, **{**SETTINGS, **settings})
    study.add_all(observations(n))
    return study


# -- the model --------------------------------------------------------------------------------


@exponential
def test_an_exponential_kernel_is_fitted_to_the_chosen_observations_only(name: Any) -> None:
    graphs, y = map(list, zip(*observations(60), strict=True))
    gp = GraphGP(name, most_observations=MOST, n_labels=2).fit(graphs, y)
    assert len(gp.used) == len(gp.posterior.model.y) == MOST
    own = FunctionPosterior(gp.posterior.model).factor
    assert own.shape == (MOST, MOST)
    # standardised by all observations, which set the mean and the unit of predictions
    assert gp.posterior.model.y_mean == pytest.approx(np.mean(y))
    assert gp.posterior.model.y_scale == pytest.approx(np.std(y))
    np.testing.assert_allclose(
        gp.posterior.model.y, (np.array(y)[gp.used] - np.mean(y)) / np.std(y), atol=1e-9
    )


@pytest.mark.parametrize("name", ["ssp", "sp"])
def test_a_linear_kernel_is_fitted_to_all_observations(name: Any) -> None:
    graphs, y = map(list, zip(*observations(60), strict=True))
    limited = GraphGP(name, most_observations=MOST).fit(graphs, y)
    assert limited.used.tolist() == list(range(60))
    assert limited.hyperparameters == GraphGP(name).fit(graphs, y).hyperparameters


@pytest.mark.parametrize(("directed", "n_labels"), [(False, 12), (True, 9)])
def test_a_linear_kernel_with_more_coordinates_than_can_be_decomposed_is_not(
    directed: bool, n_labels: int
) -> None:
    space = GraphSpace(12, labels=n_labels, directed=directed)
    graphs, y = map(list, zip(*observations(60, space), strict=True))
    gp = GraphGP("sp", most_observations=MOST).fit(graphs, y)
    assert len(gp.used) == MOST
    assert gp.posterior.model.n_features == n_labels  # of all graphs, not only the chosen ones
    assert len(GraphGP("ssp", most_observations=MOST).fit(graphs, y).used) == 60


@names
def test_without_a_limit_all_observations_count(name: Any) -> None:
    graphs, y = map(list, zip(*observations(60), strict=True))
    assert len(GraphGP(name).fit(graphs, y).used) == 60


@pytest.mark.parametrize("most", [0, 3, 2.5, "all"])
def test_a_limit_must_be_a_number_of_observations(most: Any) -> None:
    with pytest.raises(InvalidInputError, match="expected most_observations to be an integer >= 4"):
        GraphGP(most_observations=most)


@pytest.mark.parametrize("name", ["ssp", "sp"])
def test_the_posterior_of_many_observations_equals_that_in_function_space(name: Any) -> None:
    graphs, y = map(list, zip(*observations(150), strict=True))
    gp = GraphGP(name, noise=1e-3).fit(graphs, y)
    weights = gp.posterior
    assert isinstance(weights, WeightPosterior)
    queries = count(SPACE.sample(40, seed=9), 2, pairs=gp.kernel.labelled)
    mean, std = weights.standard_mean_std(queries)
    expected, deviation = FunctionPosterior(weights.model).standard_mean_std(queries)
    np.testing.assert_allclose(mean, expected, atol=1e-7)
    np.testing.assert_allclose(std**2, deviation**2, atol=1e-9)


@names
def test_no_mean_is_larger_than_the_norm_allows(name: Any) -> None:
    graphs, y = map(list, zip(*observations(80), strict=True))
    posterior = GraphGP(name).fit(graphs, y).posterior
    queries = count(SPACE.sample(200, seed=5), 2, pairs=posterior.model.kernel.labelled)
    mean, _ = posterior.standard_mean_std(queries)
    largest = np.sqrt(posterior.model.diagonal(queries))
    assert (np.abs(mean) <= posterior.norm * largest * (1 + 1e-6) + 1e-9).all()
    # and it is the norm of the function that the weights represent, not just any bound
    K = posterior.model.cross(posterior.model.counts)
    a = np.linalg.solve(K + posterior.model.noise * np.eye(len(K)), posterior.model.y)
    norm = np.sqrt(a @ K @ a)
    at_most = np.sqrt(a @ posterior.model.y)
    assert norm * (1 - 1e-3) <= posterior.norm <= at_most * (1 + 1e-3)


@names
@pytest.mark.parametrize("acquisition", [LCB(1.0), EI()])
def test_a_condensed_posterior_is_small_and_gives_the_same_values(
    name: Any, acquisition: Any
) -> None:
    graphs, y = map(list, zip(*observations(80), strict=True))
    posterior = GraphGP(name).fit(graphs, y, to_beat=[v > 0 for v in y]).posterior
    small = pickle.loads(pickle.dumps(posterior.condensed()))
    queries = SPACE.sample(30, seed=5)
    values = [
        Criterion(SPACE, p, acquisition).of_batch(Batch.of(queries)) for p in (posterior, small)
    ]
    assert (values[0] == values[1]).all()
    assert small.norm == posterior.norm
    if not posterior.model.kernel.exponential:
        assert len(small.model.counts) == 0


def test_the_model_describes_which_observations_it_uses() -> None:
    graphs, y = map(list, zip(*observations(60), strict=True))
    gp = GraphGP("rbf", most_observations=MOST, noise="fit").fit(graphs, y)
    assert gp.describe().endswith(
        f"The model uses {MOST} of 60 observations: a quarter of these are the best ones, a "
        "quarter the latest, and the others fill the space."
    )
    assert "observations:" not in GraphGP("ssp", most_observations=MOST).fit(graphs, y).describe()


@pytest.mark.parametrize("own_noise", [False, True])
@pytest.mark.parametrize("name", ["ssp", "sp"])
def test_leave_one_out_for_many_observations_needs_no_square_matrix(
    name: Any, own_noise: bool
) -> None:
    graphs, y = map(list, zip(*observations(100), strict=True))
    noise = np.random.default_rng(0).uniform(0.01, 0.1, len(y)) if own_noise else None
    model = GraphGP(name, n_labels=2, noise=1e-2).fit(graphs, y, noise=noise).posterior.model
    inverse, truth = Inverse(model), np.linalg.inv(model.covariance())
    assert inverse._vectors.shape[1] < len(y)
    np.testing.assert_allclose(inverse.diagonal, np.diag(truth), rtol=1e-6)
    np.testing.assert_allclose(inverse @ model.y, truth @ model.y, rtol=1e-5, atol=1e-6)


# -- the study --------------------------------------------------------------------------------


def test_a_study_says_how_many_observations_it_uses(caplog: pytest.LogCaptureFixture) -> None:
    study = study_of(60)
    with caplog.at_level(logging.WARNING, "bogrape"):
        trials = [study.ask(), study.ask()]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 1
    assert f"60 observations; from now on its model uses {MOST}" in said[0]
    for trial in trials:
        assert (trial.certificate["n_observations"], trial.certificate["n_used"]) == (60, MOST)


def test_a_study_with_few_observations_uses_all_and_does_not_warn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "bogrape"):
        certificate = study_of(30, most_observations=STUDY_OBSERVATIONS).ask().certificate
    assert STUDY_OBSERVATIONS > 30
    assert (certificate["n_observations"], certificate["n_used"]) == (30, 30)
    assert not caplog.records


def test_the_report_says_which_observations_are_in_the_models() -> None:
    from bogrape.report import report_html

    study = study_of(60)
    study.tell(study.ask(), 1.0)
    assert f"The model uses {MOST} of 60 observations: a quarter of these" in report_html(study)


def test_predictions_come_from_the_same_model_as_proposals() -> None:
    study = study_of(60)
    trial = study.ask()
    mean, std = study.predict([trial.graph])
    assert trial.predicted == pytest.approx((mean[0], std[0]))
    graphs, y = map(list, zip(*observations(60), strict=True))
    gp = GraphGP("essp", n_labels=2, clip=STUDY_CLIP, most_observations=MOST)
    assert gp.fit(graphs, y).predict([trial.graph])[0] == pytest.approx(mean)


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1.0), ("maximize", -1.0)])
def test_the_value_to_beat_is_the_best_of_all_observations_in_the_space(
    direction: Any, sign: float
) -> None:
    space = GraphSpace(6, labels=2, rules=[NumberOfEdges(maximum=7)])
    study = Study(space, **{**SETTINGS, "method": "sample", "direction": direction})
    known = observations(80)
    outside = [(g, sign * (v - 100)) for g, v in known if not space.contains(g)]
    inside = [(g, sign * v) for g, v in known if space.contains(g)]
    assert len(outside) > MOST  # the best values; a choice by value alone would keep only these
    study.add_all(inside + outside)
    study.ask()
    fitted = study._asking.planner.models.single(list(study.trials[:-1])).posterior.model
    assert len(fitted.y) == MOST
    assert fitted.best == pytest.approx(min(sign * v for _, v in inside))


def test_a_reopened_study_proposes_the_same_graph(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = study_of(60, url)
    again = Study.load(url)
    here = study_of(60)
    here.tell(here.ask(), 1.0)
    study.tell(study.ask(), 1.0)
    expected = here.ask()
    assert again.ask().graph == expected.graph


def test_asking_again_computes_neither_keys_nor_membership_of_old_trials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = study_of(60)
    study.tell(study.ask(), 0.0)
    old = {id(trial.graph) for trial in study.trials[:60]}
    looked_at: list[Graph] = []
    canonical, contains = Graph._canonical.func, GraphSpace.contains_each

    def key(graph: Graph) -> Any:
        looked_at.append(graph)
        return canonical(graph)

    def membership(space: GraphSpace, graphs: list[Graph]) -> Any:
        looked_at.extend(graphs)
        return contains(space, graphs)

    monkeypatch.setattr(Graph._canonical, "func", key)
    monkeypatch.setattr(GraphSpace, "contains_each", membership)
    last = study.ask()
    assert last.origin == "proposal"
    assert study.trials[60].graph in looked_at  # completed since
    assert not old.intersection(map(id, looked_at))


def test_an_identity_that_rules_decide_is_computed_once_per_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = GraphSpace(nodes=["a", "b", "c"])
    graph = named.sample(1)[0]
    texts = []
    written = Graph.to_json
    monkeypatch.setattr(Graph, "to_json", lambda g: texts.append(g) or written(g))
    assert named.identity(graph) == named.identity(graph) == written(graph)
    assert len(texts) == 1
    assert GraphSpace(3).identity(graph) == graph.canonical_key()  # other spaces use other keys
    again = pickle.loads(pickle.dumps(named))
    assert again == named
    assert again.identity(graph) == named.identity(graph)


def test_local_search_begins_from_the_best_and_the_latest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "MOST_STARTS", 10)
    study = study_of(40)
    trials = study.trials
    starts = study._asking.planner._starts(trials)
    assert starts is not None
    best = sorted(trials, key=lambda trial: trial.value or 0.0)[:5]
    assert set(starts) == {t.graph for t in best} | {t.graph for t in trials[-5:]}
    assert study._asking.planner._starts(trials[:10]) is None


def test_a_search_begins_from_the_last_excluded_graphs_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    portfolio: Any = sys.modules[propose.__module__]
    begun: list[Any] = []
    original = portfolio.search
    monkeypatch.setattr(portfolio, "MOST_STARTS", 7)
    monkeypatch.setattr(
        portfolio, "search", lambda *a, **k: begun.append(k["starts"]) or original(*a, **k)
    )
    graphs, y = map(list, zip(*observations(30), strict=True))
    gp = GraphGP(n_labels=2).fit(graphs, y)
    propose(SPACE, gp, method="search", exclude=graphs, time_limit=2.0)
    propose(SPACE, gp, method="search", exclude=graphs, time_limit=2.0, starts=graphs[:2])
    assert begun == [graphs[-7:], graphs[:2]]


# -- many graphs at once ----------------------------------------------------------------------


@settings(max_examples=40)
@given(st.lists(any_graphs(), max_size=12))
def test_membership_of_many_graphs_is_that_of_each(graphs: list[Graph]) -> None:
    for space in (SPACE, GraphSpace((1, 4), rules=[NumberOfEdges(maximum=3)], connected=False)):
        assert space.contains_each(graphs).tolist() == [space.contains(g) for g in graphs]


def test_ties_are_broken_the_same_way_for_any_number_of_graphs_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs = GraphSpace((4, 6), labels=2).sample(60, seed=1, distinct=True)
    ties = {g.canonical_key(): g for g in graphs[:10]}
    whole = [break_tie(ties, graphs[10:], seed) for seed in range(5)]
    monkeypatch.setattr(sys.modules[break_tie.__module__], "_AT_ONCE", 7)
    assert [break_tie(ties, graphs[10:], seed) for seed in range(5)] == whole
