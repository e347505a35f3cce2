"""Bayesian optimisation over graphs: from a graph space and a few observations, propose the best
next graph, with a proof of its quality."""

from typing import Any

from . import constraints
from . import display as _display
from .acquisition import EI, LCB
from .errors import BoGrapeError
from .gp import GraphGP
from .graph import Graph
from .optimize import minimize
from .propose import Proposal, propose
from .space import GraphSpace
from .study import Dataset, Study
from .trial import Trial

__all__ = [
    "EI",
    "LCB",
    "BoGrapeError",
    "Dataset",
    "Graph",
    "GraphGP",
    "GraphSpace",
    "Proposal",
    "Study",
    "Trial",
    "constraints",
    "minimize",
    "propose",
]


def _notebook_html(thing: Any) -> str | None:
    from .report.notebook import notebook_html

    return notebook_html(thing)


def _plots(study: Study) -> Any:
    from .report.figures import Plots

    return Plots(study)


_display.register("html", _notebook_html)
_display.register("plots", _plots)
