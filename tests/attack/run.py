"""Run many instances, one after another: seeded, resumable, and limited in time.

    python tests/attack/run.py --instances 2000 --seed 0 --out attack.jsonl
    python tests/attack/run.py --seed 0 --only 17      # run one of them again, and print it

Instances that are in the file are skipped. Every instance depends only on the seed and its number
(and on timing, and on what the engine remembers of earlier ones in the same process).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from attack.check import Record, attack
from attack.instances import described, instance

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Recorded rows; a line that a kill cut off is ignored."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def run(n: int, seed: int, path: Path | None = None, seconds: float = 1e9) -> Iterator[Row]:
    """Run those of the instances 0..n-1 that are not in the file, as long as there is time."""
    done = {(row["seed"], row["instance"]) for row in (read(path) if path else ())}
    end = time.monotonic() + seconds
    for index in range(n):
        if (seed, index) in done:
            continue
        if time.monotonic() > end:
            return
        row = attacked(seed, index).as_dict()
        if path is not None:
            start = "" if not path.exists() or path.read_bytes()[-1:] in (b"\n", b"") else "\n"
            with path.open("a") as file:
                file.write(f"{start}{json.dumps(row)}\n")
        yield row


def attacked(seed: int, index: int) -> Record:
    """Attack one instance; warnings raised by the package are errors."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="bogrape")
        return attack(instance(seed, index))


def summary(rows: Iterable[Row]) -> str:
    """Counts of outcomes, and the command that repeats each failure."""
    rows = list(rows)
    failed = [row for row in rows if row["failures"]]
    seconds = sum(row["seconds"] for row in rows)
    lines = [f"{len(rows)} instances in {seconds:.0f} s, {len(failed)} failures"]
    for column in ("outcome", "kernel", "method", "incumbent"):
        counts = Counter(row[column] for row in rows)
        lines.append(f"{column}: " + ", ".join(f"{k} {v}" for k, v in counts.most_common()))
    lines.append(f"proved again without symmetries: {sum(row['guarded'] for row in rows)}")
    for row in failed:
        lines.append(f"FAILED {row['failures'][0]}")
        lines.append(f"  {sys.executable} {__file__} --seed {row['seed']} --only {row['instance']}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=2000, help="number of instances (2000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("attack.jsonl"), help="file of results")
    parser.add_argument("--minutes", type=float, default=1e6, help="stop after this time")
    parser.add_argument("--only", type=int, help="run only this instance, and print it")
    given = parser.parse_args()
    if given.only is not None:
        print(described(instance(given.seed, given.only)))
        record = attacked(given.seed, given.only)
        print(json.dumps(record.as_dict(), indent=1))
        print("\n".join(record.failures))
        return int(bool(record.failures))
    for row in run(given.instances, given.seed, given.out, 60 * given.minutes):
        if row["failures"]:
            print(f"instance {row['instance']}: {row['failures'][0]}", flush=True)
    rows = [row for row in read(given.out) if row["seed"] == given.seed]
    print(summary(rows))
    return int(any(row["failures"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
