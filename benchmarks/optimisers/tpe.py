"""``tpe``: Optuna's tree-structured Parzen estimator on an encoding of graphs as categories.

One category per node (its label) and one per pair of nodes (no edge, or the edge's label), with the
nodes as the observed graphs number them. Hardly any combination is a graph of the space, so each
suggestion is brought inside by moves that reduce its excess (`brought_inside`), and the estimator
learns from the graphs that were evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bogrape.errors import MissingExtraError
from bogrape.graph import Graph
from bogrape.propose.local.moves import places
from bogrape.space import GraphSpace

from ..neighbours import brought_inside
from . import Choice, Settings, register
from .sampling import fresh_graphs

_SUGGESTIONS = 20  # tried until one leads to a new graph


def pairs_of(space: GraphSpace, n: int) -> list[tuple[int, int]]:
    """Pairs of nodes that may have an edge."""
    pairs, _ = places(space, n)
    return [(int(u), int(v)) for u, v in np.argwhere(pairs if space.directed else np.triu(pairs))]


def categories(space: GraphSpace, graph: Graph) -> dict[str, int]:
    """A graph as parameters."""
    kinds = graph.adjacency.astype(int) if graph.edge_labels is None else graph.edge_labels
    out = {f"edge {u} {v}": int(kinds[u, v]) for u, v in pairs_of(space, graph.n_nodes)}
    out |= {f"node {v}": int(label) for v, label in enumerate(graph.labels)}
    return out | {"nodes": graph.n_nodes}


def graph_of(space: GraphSpace, parameters: dict[str, int]) -> Graph:
    """The graph that parameters stand for, in the space or not; features are left empty."""
    n = parameters["nodes"]
    kinds = np.zeros((n, n), dtype=int)
    for u, v in pairs_of(space, n):
        kinds[u, v] = parameters[f"edge {u} {v}"]
        if not space.directed:
            kinds[v, u] = kinds[u, v]
    return Graph(
        kinds > 0,
        [parameters[f"node {v}"] for v in range(n)],
        np.zeros((n, space.n_features), dtype=bool),
        space.directed,
        edge_labels=kinds if space.n_edge_labels else None,
    )


@dataclass(frozen=True)
class TreeParzen:
    """The suggestion of Optuna, mapped into the space."""

    settings: Settings

    def next(
        self,
        graphs: Sequence[Graph],
        values: Sequence[float],
        *,
        seed: int,
        time_limit: float,  # noqa: ARG002
    ) -> Choice:
        """Tell everything, ask, repair."""
        space, rng = self.settings.space, np.random.default_rng(seed)
        known = set(map(space.identity, graphs))
        study, optuna = _study(seed)
        for graph, value in zip(graphs, values, strict=True):
            own = categories(space, graph)
            kept = {name: _choices(optuna, space, name) for name in own}
            study.add_trial(
                optuna.trial.create_trial(params=own, distributions=kept, value=float(value))
            )
        for _ in range(_SUGGESTIONS):
            trial = study.ask()
            found = {"nodes": self._ask(trial, optuna, "nodes")}
            n = found["nodes"]
            names = [f"node {v}" for v in range(n)]
            names += [f"edge {u} {v}" for u, v in pairs_of(space, n)]
            found |= {name: self._ask(trial, optuna, name) for name in names}
            near = brought_inside(space, graph_of(space, found), rng)
            if near is not None and space.identity(near) not in known:
                return Choice(graph=near)
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return Choice(graph=fresh_graphs(space, 1, seed, graphs)[0])

    def _ask(self, trial: Any, optuna: Any, name: str) -> int:
        choices = _choices(optuna, self.settings.space, name).choices
        return int(trial.suggest_categorical(name, choices))


def _choices(optuna: Any, space: GraphSpace, name: str) -> Any:
    """The values that a parameter can have."""
    if name == "nodes":
        values = tuple(space.sizes)
    elif name.startswith("node "):
        values = tuple(range(space.n_labels))
    else:
        values = tuple(range(max(1, space.n_edge_labels) + 1))
    return optuna.distributions.CategoricalDistribution(values)


def _study(seed: int) -> tuple[Any, Any]:
    try:
        import optuna
    except ImportError:
        raise MissingExtraError(
            "tpe needs Optuna, which is not installed; try pip install 'bogrape[baselines]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=1)
    return optuna.create_study(sampler=sampler), optuna


register("tpe")(TreeParzen)
