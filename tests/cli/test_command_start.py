"""Ctrl-C at any moment while ``bogrape`` starts: no traceback, and exit code 130."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from places import ROOT

_START = """
import sys
from _bogrape_command import main

class Watch:  # reports when the package begins to load
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "bogrape":
            print("up", flush=True)

sys.meta_path.insert(0, Watch)
sys.exit(main())
"""


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_ctrl_c_while_the_command_is_loading_shows_no_traceback(
    delay: float, tmp_path: Path
) -> None:
    study = tmp_path / "study.toml"
    study.write_text("[space]\nn_nodes = 5\n", encoding="ascii")
    process = subprocess.Popen(
        [sys.executable, "-c", _START, "ask", str(study)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    assert process.returncode in (0, 130)  # it may have finished before
    assert process.returncode == 0 or "interrupted" in errors


_LATE = """
import atexit, os, signal, sys, threading
import click
from _bogrape_command import main

interrupt = lambda *_: os.kill(os.getpid(), signal.SIGINT)

class Last:  # deleted with this module, when Python has removed its handlers of signals
    def __del__(self, pid=os.getpid(), kill=os.kill, number=signal.SIGINT):
        kill(pid, number)

class Watch:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "bogrape" and moment == "when the command is done":
            atexit.register(interrupt)

moment = sys.argv.pop()
sys.meta_path.insert(0, Watch)
if moment == "while arguments are read":
    click.Group.resolve_command = interrupt
elif moment == "at the very end":
    last = Last()
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("moment", "code"),
    [("while arguments are read", 130), ("when the command is done", 130), ("at the very end", 0)],
)
def test_ctrl_c_before_and_after_the_work_shows_no_traceback(moment: str, code: int) -> None:
    command = [sys.executable, "-c", _LATE, "init", "--help", moment]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr == ("interrupted\n" if code else "")


def test_this_command_is_the_one_that_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"] == {"bogrape": "_bogrape_command:main"}
    assert (
        "src/_bogrape_command.py"
        in project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    )


def test_the_command_returns_the_exit_codes_of_its_subcommands() -> None:
    for arguments, code in ((["--version"], 0), (["status", "missing.toml"], 2), (["no"], 2)):
        done = subprocess.run(
            [sys.executable, "-c", _START, *arguments], capture_output=True, check=False
        )
        assert done.returncode == code
