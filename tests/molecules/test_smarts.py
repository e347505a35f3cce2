"""Required and forbidden SMARTS, checked against RDKit's own matches."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rdkit")

from rdkit import Chem, RDConfig
from rdkit.Chem import FilterCatalog

from bogrape import Graph, GraphGP, GraphSpace, propose
from bogrape.constraints import rule_from_dict
from bogrape.errors import InvalidSpaceError
from bogrape.molecules import (
    ForbiddenSubstructure,
    RequiredSubstructure,
    StructuralAlerts,
    alert_smarts,
    from_smiles,
    molecule_space,
    to_mol,
    to_smiles,
)
from bogrape.molecules.smarts_places import places
from bogrape.molecules.smarts_query import State, atom_truth, bond_truth, query

ATOMS = (
    *(
        "C",
        "c",
        "*",
        "a",
        "A",
        "[#6]",
        "[#7]",
        "[N,O]",
        "[!C]",
        "[!#6]",
        "[!c;!n]",
        "[CH2]",
        "[CH]",
    ),
    *("[C;H2,H3]", "[D2]", "[!D1]", "[X4]", "[CX3]", "[X2H]", "[v4]", "[v3,v2]", "[R]", "[!R]"),
    *("[R0&D2]", "[R2]", "[r5]", "[r]", "[x2]", "[x0]", "[+]", "[-]", "[+0]", "[N+]", "[O-,OH]"),
    *("[n+]", "[nH]", "[$(C=O)]", "[!$(C=O)]", "[N;!$(N=*)]", "[C,N;R0]", "[h1]", "[z1]", "[^2]"),
    *(
        "[S&X2,O&R0]",
        "[Cl,Br,I,F]",
        "[se]",
        "[13C]",
        "[C@H]",
        "[D{2-3}]",
        "[#6&!R,#8]",
        "[H]",
        "[P]",
    ),
)
BONDS = ("", "-", "=", "#", ":", "~", "@", "!@", "-;@", "=,#", "-,:", "!-", "-;!@", "!:", "~;!@")
KNOWN = (
    *("c1cc[nH]c1", "C[n+]1ccccc1", "O=c1cc[nH]cc1", "c1ccc2ccccc2c1", "CC1=CC1=O"),
    *("C[N+](=O)[O-]", "NS(=O)(=O)c1ccco1", "C1#CC=CC=C1", "c1ccc2cccc-2cc1", "C1CC2CCC1C2"),
)
SPACES = {
    True: molecule_space("organic", (4, 9), aromatic=True),
    False: molecule_space("organic", (4, 9)),
}


@cache
def samples(aromatic: bool) -> list[Graph]:
    known = [from_smiles(text, "organic", aromatic=aromatic) for text in KNOWN]
    return [*known, *SPACES[aromatic].sample(60, seed=4)]


def states_of(graph: Graph) -> list[State]:
    names = graph.label_names or ()
    near, hydrogens = graph.features[:, :4], graph.features[:, 4:9]
    aromatic = graph.n_features == 12
    return [
        State(
            names[graph.labels[v]],
            int(near[v].argmax()) + 1,
            int(hydrogens[v].argmax()),
            bool(graph.features[v, 11]) if aromatic else None,
        )
        for v in range(graph.n_nodes)
    ]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ATOMS), st.booleans(), st.integers(0, 69))
def test_what_the_state_of_an_atom_decides_agrees_with_rdkit(
    smarts: str, aromatic: bool, i: int
) -> None:
    graph = samples(aromatic)[i]
    found = {match[0] for match in to_mol(graph).GetSubstructMatches(Chem.MolFromSmarts(smarts))}
    text = query(smarts).GetAtomWithIdx(0).GetSmarts()
    for v, state in enumerate(states_of(graph)):
        truth = atom_truth(text, state)
        assert truth is None or truth == (v in found), (smarts, state, to_smiles(graph))


@pytest.mark.parametrize("smarts", [a for a in ATOMS if not set("Rrxhz^$@{") & set(a)][:20])
def test_plain_atoms_are_decided_where_bonds_can_be_aromatic(smarts: str) -> None:
    text = query(smarts).GetAtomWithIdx(0).GetSmarts()
    known = [s for graph in samples(True) for s in states_of(graph)]
    assert not any(atom_truth(text, s) is None for s in known if "v" not in text or not s.aromatic)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(BONDS), st.booleans(), st.integers(0, 69))
def test_what_the_kind_of_a_bond_decides_agrees_with_rdkit(
    smarts: str, aromatic: bool, i: int
) -> None:
    graph = samples(aromatic)[i]
    assert graph.edge_labels is not None
    pattern = Chem.MolFromSmarts(f"*{smarts}*")
    text = pattern.GetBondWithIdx(0).GetSmarts()
    found = {frozenset(match) for match in to_mol(graph).GetSubstructMatches(pattern)}
    for u, v in graph.edges():
        truth = bond_truth(text, int(graph.edge_labels[u, v]), aromatic)
        assert truth is None or truth == ({u, v} in found), (smarts, u, v, to_smiles(graph))


PATTERNS = (
    *("[CX4]", "[CX4][OX2]", "C=C", "[#6][#6]", "[OH]", "*1[O,N]*1", "[R0;D2]", "[C;!R]=[C,O]"),
    *("c", "a:a", "[N,O]-,=C", "[$(C=O)]O", "C.C", "[!#6;!H0]", "[v3]", "O=C1CC1", "[CH3]~*~[CH3]"),
)


@cache
def everything(elements: tuple[str, ...], n: int) -> frozenset[str]:
    return frozenset(to_smiles(graph) for graph in molecule_space(elements, n).enumerate())


@pytest.mark.parametrize("aromatic", [True, False])
@pytest.mark.parametrize("smarts", PATTERNS)
def test_a_space_has_exactly_the_molecules_with_or_without_the_pattern_by_rdkit(
    smarts: str, aromatic: bool
) -> None:
    pattern = Chem.MolFromSmarts(smarts)
    for elements in (("C", "O"), ("N", "C")):
        texts = everything(elements, 3)
        has = {text for text in texts if Chem.MolFromSmiles(text).HasSubstructMatch(pattern)}
        for rule, wanted in (
            (RequiredSubstructure(smarts, reading="rdkit"), has),
            (ForbiddenSubstructure(smarts, reading="rdkit"), texts - has),
        ):
            try:
                space = molecule_space(elements, 3, aromatic=aromatic, rules=[rule])
            except InvalidSpaceError:
                assert not wanted
                continue
            assert {to_smiles(graph) for graph in space.enumerate()} == wanted


@pytest.mark.parametrize(
    ("smarts", "exact"),
    [("[CX4]O", True), ("c1ccccc1", True), ("C=[C;!R]O", False), ("[v3]", False)],
)
def test_patterns_that_atoms_and_bonds_decide_have_exact_rows(smarts: str, exact: bool) -> None:
    space = molecule_space("organic", 6, aromatic=True, rules=[ForbiddenSubstructure(smarts)])
    assert space.rules[-1].encoded is exact
    assert (space.rules[-1] in space.checked_rules) is not exact
    large = molecule_space("organic", 30, aromatic=True, rules=[ForbiddenSubstructure("c1ccccc1")])
    assert not large.rules[-1].encoded  # too many places for rows: checked


@pytest.mark.parametrize("aromatic", [True, False])
def test_atoms_that_must_match_an_alert_also_may_match_it(aromatic: bool) -> None:
    space = SPACES[aromatic]
    for name, smarts in alert_smarts("BRENK").items():
        where = places(smarts, space.label_names or (), space.shape(9))
        for part in where.parts:
            assert part.must <= part.may, name


# -- readings ---------------------------------------------------------------------------------


def test_patterns_stored_without_a_reading_keep_the_kekule_reading() -> None:
    stored = {"rule": "molecules.RequiredSubstructure", "smarts": "C1=CC=CC=C1"}
    space = molecule_space(("C", "O"), 7, rules=[rule_from_dict(stored)])
    assert space.contains(from_smiles("Cc1ccccc1", space))
    old = rule_from_dict({**stored, "elements": ["C", "O"]})
    assert old.reading == "kekule"  # type: ignore[attr-defined]
    assert space.rules[-1] == old
    assert space.rules[-1].to_dict() == {**stored, "elements": ["C", "O"]}


def test_a_reading_other_than_the_default_is_stored() -> None:
    rule = ForbiddenSubstructure("C=C", reading="rdkit")
    space = molecule_space(("C", "O"), 6, rules=[rule])
    again = GraphSpace.from_json(space.to_json())
    assert again == space
    benzene = from_smiles("c1ccccc1", again)
    assert again.contains(benzene)
    assert not molecule_space(("C", "O"), 6, rules=[ForbiddenSubstructure("C=C")]).contains(benzene)


def test_aromatic_spaces_read_smarts_as_rdkit_does() -> None:
    space = molecule_space(("C", "O"), 6, aromatic=True, rules=[ForbiddenSubstructure("C=C")])
    assert space.contains(from_smiles("c1ccccc1", space))
    assert not space.contains(from_smiles("C=CCCCC", space))
    rule = ForbiddenSubstructure("C=C", reading="kekule")
    with pytest.raises(InvalidSpaceError, match="reading='rdkit'"):
        molecule_space(("C", "O"), 6, aromatic=True, rules=[rule])


def test_a_required_aromatic_ring_is_found_by_sampling() -> None:
    for aromatic in (True, False):
        rules = [RequiredSubstructure("c1ccncc1")]
        space = molecule_space("qm7", 10, aromatic=aromatic, rules=rules)
        found = space.sample(20, seed=0, distinct=True)
        pattern = Chem.MolFromSmarts("c1ccncc1")
        assert all(to_mol(graph).HasSubstructMatch(pattern) for graph in found)


# -- alerts -----------------------------------------------------------------------------------


def brenk() -> FilterCatalog.FilterCatalog:
    return FilterCatalog.FilterCatalog(FilterCatalog.FilterCatalogParams.FilterCatalogs.BRENK)


@pytest.mark.parametrize("name", ["BRENK", "NIH", "PAINS"])
def test_the_smarts_of_a_catalogue_find_what_the_catalogue_finds(name: str) -> None:
    kind = FilterCatalog.FilterCatalogParams.FilterCatalogs.names[name]
    entries = FilterCatalog.FilterCatalog(kind)
    patterns = {key: Chem.MolFromSmarts(text) for key, text in alert_smarts(name).items()}
    assert len(patterns) == entries.GetNumEntries()
    file = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
    n_found = 0
    for line in file.read_text().splitlines()[::50]:
        mol = Chem.MolFromSmiles(line.split()[0])
        found = {entry.GetDescription() for entry in entries.GetMatches(mol)}
        assert found == {key for key, p in patterns.items() if mol.HasSubstructMatch(p)}
        n_found += len(found)
    assert n_found > 0


@pytest.mark.parametrize("aromatic", [True, False])
def test_every_alert_of_brenk_can_be_forbidden_and_no_proposal_has_one(aromatic: bool) -> None:
    rules = [ForbiddenSubstructure(smarts) for smarts in alert_smarts("BRENK").values()]
    assert len(rules) == 105
    space = molecule_space(("C", "N", "O"), 5, aromatic=aromatic, rules=rules)
    known = space.sample(5, seed=0, distinct=True)
    gp = GraphGP("ssp", n_labels=3).fit(known, [2.0, 1.0, 3.0, 5.0, 4.0])
    found = propose(space, gp, method="search", time_limit=2, n=2, seed=0)
    for graph in (*known, *(proposal.graph for proposal in found)):
        assert not brenk().HasMatch(Chem.MolFromSmiles(to_smiles(graph))), to_smiles(graph)


def test_one_rule_forbids_a_whole_catalogue() -> None:
    space = molecule_space(("C", "N", "O"), 5, aromatic=True, rules=[StructuralAlerts("BRENK")])
    assert GraphSpace.from_json(space.to_json()) == space
    assert not space.contains(from_smiles("CCOOC", space))
    for graph in space.sample(10, seed=1, distinct=True):
        assert not brenk().HasMatch(Chem.MolFromSmiles(to_smiles(graph)))
    with pytest.raises(InvalidSpaceError, match=r"expected one of ALL, BRENK, .* got 'BRUNK'"):
        StructuralAlerts("BRUNK")


@pytest.mark.parametrize(
    "smarts", ["C" * 100_000, "[C" + ",C" * 50_000 + "]", "C(" * 50_000 + "C" + ")" * 50_000]
)
def test_enormous_patterns_are_refused_before_they_crash_the_process(smarts: str) -> None:
    with pytest.raises(InvalidSpaceError, match="not SMARTS"):
        molecule_space(("C", "O"), 5, rules=[RequiredSubstructure(smarts)])
