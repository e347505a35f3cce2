"""The objective and the evaluator that a study file describes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from ..errors import EvaluationNotStarted, InvalidInputError
from ..evaluate import CommandObjective, Evaluator, Objective, make_evaluator
from ..evaluate.slurm import slurm_evaluator
from ..graph import Graph
from ..import_path import load_object
from .config import StudyFile


def load_objective(file: StudyFile) -> Objective:
    """The function or program to evaluate graphs with."""
    if file.command is not None:
        # Processes are killed with all their children; elsewhere the command enforces the limit.
        limit = None if file.executor == "process" else file.time_limit
        directory = str(file.path.parent.resolve())
        return CommandObjective(file.command, file.format.encode, limit, directory)
    if file.function is None:
        raise InvalidInputError(
            f"{file.path}: [objective] needs a command or a function; without one, use "
            "'bogrape ask' and 'bogrape tell'"
        )
    encode = None if file.format.name == "json" else file.format.encode
    objective = ModuleFunction(str(file.path.parent.resolve()), file.function, encode)
    objective.load()  # so that mistakes show now
    return objective


@final
@dataclass(frozen=True)
class ModuleFunction:
    """A function found by name, and sent by name, so that workers elsewhere can load it too."""

    directory: str
    name: str  # module:function
    encode: Callable[[Graph], str] | None = None  # of its argument; None passes graphs

    def load(self) -> Any:
        """The function itself."""
        if sys.path[:1] != [self.directory]:
            sys.path.insert(0, self.directory)  # as Python does for a script
        found = load_object(self.name, "the objective")
        if not callable(found):
            raise InvalidInputError(f"the objective {self.name!r} is not a function")
        return found

    def __call__(self, graph: Graph) -> Any:
        """Value of a graph, which is passed as a graph or, with ``encode``, as text."""
        try:
            function = self.load()
        except InvalidInputError as error:  # fails only here, for instance on another machine
            raise EvaluationNotStarted(str(error)) from None
        return function(graph if self.encode is None else self.encode(graph))


def make_file_evaluator(file: StudyFile) -> Evaluator:
    """The evaluator a study file asks for."""
    objective = load_objective(file)
    if file.executor == "slurm":
        return slurm_evaluator(
            objective,
            None,
            file.n_parallel,
            None if isinstance(objective, CommandObjective) else file.time_limit,
            folder=str(file.path.parent / file.slurm_folder),
            parameters=dict(file.slurm),
        )
    limit = file.time_limit
    if isinstance(objective, CommandObjective) and file.executor != "process":
        limit = None  # the command enforces it
    return make_evaluator(objective, file.executor, file.n_parallel, limit, file.memory_limit)
