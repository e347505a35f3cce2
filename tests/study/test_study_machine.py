"""A study compared with a model of it, through any sequence of calls, reopenings and crashes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from sqlalchemy import event

from bogrape import GraphSpace, Study, Trial
from bogrape.errors import StorageError, StudyError

SPACE = GraphSpace(n_nodes=5, labels=2)
WORKERS = st.sampled_from([None, "a", "b"])
VALUES = st.sampled_from([0.0, 1.0, -2.5])


class Crash(StorageError):
    """Stands for the end of the process just before a transaction is committed."""


class StudyMachine(RuleBasedStateMachine):
    """The model is a dictionary of the expected state and value of each trial."""

    @initialize(retries=st.integers(0, 2))
    def begin(self, retries: int) -> None:
        self.directory = tempfile.mkdtemp()
        self.url = f"sqlite:///{Path(self.directory) / 'study.db'}"
        self.study = Study(SPACE, self.url, method="sample", n_initial=50, retries=retries)
        self.retries = retries
        self.model: dict[int, tuple[str, float | None]] = {}
        self.attempts: dict[int, int] = {}

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            shutil.rmtree(self.directory)

    def some(self, data: Any, *states: str) -> int:
        return int(data.draw(st.sampled_from([k for k, v in self.model.items() if v[0] in states])))

    def has(self, *states: str) -> bool:
        return any(v[0] in states for v in getattr(self, "model", {}).values())

    # -- calls --------------------------------------------------------------------------------

    @rule(worker=WORKERS)
    def ask(self, worker: str | None) -> None:
        before = dict(self.model)
        trial = self.study.ask(worker=worker)
        old = before.get(trial.id, ("new", None))[0]
        queued = [k for k, v in before.items() if v[0] == "queued"]
        if old == "pending":  # returned to the worker that holds it
            assert worker is not None
            assert trial.worker == worker
            return
        assert old == ("queued" if queued else "new")
        self.model[trial.id] = ("pending", None)
        self.attempts[trial.id] = self.attempts.get(trial.id, 0) + 1

    @precondition(lambda self: self.has("pending", "queued"))
    @rule(data=st.data(), value=VALUES)
    def tell(self, data: Any, value: float) -> None:
        number = self.some(data, "pending", "queued")
        self.study.tell(number, value)
        self.model[number] = ("complete", value)

    @precondition(lambda self: self.has("complete"))
    @rule(data=st.data(), value=VALUES)
    def tell_again(self, data: Any, value: float) -> None:
        number = self.some(data, "complete")
        if self.model[number][1] == value:
            self.study.tell(number, value)
        else:
            with pytest.raises(StudyError):
                self.study.tell(number, value)

    @precondition(lambda self: self.has("pending"))
    @rule(data=st.data())
    def fail(self, data: Any) -> None:
        number = self.some(data, "pending")
        again = self.attempts[number] <= self.retries
        assert self.study.fail(number, "no luck").state == ("queued" if again else "failed")
        self.model[number] = ("queued" if again else "failed", None)

    @precondition(lambda self: self.has("pending"))
    @rule(data=st.data())
    def release(self, data: Any) -> None:
        number = self.some(data, "pending")
        self.study.release(number)
        self.model[number] = ("queued", None)

    @rule(seed=st.integers(0, 20), value=VALUES)
    def add(self, seed: int, value: float) -> None:
        trial = self.study.add(SPACE.sample(1, seed=seed)[0], value)
        self.model[trial.id] = ("complete", value)

    # -- accidents ----------------------------------------------------------------------------

    @rule()
    def reopen(self) -> None:
        self.study = Study.load(self.url)

    @rule(data=st.data(), reopen=st.booleans())
    def crash(self, data: Any, reopen: bool) -> None:
        """End just before the commit: nothing may have changed, in memory or in the file."""
        engine = self.study.storage._engine  # type: ignore[attr-defined]

        def fall(connection: Any) -> None:
            if connection.get_execution_options().get("bogrape_write"):
                raise Crash("the process ended")

        calls: list[Any] = [lambda: self.study.add(SPACE.sample(1, seed=3)[0], 1.0)]
        if not self.has("queued"):
            calls.append(self.study.ask)
        if self.has("pending"):
            number = self.some(data, "pending")
            calls += [
                lambda: self.study.tell(number, 7.0),
                lambda: self.study.fail(number, "no luck"),
                lambda: self.study.release(number),
            ]
        call = data.draw(st.sampled_from(calls))
        event.listen(engine, "commit", fall)
        try:
            with pytest.raises(Crash):
                call()
        finally:
            event.remove(engine, "commit", fall)
        if reopen:
            self.study = Study.load(self.url)

    # -- invariants ---------------------------------------------------------------------------

    @invariant()
    def is_as_the_model_says(self) -> None:
        if not hasattr(self, "model"):
            return
        for study in (self.study, Study.load(self.url)):
            trials = study.trials
            assert [trial.id for trial in trials] == list(range(len(self.model)))
            assert {t.id: (t.state, t.value) for t in trials} == self.model
            own = [trial for trial in trials if trial.origin != "added"]
            assert len({key(trial) for trial in own}) == len(own)
            study.storage.close()  # type: ignore[attr-defined]


def key(trial: Trial) -> str:
    return trial.graph.canonical_key()


TestStudyMachine = StudyMachine.TestCase
TestStudyMachine.settings = settings(max_examples=15, stateful_step_count=15)
