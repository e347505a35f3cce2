"""Benchmark problems, each in a file of its own that registers itself.

A file in this folder decorates a function ``seed -> Problem`` with `register`; nothing else has to
be told about it. Files are read when a problem is first asked for.

>>> problem = get_problem("gcn-10", seed=1)
>>> problem.space.n_nodes, problem.optimum
(10, None)
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..arrays import FloatArray
from ..batch import Batch
from ..checks import whole
from ..errors import InvalidInputError
from ..graph import Graph
from ..space import GraphSpace


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A function on graphs to be minimised.

    Attributes:
        name: what `get_problem` knows it by.
        space: the graphs to choose from.
        objective: value of a graph; smaller is better.
        seed: what the random parts of the objective were drawn from.
        optimum: smallest value over the whole space, where it is known; else ``None``.
        reference: a value that others have reported, to compare with, where there is one.
        source: where the data or the definition come from; empty where they are drawn by the seed.
        many: values of a batch at once, where that is faster than one after another.
    """

    name: str
    space: GraphSpace
    objective: Callable[[Graph], float]
    seed: int
    optimum: float | None = None
    reference: float | None = None
    source: str = ""
    many: Callable[[Batch], FloatArray] | None = None

    def values(self, batch: Batch) -> FloatArray:
        """Objective of every graph of a batch."""
        if self.many is not None:
            return self.many(batch)
        return np.array([self.objective(batch.graph(i)) for i in range(len(batch))])


Factory = Callable[[int], Problem]

_FACTORIES: dict[str, Factory] = {}


def register(name: str) -> Callable[[Factory], Factory]:
    """Decorator: make a factory known under ``name``."""

    def add(factory: Factory) -> Factory:
        if name in _FACTORIES:
            raise InvalidInputError(f"a problem named {name!r} already exists; choose another name")
        _FACTORIES[name] = factory
        return factory

    return add


def problem_names() -> tuple[str, ...]:
    """Names of all problems, in alphabetical order."""
    _read_all_files()
    return tuple(sorted(_FACTORIES))


def get_problem(name: str, seed: int = 0) -> Problem:
    """The problem of that name, or an error that lists the valid ones.

    Raises:
        MissingExtraError: if it needs a package that is not installed; the message names the extra.
    """
    names = problem_names()
    if name not in names:
        raise InvalidInputError(f"unknown problem {name!r}; choose one of {', '.join(names)}")
    return _FACTORIES[name](whole(seed, "seed", 0))


@cache
def _read_all_files() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


__all__ = ["Problem", "get_problem", "problem_names", "register"]
