"""Libraries that are not installed: one line says how to install them."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRAS = {
    "optuna": ("optuna", "optuna"),
    "sklearn": ("sklearn", "sklearn"),
    "torch": ("torch", "torch"),
    "gpytorch": ("gpytorch", "gpytorch"),
    "botorch": ("botorch", "botorch"),
    "pyg": ("torch_geometric", "pyg"),
    "ax": ("ax", "ax"),
}

CODE = """
import sys
from importlib import import_module
for module, library, extra in {cases}:
    for name in list(sys.modules):
        if name.split(".")[0] == library or name.startswith("bogrape.integrations"):
            del sys.modules[name]
    sys.modules[library] = None  # as if it were not installed
    try:
        import_module(f"bogrape.integrations.{{module}}")
    except ImportError as error:
        print(type(error).__name__, error)
    finally:
        del sys.modules[library]
"""


@pytest.fixture(scope="module")
def said() -> list[str]:
    cases = [(module, *rest) for module, rest in EXTRAS.items()]
    command = [sys.executable, "-c", CODE.format(cases=cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_each_module_says_in_one_line_how_to_install_its_library(said: list[str]) -> None:
    assert len(said) == len(EXTRAS)
    for line, (_, extra) in zip(said, EXTRAS.values(), strict=True):
        assert line.startswith("MissingExtraError ")
        assert line.endswith("; try pip install 'bogrape[" + extra + "]'")
        assert "which is not installed" in line
