"""Effects on the prediction, and settings that predict better: no claim without evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import Graph, GraphGP, GraphSpace, Study, constraints
from bogrape.counts import count
from bogrape.errors import FitError
from bogrape.left_out import Inverse, LeaveOneOut
from bogrape.report.effects import Effect, Exchange, contrast, find_effects
from bogrape.report.picture import Look
from bogrape.report.survey import MOST_COMPARED, Survey
from bogrape.report.text import plus_minus
from bogrape.report.validation import best_remedy, scores
from bogrape.report.words import effect_in_words, effects_in_words, remedy_in_words
from bogrape.study import StudySettings

ELEMENTS = GraphSpace(7, labels=("C", "O"))
O_FOR_C = Exchange("label", (0, 1))
C_FOR_O = Exchange("label", (1, 0))


def study_of_values(
    value: Callable[[Graph], float],
    *,
    error: float = 0.0,
    space: GraphSpace = ELEMENTS,
    n: int = 30,
    seed: int = 0,
    **chosen: Any,
) -> Study:
    """A study of n random graphs, each with its value plus a normal error of this deviation."""
    study = Study(space, **chosen)
    rng = np.random.default_rng(seed)
    graphs = space.sample(n, seed=seed, distinct=True)
    study.add_all([(graph, float(value(graph)) + error * rng.normal()) for graph in graphs])
    return study


def nothing(graph: Graph) -> float:
    return 0.0 * graph.n_nodes


def two_o_minus_c(graph: Graph) -> float:
    return float(2 * (graph.labels == 1).sum() - (graph.labels == 0).sum())


def label_effect(survey: Survey) -> tuple[float, float]:
    """Effect of an O instead of a C, whichever way round it is reported."""
    found = {effect.exchange: effect for effect in survey.effects}
    if O_FOR_C in found:
        return found[O_FOR_C].mean, found[O_FOR_C].std
    return -found[C_FOR_O].mean, found[C_FOR_O].std


# -- effects ----------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_an_O_instead_of_a_C_is_reported_with_its_true_effect(kernel: str, direction: str) -> None:
    survey = Survey(study_of_values(two_o_minus_c, kernel=kernel, direction=direction))
    mean, std = label_effect(survey)
    assert mean == pytest.approx(3.0, abs=0.02)  # one O more is one C less: 2 - (-1)
    assert abs(mean - 3.0) < 4 * std + 1e-3
    assert {effect.exchange.kind for effect in survey.effects} == {"label"}


@pytest.mark.parametrize("noise", [1e-6, "fit"])
def test_stated_uncertainties_hold_even_if_the_noise_is_set_too_small(noise: Any) -> None:
    off = []
    for seed in range(12):
        study = study_of_values(
            two_o_minus_c,
            error=1.0,
            kernel="ssp",
            noise=noise,
            n=40,
            seed=seed,
        )
        mean, std = label_effect(Survey(study))
        assert 0.05 < std < 0.5  # of forty observations with noise 1
        off.append((mean - 3.0) / std)
    assert np.mean(np.abs(off) < 2) >= 0.75
    assert np.sqrt(np.mean(np.square(off))) < 1.8


def test_the_effect_of_an_edge_is_not_attributed_to_labels() -> None:
    survey = Survey(study_of_values(lambda graph: 5.0 * graph.n_edges, kernel="ssp"))
    (edge,) = [effect for effect in survey.effects if effect.exchange == Exchange("edge")]
    assert edge.mean == pytest.approx(5.0, abs=4 * edge.std + 0.01)
    told = {effect.exchange.kind for effect in survey.effects}
    assert "label" not in told  # labels have no effect, and none is claimed
    assert effect_in_words(edge, survey.look).startswith(
        "One more edge changes the prediction by +"
    )


def test_exchanges_stay_in_the_space() -> None:
    rules = [constraints.NumberOfEdges(8, 8), constraints.LabelCount("O", 3, 3)]
    fixed = GraphSpace(7, labels=("C", "O"), rules=rules)
    survey = Survey(study_of_values(lambda g: g.distances().sum(), space=fixed, n=60, kernel="ssp"))
    kinds = {effect.exchange.kind for effect in survey.effects}
    assert kinds == {"closer"}  # neither another label nor another edge is allowed
    assert survey.effects[0].mean < 0
    assert "one edge moved so that nodes lie closer together" in survey_words(survey).lower()


def survey_words(survey: Survey) -> str:
    return " ".join(effects_in_words(survey, 12))


def test_a_feature_is_compared_with_its_absence() -> None:
    space = GraphSpace(6, features=2)
    survey = Survey(
        study_of_values(lambda g: 4.0 * g.features[:, 1].sum(), space=space, kernel="ssp", n=40)
    )
    (effect,) = survey.effects
    assert effect.exchange == Exchange("feature", (1,))
    assert effect.mean == pytest.approx(4.0, abs=4 * effect.std + 0.01)
    assert "node with feature 1 instead of one without" in survey_words(survey)


@pytest.mark.parametrize("noise", [1e-6, "fit"])
@pytest.mark.parametrize("kernel", ["ssp", "esp"])
def test_a_report_on_pure_noise_says_that_nothing_is_known(kernel: str, noise: Any) -> None:
    told = []
    for seed in range(4):
        study = study_of_values(nothing, error=1.0, kernel=kernel, noise=noise, n=25, seed=seed)
        survey = Survey(study)
        told.append(bool(survey.effects))
        if not survey.effects:
            words = survey_words(survey)
            assert "the model does not generalise" in words
            assert "Try more observations" in words
    assert sum(told) == 0


@pytest.mark.deep
def test_noise_rarely_looks_like_knowledge() -> None:
    wrong = [
        Survey(study_of_values(nothing, error=1.0, n=30, seed=seed)).effects != []
        for seed in range(200)
    ]
    assert sum(wrong) <= 6


@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_the_uncertainty_of_a_difference_is_that_of_the_joint_posterior(
    kernel: str, data: st.DataObject
) -> None:
    """Compared with textbook formulas, explicit matrices and kernels computed pair by pair."""
    space = GraphSpace((3, 5), labels=3)
    seed = data.draw(st.integers(0, 10_000))
    graphs = space.sample(10, seed=seed)
    queries = space.sample(4, seed=seed + 1)
    rng = np.random.default_rng(seed)
    y, weights = rng.normal(size=10), rng.normal(size=4)
    gp = GraphGP(kernel, noise=0.01, n_labels=3, alpha=2.0, beta=0.5)  # type: ignore[arg-type]
    model = gp.fit(graphs, y).posterior.model
    K = np.array([[naive(kernel, a, b) for b in graphs] for a in graphs]) + 0.01 * np.eye(10)
    k = np.array([[naive(kernel, a, b) for b in queries] for a in graphs])
    prior = np.array([[naive(kernel, a, b) for b in queries] for a in queries])
    joint = prior - k.T @ np.linalg.inv(K) @ k
    standard = (y - y.mean()) / y.std()
    expected = y.std() * weights @ k.T @ np.linalg.solve(K, standard)
    mean, std = contrast(Inverse(model), count(queries, 3), weights)
    assert mean == pytest.approx(expected, rel=1e-6, abs=1e-8)
    assert std == pytest.approx(y.std() * np.sqrt(weights @ joint @ weights), rel=1e-5, abs=1e-7)


def naive(kernel: str, first: Graph, second: Graph) -> float:
    """The kernel by its definition, as a sum over pairs of pairs of nodes."""
    total = 0.0
    one, two = first.distances(), second.distances()
    for u in range(first.n_nodes):
        for v in range(first.n_nodes):
            same = two == one[u, v]
            if kernel in ("sp", "esp"):
                ends = (second.labels == first.labels[u])[:, None]
                same = same & ends & (second.labels == first.labels[v])[None]
            total += float(same.sum()) if np.isfinite(one[u, v]) else 0.0
    total /= (first.n_nodes * second.n_nodes) ** 2
    paths = np.exp(total) if kernel in ("essp", "esp") else total
    shares = [[(g.labels == a).mean() for a in range(3)] for g in (first, second)]
    return float(2.0 * paths + 0.5 * np.dot(*shares) / 3)


def test_an_effect_below_its_uncertainty_is_not_reported() -> None:
    study = study_of_values(
        lambda g: 5.0 * g.n_edges + 0.05 * two_o_minus_c(g), error=1.0, noise="fit", n=40
    )
    survey = Survey(study)
    assert survey.left_out.knows_something
    assert {effect.exchange.kind for effect in survey.effects} <= {"edge", "closer"}


def test_graphs_outside_the_space_are_ignored() -> None:
    graphs = GraphSpace(8, labels=2).sample(12, seed=1)
    gp = GraphGP("ssp", noise=1e-3).fit(graphs, [float(g.n_edges) for g in graphs])
    inverse = Inverse(gp.posterior.model)
    assert find_effects(inverse, ELEMENTS, graphs, widening=1.0, seed=0) == []
    assert find_effects(inverse, GraphSpace(8, labels=2), graphs, widening=1.0, seed=0) != []


def test_effects_of_molecules_are_about_atoms_and_bonds() -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    space = molecules.molecule_space("qm9", n_atoms=6)
    study = study_of_values(
        lambda g: 2.0 * (g.labels == 2).sum(), space=space, n=40, kernel="ssp", noise="fit"
    )
    survey = Survey(study)
    found = {effect.exchange: effect for effect in survey.effects}
    oxygen = found[Exchange("label", (0, 2))]
    assert oxygen.mean == pytest.approx(2.0, abs=4 * oxygen.std)
    assert "An O instead of a C changes the prediction by +" in survey_words(survey)
    assert not any(exchange.kind == "feature" for exchange in found)  # they follow from the rest


@pytest.mark.parametrize(
    ("exchange", "names", "said"),
    [
        (Exchange("label", (0, 1)), ("C", "O"), "An O instead of a C"),
        (Exchange("label", (0, 1)), ("switch", "access point"), "An access point instead of a "),
        (Exchange("label", (0, 1)), None, "A node with label 1 instead of a node with label 0"),
        (
            Exchange("edge label", (1, 2)),
            ("C", "O"),
            "An edge labelled 2 instead of an edge labelled 1",
        ),
        (Exchange("neighbours", (0, 1)), ("C", "O"), "Two labels swapped so that more edges join"),
    ],
)
def test_effects_are_described_in_words(exchange: Exchange, names: Any, said: str) -> None:
    words = effect_in_words(
        Effect(exchange, -0.1234, 0.0412, 5), Look(label_names=names, n_labels=2)
    )
    assert words.startswith(said)
    assert words.endswith("changes the prediction by −0.123 ± 0.041.")


def test_numbers_have_the_digits_that_their_uncertainty_justifies() -> None:
    assert plus_minus(-0.12345, 0.0412) == "−0.123 ± 0.041"
    assert plus_minus(12345.6, 120.0) == "1.235e+04 ± 1.2e+02"
    assert plus_minus(1e300, 1e299) == "1e+300 ± 1e+299"
    assert plus_minus(2.0, 0.0) == "2 ± 0"


# -- leave-one-out and remedies ---------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_leave_one_out_equals_refitting_without_the_observation(kernel: str) -> None:
    space = GraphSpace((4, 6), labels=2)
    graphs = space.sample(14, seed=3)
    y = np.random.default_rng(3).normal(5.0, 2.0, size=14)
    gp = GraphGP(kernel, noise=0.05, n_labels=2, alpha=3.0, beta=0.7).fit(graphs, y)  # type: ignore[arg-type]
    loo = LeaveOneOut.of(Inverse(gp.posterior.model))
    densities = []
    for i in range(14):
        rest = [j for j in range(14) if j != i]
        # A fit standardises what it is given: undo that, so that the prior stays the same.
        part = GraphGP(kernel, noise=0.05, n_labels=2, alpha=3.0, beta=0.7)  # type: ignore[arg-type]
        standard = (y - y.mean()) / y.std()
        model = part.fit([graphs[j] for j in rest], y[rest]).posterior.model
        k = model.cross(count([graphs[i]], 2))[0]
        K = model.cross(model.counts) + 0.05 * np.eye(13)
        mean = y.mean() + y.std() * k @ np.linalg.solve(K, standard[rest])
        own = model.diagonal(count([graphs[i]], 2))[0] + 0.05
        std = y.std() * np.sqrt(own - k @ np.linalg.solve(K, k))
        assert loo.mean[i] == pytest.approx(mean, rel=1e-8)
        assert loo.std[i] == pytest.approx(std, rel=1e-8)
        densities.append(-np.log(std) - np.log(2 * np.pi) / 2 - (y[i] - mean) ** 2 / std**2 / 2)
    assert loo.density == pytest.approx(np.mean(densities), rel=1e-8)
    assert loo.rmse == pytest.approx(np.sqrt(np.mean((loo.mean - y) ** 2)))


def noisy() -> Study:
    return study_of_values(two_o_minus_c, error=1.0, kernel="ssp", noise=1e-6, n=40)


def test_if_intervals_are_too_narrow_fitted_noise_is_tried_and_recommended() -> None:
    from bogrape.report import report_html

    study = noisy()
    survey = Survey(study)
    assert survey.left_out.too_narrow
    better = best_remedy(survey.scores)
    assert better is not None
    assert better.noise == "fit"
    assert not better.left_out.too_narrow
    assert 'noise="fit" predicts better' in remedy_in_words(survey)
    page = report_html(study)
    assert 'id="settings"' in page
    assert "try this" in page


def test_if_predictions_are_good_no_other_settings_are_tried() -> None:
    from bogrape.report import report_html

    study = study_of_values(two_o_minus_c, kernel="ssp", noise="fit")
    assert not Survey(study).left_out.too_narrow
    assert 'id="settings"' not in report_html(study)


def test_the_remedy_achieves_in_a_study_what_the_table_promises() -> None:
    survey = Survey(noisy())
    better = best_remedy(survey.scores)
    assert better is not None
    again = Study(ELEMENTS, kernel=better.kernel, noise=better.noise)
    again.add_all(list(zip(*survey.study.dataset, strict=True)))
    found = Survey(again).left_out
    assert found.inside == pytest.approx(better.left_out.inside, abs=0.05)
    assert found.rmse == pytest.approx(better.left_out.rmse, rel=0.1)


def test_many_observations_are_compared_in_part_and_the_report_says_so() -> None:
    from bogrape.report import report_html

    study = study_of_values(nothing, error=1.0, space=GraphSpace(8), n=130)
    survey = Survey(study)
    assert len(survey.compared) == MOST_COMPARED
    assert len(survey.scores[0].left_out.mean) == MOST_COMPARED
    assert f"{MOST_COMPARED} of 130, spread evenly" in report_html(study)


def test_settings_that_cannot_be_fitted_are_left_out_of_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graphs, fit = ELEMENTS.sample(5, seed=1), GraphGP.fit

    def refuse(gp: GraphGP, *data: Any, **named: Any) -> GraphGP:
        if gp.noise == "fit" or gp.kernel.name not in ("ssp", "sp"):
            raise FitError("not these")
        return fit(gp, *data, **named)

    monkeypatch.setattr(GraphGP, "fit", refuse)
    settings = StudySettings(space=GraphSpace(5, labels=2), noise=1e-6)
    found = scores(graphs, np.arange(5.0), settings)
    assert [(score.kernel, score.noise) for score in found] == [("ssp", 1e-6), ("sp", 1e-6)]


def test_intervals_are_called_too_narrow_only_if_chance_does_not_explain_it() -> None:
    def off(n_far: int, n_near: int) -> LeaveOneOut:
        mu = np.array([3.0] * n_far + [0.1] * n_near)
        return LeaveOneOut(y=np.zeros(len(mu)), mu=mu, sigma=np.ones(len(mu)))

    good, bad, few = off(2, 18), off(6, 14), off(1, 4)
    assert [loo.too_narrow for loo in (good, bad, few)] == [False, True, False]
