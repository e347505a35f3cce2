"""Drawings of graphs and of convergence, with matplotlib (extra ``[plots]``).

`draw_graph` and `draw_convergence` draw on given axes or on a new figure; `save` writes a
figure to a file. No window is opened and matplotlib's global state is left alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import FloatArray
from ..errors import InvalidInputError, UnsupportedError
from ..graph import Graph
from .layout import is_layered, layer_numbers, positions
from .text import plural, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito: distinguishable with every kind of colour vision.
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#8C8C8C",
)
FORMATS = (".png", ".svg", ".pdf")
_EDGE = "#6B7280"
_INK = "#1F2937"
_LONGEST_NAME = 24
MOST_DRAWN = 200  # nodes of a graph that is drawn; a larger one is described instead


@dataclass(frozen=True)
class Curve:
    """Runs of one method: objective values in order of evaluation, one row per run."""

    name: str
    runs: FloatArray

    def __post_init__(self) -> None:
        runs = np.atleast_2d(np.asarray(self.runs, dtype=float))
        if runs.ndim != 2 or not runs.size:
            raise InvalidInputError(
                f"runs must be one row of values per run, got an array of shape {runs.shape}"
            )
        object.__setattr__(self, "runs", runs)

    @property
    def best(self) -> FloatArray:
        """Best value so far of each run, after each evaluation."""
        return np.asarray(np.fmin.accumulate(self.runs, axis=1))


def has_matplotlib() -> bool:
    """True if pictures can be drawn here."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of this size in inches; raises an error if matplotlib is missing."""
    if not has_matplotlib():
        raise UnsupportedError(
            "drawing needs matplotlib, which is not installed; try: pip install 'bogrape[plots]'"
        )
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def check_output(path: Path) -> None:
    """Refuse a file that `save` could not write, before the work is done."""
    if path.suffix.lower() not in FORMATS:
        raise InvalidInputError(
            f"expected a file name ending in {', '.join(FORMATS)}, got {str(path)!r}"
        )
    if path.is_dir():
        raise InvalidInputError(f"expected a file to write, but {str(path)!r} is a folder")
    if not path.parent.is_dir():
        raise InvalidInputError(f"the folder of {str(path)!r} does not exist; create it first")


def save(figure: Figure, path: Path, dpi: int = 110) -> None:
    """Write a figure as PNG, SVG or PDF, chosen by the file extension."""
    check_output(path)
    with warnings.catch_warnings():
        # A label in a script that the font lacks shows as boxes; no warning is needed.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(path, dpi=dpi)


# -- a graph ----------------------------------------------------------------------------------


def draw_graph(
    graph: Graph,
    axes: Axes | None = None,
    *,
    label_names: Sequence[str] | None = None,
    node_names: Sequence[str] | None = None,
    title: str = "",
) -> Axes:
    """Draw a graph with a colour for each label.

    Args:
        graph: what to draw; arcs have arrows, edge labels 1 to 3 are drawn as 1 to 3 lines.
        axes: axes to draw on; by default those of a new figure (``axes.figure``).
        label_names: a name for each label, for the legend. Without names, and with only one label
            in use, there is no legend.
        node_names: a text for each node; its number when left out.
        title: title of the drawing.

    A graph with more than 200 nodes is described in words instead.
    """
    if graph.n_nodes > MOST_DRAWN:
        return _describe(graph, axes, title)
    used = np.unique(graph.labels)
    names = _names(label_names, int(used[-1]) + 1, "label")
    texts = _names(node_names, graph.n_nodes, "")
    target = new_figure(5.0, 4.5).add_subplot() if axes is None else axes
    xy = positions(graph)
    size = _node_size(graph.n_nodes, max(map(len, texts)))
    _draw_edges(target, graph, xy, size)
    palette = _palette(len(names))
    for label in used:
        members = graph.labels == label
        target.scatter(
            xy[members, 0],
            xy[members, 1],
            s=size,
            c=[palette[label]],
            edgecolors="white",
            linewidths=1.5,
            zorder=2,
        )
    for v, (x, y) in enumerate(xy):
        target.text(
            x,
            y,
            texts[v],
            color=_readable_on(palette[graph.labels[v]]),
            fontsize=8.5 if graph.n_nodes <= 20 else 7,
            ha="center",
            va="center_baseline",
            parse_math=False,
            zorder=3,
        )
    if label_names is not None or len(used) > 1:
        n_members = [int((graph.labels == label).sum()) for label in used]
        _legend(
            target,
            [palette[label] for label in used],
            [f"{names[v]}  ×{n}" for v, n in zip(used, n_members, strict=True)],
        )
    _frame(target, xy)
    target.set_title(shown(title, 80), fontsize=11, color=_INK, parse_math=False)
    return target


def _describe(graph: Graph, axes: Axes | None, title: str) -> Axes:
    """Write the numbers of nodes and edges of a graph too large to draw."""
    target = new_figure(5.0, 4.5).add_subplot() if axes is None else axes
    edges = plural(graph.n_edges, "arc" if graph.directed else "edge")
    words = f"{plural(graph.n_nodes, 'node')}, {edges}\n(too large to draw)"
    target.text(0.5, 0.5, words, ha="center", va="center", color=_INK, transform=target.transAxes)
    target.set_axis_off()
    target.set_title(shown(title, 80), fontsize=11, color=_INK, parse_math=False)
    return target


def _names(given: Sequence[str] | None, n: int, what: str) -> list[str]:
    if given is None:
        return [f"{what} {i}".strip() for i in range(n)]
    names = [shown(str(name), _LONGEST_NAME) for name in given]
    if len(names) < n:
        raise InvalidInputError(
            f"expected a name for each of {n} {what or 'node'}s, got {len(names)}"
        )
    return names


def _palette(n: int) -> list[Any]:
    if n <= len(PALETTE):
        return list(PALETTE[:n])
    from matplotlib import colormaps

    return [colormaps["turbo"](x) for x in np.linspace(0.05, 0.95, n)]


def _readable_on(colour: Any) -> str:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else _INK


def _node_size(n_nodes: int, longest_text: int) -> float:
    """Area of a node in square points: room for its text, smaller when there are many."""
    diameter = 23.0 if n_nodes <= 12 else 19.0 if n_nodes <= 20 else 15.0
    return max(diameter, 5.0 * min(longest_text, 8) + 4.0) ** 2


def _draw_edges(axes: Axes, graph: Graph, xy: FloatArray, size: float) -> None:
    edge_labels = graph.edge_labels
    if graph.directed:
        _draw_arcs(axes, graph, xy, size)
    else:
        from matplotlib.collections import LineCollection

        lines = []
        for u, v in graph.edges():
            multiple = 1 if edge_labels is None or edge_labels.max() > 3 else int(edge_labels[u, v])
            across = (xy[v] - xy[u])[::-1] * [-1, 1]
            across = across / max(float(np.linalg.norm(across)), 1e-9)
            for k in range(multiple):
                shift = 0.07 * (k - (multiple - 1) / 2) * across
                lines.append([xy[u] + shift, xy[v] + shift])
        axes.add_collection(LineCollection(lines, colors=_EDGE, linewidths=1.4, zorder=1))
    if edge_labels is not None and (graph.directed or edge_labels.max() > 3):
        for u, v in graph.edges():
            middle = 0.55 * xy[u] + 0.45 * xy[v]
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
            axes.text(
                middle[0],
                middle[1],
                str(edge_labels[u, v]),
                fontsize=7,
                ha="center",
                va="center",
                bbox=box,
                zorder=1.5,
            )


def _draw_arcs(axes: Axes, graph: Graph, xy: FloatArray, size: float) -> None:
    """Arrows; curved where a straight one would lie on another or run through nodes."""
    from matplotlib.patches import FancyArrowPatch

    layer = layer_numbers(graph) if is_layered(graph) else None
    side = 1.0
    for u, v in graph.edges():
        bend = 0.18 if graph.adjacency[v, u] else 0.0
        if layer is not None and layer[v] - layer[u] > 1:
            across = float(xy[u, 0] + xy[v, 0])
            side = -side if across == 0 else float(np.sign(across))  # outwards, else alternating
            bend = -0.3 * side
        axes.add_patch(
            FancyArrowPatch(
                (xy[u, 0], xy[u, 1]),
                (xy[v, 0], xy[v, 1]),
                arrowstyle="-|>",
                mutation_scale=11,
                connectionstyle=f"arc3,rad={bend}",
                shrinkA=np.sqrt(size) / 2,
                shrinkB=np.sqrt(size) / 2,
                color=_EDGE,
                linewidth=1.2,
                zorder=1,
            )
        )


def _legend(axes: Axes, colours: Sequence[Any], texts: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker="o", linestyle="", markersize=9, color=colour) for colour in colours
    ]
    legend = axes.legend(
        handles,
        [str(i) for i in range(len(texts))],
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=max(1, min(len(texts), 75 // (max(map(len, texts)) + 4))),
        frameon=False,
        fontsize=9,
        handletextpad=0.1,
        columnspacing=1.2,
    )
    # Set afterwards: as an argument, a name with a leading underscore would be left out.
    for entry, text in zip(legend.get_texts(), texts, strict=True):
        entry.set_parse_math(False)
        entry.set_text(text)


def _frame(axes: Axes, xy: FloatArray) -> None:
    """Set equal scales and a margin for the nodes, and limit the aspect ratio."""
    middle = (xy.min(axis=0) + xy.max(axis=0)) / 2
    extent = np.ptp(xy, axis=0) + 0.9
    half = np.maximum(extent, 0.6 * extent.max()) / 2
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_aspect("equal", adjustable="box")
    axes.set_axis_off()


# -- convergence ------------------------------------------------------------------------------


def draw_convergence(
    curves: Sequence[Curve],
    axes: Axes | None = None,
    *,
    n_initial: int = 0,
    title: str = "",
) -> Axes:
    """Best value so far against the number of evaluations.

    A curve with one run shows every evaluation as a dot; with several runs it shows their mean and
    a band from the best to the worst. The first ``n_initial`` evaluations are marked as the
    initial design.
    """
    if not curves:
        raise InvalidInputError("expected at least one curve, got none")
    target = new_figure(6.0, 4.0).add_subplot() if axes is None else axes
    if n_initial > 0:
        target.axvspan(0.5, n_initial + 0.5, color="#F3F4F6", zorder=0)
        target.text(
            0.5 + n_initial / 2,
            0.985,
            "initial design",
            transform=target.get_xaxis_transform(),
            ha="center",
            va="top",
            fontsize=9,
            color=_EDGE,
        )
    for curve, colour in zip(curves, _palette(len(curves)), strict=True):
        _draw_curve(target, curve, colour)
    longest = max(curve.runs.shape[1] for curve in curves)
    target.set_xlim(0.5, longest + 0.5)
    target.set_xlabel("evaluations")
    target.set_ylabel("objective (smaller is better)")
    target.spines[["top", "right"]].set_visible(False)
    target.grid(axis="y", color="#E5E7EB", linewidth=0.8)
    target.set_axisbelow(True)
    target.legend(
        frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2
    )
    target.set_title(shown(title, 80), fontsize=11, color=_INK, parse_math=False)
    return target


def _draw_curve(axes: Axes, curve: Curve, colour: Any) -> None:
    evaluations = np.arange(1, curve.runs.shape[1] + 1)
    best, name = curve.best, shown(curve.name, 60)
    if len(best) == 1:
        axes.scatter(evaluations, curve.runs[0], s=14, color=colour, alpha=0.45, linewidths=0)
        axes.step(evaluations, best[0], where="post", color=colour, linewidth=2.2, label=name)
        return
    axes.fill_between(
        evaluations, best.min(axis=0), best.max(axis=0), step="post", color=colour, alpha=0.18, lw=0
    )
    axes.step(evaluations, best.mean(axis=0), where="post", color=colour, linewidth=2.2, label=name)
