"""Evaluation of the objective: in this process, in child processes, on an executor or a cluster.

`Evaluator` is the protocol; every implementation has its own file. `make_evaluator` chooses one.
"""

from .choose import make_evaluator
from .command import CommandObjective
from .evaluator import Evaluator
from .futures import FuturesEvaluator
from .inline import InlineEvaluator
from .outcome import Objective, Outcome, evaluate
from .process import ProcessEvaluator

__all__ = [
    "CommandObjective",
    "Evaluator",
    "FuturesEvaluator",
    "InlineEvaluator",
    "Objective",
    "Outcome",
    "ProcessEvaluator",
    "evaluate",
    "make_evaluator",
]
