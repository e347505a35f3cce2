r"""Choice between measuring a graph again and a new graph, by what each is expected to teach.

The *knowledge gradient* (Frazier, Powell and Dayanik, 2009) of a measurement is the expected fall
of the smallest posterior mean. A measurement of graph c with noise variance :math:`s^2` moves the
means of all graphs j by :math:`\tilde\sigma_j Z`, with Z standard normal and

.. math:: \tilde\sigma_j = \mathrm{cov}(j, c) / \sqrt{\mathrm{var}(c) + s^2}, \qquad
          \mathrm{KG}(c) = \min_j \mu_j - E \min_j (\mu_j + \tilde\sigma_j Z) .

Here j runs over the observed graphs of the space and the proposed one. If the noise is large and
the best graph uncertain, measuring it again teaches more than any new graph. The gain of a repeat
must also exceed a hundredth of the deviation of the observed values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from ..arrays import FloatArray
from ..counts import count
from ..gp import GraphGP
from ..graph import Graph
from ..left_out import Inverse

_MOST_CANDIDATES = 30  # observed graphs that may be measured again: the most promising ones
_WORTH_IT = 0.01  # least gain of a repeat, in deviations of the observed values
_GRID = np.linspace(-5.0, 5.0, 401)
_WEIGHTS = np.exp(-0.5 * _GRID**2) / np.exp(-0.5 * _GRID**2).sum()


@dataclass(frozen=True)
class Repeat:
    """The best graph to measure again, by its position, with its gain and that of a new graph."""

    position: int
    gain: float
    gain_of_new: float
    least: float  # the gain that a repeat must exceed

    @property
    def is_better(self) -> bool:
        """True if the graph should be measured again."""
        return self.gain > max(self.gain_of_new, self.least)


def best_repeat(
    gp: GraphGP,
    graph: Graph,
    candidates: Sequence[bool],
    *,
    known_noise: float = 0.0,
    success: float = 1.0,
) -> Repeat | None:
    """The best observed graph to measure again, with gains in the values' units.

    Args:
        gp: fitted to the observations.
        graph: the new one.
        candidates: for each observation, whether its graph may be measured again; graphs that
            occur several times have one candidate.
        known_noise: variance of a measurement in addition to the noise of the model, in the values'
            units.
        success: the probability that the new graph can be evaluated.
    """
    used = gp.used
    allowed = np.flatnonzero(np.asarray(candidates)[used])
    if not len(allowed):
        return None
    with threadpool_limits(1):
        mean, covariance = _joint(gp, graph)
    new = len(mean) - 1
    counted = np.append(allowed, new)
    mean, covariance = mean[counted], covariance[np.ix_(counted, counted)]
    model = gp.posterior.model
    noise = model.noise + known_noise / model.y_scale / model.y_scale
    deviation = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    order = np.argsort((mean - deviation)[:-1], kind="stable")[:_MOST_CANDIDATES]
    gains = [knowledge_gradient(mean, covariance[:, c], covariance[c, c], noise) for c in order]
    best = int(np.argmax(gains))
    gain_of_new = knowledge_gradient(mean, covariance[:, -1], covariance[-1, -1], noise)
    return Repeat(
        position=int(used[allowed[order[best]]]),
        gain=model.y_scale * gains[best],
        gain_of_new=model.y_scale * success * gain_of_new,
        least=model.y_scale * _WORTH_IT,
    )


def knowledge_gradient(
    mean: FloatArray, covariances: FloatArray, variance: float, noise: float
) -> float:
    """Expected fall of the smallest mean after a measurement with these covariances."""
    total = variance + noise
    if not total > 0 or not variance > 0:
        return 0.0
    moves = covariances / np.sqrt(total)
    least = (mean[:, None] + moves[:, None] * _GRID).min(axis=0)
    return max(0.0, float(mean.min() - least @ _WEIGHTS))


def _joint(gp: GraphGP, graph: Graph) -> tuple[FloatArray, FloatArray]:
    """Posterior means and covariances of the observed graphs and a new one, standardised."""
    model = gp.posterior.model
    kernel = model.kernel
    new = count([graph], model.counts.n_labels, pairs=kernel.labelled, edges=kernel.edge_labelled)
    prior, beside = model.cross(model.counts), model.cross(new)
    across = np.concatenate([prior, beside])  # of all graphs with the observed ones
    within = np.empty((len(across), len(across)))
    within[:, :-1] = across
    within[:-1, -1] = beside[0]
    within[-1, -1] = model.diagonal(new)[0]
    inverse = Inverse(model)
    return across @ (inverse @ model.y), within - across @ (inverse @ across.T)
