"""Limits for values of graphs against the joint normal distribution of all they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bogrape import GraphGP, GraphSpace, Study
from bogrape.arrays import FloatArray
from bogrape.errors import FitError
from bogrape.gp import STUDY_CLIP
from bogrape.graph import Graph
from bogrape.left_out import Inverse
from bogrape.study.limits import limits_at_observed, limits_of, told

from strategies import datasets

SPACE = GraphSpace(5, labels=2)
ALL = SPACE.enumerate()


def conditioned(gp: GraphGP, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and deviations of v = y - e given y, if the errors e have these variances."""
    fitted = gp.posterior.model
    of_y = fitted.covariance()
    of_v_and_y = of_y - np.diag(errors)
    gain = np.linalg.solve(of_y, of_v_and_y)
    mean = gain.T @ fitted.y
    covariance = of_v_and_y - of_v_and_y.T @ gain  # v has the covariance that v and y share
    return mean, np.sqrt(np.maximum(np.diag(covariance), 0.0))


@given(
    data=datasets(min_size=2, directed=False, n_features=0),
    kernel=st.sampled_from(["ssp", "rbf"]),
    noise=st.floats(1e-3, 0.5),
    own=st.floats(0.0, 2.0),
    parts=st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8),
    kappa=st.floats(0.01, 10.0),
)
@settings(max_examples=60, deadline=None)
def test_limits_for_a_known_error_are_those_of_the_joint_distribution(
    data: tuple[list[Graph], list[float]],
    kernel: Any,
    noise: float,
    own: float,
    parts: list[float],
    kappa: float,
) -> None:
    graphs, values = data
    variances = own * np.arange(len(values)) * max(np.var(values), 1e-9)
    gp = GraphGP(kernel, noise=noise, alpha=1.3, n_labels=3, seed=1)
    try:
        gp.fit(graphs, values, noise=variances)
    except FitError:
        return
    errors = np.array(parts[: len(values)]) * gp.posterior.model.variances
    mean, std = conditioned(gp, errors)
    lower, upper = limits_at_observed(Inverse(gp.posterior.model), kappa, errors, errors)
    np.testing.assert_allclose(lower, mean - kappa * std, atol=1e-5)
    np.testing.assert_allclose(upper, mean + kappa * std, atol=1e-5)


@given(
    data=datasets(min_size=2, directed=False, n_features=0),
    noise=st.floats(1e-3, 0.5),
    ends=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(sorted),
    kappa=st.floats(0.01, 10.0),
)
@settings(max_examples=60, deadline=None)
def test_limits_for_unknown_errors_are_the_outermost_of_all_errors(
    data: tuple[list[Graph], list[float]], noise: float, ends: list[float], kappa: float
) -> None:
    graphs, values = data
    gp = GraphGP("ssp", noise=noise, alpha=1.3, beta=0.7, n_labels=3).fit(graphs, values)
    fitted = gp.posterior.model
    least, most = (end * fitted.variances for end in ends)
    lower, upper = limits_at_observed(Inverse(fitted), kappa, least, most)
    found = [conditioned(gp, least + s * (most - least)) for s in np.linspace(0.0, 1.0, 201)]
    highest = np.max([mean + kappa * std for mean, std in found], axis=0)
    lowest = np.min([mean - kappa * std for mean, std in found], axis=0)
    assert (upper >= highest - 1e-6).all()
    assert (lower <= lowest + 1e-6).all()
    # no wider than what is between two of these errors
    slack = kappa * np.sqrt(most.max() / 200) + 1e-6
    assert (upper <= highest + slack).all()
    assert (lower >= lowest - slack).all()


def test_predictions_are_the_limits_if_all_noise_is_error_and_values_if_none_is() -> None:
    graphs = SPACE.sample(12, seed=1, distinct=True)
    values = np.array([graph.n_edges + 0.3 * np.sin(7 * i) for i, graph in enumerate(graphs)])
    gp = GraphGP("ssp", noise="fit", space=SPACE).fit(graphs, values)
    fitted, inverse = gp.posterior.model, Inverse(gp.posterior.model)
    mean, std = gp.posterior.standard_mean_std(fitted.counts)
    lower, upper = limits_at_observed(inverse, 2.0, fitted.variances, fitted.variances)
    np.testing.assert_allclose(upper, mean + 2.0 * std, atol=1e-9)
    np.testing.assert_allclose(lower, mean - 2.0 * std, atol=1e-9)
    lower, upper = limits_at_observed(inverse, 2.0, 0.0, 0.0)
    np.testing.assert_array_equal(lower, fitted.y)
    np.testing.assert_array_equal(upper, fitted.y)


# -- of studies -----------------------------------------------------------------------------------


def uneven(graph: Graph) -> float:
    """What the kernel sees, and what it does not: triangles."""
    cubed = np.linalg.matrix_power(graph.adjacency.astype(int), 3)
    return float(graph.n_edges + graph.labels.sum() - 1.5 * np.trace(cubed) / 6)


def study_of(n: int = 12, noise: float | None = None, sample: int = 1, **options: Any) -> Study:
    study = Study(
        SPACE,
        **{"kernel": "ssp", "n_initial": 2, "n_evaluations": 500, "time_limit": 120, **options},
    )
    for graph in SPACE.sample(n, seed=sample, distinct=True):
        study.add(graph, uneven(graph), noise=noise)
    return study


def least_lcb(study: Study, kappa: float) -> float:
    """Of the untried graphs, by listing all."""
    tried = {trial.graph.canonical_key() for trial in study.trials}
    mean, std = study.predict([g for g in ALL if g.canonical_key() not in tried])
    return float((study.settings.sign * mean - kappa * std).min())


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_exact_values_are_taken_as_they_are_and_untried_graphs_deviate(direction: str) -> None:
    study = study_of(noise=0.0, direction=direction)
    sign = study.settings.sign
    found = study.regret_bound()
    values = sign * np.array([trial.value for trial in study.trials], dtype=float)
    assert found.trial == int(values.argmin())
    assert found.observed == pytest.approx(sign * values.min())
    assert found.kappa == pytest.approx(stats.t.ppf(0.975, 11))
    assert found.noise is not None
    assert found.noise > 0.1  # triangles
    reach = found.kappa * found.widening
    lowest = least_lcb(study, reach) - reach * found.noise
    assert sign * found.space == pytest.approx(min(lowest, values.min()), abs=1e-5)
    assert found.value == pytest.approx(values.min() - sign * found.space)
    assert found.noise_of == "graphs"
    assert "the bound allows for it" in found.assumptions


def test_a_bound_for_noise_of_unknown_kind_holds_for_either_kind() -> None:
    unknown, exact = study_of().regret_bound(), study_of(noise=0.0).regret_bound()
    study = study_of()
    mean, std = study.predict([trial.graph for trial in study.trials])
    reach = unknown.kappa * unknown.widening
    latent = (mean + reach * std).min() - least_lcb(study, reach)
    assert unknown.value > exact.value
    assert unknown.value > latent
    assert unknown.noise_of == "unknown"
    assert "holds for both" in unknown.assumptions


def test_the_bound_holds_where_the_kernel_cannot_tell_graphs_apart() -> None:
    study = study_of(12, sample=4)
    best = min(map(uneven, ALL))
    found = study.regret_bound()
    regret = uneven(study.trials[found.trial].graph) - best
    mean, std = study.predict([trial.graph for trial in study.trials])
    latent = (mean + 1.96 * std).min() - least_lcb(study, 1.96)
    assert latent < regret <= found.value  # of the function without noise, which is not the value


def test_noise_given_as_a_setting_is_that_of_measurements() -> None:
    study = study_of(noise=0.0)
    study.change(noise=0.05)
    found = study.regret_bound()
    mean, std = study.predict([trial.graph for trial in study.trials])
    assert found.noise_of == "measurements"
    reach = found.kappa * found.widening
    assert found.observed == pytest.approx((mean + reach * std).min())
    lowest = min(least_lcb(study, reach), (mean - reach * std).min())
    assert found.space == pytest.approx(lowest, abs=1e-5)
    assert "without noise" in found.assumptions


def test_limits_are_wider_where_leave_one_out_finds_them_too_narrow() -> None:
    study = study_of(16, noise=0.0)
    study.change(noise=1e-6)  # in spite of the triangles
    found = study.regret_bound()
    graphs, values = study.dataset
    z = []
    model = study.settings.new_model()
    fitted = model.fit(graphs, values).posterior.model
    gram = fitted.covariance()
    for i in range(16):
        rest = np.delete(np.arange(16), i)
        cross = gram[i, rest]
        weights = np.linalg.solve(gram[np.ix_(rest, rest)], cross)
        z.append((fitted.y[i] - weights @ fitted.y[rest]) / np.sqrt(gram[i, i] - weights @ cross))
    assert found.widening == pytest.approx(np.sqrt(np.mean(np.square(z))), rel=1e-3)
    assert found.widening > 1.5
    assert "leave-one-out prediction exceed them" in found.assumptions


def test_exact_values_that_contradict_each_other_count_as_not_told() -> None:
    study = study_of(6, noise=0.0)
    assert study.regret_bound().noise_of == "graphs"
    study.add(study.trials[2].graph, study.trials[2].value, noise=0.0)  # the same again: fine
    assert study.regret_bound().noise_of == "graphs"
    study.add(study.trials[2].graph, 77.0, noise=0.0)
    study.add(study.trials[3].graph, 0.25, noise=0.01)
    keys = [trial.graph.canonical_key() for trial in study.trials]
    np.testing.assert_array_equal(
        told(study.trials, keys), [True, True, False, True, True, True, False, False, True]
    )
    assert study.regret_bound().noise_of == "unknown"


def test_graphs_the_model_leaves_out_are_limited_as_untried_ones_are() -> None:
    study = study_of(20, noise=0.0, kernel="essp", most_observations=8)
    graphs = [trial.graph for trial in study.trials]
    values = np.array([trial.value for trial in study.trials], dtype=float)
    gp = GraphGP("essp", noise="fit", space=SPACE, most_observations=8).fit(graphs, values)
    keys = [graph.canonical_key() for graph in graphs]
    limits = limits_of(gp, study.trials, values, keys, 2.0)
    rest = np.setdiff1d(np.arange(20), gp.used)
    mean, std = gp.predict([graphs[i] for i in rest])
    reach = 2.0 * np.sqrt(std**2 + limits.beyond**2)
    np.testing.assert_allclose(limits.upper[rest], mean + reach)
    np.testing.assert_allclose(limits.lower[rest], mean - reach)
    np.testing.assert_allclose(limits.upper[gp.used], values[gp.used])
    assert study.regret_bound().kappa == pytest.approx(stats.t.ppf(0.975, 7))


def test_limits_hold_for_a_value_the_model_sees_clipped() -> None:
    study = study_of(12, noise=0.0)
    study.correct(study.trials[0], -1e9)
    graphs = [trial.graph for trial in study.trials]
    values = np.array([trial.value for trial in study.trials], dtype=float)
    gp = GraphGP("ssp", noise="fit", space=SPACE, clip=STUDY_CLIP).fit(graphs, values)
    assert gp.clipped == (0,)
    limits = limits_of(gp, study.trials, values, [g.canonical_key() for g in graphs], 2.0)
    assert limits.lower[0] == -1e9
    assert study.regret_bound().value > 0.99e9


class Flat:
    """A surrogate of one's own: the mean of all values, and a fixed deviation."""

    def fit(self, graphs: Any, y: FloatArray) -> None:  # noqa: ARG002
        self.mean = float(np.mean(y))

    def predict(self, graphs: Any) -> tuple[FloatArray, FloatArray]:
        return np.full(len(graphs), self.mean), np.full(len(graphs), 2.0)


def test_a_surrogate_of_ones_own_has_its_own_deviations_and_normal_limits() -> None:
    study = study_of(8, surrogate=Flat, acquisition="ei", method="search")
    found = study.regret_bound()
    assert found.kappa == pytest.approx(1.959964)
    assert found.noise_of is None
    mean = np.mean([trial.value for trial in study.trials])
    assert found.observed == pytest.approx(mean + 2.0 * found.kappa)
