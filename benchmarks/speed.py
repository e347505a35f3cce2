"""Speed of the hot loops, measured in one run: ``python -m benchmarks.speed``.

With ``--out docs/results`` the rows replace those kept there, for the table in the documentation.

Three questions: how fast is a Gram matrix here and in GraKel, how long does ``import bogrape``
take, and how many acquisition values per second does the local search compute. Everything runs in
one process with one thread.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from bogrape.acquisition import LCB
from bogrape.arrays import FloatArray
from bogrape.counts import count
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.kernels import KERNELS
from bogrape.propose.criterion import Criterion
from bogrape.propose.local.search import search
from bogrape.space import GraphSpace

from .markdown_tables import markdown
from .records import Record, appending, provenance

_N_LABELS = 5
_GRAKEL_TARGET = 20.0  # times faster
_IMPORT_TARGET = 0.5  # seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, help="folder to keep the rows in, as speed.jsonl")
    out: Path | None = parser.parse_args(arguments).out
    rows = []
    print(f"{'what':<52}{'here':>14}{'other':>14}{'ratio':>10}")
    with threadpool_limits(1):
        for what, here, other, ratio in chain(gram_rows(), import_rows(), search_rows()):
            print(f"{what:<52}{here:>14}{other:>14}{ratio:>10}", flush=True)
            rows.append({"what": what.strip(), "here": here, "other": other, "ratio": ratio})
    if out is not None:
        (out / "speed.jsonl").unlink(missing_ok=True)
        with appending(out / "speed.jsonl") as file:
            for row in rows:
                file.append({**row, **provenance()})


def table(records: Sequence[Record]) -> str:
    """The stored rows, as Markdown."""
    header = ["what", "here", "other", "ratio"]
    return markdown(header, [[record[name] or "-" for name in header] for record in records])


Row = tuple[str, str, str, str]  # what, here, other, ratio


def gram_rows(n_graphs: int = 1000, n_nodes: int = 30) -> Iterator[Row]:
    """Gram matrix of the SP kernel, counting included, here and in GraKel."""
    graphs = random_graphs(n_graphs, n_nodes)
    seconds, gram = _best_of(3, lambda: _sp_gram(graphs))
    what = f"SP Gram matrix, {n_graphs} graphs of {n_nodes} nodes"
    try:
        import grakel
    except ImportError:
        yield what, f"{seconds:.3f} s", "no GraKel", "-"
        return
    # Building GraKel's objects is not timed; it caches nothing on them before a fit.
    theirs = [
        grakel.Graph(g.adjacency.astype(int), node_labels=dict(enumerate(g.labels.tolist())))
        for g in graphs
    ]
    kernel = grakel.ShortestPath(normalize=False)
    their_seconds, their_gram = _best_of(1, lambda: kernel.fit_transform(theirs))
    # GraKel leaves out the pairs u = v, which add the product of the label counts.
    loops = count(graphs).features
    if not np.array_equal(np.rint(gram * n_nodes**4) - loops @ loops.T, their_gram):
        raise AssertionError("the two Gram matrices differ, so the comparison is meaningless")
    ratio = their_seconds / seconds
    yield what, f"{seconds:.3f} s", f"{their_seconds:.3f} s", f"{ratio:.0f}x"
    yield _verdict("  target: 20 times faster", ratio >= _GRAKEL_TARGET)


def import_rows() -> Iterator[Row]:
    """Time of ``import bogrape`` in a fresh interpreter, and of numpy alone."""
    ours, numpy = (min(_import_seconds(name) for _ in range(5)) for name in ("bogrape", "numpy"))
    yield "import bogrape (other: numpy)", f"{ours:.3f} s", f"{numpy:.3f} s", f"{ours / numpy:.1f}x"
    yield _verdict("  target: under half a second", ours < _IMPORT_TARGET)


def search_rows(sizes: Sequence[int] = (10, 20, 30), n_evaluations: int = 40_000) -> Iterator[Row]:
    """Acquisition values per second in the local search, all overheads included."""
    for name in KERNELS:
        for n in sizes:
            space = GraphSpace(n_nodes=n, labels=_N_LABELS)
            graphs = space.sample(30, seed=n)
            values = [float(np.mean(g.distances())) + float(np.mean(g.labels)) for g in graphs]
            gp = GraphGP(name, n_labels=_N_LABELS).fit(graphs, values)
            objective = Criterion(space, gp.posterior, LCB())
            search(objective, n_evaluations=1000)  # late imports are not timed
            start = time.perf_counter()
            elite = search(objective, n_evaluations=n_evaluations, starts=graphs[:5])
            rate = elite.n_evaluations / (time.perf_counter() - start)
            yield (
                f"local search, {name.upper()}, n = {n}, values per second",
                f"{rate:,.0f}",
                "",
                "",
            )


def random_graphs(k: int, n: int, seed: int = 0) -> list[Graph]:
    """Connected labelled graphs: a random tree and about as many further edges."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(k):
        matrix = np.triu(rng.random((n, n)) < 2.0 / n, 1)
        matrix[[rng.integers(v) for v in range(1, n)], np.arange(1, n)] = True
        out.append(Graph(matrix | matrix.T, rng.integers(0, _N_LABELS, n)))
    return out


def _sp_gram(graphs: Sequence[Graph]) -> FloatArray:
    counts = count(graphs)
    return KERNELS["sp"].cross(counts, counts)


def _best_of(k: int, compute: Callable[[], FloatArray]) -> tuple[float, FloatArray]:
    """Shortest of k runs, in seconds, and the result of the last."""
    seconds = float("inf")
    for _ in range(k):
        start = time.perf_counter()
        result = compute()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds, result


def _import_seconds(name: str) -> float:
    code = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _verdict(what: str, met: bool) -> Row:
    return what, "met" if met else "MISSED", "", ""


if __name__ == "__main__":
    main()
