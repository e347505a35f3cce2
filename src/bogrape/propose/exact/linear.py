r"""Linear programs that bound LCB over counts: all that is known of graphs at once, in no time.

The counts x of a piece obey rows (`bogrape.propose.exact.counting`), the mean is linear in them,
and with ``z = C (x, 1)`` the variance is ``|z|^2 - |B z|^2`` (`bogrape.propose.exact.forms`). Every
count has cells of z of its own, so for ``low <= x <= high`` and any vector b

.. math:: |z|^2 = c + \sum_i D_i x_i^2 \le c + \sum_i D_i ((low_i + high_i) x_i - low_i high_i),
          \qquad -|B z|^2 \le |b|^2 - 2 b^\top B z :

a secant and a tangent. So :math:`\sigma^2 \le q(x)`, which is linear, and for any :math:`\tau > 0`

.. math:: \mu - \kappa\sigma \ge \mu(x) - \kappa \frac{q(x) + \tau^2}{2 \tau} ,

a linear function to be minimised. The best b and :math:`\tau` belong to the x that is found: it
takes a few programs. A bound does not rest on the solver's word: it is computed from the dual
solution, which is a proof whatever its digits are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .counting import Row
from .forms import CountForm

FloatArray = NDArray[np.float64]

_MOST_PROGRAMS = 5
_WORTH_IT = 0.02  # of what is missing: a program that gains less is the last one
_ROUNDING = 1e-11  # relative, of the sums a bound is made of


@dataclass(frozen=True)
class Tangent:
    """Where the deviation is taken to be: ``b`` and ``tau`` above."""

    b: FloatArray
    tau: float


class Program:
    """Rows and bounds of counts, to be minimised over."""

    def __init__(self, rows: Iterable[Row], upper: NDArray[np.int64]) -> None:
        from scipy.sparse import csr_array, vstack  # late: keeps `import bogrape` quick

        listed = list(rows)
        owner = np.repeat(np.arange(len(listed)), [len(weights) for weights, _, _ in listed])
        columns = [i for weights, _, _ in listed for i in weights]
        entries = [float(w) for weights, _, _ in listed for w in weights.values()]
        matrix = csr_array((entries, (owner, columns)), shape=(len(listed), len(upper)))
        low = np.array([row[1] for row in listed])
        high = np.array([row[2] for row in listed])
        self.lower = np.zeros(len(upper))
        self.upper = upper.astype(float)
        self._tighten(listed)
        equal, above, below = low == high, (low < high) & (high < math.inf), low < high
        below &= low > -math.inf
        self._most = vstack([matrix[above], -matrix[below]], format="csr")
        self._most_at = np.concatenate([high[above], -low[below]])
        self._equal, self._equal_to = matrix[equal], high[equal]

    def _tighten(self, rows: Iterable[Row]) -> None:
        """No count is larger than a sum of counts that it belongs to."""
        for weights, _, high in rows:
            if high < math.inf and min(weights.values(), default=-1) >= 0:
                for i, weight in weights.items():
                    if weight:
                        self.upper[i] = min(self.upper[i], high // weight)

    def minimise(self, cost: FloatArray, seconds: float) -> tuple[float, FloatArray | None]:
        """A lower bound on ``cost x``, and the x that suggests it if there is one."""
        from scipy.optimize import linprog

        found = linprog(
            cost,
            self._most,
            self._most_at,
            self._equal,
            self._equal_to,
            bounds=np.column_stack([self.lower, self.upper]),
            method="highs-ds",
            options={"time_limit": seconds},
        )
        if found.x is None:
            return -math.inf, None
        most = np.minimum(found.ineqlin.marginals, 0.0)
        equal = found.eqlin.marginals
        reduced = cost - self._most.T @ most - self._equal.T @ equal
        parts = np.concatenate(
            [
                most * self._most_at,
                equal * self._equal_to,
                np.minimum(reduced * self.lower, reduced * self.upper),
            ]
        )
        size = np.abs(parts).sum() + np.abs(cost) @ self.upper
        return float(parts.sum() - _ROUNDING * size), found.x


def linear_bound(
    form: CountForm,
    rows: Iterable[Row],
    kappa: float,
    value: float,
    deadline: float,
    start: Tangent | None = None,
) -> tuple[float, Tangent | None]:
    """A standardised lower bound on LCB over counts that obey rows, and where it touches.

    It is of interest up to ``value`` only. A start near the best tangent saves programs.
    """
    program = Program(rows, form.coordinates.upper())
    size, projected = form.cells, form.projected
    low, high = program.lower, program.upper
    secant = size[:-1] * (low + high)
    constant = float(size[-1] - size[:-1] @ (low * high))
    tangent, bound = start, -math.inf
    for _ in range(_MOST_PROGRAMS):
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            break
        cost, offset = form.w, form.w0
        if tangent is not None and kappa:
            b, tau = tangent.b, tangent.tau
            cost = cost - kappa / (2 * tau) * (secant - 2 * b @ projected[:, :-1])
            beside = constant - 2 * float(b @ projected[:, -1]) + float(b @ b) + tau**2
            offset = offset - kappa / (2 * tau) * beside - kappa * form.slack
        least, x = program.minimise(cost, seconds)
        if x is None:
            break
        if tangent is not None or not kappa:
            before, bound = bound, max(bound, least + offset)
            if bound >= value or bound - before < _WORTH_IT * (value - bound):
                break
        b = projected @ np.append(x, 1.0)
        variance = float(secant @ x) + constant - float(b @ b)
        tangent = Tangent(b, math.sqrt(max(variance, 1e-6 * constant, 1e-300)))
    return bound, tangent
