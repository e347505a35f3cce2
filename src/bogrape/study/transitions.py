"""Transitions between the states of a trial (see `trial`): each returns the new trial.

Repeating a transition returns the trial unchanged; a forbidden transition is an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..errors import InvalidInputError, StudyError
from ..trial import ABOUT_GRAPH, Trial, now

_REASON_LENGTH = 2000


def taken(trial: Trial, worker: str | None) -> Trial:
    """Handed out to a worker."""
    return replace(trial, state="pending", worker=worker, attempts=trial.attempts + 1, asked=now())


def told(
    trial: Trial, value: float, seconds: float | None = None, noise: float | None = None
) -> Trial:
    """Complete with a value and its noise, and the seconds its evaluation took."""
    if trial.state == "complete":
        if trial.value == value and noise in (None, trial.noise):
            return trial
        raise StudyError(
            f"trial {trial.id} already has the value {_in_words(trial.value, trial.noise)}, got "
            f"{_in_words(value, noise)}; correct mistakes "
            "with study.correct(trial, value), and record a repeated evaluation with "
            "study.add(trial.graph, value)"
        )
    if trial.state == "failed":
        raise late(trial)
    details = timed(trial, seconds)
    return replace(
        trial,
        state="complete",
        value=value,
        noise=noise,
        reason=None,
        finished=now(),
        details=details,
    )


def corrected(trial: Trial, value: float | None, reason: str | None, noise: float | None) -> Trial:
    """With another value and its noise, or with none; the old ones are kept."""
    if not trial.is_finished:
        raise unfinished(trial)
    if value is not None and (trial.value, trial.noise) == (value, noise):
        return trial
    before: dict[str, Any] = {"value": trial.value, "reason": trial.reason, "corrected": now()}
    if trial.noise is not None:
        before["noise"] = trial.noise
    if reason is not None:
        before["because"] = reason
    corrections = [*trial.details.get("corrections", []), before]
    return replace(
        trial,
        state="failed" if value is None else "complete",
        value=value,
        noise=None if value is None else noise,
        reason=(reason or "the value was withdrawn") if value is None else None,
        details={**trial.details, "corrections": corrections},
    )


def failed(
    trial: Trial,
    reason: str,
    retries: int,
    seconds: float | None = None,
    *,
    about_graph: bool = True,
) -> Trial:
    """Failed for good, or queued again if retries remain."""
    if trial.state in ("failed", "queued"):
        return trial
    if trial.state == "complete":
        known = dict(trial.values) if trial.values else trial.value
        raise StudyError(f"trial {trial.id} is complete, with the value {known!r}")
    if trial.attempts - trial.details.get("not_started", 0) <= retries:
        return replace(trial, state="queued", reason=reason, worker=None)
    details = timed(trial, seconds)
    if not about_graph:
        details = {**details, ABOUT_GRAPH: False}
    return replace(trial, state="failed", reason=reason, finished=now(), details=details)


def released(trial: Trial) -> Trial:
    """Back in the queue."""
    if trial.is_finished:
        raise StudyError(f"trial {trial.id} is {trial.state}; only pending trials can be released")
    return trial if trial.state == "queued" else replace(trial, state="queued", worker=None)


def not_started(trial: Trial, reason: str) -> Trial:
    """Back in the queue without having been evaluated: this does not count as an attempt."""
    if trial.state == "queued":
        return trial
    times = trial.details.get("not_started", 0) + 1
    details = {**trial.details, "not_started": times}
    return replace(released(trial), reason=reason, details=details)


def retried(trial: Trial) -> Trial:
    """Back in the queue after a failure, which is kept on record."""
    if trial.state == "queued":
        return trial
    if trial.state != "failed":
        raise StudyError(
            f"trial {trial.id} is {trial.state}; only failed trials can be retried. Use "
            "study.repeat(trial) to evaluate a complete one again, and "
            "study.release(trial) to give back a pending one"
        )
    failure = {"reason": trial.reason, "finished": trial.finished}
    failures = [*trial.details.get("failures", []), failure]
    details = {**trial.details, "failures": failures}
    details.pop("evaluation_seconds", None)
    details.pop(ABOUT_GRAPH, None)
    return replace(trial, state="queued", worker=None, finished=None, details=details)


def check_holder(trial: Trial, given: Trial) -> None:
    """Refuse a change by a worker whose trial has since been given to another worker."""
    if given.state != "pending" or trial.state != "pending":
        return  # the caller does not claim to hold the trial
    if (trial.worker, trial.attempts) != (given.worker, given.attempts):
        raise StudyError(
            f"trial {trial.id} was taken from worker {given.worker!r} and given to "
            f"{trial.worker!r}, who evaluates it now; record a late value with "
            "study.add(trial.graph, value)"
        )


def as_seconds(seconds: object) -> float | None:
    """A duration, or ``None`` if it was not measured."""
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise InvalidInputError(f"seconds must be a number >= 0 or None, got {seconds!r}")
    if not 0 <= seconds < math.inf:
        raise InvalidInputError(f"seconds must be a finite number >= 0, got {seconds!r}")
    return float(seconds)


def _in_words(value: float | None, noise: float | None) -> str:
    return f"{value!r}" if noise is None else f"{value!r} with noise {noise!r}"


def late(trial: Trial) -> StudyError:
    """The error for a late value of a failed trial."""
    return StudyError(
        f"trial {trial.id} was given up as failed ({trial.reason}); record a late value with "
        "study.add(trial.graph, value)"
    )


def unfinished(trial: Trial) -> StudyError:
    """The error for a correction where there is no value yet."""
    return StudyError(
        f"trial {trial.id} is {trial.state} and has nothing to correct; record its value with "
        "study.tell, or its failure with study.fail"
    )


def timed(trial: Trial, seconds: float | None) -> Mapping[str, Any]:
    """The details of the trial with the seconds its evaluation took."""
    if seconds is None:
        return trial.details
    return {**trial.details, "evaluation_seconds": seconds}


def as_reason(reason: object) -> str:
    """A reason for a failure, truncated to fit in a table."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidInputError(f"reason must be a string that says what happened, got {reason!r}")
    # Some databases accept neither null characters nor halves of surrogate pairs.
    short = reason.strip().replace("\0", "\N{REPLACEMENT CHARACTER}")
    short = short.encode("utf-8", "replace").decode("utf-8")
    return short if len(short) <= _REASON_LENGTH else short[: _REASON_LENGTH - 1] + "…"
