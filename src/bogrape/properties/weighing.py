"""`Goals`: the goals of all properties and their combination."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import BoolArray, FloatArray, IntArray
from ..checks import is_number
from ..errors import InvalidInputError
from .front import hypervolume, nondominated
from .goals import Desirability, Extreme, Goal, Limit, as_goal

Combine = Literal["pareto", "sum", "mean", "geometric"]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+ -]{0,59}")
# Column names that tables of trials use themselves.
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
        properties: one goal per property: ``"maximize"``, ``"minimize"``, or one of
            `bogrape.properties`. At least one must not be a limit.
        combine: ``"pareto"``, ``"sum"``, ``"mean"`` or ``"geometric"``; by default ``"pareto"``
            where all properties are maximised or minimised (``"sum"``, if there is one beside
            limits), else ``"geometric"``.
        reference: for ``"pareto"``, a value of each property that every graph of interest beats;
            hypervolumes are measured from it. By default it is derived from the observations.
    """

    properties: Mapping[str, Any]
    combine: Any = None
    reference: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.properties, Mapping) or len(self.properties) < 2:
            raise InvalidInputError(
                "properties must map at least two properties to goals, e.g. "
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
                    f"a property cannot be called {name!r}: tables of trials have a column of "
                    f"that name; try 'my_{name}'"
                )
        goals = {name: as_goal(goal, name) for name, goal in self.properties.items()}
        object.__setattr__(self, "properties", MappingProxyType(goals))
        if all(isinstance(goal, Limit) for goal in goals.values()):
            raise InvalidInputError(
                f"expected a property to be maximised or minimised beside the limits on "
                f"{', '.join(goals)}, got limits only; try adding one, e.g. 'yield': 'maximize'"
            )
        self._check_combine()
        self._check_reference()

    def _check_combine(self) -> None:
        names = [self.names[i] for i in self.targets]
        extremes = [isinstance(self.properties[name], Extreme) for name in names]
        if self.combine is None:
            best = "sum" if len(names) == 1 else "pareto"
            object.__setattr__(self, "combine", best if all(extremes) else "geometric")
        if not isinstance(self.combine, str) or self.combine not in get_args(Combine):
            raise InvalidInputError(
                f"combine must be one of {', '.join(get_args(Combine))}, got {self.combine!r:.80}"
            )
        if self.combine in ("pareto", "sum") and not all(extremes):
            odd = names[extremes.index(False)]
            raise InvalidInputError(
                f"combine={self.combine!r} takes properties that are maximised or minimised, got "
                f"{self.properties[odd]!r} for {odd!r}; try combine='geometric' or 'mean'"
            )
        if self.combine in ("mean", "geometric") and any(extremes):
            odd = names[extremes.index(True)]
            raise InvalidInputError(
                f"combine={self.combine!r} takes desirabilities from 0 to 1, got "
                f"{self.properties[odd].name!r} for {odd!r}; try Linear(worst=..., best=...), or "
                "combine='sum'"
            )
        if self.is_pareto and len(names) < 2:
            raise InvalidInputError(
                f"a front needs several properties, got only {names[0]!r} beside limits; try "
                "combine='sum'"
            )
        if self.is_pareto and any(self.goals[i].share != 1.0 for i in self.targets):
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
            or set(self.reference) != {self.names[i] for i in self.targets}
            or not all(is_number(v) and np.isfinite(v) for v in self.reference.values())
        ):
            raise InvalidInputError(
                "reference must give a number for each of "
                f"{', '.join(self.names[i] for i in self.targets)}, got {self.reference!r:.200}"
            )
        plain = {name: float(value) for name, value in self.reference.items()}
        plain = {name: plain[name] for name in self.names if name in plain}
        object.__setattr__(self, "reference", MappingProxyType(plain))

    def __reduce__(self) -> tuple[Any, ...]:
        reference = None if self.reference is None else dict(self.reference)
        return type(self), (dict(self.properties), self.combine, reference)

    # -- properties ---------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the properties, in order."""
        return tuple(self.properties)

    @cached_property
    def goals(self) -> tuple[Goal, ...]:
        """The goal of each property."""
        return tuple(self.properties.values())

    @cached_property
    def targets(self) -> IntArray:
        """Positions of the properties that are not limits."""
        kinds = [isinstance(goal, Limit) for goal in self.goals]
        return np.flatnonzero(~np.array(kinds, dtype=bool))

    @cached_property
    def limits(self) -> dict[str, Limit]:
        """The limits, by property."""
        return {name: g for name, g in self.properties.items() if isinstance(g, Limit)}

    @cached_property
    def without_limits(self) -> Goals:
        """The goals without limits; there may be a single one."""
        if not self.limits:
            return self
        out = object.__new__(Goals)
        kept = {name: g for name, g in self.properties.items() if name not in self.limits}
        object.__setattr__(out, "properties", MappingProxyType(kept))
        object.__setattr__(out, "combine", self.combine)
        object.__setattr__(out, "reference", self.reference)
        return out

    def keeps_limits(self, values: ArrayLike) -> BoolArray:
        """True for each row of values that satisfies all limits."""
        rows = np.asarray(values, dtype=float)
        out = np.ones(rows.shape[:-1], dtype=bool)
        for name, limit in self.limits.items():
            out &= limit.is_kept(rows[..., self.names.index(name)])
        return out

    @property
    def is_pareto(self) -> bool:
        """True if the aim is a Pareto front, not a score."""
        return bool(self.combine == "pareto")

    @cached_property
    def signs(self) -> FloatArray:
        """Factors that turn maximised or minimised properties into ones to be minimised."""
        return np.array([-goal.sign for goal in self.goals if isinstance(goal, Extreme | Limit)])

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
        shares = np.array([self.goals[i].share for i in self.targets])
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
        """The score of the properties of one graph.

        ``None`` if one is missing, if it violates a limit, or in a Pareto search.
        """
        row = self.row(values) if isinstance(values, Mapping) else np.asarray(values, dtype=float)
        if self.is_pareto or np.isnan(row).any() or not self.keeps_limits(row):
            return None
        return float(self.scores(row))

    # -- fronts -------------------------------------------------------------------------------

    def front(self, values: ArrayLike) -> BoolArray:
        """True for each row of values on the Pareto front of all rows that satisfy the limits."""
        rows = np.asarray(values, dtype=float)
        kept = self.keeps_limits(rows)
        out = np.zeros(len(rows), dtype=bool)
        out[kept] = nondominated(self._minimised(rows[kept]))
        return out

    def _minimised(self, rows: FloatArray) -> FloatArray:
        """The columns of properties that are not limits, with signs to be minimised."""
        return np.asarray((self.signs * rows)[..., self.targets])

    def hypervolume(self, values: ArrayLike, reference: ArrayLike) -> float:
        """The volume that rows of values dominate, up to a reference point in the same units."""
        rows = np.asarray(values, dtype=float).reshape(-1, len(self.names))
        end = np.asarray(reference, dtype=float)
        return hypervolume(self._minimised(rows), self._minimised(end))

    def reference_point(self, values: FloatArray) -> FloatArray:
        """The reference point: as given, or a tenth of their range beyond the front's worst values.

        The range is that of all rows of values, so that a front of one point leaves room beside it.
        Entries of properties with limits hold those limits and have no effect.
        """
        out = self.row({name: limit.limit for name, limit in self.limits.items()})
        if self.reference is not None:
            out[self.targets] = [self.reference[self.names[i]] for i in self.targets]
            return out
        kept = self.keeps_limits(values)
        rows = self._minimised(values[kept] if kept.any() else values)
        spread = rows.max(axis=0) - rows.min(axis=0)
        worst = rows[nondominated(rows)].max(axis=0)
        end = worst + 0.1 * np.where(spread > 0, spread, 1.0)
        out[self.targets] = self.signs[self.targets] * end
        return out

    def in_words(self) -> str:
        """The aim in words, without a final full stop."""
        wanted = [
            f"{name} ({goal.in_words()})"
            for name, goal in self.properties.items()
            if name not in self.limits
        ]
        kept = [f"{name} {limit.in_words()}" for name, limit in self.limits.items()]
        beside = f", with {' and '.join(kept)}" if kept else ""
        if len(wanted) == 1 and self.combine == "sum":
            (goal,) = (self.goals[i] for i in self.targets)
            most = "largest" if isinstance(goal, Extreme) and goal.sign > 0 else "smallest"
            return f"The {most} {self.names[int(self.targets[0])]}{beside}"
        how = {
            "pareto": "The Pareto front of",
            "sum": "The largest weighted sum of",
            "mean": "The largest mean desirability of",
            "geometric": "The largest geometric mean of desirabilities of",
        }[self.combine]
        listed = f"{', '.join(wanted[:-1])} and {wanted[-1]}" if len(wanted) > 1 else wanted[0]
        return f"{how} {listed}{beside}"
