"""Sentences with numbers for the documents, computed from the stored results.

Each function makes one list item from the records of an experiment, or None if it has no records.
The sections ``findings``, ``losses`` and ``elsewhere`` of a document hold all of them, and a test
compares the documents with the data, so that no number outlives its data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .markdown_tables import short_number
from .records import read
from .statistics import (
    Comparison,
    Runs,
    common,
    compare,
    group,
    is_bogrape,
    joined,
    scales,
    shares,
)

Grid = dict[tuple[str, str], Runs]
_PATHS = ("ssp", "sp", "essp", "esp")
_DEFAULT = "rbf"
_TOP = 3  # ranks that count as found


def findings(out: Path) -> str:
    """Items of the section "What it shows"."""
    return _items(
        out,
        (
            *(_shares_of_molecules, _feature_term, _cost_of_a_run, _proved, _gaps),
            *(_more_samples, _kappa),
        ),
    )


def elsewhere(out: Path) -> str:
    """Items about the problems that come from elsewhere: physics, PMO and the grid."""
    return _items(out, (_physics, _pmo, _grid))


def losses(out: Path) -> str:
    """Items of the section "Where BoGrape does not win"."""
    return _items(out, (_against_evolution, _extreme, _architectures))


def _items(out: Path, parts: Sequence[Callable[[Path], str | None]]) -> str:
    found = [text for part in parts if (text := part(out)) is not None]
    return "\n".join(f"- {text}" for text in found) if found else "No results are kept yet."


def _runs(out: Path, experiment: str) -> Grid:
    return group(read(out / f"{experiment}.jsonl"))


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _seeds(runs: Sequence[Runs]) -> str:
    counts = sorted({len(run.seeds) for run in runs})
    return f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])


def _shares_of_molecules(out: Path) -> str | None:
    records = read(out / "molecules.jsonl")
    references = joined(read(out / "reference.jsonl"), read(out / "random-sampling.jsonl"))
    runs, scale = common(group(records)), scales(records, references)
    percent: dict[tuple[str, str], float] = {}
    for key, run in runs.items():
        share = shares(run, scale)
        if share is not None:
            percent[key] = 100 * float(share.mean())
    problems = list(dict.fromkeys(problem for problem, _ in percent))
    if not problems:
        return None
    texts = []
    for problem in problems:
        ours = {m: v for (p, m), v in percent.items() if p == problem and is_bogrape(m)}
        others = {m: v for (p, m), v in percent.items() if p == problem and not is_bogrape(m)}
        if not ours or not others:
            continue
        baseline = max(others, key=lambda m: others[m])
        each = ", ".join(f"{m} {v:.0f}" for m, v in ours.items())
        texts.append(f"{problem}: {each}; the best baseline, `{baseline}`, {others[baseline]:.0f}")
    counted = _seeds([runs[key] for key in percent])
    return f"Share of the way on molecules in percent ({counted} replications). {'. '.join(texts)}."


def _feature_term(out: Path) -> str | None:
    errors: dict[tuple[str, str], list[float]] = {}
    for record in read(out / "kernels.jsonl"):
        errors.setdefault((record["method"], record["problem"]), []).append(record["rmse"])
    texts = []
    for kernel in dict.fromkeys(method.rstrip("-*") for method, _ in errors):
        # a star adds the features to a kernel of the literature, a minus takes them from ours
        ratios = [
            float(np.mean(errors[both, problem]) / np.mean(errors[alone, problem]))
            for alone, both in ((kernel, f"{kernel}*"), (f"{kernel}-", kernel))
            for problem in dict.fromkeys(problem for _, problem in errors)
            if (alone, problem) in errors and (both, problem) in errors
        ]
        if ratios:
            texts.append(f"{kernel} {min(ratios):.2f} to {max(ratios):.2f}")
    if not texts:
        return None
    return f"RMSE with the feature term as a share of that without, by size: {_listed(texts)}."


def _cost_of_a_run(out: Path) -> str | None:
    own = [r for r in read(out / "synthetic.jsonl") if r["method"] == "ssp"]
    own = [r for r in own if r["problem"].endswith("-10")]
    if not own:
        return None
    seconds = [sum(record["seconds"]) for record in own]
    limits = sorted({record["time_limit"] for record in own if "time_limit" in record})
    limit = f" of at most {' or '.join(f'{t:g}' for t in limits)} s" if limits else ""
    return (
        f"The proposals of a run with SSP at N = 10 ({len(own[0]['seconds'])} of them{limit} each) "
        f"took {np.median(seconds):.0f} s in the median and {max(seconds):.0f} s at worst, over "
        f"{len(own)} runs."
    )


def _proved(out: Path) -> str | None:
    runs = _runs(out, "synthetic")
    texts = []
    for method in _PATHS:
        percent = []
        for (problem, name), run in runs.items():
            status = [item for row in run.column("status") for item in row]
            if problem.endswith("-10") and name == method and "time_limit" in run.records[0]:
                percent.append(100 * status.count("optimal") / len(status))
        if percent:
            low, high = f"{min(percent):.0f}", f"{max(percent):.0f}"
            texts.append(f"{method} {low if low == high else f'{low} to {high}'} %")
    if not texts:
        return None
    return f"Proved optimal within the limit at N = 10, by problem: {_listed(texts)}."


def _gaps(out: Path) -> str | None:
    runs = _runs(out, "limits")
    texts = []
    for method in dict.fromkeys(name.partition(":")[0] for _, name in runs):
        steps = []
        for (_, name), run in runs.items():
            gaps = [g for row in run.column("standard_gap") for g in row if g is not None]
            if name.partition(":")[0] == method and gaps:
                steps.append((float(name.partition(":")[2]), float(np.median(gaps))))
        if steps:
            each = ", ".join(f"{gap:.3g} with {limit:g} s" for limit, gap in sorted(steps))
            texts.append(f"{method} {each}")
    if not texts:
        return None
    return f"Median gap of a proposal on QM7 in standard deviations: {'; '.join(texts)}."


def _more_samples(out: Path) -> str | None:
    runs = common(_runs(out, "samples"))
    texts = []
    for (problem, name), run in runs.items():
        few = runs.get((problem, name.replace(":100", ":20")))
        if name.endswith(":100") and few is not None:
            a, b = float(few.final.mean()), float(run.final.mean())
            texts.append(
                f"`{name.partition(':')[0]}` on {problem} from {short_number(a)} to "
                f"{short_number(b)}"
            )
    if not texts:
        return None
    return (
        f"With 100 random molecules to choose from instead of 20 ({_seeds(list(runs.values()))} "
        f"replication per method) the mean final value changed for {_listed(texts)}."
    )


def _kappa(out: Path) -> str | None:
    runs = common(_runs(out, "exploration"))
    ends: dict[tuple[str, str], list[float]] = {}
    for (problem, name), run in runs.items():
        if is_bogrape(name):
            ends.setdefault((problem, name.partition(":")[0]), []).append(float(run.final.mean()))
    apart = {
        key: 100 * (max(values) - min(values)) / max(abs(v) for v in values)
        for key, values in ends.items()
        if len(values) > 1
    }
    if not apart:
        return None
    each = [f"{value:.1f} % for {m} on {p}" for (p, m), value in apart.items()]
    return f"Final values with different κ differ by {_listed(each)}."


def _against_evolution(out: Path) -> str | None:
    runs = _runs(out, "synthetic")
    texts = []
    for method in ("ssp", "essp"):
        total = Comparison(0, 0, 0, 1.0)
        for (problem, name), run in runs.items():
            other = runs.get((problem, "wl-evol"))
            if name != method or other is None or not problem.endswith("-10"):
                continue
            seeds = sorted(set(run.seeds) & set(other.seeds))
            found = compare(run.of_seeds(seeds).final, other.of_seeds(seeds).final)
            total = Comparison(
                total.wins + found.wins,
                total.ties + found.ties,
                total.losses + found.losses,
                1.0,
            )
        if total.wins + total.ties + total.losses:
            texts.append(f"{method} {total.wins} wins, {total.ties} ties, {total.losses} losses")
    if not texts:
        return None
    return f"Against `wl-evol`, final values of pairs at N = 10: {'; '.join(texts)}."


def _extreme(out: Path) -> str | None:
    share: dict[str, list[bool]] = {}
    for record in read(out / "synthetic.jsonl"):
        if record["problem"].endswith("-10"):
            found = share.setdefault(record["method"], [])
            found += [m in (9, 45) for m in record["n_edges"][record["n_initial"] :]]
    if not share:
        return None
    each = [f"{method} {100 * np.mean(found):.0f} %" for method, found in share.items()]
    return f"Trees and complete graphs among the proposals at N = 10: {_listed(each)}."


def _physics(out: Path) -> str | None:
    runs = common(_runs(out, "xtb"))
    problems = list(dict.fromkeys(problem for problem, _ in runs))
    if not problems:
        return None
    best = [
        problem
        for problem in problems
        if min((run.final.mean(), name) for (p, name), run in runs.items() if p == problem)[1]
        == _DEFAULT
    ]
    named = f" ({_listed(best)})" if best else ""
    return (
        f"Molecules by physics: `rbf` has the best mean of all methods on {len(best)} of "
        f"{len(problems)} problems{named}. Its wins, ties and losses over all problems and seeds: "
        f"{_listed(_records_against_baselines(runs))}."
    )


def _records_against_baselines(runs: Grid) -> list[str]:
    """For each baseline, wins, ties and losses of the default over all problems and seeds."""
    texts = []
    for baseline in dict.fromkeys(name for _, name in runs if not is_bogrape(name)):
        counts = np.zeros(3, dtype=int)
        for (problem, name), other in runs.items():
            ours = runs.get((problem, _DEFAULT))
            if name == baseline and ours is not None:
                found = compare(ours.final, other.final)
                counts += (found.wins, found.ties, found.losses)
        texts.append(f"`{baseline}` {'–'.join(map(str, counts))}")
    return texts


def _pmo(out: Path) -> str | None:
    runs = common(_runs(out, "pmo"))
    problems = list(dict.fromkeys(problem for problem, _ in runs))
    if not problems:
        return None
    area = {
        key: float(np.mean([record["top_10_auc"] for record in run.records]))
        for key, run in runs.items()
    }
    texts = []
    for baseline in dict.fromkeys(name for _, name in runs if not is_bogrape(name)):
        both = [p for p in problems if (p, baseline) in area and (p, _DEFAULT) in area]
        ahead = sum(area[p, _DEFAULT] > area[p, baseline] for p in both)
        texts.append(f"`{baseline}` on {ahead} of {len(both)}")
    return (
        "PMO, mean area under the curve of the ten best scores (seeds per task: "
        f"{_seeds(list(runs.values()))}): `rbf` is ahead of {_listed(texts)} tasks."
    )


def _grid(out: Path) -> str | None:
    from .experiments.grid import first_reached

    texts = []
    for (_, name), run in _runs(out, "grid").items():
        reached = sum(first_reached(list(values)) is not None for values in run.values)
        texts.append(f"`{name}` {reached} of {len(run.seeds)}")
    if not texts:
        return None
    return f"Runs that reached the published optimum of the distribution grid: {_listed(texts)}."


def _architectures(out: Path) -> str | None:
    ranks: dict[str, dict[tuple[str, int], int]] = {}
    for record in read(out / "nas.jsonl"):
        own = ranks.setdefault(record["method"], {})
        own[record["problem"], record["seed"]] = int(record["rank"])
    if not ranks:
        return None
    # leave out methods with few runs: only runs that all methods have are compared
    most = max(map(len, ranks.values()))
    ranks = {method: found for method, found in ranks.items() if 2 * len(found) >= most}
    shared = sorted(set.intersection(*(set(found) for found in ranks.values())))
    if not shared:
        return None
    problems = sorted({problem for problem, _ in shared})
    texts = []
    for method, found in ranks.items():
        mean = float(np.exp(np.mean([np.log(found[key]) for key in shared])))
        best = sum(
            float(np.median([found[key] for key in shared if key[0] == problem])) <= _TOP
            for problem in problems
        )
        texts.append(f"{method} {mean:.0f} ({best})")
    return (
        f"Rank of the best architecture of NAS-Bench-Graph, geometric mean over {len(shared)} runs "
        f"on {len(problems)} data sets, and in brackets the data sets with a median rank of at "
        f"most {_TOP}: {_listed(texts)}."
    )
