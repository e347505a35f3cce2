r"""Counts of shortest paths and features as rows: everything that the kernels see of a graph.

======================  ===========================================================================
``ds[u,v,s]``           1 when d_uv = s; for s = 1 this is ``A[u,v]`` itself
``p[u,v,s,a,b]``        1 when d_uv = s, u has label a and v has label b (SP and ESP only)
``D[s]``                D_s, ordered pairs at distance s (SSP and ESSP)
``P[s,a,b]``            P_sab, the same split by labels (SP and ESP); ``a <= b`` when undirected
``N[m]``                N_m, nodes with feature m; the first L are the labels
``D[s]=c@N`` ...        1 when the graph has N nodes and D_s = c (one-hot counts, for K_xx)
``D[s]@N`` ...          D_s if the graph has N nodes, else 0 (several sizes, no one-hot counts)
======================  ===========================================================================

A count C of size-N graphs enters the kernels as :math:`\varphi = C / N^2` (paths) or :math:`C /
N` (features). With several sizes N is a variable, and :math:`\varphi` is made from the joint
indicators (erratum E3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ...counts import Counts
from ...graph import Graph
from ...space import GraphSpace
from .attributes import Attributes
from .linear import Linear, total
from .paths import Paths
from .program import Program

Key = tuple[str, *tuple[int, ...]]  # ("D", s), ("P", s, a, b) or ("N", m)


class Distances:
    """Indicators of the distance of each pair.

    Rows, in the order they are added (s = n means "no path" and exists only where that is
    possible):

    * ``one_distance[u,v]``:    sum_s ds_uvs = 1
    * ``which_distance[u,v]``:  sum_s s ds_uvs = d_uv
    """

    def __init__(self, program: Program, paths: Paths) -> None:
        self._paths = paths
        self.top = paths.n_max - 1  # the longest distance
        self._last = self.top + paths.partial
        self.at: dict[tuple[int, int, int], Linear] = {}
        for u, v in paths.pairs():
            self.at[u, v, 1] = paths.A[u, v]
            for s in range(2, self._last + 1):
                self.at[u, v, s] = program.binary(f"ds[{u},{v},{s}]")
            lengths = range(1, self._last + 1)
            one = total(self.at[u, v, s] for s in lengths)
            which = total(s * self.at[u, v, s] for s in lengths)
            program.row(f"one_distance[{u},{v}]", one, "==", 1)
            program.row(f"which_distance[{u},{v}]", which, "==", paths.d[u, v])

    def within(self, u: int, v: int, s: int) -> Linear:
        """1 when v is at most s steps from u, u != v."""
        u, v = (u, v) if self._paths.directed or u < v else (v, u)
        return total(self.at[u, v, t] for t in range(1, min(s, self.top) + 1))

    def lift(self, values: dict[str, float]) -> dict[str, float]:
        """The values of all variables, from those of the paths."""
        return {
            f"ds[{u},{v},{s}]": float(values[f"d[{u},{v}]"] == s)
            for u, v in self._paths.pairs()
            for s in range(2, self._last + 1)
        }


class LabelledPaths:
    """Indicators of the distance and the labels of each pair (erratum E7).

    Rows, in the order they are added, for each pair u, v:

    * ``pair_length[u,v,s]``:  sum_ab p_uvsab = ds_uvs
    * ``pair_from[u,v,a]``:    sum_sb p_uvsab <= F_ua
    * ``pair_to[u,v,b]``:      sum_sa p_uvsab <= F_vb

    They determine p once all other variables are binary, so p is continuous.
    """

    def __init__(
        self,
        program: Program,
        distances: Distances,
        attributes: Attributes,
        n_labels: int,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.at: dict[tuple[int, int, int, int, int], Linear] = {}
        labels, lengths = range(n_labels), range(1, distances.top + 1)
        label = attributes.label
        for u, v in sorted({(u, v) for u, v, _ in distances.at}):
            tick()
            for s in lengths:
                for a in labels:
                    for b in labels:
                        name = f"p[{u},{v},{s},{a},{b}]"
                        self.at[u, v, s, a, b] = program.continuous(name, 0, 1)
                both = total(self.at[u, v, s, a, b] for a in labels for b in labels)
                program.row(f"pair_length[{u},{v},{s}]", both, "==", distances.at[u, v, s])
            for a in labels:
                out = total(self.at[u, v, s, a, b] for s in lengths for b in labels)
                program.row(f"pair_from[{u},{v},{a}]", out, "<=", label[u, a])
            for b in labels:
                into = total(self.at[u, v, s, a, b] for s in lengths for a in labels)
                program.row(f"pair_to[{u},{v},{b}]", into, "<=", label[v, b])

    def lift(self, graph: Graph, values: dict[str, float]) -> dict[str, float]:
        """The values of all variables, from the graph and those of the paths."""
        labels = graph.labels.tolist()
        out: dict[str, float] = {}
        for u, v, s, a, b in self.at:
            there = max(u, v) < graph.n_nodes and values[f"d[{u},{v}]"] == s
            right = there and labels[u] == a and labels[v] == b
            out[f"p[{u},{v},{s},{a},{b}]"] = float(right)
        return out


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """One count, and how it enters the kernels.

    ``copies`` is 2 for ``P[s,a,b]``, a < b, of undirected graphs, since it stands for P_sba too.
    """

    key: Key
    name: str
    count: Linear
    power: int  # phi = count / N ** power
    copies: int
    possible: dict[int, tuple[int, ...]]  # possible values of the count, by size

    @property
    def parts(self) -> bool:
        """True if the count varies among graphs of one size."""
        return any(len(values) > 1 for values in self.possible.values())

    def observed(self, counts: Counts) -> list[float]:
        """This count in each graph of some data; zero beyond the range of the data."""
        kind, *index = self.key
        if kind == "N" and index[0] < 0:  # a further feature, counted from the end
            column = counts.features[:, index[0]]
            return [float(c) for c in column]
        array = {"D": counts.lengths, "P": counts.pairs, "N": counts.features}[kind]
        if array is None or any(i >= m for i, m in zip(index, array.shape[1:], strict=True)):
            return [0.0] * len(counts)
        if kind == "N" and index[0] >= counts.n_labels:
            return [0.0] * len(counts)
        place: tuple[Any, ...] = (slice(None), *index)
        return [float(c) for c in array[place]]


def coordinates(
    program: Program,
    paths: Paths,
    distances: Distances,
    attributes: Attributes,
    space: GraphSpace,
    labelled: LabelledPaths | None,
    *,
    pairs: bool,
    nodes: bool,
) -> list[Coordinate]:
    """All counts of a graph: of paths (``pairs``: split by labels), then of its ``nodes``.

    Rows, in the order they are added, one for each count that is neither a number nor a variable:

    * ``count[D,s]``:      D_s = sum_uv ds_uvs; ``D_0 = sum_v A_vv`` (erratum E2)
    * ``count[P,s,a,b]``:  P_sab = sum_uv p_uvsab; ``P_0aa = N_a``, ``P_0ab = 0``
    * ``count[N,m]``:      N_m = sum_v F_vm

    Values a count can take (errata E1, E4): D_s and P_saa are even for s >= 1 in undirected graphs,
    ``P_sab <= N^2 / 4`` for a != b, ``N_m <= N``, and nothing is longer than N - 1.
    """
    make = _Maker(program, paths)
    if labelled is not None:
        out = list(make.pairs(labelled, attributes, space.n_labels))
    else:
        out = list(make.paths(distances, as_pairs=pairs))
    if not nodes:
        return out
    any_number = {n: tuple(range(n + 1)) for n in paths.sizes}
    all_of_them: dict[int, tuple[int, ...]] = {n: (n,) for n in paths.sizes}
    n_labels = space.n_labels
    for a in range(n_labels):
        members = total(attributes.label[v, a] for v in paths.nodes)
        values = any_number if n_labels > 1 else all_of_them
        out.append(make.one(f"N[{a}]", ("N", a), members, 1, values))
    for m in range(space.n_features):
        members = total(attributes.feature[v, m] for v in paths.nodes)
        key = ("N", m - space.n_features)  # the features are the last columns of the data
        out.append(make.one(f"N[{n_labels + m}]", key, members, 1, any_number))
    return out


class _Maker:
    def __init__(self, program: Program, paths: Paths) -> None:
        self._program, self._paths = program, paths
        self._step = 1 if paths.directed else 2  # an undirected pair counts in both orders

    def one(
        self,
        name: str,
        key: Key,
        count: Linear,
        power: int,
        possible: dict[int, tuple[int, ...]],
        copies: int = 1,
    ) -> Coordinate:
        single = len(count.terms) == 1 and count.constant == 0.0 and 1.0 in count.terms.values()
        if not single and not count.is_constant:
            top = max(max(values) for values in possible.values())
            row = f"count[{name.replace('[', ',')}"
            count = self._program.define(name, row, count, 0, top)
        return Coordinate(
            key=key, name=name, count=count, power=power, copies=copies, possible=possible
        )

    def paths(self, distances: Distances, as_pairs: bool) -> Iterator[Coordinate]:
        """D_s; with a single label this is P_s00 too."""
        nodes = total(self._paths.A[v, v] for v in self._paths.nodes)
        for s in range(distances.top + 1):
            key: Key = ("P", s, 0, 0) if as_pairs else ("D", s)
            if s == 0:
                yield self.one("D[0]", key, nodes, 2, {n: (n,) for n in self._paths.sizes})
                continue
            count = self._step * total(distances.at[u, v, s] for u, v in self._paths.pairs())
            yield self.one(f"D[{s}]", key, count, 2, self._lengths(s))

    def pairs(
        self, labelled: LabelledPaths, attributes: Attributes, n_labels: int
    ) -> Iterator[Coordinate]:
        for a in range(n_labels):
            members = total(attributes.label[v, a] for v in self._paths.nodes)
            values = {n: tuple(range(n + 1)) for n in self._paths.sizes}
            yield self.one(f"P[0,{a},{a}]", ("P", 0, a, a), members, 2, values)
        sums: dict[tuple[int, int, int], list[Linear]] = {}
        for (_, _, s, a, b), p in labelled.at.items():
            sums.setdefault((s, a, b), []).append(p)
            if not self._paths.directed:
                sums.setdefault((s, b, a), []).append(p)
        for s, a, b in sorted(sums):
            if self._paths.directed or a <= b:
                copies = 2 if a < b and not self._paths.directed else 1
                values = self._lengths(s) if a == b else self._mixed(s)
                name = f"P[{s},{a},{b}]"
                yield self.one(name, ("P", s, a, b), total(sums[s, a, b]), 2, values, copies)

    def _lengths(self, s: int) -> dict[int, tuple[int, ...]]:
        """Values of D_s and P_saa at each size."""
        tops = {n: n * (n - 1) if s < n else 0 for n in self._paths.sizes}
        return {n: tuple(range(0, top + 1, self._step)) for n, top in tops.items()}

    def _mixed(self, s: int) -> dict[int, tuple[int, ...]]:
        """Values of P_sab, a != b, at each size."""
        return {n: tuple(range(n * n // 4 + 1 if s < n else 1)) for n in self._paths.sizes}
