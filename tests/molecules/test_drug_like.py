"""Rules for realistic molecules: charges, properties, accessibility, sets of rules."""

from __future__ import annotations

import pytest

pytest.importorskip("rdkit")

from rdkit import Chem
from rdkit.Chem import Descriptors, rdMolDescriptors
from rdkit.Contrib.SA_Score import sascorer

from bogrape import Graph, GraphSpace
from bogrape.constraints import Rule
from bogrape.errors import InvalidSpaceError
from bogrape.molecules import (
    PROPERTIES,
    HeteroatomCount,
    NetCharge,
    NoAdjacentHeteroatoms,
    Property,
    drug_like,
    from_smiles,
    molecule_space,
    objectives,
    scaffold,
    to_smiles,
)

IONS = ("C", "N+", "O-", "C-")


def charge(graph: Graph) -> int:
    return int(Chem.GetFormalCharge(Chem.MolFromSmiles(to_smiles(graph))))


def heteroatoms(graph: Graph) -> int:
    return int(rdMolDescriptors.CalcNumHeteroatoms(Chem.MolFromSmiles(to_smiles(graph))))


def hetero_bonds(graph: Graph) -> int:
    pattern = Chem.MolFromSmarts("[!#6]~[!#6]")
    return len(Chem.MolFromSmiles(to_smiles(graph)).GetSubstructMatches(pattern))


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        (NetCharge(), lambda graph: charge(graph) == 0),
        (NetCharge(-1, 1), lambda graph: -1 <= charge(graph) <= 1),
        (HeteroatomCount(1, 1), lambda graph: heteroatoms(graph) == 1),
        (NoAdjacentHeteroatoms(), lambda graph: hetero_bonds(graph) == 0),
    ],
)
def test_rules_about_ions_agree_with_rdkit(rule: Rule, holds: object) -> None:
    everything = molecule_space(IONS, 3).enumerate()
    space = molecule_space(IONS, 3, rules=[rule])
    wanted = {to_smiles(graph) for graph in everything if holds(graph)}  # type: ignore[operator]
    assert {to_smiles(graph) for graph in space.enumerate()} == wanted
    assert 0 < len(wanted) < len(everything)
    assert [space.contains(graph) for graph in everything] == [
        holds(graph)  # type: ignore[operator]
        for graph in everything
    ]
    assert GraphSpace.from_json(space.to_json()) == space


@pytest.mark.parametrize("quantity", sorted(PROPERTIES))
@pytest.mark.parametrize("aromatic", [True, False])
def test_limits_on_a_property_hold_for_all_molecules_of_a_space(
    quantity: str, aromatic: bool
) -> None:
    compute = PROPERTIES[quantity][1]
    plain = molecule_space("qm7", 8, aromatic=aromatic).sample(40, seed=0)
    plain.append(from_smiles("CCc1ccncc1", aromatic=aromatic))
    values = [compute(Chem.MolFromSmiles(to_smiles(graph))) for graph in plain]
    middle = sorted(set(values))[len(set(values)) // 2]
    space = molecule_space("qm7", 8, rules=[Property(quantity, middle)], aromatic=aromatic)
    inside = [value >= middle - 1e-6 for value in values]  # sums depend on the order of the atoms
    assert [space.contains(graph) for graph in plain] == inside
    assert not all(inside)
    renumbered = [graph.permuted(range(graph.n_nodes)[::-1]) for graph in plain]
    assert [space.contains(graph) for graph in renumbered] == inside
    assert not space.rules[-1].encoded
    assert GraphSpace.from_json(space.to_json()) == space


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Property("colour", 1), "one of log_p"),
        (lambda: Property("log_p"), "neither"),
        (lambda: Property("log_p", 3, 1), "swapping"),
        (lambda: Property("log_p", "low"), "minimum to be a number"),
        (lambda: NetCharge(1, 0), "swapping"),
        (lambda: NetCharge(0.5), "integer"),
        (lambda: GraphSpace(3, labels=2, rules=[NetCharge()]), "labels that are atoms"),
    ],
)
def test_invalid_limits_are_refused_with_the_reason(make: object, reason: str) -> None:
    with pytest.raises(InvalidSpaceError, match=reason):
        make()  # type: ignore[operator]


def test_drug_like_molecules_satisfy_all_limits() -> None:
    rules = drug_like(weight=(60, 130), log_p=(-1, 2), tpsa=(10, 60), accessibility=4.5)
    space = molecule_space(("C", "N", "O"), 8, rules=rules, aromatic=True)
    for graph in space.sample(10, seed=0, distinct=True):
        mol = Chem.MolFromSmiles(to_smiles(graph))
        assert 60 <= Descriptors.MolWt(mol) <= 130
        assert -1 <= Descriptors.MolLogP(mol) <= 2
        assert 10 <= Descriptors.TPSA(mol) <= 60
        assert sascorer.calculateScore(mol) <= 4.5
        assert heteroatoms(graph) >= 1


def test_every_part_of_drug_like_can_be_left_out() -> None:
    names = ("weight", "log_p", "tpsa", "rotatable_bonds", "h_bond_donors", "h_bond_acceptors")
    nothing = dict.fromkeys((*names, "rings", "heteroatoms", "accessibility"))
    assert drug_like(**nothing) == []  # type: ignore[arg-type]
    assert len(drug_like(alerts=("BRENK", "PAINS"))) == len(drug_like()) + 2


def test_the_accessibility_score_of_a_graph_and_of_its_smiles_is_that_of_rdkit() -> None:
    graph = from_smiles("Cc1ccncc1O", aromatic=True)
    score = sascorer.calculateScore(Chem.MolFromSmiles("Cc1ccncc1O"))
    assert objectives.synthetic_accessibility(graph) == pytest.approx(score)
    assert objectives.synthetic_accessibility("Cc1ccncc1O") == pytest.approx(score)


def test_molecules_with_aromatic_bonds_are_built_on_a_scaffold() -> None:
    rules = [scaffold("Cc1ccncc1", keep_rings=True)]
    space = molecule_space(("C", "N"), 8, rules=rules, aromatic=True)
    found = space.sample(15, seed=0)
    pattern = Chem.MolFromSmarts("Cc1ccncc1")
    assert all(Chem.MolFromSmiles(to_smiles(g)).HasSubstructMatch(pattern) for g in found)
    assert space.contains(from_smiles("CCc1ccncc1", space))
    assert not space.contains(from_smiles("CCc1ccccc1", space))
    assert GraphSpace.from_json(space.to_json()) == space
    nitro = molecule_space(("C", "N+", "O-", "O"), 5, rules=[scaffold("*C[N+](=O)[O-]")])
    assert {to_smiles(graph) for graph in nitro.enumerate()} >= {"CC[N+](=O)[O-]"}
