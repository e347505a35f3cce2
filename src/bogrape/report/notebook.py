"""Self-contained HTML of graphs, proposals, trials and studies for notebooks."""

from __future__ import annotations

from functools import singledispatch

from ..display import gap_in_words
from ..graph import Graph
from ..propose import Proposal
from ..study import Study, Trial, TrialList
from . import words
from .gallery import several
from .picture import Look, graph_html, in_words, legend_html
from .survey import Certificate, Survey
from .text import acquisition_in_words, duration, esc, number, plus_minus, shown

_MOST_CARDS = 60  # number of trials of a list that are drawn


@singledispatch
def notebook_html(thing: object) -> str | None:  # noqa: ARG001
    """HTML for a notebook; ``None`` for other objects, which are then shown as text."""
    return None


@notebook_html.register
def _graph(graph: Graph) -> str:
    look = Look.of_graph(graph)
    return f"<div>{_picture(graph, look)}</div>"


def _picture(graph: Graph, look: Look) -> str:
    """The drawing with its legend, and a note if the domain could not draw it."""
    drawn, used = graph_html(graph, look), sorted(set(graph.labels.tolist()))
    return f"{drawn}<div>{legend_html(look, used)}</div>{look.problems_html()}"


@notebook_html.register
def _proposal(proposal: Proposal) -> str:
    rows = [
        ("value", acquisition_in_words(proposal.value, proposal.log_value, 6)),
        ("bound", acquisition_in_words(proposal.bound, proposal.log_bound, 6)),
        ("gap", gap_in_words(proposal.gap, of_logs=proposal.log_value is not None, digits=3)),
        ("status", words.STATUSES[proposal.status]),
        ("method", proposal.method),
        ("time", duration(proposal.seconds)),
    ]
    look = Look.of_graph(proposal.graph)
    return _beside(_picture(proposal.graph, look), _table(rows), in_words(proposal.graph, look))


@notebook_html.register
def _trial(trial: Trial) -> str:
    look = _look(trial)
    picture = _picture(trial.graph, look)
    rows = [(name, text.removeprefix(f"{name} ")) for name, text in _facts(trial, look)]
    return _beside(picture, _table(rows), f"trial {trial.id}")


@notebook_html.register
def _trials(trials: TrialList) -> str:
    if not trials:
        return "<div>no trials</div>"
    look = _look(trials[0])
    cards = "".join(_card(trial, look) for trial in trials[:_MOST_CARDS])
    more = len(trials) - _MOST_CARDS
    rest = f"<div>and {more} more</div>" if more > 0 else ""
    used = sorted({label for t in trials[:_MOST_CARDS] for label in t.graph.labels.tolist()})
    return (
        f'<div aria-label="{len(trials)} trials">'
        f'<div style="display:flex;flex-wrap:wrap;gap:12px">{cards}</div>'
        f"<div>{legend_html(look, used)}</div>{look.problems_html()}{rest}</div>"
    )


def _card(trial: Trial, look: Look) -> str:
    facts = [text for name, text in _facts(trial, look) if name not in ("trial", "origin", "proof")]
    lines = "".join(f"<div>{esc(text)}</div>" for text in facts)
    return (
        '<div style="width:190px;border:1px solid #8884;border-radius:8px;padding:8px;'
        f'text-align:center;overflow-wrap:anywhere">{graph_html(trial.graph, look, size=170)}'
        f"<strong>trial {trial.id}</strong>{lines}</div>"
    )


def _facts(trial: Trial, look: Look) -> list[tuple[str, str]]:
    """Names and texts: state or value, prediction, acquisition value, text."""
    found = Certificate.of(trial)
    state = trial.state if trial.value is None else f"value {number(trial.value, 6)}"
    if trial.values:
        score = [] if trial.value is None else [f"score {number(trial.value, 6)}"]
        state = ", ".join([several(trial.values), *score])
    if trial.state == "failed" and trial.reason:
        state = f"failed: {trial.reason}"
    rows = [("trial", str(trial.id)), ("state", shown(state, 120))]
    rows.append(("origin", words.ORIGINS[trial.origin]))
    for name, pair in trial.predictions.items():
        rows.append((f"predicted {name}", f"predicted {name} {plus_minus(*pair)}"))
    if found.predicted is not None and not trial.predictions:
        rows.append(("predicted", f"predicted {plus_minus(*found.predicted)}"))
    if found.value is not None:
        rows.append(("acquisition", f"acquisition {found.value_in_words}"))
    if found.status:
        rows.append(("proof", words.STATUSES[found.status]))
    if text := look.text(trial.graph):
        rows.append((str(look.text_name), text))
    return rows


def _look(trial: Trial) -> Look:
    if trial.space is None:
        return Look.of_graph(trial.graph)
    return Look.of(trial.space)


@notebook_html.register
def _study(study: Study) -> str:
    survey = Survey(study)
    best = survey.best
    if survey.goals is not None and survey.goals.is_pareto:
        front = [
            ("goal", words.goal_in_words(survey)),
            ("Pareto front", f"{len(survey.front)}: {words.front_in_words(survey)}"),
            ("progress", words.progress_in_words(survey)),
        ]
        return _beside("", _table(front), f"study {study.name}")
    value = number(survey.ranked[0][1], 6) if best is not None else "none yet"
    rows = [
        ("goal", words.goal_in_words(survey)),
        ("best value", value),
        ("progress", words.progress_in_words(survey)),
    ]
    if best is None:
        return _beside("", _table(rows), f"study {study.name}")
    rows.append(("found", words.improvement_in_words(survey)))
    return _beside(_picture(best.graph, survey.look), _table(rows), f"study {study.name}")


def _table(rows: list[tuple[str, str]]) -> str:
    body = "".join(
        f'<tr><th style="text-align:left;padding:2px 10px 2px 0">{esc(name)}</th>'
        f'<td style="text-align:left">{esc(text)}</td></tr>'
        for name, text in rows
    )
    return f"<table>{body}</table>"


def _beside(picture: str, table: str, title: str) -> str:
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:16px;align-items:center" '
        f'aria-label="{esc(title)}"><div>{picture}</div>{table}</div>'
    )
