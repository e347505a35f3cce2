"""`Goals`: what is wanted of all properties together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import BoolArray, FloatArray
from ..checks import is_number
from ..errors import InvalidInputError
from .front import hypervolume, nondominated
from .goals import Desirability, Extreme, Goal, as_goal

Combine = Literal["pareto", "sum", "mean", "geometric"]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+ -]{0,59}")
# What tables of trials call their own columns.
_RESERVED = frozenset(
    (
        *("id", "state", "value", "values", "noise", "noises", "graph", "origin", "worker"),
        *("attempts", "reason", "seed", "certificate", "hyperparameters", "predicted", "outside"),
        *("details", "created", "asked", "finished", "evaluation_seconds", "version", "smiles"),
        *("none",),
    )
)


@final
@dataclass(frozen=True)
class Goals:
    """Goals of all properties and how they are combined.

    Attributes:
        properties: a goal per property: ``"maximize"``, ``"minimize"``, or one of
            `bogrape.properties`.
        combine: ``"pareto"``, ``"sum"``, ``"mean"`` or ``"geometric"``; by default ``"pareto"``
            where all properties are maximised or minimised, else ``"geometric"``.
        reference: for ``"pareto"``, a value of each property that every graph of interest beats:
            hypervolumes are counted from there. By default it follows from the observations.
    """

    properties: Mapping[str, Any]
    combine: Any = None
    reference: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.properties, Mapping) or len(self.properties) < 2:
            raise InvalidInputError(
                "properties must name at least two properties and what is wanted of each, e.g. "
                f"{{'qed': 'maximize', 'sa': 'minimize'}}, got {self.properties!r:.200}"
            )
        for name in self.properties:
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise InvalidInputError(
                    "the name of a property must be at most 60 letters, digits, spaces or _.+- and "
                    f"begin with a letter, got {name!r:.80}"
                )
            if name.lower() in _RESERVED or name.lower().startswith("noise_"):
                raise InvalidInputError(
                    f"a property cannot be called {name!r}: every table of trials has a column of "
                    f"that name; try 'my_{name}'"
                )
        goals = {name: as_goal(goal, name) for name, goal in self.properties.items()}
        object.__setattr__(self, "properties", MappingProxyType(goals))
        self._check_combine()
        self._check_reference()

    def _check_combine(self) -> None:
        extremes = [isinstance(goal, Extreme) for goal in self.goals]
        if self.combine is None:
            object.__setattr__(self, "combine", "pareto" if all(extremes) else "geometric")
        if not isinstance(self.combine, str) or self.combine not in get_args(Combine):
            raise InvalidInputError(
                f"combine must be one of {', '.join(get_args(Combine))}, got {self.combine!r:.80}"
            )
        if self.combine in ("pareto", "sum") and not all(extremes):
            odd = self.names[extremes.index(False)]
            raise InvalidInputError(
                f"combine={self.combine!r} takes properties that are maximised or minimised, got "
                f"{self.properties[odd]!r} for {odd!r}; try combine='geometric' or 'mean'"
            )
        if self.combine in ("mean", "geometric") and any(extremes):
            odd = self.names[extremes.index(True)]
            raise InvalidInputError(
                f"combine={self.combine!r} takes desirabilities from 0 to 1, got "
                f"{self.properties[odd].name!r} for {odd!r}; try Linear(worst=..., best=...), or "
                "combine='sum'"
            )
        if self.is_pareto and any(goal.share != 1.0 for goal in self.goals):
            raise InvalidInputError(
                "weights have no effect in a Pareto search: leave them out, or try combine='sum'"
            )

    def _check_reference(self) -> None:
        if self.reference is None:
            return
        if not self.is_pareto:
            raise InvalidInputError(
                f"reference applies to combine='pareto' only, got combine={self.combine!r}"
            )
        if (
            not isinstance(self.reference, Mapping)
            or set(self.reference) != set(self.names)
            or not all(is_number(v) and np.isfinite(v) for v in self.reference.values())
        ):
            raise InvalidInputError(
                f"reference must give a number for each of {', '.join(self.names)}, got "
                f"{self.reference!r:.200}"
            )
        plain = {name: float(self.reference[name]) for name in self.names}
        object.__setattr__(self, "reference", MappingProxyType(plain))

    def __reduce__(self) -> tuple[Any, ...]:
        reference = None if self.reference is None else dict(self.reference)
        return type(self), (dict(self.properties), self.combine, reference)

    # -- what they say ------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The properties, in their order."""
        return tuple(self.properties)

    @cached_property
    def goals(self) -> tuple[Goal, ...]:
        """The goal of each property."""
        return tuple(self.properties.values())

    @property
    def is_pareto(self) -> bool:
        """True if a front is looked for, and no score."""
        return bool(self.combine == "pareto")

    @cached_property
    def signs(self) -> FloatArray:
        """Factors that turn maximised or minimised properties into ones to be minimised."""
        return np.array([-goal.sign for goal in self.goals if isinstance(goal, Extreme)])

    @cached_property
    def weights(self) -> FloatArray:
        """Weights in a sum, negative for properties that are minimised."""
        return np.asarray(-self.signs * np.array([goal.share for goal in self.goals]))

    def row(self, values: Mapping[str, float]) -> FloatArray:
        """Values in the order of the properties; NaN where one is missing."""
        return np.array([values.get(name, np.nan) for name in self.names], dtype=float)

    def scores(self, values: FloatArray) -> FloatArray:
        """The score of each row of values, along the last axis; to be maximised."""
        if self.combine == "sum":
            return np.asarray(values @ self.weights)
        shares = np.array([goal.share for goal in self.goals])
        shares = shares / shares.sum()
        parts = [
            goal(values[..., i])
            for i, goal in enumerate(self.goals)
            if isinstance(goal, Desirability)
        ]
        if self.combine == "mean":
            out = shares[0] * parts[0]
            for share, part in zip(shares[1:], parts[1:], strict=True):
                out = out + share * part
            return np.asarray(out)
        with np.errstate(under="ignore"):
            out = parts[0] ** shares[0]
            for share, part in zip(shares[1:], parts[1:], strict=True):
                out = out * part**share
        return np.asarray(out)

    def score(self, values: Mapping[str, float] | Sequence[float]) -> float | None:
        """The score of the properties of one graph; ``None`` if one is missing, or for a front."""
        row = self.row(values) if isinstance(values, Mapping) else np.asarray(values, dtype=float)
        if self.is_pareto or np.isnan(row).any():
            return None
        return float(self.scores(row))

    # -- fronts -------------------------------------------------------------------------------

    def front(self, values: ArrayLike) -> BoolArray:
        """True if each row of values lies on the Pareto front of all rows."""
        return nondominated(self.signs * np.asarray(values, dtype=float))

    def hypervolume(self, values: ArrayLike, reference: ArrayLike) -> float:
        """The volume that rows of values dominate, up to a reference point in the same units."""
        rows = np.asarray(values, dtype=float).reshape(-1, len(self.names))
        return hypervolume(self.signs * rows, self.signs * np.asarray(reference, dtype=float))

    def reference_point(self, values: FloatArray) -> FloatArray:
        """The reference point: as given, or a tenth of their range beyond the front's worst values.

        The range is that of all rows of values, so that a front of one point leaves room beside it.
        """
        if self.reference is not None:
            return self.row(self.reference)
        rows = self.signs * values
        spread = rows.max(axis=0) - rows.min(axis=0)
        worst = rows[nondominated(rows)].max(axis=0)
        return np.asarray(self.signs * (worst + 0.1 * np.where(spread > 0, spread, 1.0)))

    def in_words(self) -> str:
        """The aim in words, as a sentence without its end."""
        wanted = [f"{name} ({goal.in_words()})" for name, goal in self.properties.items()]
        how = {
            "pareto": "The Pareto front of",
            "sum": "The largest weighted sum of",
            "mean": "The largest mean desirability of",
            "geometric": "The largest geometric mean of desirabilities of",
        }[self.combine]
        return f"{how} {', '.join(wanted[:-1])} and {wanted[-1]}"
