"""The experiments and the command that runs them."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.stats import norm

from benchmarks.command import main, missing_extra
from benchmarks.experiments import (
    Plan,
    experiment_names,
    get_experiment,
    register,
)
from benchmarks.experiments.kernels import KERNELS, PAPER_MNLL, PAPER_RMSE, scores
from benchmarks.experiments.limits import gaps
from benchmarks.optimisers import optimiser_names
from benchmarks.parallel import Failure, do_all
from benchmarks.records import appending, read
from benchmarks.replication import replicate
from benchmarks.statistics import group
from benchmarks.surrogates import surrogate_names
from bogrape.errors import InvalidInputError
from bogrape.problems import problem_names
from places import ROOT

CURVES = ("synthetic", "molecules", "exploration", "samples", "proof", "limits", "optimum")


def bench(*arguments: Any) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def quick_run(out: Path, *more: Any) -> Result:
    return bench(
        *("run", "synthetic", "--problems", "gcn-10", "--optimisers", "random,ssp-search"),
        *("--replications", 2, "--initial", 3, "--iterations", 1, "--time-limit", 0.2),
        *("--out", out, *more),
    )


# -- plans ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CURVES)
def test_problems_and_optimisers_of_every_plan_exist(name: str) -> None:
    experiment = get_experiment(name)
    for plan in (experiment.plan, experiment.short, experiment.quick):
        assert set(plan.problems) <= set(problem_names())
        assert {method.split(":")[0] for method in plan.methods} <= set(optimiser_names())


@pytest.mark.parametrize("name", CURVES)
def test_the_papers_protocol_is_the_default(name: str) -> None:
    plan = get_experiment(name).plan
    assert (plan.n_initial, plan.n_iterations, plan.replications) == (10, 50, 10)
    assert plan.time_limit == (10.0 if name == "optimum" else 600.0)  # which is not the paper's
    assert plan.search == "exact"


def test_kernel_tables_have_all_kernels_of_the_paper_and_all_surrogates() -> None:
    plan = get_experiment("kernels").plan
    assert (plan.n_initial, plan.n_iterations, plan.replications) == (20, 100, 100)
    assert set(plan.methods) == set(surrogate_names())
    assert set(PAPER_MNLL) < set(PAPER_RMSE) < set(KERNELS)


def test_tasks_go_replication_by_replication() -> None:
    experiment = get_experiment("synthetic")
    tasks = experiment.tasks(replace(experiment.plan, replications=2))
    assert [task.seed for task in tasks] == sorted(task.seed for task in tasks)
    assert len({task.key for task in tasks}) == len(tasks) == 2 * 6 * 10


def test_settings_in_the_name_of_a_method_reach_the_optimiser() -> None:
    def settings(experiment: str, method: str) -> dict[str, Any]:
        found = get_experiment(experiment)
        return found.settings(found.plan, method)

    assert settings("limits", "ssp:60")["time_limit"] == 60.0
    assert settings("exploration", "ssp:1.96")["kappa"] == 1.96
    assert settings("exploration", "ssp:growing")["kappa"] == "growing"
    assert settings("samples", "wl-rand:100")["n_candidates"] == 100
    assert "time_limit" not in settings("synthetic", "wl-rand")
    assert settings("synthetic", "esp:growing")["kappa"] == "growing"
    assert "kappa" not in settings("synthetic", "esp")
    assert settings("optimum", "rbf:weak")["n_evaluations"] == 2_500
    assert settings("optimum", "rbf-lcb:exact")["time_limit"] == 10.0
    with pytest.raises(InvalidInputError, match="seconds"):
        settings("limits", "ssp")
    with pytest.raises(InvalidInputError, match="weak, local, thorough, exact"):
        settings("optimum", "rbf:strong")


def test_a_budget_of_evaluations_replaces_the_time_limit_of_bogrape_alone() -> None:
    found = get_experiment("synthetic")
    plan = replace(found.plan, search="weak")
    assert found.settings(plan, "rbf") == {
        "n_initial": 10,
        "n_iterations": 50,
        "n_evaluations": 2_500,
    }
    assert "n_evaluations" not in found.settings(plan, "wl-evol")
    with pytest.raises(InvalidInputError, match="search"):
        replace(found.plan, search="strong")


def test_unknown_and_duplicate_names_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="synthetic"):
        get_experiment("synthetik")
    with pytest.raises(InvalidInputError, match="already exists"):
        register(get_experiment("synthetic"))
    with pytest.raises(InvalidInputError, match="replications"):
        Plan(problems=("gcn-10",), methods=("random",), replications=0)


# -- replications -----------------------------------------------------------------------------


def test_all_optimisers_of_a_replication_start_from_the_same_design() -> None:
    budget = {"n_initial": 4, "n_iterations": 1}
    a, b = (replicate("gcn-10", name, 3, **budget) for name in ("random", "wl-rand"))
    other = replicate("gcn-10", "random", 4, **budget)
    assert a["values"][:4] == b["values"][:4]
    assert a["values"][:4] != other["values"][:4]
    assert [len(a[name]) for name in ("values", "n_edges", "seconds")] == [5, 5, 1]
    assert "status" not in a
    assert b["status"] == ["heuristic"]
    assert replicate("gcn-10", "wl-rand", 3, **budget)["values"] == b["values"]


def test_the_growing_schedule_counts_proposals_not_observations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import benchmarks.replication as module

    seen: dict[str, Any] = {}

    def fake(name: str, space: Any, *, kappa: Any, **others: Any) -> Any:
        seen["kappa"] = kappa
        raise LookupError(name, space, others)

    monkeypatch.setattr(module, "get_optimiser", fake)
    with pytest.raises(LookupError):
        replicate("gcn-10", "ssp", 0, n_initial=3, n_iterations=1, kappa="growing")
    assert seen["kappa"](3) == pytest.approx(3 * np.sqrt(0.5 * np.log(2)))
    assert seen["kappa"](12) == pytest.approx(3 * np.sqrt(0.5 * np.log(20)))


def test_processes_give_the_same_results_and_a_failure_does_not_stop_the_others() -> None:
    experiment = get_experiment("synthetic")
    plan = Plan(
        problems=("gcn-10",),
        methods=("random", "no-such-optimiser", "wl-rand"),
        replications=1,
        n_initial=3,
        n_iterations=1,
    )
    results = list(do_all(experiment.tasks(plan), jobs=2))
    failed = [result for result in results if isinstance(result, Failure)]
    assert [failure.task.method for failure in failed] == ["no-such-optimiser"]
    assert "choose one of" in failed[0].reason
    done = {r["method"]: r for r in results if not isinstance(r, Failure)}
    here = replicate("gcn-10", "wl-rand", 0, n_initial=3, n_iterations=1)
    assert done["wl-rand"]["values"] == here["values"]
    assert done["random"]["versions"]["numpy"] == np.__version__


def test_replications_run_on_a_dask_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    experiment = get_experiment("synthetic")
    tasks = experiment.tasks(
        Plan(
            problems=("gcn-10",),
            methods=("random", "no-such-optimiser"),
            replications=1,
            n_initial=3,
            n_iterations=1,
        )
    )
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.removeprefix("tcp://")
        results = list(do_all(tasks, dask=address))
    assert sum(isinstance(result, Failure) for result in results) == 1
    (record,) = (result for result in results if not isinstance(result, Failure))
    here = replicate("gcn-10", "random", 0, n_initial=3, n_iterations=1)
    assert record["values"] == here["values"]


# -- numbers ----------------------------------------------------------------------------------


def test_scores_of_predictions_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    y, mean, std = rng.normal(size=50), rng.normal(size=50), rng.uniform(0.1, 2.0, 50)
    found = scores(y, mean, std)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert found["mnll"] == pytest.approx(-norm(mean, std).logpdf(y).mean())


GAP_RECORD = {
    **{"problem": "p", "method": "ssp:1", "seed": 0, "n_initial": 2},
    **{"values": [1.0, 5.0, 3.0, 3.0, 0.3], "seconds": [1.0, 1.0, 1.0]},
    **{"acquisition": [-2.0, 4.0, 1.0], "bound": [-3.0, 3.9, None]},
    "status": ["time_limit", "optimal", "time_limit"],
}


def test_gaps_of_older_records_are_in_standard_deviations_of_the_values_so_far() -> None:
    assert gaps(group([GAP_RECORD])["p", "ssp:1"]).tolist() == [0.5, 0.0, np.inf]


def test_recorded_gaps_are_used_unchanged_and_are_infinite_without_a_bound() -> None:
    record = {**GAP_RECORD, "standard_gap": [0.25, 0.0, None]}
    assert gaps(group([record])["p", "ssp:1"]).tolist() == [0.25, 0.0, np.inf]


def test_the_recorded_gap_is_the_one_computed_from_the_other_columns(tmp_path: Path) -> None:
    budget = {"n_initial": 5, "n_iterations": 3, "time_limit": 0.3}
    found = replicate("gcn-20", "ssp", 0, **budget)
    record = {"problem": "gcn-20", "method": "ssp", "seed": 0, **budget, **found}
    with appending(tmp_path / "results.jsonl") as file:
        file.append(record)
    (record,) = read(tmp_path / "results.jsonl")
    older = {name: column for name, column in record.items() if name != "standard_gap"}
    recorded, computed = (gaps(group([r])["gcn-20", "ssp"]) for r in (record, older))
    assert recorded.max() > 0  # too little time to prove anything
    np.testing.assert_allclose(recorded, computed, atol=1e-5)  # records have eight digits


def test_scaling_shows_gaps_in_standard_deviations_only() -> None:
    experiment = get_experiment("scaling")
    (task,) = experiment.tasks(
        Plan(problems=("20-10",), methods=("ssp",), replications=1, time_limit=0.3)
    )
    record = {**task.record, **experiment.run(task)}
    assert record["standard_gap"] > 0
    assert f"0/1, {record['standard_gap']:.3g} sd |" in experiment.tables([record], [])
    older = {name: value for name, value in record.items() if name != "standard_gap"}
    assert "0/1 |" in experiment.tables([{**older, "gap": 0.5}], [])


# -- the command ------------------------------------------------------------------------------


def test_the_command_runs_in_a_checkout() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Usage: python -m benchmarks [OPTIONS] COMMAND")


def test_list_names_every_experiment() -> None:
    text = bench("list").output
    assert all(f"{name}:" in text for name in experiment_names())


def test_a_run_writes_every_replication_once_and_resumes(tmp_path: Path) -> None:
    assert quick_run(tmp_path).exit_code == 0
    path = tmp_path / "synthetic.jsonl"
    keys = [(r["method"], r["seed"]) for r in read(path)]
    assert sorted(keys) == sorted(itertools.product(("random", "ssp-search"), (0, 1)))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], lines[3][:40]]))  # stopped while the last was written
    again = quick_run(tmp_path)
    assert "3 of 4 are done" in again.output
    assert len(read(path)) == 4
    assert "4 of 4 are done" in quick_run(tmp_path).output

    other = quick_run(tmp_path, "--time-limit", 0.3)
    assert other.exit_code == 2
    assert "time_limit" in other.output

    shown = bench("show", "synthetic", "--out", tmp_path, "--figure", tmp_path / "figure.png")
    assert shown.exit_code == 0, shown.output
    assert "ssp-search" in shown.output
    assert (tmp_path / "figure.png").stat().st_size > 5_000


def test_failed_replications_are_named_and_the_command_fails(tmp_path: Path) -> None:
    result = bench(
        *("run", "synthetic", "--optimisers", "random,nonsense", "--problems", "gcn-10"),
        *("--replications", 1, "--initial", 3, "--iterations", 1, "--out", tmp_path, "--jobs", 1),
    )
    assert result.exit_code == 1
    assert "nonsense seed 0: failed: InvalidInputError: unknown optimiser" in result.output
    assert "1 replications failed" in result.output
    assert [record["method"] for record in read(tmp_path / "synthetic.jsonl")] == ["random"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--optimisers", "unknown optimiser 'no'"),
        ("--problems", "unknown problem 'no'"),
    ],
)
def test_an_unknown_name_is_refused_once(option: str, message: str, tmp_path: Path) -> None:
    result = bench("run", "synthetic", option, "no", "--out", tmp_path)
    assert result.exit_code == 2
    assert result.output.count(message) == 1
    assert "choose one of" in result.output


def test_if_results_are_missing_the_error_names_the_command_that_makes_them(tmp_path: Path) -> None:
    result = bench("show", "kernels", "--out", tmp_path)
    assert result.exit_code == 2
    assert "python -m benchmarks run kernels" in result.output


def test_an_experiment_on_a_data_set_says_how_to_provide_it(tmp_path: Path) -> None:
    result = bench("run", "predictions", "--methods", "ssp", "--out", tmp_path, "--jobs", 1)
    assert result.exit_code == 2
    assert "--data" in result.output


@pytest.mark.deep
@pytest.mark.timeout(400)  # its help promises three minutes, on a machine that is not busy
def test_quick_runs_all_experiments_and_fills_a_document(tmp_path: Path) -> None:
    result = bench("quick", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "all experiments work here" in result.output
    names = [path.stem for path in sorted(tmp_path.glob("*.jsonl"))]
    possible = [n for n in experiment_names() if missing_extra(get_experiment(n).quick) is None]
    assert names == possible
    drawn = {path.stem for path in tmp_path.glob("*.png")}
    assert drawn == {name for name in names if get_experiment(name).figure is not None}
    for path in tmp_path.glob("*.jsonl"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            assert record["experiment"] == path.stem
            assert {"problem", "method", "seed", "versions", "commit", "machine"} <= set(record)

    document = tmp_path / "page.md"
    document.write_text("before\n<!-- bench synthetic -->\n<!-- end -->\nafter\n")
    result = bench("fill", document, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    text = document.read_text()
    assert "![" in text
    assert "(synthetic.png)" in text
    assert text.startswith("before\n")
    assert "| ssp |" in text
    assert text.endswith("\nafter\n")
