"""A `bogrape.GraphGP` as a BoTorch model; acquisition functions of BoTorch over graph spaces.

Needs BoTorch: ``pip install 'bogrape[botorch]'``. See ``docs/integrations/botorch.md``.
"""

from __future__ import annotations

from ..missing import missing

try:
    import botorch as _botorch  # noqa: F401
except ImportError:
    raise missing("this module", "BoTorch", "botorch") from None

from ..count_tensors import CountTensors
from .model import GraphGPModel
from .optimize import GraphCandidates, optimize_acqf_graph

__all__ = ["CountTensors", "GraphCandidates", "GraphGPModel", "optimize_acqf_graph"]
