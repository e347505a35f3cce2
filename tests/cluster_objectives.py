"""Objectives that workers of a cluster import; each run leaves a line in a file."""

from __future__ import annotations

import os
import time
from itertools import count
from pathlib import Path

from bogrape import Graph


class Recorded:
    """Counts edges and notes in a directory which process did so."""

    def __init__(self, directory: Path) -> None:
        self.directory = str(directory)

    def note(self) -> int:
        """Write a file that names this process; returns the number of earlier runs."""
        for before in count():
            try:  # exclusive: of two workers that start at the same moment, one is the first
                with open(Path(self.directory, str(before)), "x", encoding="ascii") as file:
                    file.write(str(os.getpid()))
                return before
            except FileExistsError:
                continue
        raise AssertionError("count() never ends")

    def __call__(self, graph: Graph) -> float:
        self.note()
        return float(graph.n_edges)


class HangsOnce(Recorded):
    """The very first evaluation hangs, so that its worker can be killed."""

    def __call__(self, graph: Graph) -> float:
        if self.note() == 0:
            time.sleep(600)
        return float(graph.n_edges)


class Deadly(Recorded):
    """Ends every worker that evaluates it."""

    def __call__(self, graph: Graph) -> float:  # noqa: ARG002
        self.note()
        os._exit(1)


def broken(graph: Graph) -> float:
    """Raises an error."""
    raise ValueError(f"{graph.n_nodes} nodes are no good")
