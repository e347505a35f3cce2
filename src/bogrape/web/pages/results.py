"""Forms that ask for suggestions and record their results."""

from __future__ import annotations

import math
from collections.abc import Sequence

from starlette.responses import Response

from ...trial import Trial
from .. import actions, forms
from ..actions import Wanted
from ..errors import NotFound, Refused
from .sent import Sent, back


def ask(sent: Sent) -> Response:
    """Start computing suggestions."""
    form = forms.Form(sent.fields)
    n, limit = form.whole("n") or 1, form.number("time_limit")
    form.refuse()
    if not 1 <= n <= 100:
        raise Refused("ask for 1 to 100 at a time", 422)
    if limit is not None and not 0 < limit <= 86400:
        raise Refused("seconds must be between 0 and 86400", 422)
    rules = forms.rules_of(sent.fields, sent.room.survey().space)
    wanted = Wanted(n=n, time_limit=limit, rules=rules)
    actions.ask(sent.server, sent.name, wanted, sent.who)
    return back("studies", sent.name, anchor="jobs")


def stop(sent: Sent) -> Response:
    """End a request for suggestions: take what was found, or nothing."""
    job = sent.server.asks.find(sent.request.path_params["job"])
    if job is None or job.study != sent.name:
        raise NotFound("there is no such request for suggestions; it may have ended too long ago")
    if sent.text("take") == "1":
        sent.server.asks.enough(job)
    else:
        actions.cancel(sent.server, job, sent.who)
    return back("studies", sent.name, anchor="jobs")


def measured(sent: Sent) -> tuple[actions.Value, actions.Noise]:
    """A value and the variance of its noise, which users enter as a standard deviation."""
    goals = sent.room.survey().settings.goals
    if goals is not None:
        found = {name: sent.number(f"value:{name}") for name in goals.names}
        spread = {name: sent.number(f"deviation:{name}") for name in goals.names}
        if any(v is not None and (v < 0 or found[name] is None) for name, v in spread.items()):
            raise Refused("±: expected a number that is not negative, beside a value", 422)
        noises = {name: v**2 for name, v in spread.items() if v is not None}
        return {name: v for name, v in found.items() if v is not None}, noises or None
    value, deviation = sent.number("value"), sent.number("deviation")
    if value is None:
        raise Refused("value: a number is missing", 422)
    if deviation is not None and deviation < 0:
        raise Refused("±: expected a number that is not negative", 422)
    return value, None if deviation is None else deviation**2


def tell(sent: Sent) -> Response:
    """Record a value."""
    value, noise = measured(sent)
    actions.tell(sent.server, sent.name, sent.trial, value, sent.who, noise=noise)
    return _after(sent)


def fail(sent: Sent) -> Response:
    """Record that an evaluation failed."""
    about_graph = not sent.text("not_the_graph")
    reason = sent.text("reason")
    actions.fail(sent.server, sent.name, sent.trial, reason, sent.who, about_graph=about_graph)
    return _after(sent)


def correct(sent: Sent) -> Response:
    """Replace or withdraw a value."""
    reason = sent.text("reason") or None
    value: actions.Value | None = None
    noise: actions.Noise = None
    if not sent.text("withdraw"):
        value, noise = measured(sent)
    actions.correct(sent.server, sent.name, sent.trial, value, sent.who, noise=noise, reason=reason)
    return _after(sent)


def release(sent: Sent) -> Response:
    """Give a trial back."""
    actions.release(sent.server, sent.name, sent.trial, sent.who)
    return _after(sent)


def retry(sent: Sent) -> Response:
    """Queue a failed trial again."""
    actions.retry(sent.server, sent.name, sent.trial, sent.who)
    return _after(sent)


def repeat(sent: Sent) -> Response:
    """Queue another evaluation of a graph."""
    made = actions.repeat(sent.server, sent.name, sent.trial, sent.who)
    return back("studies", sent.name, "trials", made.id)


def comment(sent: Sent) -> Response:
    """Comment on a trial."""
    text = sent.text("text")
    actions.comment(sent.server, sent.name, sent.trial, text, sent.who)
    return back("studies", sent.name, "trials", sent.trial, anchor="comments")


def _after(sent: Sent) -> Response:
    """Redirect to the page of the form."""
    if sent.text("next") == "study":
        return back("studies", sent.name, anchor="pending")
    return back("studies", sent.name, "trials", sent.trial)


# -- several results at once ------------------------------------------------------------------

_MOST_LINES = 10_000
_SHOWN_PROBLEMS = 50


def paste(sent: Sent) -> Response:
    """Lines such as ``12 3.5`` or ``12 3.5 0.1``: trial, value and optionally its deviation.

    With several properties: trial and a value for each, in order, ``-`` for an unknown one.
    """
    survey = sent.room.survey()
    goals = survey.settings.goals
    names = None if goals is None else goals.names
    trials = {trial.id: trial for trial in survey.trials}
    rows, problems = [], []
    lines = [line for line in sent.text("lines").splitlines() if line.strip()]
    for k, line in enumerate(lines[:_MOST_LINES], start=1):
        try:
            row = _row_of(line, names)
        except (ValueError, IndexError):
            expected = "trial, value and optionally ±"
            if names is not None:
                expected = f"trial, {', '.join(names)} (- for an unknown one)"
            problems.append(f"line {k}: expected {expected}, got {line!r:.60}")
            continue
        problem = _problem(row, trials.get(row[0]))
        if problem is None:
            rows.append(row)
        elif problem:
            problems.append(f"line {k}: trial {row[0]} {problem}")
    if not lines:
        problems.append("the field is empty")
    if problems:
        message = "Nothing was recorded. " + "; ".join(problems[:_SHOWN_PROBLEMS])
        return sent.page("error.html", 422, message=message, status=422)
    for number, value, noise in rows:
        actions.tell(sent.server, sent.name, number, value, sent.who, noise=noise)
    return back("studies", sent.name, anchor="pending")


_Row = tuple[int, actions.Value, actions.Noise]


def _row_of(line: str, names: Sequence[str] | None) -> _Row:
    """Trial, value and variance of a line; raises `ValueError` if it is not understood."""
    first, *others = line.replace(";", " ").replace("\t", " ").split()
    number = int(first.lstrip("#"))
    if names is not None:
        if len(others) != len(names):
            raise ValueError
        found = {
            name: _finite(text) for name, text in zip(names, others, strict=True) if text != "-"
        }
        if not found:
            raise ValueError
        return number, found, None
    if not 1 <= len(others) <= 2:
        raise ValueError
    value, *deviation = map(_finite, others)
    if deviation and deviation[0] < 0:
        raise ValueError
    return number, value, deviation[0] ** 2 if deviation else None


def _finite(text: str) -> float:
    found = float(text)
    if not math.isfinite(found):
        raise ValueError
    return found


def _problem(row: _Row, trial: Trial | None) -> str | None:
    """Why a trial cannot take a result; empty if it already has exactly this one."""
    if trial is None:
        return "does not exist"
    _, value, _ = row
    told = value if isinstance(value, dict) else {}
    known = {name: trial.values[name] for name in told if name in trial.values}
    is_open = trial.state in ("pending", "queued") or (trial.state == "complete" and bool(told))
    if is_open and not known:
        return None
    if trial.value == value or (known and known == told):
        return ""
    return f"already has {', '.join(known)}" if known else f"is already {trial.state}"
