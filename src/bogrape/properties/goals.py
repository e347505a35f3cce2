r"""Goals for one property: maximise it, minimise it, a desirability from 0 to 1, or a limit.

The desirabilities are the score modifiers of GuacaMol (Brown, Fiscato, Segler and Vaucher, 2019):
``Gaussian``, ``MinGaussian`` and ``MaxGaussian`` under the same names, and ``Linear``, which is its
thresholded linear (``Linear(0, threshold)``) and its clipped score.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, final

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..errors import InvalidInputError


@dataclass(frozen=True)
class Goal(ABC):
    """Goal for one property."""

    name: ClassVar[str]  # in study files and databases

    @property
    @abstractmethod
    def share(self) -> float:
        """Weight of this goal."""

    def to_dict(self) -> dict[str, Any]:
        """The goal as plain data that `as_goal` reads back."""
        return {"goal": self.name, **asdict(self)}

    @abstractmethod
    def in_words(self) -> str:
        """The goal as part of a sentence."""


@dataclass(frozen=True)
class Extreme(Goal):
    """Goal of a property that is maximised or minimised."""

    weight: float = 1.0
    sign: ClassVar[float]

    def __post_init__(self) -> None:
        _check_numbers(self)

    @property
    def share(self) -> float:
        return self.weight

    def in_words(self) -> str:
        return self.name


@final
@dataclass(frozen=True)
class Maximize(Extreme):
    """The larger the better; ``weight`` counts in a weighted sum."""

    name: ClassVar[str] = "maximize"
    sign: ClassVar[float] = 1.0


@final
@dataclass(frozen=True)
class Minimize(Extreme):
    """The smaller the better; ``weight`` counts in a weighted sum."""

    name: ClassVar[str] = "minimize"
    sign: ClassVar[float] = -1.0


@dataclass(frozen=True)
class Desirability(Goal):
    """Desirability of a value, from 0 to 1."""

    @abstractmethod
    def __call__(self, values: FloatArray) -> FloatArray:
        """The desirability of each value."""


@dataclass(frozen=True)
class _Bell(Desirability):
    """One at the mean, falling off as a Gaussian on one or both sides."""

    mean: float
    std: float
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_numbers(self)
        if self.std <= 0:
            raise _wrong(self, "std > 0", f"std={self.std!r}")

    @property
    def share(self) -> float:
        return self.weight

    def _fall(self, values: FloatArray) -> FloatArray:
        with np.errstate(over="ignore", under="ignore"):  # far away, the desirability is 0
            return np.exp(-0.5 * ((values - self.mean) / self.std) ** 2)


@final
@dataclass(frozen=True)
class Gaussian(_Bell):
    """Near ``mean``: one there, falling off on both sides as a Gaussian of deviation ``std``.

    >>> float(Gaussian(2.0, 1.0)(np.array(3.0)).round(4))
    0.6065
    """

    name: ClassVar[str] = "gaussian"

    def __call__(self, values: FloatArray) -> FloatArray:
        return self._fall(values)

    def in_words(self) -> str:
        return f"near {self.mean:g} ± {self.std:g}"


@final
@dataclass(frozen=True)
class MinGaussian(_Bell):
    """At most ``mean``: one there and below, falling off above as a Gaussian."""

    name: ClassVar[str] = "min_gaussian"

    def __call__(self, values: FloatArray) -> FloatArray:
        return np.where(values <= self.mean, 1.0, self._fall(values))

    def in_words(self) -> str:
        return f"at most {self.mean:g}, or little above (± {self.std:g})"


@final
@dataclass(frozen=True)
class MaxGaussian(_Bell):
    """At least ``mean``: one there and above, falling off below as a Gaussian."""

    name: ClassVar[str] = "max_gaussian"

    def __call__(self, values: FloatArray) -> FloatArray:
        return np.where(values >= self.mean, 1.0, self._fall(values))

    def in_words(self) -> str:
        return f"at least {self.mean:g}, or little below (± {self.std:g})"


@final
@dataclass(frozen=True)
class Linear(Desirability):
    """Linear from 0 at ``worst`` to 1 at ``best``, constant beyond; ``best`` may be smaller.

    >>> Linear(worst=6.0, best=2.0)(np.array([7.0, 5.0, 1.0])).tolist()
    [0.0, 0.25, 1.0]
    """

    worst: float
    best: float
    weight: float = 1.0
    name: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        _check_numbers(self)
        if self.worst == self.best or not math.isfinite(self.best - self.worst):
            raise _wrong(self, "worst and best that differ", f"{self.worst!r} and {self.best!r}")

    @property
    def share(self) -> float:
        return self.weight

    def __call__(self, values: FloatArray) -> FloatArray:
        return np.clip((values - self.worst) / (self.best - self.worst), 0.0, 1.0)

    def in_words(self) -> str:
        return f"from {self.worst:g} (worst) to {self.best:g} (best)"


@dataclass(frozen=True)
class Limit(Goal):
    """A limit that graphs of interest satisfy; a larger margin has no advantage."""

    limit: float
    sign: ClassVar[float]  # -1 if values must not exceed the limit, else 1

    def __post_init__(self) -> None:
        _check_numbers(self)

    @property
    def share(self) -> float:
        return 0.0

    def is_kept(self, values: FloatArray) -> BoolArray:
        """True for each value that satisfies the limit."""
        return np.asarray(self.sign * (values - self.limit) >= 0)

    def log_probability(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        """Logarithm of the probability that Gaussian values satisfy the limit."""
        from scipy.special import log_ndtr  # late: keeps `import bogrape` quick

        least = np.finfo(float).tiny  # a value without uncertainty satisfies the limit or not
        return np.asarray(log_ndtr(self.sign * (mean - self.limit) / np.maximum(std, least)))


@final
@dataclass(frozen=True)
class AtMost(Limit):
    """No larger than ``limit``.

    >>> AtMost(0.3).is_kept(np.array([0.2, 0.3, 0.4])).tolist()
    [True, True, False]
    """

    name: ClassVar[str] = "at_most"
    sign: ClassVar[float] = -1.0

    def in_words(self) -> str:
        return f"no more than {self.limit:g}"


@final
@dataclass(frozen=True)
class AtLeast(Limit):
    """No smaller than ``limit``."""

    name: ClassVar[str] = "at_least"
    sign: ClassVar[float] = 1.0

    def in_words(self) -> str:
        return f"no less than {self.limit:g}"


KINDS: Mapping[str, type[Goal]] = {
    kind.name: kind
    for kind in (Maximize, Minimize, Gaussian, MinGaussian, MaxGaussian, Linear, AtMost, AtLeast)
}


def as_goal(given: object, what: str) -> Goal:
    """The goal given as a `Goal`, by name (``"maximize"``), or as a table from a study file."""
    if type(given) in KINDS.values():
        assert isinstance(given, Goal)
        return given
    if isinstance(given, str) and given in ("maximize", "minimize"):
        return KINDS[given]()
    if isinstance(given, Mapping):
        data = {str(key): value for key, value in given.items()}
        kind = KINDS.get(str(data.pop("goal", None)))
        if kind is not None:
            try:
                return kind(**data)
            except TypeError as error:  # a missing or an unexpected parameter
                raise InvalidInputError(f"property {what!r:.60}: {error}") from None
    raise InvalidInputError(
        f"expected 'maximize', 'minimize' or one of the goals of bogrape.properties for the "
        f"property {what!r:.60}, got {given!r:.100}; try Linear(worst=6.0, best=2.0), in a study "
        "file {goal = 'linear', worst = 6.0, best = 2.0}. The goals are " + ", ".join(KINDS)
    )


def _check_numbers(goal: Any) -> None:
    """Convert all fields to floats; refuse anything but finite numbers."""
    for name in (field.name for field in fields(goal)):
        value = getattr(goal, name)
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise _wrong(goal, f"{name} to be a finite number", repr(value))
        object.__setattr__(goal, name, float(value))
    if not isinstance(goal, Limit) and goal.weight <= 0:
        raise _wrong(goal, "weight > 0", f"weight={goal.weight!r}; leave the property out instead")


def _wrong(goal: Goal, expected: str, got: str) -> InvalidInputError:
    return InvalidInputError(f"{type(goal).__name__}: expected {expected}, got {got:.100}")
