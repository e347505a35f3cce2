"""Studies of molecules on the command line: SMILES in and out."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("rdkit")

from bogrape import GraphSpace
from bogrape.cli import main
from bogrape.cli.config import read_study_file
from bogrape.molecules import (
    ForbiddenSubstructure,
    SmallestRing,
    from_smiles,
    molecule_space,
    scaffold,
)
from places import ROOT

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


def test_a_study_file_may_ask_for_aromatic_bonds(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    text = STUDY.replace('molecules = "qm9"', 'molecules = "organic"\naromatic = true')
    path.write_text(text, encoding="utf-8")
    space = read_study_file(path).settings.space
    assert space.n_edge_labels == 4
    assert space.contains(from_smiles("OCCCC", space))


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


def scaffold_study(lines: str) -> str:
    """A study file whose space has these lines."""
    return re.sub(r"(?s)\[space\].*\[search\]", f"[space]\n{lines}\n[search]", STUDY)


def read(text: str, folder: Path) -> GraphSpace:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return read_study_file(path).settings.space


def test_a_study_file_describes_the_same_space_as_python(tmp_path: Path) -> None:
    lines = 'molecules = "qm9"\nn_atoms = [8, 9]\nscaffold = "*c1ccccc1*"'
    pyrrole = 'molecules = ["C", "N"]\nn_atoms = 7\nbounds = false\nscaffold = "*n1cccc1"'
    rule = '[[space.rules]]\nrule = "molecules.SmallestRing"\nminimum = 5'
    assert read(scaffold_study(lines), tmp_path) == molecule_space(
        "qm9", (8, 9), [scaffold("*c1ccccc1*")]
    )
    assert read(scaffold_study(f"{lines}\nkeep_rings = true\n{rule}"), tmp_path) == molecule_space(
        "qm9", (8, 9), [scaffold("*c1ccccc1*", keep_rings=True), SmallestRing(5)]
    )
    assert read(scaffold_study(pyrrole), tmp_path) == molecule_space(
        ["C", "N"], 7, [scaffold("*n1cccc1")], bounds=False
    )
    assert read(scaffold_study('molecules = "qm7"\nbounds = false'), tmp_path) == molecule_space(
        "qm7", 10, bounds=False
    )


def test_the_study_file_of_the_documentation_is_read(tmp_path: Path) -> None:
    page = ROOT / "docs" / "molecules.md"
    (text,) = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    rules = [scaffold("C1CC(*)CN1*", keep_rings=True), ForbiddenSubstructure("O-O")]
    assert read(text, tmp_path) == molecule_space("qm7", (8, 10), rules)


def test_the_example_decorates_a_scaffold(tmp_path: Path) -> None:
    example = ROOT / "examples" / "molecules" / "scaffold.toml"
    text = example.read_text(encoding="utf-8")
    space = read(text, tmp_path)
    quick = text.replace("n_iterations = 8", "n_iterations = 1").replace("limit = 5", "limit = 1")
    (tmp_path / "study.toml").write_text(quick, encoding="utf-8")
    study, table = str(tmp_path / "study.toml"), str(tmp_path / "out.csv")
    for words in (["run", study, "--quiet"], ["export", study, table]):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output
    rows = csv.DictReader(Path(table).read_text(encoding="utf-8").splitlines())
    found = [row["graph"] for row in rows]
    assert len(set(found)) == len(found) == 7
    assert all(space.contains(from_smiles(smiles, space)) for smiles in found)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ('scaffold = ""', "scaffold must be a string"),
        ("scaffold = 3", "scaffold must be a string, got 3"),
        ('scaffold = "c1cccc1"', "SMILES 'c1cccc1'"),
        ('scaffold = "**"', "next to an element"),
        ('scaffold = "CCCCCCCCC"', "nodes 0..4, got node 8"),
        ('scaffold = "CCF"', "'F'"),
        ('scaffold = "CC"\nkeep_rings = "yes"', "keep_rings to be True or False, got 'yes'"),
        ("keep_rings = true", "keep_rings applies to a scaffold only"),
        ("bounds = 1", "bounds to be True or False"),
        ('scafold = "CC"', "unknown key 'scafold'; did you mean 'scaffold'?"),
    ],
)
def test_invalid_scaffolds_are_refused_in_one_line(lines: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(scaffold_study(f'molecules = "qm7"\nn_atoms = 5\n{lines}'), encoding="utf-8")
    result = CliRunner().invoke(main, ["run", str(path), "--quiet"])
    assert result.exit_code == 2
    assert reason in result.output
    assert len(result.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("OCC[NH3+]", "line 2: .* charge of +1 on N"),
        ("OCCC.F", "line 2: .* 2 fragments"),
        ("OCC(", "line 2: .* not SMILES"),
        ("[CH2]CCCO", "line 2: .* radical"),
        ("", "line 2: .* got nothing in smiles"),
        ("OCCCS", "line 2: .* element S, which is not among C, N, O, F"),
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
        ('"[OH]"', '"(("', "a text that is not SMARTS"),
        ("n_atoms = 5", "n_atoms = 1", "2 heavy atoms"),
    ],
)
def test_an_invalid_study_file_is_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY.replace(old, new), encoding="utf-8")
    result = CliRunner().invoke(main, ["run", str(path), "--quiet"])
    assert result.exit_code == 2
    assert reason in result.output
