"""Spaces, settings and rules from forms in the words of a chemist or an engineer.

Every field is text; an empty one is ignored. Problems are reported field by field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, final

from ..constraints import (
    CycleRange,
    DegreeRange,
    ForbiddenAdjacency,
    ForbiddenEdge,
    LabelCount,
    NumberOfEdges,
    RequiredEdge,
    Rule,
)
from ..errors import BoGrapeError, InvalidInputError
from ..space import GraphSpace
from ..storage.protocol import check_name
from ..study import StudySettings
from .errors import Refused

T = TypeVar("T")
_MOST_LINES = 40
_LONGEST_LINE = 300  # characters; longer patterns are slow


FIELD_NAMES = {  # names for people, where the name of the field is not clear enough
    "apart": "never neighbours",
    "counts": "numbers of labels",
    "degree_max": "maximum degree",
    "edges_min": "number of edges",
    "edges_max": "number of edges",
    "forbidden": "must not contain",
    "hetero_max": "heteroatoms",
    "n_initial": "evaluations before the model proposes",
    "n_min": "smallest size",
    "n_max": "largest size",
    "required": "must contain",
    "ring_size_max": "largest ring",
    "rings_max": "number of rings",
    "time_limit": "seconds",
    "weight_max": "weight",
}


class _SaidAlready(Exception):
    """Problems are already reported for single fields."""


@final
@dataclass
class Form:
    """The fields of a form, and their problems."""

    fields: Mapping[str, str]
    problems: list[tuple[str, str]] = field(default_factory=list)

    def text(self, name: str) -> str:
        """A field without the spaces around it."""
        return self.fields.get(name, "").strip()

    def is_on(self, name: str) -> bool:
        """True if a box is ticked."""
        return self.text(name) not in ("", "0", "off", "no")

    def lines(self, name: str) -> list[str]:
        """The lines of a field."""
        found = [line.strip() for line in self.text(name).splitlines() if line.strip()]
        if len(found) > _MOST_LINES:
            self.problems.append((name, f"expected at most {_MOST_LINES} lines"))
        if any(len(line) > _LONGEST_LINE for line in found):
            self.problems.append((name, f"expected at most {_LONGEST_LINE} characters in a line"))
            return []
        return found[:_MOST_LINES]

    def number(self, name: str) -> float | None:
        """A finite number, or ``None``."""
        given = self.text(name)
        try:
            found = float(given) if given else None
        except ValueError:
            found = math.nan
        if found is not None and not math.isfinite(found):
            self.problems.append((name, f"expected a number, got {given!r:.40}"))
            return None
        return found

    def whole(self, name: str) -> int | None:
        """A whole number of moderate size, or ``None``."""
        found = self.number(name)
        if found is not None and (found != int(found) or abs(found) > 1e9):
            self.problems.append((name, f"expected a whole number, got {self.text(name)!r:.40}"))
            return None
        return None if found is None else int(found)

    def tried(self, name: str, make: Callable[[], T]) -> T | None:
        """The object made from a field, or ``None`` with the problem noted."""
        try:
            return make()
        except _SaidAlready:
            return None
        except BoGrapeError as error:
            self.problems.append((name, str(error)))
        except (TypeError, ValueError, RecursionError) as error:
            self.problems.append((name, f"cannot be understood: {str(error)[:200]}"))
        return None

    def refuse(self) -> None:
        """Raise if anything is wrong."""
        if self.problems:
            known = ((FIELD_NAMES.get(name, name), text) for name, text in self.problems)
            said = "; ".join(f"{name}: {text}" if name else text for name, text in known)
            raise Refused(said, 422)


def study_of(fields: Mapping[str, str]) -> tuple[str, StudySettings]:
    """Name and settings of the study that a form describes."""
    form = Form(fields)
    name = form.tried("name", lambda: check_name(form.text("name")))
    space = space_of(form)
    settings = None if space is None else settings_of(form, space)
    form.refuse()
    assert name is not None
    assert settings is not None
    return name, settings


def settings_of(form: Form, space: GraphSpace) -> StudySettings | None:
    """The settings that a form describes, with its problems noted."""
    chosen: dict[str, Any] = {"direction": form.text("direction") or "minimize"}
    if wishes := _wishes(form):
        chosen = {"properties": wishes}
    for name in ("n_initial", "seed", "retries"):
        if (found := form.whole(name)) is not None:
            chosen[name] = found
    if (limit := form.number("time_limit")) is not None:
        chosen["time_limit"] = limit
    if form.is_on("replicates"):
        chosen["replicates"] = True
    return form.tried("", lambda: StudySettings(space=space, **chosen))


def _wishes(form: Form) -> dict[str, str]:
    """Lines such as ``yield largest``: several properties, each with its direction."""
    words = {"largest": "maximize", "smallest": "minimize"}
    found: dict[str, str] = {}
    for line in form.lines("properties"):
        name, _, wish = line.rpartition(" ")
        name = name.strip(" ,;:")
        if not name or wish not in words:
            form.problems.append(
                ("properties", f"expected a name, then largest or smallest, got {line!r:.40}")
            )
        elif name in found:
            form.problems.append(("properties", f"{name!r:.40} comes twice"))
        else:
            found[name] = words[wish]
    if len(found) == 1 and not form.problems:
        form.problems.append(("properties", "expected two or more; leave it empty for one"))
    return found


def space_of(form: Form) -> GraphSpace | None:
    """The space that a form describes, with its problems noted."""
    if form.text("kind") == "molecules":
        return form.tried("", lambda: _molecules(form))
    return form.tried("", lambda: _graphs(form))


def _sizes(form: Form, least: int) -> int | tuple[int, int]:
    low, high = form.whole("n_min"), form.whole("n_max")
    if low is None and high is None:
        raise InvalidInputError("expected a smallest and a largest size, or one of them")
    low = high if low is None else low
    high = low if high is None else high
    assert low is not None
    assert high is not None
    if not least <= low <= high:
        raise InvalidInputError(f"expected sizes of at least {least}, the smallest first")
    return low if low == high else (low, high)


def _molecules(form: Form) -> GraphSpace:
    from .. import molecules

    sizes = form.tried("n_min", partial(_sizes, form, 2))
    given = form.text("elements") or "C, N, O"
    elements: Any = given
    if given.lower() in ("qm7", "qm9", "organic"):
        elements = given.lower()
    else:
        elements = tuple(dict.fromkeys(re.split(r"[,;\s]+", given.strip(" ,;"))))
    rules: list[Rule] = []

    def add(name: str, make: Callable[[], Rule]) -> None:
        rule = form.tried(name, make)
        if rule is not None:
            rules.append(rule)

    if base := form.text("scaffold"):
        keep = form.is_on("keep_rings")
        add("scaffold", lambda: molecules.scaffold(base, keep_rings=keep))
    for pattern in form.lines("required"):
        add("required", partial(molecules.RequiredSubstructure, pattern))
    for pattern in form.lines("forbidden"):
        add("forbidden", partial(molecules.ForbiddenSubstructure, pattern))
    if (rings := form.whole("rings_max")) is not None:
        add("rings_max", lambda: CycleRange(maximum=rings))
    if (size := form.whole("ring_size_max")) is not None:
        add("ring_size_max", lambda: molecules.LargestRing(size))
    if (hetero := form.whole("hetero_max")) is not None:
        add("hetero_max", lambda: molecules.HeteroatomCount(maximum=hetero))
    if (weight := form.number("weight_max")) is not None:
        add("weight_max", lambda: molecules.MolecularWeight(maximum=weight))
    if form.is_on("neutral"):
        add("neutral", molecules.NetCharge)
    rules += _counts(form)
    if form.problems or sizes is None:
        raise _SaidAlready
    return molecules.molecule_space(elements, sizes, rules, False, aromatic=form.is_on("aromatic"))


def _graphs(form: Form) -> GraphSpace:
    sizes = form.tried("n_min", partial(_sizes, form, 1))
    given = form.text("labels")
    labels: Any = None
    if given.isdecimal() and len(given) < 6:
        labels = int(given)
    elif given:
        labels = tuple(part.strip() for part in given.split(",") if part.strip())
    rules: list[Rule] = []
    if (degree := form.whole("degree_max")) is not None:
        rules.append(DegreeRange(maximum=degree))
    rules += _numbers_of_edges(form)
    if (cycles := form.whole("rings_max")) is not None:
        rules.append(CycleRange(maximum=cycles))
    rules += _apart(form)
    rules += _counts(form)
    if form.problems or sizes is None:
        raise _SaidAlready
    connected = form.text("connected") != "no"
    return GraphSpace(
        sizes,
        labels=labels,
        directed=form.is_on("directed"),
        connected=connected,
        acyclic=form.is_on("acyclic"),
        rules=tuple(rules),
    )


def _numbers_of_edges(form: Form) -> list[Rule]:
    low, high = form.whole("edges_min"), form.whole("edges_max")
    if low is None and high is None:
        return []
    rule = form.tried("edges_min", lambda: NumberOfEdges(minimum=low or 0, maximum=high))
    return [] if rule is None else [rule]


def _apart(form: Form) -> list[Rule]:
    """Lines such as ``switch router``: labels of nodes that are never neighbours."""
    rules: list[Rule] = []
    for line in form.lines("apart"):
        pair = [part.strip() for part in re.split(r"[,\s]+", line)]
        if len(pair) != 2:
            form.problems.append(("apart", f"expected two labels, got {line!r:.40}"))
        else:
            rules.append(ForbiddenAdjacency(pair[0], pair[1]))
    return rules


def _counts(form: Form) -> list[Rule]:
    """Lines such as ``O 1 2``: at least one and at most two nodes with the label O."""
    rules: list[Rule] = []
    for line in form.lines("counts"):
        match = re.fullmatch(r"(\S{1,40})\s+(\d{1,4}|-)\s+(\d{1,4}|-)", line)
        if match is None:
            form.problems.append(
                (
                    "counts",
                    f"expected a label, the least and the most (- for any), got {line!r:.40}",
                )
            )
            continue
        label, low, high = match.groups()
        least, most = 0 if low == "-" else int(low), None if high == "-" else int(high)
        if most is not None and least > most:
            form.problems.append(("counts", f"{label}: at least {least} and at most {most}"))
            continue
        rule = form.tried("counts", partial(LabelCount, label, least, most))
        if rule is not None:
            rules.append(rule)
    return rules


# -- pins and bans for the next suggestions ---------------------------------------------------


def rules_of(fields: Mapping[str, str], space: GraphSpace) -> list[dict[str, Any]]:
    """Rules for the next suggestions only, as plain data."""
    form = Form(fields)
    rules = _counts(form)
    if space.domain is not None and space.domain.name == "molecules":
        from .. import molecules

        kinds: Any = (
            ("required", molecules.RequiredSubstructure),
            ("forbidden", molecules.ForbiddenSubstructure),
        )
        for name, kind in kinds:
            for pattern in form.lines(name):
                rule = form.tried(name, partial(kind, pattern))
                if rule is not None:
                    rules.append(rule)
    else:
        rules += [*_apart(form), *_numbers_of_edges(form)]
    if space.nodes is not None:
        for name, kind in (("required", RequiredEdge), ("forbidden", ForbiddenEdge)):
            for line in form.lines(name):
                pair = re.split(r"\s*,\s*|\s+", line)
                if len(pair) != 2:
                    form.problems.append((name, f"expected two names, got {line!r:.40}"))
                else:
                    rules.append(kind(pair[0], pair[1]))
    form.refuse()
    return [rule.to_dict() for rule in rules]
