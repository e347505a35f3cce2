"""Safe embedding of SVG texts of unknown origin in a page.

The text becomes an image, in which browsers run no script and load nothing from outside.
"""

from __future__ import annotations

import re
from urllib.parse import quote
from xml.etree import ElementTree

from .text import esc

_MOST_CHARACTERS = 2_000_000
_SAFE = " '()*,/:;=!@$+"  # need no escape in a URL between double quotes; shorter than base64
_TALLEST = 4.0  # heights per width


def embedded_svg(svg: object, width: int, words: str) -> str:
    """An ``<img>`` element of this width, with these words as alternative text.

    Raises ``ValueError`` for anything but a well-formed SVG text without a document type.
    """
    if not isinstance(svg, str) or len(svg) > _MOST_CHARACTERS:
        raise ValueError(f"expected an SVG string of moderate length, got a {type(svg).__name__}")
    if "<!DOCTYPE" in svg or "<!ENTITY" in svg:
        raise ValueError("expected an SVG string without a document type")
    text = re.sub(r"^\s*<\?xml.*?\?>", "", svg)  # it would name the encoding of a file
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ValueError(f"expected a well-formed SVG string: {error}") from None
    if root.tag != "{http://www.w3.org/2000/svg}svg":
        raise ValueError(
            f'expected an element <svg xmlns="http://www.w3.org/2000/svg">, got {root.tag!r:.100}'
        )
    data = quote(text, safe=_SAFE, errors="replace")
    height = round(width * min(_shape(root), _TALLEST))
    return (
        f'<img src="data:image/svg+xml,{data}" width="{width}" height="{height}" '
        f'alt="{esc(words)}"/>'
    )


def _shape(root: ElementTree.Element) -> float:
    """Height over width of a drawing; four fifths if it does not say."""
    box = root.get("viewBox", "").replace(",", " ").split()
    sides = box[2:] if len(box) == 4 else [root.get("width", ""), root.get("height", "")]
    try:
        across, down = (float(side.strip().removesuffix("px")) for side in sides)
    except ValueError:
        return 0.8
    return down / across if across > 0 and down > 0 else 0.8
