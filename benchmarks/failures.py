"""Benefit of learning which graphs fail.

Graphs have 8 nodes and two labels. An evaluation fails if a graph has too many triangles, a rule
that the study does not know and that no kernel of the package counts; about 40 % of random graphs
fail. The value is a sum of 30 random waves over numbers of labelled pairs at each distance and of
triangles, so it is often best where evaluations fail. Every study has 10 initial graphs and 70
evaluations in all, once learning from failures and once ignoring them. Local search proposes, with
a budget of evaluations rather than of time.

    python -m benchmarks.failures             # adds the runs that are missing to the results
    python -m benchmarks.failures --summary   # the table of the documentation
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bogrape import Graph, GraphSpace, Study
from bogrape.counts import count

from .records import Record, commit, read

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "failures.jsonl"
SEEDS = range(10)
BUDGET, INITIAL, LEARNT = 70, 10, 30
SPACE = GraphSpace(8, labels=2)
MOST_TRIANGLES = 19
_DISTANCES = 4
_WAVES = 30
Mode = Literal["learn", "ignore"]


def triangles(graph: Graph) -> float:
    """Number of triangles of a graph."""
    power = np.linalg.matrix_power(graph.adjacency.astype(int), 3)
    return float(np.trace(power)) / 6.0


def succeeds(graph: Graph) -> bool:
    """True if a graph obeys the hidden rule."""
    return triangles(graph) <= MOST_TRIANGLES


def _numbers(graphs: list[Graph]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Numbers that values depend on: pairs of labels at small distances, and triangles."""
    counts = count(graphs, SPACE.n_labels, pairs=True)
    assert counts.pairs is not None
    pairs = np.zeros((len(graphs), _DISTANCES, SPACE.n_labels**2))
    near = min(_DISTANCES, counts.pairs.shape[1])
    pairs[:, :near] = counts.pairs[:, :near].reshape(len(graphs), near, -1)
    cycles = np.array([[triangles(graph)] for graph in graphs])
    return np.concatenate([pairs.reshape(len(graphs), -1), cycles], axis=1)


def objective(seed: int) -> Callable[[Graph], float]:
    """A sum of random waves, the same for the same seed."""
    rng = np.random.default_rng([seed, 9])
    some = _numbers(SPACE.sample(500, seed=5))
    middle, spread = some.mean(axis=0), some.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    waves = 0.25 * rng.normal(size=(some.shape[1], _WAVES))
    phases, heights = rng.uniform(0, 2 * np.pi, _WAVES), rng.normal(size=_WAVES)

    def value(graph: Graph) -> float:
        at = (_numbers([graph])[0] - middle) / spread
        return float(np.cos(at @ waves + phases) @ heights) / float(np.sqrt(_WAVES))

    return value


def run(seed: int, failures: Mode) -> dict[str, Any]:
    """One study."""
    value = objective(seed)
    study = Study(
        SPACE,
        seed=seed,
        failures=failures,
        method="search",
        n_evaluations=3000,
        n_initial=INITIAL,
        restarts=1,
        time_limit=600,
    )
    best: list[float | None] = []
    while len(study.trials) < BUDGET:
        trial = study.ask(progress=False)
        if succeeds(trial.graph):
            study.tell(trial, value(trial.graph))
        else:
            study.fail(trial, "too many triangles")
        known = [t.value for t in study.trials if t.value is not None]
        best.append(min(known) if known else None)
    return {
        "seed": seed,
        "failures": failures,
        "failed": [trial.state == "failed" for trial in study.trials],
        "proposed": [trial.origin == "proposal" for trial in study.trials],
        "predicted": [trial.predicted_success for trial in study.trials],
        "best": best,
        "commit": commit(),
    }


def recorded() -> list[Record]:
    """All runs in the file of results."""
    return read(RESULTS)


def failure_share(found: dict[str, Any], first: int, last: int) -> float:
    """Share of failures among the proposals of some trials."""
    pairs = zip(found["failed"], found["proposed"], strict=True)
    failed = [bad for bad, proposed in list(pairs)[first:last] if proposed]
    return float(np.mean(failed)) if failed else 0.0


def table(runs: Sequence[Record]) -> str:
    """The table of the documentation."""
    windows = ((INITIAL, LEARNT), (LEARNT, 50), (50, BUDGET))
    heads = [f"failures {a + 1}–{b}" for a, b in windows]
    lines = [
        "| failures | " + " | ".join(heads) + " | best value |",
        "|---|" + "---|" * (len(windows) + 1),
    ]
    for mode in ("ignore", "learn"):
        some = [found for found in runs if found["failures"] == mode]
        shares = [
            f"{100 * np.mean([failure_share(found, a, b) for found in some]):.0f} %"
            for a, b in windows
        ]
        best = np.mean([found["best"][-1] for found in some])
        lines.append(
            f"| {mode} | {' | '.join(shares)} | {best:.2f} |".replace("-", "\N{MINUS SIGN}")
        )
    last = {
        mode: {found["seed"]: found["best"][-1] for found in runs if found["failures"] == mode}
        for mode in ("ignore", "learn")
    }
    seeds = sorted(set(last["learn"]) & set(last["ignore"]))
    good = sum(last["learn"][seed] <= last["ignore"][seed] + 1e-9 for seed in seeds)
    random = np.mean([not succeeds(graph) for graph in SPACE.sample(500, seed=5)])
    lines += [
        "",
        f"{100 * random:.0f} % of random graphs fail. With learning from failures, the best value "
        f"is no worse in {good} of {len(seeds)} seeds.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Run the missing studies, unless only the summary is wanted, and print the table."""
    if "--summary" not in sys.argv:
        done = {(found["seed"], found["failures"]) for found in recorded()}
        for seed in SEEDS:
            for mode in ("learn", "ignore"):
                if (seed, mode) not in done:
                    text = json.dumps(run(seed, mode))
                    with RESULTS.open("a", encoding="utf-8") as file:
                        file.write(text + "\n")
    print(table(recorded()))


if __name__ == "__main__":
    main()
