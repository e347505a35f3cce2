r"""Bounds on the improvement of any graph over the observed ones: a proved stopping criterion.

With confidence limits :math:`\mu(x) \pm \kappa\sigma(x)` for the value of every graph x, all
graphs of the space, observed ones included, are above

.. math:: L = \min_x \mu(x) - \kappa\sigma(x),

which an exact proposer proves, and one of the observed graphs is below
:math:`U = \min_i \mu(x_i) + \kappa\sigma(x_i)`. Its regret is at most :math:`U - L`.

The value of a graph differs from what the kernel explains: graphs that look the same to it may have
different values, and fitted noise stands for that, too. So the limits are those of values, not of
the function without noise (`bogrape.study.limits`). With :math:`m` the variance of these
differences, the deviation at an untried graph is :math:`\sqrt{\sigma^2 + m}`. That is at most
:math:`\sigma + \sqrt m`, so L is taken to be the proved minimum of :math:`\mu - \kappa\sigma`
minus :math:`\kappa\sqrt m`: valid, and a little lower than necessary.

:math:`\kappa` is the quantile of order :math:`(1 + c) / 2` for confidence c: two one-sided limits,
each of which fails with probability :math:`(1 - c) / 2`, one at the observed graph and one at the
best graph of the space. It is that of Student's t with T - 1 degrees of freedom, since the
amplitudes are estimated from T values. (With the scale of all variances integrated out under
Jeffreys' prior, predictions have this distribution.) For a surrogate of your own it is that of the
normal distribution. All deviations are multiplied by `LeaveOneOut.widening`, the root mean square
of the errors of leave-one-out prediction in units of their deviations, if that is more than one: so
a model whose noise was given too small, or fitted too small to few observations, has wider limits.

The limits hold for graphs that are fixed beforehand. The best graph is not known beforehand, but L
is the minimum over all graphs, which leaves a margin. If limits are to hold at all of N graphs at
once, whatever the objective, ``n_graphs=N`` takes :math:`1 - (1 - c) / 2N` for each (Bonferroni's
inequality).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..checks import whole
from ..errors import InvalidInputError
from ..propose.proposal import Status
from .limits import NoiseOf

REGRET = "regret_bound"  # key in the details of the trial after which it was computed


@dataclass(frozen=True, kw_only=True)
class RegretBound:
    """Bound on the improvement of any graph over the best observed one, by the model of a study.

    ``float(bound)`` is its ``value``.

    Attributes:
        value: no graph is better by more than this, in your units; infinite if nothing was proved.
        confidence: of that statement, under the `assumptions`.
        kappa: standard deviations on each side of the mean for this confidence.
        widening: factor for standard deviations that leave-one-out prediction has shown to be too
            small; at least 1.
        trial: the observed trial whose limit is best.
        observed: the limit on the value of that graph, in your units: an upper limit when
            minimising.
        space: the limit on the values of all graphs of the space, in your units; infinite if
            nothing was proved.
        status: of the proof, as in `Proposal`: ``optimal``, ``time_limit`` (an open proof: the
            bound holds, and may be wider than necessary) or ``heuristic`` (nothing is proved).
        n_observations: complete trials in the model.
        coverage: share of the observations inside the 95 % intervals that the others predict for
            them; ``None`` for fewer than five, and for surrogates of your own.
        calibrated: true if chance explains that share; ``None`` if it is not known.
        noise: standard deviation of the noise that all values share, in your units; ``None``
            where it is not known.
        noise_of: the assumed cause of that noise. ``graphs``: values of graphs deviate from what
            the kernel explains; this is so if the noise of every value was given. ``unknown``:
            that, or errors of measurement, and the bound holds for both. ``measurements``: errors
            of measurement, since it was given as a setting; the bound is then about the objective
            without noise. ``None`` for a surrogate of your own.
    """

    value: float
    confidence: float
    kappa: float
    trial: int
    observed: float
    space: float
    status: Status
    n_observations: int
    coverage: float | None
    calibrated: bool | None
    noise: float | None = None
    noise_of: NoiseOf | None = None
    widening: float = 1.0

    def __float__(self) -> float:
        return self.value

    @property
    def assumptions(self) -> str:
        """The assumptions of the bound, in words."""
        words = (
            "The objective is assumed to be a sample of the fitted Gaussian process, with its "
            f"fitted hyperparameters. The limits are {self.kappa:.3g} standard deviations from the "
            f"mean; for graphs fixed in advance, they fail with probability "
            f"{1 - self.confidence:.2g} in total."
        )
        if self.widening > 1.0:
            words += (
                f" The standard deviations are multiplied by {self.widening:.3g}, since errors of "
                "leave-one-out prediction exceed them by this factor."
            )
        if self.noise is not None and self.noise_of is not None:
            words += _NOISE[self.noise_of].format(f"{self.noise:.2g}")
        if self.status == "heuristic":
            words += " No bound on the space was proved."
        elif self.status == "time_limit":
            words += " The proof did not finish: the bound holds, and more time may lower it."
        if self.calibrated is None:
            words += " Whether the model is calibrated is not known."
        elif self.calibrated:
            words += (
                f" In leave-one-out prediction, {self.coverage:.0%} of {self.n_observations} "
                "observations are inside their 95 % intervals."
            )
        else:
            words += (
                f" THE MODEL IS NOT CALIBRATED: in leave-one-out prediction, only "
                f"{self.coverage:.0%} of {self.n_observations} observations are inside their 95 % "
                "intervals, so do not rely on this bound."
            )
        return words

    def __str__(self) -> str:
        if not math.isfinite(self.value):
            return "no limit was proved on how much better other graphs may be"
        note = ", but the model is not calibrated" if self.calibrated is False else ""
        return (
            f"no graph is expected to be better than trial {self.trial} by more than "
            f"{self.value:.3g} (confidence {self.confidence:.3g}{note})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, with ``None`` for infinite numbers."""
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in vars(self).items()
        }


_NOISE: Mapping[NoiseOf, str] = {
    "graphs": (
        " The values of single graphs are assumed to deviate from what the kernel explains by a "
        "standard deviation of {}, and the bound allows for it."
    ),
    "unknown": (
        " The model finds noise with a standard deviation of {}. It may be errors of measurement, "
        "or deviations of single graphs from what the kernel explains: the bound holds for both. "
        "If you know the variance of your values (zero for exact ones), give it with them, and the "
        "bound becomes tighter."
    ),
    "measurements": (
        " The noise given as a setting (standard deviation {}) is taken as errors of "
        "measurement: the bound is about the objective without noise, and excludes deviations of "
        "single graphs from what the kernel explains."
    ),
}


def kappa_of(confidence: object, n_graphs: object, n_observations: int | None = None) -> float:
    """Number of standard deviations for limits on both sides with a given joint confidence.

    By Student's t if the scale of the deviations is estimated from ``n_observations``.
    """
    from scipy.special import ndtri, stdtrit  # late: keeps `import bogrape` quick

    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)):
        raise InvalidInputError(f"confidence must be a number, got {confidence!r:.100}")
    if not 0 < confidence < 1:
        raise InvalidInputError(
            f"confidence must be between 0 and 1, got {confidence!r}; try confidence=0.95"
        )
    n = whole(n_graphs, "n_graphs", 1)
    tail = (1.0 - float(confidence)) / (2.0 * n)
    return -float(ndtri(tail) if n_observations is None else stdtrit(n_observations - 1, tail))
