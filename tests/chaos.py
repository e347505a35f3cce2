"""Programs for tests with kills, crowds and full disks: ``python chaos.py COMMAND JSON``.

They print JSON. They fork, which is safe because each of them is a fresh process with one thread,
and fast because the children find everything imported.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import signal
import sys
import time
import traceback
from typing import Any, NoReturn

from bogrape import Graph, GraphSpace, Study
from bogrape.errors import StorageError

ASKING, SOLVING, TELLING = 1, 2, 3
PHASES = {ASKING: "asking", SOLVING: "solving", TELLING: "telling"}


def objective(graph: Graph) -> float:
    """Any function that depends only on the graph."""
    return graph.n_edges + 0.1 * float(graph.labels.sum()) + graph.n_nodes / 7


def open_study(url: str, name: str, seed: int, n_initial: int = 3) -> Study:
    space = GraphSpace(n_nodes=6, labels=2)
    return Study(space, url, name, method="sample", n_initial=n_initial, seed=seed)


def kills(url: str, n_studies: int, n_kills: int, seed: int) -> dict[str, Any]:
    """Kill a worker ``n_kills`` times in each of ``n_studies`` studies, in every phase of its work.

    After each kill a new worker opens the study and continues. No acknowledged value may be lost,
    no graph may occur twice, at most one trial may be unfinished, and the graphs must be those of
    an uninterrupted study.
    """
    rng = random.Random(seed)
    shared = mmap.mmap(-1, 16)
    hit = dict.fromkeys(PHASES.values(), 0)
    n_acknowledged = n_trials = 0
    for i in range(n_studies):
        name = f"study {i}"
        acknowledged: dict[int, float] = {}
        for _ in range(n_kills):
            target, loops = rng.choice(list(PHASES)), rng.randrange(2)
            reader, writer = os.pipe()
            shared[0] = shared[1] = 0
            pid = os.fork()
            if pid == 0:
                os.close(reader)
                _work(url, name, i, shared, writer)
            os.close(writer)
            deadline = time.monotonic() + 30
            while (shared[0] != target or shared[1] < loops) and time.monotonic() < deadline:
                time.sleep(0.0002)
            time.sleep(rng.random() * 0.006)
            hit[PHASES.get(shared[0], "asking")] += 1
            os.kill(pid, signal.SIGKILL)
            _, status = os.waitpid(pid, 0)
            text = _read_all(reader)
            lines = text.split("\n")[:-1]  # an incomplete line was not acknowledged
            if any(line.startswith("error") for line in lines):
                return {"error": text}
            if not os.WIFSIGNALED(status):
                return {"error": f"a worker ended by itself: {status} {text}"}
            acknowledged.update((int(a), float(b)) for a, b in (line.split() for line in lines))
        trials = Study.load(url, name).trials
        told = {t.id: t.value for t in trials if t.state == "complete"}
        keys = {t.graph.canonical_key() for t in trials}
        lost = [k for k, value in acknowledged.items() if told.get(k) != value]
        same = [t.graph for t in trials] == _uninterrupted(i, len(trials))
        unfinished = len(trials) - len(told)
        if lost or len(keys) < len(trials) or unfinished > 1 or not same:
            return {
                "error": f"{name}: lost {lost}, {len(trials)} trials of {len(keys)} graphs, "
                f"{unfinished} unfinished, as uninterrupted: {same}"
            }
        study = Study.load(url, name)  # the study can continue
        trial = study.ask(worker="worker")
        study.tell(trial, objective(trial.graph))
        n_acknowledged += len(acknowledged)
        n_trials += len(trials)
    return {"hit": hit, "acknowledged": n_acknowledged, "trials": n_trials}


def _work(url: str, name: str, seed: int, shared: mmap.mmap, writer: int) -> NoReturn:
    try:
        shared[0] = ASKING
        study = open_study(url, name, seed)
        plan = study._asking.planner.next

        def solving(*arguments: Any) -> Any:
            shared[0] = SOLVING
            try:
                return plan(*arguments)
            finally:
                shared[0] = ASKING

        study._asking.planner.next = solving  # type: ignore[method-assign]
        while True:
            shared[0] = ASKING
            trial = study.ask(worker="worker")
            value = objective(trial.graph)
            shared[0] = TELLING
            study.tell(trial, value)
            os.write(writer, f"{trial.id} {value!r}\n".encode())
            shared[1] = min(255, shared[1] + 1)
    except BaseException:
        os.write(writer, ("error " + traceback.format_exc().replace("\n", " | ") + "\n").encode())
    os._exit(1)


def _uninterrupted(seed: int, n: int) -> list[Graph]:
    space = GraphSpace(n_nodes=6, labels=2)
    study = Study(space, None, "reference", method="sample", n_initial=3, seed=seed)
    graphs = []
    for _ in range(n):
        trial = study.ask(worker="worker")
        graphs.append(trial.graph)
        study.tell(trial, objective(trial.graph))
    return graphs


def _read_all(descriptor: int) -> str:
    with os.fdopen(descriptor, encoding="utf-8") as file:
        return file.read()


def crowd(url: str, n_processes: int, n_each: int, seed: int) -> dict[str, Any]:
    """Several processes ask and tell one study at the same time."""
    open_study(url, "crowd", seed, n_initial=n_processes * n_each)
    children = []
    for worker in range(n_processes):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                study = open_study(url, "crowd", seed, n_initial=n_processes * n_each)
                for _ in range(n_each):
                    trial = study.ask(worker=f"worker {worker}")
                    study.tell(trial, objective(trial.graph))
                code = 0
            except BaseException:
                traceback.print_exc()
            os._exit(code)
        children.append(pid)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    trials = Study.load(url, "crowd").trials
    by_worker = [sum(t.worker == f"worker {w}" for t in trials) for w in range(n_processes)]
    return {
        "codes": codes,
        "trials": len(trials),
        "complete": sum(t.value == objective(t.graph) for t in trials),
        "graphs": len({t.graph.canonical_key() for t in trials}),
        "by_worker": by_worker,
        "ids": [t.id for t in trials] == list(range(len(trials))),
    }


def full_disk(url: str, path: str, seed: int) -> dict[str, Any]:
    """Work until the disk is full (a limit on the size of files), then continue with more room."""
    study = open_study(url, "full", seed)
    study.storage.close()  # type: ignore[attr-defined]
    acknowledged: dict[int, float] = {}
    errors = []
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for round_ in range(3):
        study = Study.load(url, "full")
        size = max(os.path.getsize(p) for p in (path, path + "-wal") if os.path.exists(p))
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 6000 * (round_ + 1), hard))
        try:
            for _ in range(60):
                trial = study.ask(worker="worker")
                value = objective(trial.graph)
                study.tell(trial, value)
                acknowledged[trial.id] = value
        except StorageError as error:
            errors.append(str(error))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        trial = study.ask(worker="worker")  # the same object continues once there is room
        study.tell(trial, objective(trial.graph))
        acknowledged[trial.id] = objective(trial.graph)
        study.storage.close()  # type: ignore[attr-defined]
    trials = Study.load(url, "full").trials
    return {
        "errors": errors,
        "lost": [t.id for t in trials if acknowledged.get(t.id, t.value) != t.value],
        "missing": len(set(acknowledged) - {t.id for t in trials if t.state == "complete"}),
        "trials": len(trials),
        "graphs": len({t.graph.canonical_key() for t in trials}),
        "same": [t.graph for t in trials] == _uninterrupted(seed, len(trials)),
    }


if __name__ == "__main__":
    _uninterrupted(0, 5)  # so that the children find everything imported
    import bogrape.storage  # noqa: F401

    commands = {"kills": kills, "crowd": crowd, "full_disk": full_disk}
    print(json.dumps(commands[sys.argv[1]](**json.loads(sys.argv[2]))))
