"""The posterior over counts is exact, and its integer form is within the declared error."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from ortools.sat.python import cp_model

from bogrape import GraphGP, GraphSpace
from bogrape.counts import count
from bogrape.graph import Graph
from bogrape.propose.exact.bounds.integer_lcb import IntegerLcb
from bogrape.propose.exact.bounds.posterior_over_counts import PosteriorOverCounts
from bogrape.propose.exact.distances.coordinates import Coordinates
from exhaustive import DATASETS, fitted, random_graph

SPACES = {
    "plain": GraphSpace(7),
    "labels": GraphSpace(6, labels=3),
    "features": GraphSpace(5, labels=2, features=2),
    "directed": GraphSpace(5, labels=2, directed=True, connected=False),
    "large": GraphSpace(13, labels=3),
    "one node": GraphSpace(1, labels=3, features=1),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"feature_kernel": False},
    {"alpha": 100.0, "beta": 0.01, "noise": 1e-8},
    {"alpha": 0.01, "beta": 100.0, "noise": 1.0},
    {"alpha": 1e4, "beta": 1e-4},
]


def _graphs(space: GraphSpace, seed: int, k: int = 12) -> list[Graph]:
    rng = np.random.default_rng(seed)
    n = space.n_max
    some = [random_graph(space, n, rng, one_label=i % 3 == 0) for i in range(k)]
    if not space.connected:
        some += [Graph(np.zeros((n, n)), some[0].labels, some[0].features, space.directed)]
    return some


def _forms(space: GraphSpace, gp: GraphGP, graphs: list[Graph]) -> Any:
    """Each graph with every kind of its coordinates, and the form over these."""
    shape = space.shape(space.n_max)
    labelled = gp.kernel.labelled
    for graph in graphs:
        numbers = tuple(np.bincount(graph.labels, minlength=space.n_labels).tolist())
        compositions = [None, numbers] if labelled else [None]
        distance = graph.distances()
        diameter = int(distance[np.isfinite(distance)].max())
        for composition in compositions:
            for longest in {diameter, space.n_max - 1}:
                coordinates = Coordinates.of(
                    shape, labelled=labelled, longest=longest, composition=composition
                )
                yield graph, coordinates, PosteriorOverCounts.of(gp.posterior, coordinates)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kernel", ["ssp", "sp"])
@pytest.mark.parametrize("name", SPACES)
def test_the_form_over_counts_is_the_posterior(
    name: str, kernel: str, options: dict[str, Any]
) -> None:
    space = SPACES[name]
    for kind in ("random", "sizes", "one label", "constant"):
        gp = fitted(space, kernel, kind, 31, **options)
        model = gp.posterior.model
        for graph, coordinates, form in _forms(space, gp, _graphs(space, 1, 4)):
            x = np.array([coordinates.values(graph)], dtype=np.int64)
            assert (x >= 0).all()
            assert (x <= coordinates.upper()).all()
            mean, std = gp.posterior.mean_std(count([graph], space.n_labels))
            expected = (mean[0] - model.y_mean) / model.y_scale
            assert form.mean(x)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            sigma = std[0] / model.y_scale
            assert form.std(x)[0] == pytest.approx(sigma, rel=1e-6, abs=form.slack + 1e-7)


@pytest.mark.thinned(4)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kernel", ["ssp", "sp"])
@pytest.mark.parametrize("name", SPACES)
def test_integers_stay_within_their_declared_error(
    name: str, kernel: str, options: dict[str, Any]
) -> None:
    space = SPACES[name]
    for kind, kappa in zip(DATASETS, (0.0, 1.0, 1.96, 1.0, 1e-6, 1e4, 1e-12), strict=True):
        gp = fitted(space, kernel, kind, 32, **options)
        model = gp.posterior.model
        for graph, coordinates, form in _forms(space, gp, _graphs(space, 2, 4)):
            integers = IntegerLcb.of(form, kappa)
            mean, std = gp.posterior.mean_std(count([graph], space.n_labels))
            true = float(mean[0] - kappa * std[0] - model.y_mean) / model.y_scale
            x = np.array(coordinates.values(graph), dtype=object)
            y = [int(row[:-1] @ x) + int(row[-1]) for row in integers.rho.astype(object)]
            assert all(abs(a) <= b for a, b in zip(y, integers.y_bounds, strict=True))
            t = math.isqrt(sum(a * a for a in y))  # the largest the solver can take
            value = int(integers.omega.astype(object) @ x) - integers.K * t
            assert integers.lower_bound(value) <= true + 1e-9 * max(1.0, abs(true))
            assert value <= integers.at_most(true)
            # and the error is small, relative to the range of the acquisition
            span = float(np.abs(form.w) @ coordinates.upper()) + (1 + kappa) * math.sqrt(
                model.diagonal(count([graph], space.n_labels))[0]
            )
            assert integers.error / integers.scale <= 2e-3 * span


@pytest.mark.parametrize("kappa", [0.0, 1.0, 1.96])
@pytest.mark.parametrize("kernel", ["ssp", "sp"])
def test_the_solver_sees_the_same_objective(kernel: str, kappa: float) -> None:
    space = GraphSpace(5, labels=2)
    gp = fitted(space, kernel, seed=33)
    for graph, coordinates, form in _forms(space, gp, _graphs(space, 3, 3)):
        integers = IntegerLcb.of(form, kappa)
        model = cp_model.CpModel()
        counts = [model.new_constant(value) for value in coordinates.values(graph)]
        model.minimize(integers.objective(model, counts))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        assert solver.solve(model) == cp_model.OPTIMAL
        mean, std = gp.posterior.mean_std(count([graph], 2))
        fit = gp.posterior.model
        true = float(mean[0] - kappa * std[0] - fit.y_mean) / fit.y_scale
        assert integers.lower_bound(solver.objective_value) <= true + 1e-9
        assert solver.objective_value <= integers.at_most(true)


@pytest.mark.parametrize("kappa", [0.0, 1e-9, 1.0])
def test_limits_fit_the_solver_even_where_nothing_can_vary(kappa: float) -> None:
    space = GraphSpace(1, labels=2)
    gp = fitted(space, "sp", seed=34)
    coordinates = Coordinates.of(space.shape(1), labelled=True, longest=0, composition=(1, 0))
    assert len(coordinates) == 0
    integers = IntegerLcb.of(PosteriorOverCounts.of(gp.posterior, coordinates), kappa)
    for value in (-1e9, 0.0, 1e9):
        model = cp_model.CpModel()
        model.add(integers.objective(model, []) <= integers.at_most(value))
        solver = cp_model.CpSolver()
        expected = cp_model.INFEASIBLE if value < 0 else cp_model.OPTIMAL
        assert value == 0.0 or solver.solve(model) == expected
