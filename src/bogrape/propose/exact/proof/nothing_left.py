"""Explains why there is no graph to propose: all are excluded, or rules contradict each other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from ....constraints import Rule
from ....encoding import GraphEncoding, Structure, structures
from ....encoding.contradiction import contradiction, smallest_conflict
from ....encoding.cpsat import has_solution, new_solver
from ....errors import BoGrapeError, InfeasibleSpaceError, SearchSpaceExhausted
from ....space import GraphSpace
from ...jobs.pool import solve_all
from ...proposal import Request


@dataclass
class Feasible:
    """Job that checks whether any structure has a graph; ``None`` if time runs out."""

    structures: Sequence[Structure]
    time_limit: float

    def solve(self) -> bool | None:
        """True if some structure has a graph."""
        deadline = time.monotonic() + self.time_limit
        undecided = False
        for structure in self.structures:
            solver = new_solver(deadline - time.monotonic())
            status = solver.solve(GraphEncoding(structure).model)
            if has_solution(status):
                return True
            undecided |= status != cp_model.INFEASIBLE
        return None if undecided else False


def explain_nothing_left(space: GraphSpace, request: Request) -> BoGrapeError:
    """The error for a space with no graph left: all are excluded, or rules are contradictory."""
    deadline = max(request.deadline, time.monotonic() + 1.0)
    if space.checked_rules and _feasible(space, space.rules, deadline) is not False:
        return _none_passed(space, request)
    if request.excluded and _feasible(space, space.rules, deadline) is not False:
        return SearchSpaceExhausted(
            f"every graph of the space is among the {len(request.excluded)} excluded ones; "
            "nothing is left to propose: widen the space or stop the study"
        )
    return contradiction(
        smallest_conflict(space.rules, lambda some: _feasible(space, some, deadline) is False)
    )


def _none_passed(space: GraphSpace, request: Request) -> BoGrapeError:
    """The error for checked rules: no solver knows them, so the contradictory ones are unknown."""
    names = [rule.name for rule in space.checked_rules]
    if request.excluded:
        return SearchSpaceExhausted(
            f"every graph of the space is among the {len(request.excluded)} excluded ones, or "
            f"breaks {' or '.join(names)}; nothing is left to propose: widen the space or stop the "
            "study"
        )
    return InfeasibleSpaceError(
        f"every graph that satisfies the other rules breaks {' or '.join(names)}; drop or loosen "
        "one of the rules",
        names,
    )


def _feasible(space: GraphSpace, rules: Sequence[Rule], deadline: float) -> bool | None:
    shapes = [space.shape(n) for n in space.sizes]
    job = Feasible(structures(shapes, space.connected, tuple(rules)), deadline - time.monotonic())
    return next((answer for _, answer in solve_all([job], deadline)), None)
