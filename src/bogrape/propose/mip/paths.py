r"""Shortest paths as rows: MIP-SP, MIP-SP-plus and the reachability extension.

Variables (paper, Table 1), for nodes u, v, w of ``[n]``:

===================  ==============================================================================
``A[u,v]``           the edge from u to v exists; ``A[v,v]``: node v exists
``d[u,v]``           length of a shortest path from u to v; n stands for "no path"
``delta[u,v,w]``     w lies on *some* shortest path from u to v (erratum E11)
``r[u,v]``           u reaches v (reachability extension only, erratum E8)
===================  ==============================================================================

Values that are fixed by definition are numbers, not variables: ``d[v,v] = 0``, ``delta[v,v,w] = 1(w
= v)``, ``delta[u,v,u] = delta[u,v,v] = 1``, and ``A[v,v] = 1`` when there is only one size. In
undirected graphs (u, v) and (v, u) share their variables, which replaces the paper's symmetry rows.
Rows are for ``u != v`` (``u < v`` when undirected) and ``w`` different from both; for other w they
are true by definition.

Big-M constants are tight by default (erratum E12); ``tight=False`` gives the printed ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, permutations

import numpy as np

from ...arrays import BoolArray
from ...graph import Graph
from .linear import Linear, Number, as_linear, total
from .program import Point, Program

Pair = tuple[int, int]


@dataclass
class Paths:
    """The variables of a path encoding; `lift` and `decode` go between them and graphs."""

    n_min: int
    n_max: int
    directed: bool
    A: dict[Pair, Linear] = field(default_factory=dict)
    d: dict[Pair, Linear] = field(default_factory=dict)
    delta: dict[tuple[int, int, int], Linear] = field(default_factory=dict)
    r: dict[Pair, Linear] = field(default_factory=dict)

    @property
    def nodes(self) -> range:
        """All nodes that may exist."""
        return range(self.n_max)

    @property
    def sizes(self) -> range:
        """All numbers of nodes."""
        return range(self.n_min, self.n_max + 1)

    @property
    def partial(self) -> bool:
        """True if a pair of nodes may have no path, or not exist."""
        return bool(self.r) or self.n_min < self.n_max

    def pairs(self) -> Iterator[Pair]:
        """The pairs that have variables: ``u < v``, or all ``u != v`` when directed."""
        return (permutations if self.directed else combinations)(self.nodes, 2)

    def triples(self) -> Iterator[tuple[int, int, int]]:
        """Each pair with each third node."""
        for u, v in self.pairs():
            for w in self.nodes:
                if w not in (u, v):
                    yield u, v, w

    def on_path(self, u: int, v: int) -> Linear:
        """``sum_w delta[u,v,w]``, both ends included."""
        others = (w for w in self.nodes if w not in (u, v))
        return total([2.0, *(self.delta[u, v, w] for w in others)])

    def size_is(self, n: int) -> Linear:
        """``z_N = A[N-1,N-1] - A[N,N]``: 1 when the graph has exactly n nodes (erratum E3)."""
        if self.n_min == self.n_max:
            return as_linear(1.0)
        return self.A[n - 1, n - 1] - (self.A[n, n] if n < self.n_max else 0.0)

    # -- graph <-> values ---------------------------------------------------------------------

    def lift(self, graph: Graph) -> dict[str, float]:
        """The values of all variables for a graph."""
        n, size = self.n_max, graph.n_nodes
        adjacency = np.zeros((n, n), dtype=bool)
        adjacency[:size, :size] = graph.adjacency
        distance = np.full((n, n), float(n))
        found = graph.distances()
        distance[:size, :size] = np.where(np.isinf(found), n, found)
        out: dict[str, float] = {}
        if self.n_min < n:
            out |= {f"A[{v},{v}]": float(v < size) for v in self.nodes}
        for u, v in self.pairs():
            out[f"A[{u},{v}]"] = float(adjacency[u, v])
            out[f"d[{u},{v}]"] = float(distance[u, v])
            if self.r:
                out[f"r[{u},{v}]"] = float(distance[u, v] < n)
        for u, v, w in self.triples():
            reached = distance[u, v] < n
            on_path = reached and distance[u, w] + distance[w, v] == distance[u, v]
            out[f"delta[{u},{v},{w}]"] = float(on_path)
        return out

    def decode(self, values: Point) -> BoolArray:
        """The adjacency matrix of existing nodes; reads ``A`` alone."""
        size = self.n_max
        if self.n_min < self.n_max:
            size = sum(values[f"A[{v},{v}]"] > 0.5 for v in self.nodes)
        matrix = np.zeros((size, size), dtype=bool)
        for u, v in self.pairs():
            if max(u, v) < size:
                matrix[u, v] = values[f"A[{u},{v}]"] > 0.5
                if not self.directed:
                    matrix[v, u] = matrix[u, v]
        return matrix


def mip_sp(program: Program, n: int, *, directed: bool, tight: bool = True) -> Paths:
    """Graphs of one size, (strongly) connected: Eq. (MIP-SP).

    Rows, in the order they are added:

    * ``edge_far[u,v]``:     d_uv <= 1 + n (1 - A_uv)
    * ``edge_near[u,v]``:    d_uv >= 2 - A_uv
    * ``triangle[u,v,w]``:   d_uv <= d_uw + d_wv - (1 - delta_uvw)
    * ``on_path[u,v,w]``:    d_uv >= d_uw + d_wv - 2n (1 - delta_uvw)
    * ``path_edge[u,v]``:    sum_w delta_uvw <= 2 + (n - 2) (1 - A_uv)
    * ``path_least[u,v]``:   sum_w delta_uvw >= 2 + (1 - A_uv)

    Tight constants: ``n - 2`` for n in ``edge_far`` and ``2n - 3`` for 2n in ``on_path``, since
    1 <= d_uv <= n - 1.
    """
    paths = _variables(program, n, n, directed, farthest=n - 1)
    _edge_rows(program, paths, n - 2 if tight else n)
    _triangle_rows(program, paths, 2 * n - 3 if tight else 2 * n)
    _path_edge_rows(program, paths)
    for u, v in paths.pairs():
        program.row(f"path_least[{u},{v}]", paths.on_path(u, v), ">=", 2 + (1 - paths.A[u, v]))
    return paths


def mip_sp_plus(
    program: Program, n_min: int, n_max: int, *, directed: bool, tight: bool = True
) -> Paths:
    """(Strongly) connected graphs of n_min to n_max nodes: Eq. (MIP-SP-plus), n = n_max.

    Rows, in the order they are added:

    * ``exist_order[v]``:    A_vv >= A_{v+1,v+1}
    * ``size_min``:          sum_v A_vv >= n_min
    * ``edge_ends[u,v]``:    2 A_uv <= A_uu + A_vv
    * ``edge_far[u,v]``:     d_uv <= 1 + n (1 - A_uv)
    * ``edge_near[u,v]``:    d_uv >= 2 - A_uv
    * ``missing_from[u,v]``: d_uv >= n (1 - A_uu)
    * ``missing_to[u,v]``:   d_uv >= n (1 - A_vv)
    * ``triangle[u,v,w]``:   d_uv <= d_uw + d_wv - (1 - delta_uvw)
    * ``on_path[u,v,w]``:    d_uv >= d_uw + d_wv - 2n (1 - delta_uvw)
    * ``path_edge[u,v]``:    sum_w delta_uvw <= 2 + (n - 2) (1 - A_uv)
    * ``path_from[u,v]``:    sum_w delta_uvw <= 2 + (n - 2) A_uu
    * ``path_to[u,v]``:      sum_w delta_uvw <= 2 + (n - 2) A_vv
    * ``path_least[u,v]``:   sum_w delta_uvw >= A_uu + A_vv + (1 - A_uv)

    Tight constants: ``n - 1`` in ``edge_far`` and ``2n - 1`` in ``on_path``, since 1 <= d_uv <= n.
    """
    n = n_max
    paths = _variables(program, n_min, n_max, directed, farthest=n, exist=n_min < n_max)
    A, d = paths.A, paths.d
    _size_rows(program, paths)
    for u, v in paths.pairs():
        program.row(f"edge_ends[{u},{v}]", 2 * A[u, v], "<=", A[u, u] + A[v, v])
    _edge_rows(program, paths, n - 1 if tight else n)
    for u, v in paths.pairs():
        program.row(f"missing_from[{u},{v}]", d[u, v], ">=", n * (1 - A[u, u]))
        program.row(f"missing_to[{u},{v}]", d[u, v], ">=", n * (1 - A[v, v]))
    _triangle_rows(program, paths, 2 * n - 1 if tight else 2 * n)
    _path_edge_rows(program, paths)
    for u, v in paths.pairs():
        on_path = paths.on_path(u, v)
        program.row(f"path_from[{u},{v}]", on_path, "<=", 2 + (n - 2) * A[u, u])
        program.row(f"path_to[{u},{v}]", on_path, "<=", 2 + (n - 2) * A[v, v])
        program.row(f"path_least[{u},{v}]", on_path, ">=", A[u, u] + A[v, v] + (1 - A[u, v]))
    return paths


def reachability(
    program: Program, n_min: int, n_max: int, *, directed: bool, tight: bool = True
) -> Paths:
    """All graphs of n_min to n_max nodes, connected or not: erratum E8, n = n_max.

    Rows, in the order they are added:

    * ``exist_order[v]``:    A_vv >= A_{v+1,v+1}
    * ``size_min``:          sum_v A_vv >= n_min
    * ``edge_reaches[u,v]``: A_uv <= r_uv
    * ``reach_from[u,v]``:   r_uv <= A_uu
    * ``reach_to[u,v]``:     r_uv <= A_vv
    * ``edge_far[u,v]``:     d_uv <= 1 + n (1 - A_uv)
    * ``edge_near[u,v]``:    d_uv >= 2 - A_uv
    * ``no_path[u,v]``:      d_uv >= n (1 - r_uv)
    * ``some_path[u,v]``:    d_uv <= n - r_uv
    * ``triangle[u,v,w]``:   d_uv <= d_uw + d_wv - (1 - delta_uvw)
    * ``on_path[u,v,w]``:    d_uv >= d_uw + d_wv - 2n (1 - delta_uvw)
    * ``path_edge[u,v]``:    sum_w delta_uvw <= 2 + (n - 2) (1 - A_uv)
    * ``path_least[u,v]``:   sum_w delta_uvw >= 2 + r_uv - A_uv

    Tight constants as in `mip_sp_plus`. Acyclic graphs are those with ``r_uv + r_vu <= 1``, which
    the rule ``Acyclic`` adds itself.
    """
    n = n_max
    paths = _variables(program, n_min, n_max, directed, farthest=n, exist=n_min < n_max)
    A, d, r = paths.A, paths.d, paths.r
    for u, v in paths.pairs():
        r[u, v] = program.binary(f"r[{u},{v}]")
        r.setdefault((v, u), r[u, v]) if not directed else None
    _size_rows(program, paths)
    for u, v in paths.pairs():
        program.row(f"edge_reaches[{u},{v}]", A[u, v], "<=", r[u, v])
        if n_min < n_max:
            program.row(f"reach_from[{u},{v}]", r[u, v], "<=", A[u, u])
            program.row(f"reach_to[{u},{v}]", r[u, v], "<=", A[v, v])
    _edge_rows(program, paths, n - 1 if tight else n)
    for u, v in paths.pairs():
        program.row(f"no_path[{u},{v}]", d[u, v], ">=", n * (1 - r[u, v]))
        program.row(f"some_path[{u},{v}]", d[u, v], "<=", n - r[u, v])
    _triangle_rows(program, paths, 2 * n - 1 if tight else 2 * n)
    _path_edge_rows(program, paths)
    for u, v in paths.pairs():
        program.row(f"path_least[{u},{v}]", paths.on_path(u, v), ">=", 2 + r[u, v] - A[u, v])
    return paths


# -- shared rows ------------------------------------------------------------------------------


def _variables(
    program: Program, n_min: int, n_max: int, directed: bool, farthest: int, exist: bool = False
) -> Paths:
    paths = Paths(n_min, n_max, directed)
    A, d, delta = paths.A, paths.d, paths.delta
    for v in paths.nodes:
        A[v, v] = program.binary(f"A[{v},{v}]") if exist else as_linear(1.0)
        d[v, v] = as_linear(0.0)
    for u, v in paths.pairs():
        A[u, v] = program.binary(f"A[{u},{v}]")
        if not directed:
            A[v, u] = A[u, v]
    for u, v in paths.pairs():
        d[u, v] = program.integer(f"d[{u},{v}]", 1, farthest)
        if not directed:
            d[v, u] = d[u, v]
    for u, v, w in paths.triples():
        delta[u, v, w] = program.binary(f"delta[{u},{v},{w}]")
        if not directed:
            delta[v, u, w] = delta[u, v, w]
    return paths


def _size_rows(program: Program, paths: Paths) -> None:
    if paths.n_min == paths.n_max and paths.A[0, 0].is_constant:
        return
    for v in range(paths.n_max - 1):
        program.row(f"exist_order[{v}]", paths.A[v, v], ">=", paths.A[v + 1, v + 1])
    program.row("size_min", total(paths.A[v, v] for v in paths.nodes), ">=", paths.n_min)


def _edge_rows(program: Program, paths: Paths, far: Number) -> None:
    for u, v in paths.pairs():
        edge, length = paths.A[u, v], paths.d[u, v]
        program.row(f"edge_far[{u},{v}]", length, "<=", 1 + far * (1 - edge))
        program.row(f"edge_near[{u},{v}]", length, ">=", 2 - edge)


def _triangle_rows(program: Program, paths: Paths, big: Number) -> None:
    d = paths.d
    for u, v, w in paths.triples():
        off = 1 - paths.delta[u, v, w]
        detour = d[u, w] + d[w, v]
        program.row(f"triangle[{u},{v},{w}]", d[u, v], "<=", detour - off)
        program.row(f"on_path[{u},{v},{w}]", d[u, v], ">=", detour - big * off)


def _path_edge_rows(program: Program, paths: Paths) -> None:
    n = paths.n_max
    for u, v in paths.pairs():
        limit = 2 + (n - 2) * (1 - paths.A[u, v])
        program.row(f"path_edge[{u},{v}]", paths.on_path(u, v), "<=", limit)
