"""Running the objective: in this process, in processes of its own, on an executor or a cluster.

One small protocol, `Evaluator`, and one file for each way; `make_evaluator` chooses.
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
