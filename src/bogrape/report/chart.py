"""`Chart`: a matplotlib figure with a description, and the style that all figures share.

A chart becomes a file, or an SVG element of a page that takes the colours of the page around it.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ..arrays import FloatArray
from .draw import PALETTE, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, LINE, SHADE, PAPER = "#1F2937", "#6B7280", "#E5E7EB", "#F3F4F6", "#FFFFFF"
BLUE, ORANGE, GREEN, RED = PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[5]
# Colours that follow the page a figure is part of, light or dark.
THEMED = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    SHADE: "var(--shade)",
    PAPER: "var(--card)",
    BLUE: "var(--blue)",
}
WIDTH, HEIGHT = 4.8, 3.2  # inches: small, so that text stays readable on a phone
_HUGE = 1e100
MANY = 300  # points beyond which marks become small and faint


@final
@dataclass(frozen=True)
class Chart:
    """A figure and its description. Notebooks show it; ``chart.figure`` is matplotlib's."""

    title: str
    words: str
    figure: Figure

    def save(self, path: str | Path) -> None:
        """Write the figure as PNG, SVG or PDF, chosen by the file extension."""
        save(self.figure, Path(path))

    def svg(self, *, prefix: str = "chart", themed: bool = False) -> str:
        """The figure as an SVG element; ``themed`` takes its colours from the page around it."""
        import matplotlib

        settings: Any = {
            "svg.fonttype": "none",
            "svg.hashsalt": prefix,
            "font.family": "sans-serif",
        }
        out = io.StringIO()
        with warnings.catch_warnings(), matplotlib.rc_context(settings):
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            self.figure.savefig(
                out,
                format="svg",
                transparent=themed,
                metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
            )
        return _embedded(out.getvalue(), prefix, themed)

    def _repr_svg_(self) -> str:
        return self.svg()


def _embedded(text: str, prefix: str, themed: bool) -> str:
    """The SVG as an element of a page: no file header or style sheet, and unique identifiers."""
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # Its style sheet would apply to the whole page; elements inherit the same from their root.
    text = re.sub(r"<style[^>]*>.*?</style>", "", text, flags=re.DOTALL)
    text = text.replace("<svg", '<svg stroke-linejoin="round"', 1)
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    text = re.sub(
        r' id="([^"]+)"', lambda m: f' id="{prefix}-{m[1]}"' if m[1] in used else "", text
    )
    text = re.sub(r'(url\(#|href="#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"font: ([^;\"]*?)'[^\"]*?(?=[;\"])", r"font: \1sans-serif", text)
    if themed:
        for colour, variable in THEMED.items():
            text = re.sub(f"{colour}(?![0-9a-fA-F])", variable, text, flags=re.IGNORECASE)
    return text.strip()


def drawing_unit(*values: FloatArray) -> tuple[float, str]:
    """Unit by which plotted values are divided, and its text for the axis.

    Axes cannot hold numbers near the largest float: their margins would lie beyond it.
    """
    top = max((float(np.nanmax(np.abs(v), initial=0.0)) for v in values), default=0.0)
    if top <= _HUGE:
        return 1.0, ""
    power = math.floor(math.log10(top))
    return 10.0**power, f" / 1e{power}"


def new_axes() -> tuple[Figure, Axes]:
    """A small figure with one pair of axes."""
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.add_subplot()
    clean(axes)
    return figure, axes


def clean(axes: Axes) -> None:
    """Remove the frame; draw faint horizontal lines and muted ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)
    axes.tick_params(colors=MUTED, labelcolor=INK, labelsize=9)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    axes.grid(axis="y", color=LINE, linewidth=0.8)
    axes.set_axisbelow(True)


def add_legend(axes: Axes, *, below: bool = True) -> None:
    """Add a legend below the axes, or above them."""
    place: dict[str, Any] = (
        {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17)}
        if below
        else {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    )
    n = len(axes.get_legend_handles_labels()[0])
    columns = n if n <= 3 else 2  # four in a row would not fit
    legend = axes.legend(frameon=False, fontsize=9, ncols=columns, handletextpad=0.4, **place)
    for text in legend.get_texts():
        text.set_color(INK)


def mark_size(n: int) -> tuple[float, float]:
    """Size and opacity of n dots."""
    return (26.0, 0.75) if n <= 60 else (16.0, 0.6) if n <= MANY else (7.0, 0.4)
