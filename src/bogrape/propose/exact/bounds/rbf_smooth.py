"""Combinations of sums and tables that may be below a limit, if the kernel ``rbf`` is smooth.

The result is that of `rbf_candidates`, which bounds unknown factors of the kernel by one. Here they
are expanded around the middle of their ranges (`rbf_expansion`), first for sums over nodes with all
tables, then for sums with one table of edges, then for sums with all tables, on all paths.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....arrays import IntArray
from ..skeletons.edge_tables import further_tables
from .rbf_candidates import Candidates, Found, SumsOfNodes, chunks
from .rbf_expansion import WIDEST
from .rbf_unknowns import Tables, Unknowns

_ROWS = 20_000  # tested together


def is_smooth(unknowns: Unknowns, sums: SumsOfNodes, most: IntArray) -> bool:
    """True if expansions are of use for most sums, once the table of edges is known."""
    edges = _edges(unknowns.high[0], unknowns.high[0], sums)
    tables, _ = Tables.between(*edges, sums.further, most)
    if not len(tables.edges):
        return True
    _, around = unknowns.with_tables(tables)
    return bool(np.mean(around.square <= WIDEST) > 0.5)


def promising_sums(unknowns: Unknowns, sums: SumsOfNodes, most: IntArray) -> IntArray:
    """Indices of the sums with which some tables and paths may be below the limit."""
    edges = _edges(unknowns.low[0], unknowns.high[0], sums)
    tables, rows = Tables.between(*edges, sums.further, most)
    if not len(rows):
        return rows
    test, around = unknowns.with_tables(tables)
    logs = sums.logarithms[rows] + unknowns.of_middle(tables)
    return rows[test(unknowns.kernel(logs), around)]


def smooth_candidates(
    unknowns: Unknowns,
    tables: IntArray,
    sums: SumsOfNodes,
    most: IntArray,
    check: Callable[[], None],
) -> Candidates:
    """All combinations that may be below the limit.

    Args:
        unknowns: ranges of what is not known.
        tables: the tables of edges that occur, (C, types).
        sums: the possible sums.
        most: largest number of edges with each further label, (labels, types).
        check: called now and then; it raises if time will not suffice.
    """
    factors = unknowns.factors
    of_edges = factors.of_edges(tables, sums.composition)
    found = Found(most.shape[0], most.shape[1], of_edges.shape[1])
    for totals, row, table in _pairs(unknowns, tables, sums, most, check):
        further = further_tables(
            tuple(totals.tolist()), tuple(map(tuple, most.tolist())), len(factors.types)
        )
        of_further = factors.of_further(further)
        between = factors.between(tables, further)
        for some in chunks(len(row), _ROWS // max(1, len(further))):
            check()
            left = tables[table[some]]
            i, j = np.nonzero((further.sum(axis=1)[None] <= left[:, None]).all(axis=2))
            for part in chunks(len(i), _ROWS):
                rows, edges, k = row[some][i[part]], table[some][i[part]], j[part]
                logs = sums.logarithms[rows] + of_edges[edges] + of_further[k]
                logs += between[edges, k][:, None]
                test, around = unknowns.paths
                keep = test(unknowns.kernel(logs), around)
                found.add(Candidates(edges[keep], further[k[keep]], rows[keep], logs[keep]))
    return found.all()


def _edges(low: IntArray, high: IntArray, sums: SumsOfNodes) -> tuple[IntArray, IntArray]:
    """The same ranges of edges for all sums."""
    shape = (len(sums.further), len(low))
    return np.broadcast_to(low, shape), np.broadcast_to(high, shape)


def _pairs(
    unknowns: Unknowns,
    tables: IntArray,
    sums: SumsOfNodes,
    most: IntArray,
    check: Callable[[], None],
) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Sums and tables of edges that may be below the limit, by their numbers of further labels."""
    totals, of_sums = np.unique(sums.further, axis=0, return_inverse=True)
    each = np.repeat(np.arange(len(totals)), len(tables))
    table = np.tile(np.arange(len(tables)), len(totals))
    ranges, possible = Tables.between(tables[table], tables[table], totals[each], most)
    if not len(possible):
        return []
    test, around = unknowns.with_tables(ranges)
    of_middle, each, table = unknowns.of_middle(ranges), each[possible], table[possible]
    # every choice of sums with every table that fits them
    fits = np.argsort(each, kind="stable")
    first, last = (np.searchsorted(each[fits], of_sums, side) for side in ("left", "right"))
    row = np.repeat(np.arange(len(of_sums)), last - first)
    place = fits[np.arange(len(row)) + np.repeat(last - np.cumsum(last - first), last - first)]
    keep = np.zeros(len(row), dtype=bool)
    for some in chunks(len(row), _ROWS):
        check()
        logs = sums.logarithms[row[some]] + of_middle[place[some]]
        keep[some] = test(unknowns.kernel(logs), around[place[some]])
    row, place = row[keep], place[keep]
    own = [np.flatnonzero(of_sums[row] == t) for t in range(len(totals))]
    return [(totals[t], row[o], table[place[o]]) for t, o in enumerate(own) if len(o)]
