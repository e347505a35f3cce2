"""Programs as files: LP written here, CIP written by SCIP."""

from __future__ import annotations

import math
import re
from os import PathLike, fspath
from pathlib import Path

from ...errors import InvalidInputError, UnsupportedError
from .program import Program, Row


def write_program(program: Program, path: str | PathLike[str]) -> None:
    """Write a program for a bug report or another solver; the file extension picks the format.

    ``.lp`` is the common LP format (no exponential rows), written here; ``.cip`` is SCIP's.
    """
    ending = Path(fspath(path)).suffix.lower()
    if ending == ".cip":
        from .scip import write_cip

        write_cip(program, fspath(path))
    elif ending == ".lp":
        Path(fspath(path)).write_text(lp_text(program), encoding="ascii", errors="replace")
    else:
        raise InvalidInputError(f"expected a path ending in .lp or .cip, got {ending!r}")


def lp_text(program: Program) -> str:
    """The program in LP format; names lose the characters that the format forbids."""
    if program.exponentials:
        raise UnsupportedError(
            f"expected linear and quadratic rows, got {len(program.exponentials)} exponential "
            "ones, which the LP format lacks; try a path ending in .cip"
        )
    names = plain_names([variable.name for variable in program.variables])
    objective = _sum(names, program.objective.terms.items())
    if program.objective.constant:
        objective += f" {program.objective.constant:+.17g} one"
    lines = ["\\ written by bogrape", "Minimize", f" objective: {objective}", "Subject To"]
    rows = plain_names([row.name for row in program.rows])
    for name, row in zip(rows, program.rows, strict=True):
        lines += [f" {line}" for line in _row(name, row, names)]
    lines.append("Bounds")
    if program.objective.constant:
        lines.append(" one = 1")
    for name, variable in zip(names, program.variables, strict=True):
        lines.append(f" {_number(variable.low)} <= {name} <= {_number(variable.high)}")
    for section, kind in (("Binaries", "binary"), ("Generals", "integer")):
        chosen = [n for n, v in zip(names, program.variables, strict=True) if v.kind == kind]
        lines += [section, *(f" {name}" for name in chosen)] if chosen else []
    return "\n".join([*lines, "End", ""])


def plain_names(names: list[str]) -> list[str]:
    """Distinct names of letters, digits and underscores, none of which reads like a number."""
    out: list[str] = []
    seen: set[str] = set()
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:200] or "x"
        if plain[0].isdigit() or plain[0] in "eE":
            plain = f"x_{plain}"
        if plain in seen or plain == "one":
            plain = f"{plain}_{len(out)}_"
        seen.add(plain)
        out.append(plain)
    return out


def _row(name: str, row: Row, names: list[str]) -> list[str]:
    body = _sum(names, row.terms) or f"0 {names[0]}"
    if row.quadratic:
        squares = " ".join(
            f"{c:+.17g} {names[i]} ^2" if i == j else f"{c:+.17g} {names[i]} * {names[j]}"
            for i, j, c in row.quadratic
        )
        body = f"{body} + [ {squares.removeprefix('+')} ]"
    if row.low == row.high:
        return [f"{name}: {body} = {row.low:.17g}"]
    out = []
    if row.low > -math.inf:
        out.append(f"{name}_low: {body} >= {row.low:.17g}")
    if row.high < math.inf:
        out.append(f"{name}: {body} <= {row.high:.17g}")
    return out


def _sum(names: list[str], terms: object) -> str:
    return " ".join(f"{c:+.17g} {names[i]}" for i, c in terms)  # type: ignore[attr-defined]


def _number(bound: float) -> str:
    if math.isinf(bound):
        return "+inf" if bound > 0 else "-inf"
    return f"{bound:.17g}"
