"""Tables of a report: all trials, sortable and with pictures, and failures with their reasons."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from ..constraints.words import capitalised
from ..study import Trial
from .picture import graph_html
from .placement import place_all
from .survey import Survey
from .text import duration, esc, number, percent, plural, plus_minus
from .validation import best_remedy
from .words import ORIGINS, STATUSES

_MOST_REASONS = 50
_MOST_DRAWN_BY_DOMAIN = 300  # such pictures are large; with more graphs, plain ones are used
# name, kind of its values, class of its cells ("wide": left out on a phone)
_COLUMNS = (
    ("Trial", "number", ""),
    ("Graph", "", ""),
    ("Value", "number", ""),
    ("Predicted", "number", "wide"),
    ("Text", "text", "wide"),
    ("State", "text", ""),
    ("Origin", "text", "wide"),
    ("Nodes", "number", "wide"),
    ("Edges", "number", "wide"),
    ("Acquisition", "number", "wide"),
    ("Proof", "text", "wide"),
    ("Gap", "number", "wide"),
    ("Seconds", "number", "wide"),
)


def trials_table(survey: Survey) -> str:
    """All trials, with the best one marked; a script sorts by any column of numbers or text.

    Graphs are drawn without text; the legend explains the colours. Empty columns are omitted.
    """
    if not survey.trials:
        return "<p>No trials yet.</p>"
    places = place_all([trial.graph for trial in survey.trials])
    best, look = survey.best, survey.look
    if len(survey.trials) > _MOST_DRAWN_BY_DOMAIN:
        look = replace(look, drawn=False)
    nouns = look.nouns
    titles = {"Graph": nouns.graph, "Nodes": nouns.nodes, "Edges": nouns.edges}
    titles = {name: capitalised(noun) for name, noun in titles.items()}
    titles["Text"] = look.text_name or ""
    hidden = set() if look.text_name is not None else {"Text"}
    if not any(survey.certificate(t).predicted or t.predictions for t in survey.trials):
        hidden.add("Predicted")
    if not survey.proposals:
        hidden.add("Acquisition")
    columns = [column for column in _COLUMNS if column[0] not in hidden]
    if survey.goals is not None:
        at = next(i for i, column in enumerate(columns) if column[0] == "Value")
        score = [] if survey.goals.is_pareto else [columns[at]]
        own = [(f"property {name}", "number", "") for name in survey.goals.names]
        columns = [*columns[:at], *own, *score, *columns[at + 1 :]]
        titles |= {f"property {name}": name for name in survey.goals.names} | {"Value": "Score"}
    rows = []
    marked = {trial.id for trial, _ in survey.front} | ({best.id} if best is not None else set())
    for trial, xy in zip(survey.trials, places, strict=True):
        picture = graph_html(trial.graph, look, size=96, text=False, xy=xy)
        mark = ' class="best"' if trial.id in marked else ""
        cells = _cells(trial, survey, picture)
        rows.append(
            f"<tr{mark}>{''.join(_cell(cells[name], css) for name, _, css in columns)}</tr>"
        )
    heads = "".join(_head(titles.get(name, name), kind, css) for name, kind, css in columns)
    return (
        '<div class="scroll" role="region" aria-label="All trials" tabindex="0">'
        f'<table id="trials-table"><thead><tr>{heads}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _head(title: str, kind: str, style: str) -> str:
    css, title = f' class="{style}"' if style else "", esc(title)
    if not kind:
        return f'<th scope="col"{css}>{title}</th>'
    return (
        f'<th scope="col"{css} aria-sort="none" data-kind="{kind}">'
        f'<button type="button">{title}</button></th>'
    )


@dataclass(frozen=True)
class _Content:
    """Content of a cell: HTML, and the number it is sorted by."""

    html: str
    key: float | None = None
    css: str = ""


def _cell(content: _Content, css: str) -> str:
    style = " ".join(filter(None, (css, content.css)))
    style = f' class="{style}"' if style else ""
    data = "" if content.key is None else f' data-v="{content.key!r}"'
    return f"<td{style}{data}>{content.html}</td>"


def _cells(trial: Trial, survey: Survey, picture: str) -> dict[str, _Content]:
    found, seconds = survey.certificate(trial), trial.evaluation_seconds
    predicted = found.predicted
    text = survey.look.text(trial.graph)
    return {
        "Trial": _Content(str(trial.id), trial.id),
        "Graph": _Content(picture),
        "Value": _Content(_numeral(trial.value, 6), trial.value),
        **{
            f"property {name}": _Content(_numeral(known, 6), known)
            for name, known in _properties(trial, survey).items()
        },
        "Predicted": _predicted(trial, predicted),
        "Text": _Content(f"<code>{esc(text)}</code>" if text else ""),
        "State": _Content(esc(trial.state), css=trial.state),
        "Origin": _Content(esc(_origin(trial))),
        "Nodes": _Content(str(trial.graph.n_nodes), trial.graph.n_nodes),
        "Edges": _Content(str(trial.graph.n_edges), trial.graph.n_edges),
        "Acquisition": _Content(esc(found.value_in_words), found.value),
        "Proof": _Content(STATUSES.get(found.status, "")),
        "Gap": _Content("" if found.gap is None else esc(found.gap_in_words), found.gap),
        "Seconds": _Content(_numeral(seconds, 3), seconds),
    }


def _properties(trial: Trial, survey: Survey) -> dict[str, float | None]:
    names = () if survey.goals is None else survey.goals.names
    return {name: trial.values.get(name) for name in names}


def _predicted(trial: Trial, predicted: tuple[float, float] | None) -> _Content:
    """Mean and deviation; one line per property if there are several."""
    if trial.predictions:
        lines = [f"{name} {plus_minus(*pair)}" for name, pair in trial.predictions.items()]
        first = next(iter(trial.predictions.values()))[0]
        return _Content("<br/>".join(map(esc, lines)), first, "nowrap")
    if predicted is None:
        return _Content("")
    return _Content(esc(plus_minus(*predicted)), predicted[0], "nowrap")


def _origin(trial: Trial) -> str:
    return ORIGINS[trial.origin] + (", outside the space" if trial.outside else "")


def _numeral(value: float | None, digits: int = 4) -> str:
    return "" if value is None else number(value, digits)


def scores_table(survey: Survey) -> str:
    """Scores of leave-one-out predictions with the current settings and with others."""
    found = survey.scores
    better = best_remedy(found)
    rows = []
    for score in found:
        loo, words = score.left_out, {"fit": "fitted", "robust": "fitted, robust"}
        noise = words[score.noise] if isinstance(score.noise, str) else f"{score.noise:g}"
        mark = ' class="best"' if score is better else ""
        note = "present" if score.present else "try this" if score is better else ""
        rows.append(
            f"<tr{mark}><td>{esc(score.kernel)}</td><td>{esc(noise)}</td>"
            f"<td>{esc(number(loo.rmse, 3))}</td>"
            f'<td class="wide">{esc(number(loo.density, 3))}</td>'
            f"<td>{esc(percent(loo.inside))}</td><td>{note}</td></tr>"
        )
    heads = ("Kernel", "Noise", "RMSE", "Log density", "Within 95%", "Remark")
    head = "".join(_head(title, "", "wide" if "density" in title else "") for title in heads)
    n, most = len(survey.compared), len(survey.complete)
    which = f"the {n}" if n == most else f"{n} of {most}, spread evenly,"
    return (
        '<div class="scroll" role="region" aria-label="Settings" tabindex="0"><table><thead><tr>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f'<p class="note">Each of {which} observations is predicted from the others. Columns: root '
        "mean square error, mean log predictive density (larger is better) and share inside the "
        "95% intervals (it should be near 95%).</p>"
    )


def failures_table(survey: Survey) -> str:
    """Reasons of failed evaluations, the most frequent first, with their trials."""
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
    """Total seconds spent on fitting, proposing and evaluating."""
    totals = [sum(part) for part in zip(*map(survey.seconds, survey.trials), strict=True)]
    names = ("fitting", "proposing", "evaluating")
    return ", ".join(f"{duration(t)} {name}" for t, name in zip(totals, names, strict=False))
