"""Graphs in Optuna trials: suggest them, read them back, and write them as parameters."""

from __future__ import annotations

from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    IntDistribution,
)
from optuna.trial import BaseTrial, FrozenTrial

from ...errors import InvalidInputError, NotInSpaceError
from ...graph import Graph
from ...space import GraphSpace
from ..parameters import GraphParameters

USER_ATTRIBUTE = "graph"  # name, after the prefix, of the attribute with the graph as JSON


def suggest_graph(trial: BaseTrial, space: GraphSpace, prefix: str = "") -> Graph:
    """Suggest a graph of the space, as `Trial.suggest_float` suggests a number.

    With a `BoGrapeSampler` the graph is in the space and new. Other samplers ignore the rules:
    if their choice is not in the space, `NotInSpaceError` says why, and
    ``study.optimize(..., catch=NotInSpaceError)`` continues with the next trial.

    Args:
        trial: a trial of a study, or a `FixedTrial`.
        space: the graphs to choose from; the same as the sampler's.
        prefix: prefix of the names of the parameters; the same as the sampler's.
    """
    parameters = GraphParameters(space, prefix)
    _check_sampler(trial, parameters)
    values: dict[str, Any] = {}
    n = space.n_max
    if parameters.size_name is not None:
        n = trial.suggest_int(parameters.size_name, space.n_min, space.n_max)
        values[parameters.size_name] = n
    for name, choices in parameters.choices_at(n).items():
        if name != parameters.size_name:
            values[name] = trial.suggest_categorical(name, choices)
    graph = parameters.graph(values)
    try:
        space.check(graph)
    except NotInSpaceError as error:
        raise NotInSpaceError(
            f"{error}. The parameters were chosen by another sampler, or fixed: try "
            "optuna.create_study(sampler=BoGrapeSampler(space)), or catch this error"
        ) from None
    trial.set_user_attr(prefix + USER_ATTRIBUTE, graph.to_json(names=True))
    return graph


def graph_of(trial: BaseTrial, space: GraphSpace | None = None, prefix: str = "") -> Graph:
    """The graph of a trial, for instance of ``study.best_trial``.

    Args:
        trial: a trial whose graph `suggest_graph` suggested.
        space: if given, read the graph from the parameters of the trial, not from the attribute
            set by `suggest_graph`; for trials from elsewhere.
        prefix: prefix of the names of the parameters.
    """
    if space is not None:
        return GraphParameters(space, prefix).graph(trial.params)
    text = trial.user_attrs.get(prefix + USER_ATTRIBUTE)
    if not isinstance(text, str):
        raise InvalidInputError(
            f"trial {trial.number} has no graph: expected one that suggest_graph suggested"
            f"{f' with the prefix {prefix!r}' if prefix else ''}; try graph_of(trial, space) to "
            "read it from the parameters"
        )
    return Graph.from_json(text)


def parameters_of(graph: Graph, space: GraphSpace, prefix: str = "") -> dict[str, Any]:
    """The parameters of a graph: for ``study.enqueue_trial``, or ``optuna.create_trial``."""
    space.check(graph)
    return dict(GraphParameters(space, prefix).of(graph))


def distributions(parameters: GraphParameters) -> dict[str, BaseDistribution]:
    """Distributions that `suggest_graph` uses, for graphs of the largest size."""
    out: dict[str, BaseDistribution] = {}
    for name, choices in parameters.choices.items():
        if name == parameters.size_name:
            out[name] = IntDistribution(parameters.space.n_min, parameters.space.n_max)
        else:
            out[name] = CategoricalDistribution(choices)
    return out


def graph_in(trial: FrozenTrial, parameters: GraphParameters) -> Graph | None:
    """The graph described by the parameters of a trial, or by those fixed for it."""
    fixed = trial.system_attrs.get("fixed_params", {})
    values = {**(fixed if isinstance(fixed, dict) else {}), **trial.params}
    if parameters.size_name is not None and parameters.size_name not in values:
        return None
    n = parameters.space.n_max if parameters.size_name is None else values[parameters.size_name]
    try:
        if parameters.choices_at(int(n)).keys() <= values.keys():
            return parameters.graph(values)
    except (InvalidInputError, TypeError, ValueError):  # chosen from another space
        pass
    return None


def _check_sampler(trial: BaseTrial, parameters: GraphParameters) -> None:
    sampler = getattr(getattr(trial, "study", None), "sampler", None)
    known = getattr(sampler, "parameters", None)
    if isinstance(known, GraphParameters) and known != parameters:
        same = known.space == parameters.space
        what = f"prefix {known.prefix!r}" if same else "space"
        raise InvalidInputError(
            f"suggest_graph: expected the {what} of the sampler, got another one; try "
            "suggest_graph(trial, sampler.space, sampler.prefix)"
        )
