"""Bounds on LCB for the kernel ``rbf`` by expansion, against values within the ranges."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from bogrape.propose.exact.bounds.exponential_series import exponential_beyond
from bogrape.propose.exact.bounds.rbf_expansion import SHARES, WIDEST, Around, Expansion

ALPHA, NOISE = 1.7, 1e-4


class Model:
    """A Gaussian process over a few cells, with the interface of the screens."""

    def __init__(self, targets, y, kappa=1.0, limit=0.0):
        away = ((targets[:, None] - targets) ** 2).sum(axis=2)
        gram = ALPHA * np.exp(-0.5 * away) + NOISE * np.eye(len(y))
        self.targets, self.inverse, self.gram = targets, np.linalg.inv(gram), gram
        self.alpha, self.kappa, self.limit = ALPHA, kappa, limit
        self.weights = self.inverse @ y
        self.relative = 1e-14

    def predictors(self, kernel):
        c = kernel @ self.inverse
        return c, np.einsum("ij,jk,ik->i", c, self.gram, c), np.zeros(len(c))

    def lcb(self, cells):
        k = ALPHA * np.exp(-0.5 * ((cells[:, None] - self.targets) ** 2).sum(axis=2))
        variance = ALPHA - np.einsum("ij,jk,ik->i", k, self.inverse, k)
        return k @ self.weights - self.kappa * np.sqrt(np.maximum(variance, 0.0))


def case(rng, n_cells, n_observed, width, spread=1.0):
    """A model, three sets of graphs around different middles, and their expansion."""
    targets = spread * rng.normal(size=(n_observed, n_cells))
    model = Model(targets, rng.normal(size=n_observed))
    middles = 0.3 * spread * rng.normal(size=(3, n_cells))
    reach = width * rng.uniform(0.0, 1.0, size=(3, n_cells))
    common = middles.mean(axis=0)
    kernel = ALPHA * np.exp(-0.5 * ((middles[:, None] - targets) ** 2).sum(axis=2))
    around = Around(reach, common - middles, (reach**2).sum(axis=1))
    return model, middles, Expansion(model, targets - common), kernel, around


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("width", [0.0, 0.02, 0.1, 0.3])
def test_bounds_are_below_all_values_in_the_ranges(seed, width):
    rng = np.random.default_rng(seed)
    model, middles, expansion, kernel, around = case(rng, 3, 6, width)
    bounds = [expansion.bounds(kernel, around, share) for share in SHARES]
    for row, (middle, reach) in enumerate(zip(middles, around.reach, strict=True)):
        corners = np.stack(np.meshgrid(*[[-1, 0, 1]] * 3), axis=-1).reshape(-1, 3)
        moves = np.concatenate([corners, rng.uniform(-1, 1, size=(300, 3))]) * reach
        least = model.lcb(middle + moves).min()
        best = max(found[row] for found in bounds)
        assert best <= least + 1e-9
        if width <= 0.02:
            assert best > least - 0.05
        if width == 0.0:
            assert best > least - 5e-3  # tau is not the deviation itself
        model.limit = least + 1e-6
        assert expansion(kernel, around)[row]
        model.limit = bounds[0][row] - 1e-6
        assert not expansion(kernel, around)[row]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("pull", [-0.5, 0.0, 0.5])
@pytest.mark.parametrize("reach", [0.2, 0.9])
@pytest.mark.parametrize("away", [-0.6, 0.1, 0.8])
def test_every_term_is_needed(sign, pull, reach, away):
    """With one observation and one count, the bound on F is close to its minimum."""
    model = Model(np.array([[1.0]]), np.array([0.0]))
    expansion = Expansion(model, np.array([[away]]))
    around = Around(np.array([[reach]]), np.array([[pull]]), np.array([reach**2]))
    kernel, weights = np.array([[1.3]]), np.array([[sign]])
    found = float(expansion._least(weights, kernel, around)[0])
    eta = np.linspace(-reach, reach, 2001)
    # the length of the change of cells may be anything up to Q
    longest = np.where(sign > 0, reach**2, 0.0)
    values = sign * 1.3 * np.exp(pull * eta + away * eta - longest / 2)
    assert found <= values.min() + 1e-12
    # the bounds on both remainders are those of one sign, and attained at different ends
    lost = exponential_beyond(np.abs(np.array([pull, away, pull + away])) * reach, 2)
    both = np.abs(away * reach) * np.expm1(np.abs(pull * reach))
    allowed = 1.3 * (2 * lost.sum() + 2 * both + 1e-9) * math.exp(abs(pull) * reach)
    assert found >= values.min() - allowed
    if sign < 0 and pull == 0.0 and away > 0:
        assert found == pytest.approx(values.min(), abs=1e-6)  # Cauchy-Schwarz with equality
    if sign < 0 and away == 0.1 and pull == 0.5:
        assert found > values.min() - 0.12


def test_ranges_that_are_too_wide_are_not_tested():
    rng = np.random.default_rng(0)
    model, _, expansion, kernel, around = case(rng, 3, 6, 0.0)
    model.limit = -1e9
    assert not expansion(kernel, around).any()
    wide = np.array([False, True, False])
    square = np.where(wide, 2.0 * WIDEST, around.square)
    assert (expansion(kernel, Around(around.reach, around.pull, square)) == wide).all()
    reach = np.where(wide[:, None], 1e3, around.reach)
    assert (expansion(kernel, Around(reach, around.pull, around.square)) == wide).all()
    one = Around(around.reach[:1], 0 * around.pull[:1], around.square[:1])
    assert not expansion(kernel, one).any()
    far = SimpleNamespace(**vars(model) | {"predictors": model.predictors})
    unusable = Expansion(far, 1e3 * expansion._tau)
    apart = Around(np.full((3, 3), 0.5), 0 * around.pull, around.square)
    assert unusable(kernel, apart).all()
