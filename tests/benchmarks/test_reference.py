"""Best known values: the search checked by enumeration, its budget, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.reference import best_known, long_search, main, random_mean
from bogrape import Graph, GraphSpace
from bogrape.errors import InvalidInputError, NotInSpaceError
from bogrape.problems import Problem, get_problem


def test_a_problem_with_a_known_optimum_is_enumerated() -> None:
    problem = get_problem("small-gcn-5", seed=1)
    found = best_known(problem)
    assert (found.how, found.n_evaluations) == ("enumeration", 354)
    assert found.value == pytest.approx(problem.optimum)
    assert problem.objective(found.graph) == found.value


@pytest.mark.parametrize("name", ["small-gat-5", "small-sage-5"])
def test_the_search_finds_the_optimum_that_enumeration_finds(name: str) -> None:
    for seed in range(3):
        problem = get_problem(name, seed)
        found = best_known(replace(problem, optimum=None), n_evaluations=5000)
        assert found.how == "long search"
        assert found.value == pytest.approx(problem.optimum, rel=1e-9)


def test_the_search_stays_in_the_space_and_covers_every_size() -> None:
    # few edges and many nodes: the optimum is a tree of the largest size with all labels 1
    space = GraphSpace((4, 6), labels=2)
    problem = Problem(name="edges", space=space, objective=few_edges_many_ones, seed=0)
    found = long_search(problem, 6000)
    assert space.contains(found.graph)
    assert (found.graph.n_nodes, found.graph.n_edges) == (6, 5)
    assert found.graph.labels.tolist() == [1] * 6
    assert found.value == 5 - 12


def few_edges_many_ones(graph: Graph) -> float:
    return float(graph.n_edges - 2 * graph.labels.sum())


def test_the_search_beats_random_graphs_reproducibly_and_within_its_budget() -> None:
    problem = get_problem("network-10")
    found = long_search(problem, 4000, seed=1)
    again = long_search(problem, 4000, seed=1)
    assert (found.value, found.graph) == (again.value, again.graph)
    # the last descent may exceed the budget by one neighbourhood (about 800 moves)
    assert 2000 < found.n_evaluations < 5000
    assert problem.space.contains(found.graph)
    assert problem.objective(found.graph) == found.value
    values = [problem.objective(graph) for graph in problem.space.sample(1000, seed=5)]
    assert found.value < min(values)
    assert random_mean(problem, 1000, seed=5) == pytest.approx(float(np.mean(values)))


def test_a_search_that_starts_from_a_good_graph_does_not_end_above_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = get_problem("gcn-10", 1)
    good = long_search(problem, 5000)
    poor = long_search(problem, 50, seed=1)
    assert good.value < poor.value
    assert long_search(problem, 50, seed=1, starts=[good.graph]).value <= good.value
    with pytest.raises(NotInSpaceError):
        long_search(problem, 50, starts=[Graph(np.zeros((10, 10)))])

    arguments = ["gcn-10", "--seeds", "1", "--evaluations", "200", "--random", "5"]
    main(arguments)
    (tmp_path / "known.jsonl").write_text(capsys.readouterr().out)
    main([*arguments, "--known", str(tmp_path / "known.jsonl")])
    first = json.loads((tmp_path / "known.jsonl").read_text())
    second = json.loads(capsys.readouterr().out)
    assert second["best"] <= first["best"]
    assert (first["n_searches"], second["n_searches"]) == (1, 2)
    assert second["n_evaluations"] > first["n_evaluations"]


def test_a_budget_of_zero_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="n_evaluations"):
        long_search(get_problem("gcn-10"), 0)


def test_the_command_prints_a_json_line_for_each_problem_and_seed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["gcn-10", "small-gcn-5", "--seeds", "3..4", "--evaluations", "500", "--random", "20"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["problem"], line["seed"]) for line in lines] == [
        (name, seed) for name in ("gcn-10", "small-gcn-5") for seed in (3, 4)
    ]
    for line in lines:
        problem = get_problem(line["problem"], line["seed"])
        graph = Graph.from_json(json.dumps(line["graph"]))
        assert problem.objective(graph) == pytest.approx(line["best"])
        assert line["best"] < line["random_mean"]
    with pytest.raises(SystemExit):
        main(["gcn-10", "--seeds", "a..b"])
