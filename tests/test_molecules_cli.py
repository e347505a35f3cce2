"""Studies of molecules on the command line: SMILES in and out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("rdkit")

from bogrape.cli import main
from bogrape.molecules import from_smiles, molecule_space

STUDY = """
name = "alcohols"
storage = "sqlite:///study.db"
direction = "maximize"
[space]
molecules = "qm9"
n_atoms = 5
[[space.rules]]
rule = "molecules.RequiredSubstructure"
smarts = "[OH]"
[search]
n_initial = 3
n_iterations = 2
method = "search"
time_limit = 5
[objective]
function = "bogrape.molecules.objectives:qed"
format = "smiles"
[evaluation]
executor = "inline"
"""


def test_a_study_of_molecules_runs_asks_and_tells_in_smiles(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")

    def call(*words: object) -> str:
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.output

    call("run", path, "--quiet")
    trial = json.loads(call("ask", path, "--worker", "me", "--json").strip().splitlines()[-1])
    space = molecule_space("qm9", 5)
    smiles = trial["graph"]
    assert "O" in smiles
    assert space.contains(from_smiles(smiles, space))
    call("tell", path, trial["id"], "0.5")
    table = tmp_path / "table.csv"
    table.write_text("smiles,value\nOCCCF,0.4\n", encoding="utf-8")
    call("import", path, table)
    call("export", path, tmp_path / "out.csv")
    assert "OCCCF" in (tmp_path / "out.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("OCC[NH3+]", "line 2: .* charge of +1 on N"),
        ("OCCC.F", "line 2: .* 2 fragments"),
        ("OCC(", "line 2: .* not SMILES"),
        ("[CH2]CCCO", "line 2: .* radical"),
        ("", "line 2: .* got nothing in smiles"),
        ("OCCCS", "line 2: .* element S besides C, N, O, F"),
        ("CCCCF", "RequiredSubstructure"),
    ],
)
def test_bad_smiles_in_a_table_are_refused_with_row_and_reason(
    row: str, reason: str, tmp_path: Path
) -> None:
    path, table = tmp_path / "study.toml", tmp_path / "table.csv"
    path.write_text(STUDY, encoding="utf-8")
    table.write_text(f"smiles,value\n{row},0.4\n", encoding="utf-8")
    result = CliRunner().invoke(main, ["import", str(path), str(table), "--refuse-outside"])
    assert result.exit_code == 2
    assert re.search(reason.replace("+", "[+]"), result.output)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"qm9"', '"qm8"', "'qm7' or 'qm9'"),
        ('"qm9"', '["C", "Fe"]', "valence rule, got 'Fe'"),
        ('"[OH]"', '"c1ccccc1"', "the atom 'c'"),
        ("n_atoms = 5", "n_atoms = 1", "2 heavy atoms"),
    ],
)
def test_a_study_file_that_makes_no_sense_is_refused(
    old: str, new: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace(old, new), encoding="utf-8")
    result = CliRunner().invoke(main, ["run", str(path), "--quiet"])
    assert result.exit_code == 2
    assert reason in result.output
