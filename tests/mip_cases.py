"""Shared by tests of the mixed-integer formulation: instances, all graphs, integer points."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

import networkx as nx
import numpy as np
from ortools.sat.python import cp_model

from bogrape import LCB, GraphGP, GraphSpace
from bogrape.batch import Batch
from bogrape.graph import Graph
from bogrape.propose.criterion import Criterion
from bogrape.propose.mip.build import AcquisitionProgram
from bogrape.propose.mip.program import Program
from bogrape.propose.mip.solution import Solution

from oracles import all_graphs, is_connected, rule_holds


@lru_cache(maxsize=50)
def atlas(n: int, n_labels: int = 1, connected: bool = True) -> list[Graph]:
    """Undirected graphs on n nodes: one of each from networkx's atlas, with every labelling."""
    chosen = [g for g in nx.graph_atlas_g() if g.number_of_nodes() == n]
    chosen = [g for g in chosen if not connected or nx.is_connected(g)]
    return [
        Graph(nx.to_numpy_array(g, nodelist=range(n)), labels)
        for g in chosen
        for labels in itertools.product(range(n_labels), repeat=n)
    ]


def members(space: GraphSpace) -> list[Graph]:
    """Every numbered graph of a small space without features, by networkx and brute force."""
    return [
        graph
        for n in space.sizes
        for graph in all_graphs(n, n_labels=space.n_labels, directed=space.directed)
        if is_connected(graph, space.connected)
        and all(rule_holds(rule, graph) for rule in space.rules)
    ]


def least(objective: Criterion, graphs: list[Graph]) -> float:
    """The smallest acquisition value."""
    sizes = sorted({g.n_nodes for g in graphs})
    return min(
        float(objective.of_batch(Batch.of([g for g in graphs if g.n_nodes == n])).min())
        for n in sizes
    )


def instance(
    space: GraphSpace, kernel: str, seed: int, *, n_data: int = 6, noise: float = 1e-6, **gp: float
) -> Criterion:
    """An objective on random graphs of the space with random values."""
    graphs = space.sample(n_data, seed=seed)
    y = np.random.default_rng(seed).normal(size=n_data)
    process = GraphGP(kernel, noise=noise, n_labels=space.n_labels, **gp)  # type: ignore[arg-type]
    fitted = process.fit(graphs, y)
    return Criterion(space, fitted.posterior, LCB(1.0 + 0.5 * (seed % 3)))


def decoded(encoded: AcquisitionProgram, solution: Solution) -> Graph:
    """The graph of the best solution."""
    names = [variable.name for variable in encoded.program.variables]
    return encoded.decode(dict(zip(names, solution.found[0].values, strict=True)))


def integer_points(program: Program) -> list[dict[str, float]]:
    """All integer points of a program, by CP-SAT; real variables are treated as integers."""
    if program.contradictions():
        return []
    model = cp_model.CpModel()
    x = [model.new_int_var(int(v.low), int(v.high), v.name) for v in program.variables]
    for row in program.rows:
        assert not row.quadratic
        assert all(c == int(c) for _, c in row.terms)
        body = sum(int(c) * x[i] for i, c in row.terms)
        if row.low > -math.inf:
            model.add(body >= math.ceil(row.low - 1e-9))
        if row.high < math.inf:
            model.add(body <= math.floor(row.high + 1e-9))

    class Collector(cp_model.CpSolverSolutionCallback):
        def __init__(self) -> None:
            super().__init__()
            self.points: list[dict[str, float]] = []

        def on_solution_callback(self) -> None:
            self.points.append({v.name: float(self.value(v)) for v in x})

    solver = cp_model.CpSolver()
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    solver.parameters.catch_sigint_signal = False  # it would leave Ctrl-C without a handler
    collector = Collector()
    assert solver.solve(model, collector) in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return collector.points
