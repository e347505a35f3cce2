"""Benefits of setting gross errors aside, and of measuring graphs again.

*Outliers*: of 40 measurements every tenth is off by ten deviations of the values or more. A model
with ``noise="fit"`` and one with ``noise="robust"`` predict 200 other graphs.

*Replicates*: measurements with noise as large as the deviation of the values. After 40 of them, of
which the first 10 are the initial design, the graph with the best prediction among those measured
is chosen; its true value is compared with the best of all measured graphs.

    python -m benchmarks.noise             # adds the runs that are missing to the results
    python -m benchmarks.noise --summary   # the table of the documentation
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bogrape import GraphGP, Study

from .failures import SPACE, objective
from .records import Record, commit, read

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "noise.jsonl"
SEEDS = range(10)
MEASURED, PREDICTED, EVERY, INITIAL = 40, 200, 10, 10


def outliers(seed: int) -> dict[str, Any]:
    """Prediction errors with gross errors among the observations, and the errors recognised."""
    rng, value = np.random.default_rng([seed, 1]), objective(seed)
    graphs = SPACE.sample(MEASURED + PREDICTED, seed=seed, distinct=True)
    true = np.array([value(graph) for graph in graphs])
    seen, spread = true[:MEASURED].copy(), float(true.std())
    wrong = rng.choice(MEASURED, MEASURED // EVERY, replace=False)
    signs = rng.choice([-1.0, 1.0], len(wrong))
    seen[wrong] += spread * signs * rng.uniform(10.0, 30.0, len(wrong))
    out: dict[str, Any] = {"kind": "outliers", "seed": seed, "wrong": sorted(wrong.tolist())}
    for noise in ("fit", "robust"):
        gp = GraphGP("rbf", noise=noise, space=SPACE, restarts=2)
        gp.fit(graphs[:MEASURED], seen)
        mean, _ = gp.predict(graphs[MEASURED:])
        out[noise] = float(np.sqrt(np.mean((mean - true[MEASURED:]) ** 2))) / spread
        out["named"] = list(gp.suspicious)
    clean = GraphGP("rbf", noise="fit", space=SPACE, restarts=2)
    clean.fit(graphs[:MEASURED], true[:MEASURED])
    mean, _ = clean.predict(graphs[MEASURED:])
    out["clean"] = float(np.sqrt(np.mean((mean - true[MEASURED:]) ** 2))) / spread
    return out


def replicates(seed: int) -> dict[str, Any]:
    """True values of the graphs that studies recommend, with repeats and without."""
    value = objective(seed)
    spread = float(np.std([value(graph) for graph in SPACE.sample(200, seed=5)]))
    out: dict[str, Any] = {"kind": "replicates", "seed": seed}
    for repeats in (False, True):
        rng = np.random.default_rng([seed, 2])
        study = Study(
            SPACE,
            seed=seed,
            replicates=repeats,
            method="search",
            n_evaluations=3000,
            n_initial=INITIAL,
            restarts=1,
            time_limit=600,
        )
        while len(study.trials) < MEASURED:
            trial = study.ask(progress=False)
            study.tell(trial, value(trial.graph) + spread * float(rng.normal()))
        graphs = [trial.graph for trial in study.trials]
        mean, _ = study.predict(graphs)
        chosen = value(graphs[int(np.argmin(mean))]) / spread
        name = "with" if repeats else "without"
        out[name] = chosen
        out[f"regret {name}"] = chosen - min(map(value, graphs)) / spread
        out[f"repeats {name}"] = sum(trial.origin == "repeat" for trial in study.trials)
    return out


def recorded() -> list[Record]:
    """All runs in the file of results."""
    return read(RESULTS)


def table(runs: Sequence[Record]) -> str:
    """The tables of the documentation."""
    bad = [found for found in runs if found["kind"] == "outliers"]
    again = [found for found in runs if found["kind"] == "replicates"]
    found_of_all = sum(len(set(one["wrong"]) & set(one["named"])) for one in bad)
    too_many = sum(len(set(one["named"]) - set(one["wrong"])) for one in bad)
    n_wrong = sum(len(one["wrong"]) for one in bad)

    def mean(some: Sequence[Record], name: str) -> str:
        return f"{np.mean([one[name] for one in some]):.2f}".replace("-", "\N{MINUS SIGN}")

    return "\n".join(
        [
            "| observations | `noise=` | error of predictions, in deviations |",
            "|---|---|---|",
            f'| a tenth grossly wrong | `"fit"` | {mean(bad, "fit")} |',
            f'| a tenth grossly wrong | `"robust"` | {mean(bad, "robust")} |',
            f'| all right | `"fit"` | {mean(bad, "clean")} |',
            "",
            f'`"robust"` named {found_of_all} of {n_wrong} wrong values, and {too_many} of '
            f"{len(bad) * MEASURED - n_wrong} right ones.",
            "",
            "| `replicates=` | repeats | true value of the graph taken | above the best measured |",
            "|---|---|---|---|",
            *(
                f"| `{word}` | {mean(again, f'repeats {name}')} | {mean(again, name)} | "
                f"{mean(again, f'regret {name}')} |"
                for word, name in (("False", "without"), ("True", "with"))
            ),
        ]
    )


def main() -> None:
    """Run the missing seeds, unless only the summary is wanted, and print the tables."""
    if "--summary" not in sys.argv:
        done = {(found["kind"], found["seed"]) for found in recorded()}
        for run in (outliers, replicates):
            for seed in SEEDS:
                if (run.__name__, seed) not in done:
                    text = json.dumps({**run(seed), "commit": commit()})
                    with RESULTS.open("a", encoding="utf-8") as file:
                        file.write(text + "\n")
    print(table(recorded()))


if __name__ == "__main__":
    main()
