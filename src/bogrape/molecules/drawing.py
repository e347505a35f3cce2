"""Pictures of molecules: one, or a grid with values, as PNG or SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from rdkit.Chem import rdCoordGen, rdDepictor

from ..errors import InvalidInputError, UnsupportedError
from ..graph import Graph
from .elements import Elements
from .smiles import read_smiles, to_mol

_MOST = 200  # molecules in a picture


def draw(
    molecules: Graph | str | Sequence[Graph | str],
    path: str | Path | None = None,
    *,
    elements: Elements | None = None,
    values: float | Sequence[float] | None = None,
    columns: int = 4,
    size: int = 240,
) -> bytes:
    """Draw one molecule or a grid of them.

    Args:
        molecules: graphs or SMILES texts, one or several.
        path: a file to write, ``.png`` or ``.svg``; without one, PNG.
        elements: what the labels of graphs stand for; by default as in `to_smiles`.
        values: one per molecule, written below it.
        columns: molecules in a row.
        size: width of one molecule in pixels; its height is four fifths of that.

    Returns:
        The contents of the picture file.

    >>> draw(["CCO", "CC=O"], values=[1.25, 3])[1:4]
    b'PNG'
    """
    single = isinstance(molecules, (Graph, str))
    given: list[Any] = [molecules] if single else list(molecules)  # type: ignore[arg-type]
    if not 1 <= len(given) <= _MOST:
        raise InvalidInputError(f"expected 1 to {_MOST} molecules to draw, got {len(given)}")
    for name, number in (("columns", columns), ("size", size)):
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 4000:
            raise InvalidInputError(f"expected {name} to be an integer 1..4000, got {number!r:.60}")
    legends = _legends(values, len(given))
    mols = [read_smiles(m) if isinstance(m, str) else to_mol(m, elements) for m in given]
    kind = ".png" if path is None else Path(path).suffix.lower()
    if kind not in (".png", ".svg"):
        raise InvalidInputError(f"expected a file ending in .png or .svg, got {str(path)!r:.100}")
    picture = _picture(mols, legends, kind, columns, size)
    if path is not None:
        Path(path).write_bytes(picture)
    return picture


def svg(molecule: Graph, width: int) -> str:
    """The drawing of one molecule as an SVG text, without RDKit's own metadata."""
    text = _picture([to_mol(molecule)], [""], ".svg", 1, width).decode("utf-8")
    text = re.sub(r"<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"\s(?:class|xmlns:rdkit)='[^']*'", "", text)
    return " ".join(text.split())


def _picture(
    mols: Sequence[Any], legends: Sequence[str], kind: str, columns: int, size: int
) -> bytes:
    for mol in mols:
        rdCoordGen.AddCoords(mol)
        rdDepictor.NormalizeDepiction(mol, scaleFactor=1.5)  # wide rather than tall
        rdDepictor.StraightenDepiction(mol)
    across = min(columns, len(mols))
    down = -(-len(mols) // across)
    drawing = _drawing()
    make = drawing.MolDraw2DCairo if kind == ".png" else drawing.MolDraw2DSVG
    high = max(1, round(0.8 * size))
    canvas = make(across * size, down * high, size, high)
    options: Any = canvas.drawOptions()
    options.legendFontSize = options.maxFontSize = max(12, size // 15)
    options.legendFraction = 0.12
    options.fixedBondLength = size / 8  # one scale for all molecules that fit
    options.padding = 0.06
    options.bondLineWidth = max(1.0, size / 160)
    canvas.DrawMolecules(mols, legends=legends)
    canvas.FinishDrawing()
    text = canvas.GetDrawingText()
    return text.encode("utf-8") if isinstance(text, str) else bytes(text)


def _drawing() -> Any:
    """The part of RDKit that draws; it needs graphics libraries that some servers do not have."""
    try:
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError as error:
        raise UnsupportedError(
            f"expected RDKit to be able to draw, got {error}; install that library, on Debian and "
            "Ubuntu with: apt-get install libxrender1 libxext6"
        ) from error
    return rdMolDraw2D


def _legends(values: float | Sequence[float] | None, n: int) -> list[str]:
    if values is None:
        return [""] * n
    numbers = [values] if isinstance(values, (int, float)) else list(values)
    if len(numbers) != n:
        raise InvalidInputError(f"expected one value per molecule, got {len(numbers)} for {n}")
    return [f"{number:.4g}" if isfinite(number) else str(number) for number in numbers]
