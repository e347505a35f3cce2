r"""The lower confidence bound in integers, with its rounding error accounted for.

With scales A and B, ``omega = round(A w)`` and ``rho = round(B (R, r0))``, the solver minimises

.. math:: \omega^\top x - K\,t, \qquad t^2 \le \sum_k y_k^2,\quad y = \rho (x, 1),
          \qquad K = \kappa A / B

over integers. For every graph, with ``error_mean`` and ``error_std`` the largest effect of rounding
w and R over the bounds of x (`IntegerLcb.error` adds them up),

.. math:: A (\mu - \kappa\sigma - w_0) \ge (\omega^\top x - K t_{max}) - \text{error},

where ``t_max`` is the largest feasible t. So a bound of the solver minus the error is a bound on
the acquisition; and no graph below a value v is lost by asking for at most ``A (v - w0) + error``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from ....arrays import FloatArray, IntArray
from .posterior_over_counts import PosteriorOverCounts

_RANGE_STD = 1e6  # y stays below this: a larger range is more exact, but harder to solve
_RANGE_MEAN = 1e9
_MOST_MEAN = 1e14  # omega x stays below this, far inside 64 bits
_BEYOND = 2**60  # no objective is that large
_FLOATING = 1e-13  # relative
_RANGE_LINE = 1e5  # of the weights of a line
_STEPS = 64  # K: units of the objective per unit of t


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerLcb:
    """``omega x - K t`` with ``t^2 <= |rho (x, 1)|^2``, in units of 1/A."""

    omega: IntArray
    rho: IntArray  # one row per y; the last column multiplies 1
    scale: float  # A
    K: int
    w0: float
    error: float  # in units of 1/A
    y_bounds: IntArray
    upper: IntArray

    @classmethod
    def of(cls, posterior: PosteriorOverCounts, kappa: float) -> IntegerLcb:
        """Scale and round a posterior for LCB with this kappa."""
        upper, largest = posterior.coordinates.upper(), posterior.coordinates.largest
        factor = np.column_stack([posterior.R, posterior.r0])
        mean = np.append(posterior.w, 0.0)
        spread = float(largest(factor).max(initial=0.0))
        range_mean = max(float(largest(mean)[0]), 1e-12)
        most_std = float(np.linalg.norm(largest(factor))) + posterior.slack
        # floating-point errors of w0, w, R and the acquisition they are compared with
        floating = _FLOATING * (1.0 + abs(posterior.w0) + range_mean + kappa * most_std)
        if kappa * spread <= _STEPS * _RANGE_STD / _MOST_MEAN * range_mean:
            # the deviation is negligible compared with the mean: it is part of the error
            A = _RANGE_MEAN / range_mean
            omega = np.rint(A * mean).astype(np.int64)
            error = float(largest(A * mean - omega)[0]) + A * (kappa * most_std + floating) + 1.0
            none = np.zeros((0, len(mean)), dtype=np.int64)
            return cls(
                omega=omega[:-1],
                rho=none,
                scale=A,
                K=0,
                w0=posterior.w0,
                error=error,
                y_bounds=none[:, 0],
                upper=upper,
            )
        B = _RANGE_STD / spread
        A = _STEPS * B / kappa
        omega = np.rint(A * mean).astype(np.int64)
        rounded = np.rint(B * factor)
        # error_std covers all rounded entries, including rows that round to zero
        error_std = float(np.linalg.norm(largest(B * factor - rounded))) + B * posterior.slack
        error_mean = float(largest(A * mean - omega)[0]) + A * floating
        K = _STEPS  # kappa A / B, without floating-point error
        error = error_mean + K * (error_std + 1.0) + 1.0  # t is rounded down, by at most 1
        rho = rounded[np.abs(rounded).any(axis=1)].astype(np.int64)
        return cls(
            omega=omega[:-1],
            rho=rho,
            scale=A,
            K=K,
            w0=posterior.w0,
            error=error,
            y_bounds=largest(rho),
            upper=upper,
        )

    def objective(self, model: Any, counts: list[Any]) -> Any:
        """Add y, their squares and t to a model; returns the expression to minimise."""
        mean = cp_model.LinearExpr.weighted_sum(counts, [int(c) for c in self.omega])
        if not len(self.rho):
            return mean
        squares = []
        for row, bound in zip(self.rho, self.y_bounds, strict=True):
            y = model.new_int_var(-int(bound), int(bound), "y")
            weighted = cp_model.LinearExpr.weighted_sum(counts, [int(c) for c in row[:-1]])
            model.add(y == weighted + int(row[-1]))
            square = model.new_int_var(0, int(bound) ** 2, "y^2")
            model.add_multiplication_equality(square, [y, y])
            squares.append(square)
        largest = math.isqrt(int((self.y_bounds.astype(object) ** 2).sum())) + 1
        t = model.new_int_var(0, largest, "t")
        t_square = model.new_int_var(0, largest**2, "t^2")
        model.add_multiplication_equality(t_square, [t, t])
        variance = cp_model.LinearExpr.sum(squares)
        model.add(t_square <= variance)
        model.add(variance <= t_square + 2 * t)  # t is as large as possible: no need to search
        return mean - self.K * t

    def at_most(self, value: float) -> int:
        """No graph with a standardised acquisition of at most ``value`` has a larger objective."""
        limit = math.floor(self.scale * (value - self.w0) + self.error)
        return max(-_BEYOND, min(limit, _BEYOND))

    def lower_bound(self, objective: float) -> float:
        """The standardised acquisition that an objective of at least this much guarantees."""
        return (objective - self.error) / self.scale + self.w0


@dataclass(frozen=True, eq=False)
class IntegerLine:
    """A linear function below LCB, ``weights x / scale + offset``, in whole numbers."""

    weights: IntArray
    scale: float
    offset: float

    @classmethod
    def of(cls, cost: FloatArray, offset: float) -> IntegerLine:
        """Scale and round a line down: counts are never negative, so it stays below LCB."""
        scale = _RANGE_LINE / max(float(np.abs(cost).max(initial=0.0)), 1e-12)
        return cls(np.floor(scale * cost).astype(np.int64), scale, offset)

    def objective(self, model: Any, counts: list[Any]) -> Any:  # noqa: ARG002
        """The expression to minimise."""
        return cp_model.LinearExpr.weighted_sum(counts, [int(w) for w in self.weights])

    def at_most(self, value: float) -> int:
        """No counts with an acquisition of at most ``value`` have a larger objective."""
        limit = math.floor(self.scale * (value - self.offset)) + 1
        return max(-_BEYOND, min(limit, _BEYOND))

    def lower_bound(self, objective: float) -> float:
        """The standardised acquisition that an objective of at least this much guarantees."""
        return objective / self.scale + self.offset
