"""What notebooks show of a graph, a proposal or a study: small HTML that needs nothing else."""

from __future__ import annotations

from functools import singledispatch

from ..graph import Graph
from ..propose import Proposal
from ..study import Study
from . import words
from .picture import Look, graph_svg, in_words, legend_html
from .survey import Survey
from .text import duration, esc, number


@singledispatch
def notebook_html(thing: object) -> str | None:  # noqa: ARG001
    """HTML for a notebook; ``None`` for what has none, which is then shown as text."""
    return None


@notebook_html.register
def _graph(graph: Graph) -> str:
    look = Look(n_labels=int(graph.labels.max()) + 1)
    used = sorted(set(graph.labels.tolist()))
    return f"<div>{graph_svg(graph, look)}<div>{legend_html(look, used)}</div></div>"


@notebook_html.register
def _proposal(proposal: Proposal) -> str:
    rows = [
        ("value", number(proposal.value, 6)),
        ("bound", number(proposal.bound, 6)),
        ("gap", f"{100 * proposal.gap:.3g} %" if proposal.status != "heuristic" else "–"),
        ("status", words.STATUSES[proposal.status]),
        ("method", proposal.method),
        ("time", duration(proposal.seconds)),
    ]
    return _beside(graph_svg(proposal.graph), _table(rows), in_words(proposal.graph))


@notebook_html.register
def _study(study: Study) -> str:
    survey = Survey(study)
    best = survey.best
    value = number(survey.ranked[0][1], 6) if best is not None else "none yet"
    rows = [
        ("goal", words.goal_in_words(survey)),
        ("best value", value),
        ("progress", words.progress_in_words(survey)),
    ]
    if best is None:
        return _beside("", _table(rows), f"study {study.name}")
    rows.append(("found", words.improvement_in_words(survey)))
    legend = legend_html(survey.look, sorted(set(best.graph.labels.tolist())))
    return _beside(
        f"{graph_svg(best.graph, survey.look)}<div>{legend}</div>",
        _table(rows),
        f"study {study.name}",
    )


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
