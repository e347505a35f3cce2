"""Scaffolds that keep their rings: checked against RDKit, networkx and brute force."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

from bogrape import LCB, Graph, GraphGP, GraphSpace, propose
from bogrape.constraints import CycleRange
from bogrape.errors import InvalidInputError
from bogrape.molecules import (
    RequiredSubstructure,
    Scaffold,
    from_mol,
    from_smiles,
    molecule_space,
    scaffold,
    to_mol,
    to_smiles,
)
from bogrape.propose.criterion import Criterion
from bogrape.propose.mip.build import AcquisitionProgram
from bogrape.propose.mip.options import MipOptions


def fragment(rule: Scaffold) -> Chem.Mol:
    """The scaffold as an RDKit molecule, numbered like the rule."""
    mol = Chem.RWMol()
    for symbol in rule.labels:
        mol.AddAtom(Chem.Atom(symbol))
    for u, v, order in rule.bonds:
        mol.AddBond(u, v, Chem.BondType.values[order])
    Chem.SanitizeMol(mol)
    return mol.GetMol()


def kekulised(mol: Chem.Mol) -> Chem.Mol:
    out = Chem.Mol(mol)
    Chem.Kekulize(out, clearAromaticFlags=True)
    return out


def keeps_rings(mol: Chem.Mol, part: Chem.Mol, place: tuple[int, ...]) -> bool:
    """True if a fragment at this place keeps its rings, as perceived by RDKit."""
    ring_atoms = {place[v] for ring in part.GetRingInfo().AtomRings() for v in ring}
    aromatic = [place[atom.GetIdx()] for atom in part.GetAtoms() if atom.GetIsAromatic()]
    for ring in mol.GetRingInfo().AtomRings():
        inside = set(ring) & set(place)
        if len(inside) < len(ring) and (inside & ring_atoms or len(inside) > 1):
            return False
    return all(mol.GetAtomWithIdx(v).GetIsAromatic() for v in aromatic)


def places(plain: Chem.Mol, rule: Scaffold, part: Chem.Mol) -> list[tuple[int, ...]]:
    """Places of the fragment without further bonds of closed atoms or between its atoms."""
    pattern = kekulised(part)
    out = []
    for place in plain.GetSubstructMatches(pattern, uniquify=False, maxMatches=100_000):
        between = sum(
            plain.GetBondBetweenAtoms(u, v) is not None for u, v in combinations(place, 2)
        )
        closed = [place[v] for v in range(rule.n_atoms) if v not in rule.open]
        outside = {
            other.GetIdx() for v in closed for other in plain.GetAtomWithIdx(v).GetNeighbors()
        } - set(place)
        if between == len(rule.bonds) and not outside:
            out.append(place)
    return out


@pytest.mark.parametrize(
    ("smiles", "elements", "n", "fewer"),
    [
        ("c1ccccc1", ("C", "O"), 8, True),
        ("C1CC1", ("C", "N"), 5, True),
        ("*C1CC1C*", ("C",), 7, True),
        ("c1cc[nH]c1", ("C", "N"), 7, True),
        ("*n1cccc1", ("C", "N"), 7, False),  # one open atom, with room for one bond
        ("C1CC1C(=O)N", ("C", "N", "O"), 7, True),
        ("CC", ("C", "O"), 4, True),
        ("O=c1cc[nH]cc1", ("C", "N", "O"), 8, True),
    ],
)
def test_kept_molecules_are_those_in_which_rdkit_finds_the_rings_unchanged(
    smiles: str, elements: tuple[str, ...], n: int, fewer: bool
) -> None:
    rule = scaffold(smiles)
    part = fragment(rule)
    every = molecule_space(elements, n, rules=[rule]).enumerate()
    kept = molecule_space(elements, n, rules=[scaffold(smiles, keep_rings=True)])
    wanted = set()
    for graph in every:
        mol = to_mol(graph, elements)
        forms = [kekulised(mol), *Chem.ResonanceMolSupplier(mol, Chem.KEKULE_ALL)]
        where = {place for form in forms for place in places(form, rule, part)}
        if any(keeps_rings(mol, part, place) for place in where):
            wanted.add(to_smiles(graph, elements))
    found = kept.enumerate()
    assert {to_smiles(graph, elements) for graph in found} == wanted
    assert (len(found) < len(every)) == fewer
    for graph in found:
        assert kept.contains(graph)
        assert keeps_rings(to_mol(graph, elements), part, tuple(range(rule.n_atoms)))


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("bonds", [[(0, 1), (1, 2), (0, 2)], [(0, 1), (1, 2)]])
def test_rows_and_definition_agree_with_the_cycles_of_a_graph(
    bonds: list[tuple[int, int]], connected: bool
) -> None:
    """All graphs with 6 nodes on a triangle with a tail, or on a path: cycles by networkx."""
    orders = [(u, v, 1) for u, v in [*bonds, (2, 3)]]
    rule = Scaffold([0] * 4, orders, [0, 1, 2, 3], keep_rings=True)
    rings = {0, 1, 2} if len(bonds) == 3 else set()
    space = GraphSpace(6, labels=1, connected=connected, rules=[rule])
    free = [pair for pair in combinations(range(6), 2) if pair[1] > 3]
    wanted = set()
    for choice in product([False, True], repeat=len(free)):
        extra = [pair for pair, there in zip(free, choice, strict=True) if there]
        graph = nx.Graph([*bonds, (2, 3), *extra])
        graph.add_nodes_from(range(6))
        matrix = nx.to_numpy_array(graph, nodelist=range(6))
        bad = any(
            max(cycle) > 3 and (set(cycle) & rings or len(set(cycle) & {0, 1, 2, 3}) > 1)
            for cycle in nx.simple_cycles(graph)
        )
        assert rule.holds(Graph(matrix)) != bad
        if not bad and (nx.is_connected(graph) or not connected):
            wanted.add(Graph(matrix).canonical_key())
    assert {graph.canonical_key() for graph in space.enumerate()} == wanted


@pytest.mark.parametrize(
    ("smiles", "decorated", "kept"),
    [
        ("c1ccccc1", "Cc1ccccc1", True),
        ("c1ccccc1", "c1ccc(-c2ccccc2)cc1", True),  # another ring may be attached
        ("c1ccccc1", "c1ccc2ccccc2c1", False),  # fused
        ("C1CCCCC1", "C1CC2CCC1CC2", False),  # caged
        ("C1CCCCC1", "C1CCC2(CC1)CC2", False),  # one atom shared
        ("NC(=O)c1ccccc1", "O=C(c1ccccc1)N1CCCCC1", True),  # a ring through the nitrogen alone
        ("NC(=O)c1ccccc1", "O=C1NCc2ccccc12", False),
    ],
)
def test_known_molecules_keep_the_rings_of_their_scaffold_or_do_not(
    smiles: str, decorated: str, kept: bool
) -> None:
    n = from_smiles(decorated).n_nodes
    for keep in (False, True):
        space = molecule_space("qm7", n, [scaffold(smiles, keep_rings=keep)], bounds=False)
        assert space.contains(from_smiles(decorated, space)) == (kept or not keep)


@pytest.mark.parametrize(
    "smiles", ["c1ccccc1", "C1CC(*)CN1*", "NC(=O)c1ccccc1", "c1ccc2[nH]ccc2c1"]
)
@pytest.mark.parametrize("required", [[], ["C#N"]])
def test_samples_keep_the_rings(smiles: str, required: list[str]) -> None:
    rule = scaffold(smiles, keep_rings=True)
    rules = [rule, *map(RequiredSubstructure, required)]
    space = molecule_space("qm7", rule.n_atoms + 5, rules)
    drawn = space.sample(40, seed=0, distinct=True)
    for graph in drawn:
        assert keeps_rings(to_mol(graph), fragment(rule), tuple(range(rule.n_atoms)))
    rings = {len(Chem.GetSSSR(to_mol(graph))) for graph in drawn}
    assert len(rings) > 1  # some samples have further rings


@pytest.mark.parametrize(("method", "limit"), [("exact", 60), ("mip", 60), ("search", 2)])
def test_every_method_keeps_the_rings(method: str, limit: float) -> None:
    space = molecule_space(("C",), 5, rules=[scaffold("C1CC1", keep_rings=True)])
    graphs = space.enumerate()
    rng = np.random.default_rng(0)
    gp = GraphGP("ssp").fit(graphs[:4], rng.normal(size=4))
    mean, std = gp.predict(graphs, return_std=True)
    proposal = propose(space, gp, method=method, time_limit=limit)
    assert space.contains(proposal.graph)
    assert proposal.value == pytest.approx((mean - std).min(), abs=1e-4)


def test_a_known_molecule_can_start_the_mip() -> None:
    space = molecule_space(("C",), 6, rules=[scaffold("C1CC1C", keep_rings=True)])
    graphs = space.enumerate()
    gp = GraphGP("ssp").fit(graphs[:4], [1.0, 2.0, 0.5, 1.5])
    objective = Criterion(space, gp.posterior, LCB(1.0))
    encoded = AcquisitionProgram(objective, MipOptions(symmetry=False))
    for graph in graphs[::4]:
        assert encoded.program.violations(encoded.lift(graph)) == []
    fused = molecule_space(("C",), 6, rules=[scaffold("C1CC1C"), CycleRange(2)]).enumerate()
    odd = [graph for graph in fused if not space.contains(graph)]
    assert odd
    assert encoded.program.violations(encoded.lift(odd[0])) != []


def test_a_molecule_is_read_in_the_kekule_form_of_its_scaffold() -> None:
    for smiles in ("C1(*)=C(*)C=CC=C1", "C1(*)C(*)=CC=CC=1"):
        space = molecule_space(("C", "O"), 8, rules=[scaffold(smiles)])
        assert space.contains(from_smiles("Cc1ccccc1O", space))
        assert not space.contains(from_smiles("Cc1cccc(O)c1", space))


def test_an_open_position_may_be_an_aromatic_nitrogen() -> None:
    assert scaffold("*n1cccc1").open == (0,)
    assert from_mol(fragment(scaffold("*n1cccc1"))).n_edges == 5


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: scaffold("C1CC1", keep_rings="yes"), "keep_rings to be True or False"),  # type: ignore[arg-type]
        (lambda: Scaffold(["C", "C"], [], [0], keep_rings=True), "one connected fragment"),
        (lambda: scaffold("*c1cccc1"), "scaffold .*no molecule|SMILES"),
    ],
)
def test_invalid_scaffolds_are_refused_with_the_reason(make: object, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        make()  # type: ignore[operator]
