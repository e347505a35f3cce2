"""The trials of an Optuna study as BoGrape trials, and the reservation of graphs.

The graph chosen for a trial is noted in a system attribute of that trial. Processes that
share a storage must never choose the same graph, although Optuna's storages have no "insert unless
it exists". A graph is reserved in three steps:

1. note it in the own trial as *wanted*;
2. read all other trials. If one of them has the graph, or wants it and has a smaller number, give
   it up. If one with a larger number wants it, wait: it will give it up, unless it has not seen the
   note. The wait is limited: if the other process may have died, its graph is left alone;
3. if no other trial has or wants it, note it as *sure*.

If two trials were both sure of the same graph, one would have written step 1 after the other's last
read in step 2, and would then have found the other's note in its own step 2. So there are no such
trials, provided that reads see all earlier writes, as with databases and journals.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast, get_args

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from ...errors import InvalidInputError
from ...graph import Graph
from ...study.planner import Plan
from ...trial import Origin, State, Trial
from ..parameters import GraphParameters
from .trials import graph_in

SYSTEM_ATTRIBUTE = "bogrape"  # name, after the prefix, of the attribute that holds the note
_PATIENCE = 10.0  # seconds to wait for a trial that wants the same graph; its process may be dead
_PAUSE = 0.02


@dataclass(frozen=True)
class Note:
    """Note about the graph of a trial."""

    graph: Graph
    is_sure: bool
    origin: Origin = "added"
    hyperparameters: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the storage."""
        return {
            "graph": self.graph.to_json(names=True),
            "sure": self.is_sure,
            "origin": self.origin,
            "hyperparameters": dict(self.hyperparameters),
        }

    @classmethod
    def from_data(cls, data: object) -> Note | None:
        """Read what `to_dict` wrote; ``None`` for anything else."""
        match data:
            case {"graph": str(text), "sure": bool(is_sure), "origin": origin, **rest}:
                try:
                    graph = Graph.from_json(text)
                except InvalidInputError:
                    return None
                known = rest.get("hyperparameters")
                values = {k: float(v) for k, v in known.items()} if isinstance(known, dict) else {}
                kind = cast(Origin, origin if origin in get_args(Origin) else "added")
                return cls(graph, is_sure, kind, values)
        return None


class History:
    """The trials of one Optuna study that have a graph, as read so far by this process."""

    def __init__(self, parameters: GraphParameters) -> None:
        self._parameters = parameters
        self._key = parameters.prefix + SYSTEM_ATTRIBUTE
        self._trials: list[Trial] = []  # in the order in which their graphs became known
        self._positions: dict[int, int] = {}
        self._read: dict[int, tuple[object, Note]] = {}  # data that was read, and its note

    def others(self, study: Study, own: int) -> list[Trial]:
        """All other trials that have a graph, without those that merely want one."""
        for trial in _all_trials(study):
            position = self._positions.get(trial.number)
            if trial.number == own or (position is not None and self._trials[position].is_finished):
                continue
            note = self._note(trial)
            if note is None or not note.is_sure:
                continue
            state, value = _state_and_value(trial)
            if position is None:
                self._positions[trial.number] = len(self._trials)
                self._trials.append(
                    Trial(
                        id=trial.number,
                        graph=note.graph,
                        state=state,
                        value=value,
                        origin=note.origin,
                        hyperparameters=note.hyperparameters,
                    )
                )
            elif self._trials[position].state != state:
                known = self._trials[position]
                self._trials[position] = replace(known, state=state, value=value)
        return list(self._trials)

    def own(self, trial: FrozenTrial) -> Graph | None:
        """The graph of a retried trial: that of the trial it repeats.

        Optuna copies the note of a trial that it tries again, but only those parameters
        that had been suggested when its process died.
        """
        note = Note.from_data(trial.system_attrs.get(self._key))
        return note.graph if note is not None and note.is_sure else None

    def reserve(self, study: Study, trial: FrozenTrial, plan: Plan) -> bool:
        """Take the planned graph for the trial, unless another trial has it."""
        wanted = Note(plan.graph, False, plan.origin, plan.hyperparameters)
        self._write(study, trial, wanted.to_dict())
        until, gave_way = time.monotonic() + _PATIENCE, False
        while rivals := list(self._rivals(study, trial.number, plan.graph)):
            late = time.monotonic() >= until
            taken = late or any(note.is_sure for _, note in rivals)
            if not gave_way and (taken or min(number for number, _ in rivals) < trial.number):
                self._write(study, trial, None)
                gave_way = True  # read the others again before a new plan is made
            if late:
                self._cede(rivals)
            if taken:
                return False
            time.sleep(_PAUSE)
        if gave_way:
            return False
        self._write(study, trial, replace(wanted, is_sure=True).to_dict())
        return True

    def _cede(self, rivals: Sequence[tuple[int, Note]]) -> None:
        """Treat graphs that other trials still want after the wait as being evaluated."""
        for number, note in ((number, note) for number, note in rivals if not note.is_sure):
            self._trials.append(Trial(id=-1 - number, graph=note.graph, state="pending"))

    def _rivals(self, study: Study, own: int, graph: Graph) -> Iterator[tuple[int, Note]]:
        """Numbers and notes of the other trials with this graph."""
        identify = self._parameters.space.identity
        wanted = identify(graph)
        for trial in _all_trials(study):
            note = None if trial.number == own else self._note(trial)
            if note is None or (trial.state != TrialState.RUNNING and not note.is_sure):
                continue  # it ended before it had the graph, or is to be retried
            if identify(note.graph) == wanted:
                yield trial.number, note

    def _note(self, trial: FrozenTrial) -> Note | None:
        """The note on the graph of a trial, from its attribute or its parameters."""
        data = trial.system_attrs.get(self._key)
        known = self._read.get(trial.number)
        if known is not None and known[0] == data:
            return known[1]  # keeps the cached identity of its graph, which is slow to compute
        note = Note.from_data(data)
        if note is None:
            graph = graph_in(trial, self._parameters)
            if graph is None:
                return None
            note = Note(graph, is_sure=True)
        self._read[trial.number] = data, note
        return note

    def _write(self, study: Study, trial: FrozenTrial, data: dict[str, Any] | None) -> None:
        study._storage.set_trial_system_attr(trial._trial_id, self._key, data)


def _all_trials(study: Study) -> Sequence[FrozenTrial]:
    """All trials as they are in the storage now, including those that a pruner would hide."""
    trials = study._storage.get_all_trials(study._study_id, deepcopy=False)
    return sorted(trials, key=lambda trial: trial.number)


def _state_and_value(trial: FrozenTrial) -> tuple[State, float | None]:
    """The state of a trial; one that was pruned, or whose value is infinite, counts as failed."""
    if not trial.state.is_finished():
        return "pending", None
    value = trial.value if trial.state == TrialState.COMPLETE else None
    if value is None or not math.isfinite(value):
        return "failed", None
    return "complete", float(value)
