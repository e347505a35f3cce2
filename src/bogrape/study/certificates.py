"""Data about a proposal that its trial stores, in the user's units and valid as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Graph
from ..propose import Proposal
from ..success import SuccessModel
from .replicates import Repeat


def certificate_of(proposal: Proposal, sign: float) -> dict[str, Any]:
    """Certificate of the proposal in the user's units, valid as JSON."""
    return {
        "value": sign * proposal.value,
        "bound": sign * proposal.bound if np.isfinite(proposal.bound) else None,
        "gap": float(proposal.gap) if np.isfinite(proposal.gap) else None,
        **_logs(proposal),
        "status": proposal.status,
        "seconds": proposal.seconds,
        "method": proposal.method,
        "n_evaluations": proposal.n_evaluations,
    }


def success_of(model: SuccessModel | None, graph: Graph) -> dict[str, Any]:
    """Probability that a graph can be evaluated, and the outcomes on which it is based."""
    if model is None:
        return {}
    n = model.n_failed + model.n_succeeded
    return {
        "success": float(model.probability([graph])[0]),
        "success_odds": float(model.log_odds(model.counts([graph]))[0]),  # of the classifier alone
        "n_outcomes": n,
        "n_failed": model.n_failed,
    }


def gains_of(repeat: Repeat | None) -> dict[str, float]:
    """Expected gains of measuring a graph again and of a new graph."""
    if repeat is None:
        return {}
    return {"repeat_gain": repeat.gain, "new_gain": repeat.gain_of_new}


def _logs(proposal: Proposal) -> dict[str, float | None]:
    """Logarithms for EI, which may underflow; nothing for other acquisition functions."""
    if proposal.log_value is None:
        return {}
    logs = {"log_value": proposal.log_value, "log_bound": proposal.log_bound}
    return {name: None if log is None or np.isinf(log) else log for name, log in logs.items()}
