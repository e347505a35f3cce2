"""Acquisition value of a graph under a surrogate, which every proposer minimises.

A `Criterion` belongs to a Gaussian process, which sees counts; a `GraphCriterion`, in its own
module, to a custom surrogate, which sees graphs. Values are standardised
(`bogrape.propose.values`): LCB and EI are functions of the standardised mean and deviation. The
value of EI is minus its logarithm, so that graphs differ in value however small their EI. A custom
acquisition function is called in the objective's own units, and its values are then standardised by
those at the observed graphs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..acquisition import (
    EI,
    LCB,
    Acquisition,
    check_monotone,
    checked_values,
    is_monotone,
    name_of,
)
from ..arrays import FloatArray, IntArray
from ..batch import Batch
from ..counts import Counts
from ..errors import InvalidInputError
from ..graph import Graph
from ..kernels import RBF
from ..posterior import Posterior
from ..space import GraphSpace
from .proposal import Proposal, Status
from .values import CERTAIN, PROOF, CountObjective, LogUnits, Observed, Units, room

_LARGEST_XI = 1e100  # in standard deviations: no graph improves by that much
_GRID = 24  # number of means, and of deviations, where a declared monotonicity is checked


class AnyCriterion(ABC):
    """Standardised acquisition values of graphs in floating point, as all proposers report them."""

    space: GraphSpace
    acquisition: Acquisition

    @property
    def unweighted(self) -> AnyCriterion:
        """The criterion without weights for feasibility (`weighted_criterion`)."""
        return self

    @property
    @abstractmethod
    def observed(self) -> Observed:
        """Conversion of a standardised mean and deviation to the objective's units."""

    @abstractmethod
    def evaluate(self, batch: Batch, deadline: float = math.inf) -> tuple[FloatArray, IntArray]:
        """See `bogrape.propose.values.Searchable`."""

    @abstractmethod
    def n_at_a_time(self, n: int) -> int:
        """Number of graphs with n nodes to evaluate at a time."""

    @abstractmethod
    def of_graph(self, graph: Graph) -> float:
        """Acquisition value of one graph."""

    @abstractmethod
    def _at_observations(self) -> tuple[FloatArray, FloatArray]:
        """Standardised means and deviations of the observed graphs."""

    def of_batch(self, batch: Batch) -> FloatArray:
        """Acquisition value of each graph of a batch."""
        return self.evaluate(batch)[0]

    @cached_property
    def standard_acquisition(self) -> LCB | EI | None:
        """The acquisition of the standardised posterior; None if unknown."""
        if isinstance(self.acquisition, EI):  # xi is an improvement in the objective's own units
            xi = self.acquisition.xi / self.observed.scale
            return EI(max(-_LARGEST_XI, min(xi, _LARGEST_XI)))
        return self.acquisition if isinstance(self.acquisition, LCB) else None

    @cached_property
    def units(self) -> Units:
        """Conversion of a standardised value to the objective's units."""
        observed = self.observed
        if isinstance(self.acquisition, LCB):
            return Units(observed.mean, observed.scale)
        if isinstance(self.acquisition, EI):  # an improvement, so there is no offset
            return LogUnits(0.0, observed.scale)
        known = self._in_own_units(*self._at_observations())
        known = known[np.isfinite(known)]  # it may divide by a deviation that is zero there
        if not len(known):
            return Units(0.0, 1.0)
        centre = float(np.median(known))
        return Units(centre, float(np.abs(known - centre).max()) or abs(centre) or 1.0)

    def of_prediction(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        """Acquisition values at standardised means and deviations."""
        if self.standard_acquisition is None:
            return self.units.standard(self._in_own_units(mean, std))
        best = self.observed.standard_best
        if isinstance(self.standard_acquisition, EI):
            return -self.standard_acquisition.log(mean, np.maximum(std, CERTAIN), best)
        return self.standard_acquisition(mean, std, best)

    def lower_bound(self, mean: float, std: float) -> float:
        """A bound on all values, given one on all means and one on all deviations.

        Minus infinity unless the acquisition is monotone.
        """
        if not is_monotone(self.acquisition):
            return -math.inf
        self.check_declared(mean, std)
        return float(self.of_prediction(np.array([mean]), np.array([std]))[0])

    def check_declared(self, mean: float = -3.0, std: float = 1.0) -> None:
        """Raise if a custom acquisition declares itself monotone but is not.

        It is checked at the observations, and on a grid that reaches down to the given standardised
        mean and up to the given standardised deviation.
        """
        if self.standard_acquisition is not None or not is_monotone(self.acquisition):
            return
        means, stds = self._at_observations()
        some = np.linspace(mean, max(float(means.max()), mean + 1.0), _GRID)
        others = np.linspace(0.0, max(float(stds.max()), std), _GRID)[1:]
        grid = np.append(some, means[:_GRID]), np.append(others, stds[:_GRID])
        check_monotone(self.acquisition, *self.observed.in_units(*grid), self.observed.best)

    def _in_own_units(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        in_units = self.observed.in_units(mean, std)
        return checked_values(self.acquisition, *in_units, self.observed.best)

    def proposal(
        self,
        graph: Graph,
        value: float,
        *,
        bound: float = -math.inf,
        status: Status = "heuristic",
        claimed: float | None = None,
        **rest: Any,
    ) -> Proposal:
        """The proposal in the objective's own units, from standardised values."""
        units = self.units
        if isinstance(units, LogUnits):
            rest |= {"log_value": units.log(value), "log_bound": units.log(bound)}
        return Proposal(
            graph=graph,
            value=units.value(value),
            bound=units.value(bound),
            status=status,
            claimed=None if claimed is None else units.value(claimed),
            scale=units.scale,
            standard_gap=max(0.0, value - bound),
            **rest,
        )


@dataclass(frozen=True)
class Criterion(CountObjective, AnyCriterion):
    """Acquisition values under a Gaussian process: functions of counts."""

    space: GraphSpace
    posterior: Posterior
    acquisition: Acquisition

    def __post_init__(self) -> None:
        model = self.posterior.model
        data = model.counts
        if data.n_extra != self.space.n_features:
            raise InvalidInputError(
                f"the Gaussian process was fitted to graphs with {data.n_extra} features, but the "
                f"space has {self.space.n_features}"
            )
        if data.features[:, self.space.n_labels : data.n_labels].any():
            raise InvalidInputError(
                f"the Gaussian process was fitted to {data.n_labels} labels, but the space has "
                f"{self.space.n_labels}"
            )
        has_edge_labels = self.space.n_edge_labels > 0 and self.space.n_max > 1
        if isinstance(model.kernel, RBF) and has_edge_labels and not self.edge_labelled:
            raise InvalidInputError(
                "the Gaussian process was fitted to graphs without edge labels, but the space has "
                f"{self.space.n_edge_labels}; try GraphGP('rbf', space=space)"
            )

    @property
    def labelled(self) -> bool:
        """True if values depend on the labels at the ends of paths."""
        return self.posterior.model.kernel.labelled

    @property
    def edge_labelled(self) -> bool:
        """True if values depend on the labels of edges."""
        return self.posterior.model.kernel.edge_labelled

    def width(self, n: int) -> int:
        """Cells of counts of a graph with n nodes, or of the observations if those have more."""
        n_lengths = max(n, int(self.posterior.model.counts.lengths.shape[1]))
        if self.edge_labelled:
            n_lengths += 1 + self.space.n_edge_labels
        return n_lengths * (self.space.n_labels**2 if self.labelled else 1)

    @cached_property
    def observed(self) -> Observed:
        """Conversion of a standardised mean and deviation to the objective's units."""
        model = self.posterior.model
        return Observed(model.y_mean, model.y_scale, model.standard_best)

    def _at_observations(self) -> tuple[FloatArray, FloatArray]:
        return self.posterior.standard_mean_std(self.posterior.model.counts)

    @property
    def largest_deviation(self) -> float:
        """Upper bound on standardised deviations; infinite if the kernel declares none."""
        fitted = self.posterior.model
        top = fitted.kernel.largest()
        if top is None:
            return math.inf
        of_features = fitted.beta * (1 + self.space.n_features) / max(1, fitted.n_features)
        return math.sqrt(fitted.alpha * top + of_features)

    def weakest_bound(self) -> float:
        """A lower bound on the values of all graphs, for any kernel.

        With f the posterior mean as a function in its Hilbert space, ``mean(x) >= -|f| sqrt(k(x,
        x))`` and ``std(x) <= sqrt(k(x, x))``.
        """
        norm = self.posterior.norm * (1 + 1e-3)
        largest = self.largest_deviation
        if largest == math.inf:
            return -math.inf
        return self.lower_bound(-largest * norm, largest)

    def refuse_false_bound(self, bound: float, value: float) -> None:
        """Raise if a graph is below a bound on all graphs: a declaration must be wrong."""
        if value >= bound - room(PROOF, bound):
            return
        raise InvalidInputError(
            f"acquisition {name_of(self.acquisition)} (monotone = True) and kernel "
            f"{self.posterior.model.kernel.name!r} (largest) declare that no value is below "
            f"{self.units.value(bound):.6g}, but a graph has {self.units.value(value):.6g}; "
            "remove the declaration that is wrong"
        )

    def condensed(self) -> Criterion:
        """A smaller copy for other processes, without data that values do not need."""
        if self.standard_acquisition is None:
            return self  # its units are those of its values at the observed graphs
        return replace(self, posterior=self.posterior.condensed())

    def of_counts(self, counts: Counts) -> FloatArray:
        """Acquisition value of each row of counts."""
        return self.of_prediction(*self.posterior.standard_mean_std(counts))

    def of_graph(self, graph: Graph) -> float:
        """Acquisition value of one graph."""
        return float(self.of_batch(Batch.of([graph]))[0])

    def error_of_solver(self, tolerance: float) -> float:
        """Error of LCB if a solver may violate the row of the variance by a tolerance."""
        model = self.posterior.model
        prior = model.alpha * (model.kernel.largest() or math.inf) + model.beta
        kappa = self.acquisition.kappa if isinstance(self.acquisition, LCB) else 0.0
        return kappa * math.sqrt(tolerance * prior)
