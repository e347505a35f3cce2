"""Figures of several properties: the trade-off between them, and the growth of the front."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..errors import StudyError
from ..properties import Goals
from .chart import (
    BLUE,
    INK,
    LINE,
    MUTED,
    ORANGE,
    RED,
    Chart,
    add_legend,
    drawing_unit,
    mark_size,
    new_axes,
)
from .survey import Survey
from .text import number, plural, shown

_MOST_LINES = 400  # graphs in a view of many properties: the front, and the latest others


def tradeoff(survey: Survey) -> Chart:
    """Two properties against each other, or more side by side; the Pareto front is marked."""
    goals, trials = _goals(survey), survey.measured
    if not trials:
        raise StudyError(
            f"the trade-off needs a graph with all of {', '.join(goals.names)}; there is none"
        )
    rows = np.stack([goals.row(trial.values) for trial in trials])
    initial = np.array([trial.origin == "initial" for trial in trials], dtype=bool)
    good = _marked(survey, goals)
    if len(goals.names) == 2:
        return _plane(survey, goals, rows, initial, good)
    return _side_by_side(goals, rows, good)


def _goals(survey: Survey) -> Goals:
    if survey.goals is None:
        raise StudyError("a trade-off needs several properties; the study has a single value")
    return survey.goals


def _marked(survey: Survey, goals: Goals) -> FloatArray:
    """The mean values of the front, or of the graph with the best score, by row."""
    if survey.front:
        return np.stack([goals.row(means) for _, means in survey.front])
    best = survey.best
    return np.stack([goals.row(best.values)]) if best is not None else np.zeros((0, 2))


def _plane(
    survey: Survey, goals: Goals, rows: FloatArray, initial: BoolArray, good: FloatArray
) -> Chart:
    figure, axes = new_axes()
    (one, words_one), (two, words_two) = (drawing_unit(rows[:, k]) for k in (0, 1))
    size, alpha = mark_size(len(rows))
    units = np.array([one, two])
    for chosen, marker, colour, name in (
        (initial, "s", ORANGE, "initial design"),
        (~initial, "o", BLUE, "evaluation"),
    ):
        if chosen.any():
            x, y = (rows[chosen] / units).T
            axes.scatter(
                x, y, s=size, marker=marker, color=colour, alpha=alpha, linewidths=0, label=name
            )
    x, y = (good[np.argsort(good[:, 0], kind="stable")] / units).T
    if goals.is_pareto:
        # the boundary of the dominated region has a corner between two graphs of the front
        worse: Literal["post", "pre"] = "post" if goals.signs[0] > 0 else "pre"
        axes.step(x, y, where=worse, color=RED, linewidth=1.4, zorder=3)
    axes.scatter(
        x,
        y,
        s=42 if goals.is_pareto else 130,
        marker="o" if goals.is_pareto else "*",
        facecolors="none" if goals.is_pareto else RED,
        edgecolors=RED,
        linewidths=1.4,
        zorder=4,
        label="Pareto front" if goals.is_pareto else "best score",
    )
    axes.margins(0.08)
    axes.set_xlabel(f"{_axis(goals, 0)}{words_one}").set_parse_math(False)
    axes.set_ylabel(f"{_axis(goals, 1)}{words_two}").set_parse_math(False)
    add_legend(axes)
    return Chart("The trade-off", _words(survey, goals, rows, good), figure)


def _side_by_side(goals: Goals, rows: FloatArray, good: FloatArray) -> Chart:
    """One vertical axis per property, the better end at the top; one line per graph."""
    figure, axes = new_axes()
    low, high = rows.min(axis=0), rows.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    at = np.arange(len(goals.names))
    down = goals.signs > 0 if goals.combine in ("pareto", "sum") else np.zeros(len(at), dtype=bool)

    def heights(values: FloatArray) -> FloatArray:
        share = (values - low) / spread
        return np.asarray(np.where(down, 1.0 - share, share))

    for row in rows[-_MOST_LINES:]:
        axes.plot(at, heights(row), color=BLUE, linewidth=0.8, alpha=0.3)
    for row in good[:_MOST_LINES]:
        axes.plot(at, heights(row), color=RED, linewidth=1.6, alpha=0.85)
    axes.vlines(at, 0, 1, color=MUTED, linewidth=1)
    for k in range(len(at)):
        top, bottom = (low[k], high[k]) if down[k] else (high[k], low[k])
        for height, value, place in ((1.0, top, "bottom"), (0.0, bottom, "top")):
            axes.text(at[k], height, number(float(value)), ha="center", va=place, fontsize=8)
    axes.set_xticks(at, [shown(name, 20) for name in goals.names])
    for text in axes.get_xticklabels():
        text.set_parse_math(False)
        text.set_color(INK)
    axes.tick_params(axis="x", pad=14)
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_ylim(-0.12, 1.12)
    words = (
        f"{plural(len(rows), 'graph')} by {', '.join(goals.names)}, one line per graph; "
        f"{len(good)} of them {'on the Pareto front' if goals.is_pareto else 'with the best score'}"
        "."
    )
    return Chart("The trade-off", words, figure)


def _axis(goals: Goals, k: int) -> str:
    """Axis label: a property and its goal."""
    return shown(f"{goals.names[k]} ({goals.goals[k].in_words()})", 60)


def _words(survey: Survey, goals: Goals, rows: FloatArray, good: FloatArray) -> str:
    listed = "; ".join(
        ", ".join(f"{name} {number(float(v))}" for name, v in zip(goals.names, row, strict=True))
        for row in good[:8]
    )
    what = "the Pareto front has" if goals.is_pareto else "the best score has"
    more = f"; and {len(good) - 8} more" if len(good) > 8 else ""
    graphs = plural(len(rows), survey.look.nouns.graph, survey.look.nouns.graphs)
    return f"{goals.names[1]} against {goals.names[0]} of {graphs}; {what} {listed}{more}."


def volume(survey: Survey) -> Chart:
    """The hypervolume that the front dominates after each evaluation."""
    goals, trials = _goals(survey), survey.measured
    inside = [trial for trial in trials if not trial.outside] or trials
    if not inside:
        raise StudyError(
            f"a hypervolume needs a graph with all of {', '.join(goals.names)}; there is none"
        )
    rows = np.stack([goals.row(trial.values) for trial in inside])
    reference = goals.reference_point(rows)
    grown = np.zeros(len(rows))
    for i in range(len(rows)):
        front = rows[: i + 1][goals.front(rows[: i + 1])]
        grown[i] = goals.hypervolume(front, reference)
    figure, axes = new_axes()
    at = np.arange(1, len(rows) + 1)
    unit, unit_words = drawing_unit(grown)
    axes.step(at, grown / unit, where="post", color=BLUE, linewidth=2.2, label="hypervolume")
    n_initial = sum(trial.origin == "initial" for trial in inside)
    if 0 < n_initial < len(inside):
        axes.axvline(n_initial + 0.5, color=LINE, linewidth=1.5, label="end of the initial design")
    axes.set_xlabel("evaluation")
    axes.set_ylabel(f"hypervolume{unit_words}")
    add_legend(axes)
    point = ", ".join(
        f"{name} {number(float(v))}" for name, v in zip(goals.names, reference, strict=True)
    )
    words = (
        f"Hypervolume of the Pareto front after each of {len(rows)} evaluations, from "
        f"{number(float(grown[0]))} to {number(float(grown[-1]))}, up to the reference {point}."
    )
    return Chart("Growth of the Pareto front", words, figure)
