"""The arrows of a trial's life (see `trial`): each turns a trial into what it becomes.

A transition that was made already gives the trial back as it is; a forbidden one is an error.
"""

from __future__ import annotations

from dataclasses import replace

from ..errors import InvalidInputError, StudyError
from .trial import Trial, now

_REASON_LENGTH = 2000


def taken(trial: Trial, worker: str | None) -> Trial:
    """Handed out to a worker."""
    return replace(trial, state="pending", worker=worker, attempts=trial.attempts + 1, asked=now())


def told(trial: Trial, value: float) -> Trial:
    """Complete with a value."""
    if trial.state == "complete":
        if trial.value == value:
            return trial
        raise StudyError(
            f"trial {trial.id} has the value {trial.value!r} already, got {value!r}; record a "
            "repeated evaluation with study.add(trial.graph, value)"
        )
    if trial.state == "failed":
        raise StudyError(
            f"trial {trial.id} was given up as failed ({trial.reason}); record a late value with "
            "study.add(trial.graph, value)"
        )
    return replace(trial, state="complete", value=value, reason=None, finished=now())


def failed(trial: Trial, reason: str, retries: int) -> Trial:
    """Failed for good, or queued to be tried again."""
    if trial.state in ("failed", "queued"):
        return trial
    if trial.state == "complete":
        raise StudyError(f"trial {trial.id} is complete, with the value {trial.value!r}")
    if trial.attempts <= retries:
        return replace(trial, state="queued", reason=reason, worker=None)
    return replace(trial, state="failed", reason=reason, finished=now())


def released(trial: Trial) -> Trial:
    """Back in the queue."""
    if trial.is_finished:
        raise StudyError(f"trial {trial.id} is {trial.state}; only pending ones go back")
    return trial if trial.state == "queued" else replace(trial, state="queued", worker=None)


def as_reason(reason: object) -> str:
    """A reason for a failure, cut to a length fit for a table."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidInputError(f"reason must be a text that says what happened, got {reason!r}")
    # Some databases take neither null characters nor halves of surrogate pairs.
    short = reason.strip().replace("\0", "\N{REPLACEMENT CHARACTER}")
    short = short.encode("utf-8", "replace").decode("utf-8")
    return short if len(short) <= _REASON_LENGTH else short[: _REASON_LENGTH - 1] + "…"
