"""From a study file to the objective and the evaluator it describes."""

from __future__ import annotations

import importlib
import sys
from typing import Any, cast

from ..errors import InvalidInputError
from ..evaluate import CommandObjective, Evaluator, Objective, make_evaluator
from ..evaluate.slurm import slurm_evaluator
from .config import StudyFile


def load_objective(file: StudyFile) -> Objective:
    """The function or program to evaluate graphs with."""
    if file.command is not None:
        # A process of its own is killed with all it started; elsewhere the command looks after it.
        limit = None if file.executor == "process" else file.time_limit
        return CommandObjective(file.command, file.format.encode, limit)
    if file.function is None:
        raise InvalidInputError(
            f"{file.path}: [objective] needs a command or a function; without one, use "
            "'bogrape ask' and 'bogrape tell'"
        )
    module_name, _, name = file.function.partition(":")
    directory = str(file.path.parent.resolve())
    if directory not in sys.path:
        sys.path.insert(0, directory)  # as Python does for a program
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InvalidInputError(
            f"{file.path}: the objective {file.function!r} cannot be loaded: {error}"
        ) from None
    if not callable(found):
        raise InvalidInputError(f"{file.path}: {file.function!r} is not a function")
    if file.format.name == "json":
        return cast(Objective, found)
    return _Translated(found, file)


class _Translated:
    """A function of a text (SMILES) as a function of a graph."""

    def __init__(self, function: Any, file: StudyFile) -> None:
        self._function = function
        self._encode = file.format.encode

    def __call__(self, graph: Any) -> Any:
        return self._function(self._encode(graph))


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
        limit = None  # the command keeps it
    return make_evaluator(objective, file.executor, file.n_parallel, limit, file.memory_limit)
