"""Studies of every kind that a report must handle, made without waiting for a solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bogrape import Graph, GraphSpace, Study, Trial, constraints

HOSTILE = '<script>alert("1")</script>'
REASON = "solver said: <img src=x onerror=alert(1)> & \"gave up\" \x00\ud800 'now'"
SPACE = GraphSpace(
    (5, 8),
    labels=("C", "N", "O"),
    rules=[constraints.DegreeRange(maximum=4), constraints.ForbiddenAdjacency("O", "O")],
)


def value_of(graph: Graph) -> float:
    distances = graph.distances()
    reached = distances[np.isfinite(distances)]
    return float(reached.mean() + 0.2 * graph.n_edges - 0.3 * (graph.labels == 0).sum())


def study_of(
    space: GraphSpace,
    n: int,
    *,
    n_failed: int = 0,
    kernel: str = "sp",
    noise: float | str = 1e-6,
    direction: str = "minimize",
    graphs: Sequence[Graph] | None = None,
    storage: str | None = None,
    name: str = "study",
) -> Study:
    """A study with n complete trials, the first ten of them initial, then failed ones."""
    study = Study(
        space,
        storage,
        name,
        kernel=kernel,  # type: ignore[arg-type]
        noise=noise,  # type: ignore[arg-type]
        n_initial=10,
        direction=direction,  # type: ignore[arg-type]
    )
    if graphs is None:
        graphs = space.sample(n + n_failed, seed=1)
    trials = []
    for i, graph in enumerate(graphs):
        minute = f"2026-01-{1 + i // 1000:02d}T{i // 60 % 24:02d}:{i % 60:02d}"
        common = {
            "id": -1,
            "graph": graph,
            "origin": "initial" if i < 10 else "proposal",
            "created": f"{minute}:00+00:00",
            "asked": f"{minute}:00+00:00",
            "finished": f"{minute}:07+00:00",
            "version": "0.1.0",
            "attempts": 1,
        }
        if i >= 10:
            status = ("optimal", "time_limit", "heuristic")[i % 3]
            value = value_of(graph) - 0.1
            bound = {"optimal": value, "time_limit": value - 0.3, "heuristic": None}[status]
            gap = None if bound is None else (value - bound) / max(abs(value), 1e-9)
            common["certificate"] = {
                "value": value,
                "bound": bound,
                "gap": gap,
                "status": status,
                "seconds": 1.0 + i % 5,
                "fit_seconds": 0.2,
                "method": "search",
            }
            common["hyperparameters"] = {"alpha": 2.0, "beta": 1.0, "noise": 1e-4}
        if i < n:
            trials.append(Trial(**common, state="complete", value=value_of(graph)))  # type: ignore[arg-type]
        else:
            trials.append(Trial(**common, state="failed", reason=REASON))  # type: ignore[arg-type]
    if trials:
        study._ledger.append(trials)
    return study


def hostile() -> Study:
    space = GraphSpace(
        6,
        labels=(HOSTILE, "a&b", "q\"'uote", "$x_1^{", "_under"),
        rules=[constraints.LabelCount(HOSTILE, 0, 3)],
    )
    return study_of(space, 12, n_failed=3)


def bonds() -> Study:
    matrix = np.zeros((6, 6), dtype=int)
    graphs = []
    for shift in range(12):
        matrix = np.zeros((6, 6), dtype=int)
        for v in range(6):
            order = 1 + (v * v + shift) % 3
            matrix[v, (v + 1) % 6] = matrix[(v + 1) % 6, v] = order
        if shift % 2:
            matrix[0, 3] = matrix[3, 0] = 1
        graphs.append(
            Graph(matrix > 0, labels=[(v + shift) % 3 for v in range(6)], edge_labels=matrix)
        )
    space = GraphSpace(6, labels=("C", "N", "O"), edge_labels=3)
    return study_of(space, len(graphs), graphs=graphs)


def under_way() -> Study:
    """A study with complete, queued and pending trials."""
    study = Study(SPACE, n_initial=4, method="sample", seed=2)
    for graph in SPACE.sample(3, seed=5, distinct=True):
        study.add(graph, value_of(graph))
    study.enqueue(SPACE.sample(1, seed=77)[0])
    study.ask(3)
    return study


STUDIES: dict[str, Callable[[], Study]] = {
    "no trials": lambda: study_of(SPACE, 0),
    "one trial": lambda: study_of(SPACE, 1),
    "two trials": lambda: study_of(SPACE, 2),
    "ten trials": lambda: study_of(SPACE, 10),
    "thirty trials": lambda: study_of(SPACE, 30, n_failed=2),
    "failures only": lambda: study_of(SPACE, 0, n_failed=5),
    "hostile labels": hostile,
    "directed": lambda: study_of(GraphSpace(6, labels=2, directed=True, acyclic=True), 15),
    "directed with cycles": lambda: study_of(GraphSpace(5, directed=True, connected="strong"), 15),
    "featureless": lambda: study_of(GraphSpace(7), 15, kernel="ssp"),
    "with features": lambda: study_of(GraphSpace(5, labels=2, features=2), 15, kernel="esp"),
    "disconnected": lambda: study_of(GraphSpace(6, connected=False), 12, kernel="essp"),
    "bonds": bonds,
    "maximised": lambda: study_of(SPACE, 20, direction="maximize"),
    "twelve labels": lambda: study_of(GraphSpace(8, labels=12), 15),
    "all alike": lambda: study_of(SPACE, 6, graphs=[SPACE.sample(1, seed=3)[0]] * 6),
    "single nodes": lambda: study_of(GraphSpace(1, labels=4), 4),
    "under way": under_way,
}
