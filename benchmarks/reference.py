"""Best known value of a problem, and mean value of random graphs: the two ends of the scale.

``best_known`` enumerates a space that is small enough and otherwise searches the objective itself,
which no optimiser under test may do: simulated annealing of many graphs at once, then descent over
all elementary moves, repeatedly and keeping the best graphs. The search is seeded and bounded by a
number of evaluations; its answer is an upper bound on the optimum, not the optimum.

``python -m benchmarks.reference gcn-10 --seeds 0..9`` prints one JSON line per seed. With
``--known FILE``, which contains lines printed before, the search continues from their graphs with
another seed, so that values only get better.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from bogrape.arrays import BoolArray, FloatArray
from bogrape.batch import Batch
from bogrape.errors import InvalidInputError
from bogrape.graph import Graph
from bogrape.problems import Problem, get_problem
from bogrape.propose.local.moves import MoveTable

_CHAINS = 32  # few and long rather than many and short: better on networks of 20 nodes
_ROUNDS = 2  # annealings; a quarter of the chains of a later one start from the best graphs so far
_KEPT = 8  # graphs that descend after each annealing
_HEAT = (0.3, 1e-3)  # first and last temperature, in standard deviations of random values


@dataclass(frozen=True)
class Reference:
    """The best known graph of a problem.

    Attributes:
        value: its objective.
        graph: the graph.
        how: ``enumeration`` if no graph of the space is better, ``long search`` if none was found
            that is.
        n_evaluations: objective values computed.
    """

    value: float
    graph: Graph
    how: Literal["enumeration", "long search"]
    n_evaluations: int


def best_known(
    problem: Problem,
    *,
    n_evaluations: int = 500_000,
    seed: int = 0,
    starts: Sequence[Graph] = (),
) -> Reference:
    """Enumerate the space if the optimum of the problem is known, else search.

    Args:
        problem: what to minimise.
        n_evaluations: of the objective, for the search.
        seed: of the search.
        starts: good graphs known already; the answer is at least as good.
    """
    if problem.optimum is not None:
        graphs = problem.space.enumerate()
        values = [problem.objective(graph) for graph in graphs]
        best = int(np.argmin(values))
        return Reference(values[best], graphs[best], "enumeration", len(values))
    return long_search(problem, n_evaluations, seed, starts)


def random_mean(problem: Problem, n: int = 1000, seed: int = 0) -> float:
    """Mean objective of n random graphs of the space."""
    return float(np.mean([problem.objective(g) for g in problem.space.sample(n, seed=seed)]))


# -- the search -------------------------------------------------------------------------------


def long_search(
    problem: Problem,
    n_evaluations: int = 500_000,
    seed: int = 0,
    starts: Sequence[Graph] = (),
) -> Reference:
    """The best graph that annealing and descent find in about ``n_evaluations`` evaluations."""
    if n_evaluations < 1:
        raise InvalidInputError(f"n_evaluations must be at least 1, got {n_evaluations}")
    found = []
    sizes = list(problem.space.sizes)
    with threadpool_limits(1):  # threads slow down matrices this small
        for n in sizes:
            alike = [graph for graph in starts if graph.n_nodes == n]
            search = _Search(problem, n, np.random.default_rng([seed, n]), alike)
            found.append(search.run(n_evaluations // len(sizes)))
    best = min(found, key=lambda reference: reference.value)
    spent = sum(reference.n_evaluations for reference in found)
    # evaluated again by itself: a batch may differ from a single evaluation in the last bit
    return Reference(problem.objective(best.graph), best.graph, "long search", spent)


class _Search:
    """Annealing and descent among graphs of one size."""

    def __init__(
        self, problem: Problem, n: int, rng: np.random.Generator, starts: Sequence[Graph]
    ) -> None:
        self._problem, self._n, self._rng = problem, n, rng
        self._moves = MoveTable.of(problem.space, n)
        self._best: list[tuple[float, Graph]] = []
        self.n_evaluations = 0
        for graph in starts:
            problem.space.check(graph)
        if starts:
            known = Batch.of(starts)
            self._keep(known, self._values(known))

    def run(self, budget: int) -> Reference:
        """Spend the budget."""
        for turn in range(1, _ROUNDS + 1):
            self._round(turn * budget // _ROUNDS)
        value, graph = self._best[0]
        return Reference(value, graph, "long search", self.n_evaluations)

    def _round(self, until: int) -> None:
        old = [graph for _, graph in self._best]
        current = Batch.of([*old, *self._sample(_CHAINS - len(old))])
        values = self._values(current)
        spread = float(np.std(values[len(old) :])) or 1.0
        best, best_values = current, values
        n_steps = max(1, (until - self.n_evaluations) * 3 // (4 * _CHAINS))  # rest: the descent
        for temperature in spread * np.geomspace(*_HEAT, n_steps):
            candidates = self._neighbours(current)
            inside = self._problem.space.excess(candidates) == 0
            found = np.full(len(candidates), np.inf)
            if inside.any():
                found[inside] = self._values(candidates.select(inside))
            luck = -temperature * np.log(self._rng.random(len(found)))
            taken = found < values + luck
            current, values = _where(taken, candidates, current), np.where(taken, found, values)
            better = values < best_values
            best = _where(better, current, best)
            best_values = np.where(better, values, best_values)
            if self.n_evaluations >= until:
                break
        self._keep(best, best_values)
        self._descend(until)

    def _neighbours(self, batch: Batch) -> Batch:
        """One to three moves on each graph: rules often need several at once."""
        extra = self._rng.random((2, len(batch))) < [[0.3], [0.1]]
        for wanted in (np.ones(len(batch), dtype=bool), *extra):
            index = self._rng.choice(len(self._moves), len(batch), p=self._moves.weights)
            moved = self._moves.apply(batch, index, self._rng)
            batch = _where(wanted, moved, batch)
        return batch

    def _descend(self, until: int) -> None:
        """From each of the best graphs, make the best of all moves as long as it helps."""
        for value, graph in list(self._best):
            while self.n_evaluations < until:
                everywhere = Batch.of([graph]).select(np.zeros(len(self._moves), dtype=np.int64))
                around = self._moves.apply(everywhere, np.arange(len(self._moves)), self._rng)
                around = around.select(self._problem.space.excess(around) == 0)
                values = self._values(around) if len(around) else np.zeros(0)
                self._keep(around, values)
                if not len(values) or values.min() >= value:
                    break
                value, graph = float(values.min()), around.graph(int(values.argmin()))

    def _keep(self, batch: Batch, values: FloatArray) -> None:
        """Keep the best graphs up to isomorphism."""
        known = {graph.canonical_key(): (value, graph) for value, graph in self._best}
        for i in np.argsort(values, kind="stable")[: 4 * _KEPT]:
            worst = self._best[-1][0] if len(self._best) == _KEPT else np.inf
            if values[i] >= worst:
                break
            graph = batch.graph(int(i))
            known.setdefault(graph.canonical_key(), (float(values[i]), graph))
        self._best = sorted(known.values(), key=lambda pair: pair[0])[:_KEPT]

    def _values(self, batch: Batch) -> FloatArray:
        self.n_evaluations += len(batch)
        return self._problem.values(batch)

    def _sample(self, k: int) -> list[Graph]:
        seed = int(self._rng.integers(2**31))
        return self._problem.space.sample(k, seed=seed, n_nodes=self._n)


def _where(mask: BoolArray, yes: Batch, no: Batch) -> Batch:
    """Graph i of ``yes`` where the mask is set, else of ``no``."""
    index = np.arange(len(no)) + np.where(mask, 0, len(no))
    return yes.joined(no).select(index)


# -- command ----------------------------------------------------------------------------------


def _seeds(text: str) -> Sequence[int]:
    """``3`` or ``0..9``."""
    first, _, last = text.partition("..")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected 3 or 0..9, got {text!r}") from None


def lines(
    names: Iterable[str],
    seeds: Sequence[int],
    n_evaluations: int,
    n_random: int,
    known: Sequence[dict[str, Any]] = (),
) -> Iterable[dict[str, Any]]:
    """Output of the command: one record per problem and seed."""
    for name in names:
        for seed in seeds:
            start = time.perf_counter()
            problem = get_problem(name, seed)
            before = [line for line in known if (line["problem"], line["seed"]) == (name, seed)]
            best = best_known(
                problem,
                n_evaluations=n_evaluations,
                seed=sum(line["n_searches"] for line in before),
                starts=[Graph.from_json(json.dumps(line["graph"])) for line in before],
            )
            yield {
                "problem": name,
                "seed": seed,
                "best": best.value,
                "how": best.how,
                "n_searches": 1 + sum(line["n_searches"] for line in before),
                "n_evaluations": best.n_evaluations + sum(line["n_evaluations"] for line in before),
                "random_mean": random_mean(problem, n_random),
                "n_edges": best.graph.n_edges,
                "graph": json.loads(best.graph.to_json()),
                "seconds": round(
                    time.perf_counter() - start + sum(line["seconds"] for line in before), 1
                ),
            }


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of ``python -m benchmarks.reference``."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("problems", nargs="+", metavar="PROBLEM")
    parser.add_argument("--seeds", type=_seeds, default=range(1), help="3 or 0..9")
    parser.add_argument("--evaluations", type=int, default=500_000)
    parser.add_argument("--random", type=int, default=1000, help="random graphs for their mean")
    parser.add_argument("--known", type=Path, help="lines printed before, to continue from")
    given = parser.parse_args(arguments)
    texts = given.known.read_text().splitlines() if given.known else []
    known = [json.loads(text) for text in texts]
    for line in lines(given.problems, given.seeds, given.evaluations, given.random, known):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
