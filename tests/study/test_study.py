"""Asking, telling, failing, adding: guarantees of a study, in memory and in a database."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bogrape import EI, LCB, Graph, GraphSpace, Study, Trial
from bogrape.constraints import NumberOfEdges
from bogrape.errors import (
    BoGrapeError,
    BudgetSpent,
    InvalidInputError,
    NotInSpaceError,
    ObservationsError,
    SearchSpaceExhausted,
    StudyError,
    UnsupportedError,
)
from bogrape.study import InMemoryStorage, StudySettings
from bogrape.study.design import Design

SPACE = GraphSpace(n_nodes=5, labels=2)
PATH = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "postgresql":
        return request.getfixturevalue("postgresql_schema")
    return InMemoryStorage() if request.param == "memory" else f"sqlite:///{tmp_path}/study.db"


def new_study(storage: Any = None, **options: Any) -> Study:
    return Study(SPACE, storage, **{"method": "sample", "n_initial": 4, **options})


def fill(study: Study, n: int) -> Study:
    for _ in range(n):
        trial = study.ask()
        study.tell(trial, trial.graph.n_edges + 0.1 * trial.id)
    return study


# -- asking and telling -----------------------------------------------------------------------


def test_a_study_proposes_and_records_graphs(storage: Any) -> None:
    study = fill(new_study(storage), 6)
    assert [trial.id for trial in study.trials] == list(range(6))
    assert [trial.origin for trial in study.trials] == ["initial"] * 4 + ["proposal"] * 2
    assert study.best.value == min(trial.value for trial in study.trials if trial.value is not None)
    graphs, values = study.dataset
    assert len(graphs) == len(values) == 6
    assert all(SPACE.contains(graph) for graph in graphs)


def test_every_trial_records_where_it_comes_from(storage: Any) -> None:
    study = fill(new_study(storage), 5)
    trial = study.trials[-1]
    assert trial.certificate["method"] == "sample"
    assert trial.certificate["status"] == "heuristic"
    assert trial.certificate["bound"] is None
    assert trial.certificate["seconds"] > 0
    assert trial.certificate["fit_seconds"] > 0
    assert {"alpha", "beta", "noise", "length_labels"} <= set(trial.hyperparameters)
    assert trial.seed is not None
    assert trial.version
    assert trial.attempts == 1
    assert trial.asked is not None
    assert trial.finished is not None
    assert trial.created <= trial.asked <= trial.finished
    assert trial.evaluation_seconds is not None


def test_a_study_reopened_is_the_same_study(storage: Any) -> None:
    study = fill(new_study(storage, noise="fit", acquisition=LCB(1.96), retries=2), 5)
    study.fail(study.ask(), "a broken flask")
    again = Study.load(study.storage)
    assert again.trials == study.trials
    assert again.settings == study.settings
    assert again.best == study.best


def test_the_same_seed_gives_the_same_graphs_and_another_seed_others(storage: Any) -> None:
    one = fill(new_study(storage, seed=1), 6)
    two = fill(new_study(seed=1), 6)
    three = fill(new_study(seed=2), 6)
    assert [t.graph for t in one.trials] == [t.graph for t in two.trials]
    assert [t.graph for t in one.trials] != [t.graph for t in three.trials]


def test_graphs_under_evaluation_are_not_given_out_again(storage: Any) -> None:
    study = fill(new_study(storage), 4)
    batch = study.ask(5)
    assert isinstance(batch, list)
    assert {trial.state for trial in batch} == {"pending"}
    keys = {trial.graph.canonical_key() for trial in study.trials}
    assert len(keys) == 9


def test_a_batch_larger_than_the_initial_design_is_completed_by_random_graphs() -> None:
    batch = new_study().ask(6)
    assert isinstance(batch, list)
    assert [trial.origin for trial in batch] == ["initial"] * 4 + ["random"] * 2


def test_maximising_is_minimising_the_negative(storage: Any) -> None:
    down, up = new_study(), new_study(storage, direction="maximize")
    for _ in range(7):
        a, b = down.ask(), up.ask()
        assert a.graph == b.graph
        down.tell(a, a.graph.n_edges + 0.1 * a.id)
        up.tell(b, -(b.graph.n_edges + 0.1 * b.id))
    assert up.best.graph == down.best.graph
    assert up.best.value == -down.best.value  # type: ignore[operator]
    last = up.trials[-1].certificate["value"]
    assert last == pytest.approx(-down.trials[-1].certificate["value"])


def test_the_initial_design_spreads_over_the_counts() -> None:
    space = GraphSpace(n_nodes=8)
    design = Design(space, "ssp", 10, seed=0)
    chosen: list[Graph] = []
    for _ in range(10):
        graph = design.next(chosen)
        assert graph is not None
        chosen.append(graph)
    random = space.sample(10, seed=1)

    def closest(graphs: list[Graph]) -> float:
        points = design._coordinates(graphs)
        gaps = ((points[:, None] - points[None]) ** 2).sum(-1)
        return float(gaps[np.triu_indices(len(graphs), 1)].min())

    assert closest(chosen) > 3 * closest(random)


@pytest.mark.parametrize("acquisition", [LCB(0.5), EI(0.1), "lcb-growing", "ei", "lcb"])
def test_every_acquisition_can_be_stored(acquisition: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    study = fill(new_study(url, acquisition=acquisition), 6)
    assert Study.load(url).settings == study.settings
    new_study(url, acquisition=acquisition)  # reopens: the settings are the same


def test_names_of_acquisitions_stand_for_their_defaults() -> None:
    assert new_study(acquisition="lcb").settings == new_study(acquisition=LCB(1.0)).settings
    growing = new_study(acquisition="lcb-growing").settings
    assert growing.acquisition_at(3) == LCB.growing(3)


def test_a_study_in_memory_can_be_opened_again_from_its_storage() -> None:
    study = fill(new_study(), 2)
    assert Study.load(study.storage).trials == study.trials


def test_a_local_acquisition_function_works_in_memory_and_is_refused_by_a_file(
    tmp_path: Path,
) -> None:
    def own(mean: Any, std: Any, best: float) -> Any:  # noqa: ARG001
        return mean - std

    fill(new_study(acquisition=own), 6)
    with pytest.raises(UnsupportedError, match="cannot be stored"):
        new_study(f"sqlite:///{tmp_path}/study.db", acquisition=own)


# -- telling ----------------------------------------------------------------------------------


def test_telling_the_same_value_again_changes_nothing(storage: Any) -> None:
    study = new_study(storage)
    trial = study.ask()
    told = study.tell(trial, 1.5)
    assert study.tell(trial, 1.5) == told
    assert study.tell(trial.id, 1.5) == told


def test_telling_another_value_is_refused_and_changes_nothing(storage: Any) -> None:
    study = new_study(storage)
    trial = study.ask()
    told = study.tell(trial, 1.5)
    with pytest.raises(StudyError, match=r"already has the value 1\.5, got 2\.5"):
        study.tell(trial, 2.5)
    assert study.trials == (told,)


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "1", True, [1.0]], ids=str)
def test_a_value_that_is_not_a_finite_number_is_refused_and_the_trial_stays_pending(
    value: Any,
) -> None:
    study = new_study()
    trial = study.ask()
    with pytest.raises(InvalidInputError, match="finite number"):
        study.tell(trial, value)
    assert study.trials == (trial,)


@pytest.mark.parametrize("trial", [7, -1, "0", None, 0.0, True])
def test_an_unknown_trial_is_refused(trial: Any) -> None:
    study = new_study()
    study.ask()
    with pytest.raises(InvalidInputError):
        study.tell(trial, 1.0)


def test_a_trial_of_another_study_is_refused() -> None:
    one, two = new_study(seed=1), new_study(seed=2)
    trial = one.ask()
    two.ask()
    with pytest.raises(StudyError, match="another study"):
        two.tell(trial, 1.0)


def test_a_failed_trial_accepts_no_value_and_a_complete_one_cannot_fail(storage: Any) -> None:
    study = new_study(storage)
    one, two = study.ask(), study.ask()
    failed = study.fail(one, "the flask broke")
    assert failed.state == "failed"
    assert study.fail(one, "again") == failed
    with pytest.raises(StudyError, match="the flask broke"):
        study.tell(one, 1.0)
    study.tell(two, 1.0)
    with pytest.raises(StudyError, match="complete"):
        study.fail(two, "too late")


def test_reasons_of_any_kind_can_be_stored(storage: Any) -> None:
    study = new_study(storage)
    odd = study.fail(study.ask(), "null \0, half a pair \ud800, " + "long " * 1000)
    assert odd.reason is not None
    assert odd.reason.startswith("null \ufffd, half a pair ?, long")
    assert len(odd.reason) == 2000
    assert Study.load(study.storage).trials == (odd,)


@pytest.mark.parametrize("reason", ["", "  ", None, 3])
def test_a_failure_needs_a_reason(reason: Any) -> None:
    study = new_study()
    with pytest.raises(InvalidInputError, match="reason"):
        study.fail(study.ask(), reason)


def test_a_failed_graph_is_not_asked_for_again_and_does_not_count_as_known(storage: Any) -> None:
    study = new_study(storage)
    for _ in range(3):
        study.fail(study.ask(), "no luck")
    fill(study, 5)
    origins = [trial.origin for trial in study.trials]
    assert origins == ["initial"] * 7 + ["proposal"]
    assert len({trial.graph.canonical_key() for trial in study.trials}) == 8


def test_a_failed_evaluation_is_queued_again_while_retries_remain(storage: Any) -> None:
    study = new_study(storage, retries=1)
    first = study.ask(worker="a")
    queued = study.fail(first, "a hiccup")
    assert (queued.state, queued.worker, queued.reason) == ("queued", None, "a hiccup")
    assert study.fail(first, "told twice") == queued
    second = study.ask(worker="b")
    assert (second.id, second.attempts, second.worker) == (first.id, 2, "b")
    assert study.fail(second, "again").state == "failed"


# -- workers ----------------------------------------------------------------------------------


def test_a_restarted_worker_gets_its_unfinished_trial_back(storage: Any) -> None:
    study = new_study(storage)
    mine = study.ask(worker="me")
    theirs = study.ask(worker="you")
    nobodys = study.ask()
    assert len({mine.id, theirs.id, nobodys.id}) == 3
    reopened = Study.load(study.storage)
    assert reopened.ask(worker="me") == mine
    assert reopened.ask(worker="you") == theirs
    study.tell(mine, 1.0)
    assert study.ask(worker="me").id == 3


def test_a_released_trial_goes_to_the_next_worker(storage: Any) -> None:
    study = new_study(storage)
    trial = study.ask(worker="gone")
    assert study.release(trial).state == "queued"
    assert study.release(trial).state == "queued"
    taken = study.ask(worker="here")
    assert (taken.id, taken.worker, taken.attempts) == (trial.id, "here", 2)
    study.tell(taken, 1.0)
    with pytest.raises(StudyError, match="complete"):
        study.release(trial)


def test_a_worker_that_lost_its_trial_cannot_change_it(storage: Any) -> None:
    study = new_study(storage)
    late = study.ask(worker="slow")
    study.release(late)
    held = study.ask(worker="quick")
    assert held.id == late.id
    for change in (
        lambda: study.fail(late, "the machine went to sleep"),
        lambda: study.tell(late, 2.0),
        lambda: study.release(late),
        lambda: study.release(late, reason="no licence"),
    ):
        with pytest.raises(StudyError, match="given to 'quick', who evaluates it now"):
            change()
    assert study.trials[held.id] == held
    assert study.tell(held, 1.0).value == 1.0


def test_a_late_value_of_a_released_trial_is_accepted(storage: Any) -> None:
    study = new_study(storage)
    late = study.ask(worker="slow")
    study.release(late)
    assert study.tell(late, 2.0).value == 2.0


def test_an_evaluation_that_was_not_started_is_not_an_attempt() -> None:
    study = new_study(retries=1)
    for _ in range(3):
        back = study.release(study.ask(), reason="program not found")
        assert (back.state, back.reason, back.worker) == ("queued", "program not found", None)
    assert back.details["not_started"] == 3
    assert study.fail(study.ask(), "first failure").state == "queued"
    assert study.fail(study.ask(), "second failure").state == "failed"


def test_a_failed_trial_is_tried_again_on_request_and_keeps_its_history() -> None:
    study = fill(new_study(), 2)
    failed = study.fail(study.ask(), "no licence", seconds=3.0)
    queued = study.retry(failed)
    assert (queued.state, queued.finished, queued.reason) == ("queued", None, "no licence")
    assert queued.evaluation_seconds is None
    assert study.retry(failed) == queued  # once is enough
    again = study.ask()
    assert (again.id, again.state, again.attempts) == (failed.id, "pending", 2)
    assert study.fail(again, "no flask").state == "failed"
    study.retry(again.id)
    complete = study.tell(study.ask(), 1.0, seconds=4.0)
    assert complete.details["failures"] == [
        {"reason": "no licence", "finished": failed.finished},
        {
            "reason": "no flask",
            "finished": study.trials[again.id].details["failures"][1]["finished"],
        },
    ]
    assert (complete.reason, complete.evaluation_seconds) == (None, 4.0)
    for other in (complete, study.ask()):
        with pytest.raises(StudyError, match="only failed trials can be retried"):
            study.retry(other)


def test_a_failed_trial_is_tried_again_in_any_storage(storage: Any) -> None:
    study = new_study(storage)
    failed = study.fail(study.ask(), "no licence")
    study.retry(failed)
    again = Study.load(study.storage).ask()
    assert (again.id, again.state) == (failed.id, "pending")
    assert study.tell(again, 1.0).state == "complete"


def test_the_seconds_of_an_evaluation_can_be_told() -> None:
    study = new_study()
    assert study.tell(study.ask(), 1.0, seconds=7.5).evaluation_seconds == 7.5
    assert study.fail(study.ask(), "no flask", seconds=2).evaluation_seconds == 2.0
    since = study.tell(study.ask(), 1.0).evaluation_seconds
    assert since is not None
    assert 0 <= since < 7.5


@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf, "3", True])
def test_invalid_seconds_are_refused(seconds: Any) -> None:
    study = new_study()
    trial = study.ask()
    with pytest.raises(InvalidInputError, match="seconds"):
        study.tell(trial, 1.0, seconds=seconds)
    with pytest.raises(InvalidInputError, match="seconds"):
        study.fail(trial, "no flask", seconds=seconds)
    assert study.trials[0].state == "pending"


def test_no_more_trials_are_handed_out_than_allowed(storage: Any) -> None:
    study = new_study(storage)
    study.add(SPACE.sample(1, seed=8)[0], 1.0)  # does not count
    mine = study.ask(worker="me", most=1)
    with pytest.raises(BudgetSpent, match="1 trials of its own, and 1 are allowed"):
        study.ask(most=1)
    assert study.ask(worker="me", most=1) == mine
    more = study.ask(5, most=3)
    assert isinstance(more, list)
    assert len(more) == 2
    assert len(study.trials) == 4


def test_two_objects_on_one_storage_see_each_other(storage: Any) -> None:
    one = new_study(storage)
    two = Study.load(one.storage)
    trial = one.ask()
    assert two.ask().id == 1
    two.tell(trial.id, 2.0)
    assert one.trials[0].value == 2.0
    assert one.tell(trial, 2.0).value == 2.0


@pytest.mark.parametrize(
    ("n", "worker"), [(0, None), (True, None), (1.0, None), (1, ""), (1, 5), (1, "a\0")]
)
def test_invalid_arguments_of_ask_are_refused(n: Any, worker: Any) -> None:
    study = new_study()
    with pytest.raises(InvalidInputError):
        study.ask(n, worker=worker)
    assert study.trials == ()


# -- graphs from outside ----------------------------------------------------------------------


def test_observations_from_outside_count_and_shorten_the_design(storage: Any) -> None:
    study = new_study(storage)
    for i, graph in enumerate(SPACE.sample(4, seed=9, distinct=True)):
        study.add(graph, float(i))
    assert [trial.origin for trial in study.trials] == ["added"] * 4
    assert study.ask().origin == "proposal"
    assert study.best.value == 0.0


def test_observations_are_added_all_or_none(storage: Any) -> None:
    study = new_study(storage)
    good = SPACE.sample(3, seed=0)
    with pytest.raises(ObservationsError, match="observation 1"):
        study.add_all([(good[0], 1.0), (PATH, 2.0)], outside="refuse")
    with pytest.raises(InvalidInputError):
        study.add_all([(good[0], 1.0), (good[1], math.nan)])
    assert study.trials == ()
    assert study.add_all([]) == []
    assert len(study.add_all([(g, 1.0) for g in good])) == 3


def test_noisy_repeats_are_kept_and_the_best_graph_has_the_best_mean(storage: Any) -> None:
    study = new_study(storage, noise="fit")
    a, b = SPACE.sample(2, seed=0, distinct=True)
    for graph, value in [(a, 0.0), (b, 1.0), (a, 4.0), (b, 1.2)]:
        study.add(graph, value)
    assert study.best.id == 1
    assert len(study.dataset.values) == 4
    repeat = study.repeat(study.best)
    assert (repeat.state, repeat.origin, repeat.graph) == ("queued", "repeat", b)
    handed = study.ask()
    assert handed.id == repeat.id
    study.tell(handed, 0.9)
    fill(study, 3)


def test_enqueued_graphs_are_handed_out_first(storage: Any) -> None:
    study = new_study(storage)
    graph = SPACE.sample(1, seed=5)[0]
    queued = study.enqueue(graph)
    assert queued.state == "queued"
    with pytest.raises(StudyError, match="already in the study"):
        study.enqueue(graph.permuted([4, 3, 2, 1, 0]))
    asked = study.ask()
    assert (asked.id, asked.graph, asked.origin) == (queued.id, graph, "queued")
    with pytest.raises(NotInSpaceError):
        study.enqueue(PATH)


# -- exhausted spaces and mistakes ------------------------------------------------------------


def test_an_exhausted_space_raises_an_error(storage: Any) -> None:
    study = Study(GraphSpace(n_nodes=3), storage, n_initial=2, method="sample")
    both = study.ask(5)
    assert isinstance(both, list)
    assert len(both) == 2  # the path and the triangle
    with pytest.raises(SearchSpaceExhausted):
        study.ask()
    for trial in both:
        study.tell(trial, float(trial.id))
    with pytest.raises(SearchSpaceExhausted):
        study.ask()


def test_the_best_of_no_trials_is_an_error() -> None:
    with pytest.raises(StudyError, match="no trial is complete yet"):
        _ = new_study().best


def test_a_study_with_other_settings_is_not_reopened(storage: Any) -> None:
    study = fill(new_study(storage), 2)
    with pytest.raises(StudyError, match=r"other settings \(kernel, seed\)"):
        new_study(study.storage, kernel="sp", seed=5)
    with pytest.raises(StudyError, match=r"other settings \(space\)"):
        Study(GraphSpace(n_nodes=6), study.storage, method="sample", n_initial=4)
    assert len(study.trials) == 2


def test_the_error_for_a_missing_study_lists_existing_ones(storage: Any) -> None:
    study = new_study(storage, name="one")
    with pytest.raises(StudyError, match=r"no study 'two' .* it holds: 'one'"):
        Study.load(study.storage, "two")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a\n", "x" * 101, 5, None, "ü"])
def test_names_that_could_be_paths_are_refused(name: Any) -> None:
    with pytest.raises(InvalidInputError, match="name"):
        new_study(name=name)
    with pytest.raises(InvalidInputError, match="name"):
        Study.load(InMemoryStorage(), name)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel": "wl"},
        {"noise": -1.0},
        {"acquisition": "ucb"},
        {"acquisition": 3},
        {"method": "magic"},
        {"time_limit": 0},
        {"time_limit": math.nan},
        {"n_initial": 1},
        {"n_initial": 2.5},
        {"seed": -1},
        {"retries": True},
        {"direction": "up"},
        {"space": "all graphs"},
    ],
    ids=str,
)
def test_invalid_settings_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError):
        StudySettings(**{"space": SPACE, **wrong})


def test_settings_survive_conversion_to_plain_data() -> None:
    space = GraphSpace(n_nodes=(4, 6), labels=("C", "N"), rules=[NumberOfEdges(maximum=7)])
    settings = StudySettings(space=space, acquisition=EI(0.2), time_limit=math.inf, seed=3)
    assert StudySettings.from_dict(settings.to_dict()) == settings


@pytest.mark.parametrize("broken", [{}, [], {"space": 1}, None])
def test_data_that_is_not_settings_is_refused(broken: Any) -> None:
    with pytest.raises(InvalidInputError):
        StudySettings.from_dict(broken)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.data())
def test_corrupted_settings_raise_only_bogrape_errors(data: Any) -> None:
    plain = StudySettings(space=SPACE).to_dict()
    place = plain if data.draw(st.booleans()) else plain["space"]
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JSON)
    try:
        settings = StudySettings.from_dict(plain)
    except BoGrapeError:
        return
    assert StudySettings.from_dict(settings.to_dict()) == settings


def test_the_repr_of_a_study_is_one_line() -> None:
    study = new_study()
    assert repr(study) == "Study('study': no trials)"
    study.tell(study.ask(), 1.0)
    study.ask()
    assert repr(study) == "Study('study': 1 complete, 1 pending)"


def test_a_trial_cannot_be_changed() -> None:
    trial = new_study().ask()
    assert isinstance(trial, Trial)
    with pytest.raises(AttributeError):
        trial.value = 1.0  # type: ignore[misc]
