"""xTB: failures and missing packages, and physics if tblite is installed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from bogrape.errors import EvaluationFailed, MissingExtraError
from bogrape.molecules import from_smiles, xtb
from bogrape.molecules.xtb import geometry, xtb_property
from bogrape.problems import get_problem


def test_without_tblite_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tblite", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'bogrape\[xtb\]'"):
        get_problem("xtb-gap-8")


def test_a_geometry_has_all_hydrogens_and_bonds_of_the_right_length() -> None:
    numbers, positions = geometry("C")
    assert sorted(numbers) == [1, 1, 1, 1, 6]
    lengths = np.linalg.norm(positions[1:] - positions[0], axis=1) * xtb.BOHR
    np.testing.assert_allclose(lengths, 1.09, atol=0.01)
    np.testing.assert_array_equal(positions, geometry("C")[1])  # a fixed seed


def test_a_molecule_without_a_geometry_fails_with_its_name() -> None:
    with pytest.raises(EvaluationFailed, match="C1CC#1: RDKit found no geometry"):
        geometry("C1CC#1")


def test_a_calculation_that_breaks_down_is_a_failed_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken:
        def Calculator(self, *_: Any) -> Any:
            raise RuntimeError("SCF not converged in 250 cycles")

    monkeypatch.setattr(xtb, "_tblite", lambda: (Broken(), None))
    with pytest.raises(EvaluationFailed, match="CCCCCCC: GFN2-xTB failed: SCF not converged"):
        xtb_property("CCCCCCC", "gap")


def test_each_molecule_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(xtb, "_gap_and_dipole", lambda smiles: asked.append(smiles) or (1.0, 2.0))
    xtb._computed.cache_clear()
    graph = from_smiles("OCC(F)F", "qm9")
    values = [xtb_property(graph, "gap"), xtb_property("FC(F)CO", "gap")]
    assert values == [1.0, 1.0]
    assert asked == ["OCC(F)F"]
    xtb._computed.cache_clear()


def test_symmetric_molecules_have_no_dipole_and_water_has_that_of_gfn2() -> None:
    pytest.importorskip("tblite")
    assert xtb_property("c1ccccc1", "dipole") == pytest.approx(0.0, abs=1e-3)
    assert xtb_property("C", "dipole") == pytest.approx(0.0, abs=1e-3)
    assert xtb_property("O", "dipole") == pytest.approx(2.3, abs=0.1)  # 1.85 in experiments


def test_gaps_fall_along_the_acenes_and_polarisabilities_grow_with_size() -> None:
    pytest.importorskip("tblite")
    acenes = ("c1ccccc1", "c1ccc2ccccc2c1", "c1ccc2cc3ccccc3cc2c1")
    gaps = [xtb_property(smiles, "gap") for smiles in acenes]
    assert gaps == sorted(gaps, reverse=True)
    sizes = [xtb_property(smiles, "polarisability") for smiles in ("C", "CC", "CCC")]
    assert sizes == sorted(sizes)
    assert np.diff(sizes)[0] == pytest.approx(np.diff(sizes)[1], rel=0.1)  # nearly additive
