"""Studies of molecules on the command line: SMILES in and out."""

from __future__ import annotations

import json
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
