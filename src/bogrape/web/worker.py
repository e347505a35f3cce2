"""Worker process of the server: computes suggestions, figures and samples of a space.

It reads one JSON object per line and answers with lines of JSON: any number of ``progress``, then
one ``done`` or ``failed``. While it works, the line ``{"enough": id}`` makes the task with that id
stop and return what it has found. It ends when its standard input closes, however the server ended,
and so do the processes of a proof that it has started.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from ..constraints import Rule, rule_from_dict
from ..errors import BoGrapeError, InvalidInputError, SamplingError
from ..report.picture import Look, graph_html
from ..report.words import space_in_words
from ..space import GraphSpace
from ..study import Study
from ..study.signature import Signature
from . import forms

_MIN_PAUSE = 0.2  # seconds between two lines of progress
_NICE = 5  # answers of the server take precedence over proofs


class _Line:
    """Output to the server."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last = 0.0

    def say(self, kind: str, data: Any) -> None:
        self._out.write(json.dumps({"kind": kind, "data": data}) + "\n")
        self._out.flush()

    def progress(self, found: int, words: str) -> None:
        now = time.monotonic()
        if now - self._last >= _MIN_PAUSE:
            self._last = now
            self.say("progress", {"found": found, "words": words})


class _Worker:
    def __init__(self, line: _Line) -> None:
        self.line = line
        self.enough: set[str] = set()  # tasks that should stop with what they have found
        self._studies: dict[tuple[str, str], Study] = {}

    def study(self, storage: str, name: str) -> Study:
        """The study, kept open so that it need not be read again."""
        if (storage, name) not in self._studies:
            self._studies = {(storage, name): Study.load(storage, name)}
        return self._studies[storage, name]

    def ask(self, task: dict[str, Any]) -> dict[str, Any]:
        """Compute suggestions, each signed with its request."""
        study = self.study(task["storage"], task["study"])
        rules = _fitting(study.space, tuple(map(rule_from_dict, task["rules"])))
        signature = Signature(**task["signature"])
        had = list(study.requested(signature))
        missing = task["n"] - len(had)
        if missing > 0:
            with study.signed(signature):
                found = study.ask(
                    missing,
                    task["worker"],
                    time_limit=task["time_limit"],
                    progress=False,
                    stop=lambda: task.get("id") in self.enough,
                    watch=lambda n, words: self.line.progress(len(had) + n, words),
                    rules=rules,
                )
            had += found if isinstance(found, list) else [found]
        return {"trials": [trial.id for trial in had]}

    def figures(self, task: dict[str, Any]) -> dict[str, Any]:
        """Compute figures, which need a fit or a drawing."""
        from .figures import figures_of

        return figures_of(self.study(task["storage"], task["study"]))

    def check(self, task: dict[str, Any]) -> dict[str, Any]:
        """The meaning of a form, and some graphs; errors if a search finds contradictions.

        It runs here, and not in the server, because users' patterns and rules may take long.
        """
        form = forms.Form(task["fields"])
        space = forms.space_of(form)
        found = {"problems": form.problems, "rules": [], "pictures": [], "note": ""}
        if space is None or forms.settings_of(form, space) is None or form.problems:
            return found
        return {
            **found,
            "rules": space_in_words(space),
            **samples_of(space, task["k"], task["seconds"]),
        }


def _fitting(space: GraphSpace, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules, checked against the space."""
    try:
        space.with_rules([*space.rules, *rules])
    except (TypeError, AttributeError, KeyError) as error:  # parameters of wrong types
        raise InvalidInputError(f"expected rules with other parameters: {error}") from None
    return rules


def samples_of(space: GraphSpace, k: int, seconds: float) -> dict[str, Any]:
    """Pictures of graphs of a space, as many as the time allows."""
    try:
        graphs = space.sample(k, seed=0, distinct=True, deadline=time.monotonic() + seconds)
        note = ""
    except SamplingError as error:
        graphs, note = list(error.graphs), str(error)
    look = Look.of(space)
    return {
        "pictures": [graph_html(space.named(graph), look, size=150) for graph in graphs],
        "note": note,
    }


def main() -> None:
    """Work until the server ends."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # anything else that is printed must not become a message
    line = _Line(out)
    worker = _Worker(line)
    tasks: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_listen, args=(worker, tasks), daemon=True).start()
    kinds: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
        "ask": worker.ask,
        "figures": worker.figures,
        "check": worker.check,
    }
    while True:
        task = tasks.get()
        try:
            line.say("done", kinds[task["kind"]](task))
        except KeyboardInterrupt:
            line.say("failed", {"error": "ended before anything was found", "class": "StudyError"})
        except BoGrapeError as error:
            line.say("failed", {"error": str(error), "class": type(error).__name__})
        except Exception as error:  # the process must continue, whatever a user's rule did
            text = f"{type(error).__name__}: {str(error)[:300]}"
            line.say("failed", {"error": text, "class": "Exception"})


def _listen(worker: _Worker, tasks: queue.Queue[dict[str, Any]]) -> None:
    for text in sys.stdin:
        message = json.loads(text)
        if "enough" in message:
            worker.enough.add(message["enough"])
        else:
            tasks.put(message)
    os._exit(0)  # the server has ended
