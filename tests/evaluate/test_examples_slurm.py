"""The SLURM example, with the shell in place of SLURM."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bogrape import Study
from places import ROOT

EXAMPLE = ROOT / "examples" / "slurm"


def test_the_tasks_of_the_array_share_one_study(tmp_path: Path) -> None:
    folder = tmp_path / "slurm"
    shutil.copytree(EXAMPLE, folder)
    study_file = folder / "study.toml"
    text = study_file.read_text(encoding="utf-8")
    text = text.replace("n_iterations = 24", 'n_iterations = 2\nmethod = "sample"')
    study_file.write_text(text, encoding="utf-8")
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "bogrape").write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m bogrape.cli "$@"\n', encoding="utf-8"
    )
    (tools / "bogrape").chmod(0o755)
    tasks = [
        subprocess.Popen(
            ["sh", "array.sh"],
            cwd=folder,
            env={
                **os.environ,
                "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                "SLURM_ARRAY_TASK_ID": str(i),
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in (1, 2)
    ]
    for task in tasks:
        _, stderr = task.communicate(timeout=100)
        assert task.returncode == 0, stderr
    trials = Study.load(f"sqlite:///{folder}/network.db", "network").trials
    assert len(trials) == 10
    assert all(trial.state == "complete" for trial in trials)
    assert {trial.worker for trial in trials} <= {"task-1", "task-2"}
    for trial in trials:
        routers = int((trial.graph.labels == 1).sum())
        assert trial.value == 10 * trial.graph.n_edges - 3 * routers
