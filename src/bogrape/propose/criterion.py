"""What every proposer minimises: the acquisition value of a graph under a posterior.

Values are standardised (`bogrape.propose.units`): LCB and EI are functions of the standardised mean
and deviation. An acquisition function of your own is called in the objective's own units, and its
values are then standardised by those it has at the observed graphs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..acquisition import EI, LCB, Acquisition
from ..arrays import FloatArray
from ..batch import Batch
from ..counts import Counts
from ..errors import InvalidInputError
from ..graph import Graph
from ..posterior import Posterior
from ..space import GraphSpace
from .evaluation import evaluate
from .proposal import Proposal, Status
from .units import Units

_LARGEST_XI = 1e300  # in standard deviations: no graph improves by as much


@dataclass(frozen=True)
class Criterion:
    """Standardised acquisition values of graphs, in floating point: the truth for all proposers."""

    space: GraphSpace
    posterior: Posterior
    acquisition: Acquisition

    def __post_init__(self) -> None:
        data = self.posterior.model.counts
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

    @property
    def labelled(self) -> bool:
        """Whether values depend on the labels at the ends of paths."""
        return self.posterior.model.kernel.labelled

    def width(self, n: int) -> int:
        """Cells of counts of a graph with n nodes, or of the observations if those have more."""
        n_lengths = max(n, int(self.posterior.model.counts.lengths.shape[1]))
        return n_lengths * (self.space.n_labels**2 if self.labelled else 1)

    @cached_property
    def standard_acquisition(self) -> LCB | EI | None:
        """The acquisition of the standardised posterior; None if it is not known what that is."""
        if isinstance(self.acquisition, EI):  # xi is an improvement in the objective's own units
            xi = self.acquisition.xi / self.posterior.model.y_scale
            return EI(max(-_LARGEST_XI, min(xi, _LARGEST_XI)))
        return self.acquisition if isinstance(self.acquisition, LCB) else None

    @cached_property
    def units(self) -> Units:
        """What a standardised value means in the objective's own units."""
        model = self.posterior.model
        if isinstance(self.acquisition, LCB):
            return Units(model.y_mean, model.y_scale)
        if isinstance(self.acquisition, EI):  # an improvement, which has no zero to choose
            return Units(0.0, model.y_scale)
        known = self._in_own_units(model.counts)
        known = known[np.isfinite(known)]  # it may divide by a deviation that is zero there
        if not len(known):
            return Units(0.0, 1.0)
        centre = float(np.median(known))
        return Units(centre, float(np.abs(known - centre).max()) or abs(centre) or 1.0)

    def _in_own_units(self, counts: Counts) -> FloatArray:
        mean, std = self.posterior.mean_std(counts)
        return self.acquisition(mean, std, self.posterior.model.best)

    def of_counts(self, counts: Counts) -> FloatArray:
        """Acquisition value of each row of counts."""
        if self.standard_acquisition is None:
            return self.units.standard(self._in_own_units(counts))
        mean, std = self.posterior.standard_mean_std(counts)
        return self.standard_acquisition(mean, std, self.posterior.model.standard_best)

    def of_batch(self, batch: Batch) -> FloatArray:
        """Acquisition value of each graph of a batch."""
        return evaluate(self, batch)[0]

    def of_graph(self, graph: Graph) -> float:
        """Acquisition value of one graph."""
        return float(self.of_batch(Batch.of([graph]))[0])

    def error_of_solver(self, tolerance: float) -> float:
        """How far off LCB is where a solver may break the row of the variance by a tolerance."""
        model = self.posterior.model
        prior = model.alpha * (math.e if model.kernel.exponential else 1.0) + model.beta
        kappa = self.acquisition.kappa if isinstance(self.acquisition, LCB) else 0.0
        return kappa * math.sqrt(tolerance * prior)

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
        """The answer in the objective's own units, from standardised values."""
        units = self.units
        return Proposal(
            graph,
            units.value(value),
            units.value(bound),
            status,
            claimed=None if claimed is None else units.value(claimed),
            scale=units.scale,
            standard_gap=max(0.0, value - bound),
            **rest,
        )
