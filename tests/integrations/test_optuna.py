"""Graphs in Optuna studies: new, valid, and the ones that a study of this package would choose."""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from wsgiref.util import setup_testing_defaults

import optuna
import pytest

from bogrape import Graph, GraphSpace, Study
from bogrape.constraints import DegreeRange, NumberOfEdges
from bogrape.errors import InvalidInputError, NotInSpaceError, UnsupportedError
from bogrape.integrations.optuna import (
    BoGrapeSampler,
    SQLiteStorage,
    graph_of,
    history,
    parameters_of,
    suggest_graph,
)

SPACE = GraphSpace(6, labels=("C", "O"), rules=[DegreeRange(maximum=3)])
SMALL = GraphSpace(4, labels=2)  # few parameters: databases take a transaction for each
SPACES = {"small": SMALL, "usual": SPACE}
QUICK = {"kernel": "ssp", "noise": 1e-3, "method": "search", "n_evaluations": 400, "n_initial": 4}


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def value(graph: Graph) -> float:
    return float(graph.distances().mean() + 0.2 * graph.n_edges - 0.1 * graph.labels.sum())


def objective(trial: optuna.Trial) -> float:
    return value(suggest_graph(trial, SPACE))


def keys(study: optuna.Study, space: GraphSpace = SPACE) -> list[str]:
    complete = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    return [space.identity(graph_of(trial)) for trial in complete]


# -- one process ----------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_same_seed_gives_the_graphs_of_a_study(direction: str) -> None:
    ours = Study(SPACE, seed=5, direction=direction, **QUICK)  # type: ignore[arg-type]
    for _ in range(9):
        trial = ours.ask()
        ours.tell(trial, value(trial.graph))
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, seed=5, **QUICK), direction=direction)
    study.optimize(objective, n_trials=9)
    assert [graph_of(trial) for trial in study.trials] == [trial.graph for trial in ours.trials]
    assert [trial.user_attrs["proposal"]["origin"] for trial in study.trials] == [
        trial.origin for trial in ours.trials
    ]


def test_the_same_seed_gives_the_graphs_of_a_study_with_fitted_length_scales() -> None:
    """Here a fit begins with the hyperparameters of the last proposal."""
    given = {**QUICK, "kernel": "rbf", "noise": "fit", "restarts": 1}
    ours = Study(SPACE, seed=2, **given)  # type: ignore[arg-type]
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, seed=2, **given))
    for _ in range(7):
        trial = ours.ask()
        ours.tell(trial, value(trial.graph))
        asked = study.ask()
        assert suggest_graph(asked, SPACE) == trial.graph
        study.tell(asked, value(trial.graph))


def test_a_study_continues_where_another_process_left_it(tmp_path: Path) -> None:
    file = optuna.storages.journal.JournalFileBackend(f"{tmp_path}/study.log")
    storage = optuna.storages.JournalStorage(file)
    for n_trials in (5, 3):  # a fresh sampler each time
        sampler = BoGrapeSampler(SPACE, seed=1, **QUICK)
        study = optuna.create_study(
            study_name="s", storage=storage, sampler=sampler, load_if_exists=True
        )
        study.optimize(objective, n_trials=n_trials)
    whole = optuna.create_study(sampler=BoGrapeSampler(SPACE, seed=1, **QUICK))
    whole.optimize(objective, n_trials=8)
    assert [graph_of(t) for t in study.trials] == [graph_of(t) for t in whole.trials]


def test_parameters_are_one_per_node_and_one_per_pair() -> None:
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    study.optimize(objective, n_trials=1)
    trial = study.best_trial
    graph = graph_of(trial)
    assert len(trial.params) == 6 + 15
    assert trial.params["node 2"] == ("C", "O")[graph.labels[2]]
    assert trial.params["edge 1-4"] == int(graph.adjacency[1, 4])
    assert graph_of(trial, SPACE) == graph
    assert graph.label_names == ("C", "O")
    assert parameters_of(graph, SPACE) == trial.params


def test_graphs_of_several_sizes_with_edge_labels_have_the_parameters_of_their_size() -> None:
    space = GraphSpace((2, 4), labels=2, edge_labels=2, directed=True, features=1)
    study = optuna.create_study(
        sampler=BoGrapeSampler(space, prefix="g ", **{**QUICK, "kernel": "rbf"})
    )
    study.optimize(lambda t: float(suggest_graph(t, space, "g ").n_edges), n_trials=6)
    for trial in study.trials:
        n = trial.params["g n_nodes"]
        assert len(trial.params) == 1 + 2 * n + n * (n - 1)
        assert space.contains(graph_of(trial, space, "g "))
        assert graph_of(trial, space, "g ") == graph_of(trial, prefix="g ")


def test_the_study_stops_when_all_graphs_were_tried(caplog: pytest.LogCaptureFixture) -> None:
    space = GraphSpace(3)
    study = optuna.create_study(sampler=BoGrapeSampler(space, **{**QUICK, "n_initial": 2}))
    study.optimize(lambda t: float(suggest_graph(t, space).n_edges), n_trials=20)
    assert sorted(keys(study, space)) == sorted(map(space.identity, space.enumerate()))
    assert "exhausted" in caplog.text or "no graph" in caplog.text


# -- several threads and processes ----------------------------------------------------------------


def test_threads_share_a_sampler_and_no_graph_is_suggested_twice() -> None:
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    study.optimize(objective, n_trials=16, n_jobs=4)
    assert len(set(keys(study))) == 16


def test_samplers_with_one_seed_race_and_no_graph_is_suggested_twice() -> None:
    """Each thread has a sampler of its own, like a process: they share only the storage."""
    first = optuna.create_study(sampler=BoGrapeSampler(SPACE, **{**QUICK, "n_initial": 20}))
    barrier, errors = threading.Barrier(4), []

    def work() -> None:
        study = optuna.load_study(
            study_name=first.study_name,
            storage=first._storage,
            sampler=BoGrapeSampler(SPACE, **{**QUICK, "n_initial": 20}),
        )
        try:
            for _ in range(6):
                barrier.wait(60)
                study.optimize(objective, n_trials=1)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(keys(first)) == 24
    assert len(set(keys(first))) == 24


def test_a_graph_that_a_dead_process_announced_is_not_suggested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It noted the graph, but died before it confirmed it; others wait for it only once."""
    monkeypatch.setattr(history, "_PATIENCE", 0.1)
    space = GraphSpace(3)
    path, triangle = sorted(space.enumerate(), key=lambda graph: graph.n_edges)
    sampler = BoGrapeSampler(space, **{**QUICK, "n_initial": 2})
    study = optuna.create_study(sampler=sampler)
    optuna.study.Study.ask(study)  # the first trial, to which a note is added below
    study.optimize(lambda t: float(suggest_graph(t, space).n_edges), n_trials=1)
    chosen = graph_of(study.trials[1])
    other = triangle if space.identity(chosen) == space.identity(path) else path
    note = history.Note(other, is_sure=False)
    study._storage.set_trial_system_attr(study.trials[0]._trial_id, "bogrape", note.to_dict())
    study.optimize(lambda t: float(suggest_graph(t, space).n_edges), n_trials=5)
    assert keys(study, space) == [space.identity(chosen)]
    assert study.trials[-1].state.name == "PRUNED"  # since no graph is left


def test_a_trial_that_died_while_its_graph_was_suggested_is_tried_again() -> None:
    """Optuna fixes the parameters suggested so far, and copies the note on the graph."""
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    study.optimize(objective, n_trials=5)
    dead = study.ask()
    dead.suggest_categorical("node 0", ("C", "O"))
    dead.suggest_categorical("edge 0-1", (0, 1))
    frozen = study._storage.get_trial(dead._trial_id)
    wanted = history.Note.from_data(frozen.system_attrs["bogrape"])
    study.tell(dead, state=optuna.trial.TrialState.FAIL)
    retry = optuna.storages.RetryHeartbeatStaleTrialCallback()
    retry(study, study.trials[-1])
    study.optimize(objective, n_trials=2)
    assert [t.state.name for t in study.trials[5:]] == ["FAIL", "COMPLETE", "COMPLETE"]
    assert wanted is not None
    assert graph_of(study.trials[6]) == wanted.graph
    assert len(set(keys(study))) == 7


GRACE_SECONDS = 30

WORKER = """
import sys, time
import optuna
sys.path.insert(0, {folder!r})
from test_optuna import QUICK, SPACES, BoGrapeSampler, SQLiteStorage, suggest_graph, value
optuna.logging.set_verbosity(optuna.logging.WARNING)
path, most, space = sys.argv[1], int(sys.argv[2]), SPACES[sys.argv[5]]
storage = SQLiteStorage(
    path,
    heartbeat_interval=1,
    grace_period={grace},
    heartbeat_stale_trial_callback=optuna.storages.RetryHeartbeatStaleTrialCallback(),
)
sampler = BoGrapeSampler(space, seed=int(sys.argv[3]), **{{**QUICK, "n_initial": 6}})
study = optuna.create_study(
    study_name="s", storage=storage, sampler=sampler, load_if_exists=True
)
def slowly(trial):
    graph = suggest_graph(trial, space)
    time.sleep(float(sys.argv[4]))
    return value(graph)
enough = optuna.study.MaxTrialsCallback(most, states=(optuna.trial.TrialState.COMPLETE,))
study.optimize(slowly, callbacks=[enough])
"""


def start(
    path: Path, most: int, seed: int = 0, pause: float = 0.0, space: str = "small"
) -> subprocess.Popen[bytes]:
    code = WORKER.format(folder=str(Path(__file__).parent), grace=GRACE_SECONDS)
    command = [sys.executable, "-W", "ignore", "-c", code, str(path), str(most), str(seed)]
    return subprocess.Popen([*command, str(pause), space])


def check_parallel_study(study: optuna.Study, most: int, space: GraphSpace) -> None:
    complete = study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
    assert len(complete) >= most
    graphs = [graph_of(trial) for trial in complete]
    assert all(space.contains(graph) for graph in graphs)
    assert graphs == [graph_of(trial, space) for trial in complete]
    assert [trial.value for trial in complete] == [value(graph) for graph in graphs]
    assert len(set(keys(study, space))) == len(complete)


def test_two_processes_share_a_database_and_no_graph_is_suggested_twice(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = optuna.create_study(study_name="s", storage=SQLiteStorage(path))
    workers = [start(path, 10) for _ in range(2)]  # with one seed
    assert [worker.wait(100) for worker in workers] == [0, 0]
    check_parallel_study(study, 10, SMALL)


def test_a_waiting_trial_in_a_sqlite_file_is_taken_once(tmp_path: Path) -> None:
    """Optuna's own storage reads that a trial waits, and then takes it, without holding a lock."""
    path, n = tmp_path / "study.db", 20
    first = optuna.create_study(study_name="s", storage=SQLiteStorage(path))
    for k in range(n):
        first.enqueue_trial({"x": k})
    barrier, taken = threading.Barrier(4), list[int]()

    def take() -> None:
        storage = pickle.loads(pickle.dumps(SQLiteStorage(path)))  # a copy, as in another process
        study = optuna.load_study(study_name="s", storage=storage)
        for _ in range(n // 4):
            barrier.wait(60)
            taken.append(study.ask().number)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(n))
    with pytest.raises(InvalidInputError, match="path of a SQLite file"):
        SQLiteStorage("postgresql://here/study")
    with pytest.raises(InvalidInputError, match="there is no folder"):
        SQLiteStorage(tmp_path / "not there" / "study.db")


@pytest.mark.deep
def test_two_hundred_trials_in_four_processes_that_are_killed_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    study = optuna.create_study(study_name="s", storage=SQLiteStorage(path))
    workers = [start(path, 200, seed, 0.2, "usual") for seed in (0, 0, 1, 2)]
    try:
        kill_and_resume(workers, study, path)
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    time.sleep(GRACE_SECONDS + 2)  # by now every process that was killed counts as dead
    assert start(path, 210, 7, 0.0, "usual").wait(600) == 0
    check_parallel_study(study, 210, SPACE)
    for trial in study.get_trials(states=[optuna.trial.TrialState.RUNNING]):
        assert not trial.params  # killed before the first heartbeat, which came before the graph
        assert "bogrape" not in trial.system_attrs
    failed = study.get_trials(states=[optuna.trial.TrialState.FAIL])
    assert failed  # of the processes that were killed; their graphs were tried again
    tried = {number for t in study.trials for number in t.system_attrs.get("retry_history", [])}
    assert {trial.number for trial in failed} <= tried


def kill_and_resume(
    workers: list[subprocess.Popen[bytes]], study: optuna.Study, path: Path
) -> None:
    """Kill workers and start others in their place; wait for these to finish."""
    n_killed = 0
    while n_killed < 6:  # all four of them, then two of their replacements
        before = len(study.get_trials(deepcopy=False))
        while len(study.get_trials(deepcopy=False)) < before + 12:
            assert all(worker.poll() is None for worker in workers)
            time.sleep(0.5)
        victim = workers.pop(0)
        os.kill(victim.pid, signal.SIGKILL)
        assert victim.wait() == -signal.SIGKILL
        n_killed += 1
        workers.append(start(path, 200, n_killed, 0.2, "usual"))
    assert [worker.wait(3000) for worker in workers] == [0, 0, 0, 0]


# -- with other parameters, pruners and samplers --------------------------------------------------


def test_other_parameters_are_left_to_another_sampler_with_one_warning_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sampler = BoGrapeSampler(
        SPACE, independent_sampler=optuna.samplers.RandomSampler(seed=1), **QUICK
    )
    study = optuna.create_study(sampler=sampler)

    def mixed(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("rate", 0.1, 1.0)
        return rate * value(suggest_graph(trial, SPACE)) + trial.suggest_int("depth", 1, 3)

    study.optimize(mixed, n_trials=8)
    assert len(set(keys(study))) == 8
    assert len({trial.params["rate"] for trial in study.trials}) == 8
    said = [record.getMessage() for record in caplog.records]
    assert (
        said.count(
            "parameter 'rate' is left to RandomSampler; the model of the graphs does not see it"
        )
        == 1
    )
    assert sum("'depth'" in words for words in said) == 1


def test_graphs_of_pruned_and_failed_trials_are_not_chosen_again_nor_learnt_from() -> None:
    sampler = BoGrapeSampler(SPACE, **QUICK)
    study = optuna.create_study(
        sampler=sampler, pruner=optuna.pruners.ThresholdPruner(upper=2.5, n_warmup_steps=1)
    )

    def staged(trial: optuna.Trial) -> float:
        graph = suggest_graph(trial, SPACE)
        if trial.number % 5 == 3:
            raise RuntimeError("no licence")
        for step in range(3):
            trial.report(value(graph), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value(graph)

    study.optimize(staged, n_trials=15, catch=RuntimeError)
    states = [trial.state.name for trial in study.trials]
    assert {"PRUNED", "FAIL", "COMPLETE"} <= set(states)
    graphs = [graph_of(trial) for trial in study.trials]
    assert len(set(map(SPACE.identity, graphs))) == 15
    _, history = sampler._state(study)
    learnt = [trial for trial in history.others(study, -1) if trial.state == "complete"]
    assert [trial.id for trial in learnt] == [
        t.number for t in study.trials if t.state.name == "COMPLETE"
    ]


def test_an_enqueued_graph_is_evaluated_and_not_chosen_again() -> None:
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    mine = SPACE.sample(1, seed=8)[0]
    study.enqueue_trial(parameters_of(mine, SPACE))
    known = SPACE.sample(2, seed=9)[1]
    study.add_trial(
        optuna.create_trial(
            params=parameters_of(known, SPACE),
            distributions=study.sampler.infer_relative_search_space(study, None),  # type: ignore[arg-type]
            value=value(known),
        )
    )
    study.optimize(objective, n_trials=9)
    assert graph_of(study.trials[0]) == mine
    assert graph_of(study.trials[1], SPACE) == known
    found = [SPACE.identity(graph_of(trial, SPACE)) for trial in study.trials]
    assert len(set(found)) == 10


def test_an_incomplete_graph_is_refused() -> None:
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    study.enqueue_trial({"node 0": "O"})
    with pytest.raises(InvalidInputError, match="fix all of them"):
        study.optimize(objective, n_trials=1)


def test_if_another_sampler_breaks_rules_the_error_says_what_to_use() -> None:
    space = GraphSpace(4, rules=[NumberOfEdges(3, 3)])
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(
        lambda t: float(suggest_graph(t, space).n_edges), n_trials=20, catch=NotInSpaceError
    )
    states = [trial.state.name for trial in study.trials]
    assert {"FAIL", "COMPLETE"} == set(states)
    with pytest.raises(NotInSpaceError, match=r"sampler=BoGrapeSampler\(space\)"):
        suggest_graph(
            optuna.trial.FixedTrial(
                {f"edge {u}-{v}": 0 for u in range(4) for v in range(u + 1, 4)}
            ),
            space,
        )


def test_a_fixed_trial_gives_its_graph() -> None:
    graph = SPACE.sample(1, seed=3)[0]
    trial = optuna.trial.FixedTrial(parameters_of(graph, SPACE))
    assert suggest_graph(trial, SPACE) == graph
    assert graph_of(trial) == graph


def test_mistakes_are_explained() -> None:
    with pytest.raises(InvalidInputError, match="direction belongs to the Optuna study"):
        BoGrapeSampler(SPACE, direction="maximize")
    with pytest.raises(InvalidInputError, match="unknown setting 'kernal'"):
        BoGrapeSampler(SPACE, kernal="ssp")
    sampler = BoGrapeSampler(SPACE, **QUICK)
    with pytest.raises(UnsupportedError, match="one objective, got 2"):
        optuna.create_study(directions=["minimize"] * 2, sampler=sampler).optimize(
            lambda t: (objective(t), 0.0), n_trials=1
        )
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(InvalidInputError, match="expected the space of the sampler"):
        study.optimize(lambda t: float(suggest_graph(t, GraphSpace(3)).n_edges), n_trials=1)
    with pytest.raises(InvalidInputError, match="expected the prefix ''"):
        study.optimize(lambda t: float(suggest_graph(t, SPACE, "x").n_edges), n_trials=1)
    with pytest.raises(InvalidInputError, match="has no graph"):
        graph_of(optuna.create_study().ask())


def test_infinite_values_are_not_learnt_from() -> None:
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    study.optimize(
        lambda t: float("inf") if suggest_graph(t, SPACE).n_edges > 6 else 1.0 * t.number,
        n_trials=8,
    )
    assert len(set(keys(study))) == 8


def test_a_sampler_can_be_pickled_in_the_middle_of_a_study() -> None:
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    study.optimize(objective, n_trials=6)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(objective, n_trials=1)
    whole = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    whole.optimize(objective, n_trials=7)
    assert graph_of(study.trials[-1]) == graph_of(whole.trials[-1])


def test_an_ordinary_run_logs_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    study = optuna.create_study(sampler=BoGrapeSampler(SPACE, **QUICK))
    with caplog.at_level(logging.WARNING):
        study.optimize(objective, n_trials=6)
    assert not caplog.records


@pytest.mark.deep
def test_the_dashboard_shows_a_parameter_for_each_node_and_each_pair() -> None:
    """Looks at the data sent to the browser; needs ``pip install optuna-dashboard``."""
    dashboard = pytest.importorskip("optuna_dashboard", reason="pip install optuna-dashboard")
    storage = optuna.storages.InMemoryStorage()
    study = optuna.create_study(storage=storage, sampler=BoGrapeSampler(SPACE, **QUICK))
    study.optimize(objective, n_trials=6)
    told: list[str] = []
    environ: dict[str, object] = {}
    setup_testing_defaults(environ)
    environ["PATH_INFO"] = f"/api/studies/{study._study_id}"
    body = dashboard.wsgi(storage)(environ, lambda status, *_: told.append(status))
    shown = json.loads(b"".join(body))
    assert told[0].startswith("200")
    params = {p["name"]: p for p in shown["trials"][0]["params"]}
    assert params.keys() == parameters_of(graph_of(study.trials[0]), SPACE).keys()
    kinds = {name: p["distribution"] for name, p in params.items()}
    choices = [choice["value"] for choice in kinds["node 0"]["choices"]]
    assert (kinds["node 0"]["type"], choices) == ("CategoricalDistribution", ["C", "O"])
    assert kinds["edge 0-1"]["type"] == "CategoricalDistribution"
    assert len(kinds["edge 0-1"]["choices"]) == 2
    attributes = {a["key"]: a["value"] for a in shown["trials"][5]["user_attrs"]}
    assert json.loads(attributes["proposal"])["status"] == "heuristic"
