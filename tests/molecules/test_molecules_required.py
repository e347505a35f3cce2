"""Required substructures: all samples have them, samples vary, and none is out of reach."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

from bogrape import GraphSpace
from bogrape.batch import Batch
from bogrape.constraints import CycleRange
from bogrape.errors import InvalidSpaceError
from bogrape.molecules import (
    ForbiddenSubstructure,
    RequiredSubstructure,
    SmallestRing,
    molecule_space,
    scaffold,
    to_mol,
    to_smiles,
)

BENZENE = "C1=CC=CC=C1"


def has(graph: object, space: GraphSpace, smarts: str) -> bool:
    mol = to_mol(graph, space)  # type: ignore[arg-type]
    Chem.Kekulize(mol, clearAromaticFlags=True)
    return bool(mol.HasSubstructMatch(Chem.MolFromSmarts(smarts)))


@pytest.mark.parametrize("n", [6, 7, 8, 9, 10])
@pytest.mark.parametrize(
    "patterns",
    [
        [BENZENE],
        ["C1CCNCC1"],
        ["C1CC1"],
        ["C=C-C=O"],
        ["CCCCC"],
        ["[OH]-C", "C#N"],
        ["C(=O)[OH]", "[NH2]"],
        ["[C;H0](C)(C)(C)~*"],
        ["*=*=*"],
        ["C=C.O"],
        ["C1CC1", "C=O", "[OH]"],
        [BENZENE, "C=C"],  # the second is part of the first
    ],
    ids=" ".join,
)
def test_required_substructures_are_sampled(patterns: list[str], n: int) -> None:
    space = molecule_space("qm7", n, rules=[RequiredSubstructure(p) for p in patterns])
    graphs = space.sample(30, seed=n)
    assert all(has(graph, space, smarts) for graph in graphs for smarts in patterns)
    few = n - sum(Chem.MolFromSmarts(p).GetNumAtoms() for p in patterns) < 3
    assert len({to_smiles(graph, space) for graph in graphs}) > (1 if few else 12)


@pytest.mark.parametrize("n", [10, 15])
def test_most_molecules_that_are_built_have_the_required_parts(n: int) -> None:
    """Hardly any need repair, which would take long for a ring."""
    rules = [RequiredSubstructure("C1CCNC1"), RequiredSubstructure("C(=O)[OH]")]
    space = molecule_space("qm9", n, rules=rules)
    valence = space.rules[0]
    drawn = valence.draw(space.rules, space.shape(n), 300, np.random.default_rng(0))
    assert isinstance(drawn, Batch)
    assert (space.excess(drawn) == 0).mean() > 0.9
    graphs = [drawn.graph(i) for i in range(300)]
    assert len({space.identity(graph) for graph in graphs}) > 200


@pytest.mark.parametrize(("elements", "n"), [("qm7", 6), (("C",), 7), (("C", "O"), 7)])
def test_samples_reach_every_molecule_with_a_benzene_ring(elements: object, n: int) -> None:
    rules = [RequiredSubstructure(BENZENE), CycleRange(maximum=2)]
    space = molecule_space(elements, n, rules=rules)  # type: ignore[arg-type]
    every = {space.identity(graph) for graph in space.enumerate()}
    assert {space.identity(graph) for graph in space.sample(400, seed=0)} == every


def test_a_required_part_may_overlap_a_scaffold() -> None:
    rules = [scaffold("NCC*"), RequiredSubstructure("[NH2]-C-C-C=O"), SmallestRing(5)]
    space = molecule_space("qm7", 5, rules=rules)
    assert {to_smiles(graph) for graph in space.sample(20, seed=0)} == {"NCCC=O"}
    rules = [scaffold("*c1ccccc1", keep_rings=True), RequiredSubstructure("C-C#N")]
    space = molecule_space("qm7", 8, rules=rules)
    assert {to_smiles(graph) for graph in space.sample(20, seed=0)} == {"N#Cc1ccccc1"}


def test_a_pattern_larger_than_all_molecules_is_refused_at_once() -> None:
    began = time.process_time()
    with pytest.raises(InvalidSpaceError, match="hold together with 8 atoms"):
        molecule_space("qm7", 8, rules=[RequiredSubstructure("C" * 100)])
    assert time.process_time() - began < 2.0
    space = molecule_space("qm7", 3, rules=[ForbiddenSubstructure("C" * 100)])
    assert space.count() == molecule_space("qm7", 3).count()
