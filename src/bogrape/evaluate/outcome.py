"""`Outcome`: the result of one evaluation, a value or the reason for a failure."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from ..errors import EvaluationNotStarted, InvalidInputError
from ..graph import Graph
from ..study.several import plain_values
from ..study.values import Measurement, as_noise, as_value

Kind = Literal[
    "value",
    "exception",
    "not a value",
    "exit",
    "time limit",
    "memory",
    "killed",
    "lost",
    "not started",
]
Objective = Callable[[Graph], Any]


@dataclass(frozen=True)
class Outcome:
    """The end of an evaluation.

    ``kind`` is ``value``; ``exception``; ``not a value`` (NaN, infinite, None, a wrong type);
    ``exit`` (the objective called ``sys.exit`` or ended its process); ``time limit``; ``memory``;
    ``killed`` (a signal, such as a segmentation fault); ``lost`` (a worker or job disappeared); or
    ``not started`` (the objective was never called, so this says nothing about the graph).
    ``seconds`` is how long the objective ran, if known.
    """

    kind: Kind
    value: float | None = None
    _: KW_ONLY
    reason: str | None = None
    seconds: float | None = field(default=None, compare=False)
    noise: float | None = None  # variance of the value, if the objective returns it
    values: Mapping[str, float] = field(default_factory=dict)  # several properties, by name
    noises: Mapping[str, float] = field(default_factory=dict)  # their variances, if known

    @property
    def is_value(self) -> bool:
        """True if the evaluation gave a value."""
        return self.kind == "value"

    @property
    def measured(self) -> tuple[Any, Any]:
        """Value and noise; for several properties, both by name."""
        return (self.values, self.noises) if self.values else (self.value, self.noise)

    @property
    def is_started(self) -> bool:
        """True if the objective was called at all."""
        return self.kind != "not started"

    def to_json(self) -> str:
        """The outcome as text, to be sent between processes."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Read what `to_json` wrote; anything else becomes a lost evaluation."""
        try:
            data = json.loads(text)
            outcome = cls(
                data["kind"],
                data["value"],
                reason=data["reason"],
                seconds=data.get("seconds"),
                noise=as_noise(data.get("noise")),
            )
            if data.get("values"):
                values, noises = plain_values(data["values"], data.get("noises"))
                outcome = replace(outcome, values=values, noises=noises)
            if outcome.kind not in get_args(Kind):
                raise ValueError(f"unknown kind {outcome.kind!r}")
            if outcome.is_value and not outcome.values:
                as_value(outcome.value)
            seconds = outcome.seconds
            if seconds is not None and not 0 <= seconds < math.inf:
                raise ValueError(f"{seconds!r} seconds")
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            return cls("lost", reason=f"the evaluation's answer cannot be read: {error}")
        return outcome


def evaluate(objective: Objective, graph: Graph) -> Outcome:
    """Call the objective and time it. Everything but Ctrl-C becomes an outcome."""
    start = time.perf_counter()
    outcome = _call(objective, graph)
    return replace(outcome, seconds=time.perf_counter() - start)


def _call(objective: Objective, graph: Graph) -> Outcome:
    try:
        value = objective(graph)
    except EvaluationNotStarted as error:
        return Outcome("not started", reason=_safe_text(error))
    except MemoryError as error:
        return Outcome("memory", reason=f"out of memory: {error}".rstrip(": "))
    except SystemExit as error:
        return Outcome("exit", reason=f"the objective called sys.exit({error.code!r})")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is, the study goes on
        return Outcome("exception", reason=f"{type(error).__name__}: {_safe_text(error)}")
    try:
        measured = value if isinstance(value, Measurement) else Measurement(value)
        if isinstance(measured.value, Mapping):
            values, noises = plain_values(measured.value, measured.noise)
            return Outcome("value", values=values, noises=noises)
        return Outcome("value", as_value(measured.value), noise=as_noise(measured.noise))
    except InvalidInputError as error:
        return Outcome("not a value", reason=str(error))
    except Exception as error:  # a value whose own methods raise
        return Outcome("not a value", reason=f"{type(value).__name__}: {_safe_text(error)}")


def evaluate_json(objective: Objective, graph: str) -> str:
    """`evaluate` with text as input and output, to be run by remote executors."""
    return evaluate(objective, Graph.from_json(graph)).to_json()


def _safe_text(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:
        return "(its message cannot be shown)"
