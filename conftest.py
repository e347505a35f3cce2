"""What pytest runs besides ``tests``: code in documents, doctests of ``src`` and ``benchmarks``."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser


def _names(namespace: dict[str, Any]) -> None:
    """What the comments that skip blocks may ask: ``missing("botorch")``."""
    namespace["missing"] = lambda package: find_spec(package) is None


# Every ```python block of a document runs, in order, sharing names within the document.
pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/*.md", "docs/**/*.md"],
    setup=_names,
).pytest()

# Doctests import their module: leave out packages whose extra is not installed.
_NEEDS = {
    "rdkit": "molecules/*",
    "optuna": "integrations/optuna/*",
    "sklearn": "integrations/sklearn/*",
    "torch": "integrations/torch.py",
    "gpytorch": "integrations/gpytorch.py",
    "botorch": "integrations/botorch/*",
    "torch_geometric": "integrations/pyg.py",
    "ax": "integrations/ax.py",
}
collect_ignore_glob = [
    f"src/bogrape/{glob}" for package, glob in _NEEDS.items() if find_spec(package) is None
]
if find_spec("jupytext") is None:  # the extra of the site
    collect_ignore_glob += ["docs/conf.py"]
if find_spec("torch") is None:
    collect_ignore_glob += ["src/bogrape/integrations/count_tensors.py"]


# Temporary files go to memory where there is room: databases wait for the disk at every commit.
_MEMORY = Path("/dev/shm")
_ROOM = 4e9  # bytes
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# parts of the ids of tests that share a server or a cluster, which takes seconds to start
_SHARED = ("postgresql", "test_dask_pool.py::")

_USUAL, _SHORT = 300_000, 60_000


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let local search compute 60,000 values per proposal, not 300,000 as by default.

    A proposal in a small space then takes 0.15 s, not 0.7. Deep tests, those marked
    ``usual_search``, and other processes search as long as usual.
    """
    from bogrape.propose.proposal import Request

    defaults = Request.__init__.__kwdefaults__
    assert defaults["n_evaluations"] in (_USUAL, _SHORT)
    is_usual = any(map(item.get_closest_marker, ("deep", "usual_search")))
    defaults["n_evaluations"] = _USUAL if is_usual else _SHORT


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests go to whichever worker is free; those that share something, to the same one.

    The blocks of a document share names; others share a server or a cluster.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByWhatIsShared(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if ".md::" in nodeid:
                return nodeid.split("::")[0]
            return next((shared for shared in _SHARED if shared in nodeid), nodeid)

    return ByWhatIsShared(config, log)
