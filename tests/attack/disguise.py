"""Patches that take parts of the engine away, so that proofs have to do without them."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import partial
from typing import Any
from unittest.mock import patch

from ortools.sat.python import cp_model

from bogrape.encoding import GraphEncoding, Structure
from bogrape.graph import Graph
from bogrape.propose.criterion import Criterion
from bogrape.propose.proposal import Request
from bogrape.propose.values import Elite

_EXACT = "bogrape.propose.exact.proof"
_FEW = 100  # evaluations


@contextmanager
def incumbents(how: str, worst_first: Sequence[Graph]) -> Iterator[None]:
    """Patch the local search: as usual, few evaluations, no graph found, or the worst one."""
    if how == "usual":
        yield
        return
    if how == "few":
        portfolio = _module("bogrape.propose.portfolio")
        with patch.object(portfolio, "Request", partial(Request, n_evaluations=_FEW)):
            yield
        return

    def search(objective: Criterion, *, excluded: Collection[str], **_: Any) -> Elite:
        elite = Elite(excluded, identify=objective.space.identity)
        for graph in worst_first if how == "worst" else ():
            if objective.space.identity(graph) not in excluded:
                elite.value = objective.of_graph(graph)
                elite.ties = {objective.space.identity(graph): graph}
                break
        return elite

    users = [f"{_EXACT}.engine", f"{_EXACT}.schedule", "bogrape.propose.mip.propose"]
    with _replaced(users, "search", search):
        yield


def _in_this_process(
    jobs: Sequence[Any],
    deadline: float,
    stop: Callable[[], bool] = lambda: False,
    meanwhile: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[int, Any]]:
    for index, job in enumerate(jobs):
        meanwhile()
        job = copy(job)
        job.time_limit = min(job.time_limit, deadline - time.monotonic())
        yield index, None if job.time_limit <= 0 or stop() else job.solve()


class _NoSymmetry(cp_model.CpSolver):
    """A solver without symmetry detection."""

    n_made = 0

    def __init__(self) -> None:
        super().__init__()
        self.parameters.symmetry_level = 0
        _NoSymmetry.n_made += 1


def _all_numberings(structure: Structure, **options: Any) -> GraphEncoding:
    """The model of a structure that admits all numberings of every graph."""
    if structure.layers is None:  # layers prescribe a numbering
        options["symmetry"] = False
    return GraphEncoding(structure, **options)


@contextmanager
def without_symmetry(whose: str) -> Iterator[None]:
    """The solver without its own symmetry detection, or the models without our rows."""
    with ExitStack() as stack:
        _module(f"{_EXACT}.engine")  # imports all of them
        inside = [name for name in sys.modules if name.startswith(_EXACT)]
        askers = [name for name in inside if hasattr(sys.modules[name], "solve_all")]
        stack.enter_context(_replaced(askers, "solve_all", _in_this_process))
        if whose == "solver":
            stack.enter_context(patch.object(cp_model, "CpSolver", _NoSymmetry))
        else:
            users = [
                f"{_EXACT}.piece_solve",
                f"{_EXACT}.nothing_left",
                "bogrape.encoding.enumeration",
            ]
            stack.enter_context(_replaced(users, "GraphEncoding", _all_numberings))
        yield


@contextmanager
def _replaced(modules: Sequence[str], name: str, by: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(patch.object(_module(module), name, by))
        yield


def _module(name: str) -> Any:
    """A module by its full name: as an attribute of `bogrape`, `propose` is a function."""
    importlib.import_module(name)
    return sys.modules[name]
