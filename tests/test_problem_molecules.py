"""Molecule problems: the oracle, over the molecules of its data set."""

from __future__ import annotations

import numpy as np
import pytest

from bogrape.batch import Batch
from bogrape.benchmarks.problems import get_problem, problem_names

pytest.importorskip("rdkit")


def test_the_papers_ten_molecular_problems_are_there() -> None:
    expected = {f"{data}-{n}" for data in ("qm7", "qm9") for n in (10, 15, 20, 25, 30)}
    assert expected <= set(problem_names())


@pytest.mark.parametrize("data_set", ["qm7", "qm9"])
def test_values_are_the_oracles_and_graphs_are_molecules(data_set: str) -> None:
    from bogrape.molecules import load_oracle, to_smiles

    problem = get_problem(f"{data_set}-10")
    graphs = problem.space.sample(6, seed=0)
    oracle = load_oracle(data_set)
    np.testing.assert_allclose(problem.values(Batch.of(graphs)), oracle.predict(graphs))
    assert [problem.objective(graph) for graph in graphs] == [oracle(graph) for graph in graphs]
    for graph in graphs:
        assert graph.n_nodes == 10
        assert to_smiles(graph, data_set)


def test_most_molecules_of_20_atoms_lie_on_the_floor_of_the_qm9_network() -> None:
    # documented, because it makes the larger QM9 problems easy
    from bogrape.molecules import load_oracle

    floor = float(load_oracle("qm9").weights["linear3.bias"][0])
    for n, least, most in [(10, 0.0, 0.05), (20, 0.5, 0.75)]:
        problem = get_problem(f"qm9-{n}")
        values = problem.values(Batch.of(problem.space.sample(200, seed=3)))
        share = float(np.mean(values <= floor + 1e-9))
        assert least <= share <= most
