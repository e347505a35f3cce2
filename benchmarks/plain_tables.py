"""Tables in documents that are made from stored results, but not by an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from . import (
    dask_tables,
    engine_tables,
    failures,
    findings,
    nas_ceiling,
    nas_findings,
    nas_tables,
    noise,
    order_degree,
    proof_findings,
    scale,
    shortened,
    speed,
    winners,
)
from .records import Record, read

NO_RESULTS = "No results are kept yet."


def _filled(file: str, table: Callable[[Sequence[Record]], str], out: Path) -> str:
    records = read(out / file)
    return table(records) if records else NO_RESULTS


# by its name in documents, a function that makes the table from the results in a folder
PLAIN_TABLES: Mapping[str, Callable[[Path], str]] = {
    "dask-proofs": partial(_filled, dask_tables.FILE, dask_tables.table),
    "elsewhere": findings.elsewhere,
    "engine-random": partial(_filled, "engine.jsonl", engine_tables.random_table),
    "engine-scip": partial(_filled, "engine.jsonl", engine_tables.scip_table),
    "engine-molecules": partial(_filled, "engine.jsonl", engine_tables.molecule_table),
    "failures": partial(_filled, "failures.jsonl", failures.table),
    "findings": findings.findings,
    "losses": findings.losses,
    "molecule-findings": proof_findings.molecule_findings,
    "nas-ceiling": partial(_filled, nas_ceiling.FILE, nas_ceiling.table_of),
    "nas-latency-findings": partial(_filled, nas_tables.SWEEP, nas_findings.latency_findings),
    "nas-left-out": partial(_filled, nas_tables.LEFT_OUT, nas_tables.left_out_table),
    "nas-left-out-findings": partial(_filled, nas_tables.LEFT_OUT, nas_findings.left_out_findings),
    "nas-observed": partial(_filled, nas_tables.OBSERVED, nas_tables.observed_table),
    "nas-observed-findings": partial(_filled, nas_tables.OBSERVED, nas_findings.observed_findings),
    "nas-sweep": partial(_filled, nas_tables.SWEEP, nas_tables.sweep_table),
    "nas-sweep-findings": partial(_filled, nas_tables.SWEEP, nas_findings.sweep_findings),
    "noise": partial(_filled, "noise.jsonl", noise.table),
    "order-degree": partial(_filled, order_degree.FILE, order_degree.table),
    "scale-batches": partial(_filled, scale.FILE, scale.batch_table),
    "scale-observations": partial(_filled, scale.FILE, scale.observations_table),
    "scale-spaces": partial(_filled, scale.FILE, scale.space_table),
    "scale-subsets": partial(_filled, scale.FILE, scale.subset_table),
    "shortened": shortened.table,
    "speed": partial(_filled, "speed.jsonl", speed.table),
    "trajectory-findings": partial(
        _filled, "trajectory-proofs.jsonl", proof_findings.trajectory_findings
    ),
    "winners": winners.table,
}
