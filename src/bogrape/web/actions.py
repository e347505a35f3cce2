"""Changes that people and robots make to a study, shared by the pages and the HTTP API.

Every change is signed with its author and its request (`bogrape.study.signature`). The
signature is stored in the transaction of the change, so a repeated request changes nothing, even
if the server was killed after the change and before the answer.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, field
from typing import Any, final

from ..constraints import Rule, rule_from_dict
from ..errors import BoGrapeError, InvalidInputError, StudyError
from ..graph import Graph
from ..study import Study, StudySettings, Trial
from ..study.observations import Outside
from ..study.signature import Signature
from .errors import NotFound, Refused
from .guard import Place
from .jobs import Job, Jobs
from .live import Live
from .rooms import Room, Rooms
from .tokens import Secrets

Value = float | dict[str, Any]  # a dictionary holds several properties by name
Noise = float | dict[str, Any] | None
_LONGEST_ASK = 86400.0  # seconds
_CHECKING = 20.0  # seconds that checking a form may take
_LONGEST_TEXT = 300  # characters of a pattern in a rule
_STARTING = 120.0  # seconds a process may take beyond the time limit of its proposals


@final
@dataclass(frozen=True, kw_only=True)
class Server:
    """Everything the handler of a request may need."""

    rooms: Rooms
    asks: Jobs
    drawings: Jobs
    live: Live
    place: Place
    secrets: Secrets


@final
@dataclass(frozen=True, kw_only=True)
class Who:
    """Sender of a request, and its identifier."""

    by: str | None = None
    request: str | None = None
    content: dict[str, Any] = field(default_factory=dict)  # the content of the request

    def signature(self, action: str, note: str | None = None) -> Signature:
        """The signature of a change."""
        digest = None
        if self.request is not None:
            text = json.dumps(self.content, sort_keys=True, separators=(",", ":"))
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return Signature(by=self.by, action=action, request=self.request, content=digest, note=note)


def find(study: Study, number: int) -> Trial:
    """The trial with this number."""
    trials = study.trials
    if not 0 <= number < len(trials):
        raise NotFound(f"there is no trial {number}; the study has {len(trials)}")
    return trials[number]


def change(
    server: Server,
    name: str,
    number: int,
    signature: Signature,
    make: Callable[[Study, int], Trial],
) -> Trial:
    """Change a trial, and notify all browsers that show the study."""
    room = server.rooms.room(name)
    with room.study() as study, study.signed(signature):
        try:
            trial = make(study, number)
        except StudyError:
            find(study, number)  # raises if there is none; checking it first would cost a query
            raise
    server.live.tell(name, "change", {})
    return trial


# -- asking -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The suggestions that a request asks for."""

    n: int = 1
    time_limit: float | None = None
    worker: str | None = None
    rules: Sequence[dict[str, Any]] = ()


def ask(server: Server, name: str, wanted: Wanted, who: Who) -> Job:
    """Start computing suggestions; a repeated request gets its earlier job or trials."""
    room = server.rooms.room(name)
    rules = checked_rules(wanted.rules)
    nouns = room.survey().space.nouns if rules else None
    note = " ".join(rule.describe(nouns) for rule in rules) if nouns is not None else None
    if who.request is None:
        who = Who(by=who.by, request=f"ask-{secrets.token_hex(8)}", content=who.content)
    signature = who.signature("ask", note[:2000] if note else None)
    with room.study() as study:
        had = study.requested(signature)
        limit = wanted.time_limit or study.settings.time_limit
    if any(_was_cancelled(trial, signature) for trial in had):
        raise Refused("this request was cancelled; send it again with another identifier", 409)
    limit = min(limit, _LONGEST_ASK)
    job = Job(
        study=name,
        by=who.by,
        request=who.request,
        limit=limit + _STARTING,
        task={
            "kind": "ask",
            "storage": server.rooms.url,
            "study": name,
            "n": wanted.n,
            "time_limit": limit,
            "worker": wanted.worker,
            "rules": [rule.to_dict() for rule in rules],
            "signature": {
                "by": signature.by,
                "action": signature.action,
                "request": signature.request,
                "content": signature.content,
                "note": signature.note,
            },
        },
    )
    if len(had) >= wanted.n:
        job.state, job.trials, job.found = "done", [trial.id for trial in had], len(had)
        job.future.set_result({"trials": job.trials})
        return job
    return server.asks.submit(job)


def _was_cancelled(trial: Trial, signature: Signature) -> bool:
    """True if a trial was given back because this request was cancelled."""
    requests = [entry.get("request") for entry in trial.log]
    after = trial.log[requests.index(signature.request) + 1 :]
    return any(entry.get("action") == "cancel" for entry in after[:1])


def checked_rules(given: Sequence[dict[str, Any]]) -> list[Rule]:
    """Rules for some suggestions; only rules of this package, as others would name code to load.

    The worker process checks whether they fit the space, since patterns may take long.
    """
    return [rule_from_plain(data) for data in given]


def rule_from_plain(data: dict[str, Any]) -> Rule:
    """A rule of this package; names of other code are refused."""
    name = data.get("rule")
    if not isinstance(name, str) or ":" in name:
        raise InvalidInputError(
            f"expected the name of a rule of bogrape, such as 'LabelCount', got {name!r:.60}"
        )
    long = [k for k, text in data.items() if isinstance(text, str) and len(text) > _LONGEST_TEXT]
    if long:
        raise InvalidInputError(f"{long[0]:.60}: expected at most {_LONGEST_TEXT} characters")
    try:
        return rule_from_dict(data)
    except InvalidInputError:
        raise
    except (TypeError, ValueError, AttributeError, KeyError, RecursionError) as error:
        raise InvalidInputError(
            f"expected parameters of the rule {name}: {str(error)[:200]}"
        ) from None


def cancel(server: Server, job: Job, who: Who) -> None:
    """End a job; graphs it has already handed out go back to the queue."""
    server.asks.cancel(job)
    signature = Signature(**job.task["signature"])
    room = server.rooms.room(job.study)
    with room.study() as study:
        own = [trial for trial in study.requested(signature) if trial.state == "pending"]
        with study.signed(who.signature("cancel")):
            for trial in own:
                study.release(trial.id)
    server.live.tell(job.study, "change", {})


# -- results ----------------------------------------------------------------------------------


def tell(
    server: Server,
    name: str,
    number: int,
    value: Value,
    who: Who,
    *,
    noise: Noise = None,
    seconds: float | None = None,
) -> Trial:
    """Record a value."""
    return change(
        server,
        name,
        number,
        who.signature("tell"),
        lambda study, trial: study.tell(trial, value, noise=noise, seconds=seconds),
    )


def fail(
    server: Server,
    name: str,
    number: int,
    reason: str,
    who: Who,
    *,
    seconds: float | None = None,
    about_graph: bool = True,
) -> Trial:
    """Record that an evaluation failed."""
    return change(
        server,
        name,
        number,
        who.signature("fail"),
        lambda study, trial: study.fail(trial, reason, seconds=seconds, about_graph=about_graph),
    )


def correct(
    server: Server,
    name: str,
    number: int,
    value: Value | None,
    who: Who,
    *,
    noise: Noise = None,
    reason: str | None = None,
) -> Trial:
    """Replace a value."""
    return change(
        server,
        name,
        number,
        who.signature("correct"),
        lambda study, trial: study.correct(trial, value, noise=noise, reason=reason),
    )


def release(server: Server, name: str, number: int, who: Who, reason: str | None = None) -> Trial:
    """Give back a trial that is no longer being evaluated."""
    return change(
        server,
        name,
        number,
        who.signature("release"),
        lambda study, trial: study.release(trial, reason=reason),
    )


def retry(server: Server, name: str, number: int, who: Who) -> Trial:
    """Queue a failed trial again."""
    return change(server, name, number, who.signature("retry"), Study.retry)


def comment(server: Server, name: str, number: int, text: str, who: Who) -> Trial:
    """Add a comment to a trial."""
    return change(
        server,
        name,
        number,
        who.signature("comment"),
        lambda study, trial: study.comment(trial, text),
    )


def repeat(server: Server, name: str, number: int, who: Who) -> Trial:
    """Queue another evaluation of a graph."""
    signature = who.signature("repeat")

    def make(study: Study, trial: int) -> Trial:
        had = study.requested(signature)
        return had[0] if had else study.repeat(trial)

    return change(server, name, number, signature, make)


# -- graphs from people -----------------------------------------------------------------------


def read_graph(room: Room, given: object) -> Graph:
    """A graph from JSON, or from text if the domain of the study has a text format."""
    with room.study() as study:
        form, space = room.format, study.space
    if isinstance(given, dict):
        return space.named(Graph.from_json(json.dumps(given)))
    if form.name == "json" or (isinstance(given, str) and given.lstrip().startswith("{")):
        return space.named(Graph.from_json(str(given)))
    return form.decode(str(given).strip())


def add_candidate(
    server: Server,
    name: str,
    graph: Graph,
    who: Who,
    value: Value | None = None,
    noise: Noise = None,
) -> Trial:
    """Add a user's own graph: already measured, or to be handed out next."""
    room = server.rooms.room(name)
    signature = who.signature("add" if value is not None else "suggest")
    with room.study() as study, study.signed(signature):
        had = study.requested(signature)
        if had:
            return had[0]
        trial = study.enqueue(graph) if value is None else study.add(graph, value, noise=noise)
    server.live.tell(name, "change", {})
    return trial


def add_observations(
    server: Server,
    name: str,
    observations: Sequence[tuple[Graph, Value, Noise]],
    who: Who,
    outside: Outside = "accept",
) -> list[Trial]:
    """Add measurements, all or none."""
    room = server.rooms.room(name)
    signature = who.signature("import")
    with room.study() as study, study.signed(signature):
        trials = list(study.requested(signature)) or list(
            study.add_all(observations, outside=outside)
        )
    server.live.tell(name, "change", {})
    return trials


def checked_form(server: Server, fields: Mapping[str, str], k: int) -> dict[str, Any]:
    """The problems of a study form, or its meaning in words with pictures of k graphs."""
    task = {"kind": "check", "fields": dict(fields), "k": k, "seconds": 4.0}
    job = server.drawings.submit(Job(task=task, limit=_CHECKING))
    try:
        return job.future.result(10 * _CHECKING)
    except (BoGrapeError, TooLate) as error:
        said = str(error) or "no graph was found in time"
        return {"problems": [("", said)], "rules": [], "pictures": [], "note": ""}


def create(server: Server, name: str, settings: StudySettings) -> Room:
    """Create a study."""
    return server.rooms.create(name, settings)
