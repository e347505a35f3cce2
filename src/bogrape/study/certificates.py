"""What a proposal leaves in its trial, in the user's units and as JSON can hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph import Graph
from ..propose import Proposal
from ..success import SuccessModel
from .replicates import Repeat


def certificate_of(proposal: Proposal, sign: float) -> dict[str, Any]:
    """Certificate of the proposal in the user's units, as JSON can hold it."""
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
    """How probably a graph can be evaluated, and from how many outcomes that is known."""
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
    """What measuring a graph again was expected to improve, beside a new graph."""
    if repeat is None:
        return {}
    return {"repeat_gain": repeat.gain, "new_gain": repeat.gain_of_new}


def _logs(proposal: Proposal) -> dict[str, float | None]:
    """Of EI, which may itself be too small a number; nothing for other acquisition functions."""
    if proposal.log_value is None:
        return {}
    logs = {"log_value": proposal.log_value, "log_bound": proposal.log_bound}
    return {name: None if log is None or np.isinf(log) else log for name, log in logs.items()}
