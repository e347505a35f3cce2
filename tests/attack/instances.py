"""Random instances: spaces, rules, data, exclusions, incumbents and limits; all from one seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from attack.graphs import Kind, Plain
from attack.model import Acquisition
from attack.rules import Names, PlainSpace, RuleText

KERNELS = ("ssp", "sp", "essp", "esp")
INCUMBENTS = ("worst", "none", "few", "usual")

ENOUGH = 60.0  # seconds, for instances that the clock is not meant to cut off
_ENOUGH_FOR_MIP = 15.0  # which may leave the gap open
_USUALLY, _AT_MOST = 6_000, 33_000  # numbered graphs of the largest size
_NAMED = 1_100  # of them where nodes have names, so that every one counts
_KINDS = [
    Kind(),
    Kind(n_labels=2),
    Kind(n_labels=3),
    Kind(n_features=1),
    Kind(n_labels=2, n_features=1),
    Kind(n_features=2),
    Kind(n_edge_labels=2),
    Kind(n_labels=2, n_edge_labels=2),
    Kind(directed=True),
    Kind(directed=True, n_labels=2),
    Kind(directed=True, n_labels=3),
    Kind(directed=True, n_features=1),
    Kind(directed=True, n_edge_labels=2),
]


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One question to the package."""

    seed: int
    index: int
    space: PlainSpace  # with its rules as they are passed to the package
    acyclic: bool  # passed as an argument and not as a rule
    labels: Any  # as they are passed to the package
    kernel: str
    noise: float | str
    amplitudes: dict[str, Any]
    data: tuple[Plain, ...]
    y: tuple[float, ...]
    acquisition: Acquisition
    n_left: int | None  # number of graphs not excluded; None: a few random exclusions
    pending: tuple[Plain, ...]
    incumbent: str
    method: str
    time_limit: float
    n: int  # graphs asked for at once
    guarded: bool  # prove it again without the solver's symmetries and without our own

    @property
    def cut_off(self) -> bool:
        """True if the time limit is meant to end it early."""
        return self.time_limit < ENOUGH


def instance(seed: int, index: int) -> Instance:
    """The instance of this number."""
    rng = np.random.default_rng([seed, index])
    space, acyclic, labels = _space(rng)
    tiny = space.sizes[-1] <= 3 and space.kind.n_numbered(space.sizes[-1]) <= 64
    method = str(rng.choice(["exact", "auto"]))
    if tiny and rng.random() < 0.1:
        method = "mip"
    data = _data(rng, space)
    y = _values(rng, len(data))
    cut_off = rng.random() < 0.1
    amplitudes: dict[str, Any] = {"restarts": 1}
    if rng.random() < 0.3:
        amplitudes |= {
            "alpha": 10 ** float(rng.uniform(-2, 2)),
            "beta": 10 ** float(rng.uniform(-2, 2)),
        }
    if rng.random() < 0.1:
        amplitudes["feature_kernel"] = False
        amplitudes.pop("beta", None)  # there is no kernel for it to scale
    return Instance(
        seed=seed,
        index=index,
        space=space,
        acyclic=acyclic,
        labels=labels,
        kernel=str(rng.choice(KERNELS)),
        noise=[1e-6, 1e-4, 1e-2, "fit"][int(rng.choice(4, p=[0.5, 0.2, 0.1, 0.2]))],
        amplitudes=amplitudes,
        data=data,
        y=y,
        acquisition=_acquisition(rng, y, method),
        n_left=[None, 0, 1, 2][int(rng.choice(4, p=[0.64, 0.12, 0.12, 0.12]))],
        pending=tuple(random_graph(rng, space) for _ in range(rng.integers(1, 3)))
        if rng.random() < 0.15
        else (),
        incumbent=str(rng.choice(INCUMBENTS, p=[0.5, 0.2, 0.285, 0.015])),
        method=method,
        time_limit=float(10 ** rng.uniform(-4, -1))
        if cut_off
        else _ENOUGH_FOR_MIP
        if method == "mip"
        else ENOUGH,
        n=int(rng.integers(2, 4)) if rng.random() < 0.07 else 1,
        guarded=bool(rng.random() < 0.06),
    )


# -- spaces -------------------------------------------------------------------------------------


def _space(rng: np.random.Generator) -> tuple[PlainSpace, bool, Any]:
    kind = _KINDS[int(rng.integers(len(_KINDS)))]
    most = _AT_MOST if rng.random() < 0.08 else _USUALLY
    named = rng.random() < 0.2
    most = min(most, _NAMED) if named else most
    high = max(n for n in range(1, 7) if kind.n_numbered(n) <= most)
    if rng.random() < 0.3:
        high = int(rng.integers(1, high + 1))
    sizes = (
        range(high, high + 1)
        if rng.random() < 0.6
        else range(int(rng.integers(1, high + 1)), high + 1)
    )
    names, labels, by_node = Names(), None if kind.n_labels == 1 else kind.n_labels, None
    if kind.n_labels > 1 and rng.random() < 0.3:
        names = Names((), ("C", "O", "N")[: kind.n_labels])
        labels = names.labels
    if named:  # such a space has one size
        sizes = range(high, high + 1)
        sites = tuple(f"site {v}" for v in range(high))
        names = Names(sites, names.labels)
        if rng.random() < 0.5:
            by_node = [("C", "O", "N")[i] for i in rng.integers(0, kind.n_labels, high)]
            alphabet = tuple(dict.fromkeys(by_node))  # in the order of their first appearance
            kind = Kind(kind.directed, len(alphabet), kind.n_features, kind.n_edge_labels)
            names, labels = Names(sites, alphabet), dict(zip(sites, by_node, strict=True))
    connected: bool | str = bool(rng.random() < 0.7)
    if kind.directed and connected and rng.random() < 0.4:
        connected = "strong"
    acyclic = bool(rng.random() < 0.06)
    drawn = [_rule(rng, kind, high, names) for _ in range(rng.choice(4, p=[0.3, 0.3, 0.25, 0.15]))]
    rules = list(drawn)
    if acyclic:
        rules.append(("Acyclic", {}))
    if names.nodes:
        rules.append(("NamedNodes", {"labels": tuple(by_node or ())}))
    return PlainSpace(kind, sizes, connected, tuple(rules), names), acyclic, labels


def _rule(rng: np.random.Generator, kind: Kind, n: int, names: Names) -> RuleText:
    """Any rule that has a meaning in such a space, satisfiable or not."""

    def node() -> Any:
        v = int(rng.integers(n))
        return names.nodes[v] if names.nodes and rng.random() < 0.7 else v

    def label() -> Any:
        k = int(rng.integers(kind.n_labels))
        return names.labels[k] if names.labels and rng.random() < 0.7 else k

    def pair() -> tuple[Any, Any]:
        while True:
            u, v = node(), node()
            if names.node(u) != names.node(v):
                return u, v

    def bounds(top: int) -> dict[str, Any]:
        low = int(rng.integers(0, top + 1)) if rng.random() < 0.6 else 0
        high = int(rng.integers(low, top + 2)) if rng.random() < 0.6 or not low else None
        return {"minimum": low, "maximum": high}

    def weight() -> float:
        choice: list[float] = [-3, -2, -1, 1, 2, 3, 0.1, 0.2, 0.3, -0.5, 1.25]
        return choice[int(rng.integers(len(choice)))]

    def degree() -> dict[str, Any]:
        out = bounds(n)
        if rng.random() < 0.4:
            out["node"] = node()
        if rng.random() < 0.4:
            out["label"] = label()
        if kind.directed and rng.random() < 0.6:
            out["direction"] = str(rng.choice(["in", "out"]))
        return out

    def subgraph() -> dict[str, Any]:
        edges = [pair() for _ in range(rng.integers(1, 4))]
        drawn = [(node(), label()) for _ in range(rng.integers(0, 3))]
        return {
            "edges": edges,
            "labels": dict({names.node(v): (v, k) for v, k in drawn}.values()),  # one per node
            "induced": bool(rng.random() < 0.4),
        }

    def weights(make: Callable[[], tuple[Any, Any]], most: int) -> dict[Any, float]:
        """Random weights; a place that is referred to in two ways gets both of its weights."""
        return {make(): weight() for _ in range(rng.integers(1, most + 1))}

    def linear() -> dict[str, Any]:
        out: dict[str, Any] = {}
        if n > 1 and rng.random() < 0.7:
            out["edges"] = weights(pair, 3)
        if not out or rng.random() < 0.5:
            out["labels"] = weights(lambda: (node(), label()), 3)
        if kind.n_features and rng.random() < 0.7:
            out["features"] = weights(lambda: (node(), int(rng.integers(kind.n_features))), 2)
        low, high = sorted([weight(), weight()])
        side = rng.random()
        if side < 0.7:
            out["maximum"] = high
        if side > 0.4:
            out["minimum"] = low
        return out

    def cost() -> dict[str, Any]:
        prices = [0, 1, 2.5, 0.1, 0.2, 0.3, 1.1]

        def price() -> float:
            return prices[int(rng.integers(len(prices)))]

        out: dict[str, Any] = {"maximum": [0, 0.3, 1, 2.6, 3.3, 5][int(rng.integers(6))]}
        if kind.n_edge_labels and (n == 1 or rng.random() < 0.6):
            out["edge_labels"] = {k: price() for k in range(1, kind.n_edge_labels + 1)}
        if n > 1 and ("edge_labels" not in out or rng.random() < 0.5):
            found = [pair() for _ in range(rng.integers(1, 4))]
            unlike = {
                (tuple if kind.directed else frozenset)(map(names.node, spot)): spot
                for spot in found
            }
            out["costs"] = {spot: price() for spot in unlike.values()}
            out["otherwise"] = price()
        return out

    makers: dict[str, Callable[[], dict[str, Any]]] = {
        "NumberOfEdges": lambda: bounds(n * (n - 1) // (1 if kind.directed else 2)),
        "DegreeRange": degree,
        "LabelCount": lambda: {"label": label(), **bounds(n)},
        "FixedLabel": lambda: {"node": node(), "label": label()},
        "ForbiddenAdjacency": lambda: {"label_a": label(), "label_b": label()},
        "DiameterRange": lambda: bounds(n),
        "Acyclic": dict,
        "LinearRule": linear,
    }
    if n > 1:
        makers |= {
            "RequiredEdge": lambda: dict(zip("uv", pair(), strict=True)),
            "ForbiddenEdge": lambda: dict(zip("uv", pair(), strict=True)),
            "RequiredSubgraph": subgraph,
            "DisjointPaths": lambda: {
                **dict(zip("uv", pair(), strict=True)),
                "minimum": int(rng.integers(1, 4)),
            },
            "MaximumDistance": lambda: {
                **dict(zip("uv", pair(), strict=True)),
                "maximum": int(rng.integers(1, n + 1)),
            },
        }
    if n > 1 or kind.n_edge_labels:
        makers["TotalCost"] = cost
    if not kind.directed:
        makers["CycleRange"] = lambda: bounds(4)
        makers["TwoConnected"] = lambda: {"kind": str(rng.choice(["node", "edge"]))}
    name = str(rng.choice(sorted(makers)))
    return name, makers[name]()


# -- data ---------------------------------------------------------------------------------------


def random_graph(rng: np.random.Generator, space: PlainSpace, outside: float = 0.0) -> Plain:
    """A graph of the space's kind, mostly of its sizes, whether or not it obeys the rules."""
    kind = space.kind
    n = int(rng.choice(list(space.sizes)))
    if rng.random() < outside:
        n = int(rng.integers(1, 9))
    density = rng.uniform(0.1, 0.9)
    rows = np.zeros((n, n), dtype=int)
    for u in range(n):
        for v in range(n):
            if u < v or (kind.directed and u != v):
                bond = int(rng.random() < density) * int(
                    rng.integers(1, 1 + max(1, kind.n_edge_labels))
                )
                rows[u, v] = bond
                if not kind.directed:
                    rows[v, u] = bond
    return Plain(
        tuple(tuple(row) for row in rows.tolist()),
        tuple(rng.integers(0, kind.n_labels, n).tolist()),
        tuple(tuple(row) for row in rng.integers(0, 2, (n, kind.n_features)).tolist()),
        kind.directed,
    )


def _data(rng: np.random.Generator, space: PlainSpace) -> tuple[Plain, ...]:
    graphs = [random_graph(rng, space, 0.2) for _ in range(rng.integers(2, 10))]
    if rng.random() < 0.15:
        graphs += [graphs[0]] * int(rng.integers(1, 3))
    return tuple(graphs)


def _values(rng: np.random.Generator, n: int) -> tuple[float, ...]:
    """Random values: ordinary, tied, with an outlier or all equal; then scaled and shifted."""
    y = rng.normal(size=n)
    shape = rng.random()
    if shape < 0.1:
        y = rng.integers(0, 2, n).astype(float)
    elif shape < 0.15:
        y[:] = y[0]
    elif shape < 0.2:
        y[0] = 1e4 * rng.choice([-1, 1])
    if rng.random() < 0.4:
        y = y * 10.0 ** rng.uniform(-15, 15)
    if rng.random() < 0.3:
        y = y + float(rng.choice([-1, 1])) * (float(y.std()) or 1.0) * 10.0 ** rng.uniform(0, 9)
    return tuple(map(float, y))


def _acquisition(rng: np.random.Generator, y: tuple[float, ...], method: str) -> Acquisition:
    if method != "mip" and rng.random() < 0.25:
        return "ei", float(rng.choice([0.0, 0.0, 0.3, -0.2, 1.0])) * float(np.std(y))
    kappas = [0.0, 1e-9, 0.3, 1.0, 1.0, 1.96, 4.0, 1e3]
    return "lcb", kappas[int(rng.integers(len(kappas)))]


def described(case: Instance) -> str:
    """The instance as text, one part per line."""
    parts = {name: getattr(case, name) for name in case.__dataclass_fields__}
    return "\n".join(f"  {name} = {value!r}" for name, value in parts.items())
