"""Cheap proof that some rules cannot hold together: bound propagation over their rows.

Every row ``low <= sum c*x <= high`` over 0/1 atoms bounds its sum by the atoms that are already
decided. If the bounds miss ``low..high``, the rules that decided those atoms contradict the rule of
the row; if one value of an atom would make them miss, the atom is decided the other way. Rows over
equal sums are also compared with each other. Every conflict found is a contradiction; there may be
others, which only the exact engine can prove.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations, islice
from math import ceil, floor, gcd, inf

from ..constraints import LabelCount, Rule
from ..constraints.rows import (
    Atom,
    Edge,
    HasLabel,
    Row,
    Shape,
    Within,
    bounded,
    edge,
    total,
)

Reasons = frozenset[str]
_MOST_ROWS = 5_000  # of one rule; rules with more are left out, so that this stays cheap
_ROUNDS = 10  # each round decides further atoms; contradictions in practice need two or three


@dataclass
class Known:
    """Consequences of some rules for all graphs of one shape."""

    value: dict[Atom, bool] = field(default_factory=dict)  # atoms that can have one value only
    why: dict[Atom, Reasons] = field(default_factory=dict)  # the rules that decided them
    conflict: Reasons | None = None  # rules that cannot hold together, if some were found
    n_edges: tuple[float, float] = (0, inf)  # bounds that rows put on the number of edges


def propagate(rules: Iterable[Rule], shape: Shape, strong: bool) -> Known:
    """Consequences of all rules together, and any obvious contradiction."""
    rules = tuple(rules)
    rows: list[tuple[Row, Reasons]] = []
    for rule in rules:
        own = list(islice(rule.rows(shape), _MOST_ROWS + 1))
        if len(own) <= _MOST_ROWS:
            why = frozenset({rule.name})
            rows += [(row, why) for row in own + _summed(own)]
    used = {atom for row, _ in rows for atom, _ in (*row.terms, *row.when)}
    rows += [(row, frozenset({name})) for name, row in _structure(shape, strong, used)]
    known = Known(
        conflict=_disjoint_ranges(rows) or _label_counts(rules, shape),
        n_edges=_edge_range(rows, shape),
    )
    for _ in range(_ROUNDS):
        before = len(known.value)
        for row, why in rows:
            known.conflict = known.conflict or _decide(row, why, known)
        if known.conflict is not None:
            known.conflict -= {""}
            break
        if len(known.value) == before:
            break
    return known


def _structure(shape: Shape, strong: bool, used: set[Atom]) -> list[tuple[str, Row]]:
    """Rows that every graph of the shape satisfies; the name "" keeps a row out of messages.

    Only rows with one of the atoms in ``used``, those in rows of rules: there are as many rows as
    pairs of nodes, and without a rule they decide nothing of interest.
    """
    n = shape.n_nodes
    out: list[tuple[str, Row]] = []
    for v in sorted({atom.v for atom in used if isinstance(atom, HasLabel)} & set(range(n))):
        terms = total(HasLabel(v, label) for label in range(shape.n_labels))
        out.append(("", Row("one label per node", terms, 1, 1)))
    if not shape.connected or n == 1:
        return out
    name, least = ("connected='strong'", n) if strong else ("connected=True", n - 1)
    edges = total(Edge(u, v) for u, v in shape.pairs())
    out += [(name, row) for row in bounded("edges", edges, least, None)]
    for v in sorted({v for a in used if isinstance(a, Edge) for v in (a.u, a.v)} & set(range(n))):
        around = {edge(v, u, shape.directed) for u in range(n) if u != v}
        around |= {edge(u, v, shape.directed) for u in range(n) if u != v}
        out.append((name, Row("touches another node", total(around), low=1)))
    if n > 2 and (strong or not shape.directed):
        paths = {atom for atom in used if isinstance(atom, Within) and atom.s == n - 1}
        for atom in sorted(paths, key=lambda atom: (atom.u, atom.v)):
            out.append((name, Row("path", total([atom]), 1)))
    return out


def _summed(rows: list[Row]) -> list[Row]:
    """The sum of a rule's rows, divided by the gcd of its weights: degrees add up to edges."""
    if len(rows) < 2 or any(row.when for row in rows):
        return []
    weights: Counter[Atom] = Counter()
    low, high = 0.0, 0.0
    for row in rows:
        weights.update(dict(row.terms))
        low += max(row.low, sum(min(c, 0) for _, c in row.terms))
        high += min(row.high, sum(max(c, 0) for _, c in row.terms))
    shared = gcd(*weights.values()) or 1
    terms = tuple((atom, c // shared) for atom, c in weights.items())
    return [Row("sum of its rows", terms, ceil(low / shared), floor(high / shared))]


def _label_counts(rules: tuple[Rule, ...], shape: Shape) -> Reasons | None:
    """Rules whose label counts need more nodes than there are, or leave some without a label."""
    low: dict[int, int] = dict.fromkeys(range(shape.n_labels), 0)
    high: dict[int, int] = {}
    why: dict[bool, set[str]] = {True: set(), False: set()}
    for rule in rules:
        if isinstance(rule, LabelCount):
            label = rule.index(rule.label)
            if rule.minimum > low[label]:
                low[label] = rule.minimum
                why[True].add(rule.name)
            if rule.maximum is not None:
                high[label] = min(rule.maximum, high.get(label, rule.maximum))
                why[False].add(rule.name)
    if sum(low.values()) > shape.n_nodes:
        return frozenset(why[True])
    if len(high) == shape.n_labels and sum(high.values()) < shape.n_nodes:
        return frozenset(why[False])
    return None


def _edge_range(rows: list[tuple[Row, Reasons]], shape: Shape) -> tuple[float, float]:
    """The bounds that rows put on the number of edges."""
    edges = total(Edge(u, v) for u, v in shape.pairs())
    whole = frozenset(edges)
    full = (row for row, _ in rows if not row.when and len(row.terms) == len(edges))
    same = [row for row in full if whole == frozenset(row.terms)]
    low = max((row.low for row in same), default=0)
    return max(low, 0), min([row.high for row in same] + [len(edges)])


def _disjoint_ranges(rows: list[tuple[Row, Reasons]]) -> Reasons | None:
    """Rules with an empty range, or with disjoint ranges for the same sum."""
    groups: dict[frozenset[tuple[Atom, int]], list[tuple[Row, Reasons]]] = defaultdict(list)
    for row, why in rows:
        if not row.when:
            if row.low > row.high:
                return why
            groups[frozenset(row.terms)].append((row, why))
    for group in groups.values():
        for (a, why_a), (b, why_b) in combinations(group, 2):
            if max(a.low, b.low) > min(a.high, b.high):
                return why_a | why_b
    return None


def _decide(row: Row, why: Reasons, known: Known) -> Reasons | None:
    """Record the atoms that this row decides; return the reasons if it cannot be satisfied."""
    for atom, wanted in row.when:
        if known.value.get(atom) is not wanted:
            return None
        why = why | known.why[atom]
    least, most, free = 0, 0, []
    for atom, c in row.terms:
        if atom in known.value:
            least += c * known.value[atom]
            most += c * known.value[atom]
        else:
            least += min(c, 0)
            most += max(c, 0)
            free.append((atom, c))
    if least <= row.high and most >= row.low and not _decides(row, least, most, free):
        return None
    for atom, _ in row.terms:
        why = why | known.why.get(atom, frozenset())
    if least > row.high or most < row.low:
        return why
    for atom, c in free:
        if least + abs(c) > row.high:
            known.value[atom], known.why[atom] = c < 0, why
        elif most - abs(c) < row.low:
            known.value[atom], known.why[atom] = c > 0, why
    return None


def _decides(row: Row, least: float, most: float, free: list[tuple[Atom, int]]) -> bool:
    if row.high == inf and row.low == -inf:
        return False
    step = max((abs(c) for _, c in free), default=0)
    return bool(free) and (least + step > row.high or most - step < row.low)
