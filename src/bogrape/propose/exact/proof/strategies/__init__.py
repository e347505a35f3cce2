"""The families of criteria that can be proved, one file each, and which is chosen for what."""

from __future__ import annotations

from .....errors import UnsupportedError
from ....criterion import Criterion
from ..strategy import Strategy
from .exponential import ExponentialLabelledLCB, ExponentialLCB
from .histograms import Histograms
from .linear import LinearLabelledLCB, LinearLCB

STRATEGIES: tuple[type[Strategy], ...] = (  # the first that accepts a criterion is taken
    LinearLCB,
    LinearLabelledLCB,
    ExponentialLCB,
    ExponentialLabelledLCB,
    Histograms,
)


def choose(criterion: Criterion) -> Strategy:
    """The strategy for a criterion, or an error that says what can be proved."""
    for strategy in STRATEGIES:
        if strategy.accepts(criterion):
            return strategy(criterion)
    raise UnsupportedError(
        f"method 'exact' can prove LCB and EI, got {type(criterion.acquisition).__name__}; "
        "use method='search' for other acquisition functions"
    )
