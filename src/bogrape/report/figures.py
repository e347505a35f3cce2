"""The figures of a study, with matplotlib (extra ``[plots]``).

Each function takes a `Survey` and returns a `Chart`: a matplotlib figure with a description. If
there are too few observations for a figure, it raises `StudyError`, which says how many it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from textwrap import wrap
from typing import final

import numpy as np

from ..errors import InvalidInputError, StudyError
from ..study import Study
from .chart import (
    BLUE,
    GREEN,
    HEIGHT,
    INK,
    LINE,
    MANY,
    MUTED,
    ORANGE,
    PAPER,
    RED,
    WIDTH,
    Chart,
    add_legend,
    clean,
    drawing_unit,
    mark_size,
    new_axes,
)
from .draw import draw_graph, new_figure
from .fronts import tradeoff, volume
from .gallery import several
from .regret import recorded, regret
from .survey import Survey
from .text import duration, number, percent, plus_minus, shown
from .words import STATUSES, effects_in_words, exchange_in_words

_SHOWN_EFFECTS = 12


# -- progress ---------------------------------------------------------------------------------


def convergence(survey: Survey) -> Chart:
    """Each evaluation, and the best value so far; for a front, the volume it dominates."""
    if survey.goals is not None and survey.goals.is_pareto:
        return volume(survey)
    survey.need(1, "the convergence figure")
    if survey.best is None:  # of several properties
        raise StudyError("the convergence figure needs a graph with a value; there is none")
    figure, axes = new_axes()
    at = np.arange(1, len(survey.values) + 1)
    unit, unit_words = drawing_unit(survey.values)
    values = survey.values / unit
    size, alpha = mark_size(len(at))
    initial = np.array([trial.origin == "initial" for trial in survey.complete])
    best = survey.best_so_far / unit
    axes.step(at, best, where="post", color=BLUE, linewidth=2.2, label="best so far")
    for chosen, marker, colour, name in (
        (initial & ~survey.outside, "s", ORANGE, "initial design"),
        (~initial & ~survey.outside, "o", BLUE, "evaluation"),
        (survey.outside, "D", MUTED, "outside the space"),
    ):
        if chosen.any():
            axes.scatter(
                at[chosen],
                values[chosen],
                s=size,
                marker=marker,
                color=colour,
                alpha=alpha,
                linewidths=0,
                label=name,
            )
    top = next(i for i, trial in enumerate(survey.complete) if trial is survey.best)
    axes.scatter([at[top]], [values[top]], s=130, marker="*", color=RED, zorder=4)
    axes.annotate(
        number(float(survey.values[top])),
        (at[top], values[top]),
        xytext=(0, -13 if survey.sign > 0 else 8),
        textcoords="offset points",
        ha="center",
        fontsize=9,
        color=INK,
        annotation_clip=False,
    )
    axes.margins(y=0.14)
    axes.set_xlabel("evaluation")
    better = "smaller" if survey.sign > 0 else "larger"
    axes.set_ylabel(f"value{unit_words} ({better} is better)")
    add_legend(axes)
    found = survey.best_so_far[np.isfinite(survey.best_so_far)]
    words = (
        f"Best value so far after each of {len(at)} evaluations, from "
        f"{number(float(found[0]))} to {number(float(found[-1]))}, "
        f"reached at evaluation {top + 1}; {int(initial.sum())} belong to the initial design."
    )
    return Chart("Convergence", words, figure)


def gallery(survey: Survey, n: int = 6) -> Chart:
    """The best graphs, side by side; for several properties, those of the front."""
    survey.need(1, "a gallery")
    chosen = [(trial, number(value)) for trial, value in survey.ranked[:n]]
    chosen = chosen or [(trial, several(means)) for trial, means in survey.front[:n]]
    if not chosen:
        raise StudyError(
            "a gallery needs at least one graph with all its properties; there is none"
        )
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = new_figure(3.0 * columns, 2.9 * rows)
    look = survey.look
    names = [look.name(a) for a in range(survey.space.n_labels)]
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (trial, value) in zip(grid, chosen, strict=False):
        inside = [look.short(int(a)) for a in trial.graph.labels] if len(names) > 1 else None
        draw_graph(
            trial.graph,
            axes,
            label_names=names if len(names) > 1 else None,
            node_names=inside,
            title=f"trial {trial.id}: {value}",
        )
    for axes in grid[len(chosen) :]:
        axes.set_axis_off()
    words = f"The {len(chosen)} best graphs, with values " + ", ".join(value for _, value in chosen)
    return Chart("The best graphs", f"{words}.", figure)


def predictions(survey: Survey) -> Chart:
    """Predicted against observed values, each predicted from all others."""
    loo = survey.left_out
    figure, axes = new_axes()
    unit, unit_words = drawing_unit(loo.observed, loo.mean, loo.std)
    observed, mean, std = loo.observed / unit, loo.mean / unit, loo.std / unit
    size, alpha = mark_size(len(mean))
    low = float(min(observed.min(), mean.min()))
    high = float(max(observed.max(), mean.max()))
    pad = 0.05 * (high - low) or 1.0
    axes.plot([low - pad, high + pad], [low - pad, high + pad], color=MUTED, linewidth=1, zorder=1)
    axes.errorbar(
        observed,
        mean,
        yerr=2 * std,
        fmt="none",
        ecolor=BLUE,
        elinewidth=0.8,
        alpha=0.35 if len(mean) <= MANY else 0.08,
        zorder=2,
    )
    axes.scatter(observed, mean, s=size, color=BLUE, alpha=alpha, linewidths=0, zorder=3)
    axes.set_xlim(low - pad, high + pad)
    axes.set_xlabel(f"observed value{unit_words}")
    axes.set_ylabel(f"predicted without it{unit_words} (± 2 std)")
    words = (
        f"Predicted against observed value of {len(loo.mean)} graphs, each left out in turn: mean "
        f"error {number(loo.error, 2)}, {percent(loo.inside)} inside their 95% intervals."
    )
    return Chart("Predicted against observed", words, figure)


def certificates(survey: Survey) -> Chart:
    """Value, bound, status and seconds of each proposal."""
    trials = survey.proposals
    if not trials:
        raise StudyError("certificates come with proposals, and there are no proposals so far")
    figure = new_figure(WIDTH, HEIGHT + 0.9)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[2.2, 1])
    for axes in (upper, lower):
        clean(axes)
    at = np.array([trial.id for trial in trials])
    found = [survey.certificate(trial) for trial in trials]
    value = np.array([c.value for c in found], dtype=float)
    bound = np.array([np.nan if c.bound is None else c.bound for c in found])
    unit, unit_words = drawing_unit(value, bound)
    value, bound = value / unit, bound / unit
    seconds = np.array([survey.seconds(trial)[1] for trial in trials])
    size, alpha = mark_size(len(at))
    if np.isfinite(bound).any():
        upper.vlines(at, bound, value, color=MUTED, linewidth=1.2, alpha=0.6)
        upper.scatter(at, bound, s=size, marker="_", color=INK, linewidths=1.2, label="bound")
    marks = {"optimal": ("o", GREEN), "time_limit": ("^", ORANGE), "heuristic": ("s", BLUE)}
    statuses = [c.status for c in found]
    for status, (marker, colour) in marks.items():
        chosen = np.array([found == status for found in statuses])
        if chosen.any():
            upper.scatter(
                at[chosen],
                value[chosen],
                s=size,
                marker=marker,
                color=colour,
                alpha=alpha,
                linewidths=0,
                label=STATUSES[status],
                zorder=3,
            )
    upper.set_ylabel(f"acquisition value{unit_words}")
    add_legend(upper, below=False)
    edges = np.stack([at - 0.4, at + 0.4, at + 0.4])
    bars = np.stack([seconds, seconds, np.zeros_like(seconds)])
    lower.fill_between(
        np.concatenate([(at - 0.4)[None], edges]).T.ravel(),
        np.concatenate([np.zeros((1, len(at))), bars]).T.ravel(),
        color=BLUE,
        linewidth=0,
    )
    lower.set_ylim(bottom=0)
    lower.set_ylabel("seconds")
    lower.set_xlabel("trial")
    widest = max((c for c in found if c.gap is not None), key=lambda c: c.gap or 0.0, default=None)
    counted = ", ".join(
        f"{statuses.count(status)} {STATUSES[status]}" for status in marks if status in statuses
    )
    words = f"Certificates of {len(trials)} proposals: {counted}"
    if widest is not None:
        words += f"; the largest gap is {widest.gap_in_full}"
    words += f". They took {duration(float(seconds.sum()))} in total."
    return Chart("Certificates of the proposals", words, figure)


def plane(survey: Survey) -> Chart:
    """All observed graphs on a plane, similar ones close together, coloured by value."""
    xy, trials = survey.plane, survey.kept
    figure, axes = new_axes()
    values = np.array([trial.value for trial in trials], dtype=float)
    unit, unit_words = drawing_unit(values)
    values = values / unit
    size, _ = mark_size(len(trials))
    low, high = np.quantile(values, [0.0, 1.0])
    shown_map = "viridis" if survey.sign > 0 else "viridis_r"
    dots = axes.scatter(
        xy[:, 0],
        xy[:, 1],
        c=values,
        s=size * 1.4,
        cmap=shown_map,
        linewidths=0.4,
        edgecolors=MUTED,
        vmin=low,
        vmax=high,
    )
    place = {trial.id: i for i, trial in enumerate(trials)}
    top = next((place[trial.id] for trial, _ in survey.ranked if trial.id in place), 0)
    axes.scatter(
        [xy[top, 0]],
        [xy[top, 1]],
        s=150,
        marker="*",
        color=RED,
        edgecolors=PAPER,
        linewidths=0.8,
        label="the best graph",
    )
    bar = figure.colorbar(dots, ax=axes, pad=0.02)
    bar.ax.tick_params(colors=MUTED, labelsize=8)
    bar.outline.set_visible(False)
    bar.set_label(f"value{unit_words}", color=INK)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.margins(0.1)
    axes.set_xlabel("main direction of the counts")
    axes.set_ylabel("second direction")
    add_legend(axes, below=False)
    words = (
        f"Map of {len(trials)} evaluated graphs: graphs with similar paths and labels lie "
        f"close together; the best one is trial {trials[top].id}."
    )
    return Chart("Map of the evaluated graphs", words, figure)


def drivers(survey: Survey) -> Chart:
    """Change of the prediction with small exchanges in the evaluated graphs."""
    found = survey.effects[:_SHOWN_EFFECTS]
    if not found:
        raise StudyError(effects_in_words(survey, 1)[0])
    figure = new_figure(WIDTH, 0.9 + 0.42 * len(found))
    axes = figure.add_subplot()
    clean(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=LINE, linewidth=0.8)
    unit, unit_words = drawing_unit(np.array([abs(e.mean) + 2 * e.std for e in found]))
    effects = np.array([effect.mean for effect in found]) / unit
    at = np.arange(len(found))[::-1]
    good = survey.sign * effects < 0
    axes.barh(
        at,
        effects,
        xerr=[2 * effect.std / unit for effect in found],
        color=np.where(good, GREEN, ORANGE).tolist(),
        ecolor=INK,
        error_kw={"elinewidth": 1.0, "capsize": 2.5},
        height=0.6,
    )
    axes.axvline(0, color=MUTED, linewidth=1)
    names = [exchange_in_words(effect.exchange, survey.look) for effect in found]
    axes.set_yticks(at, ["\n".join(wrap(shown(name, 90), 30)) for name in names], fontsize=8)
    for text in axes.get_yticklabels():
        text.set_parse_math(False)
    axes.set_xlabel(f"change of the predicted value{unit_words} (± 2 std)")
    words = (
        "Change of the predicted value due to an exchange at a fixed number of nodes, averaged "
        "over evaluated graphs, ± one standard deviation: "
        + "; ".join(
            f"{name} {plus_minus(effect.mean, effect.std)}"
            for name, effect in zip(names[:5], found, strict=False)
        )
    )
    return Chart("What drives the prediction", f"{words}.", figure)


def times(survey: Survey) -> Chart:
    """Seconds spent fitting, proposing and evaluating, trial by trial."""
    trials = [trial for trial in survey.trials if sum(survey.seconds(trial)) > 0]
    if not trials:
        raise StudyError("no times have been recorded so far")
    figure, axes = new_axes()
    table = np.zeros((survey.trials[-1].id + 1, 3))
    for trial in trials:
        table[trial.id] = survey.seconds(trial)
    edges = np.arange(len(table) + 1) - 0.5
    base = np.zeros(len(table))
    totals = table.sum(axis=0)
    for k, (name, colour) in enumerate((("fit", GREEN), ("propose", BLUE), ("evaluate", ORANGE))):
        axes.stairs(
            base + table[:, k],
            edges,
            baseline=base,
            fill=True,
            color=colour,
            linewidth=0,
            label=f"{name}: {duration(totals[k])}",
        )
        base = base + table[:, k]
    axes.set_ylim(bottom=0)
    axes.set_xlabel("trial")
    axes.set_ylabel("seconds")
    add_legend(axes)
    words = "Total time: " + ", ".join(
        f"{name} {duration(float(total))}"
        for name, total in zip(("fit", "propose", "evaluate"), totals, strict=True)
    )
    return Chart("Where the time went", f"{words}.", figure)


def _of(name: str, draw: Callable[[Survey], Chart]) -> Callable[[Survey], Chart]:
    """Figure function for one of several properties, named in the title."""

    def drawn(survey: Survey) -> Chart:
        chart = draw(survey.of_property(name))
        return replace(chart, title=f"{chart.title}: {name}")

    return drawn


def figures_of(survey: Survey) -> dict[str, Callable[[Survey], Chart]]:
    """Functions that draw the figures of a report, by name."""
    if survey.goals is None:
        return {**FIGURES, "regret": regret} if recorded(survey) else FIGURES
    out: dict[str, Callable[[Survey], Chart]] = {"tradeoff": tradeoff, "convergence": convergence}
    for i, name in enumerate(survey.goals.names):
        out[f"predictions{i}"] = _of(name, predictions)
        out[f"drivers{i}"] = _of(name, drivers)
    return out | {"certificates": certificates, "times": times}


FIGURES: dict[str, Callable[[Survey], Chart]] = {
    "convergence": convergence,
    "predictions": predictions,
    "drivers": drivers,
    "map": plane,
    "certificates": certificates,
    "times": times,
}


@final
class Plots:
    """The figures of a study, as ``study.plot``. Each call reads the study again."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def convergence(self) -> Chart:
        """Each evaluation, and the best value so far; for a front, the volume it dominates."""
        return convergence(Survey(self._study))

    def tradeoff(self) -> Chart:
        """Two properties against each other with the Pareto front, or more side by side."""
        return tradeoff(Survey(self._study))

    def _survey(self, of: str | None) -> Survey:
        """The study, or one of its properties."""
        goals = self._study.settings.goals
        if goals is None and of is None:
            return Survey(self._study)
        if goals is None or of not in goals.names:
            names = "none" if goals is None else ", ".join(goals.names)
            raise InvalidInputError(f"of must name a property of the study ({names}), got {of!r}")
        return Survey(self._study, of)

    def gallery(self, n: int = 6) -> Chart:
        """The n best graphs."""
        if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= 60:
            raise InvalidInputError(f"n must be an integer from 1 to 60, got {n!r}")
        return gallery(Survey(self._study), n)

    def predictions(self, of: str | None = None) -> Chart:
        """Predicted against observed values, each graph left out in turn; ``of`` a property."""
        return predictions(self._survey(of))

    def certificates(self) -> Chart:
        """Value, bound, status and seconds of each proposal."""
        return certificates(Survey(self._study))

    def regret(self) -> Chart:
        """The recorded regret bounds (`Study.regret_bound`)."""
        return regret(Survey(self._study))

    def map(self, of: str | None = None) -> Chart:
        """All evaluated graphs on a plane, coloured by value; ``of`` a property."""
        return plane(self._survey(of))

    def drivers(self, of: str | None = None) -> Chart:
        """Change of the prediction with small exchanges in the evaluated graphs."""
        return drivers(self._survey(of))

    def times(self) -> Chart:
        """Seconds spent fitting, proposing and evaluating."""
        return times(Survey(self._study))

    def __repr__(self) -> str:
        return f"Plots({self._study!r}): " + ", ".join(["gallery", *FIGURES])


__all__ = ["FIGURES", "Chart", "Plots"]
