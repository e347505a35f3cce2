"""Time and memory of proposals in large spaces: ``python -m benchmarks.large_spaces``.

A proposal should return within two seconds after its time limit and use no more than two gigabytes,
for every space of up to 100 nodes and 20 labels; its status, or an error, says whether it finished.
Each case runs in a process of its own. The memory is that of this process and its descendants,
less the memory before the proposal, sampled every 20 ms. Give parts of names to run only some of
the cases.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bogrape.acquisition import EI, LCB
from bogrape.constraints import Acyclic, DegreeRange, DiameterRange, RequiredEdge, TwoConnected
from bogrape.errors import BoGrapeError
from bogrape.gp import GraphGP
from bogrape.graph import Graph
from bogrape.kernels import KERNELS, KernelName
from bogrape.propose import Method, propose
from bogrape.space import GraphSpace
from bogrape.study import Study

from .checkout import ROOT

MOST_SECONDS_OVER = 2.0
MOST_BYTES = 2 * 10**9
_N_OBSERVATIONS = 12
_GIVEN_UP_AFTER = 60.0  # seconds past the limit
_MOST_ADDRESSES = 8 * 10**9  # bytes per process, so that a mistake does not bring the machine down
_LOOK_EVERY = 0.02


@dataclass(frozen=True, kw_only=True)
class Case:
    """One proposal, or the first graphs of a study."""

    name: str
    space: Callable[[], GraphSpace]
    kernel: KernelName = "sp"
    acquisition: str = "lcb"
    method: Method = "auto"
    time_limit: float = 3.0
    asks: int = 0  # of a study, instead of a call of `propose`


def _plain(n: int | tuple[int, int] = 100, labels: int = 20, **rest: Any) -> GraphSpace:
    return GraphSpace(n, labels=labels, **rest)


def _hard(labels: int = 20) -> GraphSpace:
    """A space that contains hardly any random graph, and that no walk finds quickly."""
    return _plain(labels=labels, rules=[DegreeRange(maximum=3), DiameterRange(maximum=7)])


def _molecules(n: int | tuple[int, int]) -> GraphSpace:
    from bogrape.molecules import molecule_space

    return molecule_space("qm9", n_atoms=n)


def _sites() -> GraphSpace:
    names = [f"site-{i}" for i in range(100)]
    labels = {name: f"kind-{i % 20}" for i, name in enumerate(names)}
    return GraphSpace(nodes=tuple(names), labels=labels, rules=(RequiredEdge("site-0", "site-1"),))


_HEURISTICS: tuple[Method, ...] = ("search", "evolve", "sample")


def cases() -> Iterator[Case]:
    """All measurements."""
    labelled: tuple[KernelName, ...] = ("sp", "esp")
    for kernel in KERNELS:
        for acquisition in ("lcb", "ei"):
            yield Case(
                name=f"100 nodes {kernel} {acquisition} exact",
                space=_plain,
                kernel=kernel,
                acquisition=acquisition,
            )
    for kernel in labelled:
        for method in _HEURISTICS:
            yield Case(
                name=f"100 nodes {kernel} {method}", space=_plain, kernel=kernel, method=method
            )
    yield Case(name="50 nodes sp exact", space=lambda: _plain(50), time_limit=5.0)
    yield Case(name="100 nodes, 4 labels, sp exact", space=lambda: _plain(labels=4))
    yield Case(name="100 nodes, 2 labels, sp exact", space=lambda: _plain(labels=2))
    yield Case(name="100 nodes, 3 labels, esp exact", space=lambda: _plain(labels=3), kernel="esp")
    yield Case(name="100 nodes, 1 label, ssp exact", space=lambda: _plain(labels=1), kernel="ssp")
    yield Case(name="degree 3, diameter 7, ssp auto", space=_hard, kernel="ssp", time_limit=0.5)
    yield Case(name="2..100 nodes sp auto", space=lambda: _plain((2, 100)))
    for method in _HEURISTICS:
        name = f"degree 3, diameter 7, ssp {method}"
        yield Case(name=name, space=_hard, kernel="ssp", method=method, time_limit=0.5)
        yield Case(name=f"2..100 nodes sp {method}", space=lambda: _plain((2, 100)), method=method)
    yield Case(name="2..100 nodes ssp auto", space=lambda: _plain((2, 100)), kernel="ssp")
    yield Case(
        name="2..100 nodes esp ei auto",
        space=lambda: _plain((2, 100)),
        kernel="esp",
        acquisition="ei",
    )
    yield Case(
        name="strong digraphs sp auto", space=lambda: _plain(directed=True, connected="strong")
    )
    yield Case(
        name="acyclic digraphs esp auto",
        space=lambda: _plain(directed=True, rules=[Acyclic()]),
        kernel="esp",
    )
    yield Case(name="3 edge labels sp auto", space=lambda: _plain(edge_labels=3))
    yield Case(
        name="3 edge labels, digraphs, ssp search",
        space=lambda: _plain(edge_labels=3, directed=True),
        kernel="ssp",
        method="search",
    )
    yield Case(name="8 features essp auto", space=lambda: _plain(features=8), kernel="essp")
    yield Case(name="100 named sites sp auto", space=_sites)
    yield Case(name="two-connected sp auto", space=lambda: _plain(rules=[TwoConnected()]))
    yield Case(
        name="diameter 90, ssp search",
        space=lambda: _plain(rules=[DiameterRange(90)]),
        kernel="ssp",
        method="search",
    )
    yield Case(name="molecules, 32 atoms, sp auto", space=lambda: _molecules(32))
    yield Case(name="molecules, 60 atoms, esp auto", space=lambda: _molecules(60), kernel="esp")
    yield Case(
        name="molecules, 100 atoms, sp search", space=lambda: _molecules(100), method="search"
    )
    yield Case(
        name="molecules, 10..40 atoms, ssp auto", space=lambda: _molecules((10, 40)), kernel="ssp"
    )
    for kernel in KERNELS:
        yield Case(
            name=f"20 seconds, 100 nodes {kernel} exact",
            space=_plain,
            kernel=kernel,
            time_limit=20.0,
        )
    yield Case(name="study, 100 nodes sp", space=_plain, asks=6)
    yield Case(name="study, 2..100 nodes sp", space=lambda: _plain((2, 100)), asks=6)
    yield Case(
        name="study, degree 3, diameter 7, ssp", space=_hard, kernel="ssp", time_limit=0.5, asks=6
    )
    yield Case(name="study, 32 atoms, sp", space=lambda: _molecules(32), asks=6)


# -- in the process of one case ---------------------------------------------------------------


def observations(space: GraphSpace, seed: int = 0) -> tuple[list[Graph], list[float]]:
    """Graphs of the right shape, in the space or not: sampling the space may take too long."""
    rng = np.random.default_rng(seed)
    graphs = []
    for n in np.linspace(space.n_min, space.n_max, _N_OBSERVATIONS).astype(int).tolist():
        matrix = np.triu(rng.random((n, n)) < 2.0 / n, 1)
        matrix[[rng.integers(v) for v in range(1, n)], np.arange(1, n)] = True
        matrix = matrix if space.directed else matrix | matrix.T
        graphs.append(
            Graph(
                matrix,
                rng.integers(0, space.n_labels, n),
                rng.random((n, space.n_features)) < 0.5,
                space.directed,
                edge_labels=matrix.astype(int) if space.n_edge_labels else None,
            )
        )
    return graphs, [g.n_edges / g.n_nodes + float(g.labels.mean()) for g in graphs]


def _import_the_rest() -> None:
    """Do all late imports, so that they are not measured: they do not depend on the space."""
    GraphSpace(3).enumerate(1)
    small = GraphSpace(4)
    graphs = small.sample(3, distinct=True)
    propose(small, GraphGP("ssp").fit(graphs, [0.0, 1.0, 2.0]), time_limit=5.0)


def run(case: Case) -> None:
    """Run a case; prints the memory before it, then its result, as JSON."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_MOST_ADDRESSES, _MOST_ADDRESSES))
    space = case.space()
    gp = None
    if not case.asks:
        gp = GraphGP(case.kernel, n_labels=space.n_labels).fit(*observations(space))
    _import_the_rest()
    acquisition = LCB() if case.acquisition == "lcb" else EI()
    print(_resident(Path("/proc/self")), flush=True)
    worst = 0.0
    ends: list[str] = []
    study = None
    for i in range(case.asks or 1):
        began = time.monotonic()
        try:
            if gp is not None:
                proposal = propose(space, gp, acquisition, case.method, case.time_limit)
                ends.append(proposal.status)
            else:
                study = study or Study(
                    space, kernel=case.kernel, n_initial=4, time_limit=case.time_limit
                )
                trial = study.ask()
                ends.append(trial.origin)
        except (BoGrapeError, MemoryError) as error:
            ends.append(type(error).__name__)
        worst = max(worst, time.monotonic() - began - case.time_limit)
        if study is not None and ends[-1] in ("initial", "random", "proposal"):
            study.tell(trial, float(np.sin(i)))
    print(json.dumps([worst, " ".join(dict.fromkeys(ends))]), flush=True)


# -- in the process that measures -------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """Measurement of one case."""

    seconds_over: float  # past the limit; infinite if it was given up
    n_bytes: int
    ended: str  # the status of the proposal, or the error

    @property
    def kept(self) -> bool:
        """True if the case stayed within its time and memory."""
        known = self.ended not in ("given up", "died", "MemoryError")
        return known and self.seconds_over <= MOST_SECONDS_OVER and self.n_bytes <= MOST_BYTES


def measure(case: Case) -> Outcome:
    """Run the case in a process of its own and watch it."""
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name, "--run", case.name],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    given_up = threading.Timer(_GIVEN_UP_AFTER + case.time_limit, process.kill)
    given_up.start()
    try:
        before = process.stdout.readline()
        peak, done = [0], threading.Event()
        watch = threading.Thread(target=_watch, args=(process.pid, peak, done), daemon=True)
        watch.start()
        said = process.stdout.readline()
        done.set()
        watch.join()
        process.wait()
    finally:
        late = not given_up.is_alive()
        given_up.cancel()
    n_bytes = max(0, peak[0] - int(before or 0))
    if not said:
        return Outcome(float("inf"), n_bytes, "given up" if late else "died")
    seconds_over, ended = json.loads(said)
    return Outcome(seconds_over, n_bytes, ended)


def _watch(pid: int, peak: list[int], done: threading.Event) -> None:
    while not done.wait(_LOOK_EVERY):
        peak[0] = max(peak[0], sum(_resident(Path(f"/proc/{p}")) for p in _family(pid)))


def _family(pid: int) -> list[int]:
    """The process and its descendants (Linux)."""
    out = [pid]
    for parent in out:
        try:
            children = Path(f"/proc/{parent}/task").glob("*/children")
            out += [int(child) for path in children for child in path.read_text().split()]
        except OSError:
            continue
    return out


def _resident(process: Path) -> int:
    """Resident memory of a process in bytes; 0 if it has ended."""
    try:
        pages = int((process / "statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * 4096


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of cases")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.run is not None:
        run(next(case for case in cases() if case.name == given.run))
        return
    print(f"{'case':<44}{'limit':>8}{'s over':>9}{'GB':>7}  ended")
    for case in cases():
        if given.names and not any(name in case.name for name in given.names):
            continue
        found = measure(case)
        word = "" if found.kept else "  TOO MUCH"
        print(
            f"{case.name:<44}{case.time_limit:>8g}{found.seconds_over:>9.1f}"
            f"{found.n_bytes / 1e9:>7.2f}  {found.ended}{word}",
            flush=True,
        )


if __name__ == "__main__":
    main()
