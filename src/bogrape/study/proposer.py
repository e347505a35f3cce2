"""``python -m bogrape.study.proposer``: a process that plans the next graphs of one study.

It is not a `multiprocessing` process: those import the user's script again. It speaks to the
process that started it through the connection whose descriptor is its only argument, and ends when
that process does.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from ..propose.child import wake_with_parents_end
from .ahead import Request, Unreadable
from .planner import Planner
from .trial import Trial


def main(descriptor: int) -> None:
    """Answer requests with a `Plan` or the exception that planning ended with."""
    wake_with_parents_end()
    link: Connection[Any, Any] = Connection(descriptor)
    requests: queue.Queue[Request] = queue.Queue()
    # The connection must be read while a graph is planned, since its end is the end of the parent.
    threading.Thread(target=_listen, args=(link, requests), daemon=True).start()
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


def _listen(link: Connection[Any, Any], requests: queue.Queue[Request]) -> None:
    while True:
        try:
            requests.put(link.recv())
        except (EOFError, OSError):
            os._exit(0)
        except Exception as error:  # for instance a class of the user's script
            link.send(Unreadable(f"{type(error).__name__}: {error}"))


if __name__ == "__main__":
    main(int(sys.argv[1]))
