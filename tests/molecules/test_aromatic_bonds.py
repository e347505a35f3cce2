"""Aromatic bonds as a bond kind: one graph per molecule, checked against RDKit."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rdkit")

from rdkit import Chem, RDConfig

from bogrape import LCB, Graph, GraphGP, GraphSpace, propose
from bogrape.batch import Batch
from bogrape.errors import InvalidGraphError, InvalidInputError, InvalidSpaceError
from bogrape.molecules import (
    AromaticValence,
    from_smiles,
    molecule_space,
    to_smiles,
)
from bogrape.molecules.aromaticity import may_be_aromatic
from bogrape.propose.local.moves import MoveTable

AROMATIC = (
    *("c1ccccc1", "Cc1ccccc1O", "c1ccc2ccccc2c1", "c1ccc2cccc-2cc1", "c1ccc2cc3ccccc3cc2c1"),
    *("c1cc[nH]c1", "c1cnc[nH]1", "c1ccncc1", "c1ccsc1", "O=c1cc[nH]cc1", "Cn1cnc2ncnc-2c1"),
    *("C[n+]1ccccc1", "[O-][n+]1ccccc1", "c1cc[o+]cc1", "O=C1C=CC(=O)C=C1", "c1ccc(-c2ccccc2)cc1"),
)
SPACES = {
    "azines": molecule_space(("C", "N"), 7, aromatic=True),
    "organic": molecule_space("organic", (5, 9), aromatic=True),
    "qm9": molecule_space("qm9", 9, aromatic=True),
}


def canonical(smiles: str) -> str:
    return str(Chem.MolToSmiles(Chem.MolFromSmiles(smiles)))


def kekule_texts(smiles: str) -> list[str]:
    """Kekulé forms of a molecule, as SMILES without aromatic (lower-case) symbols."""
    out = []
    forms = Chem.ResonanceMolSupplier(Chem.MolFromSmiles(smiles), Chem.KEKULE_ALL, 32)
    for form in forms:
        Chem.Kekulize(form, clearAromaticFlags=True)
        out.append(Chem.MolToSmiles(form, kekuleSmiles=True))
    return [text for text in out if canonical(text) == canonical(smiles)]


@cache
def samples(name: str) -> list[Graph]:
    return SPACES[name].sample(80, seed=1)


@pytest.mark.parametrize("smiles", AROMATIC)
def test_a_molecule_and_its_kekule_forms_are_one_graph(smiles: str) -> None:
    graph = from_smiles(smiles, "organic", aromatic=True)
    texts = [*kekule_texts(smiles), Chem.MolToSmiles(Chem.MolFromSmiles(smiles), doRandom=True)]
    others = [from_smiles(text, "organic", aromatic=True) for text in texts]
    assert {other.canonical_key() for other in others} == {graph.canonical_key()}
    assert {to_smiles(other) for other in others} == {canonical(smiles)}


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(SPACES)), st.integers(0, 79), st.integers(0, 79), st.randoms())
def test_isomorphism_identity_and_canonical_smiles_agree(
    name: str, i: int, j: int, random: object
) -> None:
    space = SPACES[name]
    one, two = samples(name)[i], samples(name)[j]
    order = list(range(one.n_nodes))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert space.identity(one.permuted(order)) == space.identity(one) == canonical(to_smiles(one))
    same = canonical(to_smiles(one)) == canonical(to_smiles(two))
    assert (one.canonical_key() == two.canonical_key()) is same
    assert (space.identity(one) == space.identity(two)) is same
    again = from_smiles(to_smiles(one), space)
    assert again.canonical_key() == one.canonical_key()
    assert space.contains(again)


@pytest.mark.parametrize(
    ("elements", "n"),
    [
        (("C", "O"), 4),
        (("C+", "C"), 4),
        pytest.param(("C", "S"), 5, marks=pytest.mark.deep),
        pytest.param(("C", "N"), 5, marks=pytest.mark.deep),
    ],
)
def test_a_space_with_aromatic_bonds_holds_the_same_molecules_as_one_without(
    elements: tuple[str, ...], n: int
) -> None:
    listed = molecule_space(elements, n, aromatic=True).enumerate()
    texts = [to_smiles(graph) for graph in listed]
    assert len(set(texts)) == len(texts)
    assert set(texts) == {to_smiles(g) for g in molecule_space(elements, n).enumerate()}
    assert any("c" in text for text in texts)


@pytest.mark.parametrize("name", sorted(SPACES))
def test_every_molecule_that_rdkit_calls_aromatic_passes_the_quick_filter(name: str) -> None:
    space = molecule_space(SPACES[name].label_names, SPACES[name].n_max)
    batch = Batch.of(space.sample(400, seed=3))
    assert batch.edge_labels is not None
    passed = may_be_aromatic(batch.labels, batch.edge_labels, space.label_names or ())
    texts = [to_smiles(space.named(batch.graph(i))) for i in range(len(batch))]
    mols = [Chem.MolFromSmiles(text) for text in texts]
    aromatic = [any(a.GetIsAromatic() for a in mol.GetAtoms()) for mol in mols]
    assert not (np.array(aromatic) & ~passed).any()
    assert passed.mean() < 1


@pytest.mark.parametrize("name", sorted(SPACES))
def test_most_random_moves_give_valid_molecules(name: str) -> None:
    space, rng = SPACES[name], np.random.default_rng(0)
    graphs = [g for g in samples(name) if g.n_nodes == samples(name)[0].n_nodes]
    table = MoveTable.of(space, graphs[0].n_nodes)
    batch = Batch.of(graphs * 10)
    moved = table.apply(batch, table.draw(len(batch), rng), rng)
    valence = next(rule for rule in space.rules if isinstance(rule, AromaticValence))
    assert (valence.excess(moved) == 0).mean() > 0.5


def test_a_ring_stays_aromatic_when_something_is_attached_to_it() -> None:
    space = molecule_space(("C", "N"), 7, aromatic=True)
    ring = from_smiles("c1ccccc1", space)
    adjacency = np.zeros((7, 7), dtype=bool)
    kinds, features = np.zeros((7, 7), dtype=int), np.zeros((7, 12), dtype=bool)
    adjacency[:6, :6], kinds[:6, :6], features[:6] = ring.adjacency, ring.edge_labels, ring.features
    adjacency[0, 6] = adjacency[6, 0] = True
    kinds[0, 6] = kinds[6, 0] = 1
    raw = Batch(adjacency[None], np.zeros((1, 7), dtype=int), features[None], kinds[None], False)
    assert to_smiles(space.named(space.derived(raw).graph(0))) == "Cc1ccccc1"


def test_a_kekule_form_is_not_in_a_space_with_aromatic_bonds() -> None:
    space = molecule_space(("C", "N"), 6, aromatic=True)
    ring = from_smiles("c1ccccc1", space)
    kinds = ring.edge_labels.copy()  # type: ignore[union-attr]
    for i in range(6):
        kinds[i, (i + 1) % 6] = kinds[(i + 1) % 6, i] = 1 + i % 2
    bits = ring.features.copy()
    bits[:, 9], bits[:, 11] = True, False
    form = Graph(ring.adjacency, ring.labels, bits, edge_labels=kinds)
    assert space.violations(form) == ["AromaticValence(elements=('C', 'N'))"]
    with pytest.raises(InvalidGraphError, match="fit the valences"):
        to_smiles(space.named(form))


@pytest.mark.parametrize("kernel", ["rbf", "ssp"])
def test_predictions_do_not_depend_on_the_kekule_form_that_was_read(kernel: str) -> None:
    space = molecule_space(("C", "N", "O"), (6, 9), aromatic=True)
    known = space.sample(12, seed=0, distinct=True)
    gp = GraphGP(kernel, n_labels=3).fit(known, np.arange(12.0))
    forms = [from_smiles(text, space) for text in kekule_texts("Cc1ccccc1O")]
    assert len(forms) > 1
    mean, deviation = gp.predict(forms, return_std=True)
    assert np.ptp(mean) < 1e-9
    assert np.ptp(deviation) < 1e-9


def test_bounds_of_the_exact_engine_hold_for_all_molecules_that_are_not_excluded() -> None:
    space = molecule_space(("C+", "C"), 3, aromatic=True)
    everything = space.enumerate()
    assert {to_smiles(g) for g in everything} >= {"c1c[cH+]1"}
    known = space.sample(5, seed=2, distinct=True)
    gp = GraphGP("ssp", n_labels=2).fit(known, [3.0, 1.0, 2.0, 5.0, 4.0])
    mean, deviation = gp.predict(everything, return_std=True)
    first, second = np.argsort(mean - deviation)[:2]
    best = (mean - deviation)[second]
    excluded = [everything[int(first)]]
    found = propose(space, gp, LCB(1.0), method="exact", time_limit=15, exclude=excluded)
    assert found.bound - 1e-5 <= best <= found.value + 1e-5
    assert found.status == "time_limit" or found.value == pytest.approx(best, abs=1e-5)
    assert space.contains(found.graph)
    assert space.identity(found.graph) != space.identity(excluded[0])


def test_a_space_with_aromatic_bonds_is_stored_and_read() -> None:
    space = SPACES["organic"]
    again = GraphSpace.from_json(space.to_json())
    assert again == space
    graph = samples("organic")[0]
    assert again.contains(Graph.from_json(graph.to_json()))
    assert "aromatic where RDKit" in space.rules[0].describe()


# -- ions, valences, stereo -------------------------------------------------------------------

IONS = (
    *("C[N+](=O)[O-]", "CC(=O)[O-]", "C[NH3+]", "C[N+](C)(C)C", "C[O-]", "CS(C)(=O)=O", "CS(C)=O"),
    *("COP(=O)(O)O", "CP(C)C", "C[P+](C)(C)C", "C[S+](C)C", "CC[S-]", "[C-]#[N+]C", "CN=[N+]=[N-]"),
    *("NS(=O)(=O)c1ccccc1", "FC(Cl)(Br)I", "C[O+](C)C", "O=[N+]([O-])c1ccc[nH]1"),
)


@pytest.mark.parametrize("aromatic", [False, True])
@pytest.mark.parametrize("smiles", IONS)
def test_ions_and_higher_valences_survive_a_round_trip(smiles: str, aromatic: bool) -> None:
    graph = from_smiles(smiles, "organic", aromatic=aromatic)
    assert to_smiles(graph) == canonical(smiles)
    space = molecule_space("organic", graph.n_nodes, aromatic=aromatic)
    assert space.contains(graph)
    assert space.identity(graph) == canonical(smiles)


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("C[N+](C)(C)C", r"charge of \+1 on N \(atom 1\), label N\+, which is not among C"),
        ("CS(C)=O", r"valence 4 of S \(atom 1\), label S\(4\), which is not among C"),
        ("C[SiH3]", "element Si, which is not among C"),
        ("FS(F)(F)(F)(F)F", "more than four neighbours"),
        ("[CH2]C", "radical"),
        ("C[N+2]", "radical|valence"),
        ("F[C@H](Cl)Br", "stereo='ignore'"),
        ("F/C=C/F", "stereo='ignore'"),
    ],
)
def test_molecules_that_no_graph_can_represent_are_refused_with_the_reason(
    smiles: str, reason: str
) -> None:
    elements = ("C", "N", "O", "F", "S", "S(6)", "Cl", "Br")
    for aromatic in (False, True):
        with pytest.raises(InvalidInputError, match=reason):
            from_smiles(smiles, elements, aromatic=aromatic)


@pytest.mark.parametrize(
    ("smiles", "flat"), [("F[C@H](Cl)Br", "FC(Cl)Br"), ("F/C=C/F", "FC=CF"), ("CC", "CC")]
)
def test_stereo_marks_are_ignored_on_request(smiles: str, flat: str) -> None:
    for aromatic in (False, True):
        graph = from_smiles(smiles, "organic", aromatic=aromatic, stereo="ignore")
        assert to_smiles(graph) == flat


@pytest.mark.parametrize(
    "smiles",
    [
        "CI(Cl)Cl",
        "O=Ic1ccccc1",
        "CC(=O)OI(OC(C)=O)c1ccccc1",
        "CI",
        "C[I+]C",
        "CP(C)(C)=O",
        "CP(C)C",
    ],
)
@pytest.mark.parametrize("aromatic", [False, True])
def test_iodine_phosphorus_and_sulphur_have_several_valences(smiles: str, aromatic: bool) -> None:
    elements = ("C", "O", "Cl", "I", "I+", "I(3)", "P", "P(5)")
    assert to_smiles(from_smiles(smiles, elements, aromatic=aromatic)) == canonical(smiles)


def test_every_graph_of_a_space_with_trivalent_iodine_is_a_molecule() -> None:
    names = [to_smiles(graph) for graph in molecule_space(("C", "O", "I", "I(3)"), 3).enumerate()]
    assert len(names) == len(set(names))
    assert sorted(names) == sorted(map(canonical, names))
    assert any("[IH2]" in name for name in names)


@pytest.mark.parametrize("option", [{"stereo": "keep"}, {"aromatic": "yes"}])
def test_invalid_options_are_refused(option: dict[str, str]) -> None:
    with pytest.raises(InvalidInputError, match=r"expected (stereo|aromatic) to be"):
        from_smiles("CC", **option)  # type: ignore[arg-type]
    if "aromatic" in option:
        with pytest.raises(InvalidSpaceError, match="expected aromatic to be"):
            molecule_space("qm7", 4, aromatic="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("aromatic", [False, True])
def test_molecules_of_the_nci_survive_a_round_trip(aromatic: bool) -> None:
    file = Path(RDConfig.RDDataDir) / "NCI" / "first_5K.smi"
    texts = [line.split()[0] for line in file.read_text().splitlines()[::40]]
    refused = []
    for text in texts:
        mol = Chem.MolFromSmiles(text)
        elements = {a.GetSymbol() for a in mol.GetAtoms()}
        if "." in text or not elements <= {"C", "N", "O", "F", "P", "S", "Cl", "Br"}:
            continue
        try:
            graph = from_smiles(text, "organic", aromatic=aromatic)
        except InvalidInputError as error:
            refused.append(str(error))
            continue
        assert to_smiles(graph) == canonical(text)
    assert len(refused) <= 0.05 * len(texts), refused
