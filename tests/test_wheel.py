"""Contents of the wheel: the package with its data files and test problems, no benchmarks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from bogrape.problems import get_problem, problem_names
from places import ROOT

PROBLEMS = ("gcn-10", "small-gcn-5", "network-10", "cell-7", "qm7-10", "qm9-10")

CODE = """
import json, sys
from importlib.util import find_spec
sys.path.insert(0, sys.argv[1])
import bogrape
from bogrape.problems import get_problem, problem_names
value = lambda p: p.objective(p.space.sample(1, seed=0)[0])
print(json.dumps({
    "package": bogrape.__file__,
    "names": problem_names(),
    "values": {name: value(get_problem(name, 1)) for name in sys.argv[2:]},
    "benchmarks": [name for name in ("benchmarks", "bogrape.benchmarks") if find_spec(name)],
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the unpacked wheel."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (file,) = folder.glob("*.whl")
    with ZipFile(file) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def files(folder: Path) -> set[str]:
    """Relative names of all files, except those left behind by Python or a search for facts."""
    found = (path for path in folder.rglob("*") if path.is_file())
    left_behind = (".pyc", ".tried")
    return {str(path.relative_to(folder)) for path in found if path.suffix not in left_behind}


def test_the_wheel_contains_all_files_of_the_package_and_no_benchmarks(wheel: Path) -> None:
    shipped = {name for name in files(wheel) if ".dist-info/" not in name}
    assert shipped == files(ROOT / "src")
    assert {name.split("/")[0] for name in shipped} == {"bogrape", "_bogrape_command.py"}
    assert {"bogrape/problems/gnn.py", "bogrape/molecules/weights/qm7.npz"} <= shipped
    assert not {name for name in shipped if "benchmark" in name}


def test_problems_of_the_wheel_give_the_same_values_as_here(wheel: Path, tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    done = subprocess.run(
        [sys.executable, "-I", "-c", CODE, str(wheel), *PROBLEMS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    there = json.loads(done.stdout)
    assert Path(there["package"]).is_relative_to(wheel)
    assert there["names"] == list(problem_names())
    for name in PROBLEMS:
        problem = get_problem(name, 1)
        assert there["values"][name] == problem.objective(problem.space.sample(1, seed=0)[0])
    assert there["benchmarks"] == []
