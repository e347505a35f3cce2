"""The paper's two theorems, and that of the reachability extension, checked by enumeration."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from bogrape.graph import Graph
from bogrape.propose.mip.paths import Paths, mip_sp, mip_sp_plus, reachability
from bogrape.propose.mip.program import Program

from mip_cases import integer_points
from oracles import all_graphs, networkx_graph


def encode(name: str, n: int, directed: bool, tight: bool) -> tuple[Program, Paths]:
    program = Program()
    if name == "mip_sp":
        return program, mip_sp(program, n, directed=directed, tight=tight)
    encoding = mip_sp_plus if name == "mip_sp_plus" else reachability
    return program, encoding(program, 1, n, directed=directed, tight=tight)


def truth(paths: Paths, graph: Graph) -> dict[str, float]:
    """Distances and on-path indicators by networkx, for the variables of an encoding."""
    n, g = paths.n_max, networkx_graph(graph)
    length = {u: dict(lengths) for u, lengths in nx.all_pairs_shortest_path_length(g)}
    out: dict[str, float] = {}
    for u, v in paths.pairs():
        there = max(u, v) < graph.n_nodes
        reached = there and v in length[u]
        out[f"A[{u},{v}]"] = float(there and g.has_edge(u, v))
        out[f"d[{u},{v}]"] = float(length[u][v]) if reached else float(n)
        if paths.r:
            out[f"r[{u},{v}]"] = float(reached)
        on_path = set().union(*nx.all_shortest_paths(g, u, v)) if reached else set()
        for w in range(n):
            if w not in (u, v):
                out[f"delta[{u},{v},{w}]"] = float(w in on_path)
    if paths.n_min < n:
        out |= {f"A[{v},{v}]": float(v < graph.n_nodes) for v in range(n)}
    return out


@pytest.mark.parametrize("tight", [True, False], ids=["tight", "printed"])
@pytest.mark.parametrize(
    ("name", "directed", "counts"),
    [
        ("mip_sp", True, [1, 1, 18, 1606]),
        ("mip_sp", False, [1, 1, 4, 38, 728]),
        ("mip_sp_plus", True, [1, 2, 20, 1626]),
        ("mip_sp_plus", False, [1, 2, 6, 44, 772]),
        ("reachability", True, [1, 5, 69, 4165]),
        ("reachability", False, [1, 3, 11, 75, 1099]),
    ],
)
def test_integer_points_are_exactly_the_graphs_with_networkx_distances(
    name: str, directed: bool, counts: list[int], tight: bool
) -> None:
    for n, expected in enumerate(counts, start=1):
        program, paths = encode(name, n, directed, tight)
        points = integer_points(program)
        assert len(points) == expected
        graphs = {Graph(paths.decode(point), directed=directed) for point in points}
        assert len(graphs) == expected  # a bijection: no graph twice
        step = 1 if expected < 1000 else 9  # networkx is slow; every point below a thousand
        for point in points[::step]:
            graph = Graph(paths.decode(point), directed=directed)
            assert point == truth(paths, graph) == paths.lift(graph)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["mip_sp", "mip_sp_plus", "reachability"])
def test_every_point_of_the_largest_cases_has_networkx_distances(name: str) -> None:
    for directed, n in ((True, 4), (False, 5)):
        program, paths = encode(name, n, directed, True)
        for point in integer_points(program):
            graph = Graph(paths.decode(point), directed=directed)
            assert point == truth(paths, graph)


def test_acyclic_graphs_are_those_where_no_two_nodes_reach_each_other() -> None:
    program = Program()
    paths = reachability(program, 4, 4, directed=True)
    for u in range(4):
        for v in range(u):
            program.row(f"acyclic[{u},{v}]", paths.r[u, v] + paths.r[v, u], "<=", 1)
    points = integer_points(program)
    assert len(points) == 543  # labelled DAGs on four nodes (OEIS A003024)
    assert all(
        nx.is_directed_acyclic_graph(nx.DiGraph(paths.decode(p).astype(int))) for p in points
    )


@pytest.mark.parametrize("directed", [True, False])
def test_graphs_outside_an_encoding_break_a_row_by_name(directed: bool) -> None:
    program, paths = encode("mip_sp", 3, directed, True)
    for graph in all_graphs(3, directed=directed):
        broken = program.violations(paths.lift(graph))
        connected = np.isfinite(graph.distances()).all()
        assert bool(broken) != connected
        if broken:
            assert any(v.row.startswith(("d[", "path_least", "edge_far")) for v in broken)
