"""`Trial`: one evaluation of a graph, from proposal to value.

::

    queued ──ask──► pending ──tell──► complete
      ▲                │
      ├── fail, while ─┴─ fail, after the last retry ──► failed
      │   retries are left                                 │
      └── retry, on request ───────────────────────────────┘

A queued trial waits for the next ``ask``; a pending one is being evaluated. ``complete`` is
final, and so is ``failed`` unless another attempt is requested.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from typing import Any, Literal, get_args

from . import display
from .graph import Graph
from .space import GraphSpace

State = Literal["queued", "pending", "complete", "failed"]
Origin = Literal["initial", "random", "proposal", "queued", "added", "repeat"]
STATES: tuple[str, ...] = get_args(State)
ORIGINS: tuple[str, ...] = get_args(Origin)
UNDER = "asked_under"  # in the details: rules of this suggestion only
ABOUT_GRAPH = "about_graph"  # in the details: false if a failure says nothing about its graph
_LOST = "lost: "  # prefix of the reason if the worker disappeared


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One graph of a study with all its data.

    Attributes:
        id: number within the study, 0, 1, 2, ...
        graph: the graph to evaluate.
        state: ``queued``, ``pending``, ``complete`` or ``failed``.
        value: value of the objective, in your units; ``None`` unless complete. In a study of
            several properties it is their score, ``None`` while a property is missing and in a
            Pareto search.
        noise: variance of the value, in your units squared; ``None`` if unknown.
        values: with several properties, the measured values, by name.
        noises: variances of these, if known.
        origin: ``initial`` (the space-filling design), ``random`` (too few values known, or
            too few graphs left), ``proposal``, ``queued`` (by `Study.enqueue`), ``added`` (by
            `Study.add`) or ``repeat``.
        worker: name of the worker that asked for it.
        attempts: number of times it was handed out.
        reason: reason why the last evaluation failed.
        seed: seed of the design or proposal that made it.
        certificate: the proposal's ``value``, ``bound``, ``gap``, ``status``, ``seconds``,
            ``method`` and ``n_evaluations``; value and bound in your units, ``bound`` is ``None``
            when there is none; for EI also ``log_value`` and ``log_bound``. Also the prediction,
            ``mean`` and ``std`` (see `predicted`), ``fit_seconds``, and of the ``n_observations``
            the number the model used, ``n_used``. If failures are modelled, ``success``, the
            predicted probability, ``success_odds``, the log odds before they were recalibrated
            (`bogrape.success`), and ``n_failed`` of ``n_outcomes`` evaluations. With several
            properties, ``properties`` holds mean and std of each.
        hyperparameters: fitted ``alpha``, ``beta``, ``noise`` and the kernel's own; with
            several properties as ``property: alpha`` and so on.
        details: further data for JSON: ``evaluation_seconds``; ``not_started``, how often an
            evaluation could not be started; ``failures``, the earlier failures of a trial that was
            retried on request, each with ``reason`` and ``finished``;
            ``corrections``, see `history`; ``log``, see `log`; `asked_under`; ``about_graph``,
            false if a failure says nothing about the graph (`succeeded`).
        created, asked, finished: times in UTC (ISO 8601).
        version: version of the package that made it.
        space: space of its study, which gives the graph its label names; not stored or compared.
    """

    id: int
    graph: Graph
    state: State
    value: float | None = None
    noise: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    noises: Mapping[str, float] = field(default_factory=dict)
    origin: Origin = "proposal"
    worker: str | None = None
    attempts: int = 0
    reason: str | None = None
    seed: int | None = None
    certificate: Mapping[str, Any] = field(default_factory=dict)
    hyperparameters: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    created: str = ""
    asked: str | None = None
    finished: str | None = None
    version: str = ""
    space: GraphSpace | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.space is not None:
            object.__setattr__(self, "graph", self.space.named(self.graph))

    @property
    def is_finished(self) -> bool:
        """True if its state is final."""
        return self.state in ("complete", "failed")

    @property
    def succeeded(self) -> bool | None:
        """True if its graph could be evaluated, False if not; ``None`` if unknown.

        It is unknown after a failure that says nothing about the graph (`Study.fail`), such as a
        worker that disappeared, and for a value that was withdrawn.
        """
        if self.state == "complete":
            return True
        if self.state != "failed" or self.history or (self.reason or "").startswith(_LOST):
            return None
        return None if self.details.get(ABOUT_GRAPH) is False else False

    @property
    def predicted_success(self) -> float | None:
        """The probability that it can be evaluated, as predicted when it was proposed.

        ``None`` if nothing was predicted, because too few failures were known.
        """
        found = display.finite(self.certificate.get("success"))
        return found if found is not None and 0 <= found <= 1 else None

    @property
    def predicted(self) -> tuple[float, float] | None:
        """Mean and standard deviation predicted for its value when it was proposed.

        In your units; for several properties, see `predictions`.
        """
        return _prediction(self.certificate)

    @property
    def predictions(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation predicted for each of several properties, by name."""
        parts = self.certificate.get("properties")
        found = {
            str(name): _prediction(part)
            for name, part in (parts.items() if isinstance(parts, dict) else ())
        }
        return {name: pair for name, pair in found.items() if pair is not None}

    @property
    def history(self) -> tuple[Mapping[str, Any], ...]:
        """Replaced values with ``value``, ``reason`` and time; oldest first."""
        found = self.details.get("corrections")
        return tuple(found) if isinstance(found, list) else ()

    @property
    def log(self) -> tuple[Mapping[str, Any], ...]:
        """Comments, and signatures of changes (`Study.signed`); oldest first."""
        found = self.details.get("log")
        entries = found if isinstance(found, list) else []
        return tuple(entry for entry in entries if isinstance(entry, dict))

    @property
    def asked_under(self) -> tuple[Mapping[str, Any], ...]:
        """Additional rules under which it was suggested (``ask(rules=, near=)``).

        In stored form, which `bogrape.constraints.rule_from_dict` reads.
        """
        found = self.details.get(UNDER)
        entries = found if isinstance(found, list) else []
        return tuple(entry for entry in entries if isinstance(entry, dict))

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """Reasons why the graph is outside the space; then it is used only for training."""
        return () if self.space is None else tuple(self.space.violations(self.graph))

    @property
    def evaluation_seconds(self) -> float | None:
        """Seconds the evaluation took; ``None`` if unknown.

        As reported with the result; otherwise the time from being handed out to the result.
        """
        measured = self.details.get("evaluation_seconds")
        if isinstance(measured, (int, float)):
            return float(measured)
        if self.asked is None or self.finished is None:
            return None
        try:
            start, end = datetime.fromisoformat(self.asked), datetime.fromisoformat(self.finished)
            return max(0.0, (end - start).total_seconds())
        except (TypeError, ValueError):  # not a date, or only one of them has a time zone
            return None

    def _repr_html_(self) -> str | None:
        return display.html(self)


def _prediction(data: object) -> tuple[float, float] | None:
    """Mean and deviation from a certificate, or ``None`` if it is malformed."""
    if not isinstance(data, Mapping):
        return None
    mean, std = display.finite(data.get("mean")), display.finite(data.get("std"))
    return None if mean is None or std is None else (mean, std)


def observed(trials: Iterable[Trial]) -> list[float]:
    """Values of the complete trials."""
    return [trial.value for trial in trials if trial.value is not None]


def observed_noise(trials: Iterable[Trial]) -> list[float]:
    """Variances of the values of the complete trials; NaN if unknown."""
    complete = [trial for trial in trials if trial.value is not None]
    return [math.nan if trial.noise is None else trial.noise for trial in complete]


def now() -> str:
    """The current time in the format of trials."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@cache
def package_version() -> str:
    """Version of the installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bogrape")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"
