r"""Confidence limits for the values of graphs, observed or not, whatever the noise stands for.

A Gaussian process explains the value of graph i by a function g of the counts that its kernel sees.
The rest is noise, of two kinds: :math:`d_i`, by which the value of the graph itself differs from
:math:`g(x_i)` (graphs that look the same to the kernel may have different values), and
:math:`e_i`, the error of the measurement:

.. math:: y_i = v_i + e_i, \qquad v_i = g(x_i) + d_i .

The limits are for :math:`v_i`, the value of the graph without error of measurement. With K the
covariance of the observations, noise included, :math:`a = K^{-1}y`, :math:`q = K^{-1}_{ii}` and
:math:`r_i` the variance of :math:`e_i`,

.. math:: v_i \mid y \sim N(y_i - r_i a_i,\; r_i - r_i^2 q), \qquad
          v(x) \mid y \sim N(\mu(x),\; \sigma^2(x) + m)

for observed graphs and for all others, with m the variance of d. For :math:`r_i = 0`, an exact
value, :math:`v_i = y_i`; if all noise is error of measurement, :math:`v_i` has the mean and the
deviation that the process predicts.

A variance given with a value is :math:`r_i`, that of :math:`e_i`, so the noise that the model adds
to it is the variance of :math:`d_i`. For a value given without one, any share of the fitted noise
may be either, so the limits are the outermost ones over all shares: with :math:`\kappa` deviations,
:math:`-r a + \kappa\sqrt{r - r^2 q}` is concave and largest at
:math:`r = (1 - a/\sqrt{a^2 + \kappa^2 q}) / 2q`. A noise that is a number in the settings is taken
as error of measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import BoolArray, FloatArray
from ..gp import GraphGP
from ..left_out import Inverse
from ..surrogate import FittedSurrogate
from ..trial import Trial, observed_noise

NoiseOf = Literal["graphs", "measurements", "unknown"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Limits:
    """Limits for the values of observed graphs, in units in which values are minimised.

    Attributes:
        lower, upper: one per graph.
        beyond: standard deviation of the values of untried graphs, in addition to the model's.
        noise_of: what the noise of the model is: deviations of ``graphs`` from what the kernel
            sees, errors of ``measurements``, or ``unknown``; ``None`` for a surrogate of your own.
    """

    lower: FloatArray
    upper: FloatArray
    beyond: float = 0.0
    noise_of: NoiseOf | None = None


def limits_of(
    model: GraphGP | FittedSurrogate,
    complete: Sequence[Trial],
    values: FloatArray,
    keys: Sequence[str],
    kappa: float,
) -> Limits:
    """Limits for the values of the graphs of all complete trials.

    Args:
        model: fitted to these trials.
        complete: the trials.
        values: of the trials, to be minimised.
        keys: of the graphs of the trials; equal for identical graphs.
        kappa: number of standard deviations.
    """
    mean, std = model.predict([trial.graph for trial in complete])
    if isinstance(model, FittedSurrogate):  # whatever its deviations stand for
        return Limits(lower=mean - kappa * std, upper=mean + kappa * std)
    fitted, used = model.posterior.model, model.used
    shared, own = fitted.noise, fitted.own_noise
    known = told(complete, keys)[used]
    least = np.zeros(len(used)) if own is None else own
    most = least + np.where(known, 0.0, shared)
    beyond = shared
    noise_of: NoiseOf = "graphs" if known.all() else "unknown"
    if model.noise not in ("fit", "robust"):
        least = most = fitted.variances
        beyond, noise_of = 0.0, "measurements"
    lower, upper = limits_at_observed(Inverse(fitted), kappa, least, most)
    # graphs the model left out count as untried
    deviation = np.hypot(std, fitted.y_scale * np.sqrt(beyond))
    out = Limits(
        lower=mean - kappa * deviation,
        upper=mean + kappa * deviation,
        beyond=float(fitted.y_scale * np.sqrt(beyond)),
        noise_of=noise_of,
    )
    out.lower[used] = fitted.y_mean + fitted.y_scale * lower
    out.upper[used] = fitted.y_mean + fitted.y_scale * upper
    # the model was fitted to another value; limits must include the observed one as well
    for i in {*model.clipped, *model.capped}:
        out.lower[i] = min(out.lower[i], values[i])
        out.upper[i] = max(out.upper[i], values[i])
    return out


def limits_at_observed(
    inverse: Inverse, kappa: float, least: ArrayLike, most: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Standardised limits, for all variances of measurements from the least to the most."""
    fitted = inverse.model
    a, q = inverse @ fitted.y, inverse.diagonal
    share = a / np.hypot(a, kappa * np.sqrt(q))

    def limit(sign: float) -> FloatArray:
        r = np.clip((1.0 - sign * share) / (2.0 * q), least, most)
        std = np.sqrt(np.maximum(r - r**2 * q, 0.0))
        return np.asarray(fitted.y - r * a + sign * kappa * std)

    return limit(-1.0), limit(1.0)


def told(complete: Sequence[Trial], keys: Sequence[str]) -> BoolArray:
    """True for each value that was given with its variance.

    Different values of one graph cannot all be exact, so variances of zero do not count for them.
    """
    noise = np.array(observed_noise(complete))
    known = ~np.isnan(noise)
    exact: dict[str, set[float | None]] = {}
    for trial, key in zip(complete, keys, strict=True):
        if trial.noise == 0.0:
            exact.setdefault(key, set()).add(trial.value)
    contradicted = np.array([len(exact.get(key, ())) > 1 for key in keys], dtype=bool)
    return np.asarray(known & ~(contradicted & (noise == 0.0)))
