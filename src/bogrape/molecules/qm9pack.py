"""QM9 from the PyPI package ``qm9pack``: three CSV files with their own column names.

The files are read from the installed package, which is not imported, since that needs pandas and an
old setuptools. Properties have the names that QM9 files commonly use, and ``u0_atom``, which the
package does not contain, is computed from ``u0`` and the atoms.
"""

from __future__ import annotations

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

from ..errors import InvalidInputError, UnsupportedError
from .csv_files import file_bytes, number, table

_COLUMNS = {
    "mu": "Dipole_debye",
    "alpha": "Polarizability_bohr3",
    "homo": "HOMO_au",
    "lumo": "LUMO_au",
    "gap": "HOMO_LUMO_gap_au",
    "r2": "R2_bohr2",
    "zpve": "ZPVE_au",
    "cv": "Heatcapacity_Cv_cal_mol_K",
    "u0": "InternalEnergy_0K_au",
    "u298": "InternalEnergy_298K_au",
    "h298": "Enthalphy_298K_au",  # spelt so in the package
    "g298": "GibbsFreeEnergy_298K_au",
    "u0_atom": "InternalEnergy_0K_au",  # and see `_atomisation`
}
_PARTS = tuple(f"qm9_part{i}.csv" for i in (1, 2, 3))
# Energies of free H, C, N, O, F in Hartree, B3LYP/6-31G(2df,p); Stoichiometry has this order
_ATOMS = (-0.500273, -37.846772, -54.583861, -75.064579, -99.718730)
_HARTREE = 627.5094740631  # kcal/mol


def read_qm9pack(value: str) -> tuple[list[tuple[str, float]], str]:
    """SMILES and value of every molecule, and the SHA-256 of the three files together."""
    if value not in _COLUMNS:
        raise InvalidInputError(
            f"expected a property of qm9pack, got {value!r:.60}; try one of {', '.join(_COLUMNS)}"
        )
    out: list[tuple[str, float]] = []
    digest = hashlib.sha256()
    column = _COLUMNS[value]
    for path in _parts():
        raw = file_bytes(path)
        digest.update(raw)
        for where, cells in table(str(path), raw, ("SMILES", column, "Stoichiometry")):
            smiles, cell, stoichiometry = cells
            amount = number(cell, where, column)
            if value == "u0_atom":
                amount = _atomisation(amount, stoichiometry, where)
            out.append((smiles, amount))
    return out, digest.hexdigest()


def _parts() -> list[Path]:
    spec = find_spec("qm9pack")
    folders = spec.submodule_search_locations if spec is not None else None
    if not folders:
        raise UnsupportedError(
            "expected the package qm9pack with its data, found none; try pip install qm9pack, "
            "or load_qm9('qm9.csv.gz') with a file"
        )
    paths = [Path(next(iter(folders))) / "data" / name for name in _PARTS]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise UnsupportedError(
            f"expected qm9pack to contain data/{', '.join(_PARTS)}, got one without "
            f"{', '.join(missing)}; try qm9pack 1.0.3, or load_qm9('qm9.csv.gz') with a file"
        )
    return paths


def _atomisation(u0: float, stoichiometry: str, where: str) -> float:
    """``u0`` minus the energies of its atoms, in kcal/mol.

    >>> round(_atomisation(-40.47893, "[4,1,0,0,0]", "methane"), 3)
    -396.0
    """
    if not re.fullmatch(r"\[\d+(, ?\d+){4}\]", stoichiometry):
        raise InvalidInputError(
            f"{where}: expected numbers of H, C, N, O, F like [4,1,0,0,0], "
            f"got {stoichiometry!r:.60}"
        )
    counts = map(int, stoichiometry.strip("[]").split(","))
    free = sum(n * energy for n, energy in zip(counts, _ATOMS, strict=True))
    return (u0 - free) * _HARTREE
