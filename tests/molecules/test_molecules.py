"""Molecules: SMILES in and out, the space, its rules, the sampler, the engines."""

from __future__ import annotations

import pickle
import sys
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rdkit")

from rdkit import Chem, rdBase

from bogrape import Graph, GraphGP, GraphSpace, propose
from bogrape.batch import Batch
from bogrape.constraints import CycleRange, LabelCount, Rule, rule_from_dict
from bogrape.errors import (
    BoGrapeError,
    InfeasibleSpaceError,
    InvalidInputError,
    InvalidSpaceError,
    UnsupportedError,
)
from bogrape.molecules import (
    BondCount,
    DataSetBounds,
    ForbiddenSubstructure,
    HeteroatomCount,
    LargestRing,
    MolecularWeight,
    NoAdjacentHeteroatoms,
    RequiredSubstructure,
    SmallestRing,
    Valence,
    draw,
    from_mol,
    from_smiles,
    mean_similarity,
    molecule_space,
    objectives,
    scaffold,
    to_mol,
    to_smiles,
)
from bogrape.propose.local.moves import MoveTable

# -- SMILES -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("CCO ethanol", "white space"),
        ("CC\u041e", "not ASCII"),
        ("C\x00C", "control"),
        ("C(C", "not SMILES"),
        ("xyz", "not SMILES"),
        ("C.C", "2 fragments"),
        ("C[NH3+]", r"charge of \+1 on N"),
        ("C[CH2]", "radical at C"),
        ("[13CH3]C", "isotope 13"),
        ("[CH3:1]C", "map number"),
        ("CF", "element F, which is not among C, N, O, S"),
        ("C[Si](C)C", "radical|element Si"),
        ("CS(=O)C", "S .* valence 4"),
        ("C[C@H](O)N", "stereo"),
        ("C/C=C/C", "stereo"),
        ("*C", "placeholder"),
        ("C" * 300, "300 heavy atoms"),
        ("C" * 3000, "3000 characters"),
        ("CC(C)(C)(C)C", "valence"),
        ("c1cccc1", "kekulize|Kekul"),
        ("cC", "aromatic"),
        ("CC\u00e9", "not ASCII"),
        ("C~C", "bond"),
        ("[Na]C", "Na"),
        ("[H][H]", "element H"),
    ],
)
def test_smiles_that_no_graph_can_represent_are_refused_with_the_reason(
    smiles: str, reason: str
) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        from_smiles(smiles)


@pytest.mark.parametrize("odd", [None, 3, b"CC", ["C"]])
def test_smiles_must_be_text(odd: object) -> None:
    with pytest.raises(InvalidInputError, match="SMILES string"):
        from_smiles(odd)  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=20) | st.text("CNOS()[]=#123cn+-@/\\.%H", max_size=20))
def test_any_text_gives_a_molecule_or_a_bogrape_error(text: str) -> None:
    try:
        graph = from_smiles(text)
    except BoGrapeError:
        return
    assert to_smiles(from_smiles(to_smiles(graph))) == to_smiles(graph)


@pytest.mark.parametrize("smiles", ["CCO", "c1ccccc1", "C#CC", "CC(=O)NC", "C1CC1", "c1ccsc1", "C"])
def test_molecules_come_back_as_canonical_smiles(smiles: str) -> None:
    wanted = Chem.MolToSmiles(Chem.MolFromSmiles(smiles))
    graph = from_smiles(smiles)
    assert to_smiles(graph) == wanted
    assert from_mol(to_mol(graph)) == graph
    assert Graph.from_json(graph.to_json()) == graph


def test_partly_aromatic_rings_are_kekulised() -> None:
    assert to_smiles(from_smiles("c1cccCC1")) == to_smiles(from_smiles("C1=CC=CCC1"))
    assert from_smiles("c1ccccc1C").n_edges == 7


def test_features_are_those_of_the_paper() -> None:
    graph = from_smiles("CC#N")
    neighbours, hydrogens, flags = np.split(graph.features.astype(int), [4, 9], axis=1)
    assert (neighbours @ [1, 2, 3, 4]).tolist() == [1, 2, 1]
    assert (hydrogens @ range(5)).tolist() == [3, 0, 0]
    assert flags.tolist() == [[0, 0], [0, 1], [0, 1]]
    assert graph.labels.tolist() == [0, 0, 1]


def test_labels_of_another_data_set_are_refused() -> None:
    graph = from_smiles("CF", "qm9")
    assert to_smiles(graph) == to_smiles(graph, molecule_space("qm9", 2)) == "CF"
    with pytest.raises(InvalidInputError, match="valences"):
        to_smiles(graph.with_names())  # label 3 is S in QM7
    with pytest.raises(InvalidInputError, match="label 3 to be S, got a graph that calls it F"):
        to_smiles(graph, "qm7")
    with pytest.raises(InvalidInputError, match="label"):
        to_smiles(graph, ("C", "N"))
    with pytest.raises(InvalidInputError, match="graph of a molecule"):
        to_smiles(Graph([[0, 1], [1, 0]]))


# -- the space --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data_set", "n", "count"),
    [("qm7", 2, 10), ("qm7", 3, 33), ("qm9", 2, 9), ("qm9", 3, 47), ("qm7", 4, 329)],
)
def test_the_number_of_molecules_is_the_known_one(data_set: str, n: int, count: int) -> None:
    space = molecule_space(data_set, n)
    graphs = space.enumerate()
    assert len({to_smiles(graph, space) for graph in graphs}) == len(graphs) == count
    assert all(map(space.contains, graphs))


@pytest.mark.deep
def test_the_number_of_qm9_molecules_with_four_atoms_is_the_known_one() -> None:
    assert molecule_space("qm9", 4).count() == 484


def test_a_space_of_several_sizes_has_the_molecules_of_each_size() -> None:
    space = molecule_space("qm7", (2, 3))
    assert space.count() == 43
    assert DataSetBounds("qm7") in space.rules


def test_a_space_survives_json_and_pickle() -> None:
    rules = [
        MolecularWeight(maximum=80),
        RequiredSubstructure("[OH]"),
        ForbiddenSubstructure("O~O"),
        SmallestRing(5),
        LargestRing(6),
        NoAdjacentHeteroatoms(),
        HeteroatomCount(1, 2),
        BondCount(2, 1),
        CycleRange(maximum=1),
        scaffold("*CC"),
    ]
    for n_atoms in (5, (4, 6)):
        space = molecule_space("qm7", n_atoms, rules=rules)
        assert GraphSpace.from_json(space.to_json()) == space
        assert pickle.loads(pickle.dumps(space)) == space
        for rule in space.rules:
            assert type(rule_from_dict(rule.to_dict())) is type(rule)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: molecule_space("qm8"), "'qm7' or 'qm9'"),
        (lambda: molecule_space(["C", "Xx"]), "valence rule, got 'Xx'"),
        (lambda: molecule_space(["C", "H"]), "hydrogens are counted"),
        (lambda: molecule_space(["C", "Fe"]), "valence rule, got 'Fe'; try some of B, C, N, O"),
        (lambda: molecule_space(["C", "C"]), "different elements"),
        (lambda: molecule_space([]), "list of elements"),
        (lambda: molecule_space("qm7", 1), "2 heavy atoms"),
        (lambda: molecule_space("qm7", (5, 3)), "smallest, largest"),
        (lambda: molecule_space("qm7", bounds="no"), "bounds"),
        (lambda: molecule_space("qm7", rules=[LabelCount("F", 1)]), "'F'"),
        (lambda: molecule_space("qm7", 4, rules=[LabelCount("O", 2)]), "LabelCount.*LabelCount"),
        (lambda: molecule_space("qm7", 3, rules=[scaffold("CCCC")]), "node 3"),
        (lambda: GraphSpace(3, labels=2, rules=[Valence((4, 2))]), "features"),
        (lambda: MolecularWeight(), "neither"),
        (lambda: MolecularWeight(100, 50), "swapping"),
        (lambda: SmallestRing(12), "minimum <= 8"),
        (lambda: LargestRing(2), r"CycleRange\(maximum=0\)"),
        (lambda: LargestRing(6.5), "integer"),
        (lambda: GraphSpace(8, directed=True, rules=[LargestRing(6)]), "undirected"),
        (lambda: BondCount(5), "order 1, 2 or 3"),
        (lambda: RequiredSubstructure("c1ccccc1", reading="kekule"), "atom 'c'"),
        (lambda: RequiredSubstructure("C:C", reading="kekule"), "bond ':'"),
        (lambda: RequiredSubstructure("[N+]", reading="kekule"), "atom"),
        (lambda: RequiredSubstructure("C", reading="Kekulé"), "one of kekule, rdkit"),
        (lambda: RequiredSubstructure("(("), "not SMARTS"),
        (lambda: RequiredSubstructure(""), "SMARTS text"),
        (lambda: scaffold("**"), "next to an element"),
        (lambda: rule_from_dict({"rule": "molecules.Nonsense"}), "name of a rule"),
        (lambda: rule_from_dict({"rule": "os.system"}), "name of a rule"),
    ],
)
def test_invalid_spaces_are_refused_with_the_reason(make: object, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        make()  # type: ignore[operator]


CARBONYL = (RequiredSubstructure("C=O"), ForbiddenSubstructure("O=C"))
PEROXIDE = (RequiredSubstructure("O-O"), NoAdjacentHeteroatoms())
CYCLE = (scaffold("C1CC1*"), CycleRange(maximum=0))
RINGS = (CycleRange(1), LargestRing(3), SmallestRing(4))
HEAVY = (MolecularWeight(maximum=40),)


def contradictory(guilty: tuple[Rule, ...]) -> GraphSpace:
    """A space with these rules, and two that contradict nothing."""
    rules = (BondCount(3, maximum=1), *guilty, HeteroatomCount(maximum=3))
    return molecule_space(("C", "O"), 4, rules=rules)


@pytest.mark.parametrize("guilty", [CARBONYL, PEROXIDE, CYCLE, RINGS, HEAVY])
def test_sampling_names_the_rules_that_contradict_each_other(guilty: tuple[Rule, ...]) -> None:
    with pytest.raises(InfeasibleSpaceError) as caught:
        contradictory(guilty).sample(1)
    assert {name.partition("(")[0] for name in caught.value.rules} == {
        type(rule).__name__ for rule in guilty
    }
    assert all(name in str(caught.value) for name in caught.value.rules)


@pytest.mark.parametrize("guilty", [CARBONYL, RINGS])
def test_proposing_names_the_rules_that_contradict_each_other(guilty: tuple[Rule, ...]) -> None:
    known = molecule_space(("C", "O"), 4).sample(3, seed=0)
    gp = GraphGP("ssp", n_labels=2).fit(known, [1.0, 2.0, 3.0])
    with pytest.raises(InfeasibleSpaceError) as caught:
        propose(contradictory(guilty), gp, time_limit=20)
    assert {name.partition("(")[0] for name in caught.value.rules} == {
        type(rule).__name__ for rule in guilty
    }


def test_rules_that_plainly_contradict_each_other_are_named_when_the_space_is_built() -> None:
    with pytest.raises(InvalidSpaceError, match=r"HeteroatomCount.* and LabelCount\(label='C'"):
        molecule_space("qm7", 10, rules=[HeteroatomCount(minimum=6)])
    with pytest.raises(InvalidSpaceError, match=r"LabelCount.* and RequiredSubstructure"):
        molecule_space("qm7", 10, rules=[RequiredSubstructure("[OH]"), LabelCount("O", maximum=0)])


# -- rules ------------------------------------------------------------------------------------

SMALL = molecule_space(("C", "O"), 4)
RULES = [
    BondCount(2, 1, 1),
    HeteroatomCount(1, 2),
    NoAdjacentHeteroatoms(),
    MolecularWeight(60, 75.5),
    RequiredSubstructure("[OH]-C"),
    RequiredSubstructure("C=C.O"),
    ForbiddenSubstructure("C-C-C"),
    ForbiddenSubstructure("[!C]~[C;H2,H3]"),
    SmallestRing(4),
    SmallestRing(5),
    LargestRing(3),
    scaffold("*CO"),
    scaffold("*C(=O)*"),
]


@pytest.fixture(scope="module")
def small() -> list[Graph]:
    """All molecules of four C and O atoms, in every numbering."""
    return [g.permuted(order) for g in SMALL.enumerate() for order in permutations(range(4))]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_excess_and_rows_of_a_rule_agree(rule: object, small: list[Graph]) -> None:
    space = molecule_space(("C", "O"), 4, rules=[rule])
    inside = {graph.canonical_key() for graph in small if space.contains(graph)}
    assert {graph.canonical_key() for graph in space.enumerate()} == inside
    assert 0 < len(inside) < len(small) // 24


@pytest.mark.parametrize("smarts", ["[OH]", "C-C=O", "[!C]~[!C]", "[C;H2,H3]-[C;H2,H3]", "O.O"])
def test_substructures_are_those_rdkit_finds(smarts: str, small: list[Graph]) -> None:
    pattern = Chem.MolFromSmarts(smarts)
    rule = RequiredSubstructure(smarts, SMALL.label_names)
    graphs = small[::24]
    found = rule.excess(Batch.of(graphs)) == 0
    mols = [to_mol(g, SMALL) for g in graphs]
    for mol in mols:
        Chem.Kekulize(mol, clearAromaticFlags=True)
    assert found.tolist() == [mol.HasSubstructMatch(pattern) for mol in mols]


def test_weights_are_those_of_rdkit(small: list[Graph]) -> None:
    for graph in small[::96]:
        weight = objectives.molecular_weight(graph, SMALL)
        around = molecule_space(
            ("C", "O"), 4, rules=[MolecularWeight(weight - 0.02, weight + 0.02)]
        )
        assert around.contains(graph)


def test_valence_agrees_with_a_search_over_all_bonds() -> None:
    """Three atoms of C and O: every choice of labels and orders, checked by RDKit."""
    space = molecule_space(("C", "O"), 3)
    keys = {graph.canonical_key() for graph in space.enumerate()}
    wanted = set()
    for labels in product(range(2), repeat=3):
        for bonds in product(range(4), repeat=3):
            mol = Chem.RWMol()
            for label in labels:
                mol.AddAtom(Chem.Atom("CO"[label]))
            for (u, v), order in zip(combinations(range(3), 2), bonds, strict=True):
                if order:
                    mol.AddBond(u, v, Chem.BondType.values[order])
            with rdBase.BlockLogs():
                fine = Chem.SanitizeMol(mol, catchErrors=True) == Chem.SANITIZE_NONE
            if fine and len(Chem.GetMolFrags(mol)) == 1:
                wanted.add(from_mol(mol.GetMol(), ("C", "O")).canonical_key())
    assert keys == wanted


def test_a_molecule_is_numbered_from_its_scaffold() -> None:
    space = molecule_space("qm7", 6, rules=[scaffold("*C1CC1O")])
    graph = from_smiles("NCC1CC1O", space)
    assert space.contains(graph)
    assert not space.contains(from_smiles("OC1CC1CN"))
    assert not space.contains(from_smiles("C1C(C)C1CO", space))
    assert all("C1" in to_smiles(g) for g in space.sample(20, seed=1))


# -- sampling and searching -------------------------------------------------------------------


@pytest.mark.parametrize("data_set", ["qm7", "qm9"])
@pytest.mark.parametrize("n", [10, 20, 30])
def test_samples_are_distinct_diverse_and_differ_by_seed(data_set: str, n: int) -> None:
    space = molecule_space(data_set, n)
    graphs = space.sample(100, seed=1, distinct=True)
    smiles = {to_smiles(graph, space) for graph in graphs}
    assert len(smiles) == 100
    assert graphs == space.sample(100, seed=1, distinct=True)
    assert len(smiles & {to_smiles(g, space) for g in space.sample(100, seed=2)}) < 10
    assert mean_similarity(graphs, space) <= 0.12
    assert (space.excess(Batch.of(graphs)) == 0).all()


def assert_sanitised(data_set: str, n_atoms: int | tuple[int, int], k: int) -> None:
    """RDKit sanitises every sample, and finds neither charges nor radical electrons."""
    space = molecule_space(data_set, n_atoms)
    for graph in space.sample(k, seed=3):
        smiles = to_smiles(graph, space)
        mol = Chem.MolFromSmiles(smiles)  # sanitises
        assert mol is not None
        assert mol.GetNumAtoms() == graph.n_nodes
        assert not any(a.GetNumRadicalElectrons() or a.GetFormalCharge() for a in mol.GetAtoms())
        assert "." not in smiles
        hydrogens = graph.features[:, 4:9].astype(int) @ np.arange(5)
        assert sum(atom.GetTotalNumHs() for atom in mol.GetAtoms()) == hydrogens.sum()


@pytest.mark.parametrize("data_set", ["qm7", "qm9"])
def test_samples_pass_sanitisation(data_set: str) -> None:
    assert_sanitised(data_set, (4, 20), 1000)


@pytest.mark.deep
@pytest.mark.parametrize("data_set", ["qm7", "qm9"])
@pytest.mark.parametrize("n_atoms", [(2, 20), 30])
def test_ten_thousand_samples_pass_sanitisation(
    data_set: str, n_atoms: int | tuple[int, int]
) -> None:
    assert_sanitised(data_set, n_atoms, 10_000)


def test_samples_satisfy_further_rules() -> None:
    rules = [
        RequiredSubstructure("C=O"),
        ForbiddenSubstructure("O-O"),
        SmallestRing(5),
        CycleRange(1, 1),
        MolecularWeight(100, 160),
    ]
    space = molecule_space("qm7", 9, rules=rules)
    graphs = space.sample(20, seed=0)
    assert all(map(space.contains, graphs))


def test_moves_keep_features_consistent_with_bonds() -> None:
    space = molecule_space("qm7", 8)
    table = MoveTable.of(space, 8)
    rng = np.random.default_rng(0)
    batch = Batch.of(space.sample(400, seed=0))
    moved = table.apply(batch, rng.integers(len(table), size=400), rng)
    assert (Valence((4, 3, 2, 2)).excess(moved) == 0).mean() > 0.6
    derived = space.derived(moved)
    assert (derived.features == moved.features).all()
    assert (space.derived(batch).features == batch.features).all()


@pytest.mark.parametrize("method", ["search", "sample", "evolve"])
def test_searches_propose_molecules(method: str) -> None:
    space = molecule_space("qm7", 8)
    graphs = space.sample(8, seed=0)
    gp = GraphGP(kernel="ssp").fit(graphs, [objectives.qed(g) for g in graphs])
    proposal = propose(space, gp, method=method, time_limit=2)
    assert space.contains(proposal.graph)
    assert from_smiles(to_smiles(proposal.graph)).n_nodes == 8


# -- engines ----------------------------------------------------------------------------------


def assert_best_of_all(space: GraphSpace, kernel: str, method: str, near: float) -> None:
    """The proposal is proved, and no molecule of the space has a smaller value."""
    graphs = space.enumerate()
    rng = np.random.default_rng(0)
    chosen = [graphs[i] for i in rng.permutation(len(graphs))[:6]]
    gp = GraphGP(kernel=kernel).fit(chosen, rng.normal(size=6))
    mean, std = gp.predict(graphs, return_std=True)
    proposal = propose(space, gp, method=method, time_limit=100)
    assert space.contains(proposal.graph)
    assert proposal.value == pytest.approx(float((mean - std).min()), abs=near)
    assert proposal.status == "optimal"


@pytest.mark.parametrize("kernel", ["ssp", "essp", "sp", "esp"])
def test_the_exact_engine_finds_the_best_of_all_molecules(kernel: str) -> None:
    assert_best_of_all(molecule_space("qm7", 3), kernel, "exact", near=1e-6)


@pytest.mark.deep
@pytest.mark.parametrize("data_set", ["qm7", "qm9"])
@pytest.mark.parametrize("kernel", ["ssp", "essp", "sp", "esp"])
def test_the_exact_engine_finds_the_best_of_all_molecules_with_four_atoms(
    data_set: str, kernel: str
) -> None:
    assert_best_of_all(molecule_space(data_set, 4), kernel, "exact", near=1e-6)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("kernel", ["ssp", "sp"])
def test_the_mip_finds_the_best_of_all_molecules(kernel: str, n: int) -> None:
    assert_best_of_all(molecule_space("qm7", n), kernel, "mip", near=1e-4)


# -- pictures ---------------------------------------------------------------------------------


def test_pictures_are_png_or_svg(tmp_path: Path) -> None:
    graphs = molecule_space("qm7", 6).sample(5, seed=0)
    assert draw(graphs, values=range(5)).startswith(b"\x89PNG")
    draw(graphs[0], tmp_path / "one.svg", values=1.5)
    assert "<svg" in (tmp_path / "one.svg").read_text(encoding="utf-8")
    for odd in ({"path": tmp_path / "a.gif"}, {"values": [1]}, {"columns": 0}):
        with pytest.raises(InvalidInputError):
            draw(graphs, **odd)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError):
        draw([])


@pytest.mark.parametrize(("smiles", "elements"), [("Oc1ccccc1", "qm7"), ("CF", "qm9")])
def test_a_notebook_draws_a_bare_molecule_as_a_chemist_would(smiles: str, elements: str) -> None:
    graph = from_smiles(smiles, elements)
    for shown in (graph, graph.canonical(), pickle.loads(pickle.dumps(graph))):
        text = shown._repr_html_()
        assert text is not None
        assert "molecule with" in text
        assert "rdkit" not in text.lower()
    bare = Graph.from_json(graph.to_json())
    assert bare == graph
    assert "molecule with" not in str(bare._repr_html_())


def test_properties_are_those_of_rdkit() -> None:
    graph = from_smiles("CC(=O)N")
    assert objectives.tpsa(graph) == pytest.approx(43.09)
    assert objectives.molecular_weight(graph) == pytest.approx(59.068)
    assert 0 < objectives.qed(graph) < 1
    assert objectives.log_p("CC(=O)N") == objectives.log_p(graph)
    assert 1 <= objectives.synthetic_accessibility(graph) <= 10


def test_an_unknown_data_set_raises_an_invalid_space_error() -> None:
    with pytest.raises(InvalidSpaceError):
        molecule_space("qm8")


def test_drawing_names_the_library_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers often have no X11 libraries; everything but drawing works there."""
    monkeypatch.setitem(sys.modules, "rdkit.Chem.Draw", None)
    with pytest.raises(UnsupportedError, match=r"able to draw.*libxrender1"):
        draw("CCO")
