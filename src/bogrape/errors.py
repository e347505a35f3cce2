"""Every exception BoGrape raises on purpose.

::

    BoGrapeError
    ├── InvalidInputError (ValueError)   what came is not what was expected; nothing was changed
    │   ├── InvalidGraphError            adjacency, labels, features or edge labels are malformed
    │   ├── InvalidSpaceError            a graph space or one of its rules makes no sense
    │   ├── NotInSpaceError              a graph breaks the rules of the space it is used with
    │   ├── ObservationsError            some observations cannot be used; says which, and why
    │   ├── UnsupportedError             a combination this method cannot do; says which ones it can
    │   │   └── MissingExtraError (ImportError)  a package is missing; says how to install it
    │   └── StudyError                   a study cannot do this now (told twice, other settings, …)
    │       ├── BudgetSpent              a study has as many trials as were allowed
    │       └── SettingsDiffer           a study exists, with other settings
    ├── FitError                         the Gaussian process cannot be fitted to these data
    ├── InfeasibleSpaceError             no graph satisfies the rules; names the rules at fault
    ├── SearchSpaceExhausted             every graph of the space has been excluded
    ├── SamplingError                    the sampler found no graph within its budget
    ├── StorageError                     the database cannot be read or written; it was not changed
    ├── TooManyFailures                  most evaluations of the objective fail; the study stopped
    ├── EvaluationFailed                 the objective has no value for this graph; says why
    ├── EvaluationNotStarted             the objective could not be called; nothing was evaluated
    ├── SolverError                      a solver or its licence is missing, or it broke down
    ├── WorkerError                      a worker process cannot start, or cannot be given its task
    └── EngineError                      a solver's answer failed its re-check; never returned

Messages say what was expected, what came, and what to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BoGrapeError(Exception):
    """Base of all errors raised on purpose by this package."""


class InvalidInputError(BoGrapeError, ValueError):
    """The input is not what was expected; nothing was changed."""


class InvalidGraphError(InvalidInputError):
    """Adjacency, labels, features or edge labels are malformed."""


class InvalidSpaceError(InvalidInputError):
    """A graph space, or one of its rules, makes no sense."""


class NotInSpaceError(InvalidInputError):
    """A graph breaks the rules of the space it is used with."""


class ObservationsError(InvalidInputError):
    """Some of many observations cannot be used; none was recorded.

    ``problems`` holds the position of each bad one, from 0, and what is wrong with it.
    """

    def __init__(self, problems: Sequence[tuple[int, str]], n_given: int) -> None:
        self.problems = tuple(problems)
        self.n_given = n_given
        super().__init__(self.told([f"observation {i}" for i, _ in problems]))

    def told(self, names: Sequence[str]) -> str:
        """The message, with the observations called by these names."""
        lines = [f"{name}: {words}" for name, (_, words) in zip(names, self.problems, strict=True)]
        head = f"{len(self.problems)} of {self.n_given} observations cannot be used; none was added"
        return "\n  ".join([head, *lines])

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.problems, self.n_given)


class UnsupportedError(InvalidInputError):
    """The chosen method cannot do this; the message names what can."""


class MissingExtraError(UnsupportedError, ImportError):
    """A part of the package needs another package; the message is the line that installs it."""


class StudyError(InvalidInputError):
    """A study cannot do this in its present state; it was not changed."""


class BudgetSpent(StudyError):
    """The study has as many trials as were allowed; nothing new is handed out."""


class SettingsDiffer(StudyError):
    """The study exists with other settings; ``names`` says which differ."""

    def __init__(self, message: str, names: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.names = tuple(names)


class FitError(BoGrapeError):
    """The Gaussian process cannot be fitted to these data."""


class InfeasibleSpaceError(BoGrapeError):
    """No graph satisfies the rules. ``rules`` names a smallest set that cannot hold together."""

    def __init__(self, message: str, rules: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.rules = tuple(rules)


class SearchSpaceExhausted(BoGrapeError):
    """Every graph of the space has been excluded: nothing is left to propose."""


class SamplingError(BoGrapeError):
    """The sampler found too few graphs of the space within its budget: ``found`` of them.

    If it was a deadline that cut the sampler short, ``out_of_time`` is true and ``graphs`` holds
    what had been found.
    """

    def __init__(
        self,
        message: str,
        found: int = 0,
        *,
        out_of_time: bool = False,
        graphs: Sequence[Any] = (),  # of Graph, which this module is below of
    ) -> None:
        super().__init__(message)
        self.found = found
        self.out_of_time = out_of_time
        self.graphs = tuple(graphs)


class StorageError(BoGrapeError):
    """A database of studies cannot be read or written. What was acknowledged before is safe."""


class TooManyFailures(BoGrapeError):
    """Most evaluations of the objective fail; the study stopped, and can go on later."""


class EvaluationFailed(BoGrapeError):
    """The objective has no value for this graph: its trial failed. The message says why."""


class EvaluationNotStarted(BoGrapeError):
    """An evaluation could not be started, so it says nothing about its graph.

    Its trial goes back to the queue and uses up neither budget nor retries. An objective of your
    own may raise this too, for instance when a licence server does not answer.
    """


class SolverError(BoGrapeError):
    """A solver could not be used: it is missing, lacks a licence, ran out of memory or crashed.

    ``kind`` is one of ``missing``, ``licence``, ``size``, ``memory`` and ``failed``.
    """

    def __init__(self, message: str, kind: str = "failed") -> None:
        super().__init__(message)
        self.kind = kind


class WorkerError(BoGrapeError):
    """A process that a proof needs cannot start, load its task or send its answer; says why."""


class EngineError(BoGrapeError):
    """A solver's answer failed its re-check. It is raised, never returned."""
