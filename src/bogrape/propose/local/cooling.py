"""How much worse a chain may get in a step of simulated annealing."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray

_HOT, _COLD = 0.6, 0.01  # temperatures, relative to the spread


class Cooling:
    """Temperatures for a number of evaluations.

    A step that makes the value worse by x is made with probability ``exp(-x / T)``. The temperature
    T falls from a share of the spread of random graphs' values to a small one.
    """

    def __init__(self, budget: int, spread: float) -> None:
        self._budget, self._used, self._spread = max(1, budget), 0, spread

    @property
    def temperature(self) -> float:
        """The temperature after the evaluations so far."""
        passed = min(1.0, self._used / self._budget)
        return float(self._spread * _HOT * (_COLD / _HOT) ** passed)

    def allowed(self, number: int, n_evaluations: int, rng: np.random.Generator) -> FloatArray:
        """For each chain, how much worse it may get in a step with this many evaluations."""
        out = self.temperature * rng.exponential(size=number)
        self._used += n_evaluations
        return np.asarray(out)
