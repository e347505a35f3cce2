"""Kernels of users: fitted as in the textbook, and checked before they are used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bogrape import LCB, GraphGP, GraphSpace
from bogrape.counts import Counts, count
from bogrape.errors import InvalidInputError
from bogrape.fitting import Problem
from bogrape.joint_fitting import MOST_FITTED, fit_jointly
from bogrape.kernels import KERNELS, GraphKernel, Kernel, LogNormal, get_kernel, register_kernel
from bogrape.posterior import FittedModel, FunctionPosterior, WeightPosterior
from exhaustive import assert_optimal, everything, fitted, true_values
from own_parts import Edges, Gaussian, GaussianWithGradients, Laplacian

from oracles import feature_matrix, path_counts, textbook_posterior

SPACE = GraphSpace((3, 6), labels=3)


def data(n: int = 12, seed: int = 0) -> tuple[list[Any], np.ndarray]:
    graphs = SPACE.sample(n, seed=seed)
    return graphs, np.array([g.n_edges + 0.3 * g.labels.sum() for g in graphs], dtype=float)


def literal_gaussian(left: list[Any], right: list[Any], scale: float) -> np.ndarray:
    """`Gaussian` from networkx's distances, cell by cell."""
    out = np.zeros((len(left), len(right)))
    for i, a in enumerate(left):
        for j, b in enumerate(right):
            here, there = path_counts(a), path_counts(b)
            cells = {*here, *there}
            gaps = [here[c] / a.n_nodes**2 - there[c] / b.n_nodes**2 for c in cells]
            out[i, j] = np.exp(-0.5 * np.square(gaps).sum() / scale**2)
    return out


@given(st.integers(0, 1000), st.floats(0.05, 2.0), st.floats(0.1, 5.0), st.floats(0.1, 5.0))
def test_predictions_are_those_of_the_textbook(
    seed: int, scale: float, alpha: float, beta: float
) -> None:
    graphs, y = data(9, seed)
    queries = SPACE.sample(4, seed=seed + 1)
    noise = 1e-2

    @dataclass(frozen=True)
    class Fixed(Gaussian):
        def hyperparameters(self) -> Mapping[str, tuple[float, float]]:
            return {}

    gp = GraphGP(Fixed(scale), noise=noise, alpha=alpha, beta=beta, n_labels=3).fit(graphs, y)

    def covariance(left: list[Any], right: list[Any]) -> np.ndarray:
        return alpha * literal_gaussian(left, right, scale) + beta * feature_matrix(left, right, 3)

    mean, std = gp.predict(queries)
    k_self = np.array([covariance([q], [q])[0, 0] for q in queries])
    expected = textbook_posterior(
        covariance(graphs, graphs), covariance(queries, graphs), k_self, noise, y
    )
    np.testing.assert_allclose(mean, expected[0], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(std, expected[1], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(), GaussianWithGradients()])
def test_a_fitted_length_scale_has_the_largest_likelihood(kernel: Gaussian) -> None:
    graphs, y = data(14, 3)
    gp = GraphGP(kernel, noise=1e-2, n_labels=3).fit(graphs, y)
    found = gp.hyperparameters["scale"]
    assert 0.02 < found < 5.0
    for scale in np.geomspace(0.021, 4.9, 25):  # no point of a grid is more likely

        @dataclass(frozen=True)
        class Fixed(Gaussian):
            def hyperparameters(self) -> Mapping[str, tuple[float, float]]:
                return {}

        there = GraphGP(Fixed(float(scale)), noise=1e-2, n_labels=3).fit(graphs, y)
        assert there.log_likelihood <= gp.log_likelihood + 1e-3


def test_gradients_and_finite_differences_lead_to_the_same_fit() -> None:
    graphs, y = data(14, 5)
    fits = [
        GraphGP(kernel, noise="fit", n_labels=3, restarts=3).fit(graphs, y)
        for kernel in (Gaussian(), GaussianWithGradients())
    ]
    assert fits[0].log_likelihood == pytest.approx(fits[1].log_likelihood, abs=1e-3)
    assert set(fits[0].hyperparameters) == {"alpha", "beta", "noise", "scale"}


def test_hyperparameters_of_a_kernel_are_fitted_to_a_part_of_many_observations() -> None:
    graphs, y = data(MOST_FITTED + 60, 1)
    seen = []

    @dataclass(frozen=True)
    class Watched(Gaussian):
        def cross(self, left: Counts, right: Counts) -> np.ndarray:
            seen.append((self.scale, len(left)))
            return super().cross(left, right)

    counts = count(graphs, 3)
    known = {"alpha": 1.0, "beta": 0.0, "noise": 0.1}
    fit = fit_jointly(
        Problem(
            kernel=Watched(),
            counts=counts,
            y=(y - y.mean()) / y.std(),
            known=known,
            feature_kernel=False,
            restarts=1,
            seed=0,
        )
    )
    tried = {scale for scale, n in seen if n <= MOST_FITTED}
    assert len(tried) > 5
    assert {scale for scale, n in seen if n > MOST_FITTED} == {fit.kernel.scale}  # type: ignore[attr-defined]


# -- what is refused ------------------------------------------------------------------------------


class Wrong(Laplacian):
    """A kernel with one mistake."""

    def __init__(self, **instead: Any) -> None:
        self.__dict__.update(instead)

    def cross(self, left: Counts, right: Counts) -> np.ndarray:
        found = self.__dict__.get("values", super().cross)
        return np.asarray(found(left, right))

    def diagonal(self, counts: Counts) -> np.ndarray:
        return np.asarray(self.__dict__.get("of_each", super().diagonal)(counts))


def numbers_of(left: Counts, right: Counts) -> np.ndarray:
    return np.add.outer(left.lengths.sum(axis=1), 2.0 * right.lengths.sum(axis=1))


@pytest.mark.parametrize(
    ("instead", "message"),
    [
        ({"values": numbers_of}, "symmetric matrix"),
        ({"values": lambda a, b: -np.ones((len(a), len(b)))}, "to be -1, as cross has it"),
        (
            {"values": lambda a, b: 1.0 - np.abs(np.subtract.outer(a.sizes, b.sizes))},
            "no negative eigenvalues",
        ),
        ({"values": lambda a, b: np.full((len(a), len(b)), np.nan)}, "finite numbers, got nan"),
        ({"values": lambda a, b: np.ones((len(b), len(a) + 1))}, r"shape \(12, 12\), got"),
        ({"values": lambda a, b: "much"}, "array of numbers, got ndarray|array of numbers"),  # noqa: ARG005
        ({"of_each": lambda c: 2.0 * np.ones(len(c))}, "between 0 and largest"),
        ({"of_each": lambda c: 0.5 * np.ones(len(c))}, "as cross has it, got 0.5"),
        (
            {
                "values": lambda a, b: np.full((len(a), len(b)), 1.0 / a.lengths.shape[1]),
                "of_each": lambda c: np.full(len(c), 1.0 / c.lengths.shape[1]),
            },
            "padded with zeros",
        ),
        ({"labelled": "yes"}, "`labelled`, True or False, got 'laplacian' and 'yes'"),
        ({"name": ""}, "expected a string `name`"),
        ({"amplitude_bounds": (1.0, 0.5)}, "0 < low < high for the range of amplitude_bounds"),
    ],
)
def test_an_invalid_kernel_is_refused_with_the_reason(
    instead: dict[str, Any], message: str
) -> None:
    graphs, y = data()
    with pytest.raises(InvalidInputError, match=message):
        GraphGP(Wrong(**instead), n_labels=3).fit(graphs, y)


def test_a_kernel_that_is_indefinite_elsewhere_is_detected_by_a_negative_variance() -> None:
    """On the observations alone it is positive definite."""

    class Indefinite(Laplacian):
        def cross(self, left: Counts, right: Counts) -> np.ndarray:
            same = left.sizes[:, None] == right.sizes[None]
            far = (left.sizes[:, None] > 4) != (right.sizes[None] > 4)
            return np.where(far, 3.0, np.where(same, 1.0, 1.0))

    graphs = GraphSpace(4).sample(4, seed=1)
    gp = GraphGP(Indefinite(), noise=0.01).fit(graphs, np.arange(4.0))
    with pytest.raises(InvalidInputError, match="posterior variance of -"):
        gp.predict(GraphSpace(6).sample(1, seed=0))


def test_hyperparameters_must_be_numbers_of_the_kernel_with_a_range() -> None:
    class Nameless(Laplacian):
        def hyperparameters(self) -> Mapping[str, tuple[float, float]]:
            return {"scale": (0.1, 1.0)}

    class Taken(Laplacian):
        alpha = 1.0

        def hyperparameters(self) -> Mapping[str, tuple[float, float]]:
            return {"alpha": (0.1, 1.0)}

    for kernel in (Nameless(), Taken()):
        with pytest.raises(InvalidInputError, match="attribute of the kernel"):
            GraphGP(kernel)


def test_wrong_gradients_are_refused() -> None:
    @dataclass(frozen=True)
    class Other(Gaussian):
        def gradients(self, counts: Counts) -> Mapping[str, np.ndarray]:
            return {"length": self.cross(counts, counts)}

    graphs, y = data()
    with pytest.raises(InvalidInputError, match=r"one for each of \['scale'\], got \['length'\]"):
        GraphGP(Other(), n_labels=3).fit(graphs, y)


# -- names and flags ------------------------------------------------------------------------------


def test_a_kernel_can_be_registered_and_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bogrape.kernels._OWN", {})
    with pytest.raises(InvalidInputError, match=r"unknown kernel 'edges'; choose one of ssp, sp"):
        get_kernel("edges")
    kernel = register_kernel(Edges())
    assert get_kernel("edges") is kernel is get_kernel("Edges") is get_kernel(kernel)
    assert GraphGP("edges").kernel is kernel  # type: ignore[arg-type]
    again = register_kernel(Edges())  # as a notebook does when a cell runs twice
    assert get_kernel("edges") is again


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (Wrong(name="SSP"), "other than those of the package's kernels"),
        (Edges, r"an instance of a kernel, got the class Edges; try Edges\(\)"),
        (np.dot, "derives from bogrape.kernels.Kernel, got"),
    ],
)
def test_objects_that_cannot_be_registered_are_refused(thing: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        register_kernel(thing)


def test_the_papers_kernels_cannot_be_replaced() -> None:
    with pytest.raises(TypeError):
        KERNELS["ssp"] = KERNELS["sp"]  # type: ignore[index]
    with pytest.raises(TypeError, match=r"derive from bogrape\.kernels\.Kernel"):
        type("Mine", (GraphKernel,), {})


class Pretender(Edges):
    """A kernel with the flags of SSP that is not SSP."""

    exponential = False


def test_no_flags_make_a_kernel_linear() -> None:
    graphs, y = data()
    gp = GraphGP(Pretender(), n_labels=3).fit(graphs, y)
    assert isinstance(gp.posterior, FunctionPosterior)
    with pytest.raises(InvalidInputError, match="no finite feature vector"):
        WeightPosterior(gp.posterior.model)
    assert isinstance(gp.posterior.model, FittedModel)


def test_a_kernel_is_abstract_until_it_has_values() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Kernel()  # type: ignore[abstract]


# -- priors, features and edge labels -------------------------------------------------------------


@dataclass(frozen=True)
class Believing(GaussianWithGradients):
    """A kernel with narrow priors, which compares labels by itself."""

    name = "believing"
    includes_features = True

    def priors(self) -> dict[str, LogNormal]:
        return {"scale": LogNormal(math.log(0.5), 1e-4), "alpha": LogNormal(math.log(2.0), 1e-4)}


def test_narrow_priors_determine_the_hyperparameters() -> None:
    graphs = GraphSpace(6, labels=2).sample(12, seed=1)
    found = GraphGP(Believing()).fit(graphs, [g.n_edges for g in graphs]).hyperparameters
    assert found["scale"] == pytest.approx(0.5, rel=1e-2)
    assert found["alpha"] == pytest.approx(2.0, rel=1e-2)
    assert found["beta"] == 0.0


class EdgeLabels(Kernel):
    """A kernel that sees only the mean edge label."""

    name = "edge labels"
    labelled = False
    edge_labelled = True

    def _mean(self, counts: Counts) -> np.ndarray:
        assert counts.edges is not None
        by_label = counts.edges.sum(axis=(2, 3))
        total = by_label @ np.arange(by_label.shape[1])
        return np.asarray(total / np.maximum(by_label.sum(axis=1), 1))

    def cross(self, left: Counts, right: Counts) -> np.ndarray:
        return np.exp(-((self._mean(left)[:, None] - self._mean(right)) ** 2))

    def diagonal(self, counts: Counts) -> np.ndarray:
        return np.ones(len(counts))

    def largest(self) -> float:
        return 1.0


def test_a_kernel_may_read_edge_labels_and_is_proved_with_them() -> None:
    space = GraphSpace(4, edge_labels=2)
    gp = fitted(space, EdgeLabels(), seed=2, feature_kernel=False)  # type: ignore[arg-type]
    values = true_values(gp, LCB(1.0), everything(space))
    assert max(values) > min(values) + 1e-3
    assert_optimal(space, gp)
