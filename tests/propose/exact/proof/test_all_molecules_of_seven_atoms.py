"""SSP on all molecules of seven atoms, listed from the graph atlas and all bond orders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from networkx.generators.atlas import graph_atlas_g

from bogrape import EI, LCB, GraphGP
from bogrape.counts import Counts
from bogrape.encoding import structures
from bogrape.molecules import molecule_space
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds.separate_values import SeparateValues
from bogrape.propose.exact.proof.by_skeletons import SolveBySkeletons

N = 7
VALENCES = {"qm7": (4, 3, 2, 2), "qm9": (4, 3, 2, 1)}
# least number of carbon atoms; most of the other elements; most rings
LIMITS = {"qm7": (4, (3, 2, 1), 3), "qm9": (2, (4, 4, 5), 4)}
MOST_MULTIPLE = 3

State = tuple[int, int, int]  # neighbours, double bonds and triple bonds of an atom


def states_of(graph: nx.Graph) -> Iterator[tuple[State, ...]]:
    """States of the atoms, for all ways to make some bonds double or triple."""
    edges, degrees = list(graph.edges), dict(graph.degree)
    for n_double in range(MOST_MULTIPLE + 1):
        for double in combinations(range(len(edges)), n_double):
            others = [i for i in range(len(edges)) if i not in double]
            for n_triple in range(MOST_MULTIPLE + 1):
                for triple in combinations(others, n_triple):
                    ends = [[0, 0] for _ in range(N)]
                    for column, chosen in enumerate((double, triple)):
                        for v in (v for i in chosen for v in edges[i]):
                            ends[v][column] += 1
                    atoms = [(degrees[v], *ends[v]) for v in range(N)]
                    if all(d + a + 2 * b <= 4 for d, a, b in atoms):
                        yield tuple(sorted(atoms))


def features(state: State, label: int, valence: int) -> np.ndarray | None:
    degree, double, triple = state
    hydrogens = valence - degree - double - 2 * triple
    if hydrogens < 0:
        return None
    out = np.zeros(4 + 11, dtype=int)
    out[[label, 4 + degree - 1, 8 + hydrogens]] = 1
    out[13], out[14] = double > 0, triple > 0
    return out


def sums_of(atoms: tuple[State, ...], elements: str, known: dict) -> set[tuple[int, ...]]:
    """All sums of features, over all choices of an element for each atom."""
    if not atoms:
        return {(0,) * 15}
    if atoms not in known:
        out = set()
        for label, valence in enumerate(VALENCES[elements]):
            own = features(atoms[0], label, valence)
            if own is not None:
                rest = sums_of(atoms[1:], elements, known)
                out |= {tuple((own + other).tolist()) for other in rest}
        known[atoms] = out
    return known[atoms]


def allowed(sums: tuple[int, ...], elements: str) -> bool:
    least, most, _ = LIMITS[elements]
    return sums[0] >= least and all(n <= m for n, m in zip(sums[1:4], most, strict=True))


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("elements", ["qm7", "qm9"])
def test_skeletons_find_the_best_of_all_molecules_of_seven_atoms(elements):
    found: set[tuple[tuple[int, ...], tuple[int, ...]]] = set()
    known: dict = {}
    for graph in graph_atlas_g():
        most_rings = LIMITS[elements][2]
        if len(graph) != N or not nx.is_connected(graph) or graph.size() > N - 1 + most_rings:
            continue
        if max(dict(graph.degree).values()) > 4:
            continue
        lengths = dict(nx.all_pairs_shortest_path_length(graph))
        histogram = np.bincount([d for row in lengths.values() for d in row.values()], minlength=N)
        for atoms in set(states_of(graph)):
            for sums in sums_of(atoms, elements, known):
                if allowed(sums, elements):
                    found.add((tuple(histogram.tolist()), sums))
    lengths, sums = (np.array(part) for part in zip(*found, strict=True))
    counts = Counts(np.full(len(sums), N), lengths, None, sums, 4)
    space = molecule_space(elements, N)
    graphs = space.sample(20, seed=0)
    gp = GraphGP("ssp", space=space).fit(graphs, np.random.default_rng(0).normal(size=20))
    (structure,) = structures([space.shape(N)], space.connected, space.rules)
    for acquisition in (LCB(1.0), EI()):
        criterion = Criterion(space, gp.posterior, acquisition)
        job = SolveBySkeletons(
            structure=structure,
            values=SeparateValues(criterion, N),
            value=math.inf,
            excluded=frozenset(),
            seed=0,
            time_limit=600.0,
        )
        answer = job.solve()
        assert answer.proved
        assert answer.value == pytest.approx(criterion.of_counts(counts).min(), abs=1e-8)
