"""Pictures of the best graph, and cards of the best and the latest graphs."""

from __future__ import annotations

from collections.abc import Mapping

from ..study import Trial
from .picture import graph_html, legend_html
from .survey import Survey
from .text import esc, number, plus_minus
from .words import ORIGINS

_CARDS = 6
_MOST = 24  # of a front


def best_picture(survey: Survey) -> str:
    """The best graph, large, with its legend; empty while there is none."""
    best = survey.best
    if best is None:
        return ""
    labels = sorted(set(best.graph.labels.tolist()))
    picture = graph_html(best.graph, survey.look, size=420)
    legend = legend_html(survey.look, labels) or esc(survey.look.text(best.graph))
    return f'<figure class="hero">{picture}<figcaption>{legend}</figcaption></figure>'


def gallery_html(survey: Survey) -> str:
    """The best graphs and the latest ones."""
    out = []
    ranked = survey.ranked[:_CARDS]
    if survey.front:
        cards = [_card(trial, survey, several(means)) for trial, means in survey.front[:_MOST]]
        out.append(f'<h3>The Pareto front</h3><div class="cards">{"".join(cards)}</div>')
    if ranked:
        cards = [_card(trial, survey, number(value)) for trial, value in ranked]
        out.append(f'<h3>The best</h3><div class="cards">{"".join(cards)}</div>')
    latest = [trial for trial in reversed(survey.trials) if trial.state != "queued"][:_CARDS]
    if latest:
        cards = [_card(trial, survey, _result(trial)) for trial in latest]
        out.append(f'<h3>The latest</h3><div class="cards">{"".join(cards)}</div>')
    legend = legend_html(survey.look)
    return "".join(out) + (f'<p class="legend">{legend}</p>' if legend and out else "")


def several(values: Mapping[str, float]) -> str:
    """The values of several properties on one line."""
    return ", ".join(f"{name} {number(value)}" for name, value in values.items())


def _result(trial: Trial) -> str:
    if trial.values:
        return several(trial.values)
    return number(trial.value) if trial.value is not None else trial.state


def _card(trial: Trial, survey: Survey, result: str) -> str:
    predicted = survey.certificate(trial).predicted
    below = (
        ""
        if predicted is None
        else f'<br/>predicted <span class="nowrap">{esc(plus_minus(*predicted))}</span>'
    )
    text = survey.look.text(trial.graph)
    return (
        f'<figure class="card">{graph_html(trial.graph, survey.look, size=220)}<figcaption>'
        f"<strong>{esc(result)}</strong> trial {trial.id}, {esc(ORIGINS[trial.origin])}"
        f"{below}{f'<br/><code>{esc(text)}</code>' if text else ''}</figcaption></figure>"
    )
