"""Objectives of scripts and notebooks in spawned processes, as on macOS and Windows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json
from bogrape import GraphSpace
from bogrape.evaluate import ProcessEvaluator

FACTOR = 3.0

def objective(graph):
    return FACTOR * graph.n_edges

def made():
    return lambda graph: FACTOR * graph.n_edges

if __name__ == "__main__":
    out = []
    graph = GraphSpace(4).sample(1)[0]
    for function in (objective, made()):
        evaluator = ProcessEvaluator(function, start_method={method!r})
        evaluator.submit(0, graph)
        [(_, outcome)] = evaluator.wait(60)
        evaluator.close()
        out.append(outcome.value == 3.0 * graph.n_edges or outcome.reason)
    print(json.dumps(out))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has only one way to start processes")
@pytest.mark.parametrize("how", ["script", "-c"])  # as in a notebook, -c leaves no file to import
def test_objectives_defined_in_a_script_reach_spawned_processes(tmp_path: Path, how: str) -> None:
    text = SCRIPT.format(method="spawn")
    (tmp_path / "script.py").write_text(text)
    arguments = [str(tmp_path / "script.py")] if how == "script" else ["-c", text]
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True]
