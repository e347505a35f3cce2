"""Try the wheel as a new user would: ``python tests/try_wheel.py dist``, as ``make dist`` does.

Installs it into an empty environment, without extras, and runs what must work there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from places import ROOT

IMPORT = """
import time; start = time.perf_counter()
import bogrape, sys
seconds = time.perf_counter() - start
loaded = {"rdkit", "matplotlib", "sklearn", "torch", "pandas"} & set(sys.modules)
assert not loaded, loaded
print(f"import bogrape: {seconds:.2f} s")
"""

LOOP = """
from bogrape import GraphSpace, minimize
space = GraphSpace(n_nodes=5, labels=2, rules=[])
study = minimize(lambda graph: graph.n_edges, space, n_iterations=2, n_initial=3, time_limit=2,
                 progress=False, storage="sqlite:///study.db")
assert study.best.value >= 4, study.best.value
"""

# Code that needs an extra, and the extra that its error must name.
MISSING = {
    "import bogrape.molecules": "molecules",
    "from bogrape import GraphSpace, Study\n"
    "s = Study(GraphSpace(4), n_initial=2, method='sample')\n"
    "for _ in range(2): s.tell(s.ask(), 1.0)\ns.plot.convergence()": "plots",
    "from bogrape import GraphSpace, Study; Study(GraphSpace(4), 'postgresql://h/d')": "postgresql",
    "from bogrape import GraphSpace, minimize\n"
    "minimize(len, GraphSpace(4), executor='dask://localhost:1')": "dask",
    "from bogrape import GraphSpace, minimize\n"
    "minimize(len, GraphSpace(4), executor='slurm')": "slurm",
    "from bogrape import *\n"
    "s = GraphSpace(4); g = s.sample(3, seed=1)\n"
    "propose(s, GraphGP('ssp').fit(g, [1.0, 2.0, 3.0]), method='mip', solver='gurobi')": "gurobi",
}

TYPED = """
from bogrape import Graph, GraphSpace, Study, minimize

def objective(graph: Graph) -> float:
    return float(graph.n_edges)

space = GraphSpace(n_nodes=5, labels=("A", "B"))
study: Study = minimize(objective, space, n_iterations=1, time_limit=1.0, kernel="ssp")
best: float | None = study.best.value
graph: Graph = study.best.graph
trial = study.ask()
study.tell(trial, 1.0)
"""
MISTYPED = TYPED + "\nminimize(objective, space, n_iterations='many')\n"


def main(folder: Path) -> None:
    """Install the wheel of a folder and try it."""
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    print(f"{wheel.name}: {wheel.stat().st_size // 1000} kB; {sdist.name}")
    with tempfile.TemporaryDirectory() as name:
        away = Path(name)
        subprocess.run([sys.executable, "-m", "venv", away / "venv"], check=True)
        python = away / "venv" / "bin" / "python"
        pip = [python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt"]
        subprocess.run([*pip, wheel.resolve()], check=True)

        def run(*command: object) -> subprocess.CompletedProcess[str]:
            line = [str(part) for part in command]
            return subprocess.run(line, cwd=away, capture_output=True, text=True, timeout=300)

        def must(*command: object) -> str:
            done = run(*command)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout.strip()

        must(python, "-c", IMPORT)  # compiles, so that the second time counts
        print(must(python, "-c", IMPORT))
        command = away / "venv" / "bin" / "bogrape"
        print(must(command, "--version"))
        assert must(python, "-m", "bogrape", "--version") == must(command, "--version")
        assert "_bogrape_completion" in must("env", "_BOGRAPE_COMPLETE=bash_source", command), (
            "shell completion"
        )
        must(python, "-c", LOOP)
        must(command, "report", "study.db")
        assert (away / "report.html").stat().st_size > 10_000
        demo = must(command, "demo")
        assert "BoGrape did better" in demo
        assert "pip install 'bogrape[plots]'" in demo
        print("demo, minimize and report work without extras")
        for code, extra in MISSING.items():
            done = run(python, "-c", code)
            last = done.stderr.strip().splitlines()[-1] if done.stderr else ""
            assert done.returncode != 0, f"without [{extra}] this worked: {code}"
            assert f"bogrape[{extra}]" in last, f"{extra}: {done.stderr[-500:]}"
        print("each missing extra is named:", ", ".join(MISSING.values()))
        subprocess.run([*pip, "mypy"], check=True)
        for text, fine in ((TYPED, True), (MISTYPED, False)):
            (away / "script.py").write_text(text)
            done = run(python, "-m", "mypy", "--strict", "script.py")
            assert (done.returncode == 0) == fine, done.stdout
        print("mypy --strict accepts a typed script and refuses a mistyped one")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
