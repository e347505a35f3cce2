"""Worker processes: finding them, and making them run some code before anything else."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bogrape.propose.jobs import worker


def start_workers_with(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Make workers that are started from now on run this code first."""
    command = worker.command

    def changed(module: str) -> list[str]:
        words = command(module)
        script = words.index("-c") + 1
        words[script] = f"{code}\n{words[script]}"
        return words

    monkeypatch.setattr(worker, "command", changed)


def workers_of(pid: int) -> list[int]:
    """Processes that run the worker module and were started by this process id."""
    out = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                continue
            if b"bogrape.propose.jobs.worker" in command and parent == pid:
                out.append(int(entry.name))
    return out


def until(condition: Callable[[], object], seconds: float) -> bool:
    """Wait until the condition holds, but no longer than this; returns whether it does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False
