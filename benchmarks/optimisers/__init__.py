"""Optimisers to compare, each family in a file of its own that registers itself.

An optimiser is asked for the next graph, given everything observed so far; it keeps no state, so
that a run can be stopped and continued at any point. A file in this folder decorates a function
``Settings -> Optimiser`` with `register`. Files are imported when an optimiser is first requested.

>>> from bogrape import GraphSpace
>>> optimiser = get_optimiser("random", GraphSpace(4, labels=2))
>>> optimiser.next([], [], seed=1, time_limit=10.0).graph.n_nodes
4
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from bogrape.acquisition import LCB
from bogrape.errors import InvalidInputError
from bogrape.graph import Graph
from bogrape.space import GraphSpace

Kappa = float | Callable[[int], float]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The next graph that an optimiser wants to evaluate.

    Attributes:
        graph: in the space, and isomorphic to no graph observed before.
        value: its acquisition value, ``None`` for optimisers without an acquisition.
        bound: proved lower bound on the acquisition values of all other graphs, if there is one.
        gap: distance from bound to value in standard deviations of the observed values, if there
            is a bound (`Proposal.gap`).
        status: ``optimal``, ``time_limit`` or ``heuristic`` as in `Proposal`; ``None`` without an
            acquisition.
    """

    graph: Graph
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    status: str | None = None


class Optimiser(Protocol):
    """A way to choose the next graph."""

    def next(
        self,
        graphs: Sequence[Graph],
        values: Sequence[float],
        *,
        seed: int,
        time_limit: float,
    ) -> Choice:
        """The graph to evaluate next, given the observations so far.

        Args:
            graphs, values: observations so far; optimisers with a surrogate need at least two.
            seed: the same seed and observations give the same choice, unless time ran out.
            time_limit: seconds for a proof; ignored by optimisers without proofs.

        Raises:
            SearchSpaceExhausted: if every graph of the space has been observed.
        """


@dataclass(frozen=True)
class Settings:
    """Parameters of an optimiser.

    Attributes:
        space: the graphs to choose from.
        kappa: exploration of the lower confidence bound, a number or a function of the number of
            observations.
        n_candidates: random graphs among which the sampling baselines choose.
        n_evaluations: acquisition values that BoGrape computes in a local search without a proof;
            ``None`` for a proof within the time limit.
    """

    space: GraphSpace
    kappa: Kappa = 1.0
    n_candidates: int = 20
    n_evaluations: int | None = None

    def acquisition(self, n_observations: int) -> LCB:
        """The lower confidence bound after a number of observations."""
        kappa = self.kappa(n_observations) if callable(self.kappa) else self.kappa
        return LCB(float(kappa))


Factory = Callable[[Settings], Optimiser]

_FACTORIES: dict[str, Factory] = {}


def register(name: str) -> Callable[[Factory], Factory]:
    """Decorator that registers a factory under ``name``."""

    def add(factory: Factory) -> Factory:
        if name in _FACTORIES:
            raise InvalidInputError(
                f"an optimiser named {name!r} already exists; choose another name"
            )
        _FACTORIES[name] = factory
        return factory

    return add


def optimiser_names() -> tuple[str, ...]:
    """Names of all optimisers, in alphabetical order."""
    _read_all_files()
    return tuple(sorted(_FACTORIES))


def get_optimiser(
    name: str,
    space: GraphSpace,
    *,
    kappa: Kappa = 1.0,
    n_candidates: int = 20,
    n_evaluations: int | None = None,
) -> Optimiser:
    """The optimiser of that name, or an error that lists the valid ones.

    Args:
        name: see `optimiser_names`.
        space: the graphs to choose from.
        kappa: exploration, a number or a function of the number of observations.
        n_candidates: random graphs among which ``rw-rand`` and ``wl-rand`` choose.
        n_evaluations: budget of BoGrape's local search, which then replaces the proof.
    """
    names = optimiser_names()
    if name not in names:
        raise InvalidInputError(f"unknown optimiser {name!r}; choose one of {', '.join(names)}")
    number = isinstance(kappa, (int, float)) and 0 <= kappa < math.inf
    if not number and not callable(kappa):
        raise InvalidInputError(
            f"kappa must be >= 0 or a function of the number of observations, got {kappa!r}"
        )
    if not isinstance(n_candidates, int) or n_candidates < 1:
        raise InvalidInputError(f"n_candidates must be an integer >= 1, got {n_candidates!r}")
    if n_evaluations is not None and (not isinstance(n_evaluations, int) or n_evaluations < 1):
        raise InvalidInputError(
            f"n_evaluations must be an integer >= 1 or None, got {n_evaluations!r}"
        )
    return _FACTORIES[name](Settings(space, kappa, n_candidates, n_evaluations))


@cache
def _read_all_files() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


__all__ = ["Choice", "Optimiser", "Settings", "get_optimiser", "optimiser_names", "register"]
