"""A graph as a small SVG text: no matplotlib, no identifiers, no external resources.

Edges take the colour of the text around them, so a picture fits light and dark pages. A node is a
zero-length stroke with round ends, the shortest SVG for a disc, so that thousands
of pictures fit in one page.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..arrays import FloatArray
from ..constraints.words import with_article
from ..domain import DIRECTED_GRAPHS, GRAPHS, Domain, Nouns, find_domain
from ..errors import BoGrapeError
from ..graph import Graph
from ..space import GraphSpace
from .draw import MOST_DRAWN, PALETTE
from .embedded import embedded_svg
from .layout import is_layered, layer_numbers
from .placement import place
from .text import esc, plural, shown

_INK = "#1F2937"
_MOST_NAMED = 40  # nodes whose names are written into a picture


@dataclass(frozen=True, kw_only=True)
class Look:
    """How to show the graphs of one study: names of labels and nodes, and the domain."""

    label_names: tuple[str, ...] | None = None
    n_labels: int = 1
    domain: Domain | None = None
    node_names: tuple[str, ...] | None = None
    nouns: Nouns = GRAPHS
    drawn: bool = True  # use the drawing of the domain, if it has one
    problems: Counter[str] = field(default_factory=Counter, compare=False)  # failures of the domain

    @classmethod
    def of(cls, space: GraphSpace) -> Look:
        """The look of the graphs of a space."""
        return cls(
            label_names=space.label_names,
            n_labels=space.n_labels,
            domain=space.domain,
            node_names=space.nodes,
            nouns=space.nouns,
        )

    @classmethod
    def of_graph(cls, graph: Graph) -> Look:
        """The look of a single graph, from the label names and the domain it may store."""
        names, n_labels = graph.label_names, int(graph.labels.max(initial=0)) + 1
        nouns = DIRECTED_GRAPHS if graph.directed else GRAPHS
        if graph.domain is None:
            return cls(label_names=names, n_labels=n_labels, nouns=nouns)
        try:
            domain = find_domain(graph.domain)
        except BoGrapeError as error:
            problems = Counter([str(error)])
            return cls(label_names=names, n_labels=n_labels, nouns=nouns, problems=problems)
        return cls(label_names=names, n_labels=n_labels, domain=domain, nouns=domain.nouns)

    @property
    def draws(self) -> bool:
        """True if the domain draws the graphs and has not failed so far."""
        return self.drawn and self.domain is not None and self.domain.draw is not None

    @property
    def text_name(self) -> str | None:
        """Name of the text format of graphs, e.g. ``SMILES``; ``None`` without one."""
        return None if self.domain is None or self.domain.text is None else self.domain.text.name

    def text(self, graph: Graph) -> str:
        """The text of a graph; empty if there is none."""
        if self.domain is None or self.domain.text is None:
            return ""
        try:
            return str(self.domain.text.write(graph))
        except Exception as error:  # the domain may be the user's code
            self._note(f"Without {self.domain.text.name}, which could not be written", error)
            return ""

    def drawing(self, graph: Graph, size: int) -> str | None:
        """The drawing of the domain as an HTML element; ``None`` if there is none."""
        if self.domain is None or self.domain.draw is None or not self.drawn:
            return None
        try:
            return embedded_svg(self.domain.draw(graph, size), size, in_words(graph, self))
        except Exception as error:  # the domain may be the user's code
            self._note("Drawn as plain graphs, because the drawing failed", error)
            return None

    def _note(self, what: str, error: Exception) -> None:
        self.problems[shown(f"{what}: {type(error).__name__}: {error}")] += 1

    def problems_html(self) -> str:
        """A note about parts of the domain that failed; empty if none has."""
        lines = [f"{what} ({plural(n, 'time')})." for what, n in self.problems.items()]
        return "".join(f'<p class="note">{esc(line)}</p>' for line in lines)

    def name(self, label: int) -> str:
        """Name of a label, in one short line."""
        if self.label_names is not None and label < len(self.label_names):
            return shown(self.label_names[label], 24) or f"label {label}"
        return f"label {label}"

    def node_with(self, m: int) -> str:
        """A node that has feature m, e.g. ``an atom with 2 hydrogens``."""
        phrases = () if self.domain is None else self.domain.feature_phrases
        phrase = phrases[m] if m < len(phrases) else f"with feature {m}"
        return f"{with_article(self.nouns.node)} {shown(phrase, 60)}"

    def edge_with(self, label: int) -> str:
        """An edge that has a label, e.g. ``a double bond``."""
        names = () if self.domain is None else self.domain.edge_label_names
        if label <= len(names):
            return with_article(shown(names[label - 1], 60))
        return f"{with_article(self.nouns.edge)} labelled {label}"

    def short(self, label: int) -> str:
        """Text inside a node: a short name, else its first letter, else the number."""
        if self.label_names is not None and label < len(self.label_names):
            name = shown(self.label_names[label], 24)
            return name if len(name) <= 2 else name[:1]
        return str(label)

    def colour(self, label: int) -> str:
        """Colour of a label, the same in every picture."""
        return colour_of(label, max(self.n_labels, label + 1))


def colour_of(label: int, n_labels: int) -> str:
    """A colour of the palette, or of evenly spaced hues if there are more labels than colours."""
    if n_labels <= len(PALETTE):
        return PALETTE[label]
    hue = (label * 360.0 / n_labels) % 360.0
    return f"hsl({hue:.0f},65%,{45 + 12 * (label % 2)}%)"


def graph_html(
    graph: Graph,
    look: Look | None = None,
    *,
    size: int = 220,
    text: bool = True,
    xy: FloatArray | None = None,
) -> str:
    """The graph as drawn by its domain, or by `graph_svg` if there is no domain or it fails."""
    look = look or Look.of_graph(graph)
    drawn = look.drawing(graph, size) if graph.n_nodes <= MOST_DRAWN else None
    return graph_svg(graph, look, size=size, text=text, xy=xy) if drawn is None else drawn


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
        xy: positions of the nodes, if already known.

    A graph with more than 200 nodes is described in words instead.
    """
    look = look or Look.of_graph(graph)
    if graph.n_nodes > MOST_DRAWN:
        return _description(graph, look, size)
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
    """Numbers of nodes and edges in a frame, for a graph too large to draw."""
    height = round(0.45 * size)
    lines = (*sizes_in_words(graph, look.nouns), "too large to draw")
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
    """Description of the picture for screen readers."""
    look = look or Look.of_graph(graph)
    words = f"{look.nouns.graph} with {' and '.join(sizes_in_words(graph, look.nouns))}"
    if look.n_labels > 1:
        labels, numbers = np.unique(graph.labels, return_counts=True)
        named = [f"{n} × {look.name(a)}" for a, n in zip(labels.tolist(), numbers, strict=True)]
        words += f"; labels: {', '.join(named)}"
    return words


def sizes_in_words(graph: Graph, nouns: Nouns = GRAPHS) -> tuple[str, str]:
    """``5 nodes`` and ``4 edges``."""
    n, m = graph.n_nodes, graph.n_edges
    return plural(n, nouns.node, nouns.nodes), plural(m, nouns.edge, nouns.edges)


def legend_html(look: Look, labels: Sequence[int] | None = None) -> str:
    """Colours and names of labels, as a line of HTML; empty for graphs without labels.

    Also empty if the domain draws all graphs, since its drawings do not use these colours.
    """
    if look.n_labels <= 1 or (look.draws and not look.problems):
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
    """White or dark, whichever is readable on this colour."""
    if not colour.startswith("#"):
        return "#fff"
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "#fff" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else _INK
