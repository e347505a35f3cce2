"""The command line and study files with several properties."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bogrape import Study
from bogrape.cli.config import read_study_file
from bogrape.cli.main import main
from bogrape.errors import InvalidInputError
from bogrape.properties import Goals, Linear

FILE = """
[properties]
edges = "maximize"
path = "minimize"

[space]
n_nodes = 6
labels = 2

[search]
n_initial = 3
n_iterations = 1
method = "search"
n_evaluations = 300
reference = {edges = 0, path = 10}

[objective]
function = "own_objective:measure"
[evaluation]
executor = "inline"
"""
OBJECTIVE = """
def measure(graph):
    return {"edges": graph.n_edges, "path": float(graph.distances().sum()) / 10}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "own_objective.py").write_text(OBJECTIVE, encoding="utf-8")
    path = tmp_path / "study.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def bogrape(*arguments: Any) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def done(*arguments: Any) -> Any:
    """The last line that a command printed, read as JSON."""
    result = bogrape(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])


def refused(*arguments: Any) -> str:
    result = bogrape(*arguments)
    assert result.exit_code == 2, result.output
    return result.output


def test_running_a_study_file_gives_a_pareto_front(file: Path) -> None:
    status = done("run", file, "--quiet")
    assert status["combine"] == "pareto"
    study = Study.load(read_study_file(file).storage)
    assert [t["id"] for t in status["pareto_front"]] == [t.id for t in study.pareto_front]
    assert status["hypervolume"] == pytest.approx(study.hypervolume())
    assert status["best"] is None
    shown = bogrape("status", file).output
    assert "The Pareto front of edges (maximize) and path (minimize)" in shown
    assert shown.count("on the front: trial") == len(study.pareto_front)
    assert "model of edges:" in shown


def test_values_are_told_and_corrected_by_name(file: Path) -> None:
    asked = done("ask", file)
    told = done("tell", file, asked["id"], "edges=7", "--noise", "edges=0.25")
    assert (told["state"], told["values"], told["noises"]) == (
        "complete",
        {"edges": 7.0},
        {"edges": 0.25},
    )
    rest = done("tell", file, 0, "path=-4.5")
    assert rest["values"] == {"edges": 7.0, "path": -4.5}
    fixed = done("correct", file, 0, "path=4.5", "--reason", "a sign")
    assert fixed["values"] == {"edges": 7.0, "path": 4.5}
    assert "edges 7 (noise 0.25)  path 4.5" in bogrape("tell", file, 0, "edges=7").output
    less = done("correct", file, 0, "edges=none")
    assert less["values"] == {"path": 4.5}
    gone = done("correct", file, 0, "none")
    assert gone["state"] == "failed"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["7"], "VALUE must be NAME=NUMBER"),
        (["edges=x"], "VALUE edges must be a number or 'none'"),
        (["edges=1", "edges=2"], "VALUE must be NAME=NUMBER"),
        (["size=1"], "unknown property 'size'"),
        (["none"], "try bogrape fail"),
        (["edges=1", "--noise", "0.1"], "--noise must be NAME=NUMBER"),
    ],
)
def test_invalid_values_are_refused(file: Path, values: list[str], words: str) -> None:
    done("ask", file)
    assert words in refused("tell", file, 0, *values)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_exports_can_be_imported(file: Path, kind: str) -> None:
    done("run", file, "--quiet")
    asked = done("ask", file)
    done("tell", file, asked["id"], "path=4.25", "--noise", "path=0.5")
    out = file.parent / f"trials.{kind}"
    assert bogrape("export", file, out).exit_code == 0
    if kind == "csv":
        with out.open(encoding="utf-8", newline="") as table:
            row = list(csv.DictReader(table))[-1]
        assert (row["path"], row["noise_path"], row["edges"], row["value"]) == (
            "4.25",
            "0.5",
            "",
            "",
        )
    other = file.parent / "other.toml"
    other.write_text(f'name = "other"\n{FILE}', encoding="utf-8")
    preview = bogrape("import", other, out, "--preview").output
    assert "5 of 5 rows can be imported" in preview
    assert "path 4.25" in preview
    added = done("import", other, out)
    assert [trial["values"] for trial in added] == [
        trial["values"] for trial in map(json.loads, _export(file))
    ]
    assert added[-1]["noises"] == {"path": 0.5}


def _export(file: Path) -> list[str]:
    result = bogrape("export", file)
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_rows_without_any_property_are_named_with_their_line(file: Path) -> None:
    graph = json.dumps(done("ask", file)["graph"])
    table = file.parent / "known.csv"
    with table.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["graph", "edges", "path"])
        writer.writerow([graph, "7", ""])
        writer.writerow([graph, "", ""])
        writer.writerow([graph, "many", "3"])
    words = refused("import", file, table)
    assert "2 of 3 rows" in words
    assert "line 3: expected graph and a value of at least one of edges, path" in words
    assert "line 4: expected a number as edges, got 'many'" in words
    assert [t["values"] for t in done("import", file, table, "--skip-bad-rows")] == [{"edges": 7.0}]


def test_a_program_prints_its_properties_as_json(file: Path) -> None:
    script = file.parent / "measure.py"
    script.write_text(
        "import json, sys\n"
        "graph = json.load(sys.stdin)\n"
        "print('done')\n"
        "print(json.dumps({'edges': [len(graph['edges']), 0.25], 'path': 2.5}))\n",
        encoding="utf-8",
    )
    text = FILE.replace('function = "own_objective:measure"', f'command = "python3 {script}"')
    file.write_text(text.replace("n_iterations = 1", "n_iterations = 0"), encoding="utf-8")
    done("run", file, "--quiet")
    study = Study.load(read_study_file(file).storage)
    assert [trial.values for trial in study.trials] == [
        {"edges": float(trial.graph.n_edges), "path": 2.5} for trial in study.trials
    ]
    assert {tuple(trial.noises.items()) for trial in study.trials} == {(("edges", 0.25),)}


@pytest.mark.parametrize("line", ["{", "[]", '{"edges": [1, 2, 3], "path": 1}', '{"edges": "x"}'])
def test_a_program_that_prints_something_else_has_failed(file: Path, line: str) -> None:
    script = file.parent / "measure.py"
    script.write_text(f"print({line!r})\n", encoding="utf-8")
    text = FILE.replace('function = "own_objective:measure"', f'command = "python3 {script}"')
    file.write_text(text, encoding="utf-8")
    result = bogrape("run", file, "--quiet", "--evaluations", 1)
    assert result.exit_code == 0, result.output
    (trial,) = Study.load(read_study_file(file).storage).trials
    assert trial.state == "failed"


def test_desirabilities_are_tables_of_the_study_file(file: Path) -> None:
    text = FILE.replace(
        'edges = "maximize"', 'edges = {goal = "linear", worst = 5, best = 12, weight = 2}'
    )
    text = text.replace('path = "minimize"', 'path = {goal = "linear", worst = 6, best = 4}')
    text = text.replace("reference = {edges = 0, path = 10}", 'combine = "mean"')
    file.write_text(text, encoding="utf-8")
    assert read_study_file(file).settings.goals == Goals(
        {"edges": Linear(5, 12, 2), "path": Linear(6, 4)}, "mean"
    )
    assert read_study_file(file, ["combine=geometric"]).settings.combine == "geometric"
    status = done("run", file, "--quiet")
    study = Study.load(read_study_file(file).storage)
    assert status["best"]["id"] == study.best.id
    assert status["best"]["value"] == pytest.approx(study.best.value)
    before = [trial.value for trial in study.trials]
    file.write_text(text.replace("weight = 2", "weight = 20"), encoding="utf-8")
    assert bogrape("change", file).output.startswith("from trial 4 on: properties changed")
    assert [trial.value for trial in Study.load(read_study_file(file).storage).trials] != before


def test_a_direction_together_with_properties_is_refused(file: Path) -> None:
    file.write_text('direction = "minimize"\n' + FILE, encoding="utf-8")
    with pytest.raises(InvalidInputError, match="got both"):
        read_study_file(file)
