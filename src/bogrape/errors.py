"""Every exception BoGrape raises on purpose.

::

    BoGrapeError
    ├── InvalidInputError (ValueError)   what came is not what was expected; nothing was changed
    │   ├── InvalidGraphError            adjacency, labels, features or edge labels are malformed
    │   ├── InvalidSpaceError            a graph space or one of its rules makes no sense
    │   ├── NotInSpaceError              a graph breaks the rules of the space it is used with
    │   └── UnsupportedError             a combination this method cannot do; says which ones it can
    ├── FitError                         the Gaussian process cannot be fitted to these data
    ├── InfeasibleSpaceError             no graph satisfies the rules; names the rules at fault
    ├── SearchSpaceExhausted             every graph of the space has been excluded
    ├── SamplingError                    the sampler found no graph within its budget
    └── EngineError                      a solver's answer failed its re-check; never returned to you

Messages say what was expected, what came, and what to try.
"""

from __future__ import annotations

from collections.abc import Sequence


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


class UnsupportedError(InvalidInputError):
    """The chosen method cannot do this; the message names what can."""


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
    """The sampler found no (further) graph of the space within its budget."""


class EngineError(BoGrapeError):
    """A solver's answer failed its re-check. It is raised, never returned."""
