"""What is said and drawn of a study only after a fit: figures, certainty, effects."""

from __future__ import annotations

from typing import Any

from ..errors import BoGrapeError, StudyError
from ..report import words
from ..report.draw import has_matplotlib
from ..report.figures import FIGURES
from ..report.survey import Survey
from ..study import Study

_EFFECTS = 5


def figures_of(study: Study) -> dict[str, Any]:
    """Charts as SVG with their words, and what is known, in sentences."""
    if study.settings.goals is not None:
        later = ["figures of studies of several properties, other than their trade-off"]
        n = sum(trial.state == "complete" for trial in study.trials)
        empty: dict[str, Any] = {key: [] for key in ("charts", "certainty", "effects", "model")}
        return {**empty, "missing": later, "n_complete": n}
    survey = Survey(study)
    charts: list[dict[str, str]] = []
    missing: list[str] = []
    if has_matplotlib():
        for name, draw in FIGURES.items():
            try:
                chart = draw(survey)
            except StudyError as reason:
                missing.append(str(reason))
                continue
            svg = chart.svg(prefix=name, themed=True)
            charts.append({"title": chart.title, "words": chart.words, "svg": svg})
    else:
        missing.append('figures need matplotlib: pip install "bogrape[plots]"')
    return {
        "charts": charts,
        "missing": list(dict.fromkeys(missing)),
        "certainty": _lines(lambda: words.certainty_in_words(survey)),
        "effects": _lines(lambda: words.effects_in_words(survey, _EFFECTS)),
        "model": _lines(lambda: [words.model_in_words(survey) or ""]),
        "n_complete": len(survey.complete),
    }


def _lines(tell: Any) -> list[str]:
    """What can be told; nothing while too little is known."""
    try:
        return [line for line in tell() if line]
    except BoGrapeError:
        return []
