"""Facts about all connected graphs that were computed once: how many pairs can be far apart.

For n nodes and diameter d, ``most_at(n, d)[s]`` and ``most_beyond(n, d)[s]`` bound the number of
unordered pairs at distance exactly s, and at distance s or more. They depend on no data and no
rule, so they are computed ahead by the encoding itself and kept in ``facts.json``. A bound that the
solver did not prove tight in its time is still a bound. Sizes that are not in the file have no
facts, and the engine does without.

``python -m bogrape.propose.exact.facts 12 15 --seconds 5`` computes them for n = 12..15 and adds
them to the file.
"""

from __future__ import annotations

import argparse
import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("facts.json")


@lru_cache(maxsize=1)
def _facts() -> dict[str, dict[str, dict[str, int]]]:
    return json.loads(_FILE.read_text()) if _FILE.exists() else {}


def most_at(n: int, diameter: int) -> dict[int, int]:
    """Largest possible number of pairs at distance s, for each s with a fact."""
    found = _facts().get(f"{n},{diameter}", {}).get("at", {})
    return {int(s): bound for s, bound in found.items()}


def most_beyond(n: int, diameter: int) -> dict[int, int]:
    """Largest possible number of pairs at distance s or more, for each s with a fact."""
    found = _facts().get(f"{n},{diameter}", {}).get("beyond", {})
    return {int(s): bound for s, bound in found.items()}


def compute(n: int, diameter: int, seconds: float) -> dict[str, dict[str, int]]:
    """The facts for one size and diameter, from the longest distances down."""
    beyond: dict[str, int] = {}
    at: dict[str, int] = {}
    for s in range(diameter, 1, -1):
        beyond[str(s)] = _largest(n, diameter, range(s, diameter + 1), beyond, at, seconds)
        at[str(s)] = (
            beyond[str(s)]
            if s == diameter
            else _largest(n, diameter, range(s, s + 1), beyond, at, seconds)
        )
    return {"at": at, "beyond": beyond}


def _largest(
    n: int,
    diameter: int,
    lengths: range,
    beyond: dict[str, int],
    at: dict[str, int],
    seconds: float,
) -> int:
    from ortools.sat.python import cp_model

    from ...constraints import Shape
    from ...encoding import GraphEncoding, Structure
    from .counting import bare_counts, graph_counts
    from .forms import Coordinates

    structure = Structure(Shape(n), "strong", (), diameter)
    coordinates = Coordinates.of(structure.shape, labelled=False, longest=diameter)
    encoding = GraphEncoding(structure, attributes=False)
    model: Any = encoding.model
    counts = bare_counts(model, structure, coordinates, None)
    graph_counts(encoding, coordinates, counts)
    for s, bound in beyond.items():
        model.add(cp_model.LinearExpr.sum(counts[int(s) - 1 : diameter]) <= bound)
    for s, bound in at.items():
        model.add(counts[int(s) - 1] <= bound)
    model.maximize(cp_model.LinearExpr.sum([counts[s - 1] for s in lengths]))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    most = n * (n - 1) // 2
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return most  # after UNKNOWN the solver's bound means nothing
    return min(most, math.floor(solver.best_objective_bound + 1e-6))


def main() -> None:
    """Compute facts for a range of sizes and merge them into the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--seconds", type=float, default=5.0, help="limit of each solve")
    parser.add_argument("--shortest", type=int, default=3, help="smallest diameter")
    options = parser.parse_args()
    for n in range(options.first, options.last + 1):
        for diameter in range(n - 1, options.shortest - 1, -1):
            found = compute(n, diameter, options.seconds)
            facts = json.loads(_FILE.read_text()) if _FILE.exists() else {}
            facts[f"{n},{diameter}"] = found
            ordered = sorted(facts, key=lambda key: tuple(map(int, key.split(","))))
            lines = [f"{json.dumps(key)}: {json.dumps(facts[key])}" for key in ordered]
            _FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
            print(n, diameter, found, flush=True)


if __name__ == "__main__":
    main()
