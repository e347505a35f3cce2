"""Tables of what was simulated on NAS-Bench-Graph: surrogates, and how far any of them could get.

The runs were made apart from the package, for many data sets and seeds at a time on a GPU
(``docs/decisions/033-surrogate-of-architectures.md`` says how). Kept are:

* ``nas-sweep.jsonl``: ranks that searches with different surrogates reached, the acquisition always
  maximised over all architectures that are left;
* ``nas-left-out.jsonl``: predictions of each architecture by a process fitted to all others, and,
  from the table itself, by the validation performance of its own trainings;
* ``nas-observed.jsonl``: ranks after the 90 architectures were chosen that a process fitted to some
  random ones predicts to be best.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bogrape.dags import GROUPS

from .experiments.nas import DATA_SETS
from .markdown_tables import markdown
from .records import Record

SWEEP = "nas-sweep.jsonl"
LEFT_OUT = "nas-left-out.jsonl"
OBSERVED = "nas-observed.jsonl"
TOP = 3  # ranks that count as found
_PATH_COUNTS = ("labels", "within_1", "within_2", "within_3", "farther")
_FEWEST_SEEDS = 30  # of a row of the table; the file has more variants, with ten or twenty


def sweep_table(records: Sequence[Record]) -> str:
    """One row per surrogate, the best first."""
    rows = []
    for record in records:
        own = set(record["groups"]) == set(GROUPS) and record["kernel"] == "gaussian + linear"
        if record["quantity"] != "perf" or (record["seeds"] < _FEWEST_SEEDS and not own):
            continue
        ranks = np.array([record["ranks"][name] for name in DATA_SETS])
        medians = np.median(ranks, axis=1)
        mean = float(np.exp(np.log(ranks).mean()))
        row = [
            f"{record['kernel']} (`DagGP`)" if own else record["kernel"],
            counts(record["groups"]),
            f"{record['values']}, {record['acquisition']}{_priors(record)}",
            str(record["seeds"]),
            f"{mean:.1f}",
            str(int((medians <= TOP).sum())),
            ", ".join(f"{median:g}" for median in medians),
        ]
        rows.append((mean, row))
    header = [
        *("kernel", "counts", "values, acquisition", "seeds", "rank, geometric mean"),
        *(f"median rank at most {TOP}", "median ranks"),
    ]
    return markdown(header, [row for _, row in sorted(rows, key=lambda item: item[0])])


def counts(groups: Sequence[str]) -> str:
    """Names of groups of counts; those of the kernel `rbf` together are path counts."""
    words = [name.replace("_", " ") for name in groups if name not in _PATH_COUNTS]
    if set(_PATH_COUNTS) <= set(groups):
        return ", ".join(["path counts", *words])
    return ", ".join(name.replace("_", " ") for name in groups)


def _priors(record: Record) -> str:
    return ", a prior of more noise" if "noise_prior" in record else ""


def left_out_table(records: Sequence[Record]) -> str:
    """One row per data set: predictions by two models and by validation, and of the latency."""
    by = {(found["data_set"], found["quantity"], found["model"]): found for found in records}

    def cells(name: str, model: str, quantity: str = "perf") -> list[str]:
        if (found := by.get((name, quantity, model))) is None:
            return ["-"] * 3
        positions = ", ".join(str(place) for place in found["positions_of_best"])
        share = f"{found['r2']:.2f}" if "r2" in found else "-"
        return [share, positions, str(found["best_of_chosen"])]

    header = [
        *("data set", "path counts: R²", "positions", "best of 90"),
        *("all counts: R²", "positions", "best of 90"),
        *("own validation: positions", "best of 90", "latency, path counts: R²", "positions"),
    ]
    return markdown(
        header,
        [
            [
                name,
                *cells(name, "path counts"),
                *cells(name, "all counts, additive"),
                *cells(name, "own validation")[1:],
                *cells(name, "path counts", "latency")[:2],
            ]
            for name in DATA_SETS
        ],
    )


def observed_table(records: Sequence[Record]) -> str:
    """One row per data set, one column per number of random observations."""
    numbers = sorted({record["observed"] for record in records})

    def found(name: str, observed: int) -> list[int]:
        return [
            record["best_of_chosen"]
            for record in records
            if record["data_set"] == name and record["observed"] == observed
        ]

    rows = [
        [name, *(f"{np.median(own):g}" if (own := found(name, n)) else "-" for n in numbers)]
        for name in DATA_SETS
    ]
    complete = [name for name in DATA_SETS if all(found(name, n) for n in numbers)]
    means = [
        float(np.exp(np.mean([np.log(rank) for name in complete for rank in found(name, n)])))
        for n in numbers
    ]
    rows.append(["geometric mean of complete rows", *(f"{mean:.1f}" for mean in means)])
    return markdown(["data set", *(f"{n:,}" for n in numbers)], rows)
