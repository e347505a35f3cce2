"""Tables of a report: all trials, sortable and with pictures, and failures with their reasons."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from ..study import Trial
from .picture import graph_svg
from .placement import place_all
from .survey import Survey
from .text import duration, esc, number, plural
from .words import ORIGINS, STATUSES

_MOST_REASONS = 50
_MOST_MOLECULES = 300
# title, kind of its values, class of its cells ("wide": left out on a phone)
_COLUMNS = (
    ("Trial", "number", ""),
    ("Graph", "", ""),
    ("Value", "number", ""),
    ("State", "text", ""),
    ("Origin", "text", "wide"),
    ("Nodes", "number", "wide"),
    ("Edges", "number", "wide"),
    ("Proof", "text", "wide"),
    ("Gap %", "number", "wide"),
    ("Seconds", "number", "wide"),
)


def trials_table(survey: Survey) -> str:
    """All trials; the best one is marked, and scripts sort it by any column with numbers or text.

    Graphs are drawn without text here: colours are those of the legend.
    """
    if not survey.trials:
        return "<p>No trials yet.</p>"
    places = place_all([trial.graph for trial in survey.trials])
    best, look = survey.best, survey.look
    if len(survey.trials) > _MOST_MOLECULES:
        look = replace(look, molecules=None)  # such pictures are large: labelled graphs instead
    head = "".join(_head(*column) for column in _COLUMNS)
    rows = []
    for trial, xy in zip(survey.trials, places, strict=True):
        picture = graph_svg(trial.graph, look, size=96, text=False, xy=xy)
        mark = ' class="best"' if best is not None and trial.id == best.id else ""
        rows.append(f"<tr{mark}>{_cells(trial, picture)}</tr>")
    return (
        '<div class="scroll" role="region" aria-label="All trials" tabindex="0">'
        f'<table id="trials-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _head(title: str, kind: str, style: str) -> str:
    css = f' class="{style}"' if style else ""
    if not kind:
        return f'<th scope="col"{css}>{title}</th>'
    return (
        f'<th scope="col"{css} aria-sort="none" data-kind="{kind}">'
        f'<button type="button">{title}</button></th>'
    )


def _cells(trial: Trial, picture: str) -> str:
    certificate = trial.certificate
    status, gap = certificate.get("status"), certificate.get("gap")
    seconds = trial.evaluation_seconds
    texts = (
        (str(trial.id), trial.id, ""),
        (picture, None, ""),
        (_value(trial), trial.value, ""),
        (trial.state, None, f' class="{trial.state}"'),
        (ORIGINS[trial.origin], None, ' class="wide"'),
        (str(trial.graph.n_nodes), trial.graph.n_nodes, ' class="wide"'),
        (str(trial.graph.n_edges), trial.graph.n_edges, ' class="wide"'),
        (STATUSES.get(str(status), "") if status else "", None, ' class="wide"'),
        (number(100 * gap, 2) if gap is not None else "", gap, ' class="wide"'),
        (number(seconds, 3) if seconds is not None else "", seconds, ' class="wide"'),
    )
    out = []
    for k, (text, value, css) in enumerate(texts):
        data = "" if value is None else f' data-v="{value!r}"'
        out.append(f"<td{css}{data}>{text if k == 1 else esc(text)}</td>")
    return "".join(out)


def _value(trial: Trial) -> str:
    return "" if trial.value is None else number(trial.value, 6)


def failures_table(survey: Survey) -> str:
    """Reasons of failed evaluations, the most frequent first, with the trials they struck."""
    if not survey.failed:
        return "<p>No evaluation failed.</p>"
    by_reason: dict[str, list[Trial]] = defaultdict(list)
    for trial in survey.failed:
        by_reason[trial.reason or "no reason given"].append(trial)
    ordered = sorted(by_reason.items(), key=lambda pair: -len(pair[1]))
    rows = [
        f"<tr><td>{len(trials)}</td><td>{esc(reason, 600)}</td>"
        f"<td>{', '.join(str(t.id) for t in trials[:10])}{', …' if len(trials) > 10 else ''}</td>"
        "</tr>"
        for reason, trials in ordered[:_MOST_REASONS]
    ]
    more = len(ordered) - _MOST_REASONS
    rest = f"<p>And {plural(more, 'further reason')}.</p>" if more > 0 else ""
    return (
        '<div class="scroll" role="region" aria-label="Failures" tabindex="0"><table><thead><tr>'
        '<th scope="col">Times</th><th scope="col">Reason</th><th scope="col">Trials</th>'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{rest}"
    )


def time_in_words(survey: Survey) -> str:
    """Seconds spent in all, by what they were spent on."""
    totals = [sum(part) for part in zip(*map(survey.seconds, survey.trials), strict=True)]
    names = ("fitting", "proposing", "evaluating")
    return ", ".join(f"{duration(t)} {name}" for t, name in zip(totals, names, strict=False))
