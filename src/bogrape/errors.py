"""All exceptions that BoGrape raises on purpose.

::

    BoGrapeError
    ├── InvalidInputError (ValueError)   the input is not as expected; nothing was changed
    │   ├── InvalidGraphError            adjacency, labels, features or edge labels are malformed
    │   ├── InvalidSpaceError            a graph space or one of its rules is not valid
    │   ├── NotInSpaceError              a graph breaks the rules of the space it is used with
    │   ├── ObservationsError            some observations cannot be used; says which and why
    │   ├── UnsupportedError             the method does not support this; says which one does
    │   │   └── MissingExtraError (ImportError)  a package is missing; says how to install it
    │   └── StudyError                   a study cannot do this now (told twice, other settings, …)
    │       ├── BudgetSpent              the study has used its budget of trials
    │       └── SettingsDiffer           a study of this name exists with other settings
    ├── FitError                         the Gaussian process cannot be fitted to these data
    ├── InfeasibleSpaceError             no graph satisfies the rules; names the contradictory ones
    ├── SearchSpaceExhausted             every graph of the space has been excluded
    ├── SamplingError                    the sampler found no graph within its budget
    ├── StorageError                     the database cannot be read or written; it was not changed
    ├── TooManyFailures                  most evaluations of the objective fail; the study stopped
    ├── EvaluationFailed                 the objective gave no value for this graph; says why
    ├── EvaluationNotStarted             the objective could not be called; nothing was evaluated
    ├── SolverError                      a solver or its licence is missing, or the solver crashed
    ├── WorkerError                      a worker process cannot start or receive its task
    └── EngineError                      a solver's answer failed its re-check; please report it

Messages say what was expected, what was found, and what to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BoGrapeError(Exception):
    """Base of all errors raised on purpose by this package."""


class InvalidInputError(BoGrapeError, ValueError):
    """The input is not as expected; nothing was changed."""


class InvalidGraphError(InvalidInputError):
    """Adjacency, labels, features or edge labels are malformed."""


class InvalidSpaceError(InvalidInputError):
    """A graph space, or one of its rules, is not valid."""


class NotInSpaceError(InvalidInputError):
    """A graph breaks the rules of the space it is used with."""


class ObservationsError(InvalidInputError):
    """Some of many observations cannot be used; none was recorded.

    ``problems`` holds the position of each bad observation, from 0, and its problem.
    """

    def __init__(self, problems: Sequence[tuple[int, str]], n_given: int) -> None:
        self.problems = tuple(problems)
        self.n_given = n_given
        super().__init__(self.told([f"observation {i}" for i, _ in problems]))

    def told(self, names: Sequence[str]) -> str:
        """The message, with these names for the observations."""
        lines = [f"{name}: {words}" for name, (_, words) in zip(names, self.problems, strict=True)]
        head = f"{len(self.problems)} of {self.n_given} observations cannot be used; none was added"
        return "\n  ".join([head, *lines])

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.problems, self.n_given)


class UnsupportedError(InvalidInputError):
    """The chosen method does not support this; the message names one that does."""


class MissingExtraError(UnsupportedError, ImportError):
    """An optional dependency is missing; the message has the line that installs it."""


class StudyError(InvalidInputError):
    """A study cannot do this in its present state; it was not changed."""


class BudgetSpent(StudyError):
    """The study has used its budget of trials; no new graph is handed out."""


class SettingsDiffer(StudyError):
    """The study exists with other settings; ``names`` lists those that differ."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


class FitError(BoGrapeError):
    """The Gaussian process cannot be fitted to these data."""


class InfeasibleSpaceError(BoGrapeError):
    """No graph satisfies the rules. ``rules`` names a minimal set of contradictory rules."""

    def __init__(self, message: str, rules: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.rules = tuple(rules)


class SearchSpaceExhausted(BoGrapeError):
    """Every graph of the space has been excluded: there is none to propose.

    ``proposals`` holds those of a batch that had already been found.
    """

    proposals: Sequence[Any] = ()


class SamplingError(BoGrapeError):
    """The sampler found too few graphs of the space within its budget: ``found`` of them.

    If a deadline stopped the sampler, ``out_of_time`` is true and ``graphs`` holds the graphs
    found until then; ``proposals`` holds those of a batch that had already been found.
    """

    proposals: Sequence[Any] = ()

    def __init__(
        self,
        message: str,
        found: int = 0,
        *,
        out_of_time: bool = False,
        graphs: Sequence[Any] = (),  # of Graph, which this module must not import
    ) -> None:
        super().__init__(message)
        self.found = found
        self.out_of_time = out_of_time
        self.graphs = tuple(graphs)


class StorageError(BoGrapeError):
    """A database of studies cannot be read or written. Acknowledged trials are safe."""


class TooManyFailures(BoGrapeError):
    """Most evaluations of the objective failed, so the run stopped; it can be continued."""


class EvaluationFailed(BoGrapeError):
    """The objective gave no value for this graph: its trial failed. The message says why."""


class EvaluationNotStarted(BoGrapeError):
    """An evaluation could not be started, for reasons unrelated to its graph.

    Its trial goes back to the queue and uses up neither budget nor retries. Your own objective
    may raise this too, for instance when a licence server does not answer.
    """


class SolverError(BoGrapeError):
    """A solver cannot be used: it is missing, lacks a licence, ran out of memory or crashed.

    ``kind`` is one of ``missing``, ``licence``, ``size``, ``memory`` and ``failed``.
    """

    def __init__(self, message: str, kind: str = "failed") -> None:
        super().__init__(message)
        self.kind = kind


class WorkerError(BoGrapeError):
    """A worker process cannot start, load its task or send its answer; says why."""


class EngineError(BoGrapeError):
    """A solver's answer failed its re-check. Such an answer is never returned."""
