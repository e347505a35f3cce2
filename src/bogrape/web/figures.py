"""Figures, certainty and effects of a study, which need a fitted model."""

from __future__ import annotations

from typing import Any

from ..errors import BoGrapeError, StudyError
from ..report import words
from ..report.draw import has_matplotlib
from ..report.figures import figures_of as report_figures
from ..report.survey import Survey
from ..study import Study

_EFFECTS = 5


def figures_of(study: Study) -> dict[str, Any]:
    """Charts as SVG with descriptions, and findings in sentences."""
    survey = Survey(study)
    charts: list[dict[str, str]] = []
    missing: list[str] = []
    if has_matplotlib():
        for name, draw in report_figures(survey).items():
            try:
                chart = draw(survey)
            except StudyError as reason:
                missing.append(str(reason))
                continue
            svg = chart.svg(prefix=name, themed=True)
            charts.append({"title": chart.title, "words": chart.words, "svg": svg})
    else:
        missing.append('figures need matplotlib: pip install "bogrape[plots]"')
    names = [None] if survey.goals is None else list(survey.goals.names)
    known = [_drivers(survey, name) for name in names]
    return {
        "charts": charts,
        "missing": list(dict.fromkeys(missing)),
        "certainty": _lines(lambda: words.certainty_in_words(survey)),
        "drivers": [found for found in known if found["effects"] or found["model"]],
        "n_complete": len(survey.complete),
    }


def _drivers(survey: Survey, name: str | None) -> dict[str, Any]:
    """Drivers of the prediction of the value, or of one of several properties."""
    one = survey if name is None else survey.of_property(name)
    return {
        "what": name or "the prediction",
        "effects": _lines(lambda: words.effects_in_words(one, _EFFECTS)),
        "model": _lines(lambda: [words.model_in_words(one) or ""]),
    }


def _lines(tell: Any) -> list[str]:
    """The lines of a text; empty while there are too few observations."""
    try:
        return [line for line in tell() if line]
    except BoGrapeError:
        return []
