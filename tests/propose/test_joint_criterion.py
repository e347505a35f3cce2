"""Several properties: acquisition values agree with draws of independent predictions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, propose
from bogrape.batch import Batch
from bogrape.counts import count
from bogrape.errors import InvalidInputError, UnsupportedError
from bogrape.properties import Gaussian, Goals, Linear, Maximize, Minimize
from bogrape.propose import JointModel
from bogrape.propose.joint_criterion import JointCriterion

SPACE = GraphSpace(5, labels=2)
GRAPHS = SPACE.sample(14, seed=3, distinct=True)
OTHERS = SPACE.sample(30, seed=5)


def edges(graph: Graph) -> float:
    return float(graph.n_edges)


def path(graph: Graph) -> float:
    return float(graph.distances().sum()) / 10


def ones(graph: Graph) -> float:
    return float(graph.labels.sum())


FUNCTIONS = {"edges": edges, "path": path, "ones": ones}


def joint(goals: Goals, **model: object) -> JointModel:
    posteriors = tuple(
        GraphGP(**{"kernel": "sp", "noise": 1e-3, **model})  # type: ignore[arg-type]
        .fit(GRAPHS, [FUNCTIONS[name](graph) for graph in GRAPHS])
        .posterior
        for name in goals.names
    )
    return JointModel(goals=goals, posteriors=posteriors, measured=tuple(GRAPHS))


def drawn(criterion: JointCriterion, graph: Graph, n: int = 400_000) -> np.ndarray:
    """Random draws of the properties of a graph, from the posteriors."""
    counts = count([graph], SPACE.n_labels, pairs=True)
    rng = np.random.default_rng(1)
    columns = []
    for posterior in criterion.model.posteriors:
        mean, std = posterior.mean_std(counts)
        columns.append(rng.normal(mean[0], std[0], n))
    return np.stack(columns, axis=1)


def known_means(model: JointModel) -> np.ndarray:
    counts = count(GRAPHS, SPACE.n_labels, pairs=True)
    return np.stack([p.mean_std(counts)[0] for p in model.posteriors], axis=1)


@pytest.mark.parametrize("acquisition", [LCB(1.5), EI(), EI(0.2)])
def test_a_weighted_sum_has_the_acquisition_of_a_gaussian(acquisition: LCB | EI) -> None:
    goals = Goals({"edges": Maximize(2.0), "path": Minimize(0.5)}, "sum")
    model = joint(goals)
    criterion = JointCriterion(space=SPACE, model=model, acquisition=acquisition)
    best = (-2.0 * known_means(model)[:, 0] + 0.5 * known_means(model)[:, 1]).min()
    for graph in OTHERS[:5]:
        costs = drawn(criterion, graph) @ np.array([-2.0, 0.5])
        value = criterion.units.value(criterion.of_graph(graph))
        if isinstance(acquisition, LCB):
            assert value == pytest.approx(costs.mean() - 1.5 * costs.std(), abs=0.02)
        else:
            expected = np.maximum(best - acquisition.xi - costs, 0).mean()
            assert value == pytest.approx(-expected, abs=0.01)


@pytest.mark.parametrize("combine", ["mean", "geometric"])
@pytest.mark.parametrize("acquisition", [LCB(1.5), EI()])
def test_desirabilities_are_averaged_over_draws(combine: str, acquisition: LCB | EI) -> None:
    goals = Goals({"edges": Linear(3.0, 8.0, 2.0), "path": Gaussian(2.5, 0.5)}, combine)
    model = joint(goals)
    criterion = JointCriterion(space=SPACE, model=model, acquisition=acquisition)
    best = goals.scores(known_means(model)).max()
    for graph in OTHERS[:6]:
        scores = goals.scores(drawn(criterion, graph))
        value = criterion.units.value(criterion.of_graph(graph))
        if isinstance(acquisition, LCB):
            assert value == pytest.approx(-scores.mean() - 1.5 * scores.std(), abs=0.02)
        else:
            assert value == pytest.approx(-np.maximum(scores - best, 0).mean(), abs=0.005)


def test_a_front_of_two_has_the_expected_hypervolume_improvement() -> None:
    goals = Goals({"edges": "maximize", "path": "minimize"}, reference={"edges": 3, "path": 4.5})
    model = joint(goals)
    criterion = JointCriterion(space=SPACE, model=model, acquisition=EI())
    known, reference = known_means(model), [3.0, 4.5]
    before = goals.hypervolume(known, reference)
    for graph in OTHERS[:2]:
        gains = [
            goals.hypervolume(np.vstack([known, row]), reference) - before
            for row in drawn(criterion, graph, 1500)
        ]
        error = 4 * np.std(gains) / np.sqrt(len(gains)) + 1e-6
        assert criterion.units.value(criterion.of_graph(graph)) == pytest.approx(
            -np.mean(gains), abs=error
        )


def test_graphs_far_from_the_front_have_different_values() -> None:
    goals = Goals({"edges": "minimize", "ones": "minimize"})
    criterion = JointCriterion(space=SPACE, model=joint(goals, noise=1e-6), acquisition=EI())
    values = criterion.of_batch(Batch.of(GRAPHS))  # nearly certain not to improve
    assert np.isfinite(values).all()
    assert criterion.units.value(float(values.max())) > -1e-9
    assert len(np.unique(values.round(3))) > len(GRAPHS) / 3


def test_a_front_of_three_is_searched_in_a_direction_given_by_the_seed() -> None:
    goals = Goals({"edges": "maximize", "path": "minimize", "ones": "minimize"})
    model = joint(goals)
    one, two = (
        JointCriterion(space=SPACE, model=model, acquisition=EI(), seed=seed) for seed in (1, 2)
    )
    batch = Batch.of(OTHERS)
    assert (one.of_batch(batch) != two.of_batch(batch)).any()
    again = JointCriterion(space=SPACE, model=model, acquisition=EI(), seed=1)
    assert (one.of_batch(batch) == again.of_batch(batch)).all()
    # the cost of the measured graphs, computed independently
    known = goals.signs * known_means(model)
    low, high = known.min(axis=0), known.max(axis=0)
    weights = one._direction[2]
    costs = [
        max(weights * (row - low) / (high - low)) + 0.05 * sum(weights * (row - low) / (high - low))
        for row in known
    ]
    assert one.observed.best == pytest.approx(min(costs))


@pytest.mark.parametrize(
    "goals",
    [
        Goals({"edges": "maximize", "path": "minimize"}),
        Goals({"edges": "maximize", "path": "minimize", "ones": "maximize"}),
        Goals({"edges": Maximize(2.0), "path": "minimize"}, "sum"),
        Goals({"edges": Gaussian(6, 1), "path": Linear(4, 1)}),
    ],
    ids=lambda goals: f"{goals.combine}-{len(goals.names)}",
)
def test_small_spaces_are_proved_by_enumeration(goals: Goals) -> None:
    model = joint(goals)
    found = propose(SPACE, model, EI(), time_limit=60, exclude=GRAPHS, seed=4)
    assert (found.status, found.method) == ("optimal", "listing")
    criterion = JointCriterion(space=SPACE, model=model, acquisition=EI(), seed=4)
    taken = {graph.canonical_key() for graph in GRAPHS}
    every = [g for g in SPACE.enumerate() if g.canonical_key() not in taken]
    best = min(criterion.of_graph(graph) for graph in every)
    assert criterion.of_graph(found.graph) == pytest.approx(best, abs=1e-7)
    by_search = propose(SPACE, model, EI(), "search", exclude=GRAPHS, seed=4, n_evaluations=3000)
    assert (by_search.status, by_search.bound) == ("heuristic", -np.inf)
    assert by_search.value == pytest.approx(found.value)


def test_a_batch_is_spread_along_the_front() -> None:
    goals = Goals({"edges": "maximize", "path": "minimize"})
    found = propose(SPACE, joint(goals), None, "search", n=3, exclude=GRAPHS, n_evaluations=2000)
    assert isinstance(found, list)
    keys = {proposal.graph.canonical_key() for proposal in found}
    assert len(keys) == 3
    assert found[0].value <= found[1].value  # a believed graph leaves less to improve


def test_unsupported_options_of_a_front_are_refused() -> None:
    goals = Goals({"edges": "maximize", "path": "minimize"})
    with pytest.raises(InvalidInputError, match="a Pareto search takes acquisition 'ei'"):
        propose(SPACE, joint(goals), LCB(), "search")
    with pytest.raises(UnsupportedError, match="several properties"):
        propose(SPACE, joint(goals), EI(), "mip")
    with pytest.raises(InvalidInputError, match="a posterior for each of edges, path"):
        JointModel(goals=goals, posteriors=joint(goals).posteriors[:1], measured=tuple(GRAPHS))
    with pytest.raises(InvalidInputError, match="measured in full"):
        JointModel(goals=goals, posteriors=joint(goals).posteriors, measured=())


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-3, 1e3), st.floats(-100, 100))
def test_units_do_not_matter_to_a_front(seed: int, scale: float, shift: float) -> None:
    goals = Goals({"edges": "maximize", "path": "minimize"})
    plain = joint(goals)
    posteriors = (
        GraphGP("sp", 1e-3).fit(GRAPHS, [scale * edges(g) + shift for g in GRAPHS]).posterior,
        plain.posteriors[1],
    )
    moved = JointModel(goals=goals, posteriors=posteriors, measured=plain.measured)
    batch = Batch.of(SPACE.sample(5, seed=seed))
    one, two = (
        JointCriterion(space=SPACE, model=model, acquisition=EI()).of_batch(batch)
        for model in (plain, moved)
    )
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-4)


def test_goals_can_be_sent_to_other_processes() -> None:
    goals = Goals({"edges": "maximize", "path": "minimize"}, reference={"edges": 3, "path": 4.5})
    again = pickle.loads(pickle.dumps(goals))
    assert (again.properties, again.combine, again.reference) == (
        goals.properties,
        goals.combine,
        goals.reference,
    )
