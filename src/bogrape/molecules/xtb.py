"""Properties of a molecule by GFN2-xTB: HOMO–LUMO gap, dipole moment and polarisability.

RDKit embeds the molecule (ETKDGv3 with a fixed seed) and relaxes it with MMFF94; tblite then solves
GFN2-xTB (Bannwarth, Ehlert and Grimme 2019) for that geometry. The geometry is not relaxed by xTB:
a property takes a few hundredths of a second, and is that of one conformer.

Molecules are identified by their canonical SMILES, and each is computed once per process. If the
embedding fails (as for some strained cages) or the self-consistent field does not converge, there
is no value, and `EvaluationFailed` says why.

tblite comes with the extra ``[xtb]``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
from rdkit import Chem, rdBase
from rdkit.Chem import rdDistGeom, rdForceFieldHelpers

from ..arrays import FloatArray
from ..errors import EvaluationFailed, MissingExtraError
from ..graph import Graph
from .elements import Elements
from .smiles import to_smiles

Property = Literal["gap", "dipole", "polarisability"]
PROPERTIES: tuple[Property, ...] = ("gap", "dipole", "polarisability")
BOHR = 0.529177210903  # in ångström
HARTREE = 27.211386245988  # in eV
DEBYE = 2.541746473  # of a unit charge at one bohr
_SEED = 42
_FIELD = 1e-3  # atomic units, for the finite differences of the dipole moment
_RELAXATION_STEPS = 1000


def xtb_property(molecule: Graph | str, what: Property, elements: Elements | None = None) -> float:
    """A property of a molecule, given as a graph or SMILES.

    Args:
        molecule: the molecule.
        what: ``gap`` (eV), ``dipole`` (debye) or ``polarisability`` (isotropic, cubic bohr).
        elements: what the labels of a graph stand for; see `bogrape.molecules.to_smiles`.

    Raises:
        EvaluationFailed: if there is no geometry, or the calculation does not converge.
        MissingExtraError: if tblite is not installed.
    """
    smiles = molecule if isinstance(molecule, str) else to_smiles(molecule, elements)
    return _computed(str(Chem.CanonSmiles(smiles)), what)  # type: ignore[no-untyped-call]


@cache
def _computed(smiles: str, what: Property) -> float:
    if what == "polarisability":
        return _polarisability(smiles)
    gap, dipole = _gap_and_dipole(smiles)
    return gap if what == "gap" else dipole


@cache
def _gap_and_dipole(smiles: str) -> tuple[float, float]:
    numbers, positions = geometry(smiles)
    found = _solved(smiles, numbers, positions)
    energies, occupied = found.get("orbital-energies"), found.get("orbital-occupations")
    n_occupied = round(float(occupied.sum()) / 2)
    if n_occupied >= len(energies):
        raise EvaluationFailed(f"{smiles}: no empty orbital in the basis of GFN2-xTB")
    gap = float(energies[n_occupied] - energies[n_occupied - 1]) * HARTREE
    return gap, float(np.linalg.norm(found.get("dipole"))) * DEBYE


def _polarisability(smiles: str) -> float:
    """A third of the trace of the derivative of the dipole moment with respect to a field."""
    numbers, positions = geometry(smiles)
    total = 0.0
    for axis in range(3):
        dipole = []
        for sign in (1.0, -1.0):
            field = np.zeros(3)
            field[axis] = sign * _FIELD
            dipole.append(_solved(smiles, numbers, positions, field).get("dipole")[axis])
        total += float(dipole[0] - dipole[1]) / (2 * _FIELD)
    return total / 3


def geometry(smiles: str) -> tuple[FloatArray, FloatArray]:
    """Atomic numbers and positions in bohr, hydrogens included."""
    mol = Chem.AddHs(Chem.MolFromSmiles(smiles))
    how: Any = rdDistGeom.ETKDGv3()
    how.randomSeed = _SEED
    with rdBase.BlockLogs():
        if rdDistGeom.EmbedMolecule(mol, how) != 0:
            raise EvaluationFailed(f"{smiles}: RDKit found no geometry")
        if rdForceFieldHelpers.MMFFHasAllMoleculeParams(mol):
            rdForceFieldHelpers.MMFFOptimizeMolecule(mol, maxIters=_RELAXATION_STEPS)
        else:
            rdForceFieldHelpers.UFFOptimizeMolecule(mol, maxIters=_RELAXATION_STEPS)
    numbers = np.array([atom.GetAtomicNum() for atom in mol.GetAtoms()])
    return numbers, np.asarray(mol.GetConformer().GetPositions()) / BOHR


def _solved(
    smiles: str, numbers: FloatArray, positions: FloatArray, field: FloatArray | None = None
) -> Any:
    """The result of a single-point calculation."""
    interface, library = _tblite()
    try:
        calculator = interface.Calculator("GFN2-xTB", numbers, positions)
        calculator.set("verbosity", 0)
        if field is not None:  # tblite 0.8 passes its argument to C unchanged
            calculator.add("electric-field", library.ffi.cast("double*", field.ctypes.data))
        return calculator.singlepoint()
    except RuntimeError as error:
        raise EvaluationFailed(f"{smiles}: GFN2-xTB failed: {str(error)[:100]}") from None


def _tblite() -> tuple[Any, Any]:
    try:
        from tblite import interface, library
    except ImportError:
        raise MissingExtraError(
            "xTB properties need tblite, which is not installed; try pip install 'bogrape[xtb]'"
        ) from None
    return interface, library


def check_installed() -> None:
    """Raise `MissingExtraError` if tblite is not installed."""
    _tblite()
