"""NAS-Bench-Graph: graph neural networks that somebody trained, 26,206 on each of nine data sets.

An architecture is a tree: an ``input``, four operations that each read one node above them, and
all leaves joined to the output (Qin et al. 2022, "NAS-Bench-Graph", NeurIPS Datasets and
Benchmarks). The table gives the test performance, the latency and the number of parameters of
each; architectures that compute the same thing, because ``skip`` does nothing, are in it once. On
``proteins`` five operations were tried, 2,021 architectures.

``nas-cora`` is minus the test performance on Cora, ``nas-cora-latency`` the latency in seconds, and
so on. The optimum is found by looking at all architectures.

The table comes with the PyPI package ``nas-bench-graph`` (extra ``[nas]``).
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..constraints import DegreeRange, LabelCount, NumberOfEdges, Rule
from ..errors import EvaluationFailed, InvalidInputError, MissingExtraError
from ..graph import Graph
from ..space import GraphSpace
from . import Problem, register

INPUT = "input"
# in the order in which the keys of the table number them
OPERATIONS = ("gat", "gcn", "gin", "cheb", "sage", "arma", "graph", "fc", "skip")
_LINKS = (  # which node each operation reads, by the first digit of a key; 0 is the input
    *((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 1), (0, 0, 1, 2), (0, 0, 1, 3)),
    *((0, 1, 1, 1), (0, 1, 1, 2), (0, 1, 2, 2), (0, 1, 2, 3)),
)
DATA_SETS = (
    *("cora", "citeseer", "pubmed", "cs", "physics", "photo", "computers", "arxiv", "proteins"),
)
Quantity = Literal["perf", "latency"]
SOURCE = (
    "PyPI nas-bench-graph 1.4.0 (Qin et al. 2022, NAS-Bench-Graph): trained with three seeds each"
)
Tree = tuple[str, tuple[Any, ...]]  # a label, and the trees below it in order


def tree_of(graph: Graph, names: Sequence[str]) -> Tree:
    """An architecture without its numbering: equal for two graphs that are isomorphic.

    ``names`` are those of the labels, unless the graph knows its own.
    """
    names = graph.label_names or names

    def below(v: int) -> Tree:
        children = sorted(below(int(u)) for u in np.flatnonzero(graph.adjacency[v]))
        return names[int(graph.labels[v])], tuple(children)

    roots = np.flatnonzero(graph.adjacency.sum(axis=0) == 0)
    if len(roots) != 1 or graph.n_edges != graph.n_nodes - 1:
        raise InvalidInputError(
            f"expected a tree of arcs away from its input, got {graph.n_nodes} nodes, "
            f"{graph.n_edges} arcs and {len(roots)} nodes without incoming arcs"
        )
    return below(int(roots[0]))


def _tree_of_key(key: int) -> Tree:
    """The architecture that a key of the table stands for: its links, then four operations."""
    link, *operations = map(int, f"{key:05d}")
    children = defaultdict(list)
    for node, parent in enumerate(_LINKS[link], 1):
        children[parent].append(node)

    def below(v: int) -> Tree:
        name = OPERATIONS[operations[v - 1]] if v else INPUT
        return name, tuple(sorted(map(below, children[v])))

    return below(0)


class _NumbersOnly(pickle.Unpickler):
    """Reads dicts of numbers, and nothing that would run code."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy") and name in ("scalar", "dtype"):
            return super().find_class(module, name)
        raise InvalidInputError(f"expected a table of numbers, found {module}.{name} in it")


def _folder() -> Path:
    found = find_spec("nas_bench_graph")
    if found is None or found.origin is None:
        raise MissingExtraError(
            "NAS-Bench-Graph needs its table, which is not installed; "
            "try pip install 'bogrape[nas]'"
        )
    return Path(found.origin).parent / "light"


@cache
def table(data_set: str) -> Mapping[Tree, Mapping[Quantity, float]]:
    """Performance and latency of every architecture of a data set."""
    if data_set not in DATA_SETS:
        raise InvalidInputError(f"expected one of {', '.join(DATA_SETS)}, got {data_set!r}")
    with open(_folder() / f"{data_set}.bench", "rb") as file:
        rows = _NumbersOnly(file).load()
    return {
        _tree_of_key(int(key)): {"perf": float(row["perf"]), "latency": float(row["latency"])}
        for key, row in rows.items()
    }


@cache
def label_names(data_set: str) -> tuple[str, ...]:
    """The input, and the operations that were tried on a data set."""
    used = {name for tree in table(data_set) for name in _names(tree)}
    return (INPUT, *(name for name in OPERATIONS if name in used))


@dataclass(frozen=True, repr=False)
class InTable(Rule):
    """The architecture is in the table of a data set, and not one that computes the same."""

    data_set: str

    def holds(self, graph: Graph) -> bool:
        """Look it up."""
        return tree_of(graph, label_names(self.data_set)) in table(self.data_set)

    def direction_needed(self) -> bool | None:
        """Arcs lead from a node to what reads it."""
        return True


@dataclass(frozen=True)
class Trained:
    """The objective: minus the performance of a trained architecture, or its latency."""

    data_set: str
    quantity: Quantity

    def __call__(self, graph: Graph) -> float:
        names = label_names(self.data_set)
        row = table(self.data_set).get(tree_of(graph, names))
        if row is None:
            raise EvaluationFailed("this architecture is not in the table; see problem.space")
        return _minimised(self.quantity, row)


def _minimised(quantity: Quantity, row: Mapping[Quantity, float]) -> float:
    return row["latency"] if quantity == "latency" else -row["perf"]


def all_values(data_set: str, quantity: Quantity = "perf") -> Sequence[float]:
    """Values of all architectures, the best (smallest) first."""
    return sorted(_minimised(quantity, row) for row in table(data_set).values())


def rank(data_set: str, value: float, quantity: Quantity = "perf") -> int:
    """Number of architectures better than this value, plus one."""
    return int(np.searchsorted(all_values(data_set, quantity), value - 1e-9)) + 1


def architecture_space(data_set: str) -> GraphSpace:
    """The architectures of a data set."""
    operations = label_names(data_set)[1:]
    rules: tuple[Rule, ...] = (
        NumberOfEdges(4, 4),
        LabelCount(INPUT, 1, 1),
        DegreeRange(0, 0, label=INPUT, direction="in"),
        *(DegreeRange(1, 1, label=name, direction="in") for name in operations),
        InTable(data_set),
    )
    return GraphSpace(5, labels=(INPUT, *operations), directed=True, rules=rules)


def _names(tree: Tree) -> set[str]:
    return {tree[0]}.union(*map(_names, tree[1]))


def nas_problem(seed: int, *, data_set: str, quantity: Quantity) -> Problem:
    """Find the best architecture for a data set; the seed changes nothing."""
    return Problem(
        name=f"nas-{data_set}" + ("-latency" if quantity == "latency" else ""),
        space=architecture_space(data_set),
        objective=Trained(data_set, quantity),
        seed=seed,
        optimum=all_values(data_set, quantity)[0],
        source=SOURCE,
    )


for _data_set in DATA_SETS:
    register(f"nas-{_data_set}")(partial(nas_problem, data_set=_data_set, quantity="perf"))
    register(f"nas-{_data_set}-latency")(
        partial(nas_problem, data_set=_data_set, quantity="latency")
    )
