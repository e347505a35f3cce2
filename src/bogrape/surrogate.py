"""Custom surrogates: any model that fits observed graphs and predicts others.

A surrogate has ``fit(graphs, y)`` and ``predict(graphs) -> (mean, std)``: a random forest, an
ensemble of graph neural networks, a scikit-learn pipeline (`RegressorSurrogate`). If its ``fit``
has a parameter ``noise``, it also gets the variances of the values. Proposals see a surrogate
through a `FittedSurrogate`, which checks its predictions and stores its observations.
See ``docs/extending/own-surrogate.md``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from functools import cache, cached_property
from inspect import signature
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from .arrays import BoolArray, FloatArray
from .counts import count
from .errors import InvalidInputError, UnsupportedError
from .graph import Graph
from .kernels import node_features, path_features
from .observed_values import Standardised, checked_noise, checked_observations, standardise

logger = logging.getLogger(__name__)


@runtime_checkable
class Surrogate(Protocol):
    """A model of the objective.

    Predictions must not depend on how the nodes of a graph are numbered, nor on the other graphs of
    the list, and asking twice must give the same answer.
    """

    def fit(self, graphs: Sequence[Graph], y: FloatArray) -> object:
        """Fit the observations, discarding anything learnt before."""

    def predict(self, graphs: Sequence[Graph]) -> tuple[ArrayLike, ArrayLike]:
        """Mean and standard deviation of the objective, one number each per graph."""


SurrogateLike = Surrogate | Callable[[], Surrogate]


def unfitted(surrogate: SurrogateLike) -> Surrogate:
    """A new surrogate: a copy, or the result of a class or function without arguments."""
    if isinstance(surrogate, type) or not isinstance(surrogate, Surrogate):
        if not callable(surrogate):
            raise _no_surrogate(surrogate)
        surrogate = surrogate()
        if not isinstance(surrogate, Surrogate):
            raise _no_surrogate(surrogate)
        return surrogate
    return deepcopy(surrogate)


def _takes_noise(surrogate: Surrogate) -> bool:
    try:
        parameters = signature(surrogate.fit).parameters
    except (TypeError, ValueError):  # of a function in C
        return False
    return "noise" in parameters


@cache
def _say_noise_is_unused(name: str) -> None:
    logger.warning(
        "the surrogate %s ignores the known noise of some values: its fit has no parameter noise, "
        "a list of variances with NaN where they are unknown",
        name,
    )


def _no_surrogate(thing: object) -> InvalidInputError:
    return InvalidInputError(
        "expected a surrogate with fit(graphs, y) and predict(graphs) -> (mean, std), or a "
        f"function without arguments that makes one, got {type(thing).__name__}"
    )


@dataclass(frozen=True, eq=False)
class FittedSurrogate:
    """A custom surrogate together with the observations it was fitted to.

    Create one with `FittedSurrogate.fit`, or from a surrogate that is already fitted.
    """

    surrogate: Surrogate
    graphs: tuple[Graph, ...]
    y: FloatArray  # in the objective's own units
    _: KW_ONLY
    to_beat: BoolArray | None = None  # observations that count for `best`; None for all
    noise: FloatArray | None = None  # variances of y, NaN where unknown; None if none is known

    def __post_init__(self) -> None:
        if not isinstance(self.surrogate, Surrogate) or isinstance(self.surrogate, type):
            raise _no_surrogate(self.surrogate)
        object.__setattr__(self, "y", checked_observations(self.graphs, self.y))
        object.__setattr__(self, "graphs", tuple(self.graphs))
        if self.to_beat is not None:
            object.__setattr__(self, "to_beat", np.asarray(self.to_beat, dtype=bool))

    @classmethod
    def fit(
        cls,
        surrogate: SurrogateLike,
        graphs: Sequence[Graph],
        y: ArrayLike,
        *,
        noise: ArrayLike | None = None,
        to_beat: ArrayLike | None = None,
    ) -> FittedSurrogate:
        """Fit a copy of a surrogate, or a new one if a class or function is given.

        ``noise`` (variances of y, NaN where unknown) is passed on to a surrogate whose ``fit`` has
        a parameter of that name; others cannot use it, and a warning says so.
        """
        values = checked_observations(graphs, y)
        model = unfitted(surrogate)
        known = None
        if checked_noise(noise, len(values)) is not None:
            known = np.array(noise, dtype=float)
        if known is None or not _takes_noise(model):
            if known is not None:
                _say_noise_is_unused(type(model).__name__)
            model.fit(list(graphs), values.copy())
        else:
            model.fit(list(graphs), values.copy(), noise=known.copy())  # type: ignore[call-arg]
        beaten = None if to_beat is None else np.asarray(to_beat, dtype=bool)
        return cls(model, tuple(graphs), values, to_beat=beaten, noise=known)

    @property
    def name(self) -> str:
        """Name used in messages and reports."""
        return type(self.surrogate).__name__

    @cached_property
    def standard(self) -> Standardised:
        """The observations in standardised units."""
        return standardise(self.y)

    @property
    def standard_best(self) -> float:
        """Smallest observed value among those to beat, standardised."""
        y = self.standard.y
        if self.to_beat is None or not self.to_beat.any():
            return float(y.min())
        return float(y[self.to_beat].min())

    def predict(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each graph, checked; in the objective's own units."""
        found = self.surrogate.predict(list(graphs))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise self._wrong("two arrays, mean and standard deviation", type(found).__name__)
        mean, std = (self._numbers(part, len(graphs)) for part in found)
        if std.min(initial=0.0) < 0:
            raise self._wrong("standard deviations >= 0", f"{std.min():.6g}")
        return mean, std

    def believe(self, graphs: Sequence[Graph]) -> FittedSurrogate:
        """A surrogate fitted with each graph observed at its current mean."""
        mean, _ = self.predict(graphs)
        beaten = self.to_beat
        if beaten is not None:
            beaten = np.concatenate([beaten, np.ones(len(graphs), dtype=bool)])
        every, noise = [*self.graphs, *graphs], self.noise
        if noise is not None:
            noise = np.concatenate([noise, np.full(len(graphs), np.nan)])
        return FittedSurrogate.fit(
            self.surrogate, every, np.concatenate([self.y, mean]), noise=noise, to_beat=beaten
        )

    def _numbers(self, values: Any, n: int) -> FloatArray:
        try:
            out = np.asarray(values, dtype=float)
        except (TypeError, ValueError):
            raise self._wrong("arrays of numbers", type(values).__name__) from None
        if out.shape != (n,):
            raise self._wrong(f"one number per graph, shape ({n},)", f"shape {out.shape}")
        if not np.isfinite(out).all():
            raise self._wrong("finite numbers", f"{out[~np.isfinite(out)][0]}")
        return out

    def _wrong(self, expected: str, got: str) -> InvalidInputError:
        return InvalidInputError(
            f"surrogate {self.name}: expected predict to return {expected}, got {got}"
        )


@dataclass(frozen=True)
class PathShares:
    """Graphs as vectors of fixed length: shares of pairs by distance and labels, and of nodes.

    Pairs at ``n_lengths`` steps and beyond share one column.
    """

    n_lengths: int
    n_labels: int = 1

    def __call__(self, graphs: Sequence[Graph]) -> FloatArray:
        """One row per graph."""
        counts = count(graphs, self.n_labels, pairs=True)
        paths = path_features(counts, labelled=True)
        out = np.zeros((len(graphs), self.n_lengths, *paths.shape[2:]))
        near = min(self.n_lengths, paths.shape[1])
        out[:, :near] = paths[:, :near]
        out[:, -1] += paths[:, near:].sum(axis=1)
        nodes = node_features(counts, counts.features.shape[1])
        return np.concatenate([out.reshape(len(graphs), -1), nodes], axis=1)


@dataclass(eq=False)
class RegressorSurrogate:
    """A scikit-learn regressor or pipeline over vectors that describe graphs.

    The deviation is that of ``predict(X, return_std=True)`` if the regressor supports it, and
    otherwise the spread of its ensemble (``estimators_``).

    Args:
        regressor: an unfitted regressor.
        describe: function that makes one row of numbers per graph, for instance `PathShares`.
    """

    regressor: Any
    describe: Callable[[Sequence[Graph]], FloatArray]

    def fit(self, graphs: Sequence[Graph], y: FloatArray) -> RegressorSurrogate:
        """Fit the regressor to the descriptions."""
        self.regressor.fit(self.describe(graphs), y)
        return self

    def predict(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each graph."""
        rows, model = np.asarray(self.describe(graphs), dtype=float), self.regressor
        if hasattr(model, "steps"):  # a pipeline
            rows = model[:-1].transform(rows) if len(model.steps) > 1 else rows
            model = model.steps[-1][1]
        if "return_std" in signature(model.predict).parameters:
            mean, std = model.predict(rows, return_std=True)
            return mean, std
        mean, members = model.predict(rows), getattr(model, "estimators_", None)
        each = [member.predict(rows) for member in np.ravel(members)] if members is not None else []
        if len(each) < 2 or not np.allclose(np.mean(each, axis=0), mean, rtol=1e-6, atol=1e-9):
            raise UnsupportedError(
                f"{type(model).__name__} gives no standard deviation: expected a regressor with "
                "predict(X, return_std=True), or an ensemble whose prediction is the mean of its "
                "estimators_, such as RandomForestRegressor"
            )
        return mean, np.std(each, axis=0)
