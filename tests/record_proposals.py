"""Proposals before and after a change: recorded, and compared bit by bit.

    python tests/record_proposals.py --against OLD/src     # OLD: a checkout from before the change
    python tests/record_proposals.py --record              # write tests/data/proposals.json
    python tests/record_proposals.py --record --src OLD/src

All questions (`proposal_instances`) are put to one process per version, in the same order; with
``--fresh`` each is put to a process of its own, so that nothing the engine remembers of one
question can change the answer to another. The record is made that way, and the test that reads it
asks in one process: answers that depended on the order would differ.

Answers are kept in a file of JSON lines (``--log``) under a digest of the sources that gave them:
a run that was stopped continues where it ended, and unchanged sources are not asked again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
RECORD = HERE / "data" / "proposals.json"

_LOG = Path(tempfile.gettempdir()) / "bogrape-proposals.jsonl"
_ONE_SEARCH = 400_000  # evaluations: more are spent only if timing decides so
_ATTEMPTS = 3  # at questions whose answers depended on timing
_COMPARED = ("value", "bound", "status", "method", "n_evaluations", "identity", "graph")

Row = dict[str, Any]


# -- asking -------------------------------------------------------------------------------------


def digest(source: Path) -> str:
    """Digest of the sources of the package and of the questions."""
    total = hashlib.sha256((HERE / "proposal_instances.py").read_bytes())
    for path in sorted((source / "bogrape").rglob("*")):
        if path.suffix in (".py", ".json", ".npz"):
            total.update(path.read_bytes())
    return total.hexdigest()[:16]


def names() -> list[str]:
    """All questions, in order."""
    return list(json.loads(next(_lines_of(SOURCE, "--names"))))


def solved(questions: Sequence[str], source: Path, *, fresh: bool) -> Iterator[Row]:
    """The answers of one version of the package, as they come."""
    for some in [[name] for name in questions] if fresh else [questions] if questions else []:
        yield from map(json.loads, _lines_of(source, "--solve", *some))


def _lines_of(source: Path, *arguments: str) -> Iterator[str]:
    """Lines printed by a process that imports the package from this folder."""
    environment = {**os.environ, "PYTHONPATH": str(source.resolve())}
    environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).resolve()), "--src", str(source), *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield from child.stdout
    if child.returncode:
        raise SystemExit(f"asking {source} failed: see above")


def _as_child(options: argparse.Namespace) -> None:
    """Print the answers of the requested sources, after checking that no others were imported."""
    import bogrape

    from proposal_instances import INSTANCES

    found = Path(bogrape.__file__).resolve().parents[1]
    if found != options.src.resolve():
        raise SystemExit(f"expected bogrape from {options.src}, got it from {found}")
    if options.names:
        print(json.dumps(list(INSTANCES)))
    for name in options.solve:
        started = time.monotonic()
        answers = INSTANCES[name].answers()
        row = {"name": name, "seconds": time.monotonic() - started, "answers": answers}
        print(json.dumps(row), flush=True)


# -- the file of answers ------------------------------------------------------------------------


def read(log: Path) -> dict[tuple[str, str], Row]:
    """Answers by digest and question; a line that a kill cut off is ignored."""
    out = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        out[row["digest"], row["name"]] = row
    return out


def answered(source: Path, log: Path, *, fresh: bool) -> dict[str, Row]:
    """All answers of a version; those missing from the file are computed and added to it."""
    mark, every = digest(source) + fresh * " fresh", names()
    for _ in range(_ATTEMPTS):
        known = {name: row for (made_by, name), row in read(log).items() if made_by == mark}
        missing = [n for n in every if n not in known or the_clock_had_a_say(known[n]["answers"])]
        for i, row in enumerate(solved(missing, source, fresh=fresh), 1):
            with log.open("a", encoding="utf-8") as file:
                file.write("\n" * (log.stat().st_size > 0) + json.dumps({"digest": mark, **row}))
            print(f"{source}: {i} of {len(missing)}, {row['name']}", file=sys.stderr)
    known = {name: row for (made_by, name), row in read(log).items() if made_by == mark}
    return {name: known[name] for name in every}


def the_clock_had_a_say(answers: Sequence[Row]) -> bool:
    """True if the machine was so busy that a proof took seconds, and a longer search followed.

    The proved value is then the same, but the graph may be another one of those that are tied.
    """
    return any(
        answer["status"] == "time_limit" or answer["n_evaluations"] > _ONE_SEARCH
        for answer in answers
    )


# -- comparing ----------------------------------------------------------------------------------


def differences(
    before: Sequence[Row],
    after: Sequence[Row],
    near: float = 0.0,
    compared: Sequence[str] = _COMPARED,
) -> list[str]:
    """Differences between two lists of answers.

    Args:
        before: answers on record.
        after: answers now.
        compared: keys to compare.
        near: how far values and bounds may differ, relative to the value where that is above 1;
            0 if every bit must be equal. The number of evaluations and the numbering of the nodes
            depend on single bits, too, so they are compared only then.
    """
    if len(before) != len(after):
        return [f"{len(before)} answers before, {len(after)} after"]
    out = []
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        for key in compared:
            if key in ("value", "bound") and near and None not in (old[key], new[key]):
                same = abs(old[key] - new[key]) <= near * max(1.0, abs(old["value"]))
            elif key in ("n_evaluations", "graph") and near:
                continue
            else:
                same = old[key] == new[key]
            if not same:
                out.append(f"answer {i}: {key} was {old[key]!r}, is {new[key]!r}")
    return out


def arithmetic() -> dict[str, Any]:
    """Everything except the package that the last bits of a value depend on."""
    import numpy as np
    from threadpoolctl import threadpool_info

    packages = ("numpy", "scipy", "ortools", "pyscipopt", "igraph", "rdkit")
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "machine": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
        "vectors": np.show_config(mode="dicts")["SIMD Extensions"]["found"],
        "blas": sorted({f"{info['internal_api']} {info.get('architecture')}" for info in blas}),
        **{name: _version(name) for name in packages},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# -- commands -----------------------------------------------------------------------------------


def record(source: Path, log: Path, path: Path = RECORD) -> None:
    """Write the answers of one version of the package to the record."""
    rows = answered(source, log, fresh=True)
    busy = [name for name, row in rows.items() if the_clock_had_a_say(row["answers"])]
    if busy:
        raise SystemExit(f"answers depended on timing in {busy}; try when the machine is less busy")
    lines = (f"{json.dumps(name)}: {json.dumps(row['answers'])}" for name, row in rows.items())
    parts = f'{{\n"arithmetic": {json.dumps(arithmetic())},\n"answers": {{', ",\n".join(lines), "}}"
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
    print(f"{len(rows)} questions, {path.stat().st_size} bytes in {path}")


def compare(old: Path, new: Path, log: Path, *, fresh: bool) -> int:
    """Put all questions to two versions; returns how many are answered differently."""
    before, after = (answered(source, log, fresh=fresh) for source in (old, new))
    n_different = 0
    print(f"{'before':>8} {'after':>8}  {'first value':>24}  question")
    for name, row in after.items():
        times = before[name]["seconds"], row["seconds"]
        value = row["answers"][0]["value"]
        print(f"{times[0]:7.1f}s {times[1]:7.1f}s  {value!r:>24}  {name}")
        wrong = differences(before[name]["answers"], row["answers"])
        n_different += bool(wrong)
        for words in wrong:
            print(f"{'':>17}  DIFFERENT: {words}")
    totals = (sum(row["seconds"] for row in rows.values()) for rows in (before, after))
    print(
        f"{len(after) - n_different} of {len(after)} questions "
        f"({sum(len(row['answers']) for row in after.values())} answers) have identical "
        f"{', '.join(_COMPARED)}; {' s before, '.join(f'{total:.0f}' for total in totals)} s after"
    )
    return n_different


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Compare proposals of two versions of bogrape.")
    parser.add_argument("--src", type=Path, default=SOURCE, help="folder that holds bogrape/")
    parser.add_argument("--against", type=Path, help="such a folder from before the change")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    parser.add_argument(
        "--log", type=Path, default=_LOG, help="answers so far (default: %(default)s)"
    )
    parser.add_argument("--fresh", action="store_true", help="a process for each question")
    parser.add_argument("--solve", nargs="+", default=(), help=argparse.SUPPRESS)
    parser.add_argument("--names", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.solve or options.names:
        _as_child(options)
        return 0
    if options.record:
        record(options.src, options.log)
    if options.against:
        return min(1, compare(options.against, options.src, options.log, fresh=options.fresh))
    if not options.record:
        parser.error("nothing to do: give --against, --record, or both")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
