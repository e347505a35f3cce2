"""A graph as a small SVG text: no matplotlib, no identifiers, nothing from outside.

Edges take the colour of the text around them, so a picture fits light and dark pages. A node is a
zero-length stroke with round ends, which is the shortest way to say "a disc here": thousands of
pictures fit in one page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..errors import BoGrapeError
from ..graph import Graph
from ..space import GraphSpace
from .draw import MOST_DRAWN, PALETTE
from .layout import is_layered, layer_numbers
from .placement import place
from .text import esc, plural, shown

_INK = "#1F2937"
# Of the molecular spaces, beyond the element: neighbours 1..4, hydrogens 0..4, multiple bonds.
_ATOM_FEATURES = (
    *("atoms with 1 neighbour", *(f"atoms with {n} neighbours" for n in (2, 3, 4))),
    *("atoms without hydrogen", "atoms with 1 hydrogen"),
    *(f"atoms with {n} hydrogens" for n in (2, 3, 4)),
    *("atoms in a double bond", "atoms in a triple bond"),
)

_MOST_NAMED = 40  # nodes whose names are written into a picture


@dataclass(frozen=True)
class Look:
    """How graphs of one study are drawn: names of labels and nodes, and whether as molecules."""

    label_names: tuple[str, ...] | None = None
    n_labels: int = 1
    molecules: Any = None  # the function that draws them, or None
    node_names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, space: GraphSpace) -> Look:
        """The look of the graphs of a space."""
        return cls(space.label_names, space.n_labels, _molecule_drawer(space), space.nodes)

    @classmethod
    def of_graph(cls, graph: Graph) -> Look:
        """The look of a graph alone, which may know the names of its labels."""
        n_labels = int(graph.labels.max(initial=0)) + 1
        return cls(graph.label_names, n_labels, _drawer_of_graph(graph))

    def name(self, label: int) -> str:
        """Name of a label, in one short line."""
        if self.label_names is not None and label < len(self.label_names):
            return shown(self.label_names[label], 24) or f"label {label}"
        return f"label {label}"

    def feature(self, m: int) -> str:
        """What a node with feature m is, e.g. ``nodes with feature 2``."""
        if self.molecules is not None and m < len(_ATOM_FEATURES):
            return _ATOM_FEATURES[m]
        return f"nodes with feature {m}"

    def short(self, label: int) -> str:
        """What fits inside a node: a short name, else a letter of it, else the number."""
        if self.label_names is not None and label < len(self.label_names):
            name = shown(self.label_names[label], 24)
            return name if len(name) <= 2 else name[:1]
        return str(label)

    def colour(self, label: int) -> str:
        """Colour of a label, the same in every picture."""
        return colour_of(label, max(self.n_labels, label + 1))


def colour_of(label: int, n_labels: int) -> str:
    """One of the palette; with more labels than that, one of so many hues."""
    if n_labels <= len(PALETTE):
        return PALETTE[label]
    hue = (label * 360.0 / n_labels) % 360.0
    return f"hsl({hue:.0f},65%,{45 + 12 * (label % 2)}%)"


def graph_svg(
    graph: Graph,
    look: Look | None = None,
    *,
    size: int = 220,
    text: bool = True,
    xy: FloatArray | None = None,
) -> str:
    """The graph as an SVG element.

    Args:
        graph: what to draw.
        look: names and colours of labels.
        size: width in pixels; the height follows.
        text: whether nodes show their label, and edges labels above 3.
        xy: positions, where they are known already.

    A graph with more than 200 nodes is described in words instead.
    """
    look = look or Look.of_graph(graph)
    if graph.n_nodes > MOST_DRAWN:
        return _description(graph, look, size)
    if look.molecules is not None:
        drawn = _molecule_svg(graph, look, size)
        if drawn is not None:
            return drawn
    xy = place(graph) if xy is None else xy
    at, width, height, radius = _on_paper(xy, size)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{esc(in_words(graph, look))}">',
        _edges(graph, at, radius),
    ]
    for label in np.unique(graph.labels).tolist():
        discs = "".join(f"M{x:.0f} {y:.0f}h.01" for x, y in at[graph.labels == label])
        parts.append(
            f'<path d="{discs}" stroke="{look.colour(label)}" stroke-width="{2 * radius:.0f}" '
            'stroke-linecap="round"/>'
        )
    if (
        text
        and look.node_names is not None
        and len(look.node_names) == graph.n_nodes <= _MOST_NAMED
    ):
        parts.append(_names(look.node_names, at, width, radius))
    elif text and look.n_labels > 1:
        parts.append(_texts(graph, look, at, radius))
    return "".join([*parts, "</svg>"])


def _description(graph: Graph, look: Look, size: int) -> str:
    """Numbers of nodes and edges in a frame, where a drawing would show nothing but ink."""
    edges = plural(graph.n_edges, "arc" if graph.directed else "edge")
    height = round(0.45 * size)
    lines = (plural(graph.n_nodes, "node"), edges, "too large to draw")
    texts = "".join(
        f'<text x="{size // 2}" y="{round((k + 1) * height / 4 + 2)}">{esc(line)}</text>'
        for k, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {height}" width="{size}" '
        f'height="{height}" role="img" aria-label="{esc(in_words(graph, look))}">'
        f'<rect x="1" y="1" width="{size - 2}" height="{height - 2}" rx="6" fill="none" '
        'stroke="currentColor" stroke-opacity=".4"/>'
        f'<g font-size="{max(8, size // 12)}" text-anchor="middle" fill="currentColor" '
        f'font-family="sans-serif">{texts}</g></svg>'
    )


def in_words(graph: Graph, look: Look | None = None) -> str:
    """What the picture shows, for those who cannot see it."""
    look = look or Look.of_graph(graph)
    arcs = "arc" if graph.directed else "edge"
    kind = "graph" if look.molecules is None else "molecule"
    words = f"{kind} with {plural(graph.n_nodes, 'node')} and {plural(graph.n_edges, arcs)}"
    if look.n_labels > 1:
        labels, numbers = np.unique(graph.labels, return_counts=True)
        named = [f"{n} × {look.name(a)}" for a, n in zip(labels.tolist(), numbers, strict=True)]
        words += f"; labels: {', '.join(named)}"
    return words


def legend_html(look: Look, labels: Sequence[int] | None = None) -> str:
    """Colours and names of labels, as a line of HTML; empty for graphs without labels."""
    if look.n_labels <= 1 or look.molecules is not None:
        return ""
    chosen = range(look.n_labels) if labels is None else labels
    items = [
        f'<span style="display:inline-block;margin:0 .9em .2em 0;overflow-wrap:anywhere">'
        f'<span aria-hidden="true" style="color:{look.colour(a)}">●</span> '
        f"{esc(look.name(a))}</span>"
        for a in chosen
    ]
    return "".join(items)


# -- parts of the drawing ---------------------------------------------------------------------


def _on_paper(xy: FloatArray, size: int) -> tuple[FloatArray, int, int, float]:
    """Positions in pixels, width and height of the paper, radius of a node."""
    n = len(xy)
    low, extent = xy.min(axis=0), np.ptp(xy, axis=0)
    closest = _closest(xy)
    unit = max(float(extent.max()), 1.0)
    radius = float(np.clip(0.3 * closest * 0.8 * size / unit, size * 0.022, size * 0.055))
    margin = 1.25 * radius + 1
    scale = (size - 2 * margin) / max(float(extent[0]), 0.8 * float(extent[1]), 1.0 if n > 1 else 1)
    height = int(np.clip(scale * extent[1] + 2 * margin, 0.45 * size, 0.85 * size))
    if extent[1] > 0:
        scale = min(scale, (height - 2 * margin) / float(extent[1]))
    middle = low + extent / 2
    at = (xy - middle) * scale
    at = np.stack([at[:, 0] + size / 2, height / 2 - at[:, 1]], axis=1)
    return at, size, height, radius


def _closest(xy: FloatArray) -> float:
    if len(xy) < 2:
        return 1.0
    apart = np.linalg.norm(xy[:, None] - xy[None], axis=2)
    return float(np.min(apart[~np.eye(len(xy), dtype=bool)]))


def _edges(graph: Graph, at: FloatArray, radius: float) -> str:
    if not graph.n_edges:
        return ""
    edge_labels = graph.edge_labels
    layer = layer_numbers(graph) if graph.directed and is_layered(graph) else None
    lines, heads = [], []
    middle = float(at[:, 0].mean())
    for u, v in graph.edges():
        a, b = at[u], at[v]
        if graph.directed:
            bend = 0.0
            if layer is not None and layer[v] - layer[u] > 1:
                bend = 0.4 * (-1.0 if a[0] + b[0] > 2 * middle else 1.0)
            elif graph.adjacency[v, u]:
                bend = 0.15
            line, head = _arc(a, b, bend, radius)
            lines.append(line)
            heads.append(head)
            continue
        multiple = 1 if edge_labels is None else int(edge_labels[u, v])
        across = np.array([a[1] - b[1], b[0] - a[0]]) / max(math.dist(a, b), 1e-9)
        for k in range(multiple if multiple <= 3 else 1):
            shift = 0.45 * radius * (k - (multiple - 1) / 2) * across if multiple <= 3 else 0.0
            (x, y), (p, q) = a + shift, b + shift
            lines.append(f"M{x:.0f} {y:.0f}L{p:.0f} {q:.0f}")
    thick = max(1.0, radius * 0.16)
    out = (
        f'<path d="{"".join(lines)}" fill="none" stroke="currentColor" stroke-opacity=".55" '
        f'stroke-width="{thick:.1f}"/>'
    )
    if heads:
        out += f'<path d="{"".join(heads)}" fill="currentColor" fill-opacity=".75"/>'
    if edge_labels is not None and (graph.directed or edge_labels.max() > 3):
        out += _edge_texts(graph, at, radius)
    return out


def _arc(a: FloatArray, b: FloatArray, bend: float, radius: float) -> tuple[str, str]:
    """A line from a to b that stops at b's disc, bent to one side, and its arrow head."""
    along = b - a
    control = (a + b) / 2 + bend * np.array([-along[1], along[0]])
    way = b - control
    length = max(float(np.linalg.norm(way)), 1e-9)
    way = way / length
    tip = b - way * radius
    back = tip - way * radius * 0.9
    side = np.array([-way[1], way[0]]) * radius * 0.45
    points = [tip, back + side, back - side]
    head = "M" + "L".join(f"{x:.0f} {y:.0f}" for x, y in points) + "Z"
    line = f"M{a[0]:.0f} {a[1]:.0f}"
    if bend:
        line += f"Q{control[0]:.0f} {control[1]:.0f} {back[0]:.0f} {back[1]:.0f}"
    else:
        line += f"L{back[0]:.0f} {back[1]:.0f}"
    return line, head


def _edge_texts(graph: Graph, at: FloatArray, radius: float) -> str:
    edge_labels = graph.edge_labels
    assert edge_labels is not None
    out = []
    for u, v in graph.edges():
        x, y = 0.55 * at[u] + 0.45 * at[v]
        out.append(f'<text x="{x:.0f}" y="{y:.0f}">{int(edge_labels[u, v])}</text>')
    size = max(6.0, radius * 0.8)
    return (
        f'<g font-size="{size:.0f}" text-anchor="middle" fill="currentColor" '
        f'font-family="sans-serif">{"".join(out)}</g>'
    )


def _texts(graph: Graph, look: Look, at: FloatArray, radius: float) -> str:
    out = []
    for v, (x, y) in enumerate(at):
        label = int(graph.labels[v])
        ink = readable_on(look.colour(label))
        out.append(f'<text x="{x:.0f}" y="{y:.0f}" fill="{ink}">{esc(look.short(label))}</text>')
    return (
        f'<g font-size="{radius * 1.05:.1f}" text-anchor="middle" dominant-baseline="central" '
        f'font-family="sans-serif" aria-hidden="true">{"".join(out)}</g>'
    )


def _names(names: tuple[str, ...], at: FloatArray, width: int, radius: float) -> str:
    """The names of nodes across their discs, kept inside the picture."""
    out = []
    for name, (x, y) in zip(names, at, strict=True):
        side = "middle"
        if len(name) > 2 and not 0.15 * width < x < 0.85 * width:
            side = "start" if x < width / 2 else "end"
            x += -radius if side == "start" else radius
        out.append(
            f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{side}">{esc(shown(name, 12))}</text>'
        )
    return (
        f'<g font-size="{max(8.0, radius * 0.95):.1f}" dominant-baseline="central" fill="{_INK}" '
        'stroke="#fff" stroke-width="2.5" paint-order="stroke" font-family="sans-serif" '
        f'aria-hidden="true">{"".join(out)}</g>'
    )


def readable_on(colour: str) -> str:
    """White or dark, whichever can be read on a colour."""
    if not colour.startswith("#"):
        return "#fff"
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#fff" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else _INK


# -- molecules --------------------------------------------------------------------------------


def is_molecular(space: GraphSpace) -> bool:
    """Whether the graphs of a space are molecules: a rule of that package gives them valences."""
    return any(rule.package == "molecules" and _kind(rule) == "Valence" for rule in space.rules)


def _kind(rule: object) -> str:
    return type(rule).__name__


def _molecule_drawer(space: GraphSpace) -> Any:
    """The function that draws molecules, where there are any and RDKit is there."""
    if not is_molecular(space):
        return None
    try:
        return getattr(import_module("bogrape.molecules"), "draw", None)
    except ImportError:
        return None


def _drawer_of_graph(graph: Graph) -> Any:
    """The function that draws a graph which is a molecule of the elements it names."""
    if graph.label_names is None or graph.edge_labels is None:
        return None
    try:
        molecules = import_module("bogrape.molecules")
        molecules.to_mol(graph, graph.label_names)
    except (ImportError, BoGrapeError):
        return None
    return molecules.draw


def smiles_of(graph: Graph, look: Look) -> str:
    """The molecule as SMILES; empty for graphs that are none."""
    if look.molecules is None:
        return ""
    try:
        return str(import_module("bogrape.molecules").to_smiles(graph, look.label_names))
    except (BoGrapeError, ValueError, RuntimeError):
        return ""


def _molecule_svg(graph: Graph, look: Look, size: int) -> str | None:
    """The molecule as a chemist draws it, on white; ``None`` if it cannot be drawn."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "molecule.svg"
        try:
            look.molecules(graph, file, elements=look.label_names, size=size)
        except (BoGrapeError, ValueError, RuntimeError):
            return None
        text = file.read_text(encoding="utf-8")
    tall = re.search(r"height='(\d+)px'", text)
    height = int(tall[1]) if tall else size
    body = re.sub(r"<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    body = re.sub(r" class='[^']*'", "", body)
    body = " ".join(body[body.index(">") + 1 :].split())  # the root is written anew
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {height}" width="{size}" '
        f'height="{height}" role="img" aria-label="{esc(in_words(graph, look))}">{body}'
    )
