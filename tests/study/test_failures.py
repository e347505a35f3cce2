"""Studies learn from failures, respect limits, name outliers and repeat where it helps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, Study, propose
from bogrape.cli.main import main
from bogrape.counts import count
from bogrape.errors import InvalidInputError, StudyError
from bogrape.evaluate import Outcome
from bogrape.optimize import run
from bogrape.properties import AtMost, Goals
from bogrape.propose import JointModel
from bogrape.report.survey import Survey
from bogrape.report.words import certainty_in_words
from bogrape.study.replicates import knowledge_gradient
from bogrape.study.words import failures_in_words, repeat_in_words
from bogrape.success import SuccessModel
from bogrape.surrogate import FittedSurrogate
from own_parts import Neighbours

SPACE = GraphSpace(5, labels=2)
ALL = SPACE.enumerate()


def succeeds(graph: Graph) -> bool:
    """A hidden rule: no edge joins two nodes of label 1."""
    ones = graph.labels == 1
    return not graph.adjacency[np.ix_(ones, ones)].any()


def value(graph: Graph) -> float:
    return float(graph.n_edges - 3.0 * graph.labels.sum())


def observations(n: int, seed: int) -> tuple[list[Graph], Any]:
    graphs = SPACE.sample(n, seed=seed, distinct=True)
    return graphs, np.array([succeeds(graph) for graph in graphs])


def with_failures(n: int = 16, seed: int = 2, **settings: Any) -> Study:
    study = Study(SPACE, n_initial=2, method="search", n_evaluations=500, **settings)
    for graph in SPACE.sample(n, seed=seed, distinct=True):
        study.enqueue(graph)
        trial = study.ask(progress=False)
        if succeeds(graph):
            study.tell(trial, value(graph))
        else:
            study.fail(trial, "it fails")
    return study


# -- the proposal is the optimum of the weighted acquisition ------------------------------------


def negative_ratio(mean: Any, std: Any, best: float) -> Any:
    """A user-defined acquisition function."""
    return mean - 0.5 * np.sqrt(std) + 0.0 * best


def by_hand(
    acquisition: Any, gp: GraphGP, graphs: list[Graph], chance: Any, known: list[Graph]
) -> Any:
    """The weighted acquisition as documented, in units of the values."""
    mean, std = gp.predict(graphs)
    best = gp.posterior.model.best
    plain = acquisition(mean, std, best)
    if isinstance(acquisition, EI):
        return plain * chance
    worst = float(np.max(acquisition(*gp.predict(known), best)))
    return np.maximum(plain, chance * plain + (1 - chance) * worst)


@pytest.mark.parametrize("acquisition", [EI(), LCB(1.0), negative_ratio], ids=["ei", "lcb", "own"])
@pytest.mark.parametrize("kernel", ["rbf", "ssp", "sp"])
@pytest.mark.parametrize("method", ["auto", "search"])
def test_the_proposal_minimises_the_weighted_acquisition(
    acquisition: Any, kernel: Any, method: Any
) -> None:
    graphs, good = observations(18, 5)
    known = [graph for graph, fine in zip(graphs, good, strict=True) if fine]
    gp = GraphGP(kernel, noise=0.01, space=SPACE, restarts=1)
    gp.fit(known, [value(graph) for graph in known])
    success = SuccessModel.fit(graphs, good, GraphGP(kernel, noise="fit", space=SPACE))
    keys = {graph.canonical_key() for graph in graphs}
    rest = [graph for graph in ALL if graph.canonical_key() not in keys]
    values = by_hand(acquisition, gp, rest, success.probability(rest), known)
    found = propose(
        SPACE,
        gp,
        acquisition,
        method,
        time_limit=60,
        exclude=graphs,
        chances=[success],
        n_evaluations=4000,
    )
    assert found.value == pytest.approx(float(values.min()), rel=1e-6, abs=1e-9)
    plain = propose(SPACE, gp, acquisition, method, exclude=graphs, n_evaluations=4000)
    assert found.value >= plain.value - 1e-9  # weights cannot improve a value
    if method == "auto":
        assert found.status == "optimal"
        assert found.bound <= found.value


def test_a_user_defined_surrogate_is_weighted_too() -> None:
    graphs, good = observations(18, 5)
    known = [graph for graph, fine in zip(graphs, good, strict=True) if fine]
    model = FittedSurrogate.fit(Neighbours, known, [value(graph) for graph in known])
    success = SuccessModel.fit(graphs, good, GraphGP("rbf", noise="fit", space=SPACE))
    keys = {graph.canonical_key() for graph in graphs}
    rest = [graph for graph in ALL if graph.canonical_key() not in keys]
    mean, std = model.predict(rest)
    plain = LCB(1.0)(mean, std, 0.0)
    worst = float(np.max(LCB(1.0)(*model.predict(known), 0.0)))
    chance = success.probability(rest)
    expected = np.maximum(plain, chance * plain + (1 - chance) * worst).min()
    found = propose(SPACE, model, LCB(1.0), exclude=graphs, chances=[success], time_limit=60)
    assert found.value == pytest.approx(float(expected), rel=1e-6)
    assert found.status == "optimal"


@pytest.mark.parametrize("keeps_none", [False, True])
def test_limits_weight_the_improvement_of_the_other_properties(keeps_none: bool) -> None:
    graphs, _ = observations(14, 3)
    limit = AtMost(-1.0 if keeps_none else 1.0)
    goals = Goals({"y": "minimize", "n": limit})
    fits = {
        "y": GraphGP("rbf", noise=0.01, space=SPACE).fit(graphs, [value(g) for g in graphs]),
        "n": GraphGP("rbf", noise=0.01, space=SPACE).fit(graphs, [g.labels.sum() for g in graphs]),
    }
    kept = [g for g in graphs if g.labels.sum() <= limit.limit]
    assert bool(kept) != keeps_none
    model = JointModel(
        goals=goals.without_limits,
        posteriors=(fits["y"].posterior,),
        measured=tuple(kept or graphs),
        limits=((limit, fits["n"].posterior),),
        keeps_none=keeps_none,
    )
    keys = {graph.canonical_key() for graph in graphs}
    rest = [graph for graph in ALL if graph.canonical_key() not in keys]
    chance = np.exp(limit.log_probability(*fits["n"].predict(rest)))
    best = float(fits["y"].predict(kept or graphs)[0].min())
    gain = -EI()(*fits["y"].predict(rest), best)
    expected = (chance if keeps_none else chance * gain).max()
    found = propose(SPACE, model, EI(), exclude=graphs, time_limit=60)
    assert -found.value == pytest.approx(float(expected), rel=1e-5)
    assert found.status == "optimal"


# -- learning from failures ---------------------------------------------------------------------


def test_a_study_learns_from_failures_unless_they_are_ignored() -> None:
    study = with_failures()
    n_failed = sum(trial.state == "failed" for trial in study.trials)
    assert n_failed >= 3
    trial = study.ask(progress=False)
    assert trial.certificate["n_failed"] == n_failed
    assert trial.certificate["n_outcomes"] == 16
    (again,) = study.predict_success([trial.graph])
    assert trial.predicted_success == pytest.approx(again, abs=1e-6)
    ignored = with_failures(failures="ignore")
    other = ignored.ask(progress=False)
    assert other.predicted_success is None
    assert "n_failed" not in other.certificate
    with pytest.raises(StudyError, match="failures='ignore'"):
        ignored.predict_success([trial.graph])


def test_two_failures_are_too_few() -> None:
    study = Study(SPACE, n_initial=2, method="search", n_evaluations=300)
    for i, graph in enumerate(SPACE.sample(8, seed=1, distinct=True)):
        study.enqueue(graph)
        trial = study.ask(progress=False)
        study.fail(trial, "no") if i < 2 else study.tell(trial, value(graph))
    assert study.ask(progress=False).predicted_success is None
    with pytest.raises(StudyError, match="the study has 2 and 6"):
        study.predict_success([ALL[0]])


def test_a_study_does_not_learn_from_failures_of_machines() -> None:
    study = Study(SPACE, n_initial=2, method="search", n_evaluations=300)
    trials = []
    for graph in SPACE.sample(9, seed=1, distinct=True):
        study.enqueue(graph)
        trials.append(study.ask(progress=False))
    for trial in trials[:3]:
        study.tell(trial, value(trial.graph))
    study.fail(trials[3], "the disk was full", about_graph=False)
    study.fail(trials[4], "lost: the job vanished")  # as earlier versions recorded it
    study.correct(trials[2], None, reason="the wrong sample was measured")
    for trial in trials[5:8]:
        study.fail(trial, "it burns")
    assert [study.trials[i].succeeded for i in range(9)] == [
        *(True, True, None, None, None),
        *(False, False, False, None),
    ]
    study.retry(3)
    study.tell(study.ask(progress=False), 1.0)
    assert study.trials[3].succeeded
    with pytest.raises(InvalidInputError, match="about_graph must be True or False"):
        study.fail(trials[8], "no", about_graph="maybe")  # type: ignore[arg-type]


class Scripted:
    """An evaluator that returns the given outcomes."""

    n_parallel = 1

    def __init__(self, outcomes: list[Outcome]) -> None:
        self.outcomes = outcomes
        self.waiting: list[int] = []

    def submit(self, number: int, graph: Graph) -> None:  # noqa: ARG002
        self.waiting.append(number)

    def wait(self, timeout: float | None = None) -> list[tuple[int, Outcome]]:  # noqa: ARG002
        return [(self.waiting.pop(0), self.outcomes.pop(0))]

    def close(self) -> None:
        pass


def test_a_run_distinguishes_failures_of_machines_and_of_graphs() -> None:
    study = Study(SPACE, n_initial=9)
    kinds = ["lost", "exception", "time limit", "memory", "killed", "exit", "not a value"]
    outcomes = [Outcome("value", 1.0), Outcome("value", 2.0)]
    outcomes += [Outcome(kind, reason="why") for kind in kinds]  # type: ignore[arg-type]
    run(study, Scripted(outcomes), 9, progress=False, max_failure_share=1.0)
    assert [trial.succeeded for trial in study.trials] == [True, True, None, *[False] * 6]


def test_a_study_that_learns_proposes_more_graphs_that_succeed() -> None:
    shares = {}
    for failures in ("learn", "ignore"):
        study = with_failures(failures=failures, restarts=1)
        bad = 0
        for _ in range(8):
            trial = study.ask(progress=False)
            good = succeeds(trial.graph)
            bad += not good
            study.tell(trial, value(trial.graph)) if good else study.fail(trial, "it fails")
        shares[failures] = bad
    assert shares["learn"] < shares["ignore"]


def test_believed_failures_change_neither_the_mean_nor_the_value_to_beat() -> None:
    graphs, good = observations(16, 2)
    known = [graph for graph, fine in zip(graphs, good, strict=True) if fine]
    failed = [graph for graph, fine in zip(graphs, good, strict=True) if not fine]
    for kernel in ("rbf", "ssp"):
        gp = GraphGP(kernel, noise="fit", space=SPACE)
        posterior = gp.fit(known, [value(graph) for graph in known]).posterior
        believed = posterior.believe(failed, to_beat=False)
        assert believed.model.best == posterior.model.best
        counts = count(ALL, 2, pairs=True)
        before, after = posterior.mean_std(counts), believed.mean_std(counts)
        assert np.allclose(before[0], after[0], atol=1e-6)
        assert (after[1] <= before[1] + 1e-6).all()


# -- limits -------------------------------------------------------------------------------------


def test_a_study_respects_limits(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    settings: dict[str, Any] = {"properties": {"y": "minimize", "n": AtMost(1.0)}}
    study = Study(SPACE, url, n_initial=3, method="search", n_evaluations=500, **settings)

    def measure(graph: Graph) -> dict[str, float]:
        return {"y": value(graph), "n": float(graph.labels.sum())}

    while len(study.trials) < 14:
        trial = study.ask(progress=False)
        study.tell(trial, measure(trial.graph))
    trials = Study.load(url).trials
    assert Study.load(url).settings == study.settings
    broken = [trial for trial in trials if trial.values["n"] > 1]
    assert broken  # otherwise, nothing is tested
    assert all(trial.value is None for trial in broken)
    kept = [trial for trial in trials if trial.values["n"] <= 1]
    assert study.best.values["y"] == min(trial.values["y"] for trial in kept)
    last = trials[-1]
    assert 0.0 <= last.certificate["keeps_limits"] <= 1.0
    late = [trial for trial in trials if trial.origin == "proposal"][-5:]
    assert sum(trial.values["n"] <= 1 for trial in late) >= 4
    study.change(properties={"y": "minimize", "n": AtMost(-1.0)})
    with pytest.raises(StudyError, match="none of 14 graphs that were measured"):
        _ = study.best
    assert study.ask(progress=False).certificate["keeps_limits"] < 0.5


# -- outliers and repeats -----------------------------------------------------------------------


def test_a_suspicious_value_is_named_until_it_is_corrected() -> None:
    study = Study(SPACE, n_initial=2, noise="robust", method="search", n_evaluations=300)
    added = study.add_all([(g, value(g)) for g in SPACE.sample(16, seed=3, distinct=True)])
    assert list(study.suspicious) == []
    study.correct(added[4], value(added[4].graph) - 60.0)
    assert [trial.id for trial in study.suspicious] == [4]
    assert study.ask(progress=False).certificate["suspicious"] == [4]
    study.correct(4, value(added[4].graph))
    assert list(study.suspicious) == []
    study.change(noise="fit")
    study.correct(added[4], value(added[4].graph) - 60.0)
    assert list(study.suspicious) == []  # only robust noise looks for them


def test_repeats_are_proposed_only_if_noise_hides_the_best() -> None:
    space = GraphSpace(6, labels=2)
    n_repeats = {}
    for deviation in (0.0, 3.0):
        study = Study(
            space,
            n_initial=8,
            replicates=True,
            method="search",
            n_evaluations=1000,
            noise="robust",
            seed=1,
        )
        rng = np.random.default_rng(0)
        while len(study.trials) < 20:
            trial = study.ask(progress=False)
            true = float(2 * abs(trial.graph.labels.sum() - 2) - trial.graph.n_edges)
            study.tell(trial, float(true + deviation * rng.normal()))
        repeats = [trial for trial in study.trials if trial.origin == "repeat"]
        n_repeats[deviation] = len(repeats)
        for trial in repeats:
            assert trial.certificate["repeat_gain"] > trial.certificate["new_gain"]
            before = [other.graph for other in study.trials[: trial.id]]
            assert any(space.identity(g) == space.identity(trial.graph) for g in before)
            assert "measured again, since" in str(repeat_in_words(trial))
        n_different = len({space.identity(trial.graph) for trial in study.trials})
        assert n_different + len(repeats) == 20
    assert n_repeats[0.0] == 0
    assert n_repeats[3.0] >= 1


def test_the_gain_of_a_repeat_is_the_expected_fall_of_the_smallest_mean() -> None:
    rng = np.random.default_rng(1)
    mean = rng.normal(size=5)
    root = rng.normal(size=(5, 5))
    covariance = root @ root.T
    draws = rng.normal(size=400_000)
    for c in range(5):
        moves = covariance[:, c] / np.sqrt(covariance[c, c] + 0.3)
        simulated = mean.min() - (mean[:, None] + moves[:, None] * draws).min(axis=0).mean()
        found = knowledge_gradient(mean, covariance[:, c], covariance[c, c], 0.3)
        assert found == pytest.approx(simulated, abs=0.01)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"failures": "forget"}, "failures must be 'learn' or 'ignore'"),
        ({"replicates": 3}, "replicates must be True or False"),
        ({"replicates": True, "surrogate": Neighbours}, "a surrogate of your own"),
        (
            {"replicates": True, "properties": {"a": "minimize", "b": "minimize"}},
            "several properties",
        ),
    ],
)
def test_invalid_settings_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        Study(SPACE, **wrong)


# -- in words -----------------------------------------------------------------------------------


def test_status_and_report_describe_what_was_learnt_from_failures(tmp_path: Any) -> None:
    study = with_failures()
    trial = study.ask(progress=False)
    words = failures_in_words(study.trials)
    n_failed = sum(t.state == "failed" for t in study.trials)
    assert words == (
        f"{n_failed} of 16 trials failed; the model expects the graph of trial 16 to succeed with "
        f"probability {trial.predicted_success:.2f}"
    )
    assert any(line.startswith(words) for line in certainty_in_words(Survey(study)))
    file = tmp_path / "study.toml"
    file.write_text(
        f'name = "s"\nstorage = "sqlite:///{tmp_path}/s.db"\n[space]\nn_nodes = 5\nlabels = 2\n'
        '[search]\nmethod = "search"\nn_initial = 2\n'
    )
    ask = CliRunner().invoke(main, ["ask", str(file)])
    assert ask.exit_code == 0, ask.output
    shown = CliRunner().invoke(main, ["fail", str(file), "0", "it burns"])
    assert shown.exit_code == 0, shown.output
    assert CliRunner().invoke(main, ["ask", str(file)]).exit_code == 0
    arguments = ["fail", str(file), "1", "the power went off", "--not-the-graph"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    stored = Study.load(f"sqlite:///{tmp_path}/s.db", "s")
    assert [other.succeeded for other in stored.trials] == [False, None]
    status = CliRunner().invoke(main, ["status", str(file)])
    assert "2 of 2 trials failed" in status.output
