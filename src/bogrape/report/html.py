"""The report: one self-contained HTML page.

The page is also well-formed XML, so that one parser can check all of it. Its policy allows no
requests and no script but its own, whose hash it names: text of users is escaped, and
would not run even if it were not.
"""

from __future__ import annotations

import base64
import hashlib
import html
import math
import os
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..acquisition import EI, LCB
from ..constraints.words import capitalised
from ..errors import InvalidInputError, StudyError
from ..kernels import Kernel
from ..study import Study
from ..study.settings import SETTING_NAMES, StudySettings
from ..surrogate import Surrogate
from ..trial import package_version
from . import words
from .draw import has_matplotlib
from .figures import figures_of
from .gallery import best_picture, gallery_html
from .html_tables import failures_table, scores_table, time_in_words, trials_table
from .survey import MOST_NODES, Survey
from .text import esc, number, plural

_SHOWN_EFFECTS = 5


def report_html(study: Study, *, source: str = "", refresh: int | None = None) -> str:
    """The report of a study as the text of an HTML file.

    Args:
        study: in any state.
        source: where the study is stored, for the lines that reproduce it, e.g. a file name.
        refresh: seconds after which the page reloads.
    """
    survey = Survey(study)
    style, script = _file("page.css"), _file("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    again = f'<meta http-equiv="refresh" content="{int(refresh)}"/>' if refresh else ""
    name = esc(study.name)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f'<link rel="icon" href="data:,"/>{again}<title>{name}: report</title>'
        f"<style>{style}</style></head><body>"
        '<a class="skip" href="#summary">Skip to the summary</a>'
        f'<header><h1>{name}</h1><p class="goal">{esc(words.goal_in_words(survey))}</p>'
        f"{_navigation()}</header><main>"
        f"{_summary(survey)}{_settings(survey)}{_charts(survey)}{_graphs(survey)}{_trials(survey)}"
        f"{survey.look.problems_html()}"
        f"{_space(survey)}{_failures(survey)}{_reproduce(survey, source)}"
        f"</main>{_footer(refresh)}<script>{script}</script></body></html>\n"
    )


def write_report(
    study: Study, path: str | Path, *, source: str = "", refresh: int | None = None
) -> Path:
    """Write the report to a file atomically."""
    target = Path(path)
    text = report_html(study, source=source, refresh=refresh)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InvalidInputError(f"cannot write {str(target)!r}: {error}") from None
    return target


def _file(name: str) -> str:
    return files("bogrape.report").joinpath(name).read_text(encoding="utf-8")


def _navigation() -> str:
    parts = ("figures", "graphs", "trials", "space", "failures", "reproduce")
    links = "".join(f'<a href="#{part}">{part.capitalize()}</a>' for part in parts)
    return f'<nav aria-label="Contents">{links}</nav>'


# -- sections ---------------------------------------------------------------------------------


def _summary(survey: Survey) -> str:
    """The aim, the best graph and value, the number of evaluations, and the confidence."""
    title, value, found = _result(survey)
    lines = words.certainty_in_words(survey)
    if survey.too_large:
        lines.append(
            f"{plural(survey.too_large, 'graph')} with more than {MOST_NODES} nodes are left out "
            "of the predictions in this report."
        )
    if (partly := words.sample_in_words(survey)) is not None:
        lines.append(partly)
    if (blind := words.blind_spot(survey)) is not None:
        lines.append(blind)
    sure = "".join(f"<p>{esc(line)}</p>" for line in lines)
    picture = best_picture(survey)
    heading = f"Best {esc(survey.look.nouns.graph)}{_which(survey)}"
    shown = f'<div class="box"><h2>{heading}</h2>{picture}</div>' if picture else ""
    return (
        f'<section id="summary" class="summary" aria-label="Summary">{shown}<div class="facts">'
        f'<div class="box"><h2>{esc(title)}</h2><p class="big">{esc(value)}</p>'
        f"<p>{esc(found)}</p></div>"
        f'<div class="box"><h2>Evaluations</h2><p class="big">{len(survey.complete)}</p>'
        f"<p>{esc(words.progress_in_words(survey))}</p></div>"
        f'<div class="box whole"><h2>Confidence</h2>{sure}</div>{_effects(survey)}</div></section>'
    )


def _result(survey: Survey) -> tuple[str, str, str]:
    """The result: its name, a number, and a sentence about it."""
    if survey.goals is not None and survey.goals.is_pareto:
        graphs = plural(len(survey.front), survey.look.nouns.graph, survey.look.nouns.graphs)
        return "Pareto front", graphs, words.front_in_words(survey)
    value = number(survey.ranked[0][1]) if survey.ranked else "none yet"
    kind = "smallest" if survey.sign > 0 else "largest"
    title = f"Best value ({kind})" if survey.goals is None else "Best score"
    return title, value, words.improvement_in_words(survey)


def _which(survey: Survey) -> str:
    return f" (trial {survey.best.id})" if survey.best is not None else ""


def _effects(survey: Survey) -> str:
    """Drivers of the prediction, with uncertainties; per property if there are several."""
    if survey.goals is None:
        return _effects_of(survey, "the prediction")
    return "".join(_effects_of(survey.of_property(name), name) for name in survey.goals.names)


def _effects_of(survey: Survey, what: str) -> str:
    try:
        lines = words.effects_in_words(survey, _SHOWN_EFFECTS)
        n_effects = len(survey.effects)
    except StudyError:
        return ""
    items = "".join(f"<li>{esc(line)}</li>" for line in lines) if n_effects else ""
    body = f'<ul class="plain">{items}</ul>' if items else f"<p>{esc(lines[0])}</p>"
    if n_effects:
        body += (
            '<p class="note">On average over exchanges in the evaluated graphs, with the number of '
            "nodes unchanged; ± one standard deviation.</p>"
        )
    if (said := words.model_in_words(survey)) is not None:
        body += f"<p>{esc(said)}</p>"
    return f'<div class="box whole"><h2>What drives {esc(what)}</h2>{body}</div>'


def _settings(survey: Survey) -> str:
    """Other settings tested on the same observations, if the current ones predict badly."""
    try:
        loo = survey.left_out
        if not loo.too_narrow and loo.knows_something:
            return ""
        body = scores_table(survey)
    except StudyError:
        return ""
    return (
        '<section id="settings"><h2>Other settings, tested on this study</h2>'
        f"<p>{esc(words.remedy_in_words(survey))}</p>{body}</section>"
    )


def _charts(survey: Survey) -> str:
    if not has_matplotlib():
        body = (
            '<p class="note">Figures need matplotlib: pip install "bogrape[plots]", then make the '
            "report again.</p>"
        )
        return f'<section id="figures"><h2>Figures</h2>{body}</section>'
    charts, missing = [], []
    for name, draw in figures_of(survey).items():
        try:
            chart = draw(survey)
        except StudyError as reason:
            missing.append(str(reason))
            continue
        svg = chart.svg(prefix=name, themed=True).replace(
            "<svg", f'<svg role="img" aria-label="{esc(chart.words)}"', 1
        )
        charts.append(
            f'<figure class="chart"><h3>{esc(chart.title)}</h3>{svg}'
            f"<figcaption>{esc(chart.words)}</figcaption></figure>"
        )
    notes = "".join(f"<li>{esc(reason)}</li>" for reason in dict.fromkeys(missing))
    rest = f'<div class="note"><p>Not available yet:</p><ul>{notes}</ul></div>' if notes else ""
    return (
        f'<section id="figures"><h2>Figures</h2><div class="charts">{"".join(charts)}</div>'
        f"{rest}</section>"
    )


def _graphs(survey: Survey) -> str:
    nouns = survey.look.nouns
    body = gallery_html(survey) or f"<p>No {esc(nouns.graphs)} yet.</p>"
    return f'<section id="graphs"><h2>{esc(capitalised(nouns.graphs))}</h2>{body}</section>'


def _trials(survey: Survey) -> str:
    hint = '<p class="note">Click a heading to sort.</p>' if survey.trials else ""
    return (
        f'<section id="trials"><h2>All {plural(len(survey.trials), "trial")}'
        f"</h2>{hint}{trials_table(survey)}</section>"
    )


def _space(survey: Survey) -> str:
    lines = "".join(f"<li>{esc(line)}</li>" for line in words.space_in_words(survey.space))
    return (
        '<section id="space"><h2>The space and its rules</h2>'
        f"<p>Every proposed {esc(survey.look.nouns.graph)} satisfies all of these:</p>"
        f"<ul>{lines}</ul></section>"
    )


def _failures(survey: Survey) -> str:
    return f'<section id="failures"><h2>Failures</h2>{failures_table(survey)}</section>'


def _reproduce(survey: Survey, source: str) -> str:
    """The lines of Python that reproduce the study, and what they depend on."""
    settings = survey.settings
    versions = sorted({trial.version for trial in survey.trials if trial.version})
    space = ascii(survey.space.to_json())  # JSON inside a Python string, printable whatever it is
    own = sum(trial.origin != "added" for trial in survey.trials)
    lines = [
        "from bogrape import EI, LCB, GraphSpace, Study, minimize",
        *_imported_goals(settings),
        "",
        f"space = GraphSpace.from_json({space})",
        "study = minimize(",
        "    objective,  # your function of a graph",
        "    space,",
        f"    n_iterations={max(0, own - settings.n_initial)},",
        *(f"    {name}={_as_python(getattr(settings, name))}," for name in SETTING_NAMES),
        ")",
    ]
    if source:
        lines += ["", f"# or open this one: Study.load({source!r}, {survey.name!r})"]
    code = "\n".join(html.escape(line) for line in lines)
    made = ", ".join(versions) or package_version()
    spent = time_in_words(survey) if survey.trials else ""
    changed = "".join(f"<li>{esc(line)}</li>" for line in words.changes_in_words(survey.changes))
    if changed:
        changed = f"<p>The settings were changed during the study:</p><ul>{changed}</ul>"
    return (
        '<section id="reproduce"><h2>How to reproduce this study</h2>'
        f"<p>Made with bogrape {esc(made)}. The same seed gives the same graphs, as long as one "
        "worker asks and no proposal is stopped by its time limit."
        f"{f' Time spent: {esc(spent)}.' if spent else ''}</p>{changed}<pre>{code}</pre></section>"
    )


def _imported_goals(settings: StudySettings) -> list[str]:
    """The line that imports the classes of the goals of several properties."""
    if settings.properties is None:
        return []
    names = sorted({type(goal).__name__ for goal in settings.properties.values()})
    return [f"from bogrape.properties import {', '.join(names)}"]


def _as_python(value: Any) -> str:
    """The value of a setting as Python source."""
    if isinstance(value, float) and math.isinf(value):
        return 'float("inf")'
    if isinstance(value, (Kernel, Surrogate)) or callable(value):
        return repr(value) if isinstance(value, (LCB, EI)) else "your_own"
    return repr(value)


def _footer(refresh: int | None) -> str:
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    live = f" This page reloads every {plural(refresh, 'second')}." if refresh else ""
    return f"<footer><p>Written {now} by bogrape {esc(package_version())}.{live}</p></footer>"
