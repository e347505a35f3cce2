"""What every proposer minimises: the acquisition value of a graph under a posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..acquisition import Acquisition
from ..batch import Batch
from ..counts import Counts
from ..errors import InvalidInputError
from ..graph import Graph
from ..posterior import Posterior
from ..space import GraphSpace


@dataclass(frozen=True)
class Objective:
    """Acquisition values of graphs of a space, in floating point: the truth for every proposer."""

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

    def of_counts(self, counts: Counts) -> NDArray[np.float64]:
        """Acquisition value of each row of counts."""
        mean, std = self.posterior.mean_std(counts)
        return self.acquisition(mean, std, self.posterior.model.best)

    def of_batch(self, batch: Batch) -> NDArray[np.float64]:
        """Acquisition value of each graph of a batch."""
        return self.of_counts(batch.counts(self.space.n_labels, pairs=self.labelled))

    def of_graph(self, graph: Graph) -> float:
        """Acquisition value of one graph."""
        return float(self.of_batch(Batch.of([graph]))[0])
