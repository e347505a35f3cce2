"""Figures of results, with matplotlib (extra ``[plots]``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bogrape.report.draw import new_figure

from .records import Record
from .statistics import Runs, common, group, is_bogrape, methods_of, problems_of, scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _MUTED, _LINE = "#1F2937", "#6B7280", "#E5E7EB"
# Okabe and Ito's colours, distinct for every kind of colour vision; ours are solid lines.
_COLOURS = {
    "ssp": "#0072B2",
    "sp": "#009E73",
    "essp": "#E69F00",
    "esp": "#D55E00",
    "rbf": "#1F2937",
    "random": "#8C8C8C",
    "rw": "#56B4E9",
    "wl": "#CC79A7",
}
_FALLBACK = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#1F2937")
_DASHES = {
    "rand": (0, (4, 2)),
    "evol": (0, (1, 1.2)),
    "search": (0, (6, 2, 1, 2)),
    "lcb": (0, (5, 1)),
}


def look(method: str) -> dict[str, Any]:
    """Colour, dashes and width of a method's line; the kernel gives the colour."""
    words = method.replace(":", "-").split("-")
    style: dict[str, Any] = {"color": _COLOURS.get(words[0], _INK), "linewidth": 1.5}
    if method == "random":
        style["linestyle"] = (0, (1, 1))
    for word in words[1:]:
        style["linestyle"] = _DASHES.get(word, "-")
    if is_bogrape(method):
        style["linewidth"] = 2.1
    return style


def distinct_looks(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Looks of all methods; if two would be the same, colours are assigned in turn."""
    looks = {method: look(method) for method in methods}
    if len({str(sorted(style.items(), key=str)) for style in looks.values()}) == len(looks):
        return looks
    return {
        method: {**looks[method], "color": _FALLBACK[i % len(_FALLBACK)]}
        for i, method in enumerate(methods)
    }


def clean(axes: Axes) -> None:
    """Remove the frame, and make lines faint and numbers small."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_LINE)
    axes.tick_params(colors=_MUTED, labelsize=8, length=0)
    axes.grid(color=_LINE, linewidth=0.8)
    axes.set_axisbelow(True)


def optimiser_curves(
    records: Sequence[Record],
    references: Sequence[Record] = (),
    *,
    what: str = "best value so far",
) -> Figure:
    """Best value so far after each proposal: mean ± 0.5 standard deviation; one panel per problem.

    The deviation is that within replications (see `draw_curves`).
    """
    runs = common(group(records))
    problems, methods = problems_of(runs), methods_of(runs)
    scale = scales(records, references)
    columns = 2 if len(problems) == 4 else min(3, max(1, len(problems)))
    rows = -(-max(1, len(problems)) // columns)
    figure = new_figure(3.6 * columns + 0.3, 2.7 * rows + 0.6)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    looks = distinct_looks(methods)
    handles: dict[str, Any] = {}
    for axes, problem in zip(grid, problems, strict=False):
        clean(axes)
        own = {key: run for key, run in runs.items() if key[0] == problem}
        handles |= draw_curves(axes, own, looks)
        seeds = next(iter(own.values())).seeds
        known = [scale[problem, seed].best for seed in seeds if (problem, seed) in scale]
        if len(known) == len(seeds):
            handles["best known"] = axes.axhline(
                float(np.mean(known)), color=_INK, linewidth=0.9, linestyle=(0, (5, 4))
            )
        axes.set_title(
            f"{problem} ({len(seeds)} replication{'s'[: len(seeds) > 1]})", fontsize=10, color=_INK
        )
        axes.set_xlabel("proposal", fontsize=9, color=_INK)
    for axes in grid[len(problems) :]:
        axes.set_axis_off()
    for axes in grid[::columns]:
        axes.set_ylabel(what, fontsize=9, color=_INK)
    order = [*methods, *(name for name in handles if name not in methods)]
    legend_below(figure, {name: handles[name] for name in order}, (2, 5, 9)[columns - 1])
    return figure


def draw_curves(
    axes: Axes, runs: Mapping[tuple[str, str], Runs], looks: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Draw the curves of one problem; returns a handle for each method.

    Replications differ in their networks and designs, which all methods share; that would make
    bands so wide that they hide the methods. So the mean over methods is subtracted from each
    replication before deviations are computed (Cousineau 2005). All runs have the same seeds.
    """
    handles = {}
    shared = np.mean([run.best[:, run.n_initial - 1 :] for run in runs.values()], axis=0)
    for (_, method), run in runs.items():
        best = run.best[:, run.n_initial - 1 :]
        mean, half = best.mean(axis=0), 0.5 * (best - shared).std(axis=0)
        at = np.arange(len(mean))
        style = looks[method]
        axes.fill_between(
            at, mean - half, mean + half, color=style["color"], alpha=0.10, linewidth=0
        )
        (handles[method],) = axes.plot(at, mean, **style)
    return handles


def legend_below(figure: Figure, handles: Mapping[str, Any], columns: int) -> None:
    """One legend for all panels."""
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=max(1, min(len(handles), columns)),
        frameon=False,
        fontsize=9,
        labelcolor=_INK,
        handlelength=2.6,
    )
