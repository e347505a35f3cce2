"""The command line: study files, every command, exit codes, interruption."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bogrape import Graph, GraphSpace, Study
from bogrape.cli import demo, main
from bogrape.cli.config import read_study_file
from bogrape.cli.objective import load_objective
from bogrape.errors import InvalidInputError
from bogrape.trial import package_version

STUDY = """
name = "test"
storage = "sqlite:///study.db"
[space]
n_nodes = 5
labels = 2
[search]
preset = "paper"
n_initial = 4
n_iterations = 2
method = "sample"
[objective]
{objective}
[evaluation]
{evaluation}
"""
EDGES = "import json, sys; print(len(json.load(sys.stdin)['edges']))"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study file, by default with a program that counts edges as the objective."""

    def make(objective: str | None = None, evaluation: str = "", **replace: str) -> Path:
        command = json.dumps([sys.executable, "-S", str(tmp_path / "objective.py")])
        (tmp_path / "objective.py").write_text(EDGES, encoding="utf-8")
        text = STUDY.format(objective=objective or f"command = {command}", evaluation=evaluation)
        for old, new in replace.items():
            text = text.replace(old, new)
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return make


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + result.stderr
    return result


def rows(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


# -- commands ---------------------------------------------------------------------------------


def test_the_version_is_that_of_the_package() -> None:
    assert package_version() in call("--version").output


def test_help_lists_the_commands_and_the_exit_codes() -> None:
    text = call("--help").output
    for word in ("ask", "tell", "fail", "status", "export", "import", "run", "init", "demo"):
        assert f"\n  {word} " in text
    assert "130  interrupted" in text


def test_init_writes_a_valid_study_file_and_overwrites_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "study.toml"
    call("init", path)
    before = path.read_text(encoding="utf-8")
    file = read_study_file(path)
    assert file.n_trials == 30
    assert file.command == "python3 objective.py"
    assert "already exists" in call("init", path, code=2).stderr
    assert path.read_text(encoding="utf-8") == before
    uncommented = before.replace("# features", "features").replace("# noise", "noise")
    path.write_text(uncommented.replace("# memory_limit", "memory_limit"), encoding="utf-8")
    assert read_study_file(path).memory_limit == 4e9


def test_run_spends_the_budget_and_running_again_does_nothing(
    write: Callable[..., Path],
) -> None:
    path = write()
    text = call("run", path, "--quiet").stdout
    assert "6 of 6 evaluations" in text
    assert "best value 4" in text
    again = json.loads(call("run", path, "--quiet", "--json").stdout)
    assert again["states"] == {"complete": 6}
    assert again["best"]["value"] == 4.0


def test_run_in_parts_equals_run_at_once(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write()
    for _ in range(3):
        call("run", path, "--quiet", "--evaluations", 2)
    parts = Study.load(f"sqlite:///{tmp_path}/study.db", "test").trials
    whole = write(**{"study.db": "other.db"})
    call("run", whole, "--quiet")
    other = Study.load(f"sqlite:///{tmp_path}/other.db", "test").trials
    assert [t.graph for t in parts] == [t.graph for t in other]


def test_run_takes_a_python_function_next_to_the_study_file(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "beside.py").write_text("def edges(g):\n    return g.n_edges\n", encoding="utf-8")
    path = write('function = "beside:edges"', 'executor = "inline"')
    assert json.loads(call("run", path, "--quiet", "--json").stdout)["best"]["value"] == 4.0


def test_objectives_of_a_study_file_can_be_pickled(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    import pickle  # as executors on other machines do

    (tmp_path / "travels.py").write_text("def f(g):\n    return g.n_edges\n", encoding="utf-8")
    graph = GraphSpace(n_nodes=5, labels=2).sample(1)[0]
    objective = load_objective(read_study_file(write("function = 'travels:f'")))
    assert pickle.loads(pickle.dumps(objective))(graph) == graph.n_edges
    (tmp_path / "five.sh").write_text("#!/bin/sh\necho 5\n", encoding="utf-8")
    (tmp_path / "five.sh").chmod(0o755)
    objective = load_objective(read_study_file(write("command = './five.sh'")))
    assert pickle.loads(pickle.dumps(objective))(graph) == 5.0


def test_ask_and_tell_by_hand(write: Callable[..., Path]) -> None:
    path = write()
    (trial,) = rows(call("ask", path, "--worker", "me", "--json"))
    assert (trial["id"], trial["state"], trial["worker"]) == (0, "pending", "me")
    graph = Graph.from_json(json.dumps(trial["graph"]))
    assert GraphSpace(n_nodes=5, labels=2).contains(graph)
    assert rows(call("ask", path, "--worker", "me", "--json"))[0]["id"] == 0
    assert len(rows(call("ask", path, "-n", 2, "--json"))) == 2
    (told,) = rows(call("tell", path, 0, "-2.5", "--json"))
    assert told["value"] == -2.5
    call("tell", path, 0, -2.5)
    assert "already" in call("tell", path, 0, 3, code=2).stderr
    assert "trial 1  failed  (broke)" in call("fail", path, 1, "broke").stdout
    assert rows(call("release", path, 2, "--json"))[0]["state"] == "queued"
    assert "no trial 9" in call("tell", path, 9, 1.0, code=2).stderr
    for value in ("nan", "inf", "much"):
        call("tell", path, 2, value, code=2)
    status = json.loads(call("status", path, "--json").stdout)
    assert status["states"] == {"complete": 1, "failed": 1, "queued": 1}
    assert status["failures"] == {"broke": 1}
    text = call("status", path).stdout
    assert "best value -2.5 (trial 0)" in text
    assert "failed 1 times: broke" in text


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_export_and_import_carry_observations_to_another_study(
    kind: str, write: Callable[..., Path], tmp_path: Path
) -> None:
    path = write()
    call("run", path, "--quiet")
    call("ask", path)
    table = tmp_path / f"trials.{kind}"
    assert "wrote 7 trials" in call("export", path, table).stdout
    text = table.read_text(encoding="utf-8")
    if kind == "csv":
        assert len(list(csv.DictReader(text.splitlines()))) == 7
    else:
        assert [json.loads(line)["id"] for line in text.splitlines()] == list(range(7))
        assert call("export", path).stdout == text
    other = write(**{"study.db": "other.db"})
    assert "added 6 observations" in call("import", other, table).stdout
    one = Study.load(f"sqlite:///{tmp_path}/study.db", "test").dataset
    two = Study.load(f"sqlite:///{tmp_path}/other.db", "test").dataset
    assert one.graphs == two.graphs
    assert one.values.tolist() == two.values.tolist()


GOOD = '{"graph": {"n_nodes": 5, "edges": [[0,1],[1,2],[2,3],[3,4]]}, "value": 1.5}\n'


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("[" * 100_000 + "]" * 100_000, "not JSON"),
        ('{"graph": "' + "x" * 4_000_000 + '"}', "more than 4000000 characters"),
        ("{broken", "not JSON"),
        ("[1, 2]", "expected a JSON object"),
        ('{"value": 1}', "expected graph and value"),
        ('{"graph": {"n_nodes": 5, "edges": []}, "value": NaN}', "breaks|finite"),
        ('{"graph": "../../etc/passwd", "value": 1}', "graph as JSON"),
        ('{"graph": {"__reduce__": "os.system"}, "value": 1}', "expected keys"),
        (
            '{"graph": {"n_nodes": 5, "edges": [[0,1]]}, "value": "cheap"}',
            "line 2: expected a number",
        ),
    ],
    ids=lambda v: str(v)[:25],
)
def test_an_import_with_one_bad_line_imports_nothing(
    bad: str, words: str, write: Callable[..., Path], tmp_path: Path
) -> None:
    import re

    path = write()
    call("ask", path)
    source = tmp_path / "source.jsonl"
    source.write_text(GOOD + bad + "\n", encoding="utf-8")
    assert re.search(words, call("import", path, source, code=2).stderr)
    assert len(Study.load(f"sqlite:///{tmp_path}/study.db", "test").trials) == 1
    source.write_text(GOOD, encoding="utf-8")
    call("import", path, source)


ROWS = """\
molecule,reading,graph
a,1.5,"{""n_nodes"": 5, ""edges"": [[0,1],[1,2],[2,3],[3,4]]}"
b,2.5,"{""n_nodes"": 3, ""edges"": [[0,1],[1,2]]}"
c,cheap,"{""n_nodes"": 3, ""edges"": [[0,1],[1,2]]}"
d,,"{""n_nodes"": 3, ""edges"": [[0,1],[1,2]]}"
e,3.5,"{""n_nodes"": 3, ""edges"": [[0,1],[1,2]], ""labels"": [7, 0, 0]}"
f,3.5,"{""n_nodes"": 5, ""edges"": [[0,1],[1,2],[2,3],[3,4],[0,4]]}"
"""


def test_all_bad_rows_are_named_with_their_lines_at_once(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path, source = write(), tmp_path / "source.csv"
    source.write_text(ROWS, encoding="utf-8")
    told = call("import", path, source, "--value-column", "reading", code=2).stderr
    assert "3 of 6 rows of 'source.csv' cannot be used; nothing was imported" in told
    lines = [line.strip() for line in told.splitlines()[1:]]
    assert [line.partition(":")[0] for line in lines] == ["line 4", "line 5", "line 6"]
    assert "expected a number as reading, got 'cheap'" in lines[0]
    assert "got nothing in reading" in lines[1]
    assert "node labels below 2, got 7" in lines[2]
    assert (
        call("import", path, source, code=2).stderr.count("the columns are molecule, reading") == 6
    )


def test_the_other_rows_can_be_imported_and_those_outside_the_space_are_marked(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path, source = write(), tmp_path / "source.csv"
    source.write_text(ROWS, encoding="utf-8")
    options = ("import", path, source, "--value-column", "reading", "--skip-bad-rows")
    told = call(*options, "--preview").output
    assert "line 3  2.5" in told
    assert "outside (number of nodes 5, got 3)" in told
    assert "3 of 6 rows can be imported, 1 of them from outside the space; 3 cannot" in told
    assert call(*options, "--preview", "--json").stdout.count('"problem": null') == 3
    assert not (tmp_path / "study.db").exists()  # a preview changes nothing
    told = call(*options).output
    assert "added 3 observations" in told
    assert "1 are outside the space" in told
    assert "left out line 4" in told
    strict = call(*options, "--refuse-outside").output
    assert "added 2 observations" in strict
    assert "left out line 3: expected a graph of the space" in strict


def test_ask_shows_the_prediction_next_to_the_acquisition_value(
    write: Callable[..., Path],
) -> None:
    path = write(**{'method = "sample"': 'method = "search"\ntime_limit = 5'})
    call("run", path, "--evaluations", "4")
    (asked,) = rows(call("ask", path, "--json", "--time-limit", "3"))
    assert asked["predicted"]["std"] > 0
    assert asked["certificate"]["mean"] == asked["predicted"]["mean"]
    shown = call("ask", path, "--quiet").output
    assert " predicted " in shown
    assert " ± " in shown
    assert " acquisition " in shown
    exported = call("export", path, "--format", "csv").output
    assert "certificate_mean" in exported.splitlines()[0]


def test_run_stops_below_a_regret(write: Callable[..., Path]) -> None:
    path = write(**{'method = "sample"': 'method = "search"\nn_evaluations = 500'})
    status = json.loads(call("run", path, "--stop-below", "1e6", "--json", "--quiet").stdout)
    full = json.loads(call("run", path, "--json", "--quiet").stdout)
    assert status["states"]["complete"] < full["states"]["complete"] == full["n_trials"]
    assert call("run", path, "--stop-below", "-1", code=2).exit_code == 2


def test_ask_near_a_graph_and_under_a_rule(write: Callable[..., Path], tmp_path: Path) -> None:
    path, file = write(), tmp_path / "near.json"
    given = Graph.from_json('{"n_nodes":5,"edges":[[0,1],[1,2],[2,3],[3,4]]}')
    file.write_text(given.to_json(), encoding="utf-8")
    rule = '{"rule": "NumberOfEdges", "maximum": 6}'
    trials: list[Graph] = []
    for near in (["--near", file], ["--near-trial", 0]):
        command = ("ask", path, "-n", 2, *near, "--edits", 2, "--rule", rule, "--json")
        for row in rows(call(*command)):
            graph = Graph.from_json(json.dumps(row["graph"]))
            start = given if near[1] == file else trials[0]
            moved = int((graph.adjacency != start.adjacency).sum()) // 2
            assert moved + int((graph.labels != start.labels).sum()) <= 2
            assert graph.n_edges <= 6
            asked = [found["rule"] for found in row["details"]["asked_under"]]
            assert asked == ["NumberOfEdges", "EditDistance"]
        trials = [t.graph for t in Study.load(f"sqlite:///{tmp_path}/study.db", "test").trials]
    assert "edits" in call("ask", path, "--near", file, code=2).stderr
    assert "no trial 99" in call("ask", path, "--near-trial", 99, "--edits", 1, code=2).stderr
    both = ("ask", path, "--near", file, "--near-trial", 0, "--edits", 1)
    assert "got both" in call(*both, code=2).stderr
    assert "--rule to be JSON" in call("ask", path, "--rule", "few edges", code=2).stderr


def test_a_value_is_corrected_and_the_old_one_stays_on_record(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path = write()
    call("run", path, "--evaluations", "2")
    (before,) = [t.value for t in Study.load(f"sqlite:///{tmp_path}/study.db", "test").trials[:1]]
    (row,) = rows(call("correct", path, "0", "-2.5", "--reason", "a typo", "--json"))
    assert row["value"] == -2.5
    assert row["details"]["corrections"][0]["value"] == before
    (row,) = rows(call("correct", path, "0", "none", "--json"))
    assert (row["state"], row["value"]) == ("failed", None)
    assert "VALUE must be a number" in call("correct", path, "0", "x", code=2).stderr


def test_settings_are_changed_by_editing_the_study_file(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path = write()
    call("run", path, "--evaluations", "3")
    assert "nothing to change" in call("change", path).output
    rule = '[[space.rules]]\nrule = "NumberOfEdges"\nmaximum = 6\n[search]\nkernel = "sp"'
    path = write(**{"[search]": rule})
    told = call("run", path, code=2).stderr
    assert "created with other settings (space, kernel)" in told
    assert "bogrape change" in told
    assert "from trial 3 on: space, kernel changed" in call("change", path).output
    call("run", path, "--quiet")
    study = Study.load(f"sqlite:///{tmp_path}/study.db", "test")
    assert all(trial.graph.n_edges <= 6 for trial in study.trials[3:])
    path = write(**{"labels = 2": "labels = 3"})
    assert "space (rules can be added" in call("change", path, code=2).stderr


def test_settings_on_the_command_line_override_those_of_the_file(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path, url = write(), f"sqlite:///{tmp_path}/study.db"
    call("ask", path, "--set", "restarts=2", "--set", "alpha=1.5")
    settings = Study.load(url, "test").settings
    assert (settings.restarts, settings.alpha) == (2, 1.5)
    told = call("ask", path, code=2).stderr
    assert "created with other settings (alpha, restarts)" in told
    assert "alpha changed" in call("change", path, "--set", "restarts=2").output
    assert Study.load(url, "test").settings.alpha is None
    assert "did you mean 'restarts'" in call("ask", path, "--set", "restart=2", code=2).stderr


def test_an_enormous_line_is_refused_without_being_read(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path, source = write(), tmp_path / "source.csv"
    with source.open("wb") as file:
        file.write(b"graph,value\n")
        file.truncate(1 << 30)  # a gigabyte, sparse on disk
    start = time.monotonic()
    assert "more than" in call("import", path, source, code=2).stderr
    assert time.monotonic() - start < 20


def test_an_export_that_cannot_be_written_is_an_error_and_leaves_no_file(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path = write()
    call("ask", path)
    call("export", path, tmp_path / "missing" / "x.csv", code=2)
    call("export", path, tmp_path / "x.xls", code=2)
    assert not list(tmp_path.glob("*.part"))


def test_commands_on_a_study_that_was_not_started_say_so_and_create_nothing(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path = write()
    for command in ("status", "export"):
        assert "has not been started" in call(command, path, code=2).stderr
    assert not (tmp_path / "study.db").exists()


# -- exit codes -------------------------------------------------------------------------------


def test_a_damaged_database_ends_with_3(write: Callable[..., Path], tmp_path: Path) -> None:
    path = write()
    (tmp_path / "study.db").write_bytes(b"nonsense")
    assert "not a SQLite database" in call("status", path, code=3).stderr


def test_an_exhausted_space_ends_with_4(write: Callable[..., Path]) -> None:
    path = write(
        **{"n_nodes = 5": "n_nodes = 2", "labels = 2": "", "n_initial = 4": "n_initial = 2"}
    )
    call("ask", path)
    assert "exhausted" in call("ask", path, code=4).stderr


def test_failing_evaluations_end_with_5_and_an_explanation(write: Callable[..., Path]) -> None:
    path = write(
        'command = "false"',
        **{"n_iterations = 2": "n_iterations = 30", "n_nodes = 5": "n_nodes = 6"},
    )
    stderr = call("run", path, "--quiet", code=5).stderr
    assert "10 of the last 10 evaluations failed" in stderr
    assert "'false' ended with code 1" in stderr


def test_a_mistyped_command_ends_with_6_and_costs_nothing_once_it_is_fixed(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    path = write('command = "simulte"')
    stderr = call("run", path, "--quiet", code=6).stderr
    assert "3 evaluations in a row could not be started" in stderr
    assert "cannot start 'simulte': No such file or directory" in stderr
    assert "6 of 6 evaluations" in call("run", write(), "--quiet").stdout
    trials = Study.load(f"sqlite:///{tmp_path}/study.db", "test").trials
    assert [trial.state for trial in trials] == ["complete"] * 6


def test_failed_trials_are_evaluated_again_on_request(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/study.db"
    stderr = call("run", write('command = "false"'), "--quiet").stderr
    assert "6 of 6 evaluations failed; most frequent reason (6 times)" in stderr
    failed = Study.load(url, "test").trials
    path = write()
    assert "6 failed" in call("run", path, "--quiet").stdout  # unchanged
    assert "6 complete" in call("run", path, "--quiet", "--retry-failed").stdout
    trials = Study.load(url, "test").trials
    assert [t.graph for t in trials] == [t.graph for t in failed]
    assert {t.attempts for t in trials} == {2}


def test_changed_settings_end_with_2(write: Callable[..., Path]) -> None:
    call("ask", write())
    changed = write(**{"n_initial = 4": "n_initial = 5"})
    assert "other settings (n_initial)" in call("ask", changed, code=2).stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("n_nodes = 5", "n_node = 5", "unknown key 'n_node'"),
        ("n_nodes = 5", "", "needs n_nodes"),
        ("n_nodes = 5", "n_nodes = 0", "n_nodes"),
        ("[space]", "[spaces]", "unknown key 'spaces'"),
        ('name = "test"', 'name = "../test"', "name must be"),
        ('name = "test"', "name = 5", "name must be"),
        ("sqlite:///study.db", "mysql://x/y", "storage must be a URL"),
        ('"sqlite:///study.db"', "5", "storage must be a string"),
        ("[search]", "[search]\nkernel = 'wl'", "kernel"),
        (
            "[search]",
            "[search]\nkappa = 1\nacquisition = 'ei'",
            "applies to acquisition = 'lcb' only",
        ),
        ("n_iterations = 2", "n_iterations = -2", "n_iterations to be an integer"),
        ("[search]", "[[space.rules]]\nrule = 'NoSuch'\n[search]", "name of a rule"),
        ("[search]", "[[space.rules]]\nrule = 'DegreeRange'\nmax = 3\n[search]", "parameters"),
        ("[objective]", "[objective]\nfunction = 'a:b'", "got both"),
        ("[objective]", "[objective]\nformat = 'pickle'", "format must be"),
        ("[evaluation]", "[evaluation]\nn_parallel = 0", "n_parallel"),
        ("[evaluation]", "[evaluation]\nmemory_limit = '4 parsecs'", "memory_limit"),
        ("[evaluation]", "[evaluation]\ntime_limit = -1", "time_limit"),
        ("[evaluation]", "[evaluation]\nexecutor = 'cloud'", "unknown executor"),
        ("[evaluation]", "evaluation = ", "not TOML"),
        ("[evaluation]", "x = " + "[" * 100_000, "not TOML"),
    ],
    ids=lambda v: str(v)[:25],
)
def test_a_wrong_study_file_is_explained(
    old: str, new: str, words: str, write: Callable[..., Path]
) -> None:
    path = write(**{old: new})
    stderr = call("run", path, "--quiet", code=2).stderr
    assert words in stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize(
    "objective",
    ["function = 'no_such_module:f'", "function = 'math:no'", "function = 'math:pi'", "# none"],
)
def test_an_objective_that_cannot_be_loaded_is_explained(
    objective: str, write: Callable[..., Path]
) -> None:
    assert "objective" in call("run", write(objective), code=2).stderr


@pytest.mark.parametrize("function", ["os.path", "a:b:c", "x y:z", ":f", "../a:f"])
def test_names_of_functions_are_checked(function: str, write: Callable[..., Path]) -> None:
    with pytest.raises(InvalidInputError, match="module:function"):
        read_study_file(write(f"function = '{function}'"))


# -- interruption -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_an_interrupted_run_continues_with_the_same_trial(
    number: signal.Signals, code: int, write: Callable[..., Path], tmp_path: Path
) -> None:
    slow = "import os, time; print(os.getpid(), file=open('pid', 'w'), flush=True); time.sleep(600)"
    (tmp_path / "slow.py").write_text(slow, encoding="utf-8")
    path = write(f"command = ['{sys.executable}', '-S', '{tmp_path}/slow.py']")
    process = subprocess.Popen(
        [sys.executable, "-m", "bogrape.cli", "run", str(path)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    database = f"sqlite:///{tmp_path}/study.db"
    deadline = time.monotonic() + 60
    note = tmp_path / "pid"
    while not (note.exists() and note.read_text(encoding="ascii")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == code
    if number != signal.SIGKILL:
        assert "interrupted; all 1 trials are kept. Run the same command to continue" in stderr
    assert "Traceback" not in stderr
    program = int((tmp_path / "pid").read_text(encoding="ascii"))
    while _alive(program) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _alive(program)
    (trial,) = Study.load(database, "test").trials
    assert trial.state == "pending"
    path = write()  # with a quicker objective
    call("run", path, "--quiet")
    trials = Study.load(database, "test").trials
    assert [t.state for t in trials] == ["complete"] * 6
    assert trials[0].graph == trial.graph


def _alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"  # a zombie has ended


def test_without_a_terminal_progress_is_log_lines(write: Callable[..., Path]) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "bogrape.cli", "run", str(write())],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert process.stderr.count("INFO test: ") == 6
    assert "INFO test: 6/6  trial 5: " in process.stderr
    assert "(best 4" in process.stderr
    assert "propose" in process.stderr


def test_the_demo_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[Any] = []
    monkeypatch.setattr(demo, "run", lambda *a, **k: called.append((a, k)))
    call("demo", "--output", tmp_path / "x.png", "--iterations", 3)
    assert called[0][0] == (tmp_path / "x.png", 2, 3)


def test_bench_says_where_the_benchmarks_have_moved() -> None:
    result = call("bench", "run", "synthetic", "--short", "--problems", "a b", code=2)
    assert "python -m benchmarks run synthetic --short --problems 'a b'" in result.output
    assert "python -m benchmarks --help" in call("bench", "--help", code=2).output
    assert "bench " not in call("--help").output
