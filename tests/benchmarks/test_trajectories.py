"""The trajectories kept in ``benchmarks/data``: properties that benchmarks rely on."""

from __future__ import annotations

import numpy as np
import pytest

import benchmarks.trajectories as trajectories
from benchmarks.experiments import get_experiment
from benchmarks.experiments.trajectory_proofs import METHODS, tables
from benchmarks.records import read
from benchmarks.replication import initial_design
from benchmarks.trajectories import DATA, N_SEEDS, PROBLEMS, instance, instances
from bogrape.errors import InvalidInputError
from bogrape.problems import get_problem


def test_every_problem_has_all_its_seeds() -> None:
    kept = {(record["problem"], record["seed"]) for record in read(DATA)}
    assert kept == {(problem, seed) for problem in PROBLEMS for seed in range(N_SEEDS)}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_observations_are_those_of_the_problem(problem: str) -> None:
    for name, space, graphs, values in instances([problem], [50]):
        seed = int(name.rpartition("/")[2])
        posed = get_problem(problem, seed)
        assert [posed.objective(graph) for graph in graphs] == pytest.approx(values, rel=1e-6)
        assert space.contains_each(graphs).all()
        assert len({space.identity(graph) for graph in graphs}) == len(graphs) == 60
        assert graphs[:10] == initial_design(posed, 10, seed)


def test_proposals_are_far_better_than_random_graphs() -> None:
    for _, _, _, values in instances(n_proposals=[50]):
        assert np.median(values[10:]) < np.median(values[:10])
        assert min(values[10:]) < min(values[:10])


def test_an_instance_is_the_beginning_of_its_trajectory() -> None:
    short, long = instance("gcn-10+5", 1), instance("gcn-10+20", 1)
    assert (short.name, len(short.graphs)) == ("gcn-10+5/1", 15)
    assert long.graphs[:15] == short.graphs
    assert long.values[:15] == short.values


@pytest.mark.parametrize("problem", ["gcn-10", "gcn-10+x", "gcn-10+51", "gcn-99+5"])
def test_instances_that_do_not_exist_are_refused(problem: str) -> None:
    with pytest.raises(InvalidInputError, match="expected"):
        instance(problem, 0)


def test_the_same_budget_makes_the_same_trajectory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectories, "N_PROPOSALS", (2,))
    monkeypatch.setattr(trajectories, "N_EVALUATIONS", 3000)
    first, second = trajectories.make("gcn-10", 0), trajectories.make("gcn-10", 0)
    assert first["graphs"] == second["graphs"]
    assert len(first["values"]) == 12


def test_the_benchmark_solves_every_instance_with_every_kernel_and_acquisition() -> None:
    experiment = get_experiment("trajectory-proofs")
    tasks = experiment.tasks(experiment.plan)
    assert len({task.key for task in tasks}) == len(tasks) == 5 * 3 * N_SEEDS * 10
    with pytest.raises(InvalidInputError, match="rbf-ei"):
        experiment.settings(experiment.plan, "rbf-ucb")


def test_tables_separate_graphs_from_molecules_and_count_proofs() -> None:
    solved = {"status": "optimal", "standard_gap": 0.0, "seconds": 2.0, "time_limit": 60.0}
    left = {"status": "time_limit", "standard_gap": 0.5, "seconds": 60.0, "time_limit": 60.0}
    shown = tables(
        [
            {"problem": "gcn-10+5", "method": METHODS[0], **solved},
            {"problem": "gat-10+20", "method": METHODS[0], **left},
            {"problem": "qm7-10+50", "method": METHODS[0], **left, "standard_gap": None},
        ]
    )
    assert "| ssp | lcb | 1/1 | 0/1 | - | 1/2 | 31.0 | 60.0 | 0.5 | 0.5 |" in shown
    assert "| ssp | lcb | - | - | 0/1 | 0/1 | 60.0 | 60.0 | no bound | no bound |" in shown
