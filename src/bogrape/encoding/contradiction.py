"""Rules that no graph satisfies together: found by solving for any graph at all.

Used for messages, once cheaper means have found nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb

from ortools.sat.python import cp_model

from ..constraints import Rule, Shape, in_words
from ..errors import InfeasibleSpaceError
from .cpsat import new_solver
from .graph_encoding import GraphEncoding
from .structure import structures

_MOST_NODES = 12
_MOST_TRIALS = 400
_EFFORT = 5.0  # deterministic seconds for the proof, and as many again to shrink it


def refuse_contradiction(
    shapes: Sequence[Shape],
    connected: bool | str,
    rules: Sequence[Rule],
    deadline: float = math.inf,
) -> None:
    """Raise, naming a smallest set of contradictory rules, if there is provably no graph.

    Effort is counted in the solver's own deterministic seconds: the same rules always get the same
    answer, unless the deadline (a `time.monotonic` value) comes first. If time or effort run out,
    the set may contain rules that are not needed. Large graphs are not tried: building their model
    alone takes too long.
    """
    if max(shape.n_nodes for shape in shapes) > _MOST_NODES:
        return
    left = _EFFORT

    def impossible(some: Sequence[Rule], effort: float = _EFFORT / 5) -> bool:
        nonlocal left
        for structure in structures(shapes, connected, some):
            seconds = deadline - time.monotonic()
            if left <= 0 or seconds <= 0:
                return False
            solver = new_solver(seconds, limit_memory=False)  # in the caller's process
            solver.parameters.max_deterministic_time = min(left, effort)
            status = solver.solve(GraphEncoding(structure).model)
            left -= solver.response_proto.deterministic_time
            if status != cp_model.INFEASIBLE:
                return False
        return True

    if not impossible(rules, _EFFORT):
        return
    left = _EFFORT
    raise contradiction(smallest_conflict(rules, impossible))


def contradiction(rules: Sequence[Rule]) -> InfeasibleSpaceError:
    """The error for rules that no graph satisfies together."""
    names = [rule.name for rule in rules]
    what = " and ".join(names) or "the sizes and connectivity of the space"
    said = in_words(rules)
    return InfeasibleSpaceError(
        f"no graph satisfies {what}; drop or loosen one of these rules"
        f"{f'. In words: {said}' if said else ''}",
        names,
    )


def smallest_conflict(
    rules: Sequence[Rule], impossible: Callable[[Sequence[Rule]], bool]
) -> list[Rule]:
    """A smallest impossible subset of rules that are impossible together.

    First, rules are dropped one by one while the others remain impossible, so that each of the
    rest is needed; then all smaller sets are tried.
    """
    culprits = list(rules)
    for rule in rules:
        fewer = [other for other in culprits if other is not rule]
        if impossible(fewer):
            culprits = fewer
    for size in range(1, len(culprits)):
        if comb(len(rules), size) > _MOST_TRIALS:
            break
        for some in combinations(rules, size):
            if impossible(some):
                return list(some)
    return culprits
