r"""The lower confidence bound in integers, with its rounding error accounted for.

With scales A and B, ``omega = round(A w)`` and ``rho = round(B (R, r0))``, the solver minimises

.. math:: \omega^\top x - K\,t, \qquad t^2 \le \sum_k y_k^2,\quad y = \rho (x, 1),
          \qquad K = \kappa A / B

over integers. For every graph, with ``error_mean`` and ``error_std`` the largest effect of rounding
w and R over the bounds of x (`IntegerForm.error` adds them up),

.. math:: A (\mu - \kappa\sigma - w_0) \ge (\omega^\top x - K t_{max}) - \text{error},

where ``t_max`` is the largest feasible t. So a bound of the solver, less the error, is a bound on
the acquisition; and no graph below a value v is lost by asking for at most ``A (v - w0) + error``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from .forms import CountForm

_RANGE_STD = 1e6  # y stays below this: finer is exacter, coarser is easier to solve
_RANGE_MEAN = 1e9
_MOST_MEAN = 1e14  # omega x stays below this, far inside 64 bits
_STEPS = 64  # K: how many units of the objective one unit of t is worth


@dataclass(frozen=True, eq=False)
class IntegerForm:
    """``omega x - K t`` with ``t^2 <= |rho (x, 1)|^2``, in units of 1/A."""

    omega: NDArray[np.int64]
    rho: NDArray[np.int64]  # one row a y; the last column multiplies 1
    scale: float  # A
    K: int
    w0: float
    error: float  # in units of 1/A
    y_bounds: NDArray[np.int64]
    upper: NDArray[np.int64]

    @classmethod
    def of(cls, form: CountForm, kappa: float) -> IntegerForm:
        """Scale and round a form for LCB with this kappa."""
        upper = form.coordinates.upper().astype(float)
        ends = np.append(upper, 1.0)
        factor = np.column_stack([form.R, form.r0])
        spread = float((np.abs(factor) @ ends).max(initial=0.0))
        range_mean = max(float(np.abs(form.w) @ upper), 1e-12)
        if kappa * spread <= _STEPS * _RANGE_STD / _MOST_MEAN * range_mean:
            # the deviation is nothing beside the mean: it is left out and paid for as an error
            A = _RANGE_MEAN / range_mean
            omega = np.rint(A * form.w).astype(np.int64)
            largest = float(np.linalg.norm(np.abs(factor) @ ends)) + form.slack
            error = float(np.abs(A * form.w - omega) @ upper) + A * kappa * largest + 1.0
            none = np.zeros((0, len(ends)), dtype=np.int64)
            return cls(omega, none, A, 0, form.w0, error, none[:, 0], upper.astype(np.int64))
        B = _RANGE_STD / spread
        A = _STEPS * B / kappa
        omega = np.rint(A * form.w).astype(np.int64)
        rho = np.rint(B * factor).astype(np.int64)
        rho = rho[np.abs(rho).any(axis=1)]
        # every row that rounds to zero, and every rounded entry, is paid for in error_std
        rounded = np.zeros_like(factor)
        rows = np.flatnonzero(np.abs(np.rint(B * factor)).any(axis=1))
        rounded[rows] = rho
        error_std = float(np.linalg.norm(np.abs(B * factor - rounded) @ ends)) + B * form.slack
        error_mean = float(np.abs(A * form.w - omega) @ upper)
        K = _STEPS  # kappa A / B, without the rounding of floating point
        error = error_mean + K * (error_std + 1.0) + 1.0  # t is a whole number: at most 1 below
        y_bounds = np.abs(rho) @ np.append(upper.astype(np.int64), 1)
        return cls(omega, rho, A, K, form.w0, error, y_bounds, upper.astype(np.int64))

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
        model.add(t_square <= cp_model.LinearExpr.sum(squares))
        return mean - self.K * t

    def at_most(self, value: float) -> int:
        """No graph with a standardised acquisition of at most ``value`` has a larger objective."""
        return math.floor(self.scale * (value - self.w0) + self.error)

    def lower_bound(self, objective: float) -> float:
        """The standardised acquisition that an objective of at least this much guarantees."""
        return (objective - self.error) / self.scale + self.w0
