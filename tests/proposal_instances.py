"""Questions to `propose` whose answers are on record, to be compared between versions.

Only the public interface is used, so that the same questions can be put to any version of the
package. The data are drawn here and not by `GraphSpace.sample`, which a version may change. All
questions are answered long before their time limit, so that no answer depends on timing.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, propose
from bogrape.constraints import (
    Acyclic,
    CycleRange,
    DegreeRange,
    DiameterRange,
    ForbiddenAdjacency,
    LabelCount,
    MaximumDistance,
    NumberOfEdges,
    RequiredEdge,
    TotalCost,
    TwoConnected,
)

ENOUGH = 300.0  # seconds; the slowest question takes a few

Answer = dict[str, Any]


def _molecules(*arguments: Any, **options: Any) -> GraphSpace:
    from bogrape.molecules import molecule_space  # late: RDKit may be absent

    return molecule_space(*arguments, **options)


def _sites() -> GraphSpace:
    kinds = {"core-1": "router", "core-2": "router", "a": "switch", "b": "switch", "c": "switch"}
    metres = {pair: 40 + 15 * i for i, pair in enumerate(itertools.combinations(kinds, 2))}
    return GraphSpace(
        nodes=list(kinds),
        labels=kinds,
        rules=[
            RequiredEdge("core-1", "core-2"),
            MaximumDistance("a", "core-1", 2),
            TotalCost(metres, 700),
        ],
    )


SPACES: dict[str, Callable[[], GraphSpace]] = {
    "6 nodes": lambda: GraphSpace(6),
    "8 nodes": lambda: GraphSpace(8),
    "4 to 7 nodes": lambda: GraphSpace((4, 7)),
    "2 labels": lambda: GraphSpace(5, labels=2),
    "3 named labels": lambda: GraphSpace((3, 5), labels=("C", "N", "O")),
    "labels and a feature": lambda: GraphSpace(4, labels=2, features=1),
    "edge labels": lambda: GraphSpace(4, edge_labels=2),
    "directed": lambda: GraphSpace(4, directed=True),
    "strongly connected": lambda: GraphSpace(4, labels=2, directed=True, connected="strong"),
    "acyclic and directed": lambda: GraphSpace(5, directed=True, acyclic=True),
    "connected or not": lambda: GraphSpace(6, connected=False),
    "trees": lambda: GraphSpace(9, rules=[Acyclic()]),
    "few edges": lambda: GraphSpace(7, rules=[DegreeRange(maximum=3), NumberOfEdges(maximum=9)]),
    "two-connected": lambda: GraphSpace(6, rules=[TwoConnected("node"), DiameterRange(2, 3)]),
    "rules on labels": lambda: GraphSpace(
        6,
        labels=2,
        rules=[LabelCount(1, 1, 3), ForbiddenAdjacency(1, 1), CycleRange(0, 2)],
    ),
    "named nodes": _sites,
    "molecules of QM9": lambda: _molecules("qm9", 3),
    "molecules of C and O": lambda: _molecules(("C", "O"), (2, 3)),
}
KERNELS = ("ssp", "sp", "essp", "esp")
ACQUISITIONS = (LCB(1.0), EI(), LCB(0.0), LCB(1.96), EI(0.1), LCB(5.0), LCB(0.3))
WAYS = ("plain", "excluded", "fitted", "pending", "batch")


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One question: which graph of a space to try next, given some observations."""

    number: int  # seed of the data
    space: str
    kernel: Any
    acquisition: LCB | EI
    way: str = "plain"
    method: Any = "auto"

    @property
    def name(self) -> str:
        """Key of the answers in the record."""
        return f"{self.number:02d} {self.space}, {self.kernel}, {self.acquisition}, {self.way}" + (
            "" if self.method == "auto" else f", {self.method}"
        )

    def answers(self) -> list[Answer]:
        """Answers of the package that is imported here."""
        rng = random.Random(f"proposals {self.number}")
        space = SPACES[self.space]()
        observed = [_graph(space, rng) for _ in range(rng.randint(4, 8))]
        values = [rng.gauss(0.0, 1.0) for _ in observed]
        fitted = {} if self.way == "fitted" else {"alpha": 1.0, "beta": 0.5}
        gp = GraphGP(self.kernel, n_labels=space.n_labels, restarts=1, **fitted)
        gp.fit(observed, values)

        def ask(**options: Any) -> Any:
            return propose(
                space, gp, self.acquisition, self.method, ENOUGH, seed=self.number, **options
            )

        if self.way == "excluded":  # the best, then the best of the others
            first = ask(exclude=observed)
            found = [first, ask(exclude=[*observed, first.graph])]
        elif self.way == "pending":
            found = [ask(exclude=observed[:2], pending=observed[2:4])]
        elif self.way == "batch":
            found = ask(n=3)
        else:
            found = [ask()]
        return [_told(space, proposal) for proposal in found]


def _told(space: GraphSpace, proposal: Any) -> Answer:
    return {
        "value": proposal.value,
        "bound": proposal.bound if proposal.status != "heuristic" else None,
        "status": proposal.status,
        "method": proposal.method,
        "n_evaluations": proposal.n_evaluations,
        "identity": space.identity(proposal.graph),
        "graph": proposal.graph.to_json(),
    }


def _graph(space: GraphSpace, rng: random.Random) -> Graph:
    """A connected graph of the kind of a space; the rules need not hold."""
    n = rng.choice(list(space.sizes))
    density = rng.uniform(0.1, 0.7)
    kinds = range(1, max(1, space.n_edge_labels) + 1)
    matrix = [[0] * n for _ in range(n)]
    for u, v in itertools.permutations(range(n), 2):
        if (space.directed or u < v) and (abs(u - v) == 1 or rng.random() < density):
            matrix[u][v] = rng.choice(kinds)
            if not space.directed:
                matrix[v][u] = matrix[u][v]
    return Graph(
        [[kind > 0 for kind in row] for row in matrix],
        [rng.randrange(space.n_labels) for _ in range(n)],
        [[rng.random() < 0.5 for _ in range(space.n_features)] for _ in range(n)],
        space.directed,
        edge_labels=matrix if space.n_edge_labels else None,
    )


def _instances() -> dict[str, Instance]:
    out = []
    for number, (space, kernel) in enumerate(itertools.product(SPACES, KERNELS)):
        out.append(
            Instance(
                number=number,
                space=space,
                kernel=kernel,
                acquisition=ACQUISITIONS[number % len(ACQUISITIONS)],
                way=WAYS[number % len(WAYS)],
            )
        )
    for method in ("search", "evolve", "sample", "mip"):
        out.append(
            Instance(
                number=len(out),
                space="2 labels" if method != "mip" else "labels and a feature",
                kernel="ssp",
                acquisition=LCB(1.0),
                method=method,
            )
        )
    return {instance.name: instance for instance in out}


INSTANCES = _instances()
