"""``graph-ga``: the genetic algorithm on molecules of PMO (Jensen 2019), by the package mol_ga.

Parents are drawn from the molecules observed so far, good ones more often; children come from
crossover and mutation of SMILES, and one of those that are new and in the space is evaluated. In a
space of other graphs there is no crossover, and children are `benchmarks.neighbours`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bogrape.errors import InvalidInputError, MissingExtraError
from bogrape.graph import Graph
from bogrape.space import GraphSpace

from ..neighbours import neighbours
from . import Choice, Settings, register
from .sampling import fresh_graphs

_OFFSPRING = 60
_ROUNDS = 5  # of offspring, until one is new and in the space


def is_molecular(space: GraphSpace) -> bool:
    """True if graphs of the space are molecules."""
    return space.domain is not None and space.domain.name == "molecules"


def offspring(
    space: GraphSpace,
    graphs: Sequence[Graph],
    values: Sequence[float],
    k: int,
    rng: np.random.Generator,
) -> list[Graph]:
    """Up to about k children of good graphs (small values), all of them in the space."""
    if not is_molecular(space):
        best = [graphs[int(i)] for i in np.argsort(values, kind="stable")[: max(2, k // 6)]]
        return neighbours(space, best, k, rng)
    try:
        from mol_ga.graph_ga.gen_candidates import graph_ga_blended_generation
        from mol_ga.sample_population import uniform_quantile_sampling
    except ImportError:
        raise MissingExtraError(
            "graph-ga needs mol_ga, which is not installed; try pip install 'bogrape[baselines]'"
        ) from None
    from bogrape.molecules import from_smiles, to_smiles

    draws = random.Random(int(rng.integers(2**31)))
    population = [(-float(v), to_smiles(graph)) for graph, v in zip(graphs, values, strict=True)]
    samples = uniform_quantile_sampling(population, 2 * k, draws)
    out = []
    for smiles in sorted(graph_ga_blended_generation(samples, k, draws)):
        try:
            child = from_smiles(smiles, space, stereo="ignore")
        except InvalidInputError:  # an element or a charge that the space lacks
            continue
        if space.contains(child):
            out.append(child)
    return [out[int(i)] for i in rng.permutation(len(out))]


@dataclass(frozen=True)
class GraphGA:
    """A new child of the molecules observed so far."""

    settings: Settings

    def next(
        self,
        graphs: Sequence[Graph],
        values: Sequence[float],
        *,
        seed: int,
        time_limit: float,  # noqa: ARG002
    ) -> Choice:
        """Breed until a child is new."""
        space, rng = self.settings.space, np.random.default_rng(seed)
        known = set(map(space.identity, graphs))
        for _ in range(_ROUNDS):
            for child in offspring(space, graphs, values, _OFFSPRING, rng):
                if space.identity(child) not in known:
                    return Choice(graph=child)
        return Choice(graph=fresh_graphs(space, 1, seed, graphs)[0])


register("graph-ga")(GraphGA)
