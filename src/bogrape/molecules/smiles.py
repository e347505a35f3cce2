"""SMILES and RDKit molecules in and out.

Anything that a `Graph` cannot represent is refused with the reason, never dropped silently:
radicals, isotopes, atom maps, several fragments, odd valences, and stereo marks unless they are to
be ignored. Explicit hydrogens are counted. Aromatic rings become alternating double bonds
(kekulisation), or stay aromatic if the graph is to have aromatic bonds. Of the Kekulé forms of a
molecule, one that a given space contains is used, else RDKit's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from rdkit import Chem, rdBase

from ..arrays import IntArray
from ..errors import InvalidGraphError, InvalidInputError
from ..graph import Graph
from ..space import GraphSpace
from .aromatic_valence import N_AROMATIC_FEATURES, AromaticValence, aromatic_features
from .aromaticity import read_bonds
from .elements import KINDS, LABEL_OF, LABELS, VALENCES, AtomKind, Elements, elements_of
from .identity import AROMATIC, BONDS, unchecked_mol, valences_of
from .scaffold import Scaffold
from .valence import N_FEATURES, Valence, features

_LONGEST = 2_000  # characters
_LARGEST = 200  # heavy atoms
_FORMS = 64  # Kekulé forms that are tried
_NO_STEREO = "stereo='ignore', or the SMILES without @, / and \\"
_ORDERS = {kind: order for order, kind in BONDS.items()}


def from_smiles(
    smiles: str, elements: Elements = "qm7", *, aromatic: bool = False, stereo: str = "refuse"
) -> Graph:
    """The molecule of a SMILES text, as a graph.

    Args:
        smiles: one closed-shell molecule.
        elements: what labels 0, 1, ... stand for: "qm7", "qm9", "organic" (common elements, ions
            and valences), a list of labels or the space. With a space, a Kekulé form that the space
            contains is taken, if there is one, and the atoms of a scaffold come first.
        aromatic: whether aromatic bonds are a kind of their own, edge label 4, so that a molecule
            has one graph; else it becomes a Kekulé form. A space decides this itself.
        stereo: "refuse" texts with stereo marks (@, /), or "ignore" these marks.

    >>> graph = from_smiles("CC=O")
    >>> graph.labels.tolist(), graph.edge_labels[1].tolist()
    ([0, 0, 2], [1, 0, 2])
    >>> to_smiles(from_smiles("C[N+](=O)[O-]", "organic"))
    'C[N+](=O)[O-]'
    """
    mol = read_smiles(smiles)
    graph = from_mol(mol, elements, f"{smiles!r:.80}", aromatic=aromatic, stereo=stereo)
    return _fitted(graph, mol, elements) if isinstance(elements, GraphSpace) else graph


def to_smiles(graph: Graph, elements: Elements | None = None) -> str:
    """The canonical SMILES of a molecule.

    Args:
        graph: the molecule.
        elements: what labels 0, 1, ... stand for. By default the names in the graph, as in graphs
            of a space and of `from_smiles`; for a graph without names, the elements of QM7.

    >>> to_smiles(from_smiles("C(O)C"))
    'CCO'
    """
    return str(Chem.MolToSmiles(to_mol(graph, elements)))


def to_mol(graph: Graph, elements: Elements | None = None) -> Any:
    """The molecule as a sanitised RDKit ``Mol``; ``elements`` as in `to_smiles`."""
    if not isinstance(graph, Graph):
        raise InvalidInputError(f"expected a Graph, got {type(graph).__name__}; try from_smiles")
    symbols = _symbols(graph, elements)
    _check(graph, symbols)
    try:
        return unchecked_mol(graph, symbols)
    except (ValueError, RuntimeError) as error:
        raise InvalidGraphError(
            f"expected a molecule, got one that RDKit rejects: {error}"
        ) from None


def _symbols(graph: Graph, elements: Elements | None) -> tuple[str, ...]:
    """Names of a graph's labels, as given or as stored in the graph; both must agree."""
    names = graph.label_names
    if elements is None:
        return elements_of("qm7" if names is None else names)
    symbols = elements_of(elements)
    if names is None:
        return symbols
    for label in np.unique(graph.labels).tolist():
        if label < len(symbols) and symbols[label] != names[label]:
            raise InvalidGraphError(
                f"expected label {label} to be {symbols[label]}, got a graph that calls it "
                f"{names[label]}; try without elements"
            )
    return symbols


def _check(graph: Graph, symbols: tuple[str, ...]) -> None:
    """Raise unless the graph is a molecule of these elements, with features that fit its bonds."""
    aromatic = graph.n_features == N_AROMATIC_FEATURES
    known = aromatic or graph.n_features == N_FEATURES
    if graph.directed or graph.edge_labels is None or not known:
        raise InvalidGraphError(
            f"expected the graph of a molecule: undirected, with bond orders as edge labels and "
            f"{N_FEATURES} features ({N_AROMATIC_FEATURES} with aromatic bonds), got "
            f"{graph!r:.100}; try a graph of molecule_space"
        )
    if graph.labels.max() >= len(symbols):
        raise InvalidGraphError(
            f"expected labels of {', '.join(symbols)}, got label {graph.labels.max()}; "
            "try elements=space, the space the graph comes from"
        )
    most = AROMATIC if aromatic else max(BONDS)
    if graph.edge_labels.max() > most:
        raise InvalidGraphError(f"expected bond orders 1..{most}, got {graph.edge_labels.max()}")
    rule = AromaticValence(symbols) if aromatic else Valence(valences_of(symbols))
    if graph.n_nodes > 1 and not rule.holds(graph):
        raise InvalidGraphError(
            f"expected bonds and features that fit the valences of {', '.join(symbols)}, got "
            "others; try elements=space, the space the graph comes from"
        )
    if not np.isfinite(graph.distances()[0]).all():
        raise InvalidGraphError("expected one connected molecule, got several fragments")


def from_mol(
    mol: Any,
    elements: Elements = "qm7",
    name: str = "the molecule",
    *,
    aromatic: bool = False,
    stereo: str = "refuse",
) -> Graph:
    """The graph of an RDKit ``Mol``; an error with the reason if a graph cannot represent it.

    The arguments are those of `from_smiles`; ``name`` is what messages call the molecule.
    """
    symbols = elements_of(elements)
    if not isinstance(mol, Chem.Mol):
        raise InvalidInputError(f"expected an RDKit Mol, got {type(mol).__name__}")
    if not isinstance(aromatic, bool):
        raise InvalidInputError(f"expected aromatic to be True or False, got {aromatic!r:.60}")
    if stereo not in ("refuse", "ignore"):
        raise InvalidInputError(f"expected stereo to be 'refuse' or 'ignore', got {stereo!r:.60}")
    if isinstance(elements, GraphSpace):
        aromatic = elements.n_edge_labels == AROMATIC
    plain = _plain(mol, name, stereo)
    n = plain.GetNumAtoms()
    order = np.zeros((n, n), dtype=np.int64)
    for bond in plain.GetBonds():
        if bond.GetBondType() not in _ORDERS:
            _refuse(name, f"a bond of kind {bond.GetBondType()}", "single, double, triple bonds")
        u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        order[u, v] = order[v, u] = _ORDERS[bond.GetBondType()]
    labels = np.array([_label(atom, order, symbols, name) for atom in plain.GetAtoms()])
    hydrogens = np.array([atom.GetTotalNumHs() for atom in plain.GetAtoms()])
    for v in np.flatnonzero((hydrogens > 4) | ((order > 0).sum(axis=1) > 4)).tolist():
        _refuse(name, f"more than four neighbours or hydrogens at atom {v}", "a smaller one")
    if aromatic:
        graph = _with_aromatic_bonds(mol, order, labels, hydrogens, symbols, name)
    else:
        bits = features(labels, order, valences_of(symbols))
        graph = Graph(order > 0, labels, bits, edge_labels=order)
    return graph.with_names(symbols, Valence.domain)


def _label(atom: Any, order: IntArray, symbols: tuple[str, ...], name: str) -> int:
    """The label of an atom: its element, charge and valence together."""
    v, symbol, charge = atom.GetIdx(), atom.GetSymbol(), atom.GetFormalCharge()
    valence = int(order[v].sum()) + atom.GetTotalNumHs()
    label = LABEL_OF.get(AtomKind(symbol, charge, valence))
    if label not in symbols:
        _refuse_atom(atom, label, valence, symbols, name)
    return symbols.index(label)


def _refuse_atom(
    atom: Any, label: str | None, valence: int, symbols: tuple[str, ...], name: str
) -> NoReturn:
    v, symbol, charge = atom.GetIdx(), atom.GetSymbol(), atom.GetFormalCharge()
    where = f"{symbol} (atom {v})"
    among = f"which is not among {', '.join(symbols)}"
    if label is not None and label in LABELS:
        if label == symbol:
            got = f"element {label}, {among}"
        elif charge:
            got = f"a charge of {charge:+d} on {where}, label {label}, {among}"
        else:
            got = f"valence {valence} of {where}, label {label}, {among}"
        _refuse(name, got, f"elements={(*symbols, label)}")
    if symbol == "H" or symbol not in VALENCES:
        _refuse(name, f"element {symbol}, {among}", "other elements")
    ion = f" and charge {charge:+d}" if charge else ""
    known = [text for text, kind in KINDS.items() if kind.element == symbol]
    each = ", ".join(f"{text} with valence {KINDS[text].valence}" for text in known)
    _refuse(name, f"{where} with valence {valence}{ion}", each)


def _with_aromatic_bonds(
    mol: Any,
    order: IntArray,
    labels: IntArray,
    hydrogens: IntArray,
    symbols: tuple[str, ...],
    name: str,
) -> Graph:
    kinds = order.copy()
    for u, v, kind in read_bonds(mol):
        if kind == AROMATIC:
            kinds[u, v] = kinds[v, u] = kind
    bits = aromatic_features((order > 0).sum(axis=1), kinds, hydrogens)
    graph = Graph(order > 0, labels, bits, edge_labels=kinds)
    if graph.n_nodes > 1 and not AromaticValence(symbols).holds(graph):
        _refuse(
            name,
            "aromatic bonds that RDKit would perceive differently if it read them again",
            "aromatic=False, which keeps a Kekulé form",
        )
    return graph


def read_smiles(smiles: object) -> Any:
    """RDKit's molecule of a SMILES text; an error says what is wrong with it."""
    if not isinstance(smiles, str):
        raise InvalidInputError(f"expected a SMILES string, got {type(smiles).__name__}")
    name = f"{smiles!r:.80}"
    if not smiles.strip():
        raise InvalidInputError(f"expected a SMILES string, got the empty string {name}; try 'CCO'")
    if not smiles.isascii():
        odd = next(letter for letter in smiles if not letter.isascii())
        _refuse(name, f"the character {odd!r}, which is not ASCII", "typing it again")
    if smiles.split() != [smiles]:
        _refuse(name, "white space", "the SMILES alone, without a name after it")
    if not smiles.isprintable():
        _refuse(name, "control characters", "typing it again")
    if len(smiles) > _LONGEST:
        _refuse(name, f"{len(smiles)} characters", f"at most {_LONGEST}")
    with rdBase.BlockLogs():
        try:
            mol = Chem.MolFromSmiles(smiles, sanitize=False)
            problems = [] if mol is None else Chem.DetectChemistryProblems(mol)
            if mol is None or problems:
                reason = problems[0].Message() if problems else "a text that is not SMILES"
                _refuse(name, reason, "checking brackets, ring digits and valences")
            Chem.SanitizeMol(mol)
            Chem.AssignStereochemistry(mol, cleanIt=True, force=True)
            return Chem.RemoveHs(mol)
        except (RuntimeError, ValueError) as error:
            if isinstance(error, InvalidInputError):
                raise
            _refuse(name, str(error)[:200], "another way to write it")


def _plain(mol: Any, name: str, stereo: str) -> Any:
    """A copy with single, double and triple bonds only; refuses everything else."""
    if stereo == "ignore":
        mol = Chem.Mol(mol)
        Chem.RemoveStereochemistry(mol)
    n = mol.GetNumAtoms()
    if n == 0:
        _refuse(name, "no atoms", "'CCO'")
    if n > _LARGEST:
        _refuse(name, f"{n} heavy atoms", f"at most {_LARGEST}")
    if len(Chem.GetMolFrags(mol)) > 1:
        _refuse(name, f"{len(Chem.GetMolFrags(mol))} fragments", "one molecule at a time")
    for atom in mol.GetAtoms():
        where = f"{atom.GetSymbol()} (atom {atom.GetIdx()})"
        if atom.GetAtomicNum() == 0:
            _refuse(name, f"a placeholder '*' (atom {atom.GetIdx()})", "an element")
        if atom.GetNumRadicalElectrons():
            _refuse(name, f"a radical at {where}", "closed shells; hydrogens missing in []?")
        if atom.GetIsotope():
            _refuse(name, f"isotope {atom.GetIsotope()} of {where}", "no isotope marks")
        if atom.GetAtomMapNum():
            _refuse(name, f"atom map number {atom.GetAtomMapNum()}", "no map numbers")
        if atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED:
            _refuse(name, f"stereo marks at {where}", _NO_STEREO)
    for bond in mol.GetBonds():
        if bond.GetStereo() not in (Chem.BondStereo.STEREONONE, Chem.BondStereo.STEREOANY):
            _refuse(name, "stereo marks at a double bond", _NO_STEREO)
    mol = Chem.Mol(mol)
    try:
        Chem.Kekulize(mol, clearAromaticFlags=True)
    except Exception as error:
        _refuse(name, f"aromatic atoms without a Kekulé form ({error})", "writing double bonds")
    return mol


def _fitted(graph: Graph, mol: Any, space: GraphSpace) -> Graph:
    """The molecule in a form that the space contains, or unchanged if there is none."""
    first = _scaffold_first(graph, space)
    if space.contains(first):
        return first
    if space.n_edge_labels == AROMATIC:
        return first
    for form in _kekule_forms(mol):
        other = _scaffold_first(from_mol(form, space, stereo="ignore"), space)
        if space.contains(other):
            return other
    return first


def _kekule_forms(mol: Any) -> Iterator[Any]:
    """Other Kekulé forms of the molecule, with the same SMILES; at most `_FORMS`."""
    if not any(bond.GetIsAromatic() for bond in mol.GetBonds()):
        return
    smiles = Chem.MolToSmiles(mol)
    for form in Chem.ResonanceMolSupplier(mol, Chem.KEKULE_ALL, maxStructs=_FORMS):
        if form is None:
            return
        same = Chem.Mol(form)
        with rdBase.BlockLogs():
            fine = Chem.SanitizeMol(same, catchErrors=True) == Chem.SANITIZE_NONE
        if fine and Chem.MolToSmiles(same) == smiles:
            yield form


def _scaffold_first(graph: Graph, space: GraphSpace) -> Graph:
    """The same molecule, numbered to begin with the scaffold of the space if possible."""
    scaffold = next((rule for rule in space.rules if isinstance(rule, Scaffold)), None)
    if scaffold is None or scaffold.n_atoms > graph.n_nodes or graph.edge_labels is None:
        return graph
    placed: list[int] = []

    def fits(v: int, atom: int) -> bool:
        row = {b: order for a, b, order in _both(scaffold) if a == atom}
        return (
            v not in placed
            and graph.labels[v] == scaffold.index(scaffold.labels[atom])
            and all(
                graph.edge_labels[v, w] == row.get(a, 0)  # type: ignore[index]
                for a, w in enumerate(placed)
            )
        )

    def place(atom: int) -> bool:
        if atom == scaffold.n_atoms:
            return scaffold.holds(_ordered(graph, placed))
        for v in range(graph.n_nodes):
            if fits(v, atom):
                placed.append(v)
                if place(atom + 1):
                    return True
                placed.pop()
        return False

    return _ordered(graph, placed) if place(0) else graph


def _both(scaffold: Scaffold) -> list[tuple[int, int, int]]:
    return [*scaffold.kinds(), *((v, u, kind) for u, v, kind in scaffold.kinds())]


def _ordered(graph: Graph, first: list[int]) -> Graph:
    return graph.permuted([*first, *(v for v in range(graph.n_nodes) if v not in first)])


def _refuse(name: str, got: str, remedy: str) -> NoReturn:
    raise InvalidInputError(f"SMILES {name}: got {got}; try {remedy}")
