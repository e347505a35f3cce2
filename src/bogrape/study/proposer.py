"""The process that plans the next graphs of one study for `bogrape.study.ahead`.

It is not a `multiprocessing` process: those import the user's script again. Its standard input is
the connection to the process that started it, and it ends when that process does.
"""

from __future__ import annotations

import os
import queue
import threading
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from ..space import GraphSpace
from ..trial import Trial
from .ahead import Request, Unreadable
from .planner import Planner
from .settings import StudySettings


def main() -> None:
    """Answer requests with a `Plan`, or with the exception that planning raised."""
    link: Connection[Any, Any] = Connection(os.dup(0))
    requests: queue.Queue[Request] = queue.Queue()
    # The connection must be read while a graph is planned: it ends when the parent does.
    threading.Thread(target=_listen, args=(link, requests), daemon=True).start()
    if requests.empty():
        _rehearse()
    planner: Planner | None = None
    trials: list[Trial] = []
    while True:
        request = requests.get()
        try:
            if request.settings is not None:
                planner = Planner(request.settings)
            for trial in request.changed:
                if trial.id == len(trials):
                    trials.append(trial)
                else:  # keep the graph that has its canonical key cached
                    trials[trial.id] = replace(trial, graph=trials[trial.id].graph)
            assert planner is not None  # the first request has settings
            link.send(planner.next(trials, request.seed, request.rank))
        except Exception as error:  # the parent raises it
            link.send(error)


def _rehearse() -> None:
    """Plan in a tiny space, so that late imports are done before the first request."""
    space = GraphSpace(n_nodes=4)
    trials = [
        Trial(id=i, graph=graph, state="complete", value=float(graph.n_edges))
        for i, graph in enumerate(space.sample(3, seed=0, distinct=True))
    ]
    Planner(StudySettings(space=space, method="sample", n_initial=2)).next(trials, seed=0)


def _listen(link: Connection[Any, Any], requests: queue.Queue[Request]) -> None:
    while True:
        try:
            requests.put(link.recv())
        except (EOFError, OSError):
            os._exit(0)
        except Exception as error:  # for instance a class of the user's script
            link.send(Unreadable(f"{type(error).__name__}: {error}"))
