"""Sentences about what was simulated on NAS-Bench-Graph, computed from the stored ranks.

See `benchmarks.nas_tables` for the files. Each function makes the items of one list.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .experiments.nas import DATA_SETS
from .nas_tables import TOP, counts
from .records import Record

_WANTED = 6  # data sets on which the median rank is to be small
_FULL = "all counts, additive"
_NOT_COMPARED = ("ranks", "ranks_50", "values", "seeds")


def _mean_rank(record: Record, n_seeds: int | None = None) -> float:
    """Geometric mean over data sets and (the first) seeds."""
    ranks = [record["ranks"][name][:n_seeds] for name in DATA_SETS]
    return float(np.exp(np.mean(np.log(ranks))))


def _medians(record: Record) -> list[float]:
    return [float(np.median(record["ranks"][name])) for name in DATA_SETS]


def sweep_findings(records: Sequence[Record]) -> str:
    """How many variants there are, what the cap changes, and how close the aim came."""
    found = [record for record in records if record["quantity"] == "perf"]
    means = sorted(_mean_rank(record) for record in found)
    most = max(sum(median <= TOP for median in _medians(record)) for record in found)
    items = [
        f"{len(found)} variants, with {min(r['seeds'] for r in found)} to "
        f"{max(r['seeds'] for r in found)} seeds each. Geometric means of ranks go from "
        f"{means[0]:.1f} to {means[-1]:.1f}, and {sum(m < 1.2 * means[0] for m in means)} variants "
        f"are within 20 % of the best. No variant has a median rank of at most {TOP} on more than "
        f"{most} of the {len(DATA_SETS)} data sets."
    ]
    ratios = _effects_of_the_cap(found)
    if ratios:
        effects = [100 * (1 - ratio) for ratio in ratios]
        items.append(
            f"`cap=3` makes the geometric mean smaller by {min(effects):.0f} to {max(effects):.0f} "
            f"%, in {len(effects)} pairs of variants that differ in nothing else, over the seeds "
            "both have."
        )
    return _listed(items)


def _effects_of_the_cap(records: Sequence[Record]) -> list[float]:
    """Ratios of mean ranks with and without ``cap=3``, everything else being equal."""

    def rest(record: Record) -> Any:
        return {name: item for name, item in record.items() if name not in _NOT_COMPARED}

    ratios = []
    for capped in records:
        for plain in records:
            pair = capped["values"] == "cap 3" and plain["values"] == "as they are"
            if pair and rest(capped) == rest(plain):
                n = min(capped["seeds"], plain["seeds"])
                ratios.append(_mean_rank(capped, n) / _mean_rank(plain, n))
    return ratios


def left_out_findings(records: Sequence[Record]) -> str:
    """How far predictions from all other architectures, and from validation, get."""
    items = []
    for model, words in (
        (_FULL, "With all counts and all other values"),
        ("own validation", "By the validation performance of the same trainings"),
    ):
        own = [r for r in records if r["model"] == model and r["quantity"] == "perf"]
        if own:
            reached = sum(record["best_of_chosen"] <= TOP for record in own)
            first = [record["positions_of_best"][0] for record in own]
            items.append(
                f"{words}, the first 90 contain one of the best {TOP} on {reached} of {len(own)} "
                f"data sets, and the very best stands between positions {min(first):,} and "
                f"{max(first):,}."
            )
    return _listed(items)


def observed_findings(records: Sequence[Record]) -> str:
    """The number of random observations after which most data sets have a small median rank."""
    texts = []
    numbers = sorted({record["observed"] for record in records})
    for number in numbers:
        own = {
            name: [
                record["best_of_chosen"]
                for record in records
                if record["data_set"] == name and record["observed"] == number
            ]
            for name in DATA_SETS
        }
        medians = [float(np.median(ranks)) for ranks in own.values() if ranks]
        texts.append((number, sum(median <= TOP for median in medians), len(medians)))
    each = ", ".join(f"{reached} of {n} after {number:,}" for number, reached, n in texts)
    enough = [number for number, reached, _ in texts if reached >= _WANTED]
    verdict = (
        f"so {_WANTED} data sets take at most {enough[0]:,} observations"
        if enough
        else f"so {_WANTED} data sets take more than {numbers[-1]:,} observations"
    )
    return f"Data sets with a median rank of at most {TOP}: {each}; {verdict}."


def latency_findings(records: Sequence[Record]) -> str:
    """Median ranks with the latency as the objective, where graphs explain the values."""
    items = []
    for record in records:
        if record["quantity"] != "latency":
            continue
        missed = {
            name: median
            for name, median in zip(DATA_SETS, _medians(record), strict=True)
            if median > 1
        }
        rest = "".join(f", {median:g} on `{name}`" for name, median in missed.items())
        items.append(
            f"{record['kernel']} of {counts(record['groups'])}, {record['acquisition']}: median "
            f"rank 1 on {len(DATA_SETS) - len(missed)} of {len(DATA_SETS)} data sets{rest} "
            f"({record['seeds']} seeds)."
        )
    return _listed(items)


def _listed(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)
