r"""Acquisition values of several properties, each with its own Gaussian process.

The processes are independent. So, with :math:`\mu_i, \sigma_i` the prediction of property i:

* a weighted *sum* is Gaussian, with mean :math:`\sum w_i \mu_i` and variance
  :math:`\sum w_i^2 \sigma_i^2`: LCB, EI and custom functions are computed from these, exactly as
  for one property;
* a mean of *desirabilities* is not. Its expected improvement is the mean over fixed quasi-random
  draws of the properties, the same draws for every graph; LCB and custom functions take its mean
  and deviation over these draws;
* a *front* of two properties has a closed form, the expected hypervolume improvement
  (`bogrape.properties.improvement`);
* a front of more is searched in a random direction for every proposal (ParEGO; Knowles, 2006): the
  augmented Chebyshev distance in that direction is a cost, and its expected improvement is sampled.

Improvements are relative to the best score, or the front, of the posterior means of the graphs with
all properties: observed values that are good by chance would be too hard to beat. In a batch,
believed graphs are included. Costs are minimised, so scores are negated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from ..acquisition import EI, Acquisition
from ..arrays import FloatArray
from ..batch import Batch
from ..counts import Counts, count
from ..errors import InvalidInputError
from ..graph import Graph
from ..posterior import Posterior
from ..properties import Goals, Limit, nondominated
from ..properties.improvement import (
    log_hypervolume_improvement,
    log_soft_improvement,
    normal_points,
)
from ..space import GraphSpace
from .criterion import AnyCriterion, Criterion
from .values import CERTAIN, CountObjective, LogUnits, Observed, Units

_DRAWS = 128  # of all properties, per graph
_MOST_DRAWN = 2_000_000  # drawn numbers at a time
_AUGMENTED = 0.05  # share of the plain sum in the Chebyshev distance


@final
@dataclass(frozen=True, kw_only=True)
class JointModel:
    """One posterior per property, and their goals.

    Attributes:
        goals: the goal of each property; limits are left out.
        posteriors: one per property, in the order of the goals.
        measured: graphs to improve on: those in the space with values of all properties, within the
            limits.
        limits: posteriors of properties with a limit; values are weighted by them.
        keeps_none: whether no measured graph is within the limits; then only the limits count.
    """

    goals: Goals
    posteriors: tuple[Posterior, ...]
    measured: tuple[Graph, ...]
    limits: tuple[tuple[Limit, Posterior], ...] = ()
    keeps_none: bool = False

    def __post_init__(self) -> None:
        if len(self.posteriors) != len(self.goals.names):
            raise InvalidInputError(
                f"expected a posterior for each of {', '.join(self.goals.names)}, got "
                f"{len(self.posteriors)}"
            )
        if not self.measured:
            raise InvalidInputError(
                "expected at least one graph that was measured in full (every property), got none"
            )

    def believe(self, graphs: Sequence[Graph], *, to_beat: bool = True) -> JointModel:
        """The model after observing each graph at its posterior means."""
        believed = (posterior.believe(graphs, to_beat=to_beat) for posterior in self.posteriors)
        measured = (*self.measured, *graphs) if to_beat else self.measured
        return replace(self, posteriors=tuple(believed), measured=measured)


@final
@dataclass(frozen=True, kw_only=True)
class JointCriterion(CountObjective, AnyCriterion):
    """Acquisition values of several properties: functions of counts.

    ``seed`` decides the direction in which a front of more than two properties is searched.
    """

    space: GraphSpace
    model: JointModel
    acquisition: Acquisition
    seed: int = 0

    def __post_init__(self) -> None:
        _ = self._parts  # checks that the posteriors fit this space
        if self.goals.is_pareto and self.acquisition != EI():
            raise InvalidInputError(
                "a Pareto search takes acquisition 'ei', the expected improvement of the front, "
                f"got {self.acquisition!r:.100}; try combine='sum' for other acquisitions"
            )

    @property
    def goals(self) -> Goals:
        """The goals of the properties."""
        return self.model.goals

    @cached_property
    def _parts(self) -> tuple[Criterion, ...]:
        posteriors = self.model.posteriors
        return tuple(Criterion(self.space, posterior, EI()) for posterior in posteriors)

    @property
    def labelled(self) -> bool:
        """True if values depend on the labels at the ends of paths."""
        return any(part.labelled for part in self._parts)

    @property
    def edge_labelled(self) -> bool:
        """True if values depend on the labels of edges."""
        return any(part.edge_labelled for part in self._parts)

    def width(self, n: int) -> int:
        """Cells of counts of a graph with n nodes."""
        return max(part.width(n) for part in self._parts)

    def n_at_a_time(self, n: int) -> int:
        """Number of graphs with n nodes that fit in memory, draws of their properties included."""
        drawn = _MOST_DRAWN // (_DRAWS * len(self._parts))
        return max(1, min(super().n_at_a_time(n), drawn))

    def of_counts(self, counts: Counts) -> FloatArray:
        """Acquisition value of each row of counts."""
        return self._values(*self.predictions(counts))

    def of_graph(self, graph: Graph) -> float:
        """Acquisition value of one graph."""
        return float(self.of_batch(Batch.of([graph]))[0])

    def predictions(self, counts: Counts) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of each property (columns) of each graph, in its own units."""
        found = [posterior.mean_std(counts) for posterior in self.model.posteriors]
        mean, std = (np.stack(part, axis=1) for part in zip(*found, strict=True))
        return mean, std

    # -- the scale ----------------------------------------------------------------------------

    @cached_property
    def _offsets(self) -> FloatArray:
        return np.array([posterior.model.y_mean for posterior in self.model.posteriors])

    @cached_property
    def _scales(self) -> FloatArray:
        return np.array([posterior.model.y_scale for posterior in self.model.posteriors])

    @cached_property
    def _known(self) -> tuple[FloatArray, FloatArray]:
        """Predictions of the graphs to improve on."""
        graphs = self.model.measured
        counts = count(graphs, self.space.n_labels, pairs=self.labelled, edges=self.edge_labelled)
        return self.predictions(counts)

    @cached_property
    def observed(self) -> Observed:
        """Conversion of a standardised mean and deviation of the cost to its units."""
        if self.goals.combine == "sum":
            weights = self.goals.weights
            mean = -float(weights @ self._offsets)
            scale = float(np.linalg.norm(weights * self._scales))
        else:
            mean, scale = 0.0, 1.0
        best = float(self._costs(self._known[0]).min())
        return Observed(mean, scale, (best - mean) / scale)

    @cached_property
    def units(self) -> Units:
        """Units of a standardised value: a volume for a front of two properties."""
        if self.goals.is_pareto:
            two = len(self._parts) == 2
            return LogUnits(0.0, float(np.prod(self._scales)) if two else 1.0)
        return super().units

    # -- the values ---------------------------------------------------------------------------

    @cached_property
    def _values(self) -> Callable[[FloatArray, FloatArray], FloatArray]:
        """The function from predictions to standardised acquisition values."""
        if self.goals.is_pareto and len(self._parts) == 2:
            return self._of_volume
        if self.goals.combine == "sum":
            return self._of_sum
        if isinstance(self.acquisition, EI):
            return self._of_draws
        return self._of_moments

    def _costs(self, values: FloatArray) -> FloatArray:
        """Cost to minimise, from rows of property values (along the last axis)."""
        if not self.goals.is_pareto:
            return -self.goals.scores(values)
        low, high, direction = self._direction
        shares = direction * (self.goals.signs * values - low) / (high - low)
        return np.asarray(shares.max(axis=-1) + _AUGMENTED * shares.sum(axis=-1))

    @cached_property
    def _direction(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Smallest and largest known value of each property, minimised, and random weights."""
        known = self.goals.signs * self._known[0]
        low, high = known.min(axis=0), known.max(axis=0)
        high = np.where(high > low, high, low + self._scales)
        rng = np.random.default_rng([self.seed, len(self._parts)])
        return low, high, rng.dirichlet(np.ones(len(self._parts)))

    @cached_property
    def _normal(self) -> FloatArray:
        return normal_points(_DRAWS, len(self._parts))

    def _drawn(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        """Costs of draws of the properties, (graphs, draws)."""
        return self._costs(mean[:, None, :] + std[:, None, :] * self._normal)

    def _of_sum(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        spread = np.sqrt(((std * self.goals.weights) ** 2).sum(axis=1))
        return self.of_prediction(*self.observed.standard(self._costs(mean), spread))

    def _of_draws(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        xi = self.acquisition.xi if isinstance(self.acquisition, EI) else 0.0
        return -log_soft_improvement(-self._drawn(mean, std), xi - self.observed.best)

    def _of_moments(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        drawn = self._drawn(mean, std)
        moments = drawn.mean(axis=1), drawn.std(axis=1)
        return self.of_prediction(*self.observed.standard(*moments))

    @cached_property
    def _front(self) -> tuple[FloatArray, FloatArray]:
        """The front to improve, and the reference point; standardised and minimised."""
        known = self._known[0]
        reference = self.goals.reference_point(known)
        rows = self.goals.signs * (known - self._offsets) / self._scales
        end = self.goals.signs * (reference - self._offsets) / self._scales
        rows = rows[(rows < end).all(axis=1)]
        return np.unique(rows[nondominated(rows)], axis=0), end

    def _of_volume(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        front, end = self._front
        rows = self.goals.signs * (mean - self._offsets) / self._scales
        spread = np.maximum(std / self._scales, CERTAIN)
        return -log_hypervolume_improvement(rows, spread, front, end)

    def _at_observations(self) -> tuple[FloatArray, FloatArray]:
        mean, std = self._known
        if self.goals.combine == "sum":
            spread = np.sqrt(((std * self.goals.weights) ** 2).sum(axis=1))
            return self.observed.standard(self._costs(mean), spread)
        drawn = self._drawn(mean, std)
        return self.observed.standard(drawn.mean(axis=1), drawn.std(axis=1))


def score_of_prediction(
    goals: Goals, mean: FloatArray, std: FloatArray
) -> tuple[float, float] | None:
    """Mean and deviation of the score of one graph; ``None`` for a front."""
    if goals.is_pareto:
        return None
    if goals.combine == "sum":
        return float(goals.scores(mean)), float(np.linalg.norm(std * goals.weights))
    drawn = goals.scores(mean + std * normal_points(_DRAWS, len(mean)))
    return float(drawn.mean()), float(drawn.std())
