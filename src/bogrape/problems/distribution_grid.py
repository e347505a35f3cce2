"""Reconfiguration of a distribution grid: which lines to open so that least power is lost.

The 33-bus grid of Baran and Wu (1989) has 37 lines, five more than a radial grid needs. The buses
are the named nodes, and the grid in operation must be a spanning tree of the lines. Losses come
from the AC power flow that pandapower solves: 202.68 kW with the five tie lines open, as built.
With lines 7, 9, 14, 32 and 37 open they are 139.55 kW, which the literature reports as the optimum.

The objective of ``grid-33`` is the natural logarithm of the losses in kW: they differ by factors.
A configuration whose voltage collapses has no power flow; its evaluation fails.

Buses on the same stretch between two branchings have the same label. Labels and distances tell
where on a stretch it is cut; one label per bus says no more, and costs three times as much.

pandapower comes with the extra ``[grids]``. Importing this module does not import it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

import networkx as nx
import numpy as np

from ..constraints import CycleRange, LinearRule
from ..errors import EvaluationFailed, MissingExtraError
from ..graph import Graph
from ..space import GraphSpace
from . import Problem, register

SOURCE = "pandapower's case33bw: Baran and Wu 1989, Network reconfiguration in distribution systems"
AS_BUILT = (33, 34, 35, 36, 37)  # open lines, counted from 1
BEST_PUBLISHED = (7, 9, 14, 32, 37)
BEST_PUBLISHED_KW = 139.55
N_BUSES = 33
# Where the lines are: a feeder of 18 buses, three laterals, and five ties.
_TIES = ((20, 7), (8, 14), (11, 21), (17, 32), (24, 28))
LINES = (
    *((v, v + 1) for v in range(17)),
    (1, 18),
    *((v, v + 1) for v in range(18, 21)),
    (2, 22),
    *((v, v + 1) for v in range(22, 24)),
    (5, 25),
    *((v, v + 1) for v in range(25, 32)),
    *_TIES,
)


@cache
def _grid() -> Any:
    try:
        import pandapower.networks
    except ImportError:
        raise MissingExtraError(
            "the distribution grid needs pandapower, which is not installed; "
            "try pip install 'bogrape[grids]'"
        ) from None
    return pandapower.networks.case33bw()


@cache
def losses(open_lines: frozenset[int]) -> float:
    """Losses in kW with these lines open, counted from 1, by pandapower's AC power flow.

    Raises:
        EvaluationFailed: if the power flow does not converge.
    """
    grid = _grid()
    import pandapower
    from pandapower.powerflow import LoadflowNotConverged

    grid.line["in_service"] = [i not in open_lines for i in range(1, len(LINES) + 1)]
    try:
        pandapower.runpp(grid, numba=False)
    except LoadflowNotConverged:
        raise EvaluationFailed(
            f"the power flow with lines {sorted(open_lines)} open does not converge"
        ) from None
    return float(grid.res_line.pl_mw.sum() * 1000.0)


def open_lines(graph: Graph) -> frozenset[int]:
    """The lines that a configuration leaves open, counted from 1."""
    return frozenset(i for i, (u, v) in enumerate(LINES, 1) if not graph.adjacency[u, v])


def configuration(opened: Collection[int]) -> Graph:
    """The grid with these lines open, as a graph of `grid_space`."""
    adjacency = np.zeros((N_BUSES, N_BUSES), dtype=bool)
    for i, (u, v) in enumerate(LINES, 1):
        adjacency[u, v] = adjacency[v, u] = i not in opened
    space = grid_space()
    labels = [space.labels.index(name) for name in space.fixed_labels]  # type: ignore[union-attr]
    return space.named(Graph(adjacency, labels))


@dataclass(frozen=True)
class Losses:
    """The objective: logarithm of the losses in kW."""

    def __call__(self, graph: Graph) -> float:
        grid_space().check(graph)  # with islands the rest of the grid loses little, and serves few
        return math.log(losses(open_lines(graph)))


def _stretches() -> dict[int, str]:
    """The label of every bus: its own where lines branch or end, else that of its stretch."""
    lines = nx.Graph(LINES)
    branching = {v for v in lines if lines.degree(v) != 2}
    labels = {v: f"bus {v + 1}" for v in branching}
    between = lines.subgraph(set(lines) - branching)
    for stretch in sorted(nx.connected_components(between), key=min):
        name = f"stretch {min(stretch) + 1}"
        labels |= dict.fromkeys(stretch, name)
    return labels


@cache
def grid_space() -> GraphSpace:
    """Spanning trees of the 37 lines."""
    names = [f"bus {v + 1}" for v in range(N_BUSES)]
    known = {tuple(sorted(line)) for line in LINES}
    none = {
        (names[u], names[v]): 1
        for u in range(N_BUSES)
        for v in range(u + 1, N_BUSES)
        if (u, v) not in known
    }
    labels = {names[v]: label for v, label in _stretches().items()}
    return GraphSpace(
        nodes=tuple(names),
        labels={name: labels[name] for name in names},
        rules=(CycleRange(0, 0), LinearRule(edges=none, maximum=0)),
    )


def grid_problem(seed: int) -> Problem:
    """Find the configuration with the least losses; the seed changes nothing."""
    _grid()
    return Problem(
        name="grid-33",
        space=grid_space(),
        objective=Losses(),
        seed=seed,
        reference=math.log(BEST_PUBLISHED_KW),
        source=SOURCE,
    )


register("grid-33")(grid_problem)
