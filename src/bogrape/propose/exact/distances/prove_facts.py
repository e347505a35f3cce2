"""Proves facts about distances and adds them to the file that comes with the package.

    python -m bogrape.propose.exact.distances.prove_facts 12 13 --seconds 20

bounds, for every diameter at these sizes, the number of pairs at distance s, and at s or more: the
two families of facts that tighten bounds on the acquisition most. A search finds a graph with many
such pairs; the solver then proves that no graph has more, or, within the time, not much more.
Directions with two weights follow, as long as one would rule out enough of the other histograms.

Facts are added one by one, and each proof uses those before it. A stopped run can be resumed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from ortools.sat.python import cp_model

from ....encoding.cpsat import new_solver
from .coordinates import Coordinates
from .count_variables import bare_counts
from .directions import pair_directions, tail_directions
from .extremes import Extremes, plain, prove
from .histograms import FILE, Fact, dump, parse, possible_histograms
from .known import known_of_counts

_MOST_HISTOGRAMS = 200_000  # on which directions with two weights are compared
_LEAST_SHARE = 0.03  # of these: a direction that would rule out fewer is not worth a proof


def largest_known(n: int, diameter: int, weights: tuple[int, ...], facts: list[Fact]) -> int:
    """The largest ``weights . h`` that the known inequalities allow."""
    structure, model = plain(n, diameter), cp_model.CpModel()
    coordinates = Coordinates.of(structure.shape, labelled=False, longest=diameter)
    known = known_of_counts(structure, coordinates, None, facts)
    counts = bare_counts(model, coordinates, known)[:diameter]
    model.maximize(cp_model.LinearExpr.weighted_sum(counts, list(weights)))
    solver = new_solver()
    if solver.solve(model) != cp_model.OPTIMAL:
        raise ArithmeticError(f"no counts satisfy all inequalities at n={n}, diameter {diameter}")
    return round(float(solver.objective_value))


def tightest(
    extremes: Extremes, weights: tuple[int, ...], facts: list[Fact], seconds: float
) -> Fact | None:
    """The smallest limit proved, if below the known one; each step may take ``seconds``."""
    n, diameter = extremes.n, extremes.diameter
    known = largest_known(n, diameter, weights, facts)
    reached = extremes.reach(weights)
    best: Fact | None = None
    shares = [0.0, 0.5, 0.3, 0.15, 0.05, 0.0]  # of the way from the value reached to the limit
    for i, share in enumerate(shares):
        if known <= reached:
            break
        high = min(known - 1, reached + int(share * (known - reached)))
        so_far = [*facts, *([best] if best else [])]
        found = prove(n, diameter, weights, high, facts=so_far, seconds=seconds)
        while isinstance(found, np.ndarray):
            extremes.add(found[None])
            reached = int(np.dot(weights, found))
            high = max(high, reached)
            found = None
            if high < known:
                found = prove(n, diameter, weights, high, facts=facts, seconds=seconds)
        if isinstance(found, Fact):
            best, known = found, high
        elif i:  # the first step, which tries to prove the value reached, may fail
            break
    return best


def most_telling(extremes: Extremes, facts: list[Fact], tried: set[str]) -> tuple[int, ...] | None:
    """The direction that rules out most histograms if no graph exceeds those seen so far."""
    n, diameter = extremes.n, extremes.diameter
    rng = np.random.default_rng(0)
    left = possible_histograms(n, diameter, facts, _MOST_HISTOGRAMS, rng)
    if left is None or not len(left) or not len(extremes.seen):
        return None
    candidates = [w for w in pair_directions(diameter) if label(n, diameter, w) not in tried]
    if not candidates:
        return None
    table = np.array(candidates)
    limits = (extremes.seen @ table.T).max(axis=0)
    ruled_out = np.array([(left @ w > high).sum() for w, high in zip(table, limits, strict=True)])
    best = int(np.argmax(ruled_out))
    return candidates[best] if ruled_out[best] >= _LEAST_SHARE * len(left) else None


def label(n: int, diameter: int, weights: tuple[int, ...]) -> str:
    """Name of a direction in the list of those tried."""
    return f"{n} {diameter} {weights}"


def main() -> None:
    """Prove facts for the sizes given on the command line."""
    parser = argparse.ArgumentParser(description="Prove facts about distances in graphs.")
    parser.add_argument("sizes", type=int, nargs="+", help="numbers of nodes, from 5 on")
    parser.add_argument("--seconds", type=float, default=20.0, help="for one step of a proof")
    parser.add_argument("--diameters", type=int, nargs="+", help="only these")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name(FILE))
    options = parser.parse_args()
    if min(options.sizes) < 5:
        parser.error(f"expected sizes from 5 on, got {min(options.sizes)}; smaller need no facts")
    most = min(options.sizes) - 2
    if options.diameters and not 3 <= min(options.diameters) <= max(options.diameters) <= most:
        parser.error(f"expected --diameters from 3 to {most}, got {options.diameters}")
    if not options.seconds > 0:
        parser.error(f"expected --seconds above 0, got {options.seconds:g}")
    before = parse(options.output.read_text()) if options.output.exists() else {}
    table = {key: list(facts) for key, facts in before.items()}
    log = options.output.with_suffix(".tried")
    tried = set(log.read_text().splitlines()) if log.exists() else set()

    def work(extremes: Extremes, weights: tuple[int, ...]) -> None:
        n, diameter = extremes.n, extremes.diameter
        facts = table.setdefault((n, diameter), [])
        fact = tightest(extremes, weights, facts, options.seconds)
        print(f"n={n} d={diameter} {weights}: {fact.high if fact else 'nothing new'}", flush=True)
        if fact is not None:
            facts.append(fact)
            options.output.write_text(dump(table), encoding="ascii")
        tried.add(label(n, diameter, weights))
        with log.open("a") as file:
            file.write(label(n, diameter, weights) + "\n")

    for n in options.sizes:
        for diameter in options.diameters or range(n - 2, 2, -1):
            extremes = Extremes(n, diameter)
            for weights in tail_directions(diameter):
                if label(n, diameter, weights) in tried:
                    extremes.reach(weights)
                else:
                    work(extremes, weights)
            while chosen := most_telling(extremes, table.get((n, diameter), []), tried):
                work(extremes, chosen)


if __name__ == "__main__":
    main()
