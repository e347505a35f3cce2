"""`BoGrapeSampler`: chooses the graphs of an Optuna study as a BoGrape study does."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from weakref import WeakKeyDictionary

import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ...errors import InvalidInputError, SearchSpaceExhausted, StudyError, UnsupportedError
from ...space import GraphSpace
from ...study.asking import chance
from ...study.planner import Effort, Plan, Planner
from ...study.settings import StudySettings, for_new_study, refuse_unknown, shows_settings
from ..parameters import GraphParameters
from .history import History
from .trials import distributions

logger = logging.getLogger(__name__)

PROPOSAL_ATTRIBUTE = "proposal"  # user attribute of a trial, after the prefix
_CONFLICTS = 100  # graphs lost to other processes before giving up
_OF_THE_STUDY = ("direction", "retries")  # handled by Optuna


class BoGrapeSampler(BaseSampler):
    """Chooses the graphs of an Optuna study; `suggest_graph` hands them to the objective.

    The graphs are those that `bogrape.Study` would choose with the same settings, seed and results.
    They are in the space, and none is chosen twice, in any number of threads and processes that
    share a storage. The model learns from the values of complete trials. Graphs of trials that
    failed or were pruned are not chosen again; nothing is learnt from them.

    Other parameters are left to another sampler, which sees all parameters. The model of the graphs
    sees only the graphs: the effect of other parameters is noise to it.

    Args:
        space: the graphs to choose from.
        prefix: prefix of the names of the graph's parameters.
        independent_sampler: chooses the other parameters; by default Optuna's ``TPESampler`` with
            the same seed.
        settings: settings of `bogrape.Study`, such as ``kernel``, ``acquisition``, ``time_limit``,
            ``n_initial`` and ``seed``. The direction is that of the Optuna study.
    """

    @shows_settings
    def __init__(
        self,
        space: GraphSpace,
        *,
        prefix: str = "",
        independent_sampler: BaseSampler | None = None,
        **settings: Any,
    ) -> None:
        taken = [name for name in _OF_THE_STUDY if name in settings]
        if taken:
            raise InvalidInputError(
                f"{taken[0]} belongs to the Optuna study, got it as a setting of the sampler; try "
                "optuna.create_study(direction=...), or RetryHeartbeatStaleTrialCallback of Optuna"
            )
        refuse_unknown(settings, of=BoGrapeSampler)
        self.parameters = GraphParameters(space, prefix)
        self.settings = StudySettings(space=space, **for_new_study(settings))
        self._independent = independent_sampler or TPESampler(seed=self.settings.seed)
        self._named: set[str] = set()  # parameters already logged as chosen independently
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._studies: WeakKeyDictionary[Any, dict[int, tuple[Planner, History]]]
        self._studies = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        left_behind = ("_lock", "_studies")
        return {name: part for name, part in self.__dict__.items() if name not in left_behind}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    @property
    def space(self) -> GraphSpace:
        """The graphs to choose from."""
        return self.parameters.space

    @property
    def prefix(self) -> str:
        """Prefix of the names of the graph's parameters."""
        return self.parameters.prefix

    # -- the graph ------------------------------------------------------------------------------

    def infer_relative_search_space(
        self,
        study: Study,
        trial: FrozenTrial,  # noqa: ARG002
    ) -> dict[str, BaseDistribution]:
        """The parameters of a graph of the largest size."""
        if len(study.directions) > 1:
            raise UnsupportedError(
                f"expected a study with one objective, got {len(study.directions)}; BoGrape "
                "optimises one: try a weighted sum"
            )
        return distributions(self.parameters)

    def sample_relative(
        self,
        study: Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],  # noqa: ARG002
    ) -> dict[str, Any]:
        """The parameters of the next graph."""
        again = self._state(study)[1].own(trial)
        if again is not None:  # it replaces a trial whose process died
            return dict(self.parameters.of(again))
        fixed = trial.system_attrs.get("fixed_params", {})
        if any(name in self.parameters.choices for name in fixed):
            return {}  # a graph fixed by the user
        try:
            with self._lock:
                plan = self._choose(study, trial)
        except SearchSpaceExhausted as error:
            try:
                study.stop()
            except (AttributeError, RuntimeError):  # called outside `Study.optimize`
                raise error from None
            logger.warning("the study stops: %s", error)
            raise optuna.TrialPruned(str(error)) from None
        study._storage.set_trial_user_attr(
            trial._trial_id, self.prefix + PROPOSAL_ATTRIBUTE, _in_short(plan)
        )
        return dict(self.parameters.of(plan.graph))

    def _choose(self, study: Study, trial: FrozenTrial) -> Plan:
        """A graph reserved for this trial alone."""
        planner, history = self._state(study)
        settings = planner.settings
        for conflict in range(_CONFLICTS):
            others = history.others(study, trial.number)
            seed, rank = chance(settings.seed, len(others), conflict)
            plan = planner.next(others, seed, rank, Effort(settings.time_limit))
            if history.reserve(study, trial, plan):
                return plan
            logger.debug("another trial has the graph of trial %d", trial.number)
        raise StudyError(
            f"{_CONFLICTS} graphs in a row were taken by other trials; run the study again later"
        )

    def _state(self, study: Study) -> tuple[Planner, History]:
        of_storage = self._studies.setdefault(study._storage, {})
        if study._study_id not in of_storage:
            maximize = study.direction == StudyDirection.MAXIMIZE
            direction: Literal["minimize", "maximize"] = "maximize" if maximize else "minimize"
            settings = replace(self.settings, direction=direction)
            of_storage[study._study_id] = Planner(settings), History(self.parameters)
        return of_storage[study._study_id]

    # -- everything else --------------------------------------------------------------------------

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A parameter that is not part of the graph."""
        if param_name in self.parameters.choices:
            raise InvalidInputError(
                f"parameter {param_name!r} is part of a graph, and was not suggested by "
                "suggest_graph with the sampler's space, or only some of the graph's parameters "
                "were fixed; fix all of them (parameters_of), or none"
            )
        if param_name not in self._named:
            self._named.add(param_name)
            logger.warning(
                "parameter %r is left to %s; the model of the graphs does not see it",
                param_name,
                type(self._independent).__name__,
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Notify the sampler of the other parameters."""
        self._independent.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Notify the sampler of the other parameters."""
        self._independent.after_trial(study, trial, state, values)

    def reseed_rng(self) -> None:
        """Reseed the sampler of the other parameters; graphs depend on the existing trials."""
        self._independent.reseed_rng()


def _in_short(plan: Plan) -> dict[str, Any]:
    """Summary of the choice of a graph, for dashboards."""
    names = ("status", "value", "bound", "gap", "mean", "std", "seconds")
    known = {name: plan.certificate[name] for name in names if name in plan.certificate}
    numbers = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in known.items()
    }
    return {"origin": plan.origin, **numbers}
