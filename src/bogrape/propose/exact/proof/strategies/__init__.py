"""The families of criteria that can be proved, one file each, and which is chosen for what."""

from __future__ import annotations

from ....criterion import AnyCriterion, Criterion
from ..strategy import Strategy
from .exponential import ExponentialLabelledLCB, ExponentialLCB
from .histograms import Histograms
from .linear import LinearLabelledLCB, LinearLCB
from .own import OwnBoxes, OwnHistograms, OwnLabelledBoxes
from .rbf import RbfLCB

STRATEGIES: tuple[type[Strategy], ...] = (  # the first that accepts a criterion is taken
    LinearLCB,
    LinearLabelledLCB,
    ExponentialLCB,
    ExponentialLabelledLCB,
    RbfLCB,
    Histograms,
    OwnBoxes,
    OwnHistograms,
    OwnLabelledBoxes,
)


def choose(criterion: AnyCriterion) -> Strategy | None:
    """The strategy for a criterion; ``None`` if no more is known of it than its values."""
    if not isinstance(criterion, Criterion):
        return None
    accepting = (strategy for strategy in STRATEGIES if strategy.accepts(criterion))
    chosen = next(accepting, None)
    return None if chosen is None else chosen(criterion)
