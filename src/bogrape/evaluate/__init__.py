"""Running the objective: in this process, in processes of its own, on an executor or a cluster."""

from .choose import make_evaluator
from .evaluator import Evaluator
from .inline import InlineEvaluator
from .outcome import Objective, Outcome, evaluate

__all__ = ["Evaluator", "InlineEvaluator", "Objective", "Outcome", "evaluate", "make_evaluator"]
