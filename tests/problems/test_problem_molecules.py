"""Molecule problems: the oracle, over the molecules of its data set."""

from __future__ import annotations

import numpy as np
import pytest

from bogrape.batch import Batch
from bogrape.problems import get_problem, problem_names

pytest.importorskip("rdkit")

SIZES = (10, 15, 20, 25, 30)


def test_the_papers_ten_molecular_problems_exist() -> None:
    expected = {f"{data}-{n}" for data in ("qm7", "qm9") for n in SIZES}
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


@pytest.mark.parametrize("name", [f"{data}-{n}" for data in ("qm7", "qm9") for n in SIZES])
def test_random_molecules_hardly_ever_share_a_value(name: str) -> None:
    # a network whose last units are inactive for large molecules would make the problem trivial
    problem = get_problem(name)
    values = problem.values(Batch.of(problem.space.sample(1000, seed=0)))
    _, counts = np.unique(values.round(9), return_counts=True)
    assert counts.max() < 10
    assert np.ptp(values) > 0.5
