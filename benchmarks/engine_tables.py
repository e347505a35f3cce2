"""Tables of the engine benchmark, from the records that `benchmarks.engine` writes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from .markdown_tables import markdown
from .records import Record


def random_table(records: Sequence[Record]) -> str:
    """Random graphs with random values, one row per kernel, size and limit."""
    header = ["kernel", "N", "limit (s)", "seeds", "median (s)", "worst (s)", "proved"]
    header += ["gap at the limit (sd)", "search alone", "peak memory (MB)"]
    rows = []
    for own in _cases([r for r in records if "scip" not in r and not r["molecules"]]):
        seconds = [record["seconds"] for record in own]
        memory = [r["memory_mb"]["self"] + 2 * r["memory_mb"]["largest_worker"] for r in own]
        rows.append(
            [
                *_head(own),
                f"{statistics.median(seconds):.1f}",
                f"{max(seconds):.1f}",
                _proved(own),
                gap_words([record for record in own if record["status"] != "optimal"]),
                _search_words(own),
                f"{max(memory):.0f}",
            ]
        )
    return markdown(header, rows)


def molecule_table(records: Sequence[Record]) -> str:
    """Random molecules with values of an oracle; also shows median values and bounds."""
    header = ["kernel", "N", "limit (s)", "seeds", "median (s)", "proved", "value", "bound"]
    header += ["gap at the limit (sd)", "search alone"]
    rows = []
    for own in _cases([record for record in records if record["molecules"]]):
        middle = {
            key: statistics.median(record[key] for record in own)
            for key in ("seconds", "value", "bound")
        }
        rows.append(
            [
                *_head(own),
                f"{middle['seconds']:.1f}",
                _proved(own),
                f"{middle['value']:.2f}",
                f"{middle['bound']:.2f}",
                gap_words([record for record in own if record["status"] != "optimal"]),
                _search_words(own),
            ]
        )
    return markdown(header, rows)


def scip_table(records: Sequence[Record]) -> str:
    """SCIP compared with the exact engine, one row per instance."""
    header = ["kernel", "N", "seed", "limit (s)", "exact (s)"]
    header += ["SCIP, published form", "SCIP, weight space"]
    rows = []
    for r in sorted(records, key=lambda r: (r["kernel"], r["n"], r["seed"])):
        if "scip" not in r:
            continue
        cells = []
        for name in ("scip published", "scip weight"):
            column = r["scip"].get(name, {})
            if "seconds" not in column:
                cells.append(str(column.get("status", "-")))
                continue
            cells.append(
                f"{column['seconds']:.1f} s, {column['status']}, gap (sd) {gap_words([column])}, "
                f"claimed off by {column['off']:.1g}"
            )
        exact = f"{r['seconds']:.1f} ({r['status']})"
        rows.append([r["kernel"], str(r["n"]), str(r["seed"]), f"{r['limit']:.0f}", exact, *cells])
    return markdown(header, rows)


def gap_words(records: Sequence[Record]) -> str:
    """Median and worst gap in standard deviations of the observed values (`Proposal.gap`).

    >>> gap_words([{"standard_gap": 0.5}, {"standard_gap": 1.0}])
    '0.75 (worst 1)'
    """
    if any(record["standard_gap"] is None for record in records):
        return "no bound"
    gaps = [float(record["standard_gap"]) for record in records]
    if len(gaps) < 2:
        return f"{gaps[0]:.2g}" if gaps else "-"
    return f"{statistics.median(gaps):.2g} (worst {max(gaps):.2g})"


def _cases(records: Sequence[Record]) -> list[list[Record]]:
    """Records grouped by size, kernel and limit."""
    keys = sorted({(r["n"], r["kernel"], r["limit"]) for r in records})
    return [[r for r in records if (r["n"], r["kernel"], r["limit"]) == key] for key in keys]


def _head(own: Sequence[Record]) -> list[str]:
    return [own[0]["kernel"], str(own[0]["n"]), f"{own[0]['limit']:.0f}", str(len(own))]


def _proved(own: Sequence[Record]) -> str:
    return f"{sum(record['status'] == 'optimal' for record in own)}/{len(own)}"


def _search_words(own: Sequence[Record]) -> str:
    """How often local search alone found the best value, and its largest error."""
    off = [(r["search_value"] - r["value"]) / r["scale"] for r in own]
    hits = f"{sum(x <= 1e-6 for x in off)}/{len(own)}"
    return hits if max(off) <= 1e-6 else f"{hits}, worst {max(off):.2g} sd off"
