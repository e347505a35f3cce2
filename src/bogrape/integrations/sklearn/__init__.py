"""BoGrape's kernels and counts as parts of scikit-learn.

Needs scikit-learn: ``pip install 'bogrape[sklearn]'``. `bogrape.GraphGP` itself can be cloned,
searched over and scored as an estimator. See ``docs/integrations/sklearn.md``.
"""

from __future__ import annotations

from ..missing import missing

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError:
    raise missing("this module", "scikit-learn", "sklearn") from None

from .kernel import ShortestPathKernel
from .path_counts import PathCounts

__all__ = ["PathCounts", "ShortestPathKernel"]
