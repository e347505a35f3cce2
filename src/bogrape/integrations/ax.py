"""An external generation node for Ax, which chooses graphs for experiments as a study does.

Needs Ax: ``pip install 'bogrape[ax]'``. See ``docs/integrations/ax.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import InvalidInputError, UnsupportedError
from ..graph import Graph
from ..space import GraphSpace
from ..study.asking import chance
from ..study.planner import Effort, Planner
from ..study.settings import StudySettings, for_new_study, refuse_unknown, shows_settings
from ..trial import Origin, State, Trial
from .missing import missing
from .parameters import GraphParameters

try:
    from ax.api.configs import ChoiceParameterConfig
    from ax.core.trial_status import TrialStatus
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode
except ImportError:
    raise missing("this module", "Ax", "ax") from None

_OF_THE_EXPERIMENT = ("direction", "retries")  # handled by Ax


class BoGrapeNode(ExternalGenerationNode):
    """Generates graphs for the trials of an Ax experiment.

    The graphs are in the space, and none is generated twice; the model learns from the objective of
    completed trials. Graphs of trials that failed or were abandoned are not generated again. Use it
    as the only node of a ``GenerationStrategy``, or after others.

    Args:
        space: the graphs to choose from; one size only, as Ax has no conditional parameters.
        prefix: prefix of the names of the graph's parameters.
        name: name of the node.
        settings: settings of `bogrape.Study`, such as ``kernel``, ``acquisition``, ``time_limit``,
            ``n_initial`` and ``seed``. The direction is that of the experiment.
    """

    @shows_settings
    def __init__(
        self, space: GraphSpace, *, prefix: str = "", name: str = "BoGrape", **settings: Any
    ) -> None:
        taken = [setting for setting in _OF_THE_EXPERIMENT if setting in settings]
        if taken:
            raise InvalidInputError(
                f"{taken[0]} belongs to the Ax experiment, got it as a setting of the node"
            )
        refuse_unknown(settings, of=BoGrapeNode)
        # An evaluated graph is never generated again; Ax's own check of duplicates is weaker.
        super().__init__(name=name, should_deduplicate=False)
        self.parameters = _parameters(space, prefix)
        self.settings = StudySettings(space=space, **for_new_study(settings))
        self._planner: Planner | None = None
        self._trials: list[Trial] = []

    def update_generator_state(self, experiment: Any, data: Any) -> None:
        """Read the trials of the experiment."""
        config = experiment.optimization_config
        if config is None or getattr(config, "is_moo_problem", False):
            raise UnsupportedError(
                "expected an experiment with one objective; BoGrape optimises one"
            )
        if config.all_constraints:
            raise UnsupportedError(
                "expected an experiment without outcome constraints, which BoGrape does not "
                "model; rules of the space can constrain graphs"
            )
        _check_search_space(experiment.search_space, self.parameters)
        minimize = bool(config.objective.minimize)
        settings = replace(self.settings, direction="minimize" if minimize else "maximize")
        if self._planner is None or self._planner.settings.direction != settings.direction:
            self._planner = Planner(settings)
        values = _values(data, config.objective.metric_names[0])
        known = {trial.id: trial.graph for trial in self._trials}
        arms = [
            (experiment.trials[index].status, arm)
            for index in sorted(experiment.trials)
            for arm in experiment.trials[index].arms
        ]
        found = []
        for number, (status, arm) in enumerate(arms):
            graph = known.get(number) or self._graph(arm.parameters)
            if graph is not None:
                state, value = _state(status, values.get(arm.name))
                found.append(
                    Trial(id=number, graph=graph, state=state, value=value, origin=_ORIGIN)
                )
        self._trials = found

    def get_next_candidate(self, pending_parameters: list[Any]) -> dict[str, Any]:
        """The parameters of the next graph."""
        if self._planner is None:
            raise InvalidInputError("expected update_generator_state to be called first")
        pending = [self._graph(parameters) for parameters in pending_parameters]
        present = {self.parameters.space.identity(trial.graph) for trial in self._trials}
        trials = list(self._trials)
        for graph in pending:
            if graph is not None and self.parameters.space.identity(graph) not in present:
                trials.append(Trial(id=-1 - len(trials), graph=graph, state="pending"))
        seed, rank = chance(self.settings.seed, len(trials), 0)
        plan = self._planner.next(trials, seed, rank, Effort(self.settings.time_limit))
        return dict(self.parameters.of(plan.graph))

    def _graph(self, parameters: Mapping[str, Any]) -> Graph | None:
        try:
            return self.parameters.graph(parameters)
        except InvalidInputError:  # from another node or search space
            return None


_ORIGIN: Origin = "proposal"


def parameter_configs(space: GraphSpace, prefix: str = "") -> list[Any]:
    """The parameters of the graphs of a space, for ``Client.configure_experiment``."""
    out = []
    for name, choices in _parameters(space, prefix).choices.items():
        texts = isinstance(choices[0], str)
        out.append(
            ChoiceParameterConfig(
                name=name,
                values=list(choices),
                parameter_type="str" if texts else "int",
                is_ordered=False,
            )
        )
    return out


def graph_of(parameters: Mapping[str, Any], space: GraphSpace, prefix: str = "") -> Graph:
    """The graph that parameters describe; raises an error if it is not in the space."""
    graph = _parameters(space, prefix).graph(parameters)
    space.check(graph)
    return graph


def parameters_of(graph: Graph, space: GraphSpace, prefix: str = "") -> dict[str, Any]:
    """The parameters of a graph, for ``Client.attach_trial``."""
    space.check(graph)
    return dict(_parameters(space, prefix).of(graph))


def _parameters(space: GraphSpace, prefix: str) -> GraphParameters:
    out = GraphParameters(space, prefix)
    if out.size_name is not None:
        raise UnsupportedError(
            f"expected a space of graphs of one size, got {space.n_min} to {space.n_max} nodes: "
            "an Ax experiment has no conditional parameters; try one size, or Optuna"
        )
    return out


def _check_search_space(search_space: Any, parameters: GraphParameters) -> None:
    there, needed = set(search_space.parameters), set(parameters.choices)
    if there != needed:
        odd = sorted(needed - there) or sorted(there - needed)
        what = "lacks" if needed - there else "has another parameter,"
        raise UnsupportedError(
            f"expected an experiment with the parameters of a graph and no others, but it {what} "
            f"{odd[0]!r}; try configure_experiment(parameters=parameter_configs(space, prefix))"
        )


def _values(data: Any, metric: str) -> dict[str, float]:
    """The latest value of the objective for each arm."""
    frame = data.df
    if frame.empty:
        return {}
    rows: Sequence[Any] = list(frame[frame["metric_name"] == metric].itertuples())
    return {row.arm_name: float(row.mean) for row in rows}


def _state(status: TrialStatus, value: float | None) -> tuple[State, float | None]:
    if status == TrialStatus.COMPLETED and value is not None and math.isfinite(value):
        return "complete", value
    if status.is_terminal:
        return "failed", None
    return "pending", None
