"""Kernels, surrogates and acquisitions as users write them, and brute force to check them.

In a module of its own, so that worker processes can import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtr

from bogrape import Graph, GraphGP, GraphSpace, Proposal
from bogrape.counts import Counts
from bogrape.kernel import BoxBounds
from bogrape.kernels import Kernel, aligned, path_features
from bogrape.propose.criterion import AnyCriterion, Criterion
from bogrape.propose.exact.proof.engine import propose_exact
from bogrape.propose.graph_criterion import GraphCriterion
from bogrape.propose.proposal import Request
from bogrape.surrogate import FittedSurrogate
from exhaustive import everything

# -- kernels --------------------------------------------------------------------------------------


def _rows(counts: Counts, *, labelled: bool) -> np.ndarray:
    return path_features(counts, labelled=labelled).reshape(len(counts), -1)


@dataclass(frozen=True)
class Gaussian(Kernel):
    """Gaussian over shares of labelled pairs, with a length scale."""

    scale: float = 0.3
    name = "gaussian"
    labelled = True

    def _squares(self, left: Counts, right: Counts) -> np.ndarray:
        a, b = (_rows(c, labelled=True) for c in aligned(left, right))
        return np.asarray(((a[:, None] - b[None]) ** 2).sum(axis=2))

    def cross(self, left: Counts, right: Counts) -> np.ndarray:
        return np.exp(-0.5 * self._squares(left, right) / self.scale**2)

    def diagonal(self, counts: Counts) -> np.ndarray:
        return np.ones(len(counts))

    def hyperparameters(self) -> Mapping[str, tuple[float, float]]:
        return {"scale": (0.02, 5.0)}

    def largest(self) -> float:
        return 1.0


@dataclass(frozen=True)
class GaussianWithGradients(Gaussian):
    """The same, with derivatives."""

    def gradients(self, counts: Counts) -> Mapping[str, np.ndarray]:
        squares = self._squares(counts, counts)
        return {"scale": self.cross(counts, counts) * squares / self.scale**2}


def _ranges(low: np.ndarray, high: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest distance of each coordinate of boxes from points."""
    low, high, there = low[:, None], high[:, None], there[None]
    near = np.maximum(np.maximum(low - there, there - high), 0.0)
    return near, np.maximum(np.abs(there - low), np.abs(there - high))


@dataclass(frozen=True)
class LabelledEnds(Kernel):
    """Gaussian over the shares of edges by the labels of their ends, with bounds over boxes."""

    scale: float = 0.2
    name = "labelled ends"
    labelled = True

    def _edges(self, counts: Counts) -> np.ndarray:
        pairs = counts.padded(2, 1).pairs
        assert pairs is not None
        return np.asarray(pairs[:, 1].reshape(len(counts), -1) / counts.sizes[:, None] ** 2)

    def _value(self, distances: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-0.5 * (distances**2).sum(axis=2) / self.scale**2))

    def cross(self, left: Counts, right: Counts) -> np.ndarray:
        a, b = map(self._edges, aligned(left, right))
        return self._value(a[:, None] - b[None])

    def diagonal(self, counts: Counts) -> np.ndarray:
        return np.ones(len(counts))

    def largest(self) -> float:
        return 1.0

    def box_bounds(self, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
        boxes = (self._edges(aligned(side, observed)[0]) for side in (low, high))
        near, far = _ranges(*boxes, self._edges(aligned(low, observed)[1]))
        return BoxBounds(self._value(far), self._value(near), np.ones(len(low)))


@dataclass(frozen=True)
class Distances(Kernel):
    """Laplacian over the shares of pairs at each distance, with bounds over boxes; no labels."""

    rate: float = 3.0
    name = "distances"
    labelled = False

    def cross(self, left: Counts, right: Counts) -> np.ndarray:
        a, b = (_rows(c, labelled=False) for c in aligned(left, right))
        return np.exp(-self.rate * np.abs(a[:, None] - b[None]).sum(axis=2))

    def diagonal(self, counts: Counts) -> np.ndarray:
        return np.ones(len(counts))

    def largest(self) -> float:
        return 1.0

    def box_bounds(self, low: Counts, high: Counts, observed: Counts) -> BoxBounds:
        boxes = (_rows(aligned(side, observed)[0], labelled=False) for side in (low, high))
        near, far = _ranges(*boxes, _rows(aligned(low, observed)[1], labelled=False))
        values = (np.exp(-self.rate * part.sum(axis=2)) for part in (far, near))
        return BoxBounds(*values, np.ones(len(low)))


class Laplacian(Kernel):
    """Laplacian over shares of pairs by length, without labels of paths but with those of nodes."""

    name = "laplacian"
    labelled = False

    def cross(self, left: Counts, right: Counts) -> np.ndarray:
        left, right = aligned(left, right)
        a, b = (
            np.hstack([_rows(c, labelled=False), c.features / c.sizes[:, None]])
            for c in (left, right)
        )
        return np.exp(-3.0 * np.abs(a[:, None] - b[None]).sum(axis=2))

    def diagonal(self, counts: Counts) -> np.ndarray:
        return np.ones(len(counts))

    def largest(self) -> float:
        return 1.0


class Edges(Kernel):
    """A kernel on one number, the share of pairs that are edges, without a largest value."""

    name = "edges"
    labelled = False

    def cross(self, left: Counts, right: Counts) -> np.ndarray:
        a, b = (aligned(c, c)[0].padded(2, 1).lengths[:, 1] / c.sizes**2 for c in (left, right))
        return np.asarray((1.0 + np.outer(a, b)) ** 3)

    def diagonal(self, counts: Counts) -> np.ndarray:
        return np.asarray((1.0 + (counts.padded(2, 1).lengths[:, 1] / counts.sizes**2) ** 2) ** 3)


# -- surrogates -----------------------------------------------------------------------------------


def describe(graphs: Sequence[Graph]) -> np.ndarray:
    """A few numbers that isomorphic graphs share."""
    out = np.zeros((len(graphs), 8))
    for i, graph in enumerate(graphs):
        degrees = np.sort(graph.adjacency.sum(axis=1))[::-1]
        out[i, :3] = graph.n_nodes, graph.n_edges, (degrees**2).sum()
        out[i, 3:6] = np.bincount(graph.labels, minlength=3)[:3]
        ends = graph.labels[:, None] * graph.adjacency * graph.labels
        out[i, 6] = ends.sum()
        out[i, 7] = np.trace(np.linalg.matrix_power(graph.adjacency.astype(int), 3))
    return out


@dataclass
class Neighbours:
    """The mean of the nearest observations; the deviation is their spread plus distance."""

    k: int = 3
    _rows: np.ndarray | None = field(default=None, repr=False, init=False)
    _y: np.ndarray | None = field(default=None, repr=False, init=False)

    def fit(self, graphs: Sequence[Graph], y: np.ndarray) -> Neighbours:
        self._rows, self._y = describe(graphs), np.asarray(y)
        return self

    def predict(self, graphs: Sequence[Graph]) -> tuple[np.ndarray, np.ndarray]:
        assert self._rows is not None
        assert self._y is not None
        distance = np.abs(describe(graphs)[:, None] - self._rows[None]).sum(axis=2)
        near = np.argsort(distance, axis=1, kind="stable")[:, : self.k]
        values = self._y[near]
        reach = np.take_along_axis(distance, near, axis=1).mean(axis=1)
        return values.mean(axis=1), values.std(axis=1) + 0.05 * reach


class Constant:
    """Returns a given answer as its prediction, for tests of error messages."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def fit(self, graphs: Sequence[Graph], y: np.ndarray) -> None:
        pass

    def predict(self, graphs: Sequence[Graph]) -> Any:
        return self.answer(graphs) if callable(self.answer) else self.answer


# -- acquisitions ---------------------------------------------------------------------------------


class ProbabilityOfImprovement:
    """Minus the probability of improvement, which grows with the mean."""

    def __call__(self, mean: np.ndarray, std: np.ndarray, best: float) -> np.ndarray:
        return -ndtr((best - mean) / np.maximum(std, 1e-12))


@dataclass(frozen=True)
class Optimist:
    """Neither concave nor LCB nor EI, and monotone in mean and deviation."""

    power: float = 1.5
    monotone = True

    def __call__(self, mean: np.ndarray, std: np.ndarray, best: float) -> np.ndarray:
        return np.asarray(np.arctan(mean - best) - std**self.power)


def uncertain_middle(mean: np.ndarray, std: np.ndarray, best: float) -> np.ndarray:
    """Prefers means one above the best and deviations of one half: not monotone."""
    return np.asarray((mean - best - 1.0) ** 2 + (std - 0.5) ** 2)


class FalselyMonotone:
    """Prefers small deviations but claims to be monotone."""

    monotone = True

    def __call__(self, mean: np.ndarray, std: np.ndarray, best: float) -> np.ndarray:  # noqa: ARG002
        return mean + std


# -- brute force ----------------------------------------------------------------------------------


def assert_best_of_all(
    space: GraphSpace,
    model: GraphGP | FittedSurrogate,
    acquisition: Any,
    *,
    exclude: Sequence[Graph] = (),
    seed: int = 0,
) -> Proposal:
    """Assert that the engine proves the best of all graphs, by the public `predict`.

    There is hardly any local search, so that the proof has work to do. Returns the proposal.
    """
    criterion: AnyCriterion
    if isinstance(model, GraphGP):
        criterion = Criterion(space, model.posterior, acquisition)
    else:
        criterion = GraphCriterion(space=space, model=model, acquisition=acquisition)
    best = model.posterior.model.best if isinstance(model, GraphGP) else model.y.min()
    taken = {graph.canonical_key() for graph in exclude}
    left = [graph for graph in everything(space) if graph.canonical_key() not in taken]
    values = acquisition(*model.predict(left), best)
    request = Request(
        list(exclude), time_limit=60.0, seed=seed, n_evaluations=200, identify=space.identity
    )
    proposal = propose_exact(criterion, request)
    near = 1e-6 * max(1.0, float(np.ptp(values)), abs(float(values.min())))
    assert proposal.status == "optimal"
    assert abs(proposal.value - values.min()) <= near
    assert values.min() - near <= proposal.bound <= values.min() + near
    assert space.contains(proposal.graph)
    assert proposal.graph.canonical_key() not in taken
    again = acquisition(*model.predict([proposal.graph]), best)[0]
    assert abs(again - proposal.value) <= near
    return proposal
