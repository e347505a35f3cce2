"""Observations from other sources: checks whether they can train the model.

The model can learn from any graph of the space's kind (direction, features, edge labels, label
alphabet), even one of another size or one that breaks a rule: it is *outside* the space, and is
never proposed. All other problems are reported at once, for all observations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from ..errors import InvalidInputError, ObservationsError
from ..graph import Graph
from ..properties import Goals
from ..space import GraphSpace
from .several import as_values
from .values import as_noise, as_value

Outside = Literal["accept", "refuse"]


class Observation(NamedTuple):
    """A graph, its value and, if known, the variance of the value.

    Or, instead of the value, the values and variances of several properties by name.
    """

    graph: Graph
    value: float | None
    noise: float | None = None
    values: Mapping[str, float] = MappingProxyType({})
    noises: Mapping[str, float] = MappingProxyType({})


def checked_observations(
    space: GraphSpace,
    observations: Iterable[Sequence[Any]],
    outside: Outside = "accept",
    goals: Goals | None = None,
) -> list[Observation]:
    """The checked observations; an `ObservationsError` lists everything that is wrong."""
    _check_outside(outside)
    try:
        given = iter(observations)
    except TypeError:
        raise InvalidInputError(
            f"expected a list of graphs and values, got {type(observations).__name__}"
        ) from None
    good: list[Observation] = []
    problems: list[tuple[int, str]] = []
    for number, observation in enumerate(given):
        try:
            good.append(checked_observation(space, observation, outside, goals))
        except InvalidInputError as error:
            problems.append((number, str(error)))
    if problems:
        raise ObservationsError(problems, len(good) + len(problems))
    return good


def checked_observation(
    space: GraphSpace,
    observation: object,
    outside: Outside = "accept",
    goals: Goals | None = None,
) -> Observation:
    """One checked observation; an error says what is wrong with it."""
    _check_outside(outside)
    if not isinstance(observation, tuple | list) or len(observation) not in (2, 3):
        raise InvalidInputError(
            f"expected a graph, its value and, if known, its noise, got {observation!r:.100}"
        )
    graph, value, *noise = observation
    odd = space.oddities(graph)
    if odd:
        raise InvalidInputError(f"the model cannot read the graph: expected {'; '.join(odd)}")
    if outside == "refuse":
        space.check(graph)
    variance = noise[0] if noise else None
    if goals is not None:
        values, noises = as_values(goals.names, value, variance)
        return Observation(graph, None, None, values, noises)
    return Observation(graph, as_value(value), as_noise(variance))


def _check_outside(outside: object) -> None:
    if not isinstance(outside, str) or outside not in get_args(Outside):
        raise InvalidInputError(f"outside must be 'accept' or 'refuse', got {outside!r:.100}")
