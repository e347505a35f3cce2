"""Processes that the package starts run its own code and no files that happen to be nearby."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bogrape
from bogrape.propose.jobs import worker

HOSTILE = "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\nraise SystemExit\n"
NAMES = ("random", "numpy", "ortools", "pyscipopt", "pickle", "sitecustomize", "usercustomize")

_SCRIPT = """
import json, os, sys
from bogrape import GraphGP, GraphSpace, propose
import bogrape.propose.exact.proof.engine, bogrape.propose.mip  # imported by this process before
space = GraphSpace(5)
graphs = space.sample(6, seed=0)
gp = GraphGP("ssp").fit(graphs, [float(graph.n_edges) for graph in graphs])
propose(space, gp, method="search", n_evaluations=20_000)
sys.path.insert(0, {hostile!r})  # as for a study with its objective in that folder
limits = {{"time_limit": 30, "n_evaluations": 20_000}}
found = [propose(space, gp, method=method, **limits) for method in ("exact", "mip")]
print(json.dumps([[one.status for one in found], found[0].method]))
"""


def _run(script: str, directory: Path, *flags: str, **environment: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-P", *flags, "-c", script],
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("where", ["current", "beside the study"])
def test_files_named_like_modules_are_not_executed_and_proofs_succeed(
    tmp_path: Path, where: str
) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    directory = tmp_path if where == "current" else elsewhere
    statuses, method = _run(_SCRIPT.format(hostile=str(tmp_path)), directory)
    assert statuses == ["optimal", "optimal"]
    assert "cp-sat" in method
    assert list(tmp_path.glob("*.ran")) == []


def test_a_package_found_through_the_parents_path_reaches_its_children(tmp_path: Path) -> None:
    """Run from a source tree that the script itself puts on the path."""
    source = str(Path(bogrape.__file__).parents[1])
    script = f"import sys; sys.path.append({source!r})\n" + _SCRIPT.format(hostile=str(tmp_path))
    assert _run(script, tmp_path, PYTHONPATH="")[0] == ["optimal", "optimal"]


def _child(code: str, module: str, directory: Path, **environment: str) -> Any:
    """Output of a child that is started like a worker but runs this code instead of the module."""
    command = worker.command(module)
    command[command.index(worker._START)] = worker._START.replace(
        "importlib.import_module(module).main()", code
    )
    done = subprocess.run(
        command, cwd=directory, env={**os.environ, **environment}, capture_output=True, check=True
    )
    return json.loads(done.stdout)


def test_pythonpath_comes_first_and_the_parents_path_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "mine"), *sys.path])
    code = "import json; print(json.dumps([sys.path, sys.modules['bogrape'].__file__]))"
    path, package = _child(code, "any", tmp_path, PYTHONPATH=str(tmp_path / "given"))
    assert path[0] == str(tmp_path / "given")
    assert path.index(str(tmp_path / "mine")) > path.index(str(Path(os.__file__).parent))
    assert str(tmp_path) not in path
    assert package == bogrape.__file__


def test_a_rule_defined_beside_a_script_can_be_sent_to_workers(tmp_path: Path) -> None:
    (tmp_path / "own_rules.py").write_text(
        "from bogrape.constraints import NumberOfEdges\nclass Sparse(NumberOfEdges):\n    pass\n"
    )
    script = """
import json, sys
sys.path.insert(0, "")
from own_rules import Sparse
from bogrape import GraphGP, GraphSpace, propose
space = GraphSpace(5, rules=[Sparse(4, 5)])
graphs = space.sample(5, seed=0)
gp = GraphGP("essp").fit(graphs, [float(graph.n_edges) for graph in graphs])
print(json.dumps(propose(space, gp, method="exact", time_limit=30, n_evaluations=20_000).status))
"""
    assert _run(script, tmp_path) == "optimal"
