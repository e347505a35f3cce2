r"""Statistics of replications: curves, areas, paired comparisons and the share of the way.

Notation: replication r observes :math:`y_{r1}, …, y_{rT}`, the first :math:`n_0` of which are the
initial design. All values are minimised.

* best so far :math:`b_{rt} = \min_{s \le t} y_{rs}`, final value :math:`b_{rT}`;
* area :math:`a_r = \frac{1}{T - n_0} \sum_{t > n_0} b_{rt}`: the mean height of the curve, which
  rewards methods that are good early;
* share of the way :math:`(\bar b - b_{rT}) / (\bar b - y^\star)` from :math:`\bar b`, what random
  sampling reaches on average with T evaluations, to :math:`y^\star`, the best value known;
* paired comparison: Wilcoxon's signed-rank test, two-sided, of the differences between two methods
  replication by replication: they share the problem and the initial design.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bogrape.arrays import FloatArray
from bogrape.errors import InvalidInputError
from bogrape.kernels import KERNELS, RBF

from .records import Record

_TIE = 1e-6  # relative to the spread: recorded values are rounded


@dataclass(frozen=True, eq=False, kw_only=True)
class Runs:
    """The replications of one method on one problem, by seed."""

    problem: str
    method: str
    seeds: tuple[int, ...]
    values: FloatArray  # one row per replication
    records: tuple[Record, ...]

    @property
    def n_initial(self) -> int:
        """Size of the initial design."""
        return int(self.records[0]["n_initial"])

    @property
    def best(self) -> FloatArray:
        """Best value so far, one row per replication."""
        return np.asarray(np.minimum.accumulate(self.values, axis=1))

    @property
    def final(self) -> FloatArray:
        """Best value of each replication."""
        return np.asarray(self.values.min(axis=1))

    @property
    def area(self) -> FloatArray:
        """Mean of the best value so far over the proposals, for each replication."""
        return np.asarray(self.best[:, self.n_initial :].mean(axis=1))

    @property
    def seconds(self) -> FloatArray:
        """Seconds of every proposal, one row per replication."""
        return np.array([record["seconds"] for record in self.records])

    def column(self, name: str) -> list[list[Any]]:
        """A recorded quantity of every proposal, by replication; empty if there is none."""
        return [record.get(name, []) for record in self.records]

    def of_seeds(self, seeds: Iterable[int]) -> Runs:
        """The replications with these seeds, in this order."""
        at = [self.seeds.index(seed) for seed in seeds]
        chosen = tuple(self.records[i] for i in at)
        return Runs(
            problem=self.problem,
            method=self.method,
            seeds=tuple(seeds),
            values=self.values[at],
            records=chosen,
        )


def is_bogrape(method: str) -> bool:
    """True if a method is one of ours: a kernel of the package with or without further words."""
    return method.replace(":", "-").split("-")[0] in (*KERNELS, RBF.name)


def group(records: Sequence[Record]) -> dict[tuple[str, str], Runs]:
    """Runs by problem and method, both in the order in which they first appear."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record["problem"], record["method"]), []).append(record)
    out = {}
    for (problem, method), group_ in found.items():
        rows = sorted(group_, key=lambda record: int(record["seed"]))
        if len({(len(record["values"]), record["n_initial"]) for record in rows}) > 1:
            raise InvalidInputError(
                f"the replications of {method} on {problem} have different budgets; keep runs "
                "with different budgets in different folders"
            )
        seeds = tuple(int(record["seed"]) for record in rows)
        values = np.array([record["values"] for record in rows], dtype=float)
        out[problem, method] = Runs(
            problem=problem, method=method, seeds=seeds, values=values, records=tuple(rows)
        )
    return out


def problems_of(runs: Mapping[tuple[str, str], Runs]) -> list[str]:
    """Problems in the order in which they appear."""
    return list(dict.fromkeys(problem for problem, _ in runs))


def methods_of(runs: Mapping[tuple[str, str], Runs]) -> list[str]:
    """Baselines, then BoGrape's variants, each in the order in which they appear."""
    methods = list(dict.fromkeys(method for _, method in runs))
    return sorted(methods, key=is_bogrape)


def common(runs: Mapping[tuple[str, str], Runs]) -> dict[tuple[str, str], Runs]:
    """Runs restricted to the seeds that all methods of a problem have, so that means compare.

    A method with fewer than three quarters of the median number of replications, and at least two
    fewer, is left out: it is still being run, and would leave few seeds to share.
    """
    out: dict[tuple[str, str], Runs] = {}
    for problem in problems_of(runs):
        own = {key: run for key, run in runs.items() if key[0] == problem}
        usual = float(np.median([len(run.seeds) for run in own.values()]))
        enough = min(0.75 * usual, usual - 1)
        own = {key: run for key, run in own.items() if len(run.seeds) >= enough}
        shared = set.intersection(*(set(run.seeds) for run in own.values()))
        if shared:
            out |= {key: run.of_seeds(sorted(shared)) for key, run in own.items()}
    return out


# -- comparisons ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Wins, ties and losses of one method against another, and the p-value of the differences."""

    wins: int
    ties: int
    losses: int
    p: float

    def __str__(self) -> str:
        return f"{self.wins}–{self.ties}–{self.losses}, p {self.p:.2g}"


def compare(ours: FloatArray, theirs: FloatArray) -> Comparison:
    """Wins (smaller values), ties and losses over pairs, and Wilcoxon's p; ties are left out.

    >>> compare(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 5.0]))
    Comparison(wins=2, ties=1, losses=0, p=0.5)
    """
    from scipy.stats import wilcoxon

    if ours.shape != theirs.shape or ours.ndim != 1:
        raise InvalidInputError(f"expected pairs of values, got {ours.shape} and {theirs.shape}")
    difference = ours - theirs
    small = _TIE * max(float(np.abs(difference).max(initial=0.0)), 1e-12)
    difference = difference[np.abs(difference) > small]
    wins = int((difference < 0).sum())
    p = 1.0
    if len(difference):
        p = float(wilcoxon(difference, method="auto").pvalue)
    return Comparison(wins, len(ours) - len(difference), len(difference) - wins, p)


def compare_runs(ours: Runs, theirs: Runs) -> tuple[Comparison, Comparison] | None:
    """Final value and area, over the replications both have; ``None`` if they share none."""
    seeds = [seed for seed in ours.seeds if seed in theirs.seeds]
    if not seeds:
        return None
    a, b = ours.of_seeds(seeds), theirs.of_seeds(seeds)
    return compare(a.final, b.final), compare(a.area, b.area)


# -- the share of the way ---------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """Known values of a problem with one seed: mean of random sampling, and the best."""

    random: float
    best: float
    how: str


def joined(best: Sequence[Record], random: Sequence[Record]) -> list[Record]:
    """References: records of best known values joined with those of random sampling.

    The first are what ``python -m benchmarks.reference`` prints, the second those of the
    experiment ``random-sampling``.
    """
    known = {(record["problem"], record["seed"]): record for record in best}
    return [
        {**record, "best": found["best"], "how": found["how"]}
        for record in random
        if (found := known.get((record["problem"], record["seed"]))) is not None
    ]


def scales(records: Sequence[Record], references: Sequence[Record]) -> dict[tuple[str, int], Scale]:
    """Scales by problem and seed; a better value found in any record replaces the reference's."""
    met: dict[tuple[str, int], float] = {}
    for record in records:
        key = record["problem"], int(record["seed"])
        met[key] = min(met.get(key, np.inf), *record["values"])
    out = {}
    for record in references:
        key = record["problem"], int(record["seed"])
        found, how = float(record["best"]), str(record["how"])
        seeds = [key[1]] if record["seeded"] else [seed for name, seed in met if name == key[0]]
        if not record["seeded"]:
            found = min([found, *(met[key[0], seed] for seed in seeds)])
        for seed in seeds:
            best = min(found, met.get((key[0], seed), np.inf))
            how_here = how if best >= record["best"] else "a run"
            out[key[0], seed] = Scale(float(record["random"]), best, how_here)
    return out


def shares(runs: Runs, scale: Mapping[tuple[str, int], Scale]) -> FloatArray | None:
    """Share of the way of each replication.

    ``None`` without references for all of them, or if random sampling reaches the best known value
    (the share is then undefined).
    """
    found = [scale.get((runs.problem, seed)) for seed in runs.seeds]
    if any(item is None for item in found):
        return None
    random = np.array([item.random for item in found if item is not None])
    best = np.array([item.best for item in found if item is not None])
    if (random - best <= _TIE * np.maximum(1.0, np.abs(best))).any():
        return None
    return np.asarray((random - runs.final) / (random - best))


def expected_best(values: FloatArray, n: int) -> float:
    r"""Mean smallest value of n of these m values, drawn without replacement.

    With sorted values :math:`v_1 \le … \le v_m` it is :math:`\sum_i v_i \binom{m-i}{n-1} /
    \binom{m}{n}`, far less noisy than the smallest value of a few runs.

    >>> expected_best(np.array([1.0, 2.0, 3.0]), 2)  # (1, 2), (1, 3) and (2, 3)
    1.3333333333333333
    """
    m = len(values)
    if not 1 <= n <= m:
        raise InvalidInputError(f"n must be between 1 and the {m} values, got {n}")
    # weights by recurrence: w_1 = n / m, w_{i+1} = w_i (m - i - n + 1) / (m - i)
    i = np.arange(1, m)
    ratios = (m - i - n + 1) / (m - i)
    weights = n / m * np.concatenate([[1.0], np.cumprod(np.maximum(ratios, 0.0))])
    return float(np.sort(values) @ weights)
