"""Data sets from files: reading, filtering, reports and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rdkit")

from rdkit import Chem

from bogrape.errors import InvalidInputError, UnsupportedError
from bogrape.molecules import load_qm7, load_qm9, molecule_space, objectives, to_smiles
from places import ROOT

DATA = ROOT.parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="needs the data files")


def write_qm7(path: Path, shift: int = 0) -> Path:
    """Random molecules with energies by weight; ``shift`` moves those from row 400 on."""
    rng = np.random.default_rng(0)
    smiles = [to_smiles(g) for g in molecule_space("qm7", (3, 7)).sample(600, seed=0)]
    energy = [-100 * objectives.molecular_weight(s) + rng.normal() for s in smiles]
    values = energy[:400] + energy[400 - shift : 600 - shift]
    lines = [f"{s},{v:.3f}" for s, v in zip(smiles, values, strict=True)]
    path.write_text("smiles,u0_atom\n" + "\n".join(lines), encoding="utf-8")
    return path


def test_a_data_file_is_read_filtered_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "small.csv"
    rows = "C,1\nCC,2\nc1ccccc1,3\n[CH3],4\nC[N+](C)(C)C,5\nnonsense,6\nCF,7\nCS(=O)C,8\nCCO,9\n"
    path.write_text("smiles,u0_atom\n" + rows, encoding="utf-8")
    data = load_qm7(path)
    assert data.smiles == ("CC", "CCO")
    assert data.values.tolist() == [2, 9]
    for reason in ("single atom", "aromatic", "radical", "charged", "unreadable", "odd valence"):
        assert f"dropped 1: {reason}" in data.report()
    assert len(load_qm7(path, limit=2)) == 1
    assert len(load_qm7(path, every=8)) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("smiles,energy\nCC,1\n", "without u0_atom"),
        ("smiles,u0_atom\nCC,\n", "line 2: expected a number"),
        ("smiles,u0_atom\nCC,nan\n", "line 2"),
        ("smiles,u0_atom\n", "rows below"),
        ("", "columns smiles"),
        ("smiles,u0_atom\nc1ccccc1,1\n", "none that fits"),
    ],
)
def test_incomplete_data_files_are_refused(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=reason):
        load_qm7(path)
    with pytest.raises(InvalidInputError, match="cannot be read"):
        load_qm9(tmp_path / "absent.csv")


def test_values_that_belong_to_other_rows_are_reported(tmp_path: Path) -> None:
    assert load_qm7(write_qm7(tmp_path / "good.csv")).out_of_step == ()
    path = write_qm7(tmp_path / "bad.csv", shift=3)
    with pytest.warns(UserWarning, match="do not belong"):
        ((first, last),) = load_qm7(path).out_of_step
    assert abs(first - 400) <= 50
    assert last == 599


@needs_data
@pytest.mark.deep
def test_all_of_qm7_is_read_and_fits_its_space() -> None:
    with pytest.warns(UserWarning, match="do not belong"):
        data = load_qm7(DATA / "qm7.csv")
    assert len(data) == 5821
    space = molecule_space("qm7", (2, 7), bounds=False)
    for graph, smiles in zip(data.graphs, data.smiles, strict=True):
        assert space.contains(graph)
        plain = Chem.RemoveHs(Chem.MolFromSmiles(smiles))
        assert to_smiles(graph) == Chem.MolToSmiles(plain)
    assert load_qm7(DATA / "qm7_realigned.csv").out_of_step == ()


@needs_data
@pytest.mark.deep
def test_molecules_of_qm9_fit_their_space() -> None:
    data = load_qm9(DATA / "qm9.csv.gz", limit=25_000)
    assert len(data) >= 16_000
    space = molecule_space("qm9", (2, 9), bounds=False)
    for graph, smiles in zip(data.graphs, data.smiles, strict=True):
        assert space.contains(graph)
        assert to_smiles(graph, "qm9") == Chem.CanonSmiles(smiles)


# -- qm9pack ----------------------------------------------------------------------------------

HEADER = (
    "XYZ_file,Index,SMILES,InChi,N_atoms,Stoichiometry,Elements,XYZ_Ang,Dipole_debye,HOMO_au,"
    "LUMO_au,HOMO_LUMO_gap_au,InternalEnergy_0K_au\n"
)
# methane, ammonia and two molecules from the other parts: SMILES, stoichiometry and u0 of QM9
METHANE = ("C", 1, "[4,1,0,0,0]", -40.47893)
AMMONIA = ("N", 2, "[3,0,1,0,0]", -56.525887)
ETHANE = ("CC", 7, "[6,2,0,0,0]", -79.764152)
METHANOL = ("CO", 8, "[4,1,0,1,0]", -115.679136)
U0_ATOM = {"CC": -670.788, "CO": -481.107}  # kcal/mol, from the commonly used CSV file


def write_qm9pack(folder: Path, parts: list[str]) -> None:
    """A package with the files of qm9pack 1.0.3, which cannot be imported without setuptools."""
    data = folder / "qm9pack" / "data"
    data.mkdir(parents=True)
    (folder / "qm9pack" / "__init__.py").write_text("raise ImportError('pkg_resources')\n")
    for i, text in enumerate(parts, start=1):
        (data / f"qm9_part{i}.csv").write_text(text, encoding="utf-8")
    (data / "qm9_polarizability.csv").write_text('XYZ_file,A_xx\n"a.xyz",13.2\n', encoding="utf-8")


def part(*molecules: tuple[str, int, str, float]) -> str:
    lines = [
        f'"dsgdb9nsd_{i:06}.xyz",{i},"{smiles}","InChI=1S/x",5,"{atoms}","[\'C\',\'H\']",'
        f'"[[0.1,0.2,0.3],[1.0,2.0,3.0]]",{i}.5,-0.3877,0.1171,0.5048,{u0}\n'
        for smiles, i, atoms, u0 in molecules
    ]
    return HEADER + "".join(lines)


def test_all_three_parts_of_qm9pack_are_read_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_qm9pack(tmp_path, [part(METHANE, AMMONIA), part(ETHANE), part(METHANOL)])
    monkeypatch.syspath_prepend(tmp_path)
    data = load_qm9()
    assert data.smiles == ("CC", "CO")
    assert data.dropped == {"single atom": 2}
    assert data.values == pytest.approx([U0_ATOM[smiles] for smiles in data.smiles], abs=2e-3)
    assert load_qm9(value="u0").values.tolist() == [ETHANE[3], METHANOL[3]]
    assert load_qm9("qm9pack", value="mu", every=3).values.tolist() == [8.5]
    assert len(data.sha256) == 64


@pytest.mark.parametrize(
    ("parts", "value", "error", "reason"),
    [
        ([part(ETHANE), part(ETHANE)], "u0", UnsupportedError, "without qm9_part3.csv"),
        ([part(ETHANE)] * 3, "energy", InvalidInputError, "try one of mu, alpha, .* u0_atom"),
        ([part(ETHANE)] * 3, "cv", InvalidInputError, "without Heatcapacity_Cv_cal_mol_K"),
        ([part(ETHANE)] * 2 + [HEADER], "u0", InvalidInputError, "part3.csv.*rows below"),
        (
            [part(ETHANE), part(("CO", 8, "[4,1,0]", -1.0)), part(ETHANE)],
            "u0_atom",
            InvalidInputError,
            "part2.csv.*line 2: expected numbers of H, C, N, O, F",
        ),
        (
            [part(ETHANE), part(("CO", 8, "[4,1,0,1,0]", float("nan"))), part(ETHANE)],
            "u0_atom",
            InvalidInputError,
            "part2.csv.*line 2: expected a number",
        ),
    ],
)
def test_an_incomplete_qm9pack_is_refused(
    parts: list[str],
    value: str,
    error: type[Exception],
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_qm9pack(tmp_path, parts)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(error, match=reason):
        load_qm9(value=value)


def test_without_qm9pack_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bogrape.molecules.qm9pack.find_spec", lambda _: None)
    with pytest.raises(UnsupportedError, match="pip install qm9pack"):
        load_qm9()
