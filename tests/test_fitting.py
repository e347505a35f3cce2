"""The likelihood of a `Spectrum`, compared with dense formulas and finite differences."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from operator import mul
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import GraphSpace
from bogrape.counts import Counts, count
from bogrape.fitting import Spectrum
from bogrape.joint_fitting import log_likelihood
from bogrape.kernels import KERNELS, feature_cross

from strategies import datasets

names = pytest.mark.parametrize("name", ["ssp", "sp", "essp", "esp"])
linear = pytest.mark.parametrize("name", ["ssp", "sp"])
BOTH_SIDES = pytest.mark.parametrize("n", [12, 120])  # fewer, and more, than SP has coordinates


def observed(n: int, seed: int = 0, **space: Any) -> tuple[Counts, np.ndarray]:
    """Random graphs of three sizes, and values with a trend and noise."""
    graphs = GraphSpace((4, 6), labels=2, **space).sample(n, seed=seed)
    rng = np.random.default_rng(seed)
    y = np.array([g.n_edges - 2.0 * g.labels.sum() for g in graphs]) + rng.normal(size=n)
    return count(graphs, 2), (y - y.mean()) / y.std()


def dense(name: str, counts: Counts, y: np.ndarray, alpha: float, beta: float, noise: float) -> Any:
    matrices = [
        KERNELS[name].cross(counts, counts),
        feature_cross(counts, counts, counts.features.shape[1]),
        np.eye(len(y)),
    ]
    return log_likelihood(np.log([alpha, beta, noise]), matrices, np.zeros((len(y),) * 2), y)


@names
@BOTH_SIDES
@pytest.mark.parametrize("directed", [False, True])
@settings(max_examples=15)
@given(st.floats(-4.6, 4.6), st.floats(-4.6, 4.6), st.floats(-9, 0), st.integers(0, 99))
def test_value_and_gradient_equal_the_dense_formulas(
    name: str, n: int, directed: bool, a: float, b: float, c: float, seed: int
) -> None:
    counts, y = observed(n, seed, directed=directed)
    at = math.exp(a), math.exp(b), math.exp(c)
    value, gradient = Spectrum.of(KERNELS[name], counts, y).log_likelihood(*at)
    expected, slope = dense(name, counts, y, *at)
    assert value == pytest.approx(expected, rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(gradient, slope, rtol=1e-8, atol=1e-8 * max(1.0, abs(expected)))


@names
@settings(max_examples=30)
@given(datasets(), st.floats(-4, 4), st.floats(-4, 4), st.floats(-6, 0))
def test_the_gradient_equals_finite_differences(
    name: str, dataset: Any, a: float, b: float, c: float
) -> None:
    counts, y = count(dataset[0]), np.array(dataset[1])
    y = (y - y.mean()) / max(y.std(), 1e-3)
    spectrum, theta = Spectrum.of(KERNELS[name], counts, y), np.array([a, b, c])
    _, gradient = spectrum.log_likelihood(*np.exp(theta))
    for i, step in enumerate(1e-4 * np.eye(3)):
        up, _ = spectrum.log_likelihood(*np.exp(theta + step))
        down, _ = spectrum.log_likelihood(*np.exp(theta - step))
        assert gradient[i] == pytest.approx((up - down) / 2e-4, rel=1e-4, abs=1e-4)


@names
@BOTH_SIDES
def test_without_the_feature_kernel_beta_does_not_matter(name: str, n: int) -> None:
    counts, y = observed(n)
    spectrum = Spectrum.of(KERNELS[name], counts, y, feature_kernel=False)
    value, gradient = spectrum.log_likelihood(2.0, 0.0, 1e-3)
    assert value == pytest.approx(dense(name, counts, y, 2.0, 1e-300, 1e-3)[0], rel=1e-9)
    assert gradient[1] == 0.0


def with_fifty_digits(name: str, counts: Counts, y: np.ndarray, at: tuple[float, ...]) -> float:
    """The likelihood by a Cholesky factor in decimal numbers, from the integer counts."""
    alpha, beta, noise = map(Decimal, at)
    raw = (counts.pairs if KERNELS[name].labelled else counts.lengths).reshape(len(y), -1)
    sizes, m = [Decimal(int(n)) for n in counts.sizes], counts.features.shape[1]
    of_paths, of_nodes = raw @ raw.T, counts.features @ counts.features.T
    log_det = square = Decimal(0)
    rows: list[list[Decimal]] = []
    solved: list[Decimal] = []
    for i, value in enumerate(y.tolist()):
        row: list[Decimal] = []
        for j in range(i + 1):
            nn = sizes[i] * sizes[j]
            k = alpha * int(of_paths[i, j]) / nn**2 + beta * int(of_nodes[i, j]) / (nn * m)
            other = rows[j] if j < i else row
            rest = k + (noise if i == j else 0) - sum(map(mul, row, other))
            row.append(rest.sqrt() if i == j else rest / other[j])
        rows.append(row)
        solved.append((Decimal(value) - sum(map(mul, row, solved))) / row[i])
        log_det += 2 * row[i].ln()
        square += solved[-1] ** 2
    return float(-(square + log_det) / 2) - len(y) * math.log(2 * math.pi) / 2


@linear
@pytest.mark.parametrize("at", [(100.0, 0.01, 1e-8), (0.01, 100.0, 1e-8), (100.0, 100.0, 1e-8)])
def test_in_weight_space_even_the_corners_of_the_box_are_exact(
    name: str, at: tuple[float, float, float]
) -> None:
    counts, y = observed(40)
    with localcontext(prec=50):
        expected = with_fifty_digits(name, counts, y, at)
    value, _ = Spectrum.of(KERNELS[name], counts, y).log_likelihood(*at)
    assert value == pytest.approx(expected, rel=1e-12)


# -- cost -------------------------------------------------------------------------------------


@linear
def test_many_observations_of_a_linear_kernel_are_reduced_to_one_number_per_coordinate(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    factorised = []
    for routine in ("svd", "eigh", "qr", "cholesky"):
        original = getattr(np.linalg, routine)

        def record(matrix: Any, *rest: Any, original: Any = original, **options: Any) -> Any:
            factorised.append(matrix.shape)
            return original(matrix, *rest, **options)

        monkeypatch.setattr(np.linalg, routine, record)
    counts, y = observed(300)
    n_most = counts.lengths.shape[1] * (3 if name == "sp" else 1) + 2  # P_sab = P_sba
    spectrum = Spectrum.of(KERNELS[name], counts, y)
    spectrum.log_likelihood(1.0, 1.0, 1e-6)
    assert len(spectrum.y) <= n_most
    assert all(min(shape) <= n_most + 1 for shape in factorised)


@names
def test_with_few_observations_no_matrix_is_larger_than_their_number(name: str) -> None:
    counts, y = observed(6)
    assert len(Spectrum.of(KERNELS[name], counts, y).y) == 6
