"""Reports of studies of several properties: the front, the trade-off, a model per property."""

from __future__ import annotations

from typing import Any
from xml.dom import minidom

import numpy as np
import pytest

from bogrape import Graph, GraphSpace, Study
from bogrape.errors import InvalidInputError, StudyError
from bogrape.properties import Gaussian, Goals, Linear, hypervolume
from bogrape.report.html import report_html
from bogrape.report.survey import Survey

pytest.importorskip("matplotlib")

SPACE = GraphSpace(6, labels=("C", "N"))
HOSTILE = "x.+-_ y"  # all kinds of characters that a name may have
GOALS: dict[str, dict[str, Any]] = {
    "front": {"properties": {"edges": "maximize", HOSTILE: "minimize"}},
    "front of three": {
        "properties": {"edges": "maximize", HOSTILE: "minimize", "ones": "minimize"}
    },
    "score": {"properties": {"edges": Linear(5, 12), HOSTILE: Gaussian(4.5, 0.5)}},
}


def values(graph: Graph) -> dict[str, float]:
    return {
        "edges": float(graph.n_edges),
        HOSTILE: float(graph.distances().sum()) / 10,
        "ones": float(graph.labels.sum()),
    }


@pytest.fixture(scope="module", params=GOALS)
def study(request: pytest.FixtureRequest) -> Study:
    chosen = GOALS[request.param]
    study = Study(SPACE, n_initial=6, method="search", n_evaluations=300, **chosen)
    for i in range(10):
        trial = study.ask(progress=False)
        known = {name: values(trial.graph)[name] for name in chosen["properties"]}
        study.tell(trial, {HOSTILE: known[HOSTILE]} if i == 4 else known)
    return study


def goals_of(study: Study) -> Goals:
    assert study.settings.goals is not None
    return study.settings.goals


def test_the_report_is_valid_and_names_every_property(study: Study) -> None:
    page = report_html(study)
    minidom.parseString(page.removeprefix("<!DOCTYPE html>\n"))
    goals = goals_of(study)
    assert goals.in_words() in page.replace("&#x27;", "'")
    assert "The trade-off" in page
    for name in goals.names:
        assert f"Predicted against observed: {name}" in page
        assert f"What drives {name}" in page
        assert f'<button type="button">{name}</button>' in page
    if goals.is_pareto:
        assert "<h3>The Pareto front</h3>" in page
        assert "Growth of the Pareto front" in page
        marked = page.count('<tr class="best">')
        assert marked == len(study.pareto_front)
    else:
        assert "Best score" in page
        assert ">Score</button>" in page
    assert "bogrape.properties import" in page


def test_the_trade_off_shows_every_measured_graph_and_the_front(study: Study) -> None:
    goals, chart = goals_of(study), study.plot.tradeoff()
    (axes,) = chart.figure.axes
    full = [trial for trial in study.trials if set(trial.values) == set(goals.names)]
    assert len(full) == 9
    if len(goals.names) == 2:
        dots = [np.asarray(part.get_offsets()) for part in axes.collections]
        everything = np.concatenate(dots[:-1])
        expected = np.array([goals.row(trial.values) for trial in full])
        assert sorted(map(tuple, everything)) == sorted(map(tuple, expected))
        chosen = study.pareto_front if goals.is_pareto else [study.best]
        assert sorted(map(tuple, dots[-1])) == sorted(
            tuple(goals.row(trial.values)) for trial in chosen
        )
    else:
        assert len(axes.lines) == 9 + len(study.pareto_front)
    assert all(name in chart.words for name in goals.names)


def test_the_growth_of_the_front_ends_with_its_hypervolume(study: Study) -> None:
    goals, chart = goals_of(study), study.plot.convergence()
    if not goals.is_pareto:
        assert chart.title == "Convergence"
        return
    drawn = chart.figure.axes[0].lines[0].get_ydata()
    rows = np.array([goals.row(t.values) for t in Survey(study).measured])
    reference = goals.reference_point(rows)
    assert np.asarray(drawn)[-1] == pytest.approx(
        hypervolume(goals.signs * rows, goals.signs * reference)
    )
    assert (np.diff(np.asarray(drawn, dtype=float)) >= 0).all()


def test_the_gallery_shows_the_front_or_the_best(study: Study) -> None:
    chart, front = study.plot.gallery(), [study.best] if not goals_of(study).is_pareto else []
    for trial in front or study.pareto_front[:6]:
        title = f"trial {trial.id}: "
        assert any(axes.get_title().startswith(title) for axes in chart.figure.axes)


def test_figures_of_one_property_are_those_of_a_study_of_that_property_alone(study: Study) -> None:
    sub = Survey(study).of_property("edges")
    assert [t.value for t in sub.complete] == [
        t.values["edges"] for t in study.trials if "edges" in t.values
    ]
    assert len(sub.complete) == 9
    assert len(Survey(study).of_property(HOSTILE).complete) == 10
    assert study.plot.predictions(of="edges").words == sub_words(study)
    with pytest.raises(InvalidInputError, match="of must name a property of the study"):
        study.plot.predictions()


def sub_words(study: Study) -> str:
    """Description of the same figure in a study of this property alone."""
    goal = study.settings.of_property("edges")
    alone = Study(SPACE, n_initial=6, direction=goal.direction)
    alone.add_all([(t.graph, t.values["edges"]) for t in study.trials if "edges" in t.values])
    return str(alone.plot.predictions().words)


def test_notebooks_show_studies_and_trials_of_several_properties(study: Study) -> None:
    for thing in (study, study.trials[-1], study.ask(2, progress=False)):
        shown = thing._repr_html_()
        assert shown is not None
        minidom.parseString(shown)
    assert "predicted edges" in (study.trials[-1]._repr_html_() or "")


@pytest.mark.parametrize("chosen", GOALS)
def test_a_study_without_values_has_a_report(chosen: str) -> None:
    study = Study(SPACE, n_initial=2, **GOALS[chosen])
    for _ in range(2):
        minidom.parseString(report_html(study).removeprefix("<!DOCTYPE html>\n"))
        study.tell(study.ask(), {"edges": 3.0})
    with pytest.raises(StudyError, match="the trade-off needs a graph with all of edges"):
        study.plot.tradeoff()
    for figure in ("gallery", "convergence"):
        with pytest.raises(StudyError, match="there is none"):
            getattr(study.plot, figure)()
    with pytest.raises(StudyError, match="needs several properties"):
        Study(SPACE).plot.tradeoff()
