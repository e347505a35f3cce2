"""QM7 and QM9 from local files: molecules that fit, their values, and reasons for dropped ones.

The filter is the usual one: no aromatic, charged, radical, stereo or odd-valence molecule, and no
single atom. Values are checked against a linear function of the composition, row by row: in the
last fifth of the commonly used QM7 file, values are shifted against the molecules. Such a file is
reported, never repaired by guessing.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rdkit import Chem

from ..arrays import FloatArray
from ..errors import InvalidInputError
from ..graph import Graph
from .csv_files import file_bytes, number, table
from .elements import elements_of
from .qm9pack import read_qm9pack
from .smiles import from_mol, read_smiles

_BLOCK = 50  # rows that are compared together when values are checked
_FACTOR = 5.0  # how much larger than usual the error of a block must be to be suspicious


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """Molecules as graphs, with their values.

    Attributes:
        name: "qm7" or "qm9".
        smiles: as in the file.
        graphs, values: one of each per molecule.
        dropped: number of rows left out, by reason.
        out_of_step: ranges of rows ``(first, last)``, counted from 0, whose values do not belong
            to their molecules.
        sha256: of the file.
    """

    name: str
    smiles: tuple[str, ...]
    graphs: tuple[Graph, ...]
    values: FloatArray
    dropped: dict[str, int]
    out_of_step: tuple[tuple[int, int], ...]
    sha256: str

    def __len__(self) -> int:
        return len(self.graphs)

    def report(self) -> str:
        """Summary of the molecules kept and dropped, with reasons."""
        lost = sum(self.dropped.values())
        lines = [f"{self.name}: {len(self)} molecules of {len(self) + lost} rows kept"]
        lines += [f"  dropped {count}: {reason}" for reason, count in self.dropped.items()]
        lines += [f"  values of other molecules: rows {a}..{b}" for a, b in self.out_of_step]
        return "\n".join(lines)


def load_qm7(
    path: str | Path, value: str = "u0_atom", limit: int | None = None, every: int = 1
) -> Dataset:
    """Read a QM7 file: CSV, plain or gzipped, with the columns ``smiles`` and ``value``.

    Only every ``every``-th row is read, and at most ``limit`` of them.
    """
    return _load("qm7", lambda: _file(Path(path), value), limit, every)


def load_qm9(
    path: str | Path = "qm9pack", value: str = "u0_atom", limit: int | None = None, every: int = 1
) -> Dataset:
    """Read QM9: CSV, plain or gzipped, with ``smiles`` and ``value``, or the package ``qm9pack``.

    The package ``qm9pack`` must be installed; its properties have their usual names: ``u0_atom``,
    ``homo``, ``gap`` and so on. Only every ``every``-th row is read, and at most ``limit`` of them.
    """
    if path == "qm9pack":
        return _load("qm9", lambda: read_qm9pack(value), limit, every)
    return _load("qm9", lambda: _file(Path(path), value), limit, every)


Rows = list[tuple[str, float]]


def _load(
    name: str, read: Callable[[], tuple[Rows, str]], limit: int | None, every: int
) -> Dataset:
    for what, amount in (("limit", 1 if limit is None else limit), ("every", every)):
        if isinstance(amount, bool) or not isinstance(amount, int) or amount < 1:
            raise InvalidInputError(f"expected {what} to be an integer >= 1, got {amount!r:.60}")
    rows, sha256 = read()
    return from_rows(name, rows[::every][:limit], sha256)


def _file(path: Path, value: str) -> tuple[Rows, str]:
    raw = file_bytes(path)
    cells = table(str(path), raw, ("smiles", value))
    rows = [(smiles, number(cell, where, value)) for where, (smiles, cell) in cells]
    return rows, hashlib.sha256(raw).hexdigest()


def from_rows(name: str, rows: Iterable[tuple[str, float]], sha256: str = "") -> Dataset:
    """Filter pairs of SMILES and value, and check that the values belong to the molecules."""
    symbols = elements_of(name)
    smiles, graphs, values = [], [], []
    dropped: Counter[str] = Counter()
    composition = []
    numbers = []
    for text, amount in rows:
        try:
            mol = read_smiles(text)
        except InvalidInputError:
            dropped["unreadable SMILES"] += 1
            mol = None
        composition.append(_composition(mol))
        numbers.append(amount)
        if mol is None:
            continue
        reason = _reason(mol, symbols)
        if reason is None:
            try:
                graph = from_mol(mol, symbols)
            except InvalidInputError:
                reason = "odd valence"
        if reason is not None:
            dropped[reason] += 1
            continue
        smiles.append(text)
        graphs.append(graph)
        values.append(amount)
    if not graphs:
        raise InvalidInputError(
            f"expected molecules of {name}, got none that fits: {dict(dropped)}"
        )
    out_of_step = _out_of_step(np.array(composition), np.array(numbers))
    if out_of_step:
        spans = ", ".join(f"{a}..{b}" for a, b in out_of_step)
        warnings.warn(
            f"{name}: the values of rows {spans} do not belong to their molecules; "
            "try a corrected file, or drop these rows",
            UserWarning,
            stacklevel=4,
        )
    return Dataset(
        name=name,
        smiles=tuple(smiles),
        graphs=tuple(graphs),
        values=np.array(values),
        dropped=dict(dropped.most_common()),
        out_of_step=out_of_step,
        sha256=sha256,
    )


def _reason(mol: Any, symbols: tuple[str, ...]) -> str | None:
    """Reason why the usual filter drops a molecule; None if it is kept."""
    atoms = list(mol.GetAtoms())
    if len(Chem.GetMolFrags(mol)) != 1:
        return "several fragments"
    if any(atom.GetSymbol() not in symbols for atom in atoms):
        return "other elements"
    if any(atom.GetIsAromatic() for atom in atoms):
        return "aromatic"
    if any(atom.GetFormalCharge() for atom in atoms):
        return "charged"
    if any(atom.GetNumRadicalElectrons() for atom in atoms):
        return "radical"
    marked = any(atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED for atom in atoms)
    if marked or any(b.GetStereo() > Chem.BondStereo.STEREOANY for b in mol.GetBonds()):
        return "stereo"
    return "single atom" if len(atoms) == 1 else None


# -- values against molecules -----------------------------------------------------------------

_COUNTED = ("C", "N", "O", "S", "F")


def _composition(mol: Any) -> list[float]:
    """Numbers of atoms by element, of hydrogens, of bonds by order, and 1."""
    if mol is None:
        return [0.0] * (len(_COUNTED) + 5)
    symbols = Counter(atom.GetSymbol() for atom in mol.GetAtoms())
    hydrogens = sum(atom.GetTotalNumHs() for atom in mol.GetAtoms())
    bonds = Counter(round(2 * bond.GetBondTypeAsDouble()) for bond in mol.GetBonds())
    counted = [float(symbols[s]) for s in _COUNTED]
    return [*counted, float(hydrogens), *(float(bonds[k]) for k in (3, 4, 6)), 1.0]


def _out_of_step(A: FloatArray, y: FloatArray) -> tuple[tuple[int, int], ...]:
    """Ranges of rows where a linear function of the composition fits the values far worse.

    The function is fitted three times, each time after the first to the better half of the rows
    only, so that shifted rows do not spoil it. The median errors of blocks of rows are compared.
    """
    known = A[:, -1] > 0
    if known.sum() < 4 * _BLOCK:
        return ()
    error = np.zeros(len(y))
    kept = known
    for _ in range(3):
        weights = np.linalg.lstsq(A[kept], y[kept], rcond=None)[0]
        error = np.abs(A @ weights - y) * known
        kept = known & (error <= np.median(error[known]))
    n_blocks = len(y) // _BLOCK
    blocks = np.array([np.median(part) for part in np.array_split(error, n_blocks)])
    edges = np.cumsum([0] + [len(part) for part in np.array_split(error, n_blocks)])
    bad = blocks > _FACTOR * max(float(np.median(blocks)), 1e-6 * float(np.ptp(y)))
    spans: list[tuple[int, int]] = []
    for i in np.flatnonzero(bad):
        first, last = int(edges[i]), int(edges[i + 1]) - 1
        if spans and spans[-1][1] >= first - 2 * _BLOCK:
            spans[-1] = (spans[-1][0], last)
        else:
            spans.append((first, last))
    return tuple(spans)
