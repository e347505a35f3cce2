"""Workers that run some code before anything else, as if their interpreter ran it."""

from __future__ import annotations

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
