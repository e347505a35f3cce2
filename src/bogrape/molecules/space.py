"""`molecule_space`: molecules of a data set or of given elements as a `GraphSpace`."""

from __future__ import annotations

from collections.abc import Iterable

from rdkit import Chem, rdBase

from ..constraints import Rule
from ..errors import InvalidInputError, InvalidSpaceError
from ..space import GraphSpace
from .aromatic_valence import N_AROMATIC_FEATURES, AromaticValence
from .composition import DataSetBounds, limits
from .domain import MOLECULES
from .elements import DATA_SETS, LABELS, Elements, elements_of
from .identity import AROMATIC, BONDS, valences_of
from .scaffold import Scaffold
from .smiles import from_mol, read_smiles
from .valence import N_FEATURES, Valence


def molecule_space(
    elements: Elements = "qm7",
    n_atoms: int | tuple[int, int] = 10,
    rules: Iterable[Rule] = (),
    bounds: bool = True,
    *,
    aromatic: bool = False,
) -> GraphSpace:
    """All molecules of some elements and numbers of heavy atoms that satisfy some rules.

    Args:
        elements: "qm7" (C, N, O, S), "qm9" (C, N, O, F), "organic" (common elements, ions and
            valences) or a list of labels: C, N+, O-, S(6) and so on.
        n_atoms: number of heavy atoms, at least 2, or ``(smallest, largest)``.
        rules: further rules, of this package or of `bogrape.constraints`.
        bounds: whether "qm7" and "qm9" come with the paper's bounds on composition, rings and
            multiple bonds. Other alphabets have none.
        aromatic: whether aromatic bonds are a kind of their own, edge label 4, so that a molecule
            and its Kekulé forms are one graph; see `AromaticValence`.

    >>> molecule_space("qm7", n_atoms=3).count()
    33
    """
    symbols = elements_of(elements)
    if not isinstance(bounds, bool):
        raise InvalidSpaceError(f"expected bounds to be True or False, got {bounds!r:.60}")
    if isinstance(rules, (str, Rule)) or not isinstance(rules, Iterable):
        raise InvalidSpaceError(f"expected rules to be a list of rules, got {rules!r:.60}")
    smallest = n_atoms[0] if isinstance(n_atoms, (tuple, list)) and n_atoms else n_atoms
    if isinstance(smallest, int) and not isinstance(smallest, bool) and smallest < 2:
        raise InvalidSpaceError(
            f"expected molecules of 2 heavy atoms or more, got n_atoms={n_atoms!r}; "
            "a single atom has no neighbours"
        )
    if not isinstance(aromatic, bool):
        raise InvalidSpaceError(f"expected aromatic to be True or False, got {aromatic!r:.60}")
    own: list[Rule] = [AromaticValence() if aromatic else Valence(valences_of(symbols))]
    if bounds and isinstance(elements, str) and elements in DATA_SETS:
        fixed = isinstance(n_atoms, int) and not isinstance(n_atoms, bool)
        own += limits(elements, n_atoms) if fixed else [DataSetBounds(elements)]
    return GraphSpace(
        n_atoms,
        labels=symbols,
        features=N_AROMATIC_FEATURES if aromatic else N_FEATURES,
        rules=(*own, *rules),
        edge_labels=AROMATIC if aromatic else max(BONDS),
        domain=MOLECULES,
    )


def scaffold(smiles: str, *, keep_rings: bool = False) -> Scaffold:
    """The rule that a molecule is built on this fragment.

    Args:
        smiles: the fragment. ``*`` marks the open positions: an atom with a ``*`` attached may have
            further bonds. Without any ``*``, all atoms are open as far as their valence allows.
        keep_rings: whether the ring system of the fragment is preserved: no new ring is fused to
            it, cages it or shares an atom with it, and aromatic atoms stay aromatic. New rings may
            be attached by a bond, or share one atom of the fragment that is in none of its rings.

    >>> scaffold("*C1CC1")
    Scaffold(labels=('C', 'C', 'C'), bonds=((0, 1, 1), (0, 2, 1), (1, 2, 1)), open=(0,))
    """
    mol = read_smiles(smiles)
    marked = set()
    editable = Chem.RWMol(mol)
    for atom in mol.GetAtoms():
        if atom.GetAtomicNum() == 0:
            if any(other.GetAtomicNum() == 0 for other in atom.GetNeighbors()):
                raise InvalidInputError(
                    f"scaffold {smiles!r:.80}: a '*' must be next to an element"
                )
            marked |= {other.GetIdx() for other in atom.GetNeighbors()}
    stars = [atom.GetIdx() for atom in mol.GetAtoms() if atom.GetAtomicNum() == 0]
    renamed: dict[int, int] = {}
    for v in range(mol.GetNumAtoms()):
        if v not in stars:
            renamed[v] = len(renamed)
    for v in sorted(marked):
        lost = sum(1 for other in mol.GetAtomWithIdx(v).GetNeighbors() if other.GetIdx() in stars)
        atom = editable.GetAtomWithIdx(v)
        # RDKit adds no hydrogens where an aromatic heteroatom loses bonds
        if atom.GetNoImplicit() or (atom.GetIsAromatic() and atom.GetSymbol() != "C"):
            atom.SetNumExplicitHs(atom.GetNumExplicitHs() + lost)
    for v in reversed(stars):
        editable.RemoveAtom(v)
    fragment = editable.GetMol()
    with rdBase.BlockLogs():
        try:
            Chem.SanitizeMol(fragment)
        except ValueError as error:
            raise InvalidInputError(
                f"scaffold {smiles!r:.80}: it is not a valid molecule without its '*' ({error}); "
                "try Kekulé bonds, as in 'C1=CC=CC=C1*'"
            ) from None
    graph = from_mol(fragment, LABELS, f"scaffold {smiles!r:.80}")
    assert graph.edge_labels is not None
    return Scaffold(
        labels=tuple(LABELS[label] for label in graph.labels),
        bonds=[(u, v, int(graph.edge_labels[u, v])) for u, v in graph.edges()],
        open=sorted(renamed[v] for v in marked) if stars else list(range(len(renamed))),
        keep_rings=keep_rings,
    )
