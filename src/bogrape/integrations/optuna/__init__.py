"""Optuna studies whose trials have a graph: a sampler, and functions that read and write trials.

Needs Optuna: ``pip install 'bogrape[optuna]'``. See ``docs/integrations/optuna.md``.
"""

from __future__ import annotations

from ..missing import missing

try:
    import optuna as _optuna  # noqa: F401
except ImportError:
    raise missing("the sampler", "Optuna", "optuna") from None

from .sampler import BoGrapeSampler
from .storage import SQLiteStorage
from .trials import graph_of, parameters_of, suggest_graph

__all__ = ["BoGrapeSampler", "SQLiteStorage", "graph_of", "parameters_of", "suggest_graph"]
