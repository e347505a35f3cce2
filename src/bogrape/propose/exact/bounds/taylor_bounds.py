r"""Boxes of histograms that can beat the incumbent, for LCB with ESSP, bounded by Taylor's theorem.

With ESSP the mean of a graph with ``p = D / n^2`` is ``m(p) = <f, phi(p)>`` plus a part of the
attributes, where phi is the feature map of the kernel ``exp(<p, q>)`` and the data give the norm of
f. Over a box of histograms around ``p0``, with ``p = p0 + delta``, Taylor's theorem along the
segment says

.. math:: m(p) = m(p_0) + g^\top\delta + \tfrac12\,\delta^\top H \delta + r, \qquad
          |r| \le \tfrac16\,\|f\|\, \sup_q \|D^3\phi(q)[\delta^3]\| ,

.. math:: \|D^3\phi(q)[\delta^3]\|^2 = e^{|q|^2} (a^6 + 9 a^4 b + 18 a^2 b^2 + 6 b^3), \qquad
          a = q^\top\delta,\; b = |\delta|^2 ,

the derivatives of the kernel on the diagonal. The deviation is no larger than at ``p0`` plus
``|phi(p) - phi(p0)|``, as a norm obeys the triangle inequality. So every box has a lower bound on
LCB. Boxes that cannot beat the incumbent are dropped, others are split; those that remain
hold all histograms that can.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from ....acquisition import LCB
from ....arrays import FloatArray, IntArray
from ....encoding import Structure
from ....kernels import is_published, path_features
from ....posterior import FittedModel, FunctionPosterior, Posterior
from ...criterion import Criterion
from ...values import room
from ..distances.coordinates import Distance
from ..distances.inequality import AtMost, Inequality, distances, over_histogram
from .histogram_boxes import HistogramBoxes, halves, joined, middles

_MOST_BOXES = 20_000
_CHUNK = 4_000
_FINE = 0.02  # boxes with better values are split until their bounds are this close
_ROUNDING = 1e-9
_TANGENTS = 8  # gradients that the hull uses as directions
_LARGEST_WEIGHT = 200  # fine enough; larger weights are harder for the solver


@dataclass(frozen=True, eq=False)
class EsspMean:
    """The graph's part of the mean of ESSP and its derivatives, over ``p = D / n^2``."""

    points: FloatArray  # p of the observations
    weights: FloatArray  # alpha K^-1 y
    norm: float  # of f

    @property
    def rounding(self) -> float:
        """Rounding error of the mean, a sum of large weights of both signs."""
        return 16 * float(np.finfo(float).eps * math.e * np.abs(self.weights).sum())

    @classmethod
    def of(cls, posterior: Posterior, diameter: int) -> EsspMean:
        assert isinstance(posterior, FunctionPosterior)
        fitted = posterior.model
        raw = path_features(fitted.counts, labelled=False)
        points = np.zeros((len(raw), diameter + 1))
        width = min(raw.shape[1], diameter + 1)
        points[:, :width] = raw[:, :width]
        weights = fitted.alpha * posterior.weights
        norm = math.sqrt(max(0.0, float(weights @ np.exp(raw @ raw.T) @ weights)))
        return cls(points, weights, norm * (1 + 1e-3))

    def gradient(self, n: int, histograms: IntArray) -> FloatArray:
        """Gradients, up to a factor, at histograms of graphs with n nodes."""
        p = 2 / n**2 * np.column_stack([np.full(len(histograms), n / 2), histograms])
        return self.slope(p)[0][:, 1:]

    def slope(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients and Hessians at each p."""
        parts = self.weights * np.exp(p @ self.points.T)
        return parts @ self.points, np.einsum("bi,is,it->bst", parts, self.points, self.points)


def hull(boxes: HistogramBoxes, mean: EsspMean, n: int) -> list[Inequality[Distance]]:
    """Inequalities satisfied by all histograms in the boxes, for a solver."""
    diameter, n_pairs = boxes.low.shape[1], n * (n - 1) // 2
    ones = np.eye(diameter, dtype=np.int64)
    tails = np.triu(np.ones((diameter, diameter), dtype=np.int64))
    order = np.argsort(boxes.bound, kind="stable")
    some = boxes.select(order[:: max(1, len(order) // _TANGENTS)])
    tangents = [integer_direction(-g) for g in mean.gradient(n, middles(some, n_pairs))]
    directions = np.unique(np.vstack([ones, -ones, tails, -tails, *tangents]), axis=0)
    return [
        over_histogram("hull", (-w).tolist(), high=-boxes.least_weight(w.tolist(), n_pairs))
        for w in directions
    ]


def integer_direction(direction: FloatArray) -> tuple[int, ...]:
    """Integers along a direction; a constant may be added, since h has a given sum."""
    direction = direction - direction[0]
    scale = _LARGEST_WEIGHT / max(float(np.abs(direction).max()), 1e-300)
    return tuple(round(float(weight)) for weight in scale * direction)


def has_boxes(structure: Structure, objective: Criterion) -> bool:
    """True if boxes can be bounded: LCB with ESSP, on connected undirected graphs."""
    kernel = objective.posterior.model.kernel
    return (
        is_published(kernel)
        and kernel.exponential
        and not kernel.labelled
        and isinstance(objective.acquisition, LCB)
        and structure.diameter is not None
        and structure.diameter > 1
    )


def boxes_of_interest(
    structure: Structure,
    known: Iterable[Inequality[Distance]],
    value: float,
    objective: Criterion,
    evaluate: Callable[[IntArray], FloatArray],
    deadline: float = math.inf,
) -> HistogramBoxes:
    """Boxes with all ``h`` that obey the known inequalities and can have LCB below ``value``.

    ``evaluate`` gives the LCB of histograms at their best attributes.
    """
    n, diameter = structure.shape.n_nodes, structure.diameter
    posterior, acquisition = objective.posterior, objective.acquisition
    assert diameter is not None
    assert isinstance(acquisition, LCB)
    mean = EsspMean.of(posterior, diameter)
    lower = _LowerBounds(
        n=n, mean=mean, kappa=acquisition.kappa, fitted=posterior.model, evaluate=evaluate
    )
    n_pairs = n * (n - 1) // 2
    limits = AtMost.of(known, distances(diameter))
    everything = np.zeros((1, diameter), dtype=np.int64)
    todo = HistogramBoxes(everything, everything + n_pairs, np.array([-math.inf]))
    todo = todo.tightened(n_pairs, limits)
    done = [todo.select(slice(0))]
    fine = room(_FINE, value)
    while len(todo):
        part, todo = todo.select(slice(-_CHUNK, None)), todo.select(slice(None, -_CHUNK))
        bound, middle = lower.bounds(part, n_pairs)
        keep = bound < value
        part, middle = HistogramBoxes(part.low[keep], part.high[keep], bound[keep]), middle[keep]
        is_point = (part.low == part.high).all(axis=1)
        finished = is_point | ((middle < value) & (middle - part.bound < fine))
        n_boxes = len(todo) + len(part) + sum(map(len, done))
        if n_boxes > _MOST_BOXES or time.monotonic() > deadline:
            finished[:] = True
        done.append(part.select(finished))
        todo = joined([todo, halves(part.select(~finished)).tightened(n_pairs, limits)])
    return joined(done)


@dataclass(frozen=True, eq=False, kw_only=True)
class _LowerBounds:
    """Lower bounds on LCB over boxes."""

    n: int
    mean: EsspMean
    kappa: float
    fitted: FittedModel
    evaluate: Callable[[IntArray], FloatArray]

    def bounds(self, boxes: HistogramBoxes, n_pairs: int) -> tuple[FloatArray, FloatArray]:
        """A bound for every box, and the value in its middle."""
        unit = 2 / self.n**2
        middle = middles(boxes, n_pairs)
        value = self.evaluate(middle)
        p = unit * np.column_stack([np.full(len(middle), self.n / 2), middle])
        gradient, hessian = self.mean.slope(p)
        gradient, hessian = gradient[:, 1:], hessian[:, 1:, 1:]
        down = np.asarray(unit * (boxes.low - middle), dtype=np.float64)
        up = np.asarray(unit * (boxes.high - middle), dtype=np.float64)
        reach = np.maximum(-down, up)
        # steps sum up to zero, so subtracting a constant from a row or column changes nothing
        mean = hessian.mean(axis=1, keepdims=True)
        hessian = hessian - mean - mean.transpose(0, 2, 1) + mean.mean(axis=2, keepdims=True)
        curve = 0.5 * np.einsum("bst,bs,bt->b", abs(hessian), reach, reach)
        step = np.linalg.norm(reach, axis=1)
        far = np.linalg.norm(p, axis=1) + step
        first, third = derivative_norms(far, step)
        amplitude = self.kappa * math.sqrt(self.fitted.alpha)
        loss = curve + self.mean.norm * third / 6 + amplitude * first + self.mean.rounding
        change = np.where(step > 0, _smallest_step(gradient, down, up) - loss, 0.0)
        # the value is infinite if rules allow no attributes, and inf - inf would not be a number
        rounding = np.where(value < math.inf, _ROUNDING * (1 + abs(value)), 0.0)
        return value + change - rounding, value


def derivative_norms(far: FloatArray, step: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Upper bounds on the first and third derivative of phi along a step, within ``far`` of 0."""
    a, b = far * step, step**2
    size = np.exp(far**2 / 2)
    third = np.sqrt(a**6 + 9 * a**4 * b + 18 * a**2 * b**2 + 6 * b**3)
    return np.sqrt(a**2 + b) * size, third * size


def _smallest_step(gradient: FloatArray, down: FloatArray, up: FloatArray) -> FloatArray:
    """The least ``gradient . delta`` with ``down <= delta <= up`` and steps that sum up to zero."""
    order = np.argsort(gradient, axis=1)
    gradient, down, up = (np.take_along_axis(x, order, axis=1) for x in (gradient, down, up))
    width = up - down
    before = np.cumsum(width, axis=1) - width
    taken = np.clip(-down.sum(axis=1, keepdims=True) - before, 0, width)
    return np.asarray((gradient * (down + taken)).sum(axis=1))
