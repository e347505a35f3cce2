"""Without RDKit, everything that needs it names the command that installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bogrape import GraphSpace, Study
from bogrape.graph import Graph

LINE = "try pip install 'bogrape[molecules]'"
TOML = """
[space]
molecules = "qm7"
n_atoms = 4
[objective]
command = "true"
"""
RULE = """
[space]
n_nodes = 4
[[space.rules]]
rule = "molecules.SmallestRing"
minimum = 5
[objective]
command = "true"
"""


def without_rdkit(code: str, folder: Path) -> str:
    """Standard error of Python running some code where RDKit cannot be imported."""
    hidden = f"import sys; sys.modules['rdkit'] = None\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", hidden], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    return done.stderr.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import bogrape.molecules",
        "from bogrape.molecules import from_smiles",
        "from bogrape.molecules.smiles import from_smiles",
        "import bogrape.molecules.objectives",
        "from bogrape.constraints import rule_from_dict\n"
        "rule_from_dict({'rule': 'molecules.SmallestRing', 'minimum': 5})",
    ],
)
def test_imports_name_the_command_that_installs_rdkit(code: str, tmp_path: Path) -> None:
    last = without_rdkit(code, tmp_path).splitlines()[-1]
    assert last.startswith("bogrape.errors.MissingExtraError: ")
    assert last.endswith(LINE)
    assert last.count("pip install") == 1


@pytest.mark.parametrize("command", ["run", "ask", "report", "status", "export"])
@pytest.mark.parametrize("text", [TOML, RULE])
def test_commands_name_it_in_one_line(command: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    words = [command, "study.toml", *(["out.csv"] if command == "export" else [])]
    error = without_rdkit(f"from bogrape.cli import main\nmain({words})", tmp_path)
    assert error == f"Error: study.toml: molecules need RDKit, which is not installed; {LINE}"


def test_a_stored_study_of_molecules_names_it(tmp_path: Path) -> None:
    molecules = pytest.importorskip("bogrape.molecules")
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = Study(molecules.molecule_space("qm7", 3), storage=url, name="a")
    study.add(molecules.from_smiles("CCO"), 1.0)
    error = without_rdkit(f"from bogrape import Study\nStudy.load({url!r}, 'a')", tmp_path)
    assert error.splitlines()[-1].endswith(LINE)


def test_graphs_without_molecules_need_no_rdkit(tmp_path: Path) -> None:
    code = (
        "from bogrape import Graph, GraphSpace\n"
        "graph = Graph([[0, 1], [1, 0]], labels=[0, 1], label_names=('C', 'O'))\n"
        "assert GraphSpace(2, labels=2).contains(graph)\n"
        "assert '<svg' in graph._repr_html_()\n"
        "raise SystemExit('fine')"
    )
    assert without_rdkit(code, tmp_path) == "fine"
    assert GraphSpace(2).contains(Graph([[0, 1], [1, 0]]))
