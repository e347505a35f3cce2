"""`optimize_acqf_graph`: the graph of a space at which an acquisition function is largest."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.acquisition.analytic import (
    ExpectedImprovement,
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    PosteriorMean,
    PosteriorStandardDeviation,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.models.model import Model

from ...acquisition import EI, LCB, Acquisition
from ...arrays import FloatArray
from ...checks import seconds, whole
from ...errors import InvalidInputError, UnsupportedError
from ...graph import Graph
from ...posterior import Posterior, posterior_of
from ...propose import Method, Proposal, propose
from ...propose.proposal import Status
from ...space import GraphSpace
from .model import GraphGPModel

Encode = Callable[[Sequence[Graph]], torch.Tensor]

# Functions of the mean and the deviation of one graph alone, beside LCB and EI.
_OF_ONE_GRAPH = (
    LogProbabilityOfImprovement,
    PosteriorStandardDeviation,
    ProbabilityOfImprovement,
)
_AGREES = 1e-6  # relative difference allowed between BoTorch's values and ours


@dataclass(frozen=True, kw_only=True)
class GraphCandidates:
    """The graphs found, with bounds on their values.

    Attributes:
        graphs: the q chosen graphs.
        X: the graphs as inputs of the acquisition function, ``(q, d)``.
        values: the acquisition value of each, given those before it; to be maximised.
        bounds: no other graph has a larger value than this; infinite where nothing was proved.
        proposals: the proposal of each graph; its values are to be minimised.
    """

    graphs: tuple[Graph, ...]
    X: torch.Tensor
    values: tuple[float, ...]
    bounds: tuple[float, ...]
    proposals: tuple[Proposal, ...]
    statuses: tuple[Status, ...]

    @property
    def status(self) -> Status:
        """``optimal`` if every graph was proved to be the best, given those before it."""
        for status in ("heuristic", "time_limit"):
            if status in self.statuses:
                return status
        return "optimal"


def optimize_acqf_graph(
    acq_function: AcquisitionFunction,
    space: GraphSpace,
    q: int = 1,
    *,
    encode: Encode | None = None,
    exclude: Sequence[Graph] = (),
    time_limit: float = 60.0,
    method: Method = "auto",
    n_evaluations: int | None = None,
    seed: int = 0,
) -> GraphCandidates:
    """Find the graph of the space at which an acquisition function of BoTorch is largest.

    Expected improvement and its logarithm, upper confidence bounds and the posterior mean of a
    `GraphGPModel` are maximised by the exact engine: the status is ``optimal``, or ``time_limit``
    with a bound. The same holds for the probability of improvement and the posterior deviation, if
    all graphs can be enumerated. Any other acquisition function, of any model, is evaluated graph
    by graph: for all graphs if that takes less than the time limit (``optimal``), else in a local
    search (``heuristic``, no bound).

    Args:
        acq_function: acquisition function, maximised as in BoTorch.
        space: the graphs to choose from.
        q: number of graphs. Several are chosen one after another, with those found so far pending
            (``set_X_pending``), which analytic acquisition functions do not support.
        encode: turns a list of graphs into the rows that the model takes. By default those of the
            `GraphGPModel`; its rows must not depend on the numbering of nodes.
        exclude: graphs not to choose, such as observed ones.
        time_limit: seconds for the whole call.
        method: see `bogrape.propose`; with ``"mip"``, for ssp and sp with confidence bounds only.
        n_evaluations: acquisition values that local search computes.
        seed: the same seed gives the same answer, unless the time limit was reached.
    """
    q, time_limit = whole(q, "q", 1), seconds(time_limit, "time_limit")
    if not isinstance(acq_function, AcquisitionFunction):
        raise InvalidInputError(
            f"expected an acquisition function of BoTorch, got {type(acq_function).__name__}"
        )
    model = getattr(acq_function, "model", None)
    if encode is None:
        if not isinstance(model, GraphGPModel):
            raise InvalidInputError(
                f"expected encode=..., a function that turns graphs into inputs of "
                f"{type(model).__name__}; only a GraphGPModel has one built in. For a covariance "
                "from bogrape.integrations.gpytorch, pass CountTensors(space)"
            )
        encode = model.tensors
    pending = getattr(acq_function, "X_pending", None)
    if q > 1 and not _takes_pending(acq_function):
        raise UnsupportedError(
            f"{type(acq_function).__name__} takes no pending graphs, so it can propose only one "
            "graph at a time; try q=1, or a Monte Carlo version such as qLogExpectedImprovement"
        )
    deadline = time.monotonic() + time_limit
    found: list[_Found] = []
    taken = list(exclude)
    try:
        for i in range(q):
            if i:
                rows = encode([each.proposal.graph for each in found])
                both = rows if pending is None else torch.cat([pending, rows])
                acq_function.set_X_pending(both)
            found.append(
                _best(
                    acq_function,
                    space,
                    encode,
                    exclude=taken,
                    time_limit=max(0.0, (deadline - time.monotonic()) / (q - i)),
                    method=method,
                    n_evaluations=n_evaluations,
                    seed=seed if i == 0 else int(np.random.default_rng([seed, i]).integers(2**31)),
                )
            )
            taken.append(found[-1].proposal.graph)
    finally:
        if q > 1:
            acq_function.set_X_pending(pending)
    graphs = tuple(each.proposal.graph for each in found)
    return GraphCandidates(
        graphs=graphs,
        X=encode(graphs),
        values=tuple(each.value for each in found),
        bounds=tuple(each.bound for each in found),
        proposals=tuple(each.proposal for each in found),
        statuses=tuple(each.status for each in found),
    )


@dataclass(frozen=True)
class _Found:
    proposal: Proposal
    value: float
    bound: float
    status: Status


def _best(
    acq_function: AcquisitionFunction, space: GraphSpace, encode: Encode, **request: Any
) -> _Found:
    """One graph that maximises the acquisition function in its present state."""
    known = _in_our_words(acq_function)
    if known is None:
        surrogate = _Values(acq_function, encode)
        proposal = propose(space, surrogate, LCB(0.0), **request)
        bound = -proposal.bound
    else:
        posterior, acquisition = known
        proposal = propose(space, posterior, acquisition, **request)
        bound = -proposal.bound
        if type(acq_function) is LogExpectedImprovement:
            log = proposal.log_bound
            bound = math.inf if log is None or proposal.status == "heuristic" else log
    value = float(_evaluate(acq_function, encode([proposal.graph]))[0])
    status: Status = proposal.status
    claimed = proposal.log_value if type(acq_function) is LogExpectedImprovement else None
    claimed = -proposal.value if claimed is None else claimed
    if not math.isclose(value, claimed, rel_tol=_AGREES, abs_tol=_AGREES * proposal.scale):
        # BoTorch and this package clamp tiny deviations differently: a proof for our values need
        # not hold for BoTorch's
        status, bound = "heuristic", math.inf
    return _Found(proposal, value, max(value, bound), status)


def _in_our_words(acq_function: AcquisitionFunction) -> tuple[Posterior, Acquisition] | None:
    """The posterior and our acquisition function, if it depends on mean and deviation alone."""
    model, kind = getattr(acq_function, "model", None), type(acq_function)
    if not isinstance(model, GraphGPModel) or acq_function.posterior_transform is not None:
        return None
    if kind in _OF_ONE_GRAPH:
        falls = kind is PosteriorStandardDeviation and getattr(acq_function, "maximize", True)
        return model.graph_posterior, _OfMeanAndStd(acq_function, monotone=falls)
    if kind not in (
        ExpectedImprovement,
        LogExpectedImprovement,
        PosteriorMean,
        UpperConfidenceBound,
    ):
        return None
    posterior = _negated(model.graph_posterior) if acq_function.maximize else model.graph_posterior
    if kind is PosteriorMean:
        return posterior, LCB(0.0)
    given = acq_function.beta if kind is UpperConfidenceBound else acq_function.best_f
    if given.numel() != 1:
        return None
    if kind is UpperConfidenceBound:
        return posterior, LCB(math.sqrt(float(given)))
    best = -float(given) if acq_function.maximize else float(given)
    return posterior, EI(posterior.model.best - best)


def _negated(posterior: Posterior) -> Posterior:
    """The posterior of the negated observed values."""
    model = posterior.model
    return posterior_of(
        replace(
            model,
            y=-model.y,
            y_mean=-model.y_mean,
            smoothed=None if model.smoothed is None else -model.smoothed,
        )
    )


def _takes_pending(acq_function: AcquisitionFunction) -> bool:
    from botorch.exceptions import UnsupportedError as TheirUnsupportedError

    try:
        acq_function.set_X_pending(getattr(acq_function, "X_pending", None))
    except TheirUnsupportedError:
        return False
    return True


def _evaluate(acq_function: AcquisitionFunction, rows: torch.Tensor) -> FloatArray:
    with torch.no_grad():
        values = acq_function(rows[:, None, :])
    return np.asarray(values.detach().cpu().numpy(), dtype=float)


@dataclass(eq=False)
class _Values:
    """A surrogate whose mean is the negated acquisition function, with deviation zero."""

    acq_function: AcquisitionFunction
    encode: Encode

    def fit(self, graphs: Sequence[Graph], y: FloatArray) -> object:  # noqa: ARG002
        raise UnsupportedError("an acquisition function cannot be fitted")

    def predict(self, graphs: Sequence[Graph]) -> tuple[FloatArray, FloatArray]:
        values = _evaluate(self.acq_function, self.encode(graphs))
        if not np.isfinite(values).all():
            bad = values[~np.isfinite(values)][0]
            raise InvalidInputError(
                f"{type(self.acq_function).__name__}: expected finite values, got {bad}"
            )
        return -values, np.zeros(len(values))


class _Given(Model):
    """A model whose inputs *are* mean and deviation."""

    num_outputs = 1
    batch_shape = torch.Size([])

    def posterior(self, X: torch.Tensor, *_: Any, **__: Any) -> Any:
        return _Moments(X[..., :1], X[..., 1:] ** 2)


@dataclass(frozen=True)
class _Moments:
    mean: torch.Tensor
    variance: torch.Tensor


class _OfMeanAndStd:
    """A negated analytic acquisition function of means and deviations."""

    def __init__(self, acq_function: AcquisitionFunction, *, monotone: bool) -> None:
        self.monotone = monotone
        self.__name__ = type(acq_function).__name__
        twin = copy(acq_function)
        twin._modules = {**acq_function._modules, "model": _Given()}
        self._function = twin

    def __call__(self, mean: FloatArray, std: FloatArray, best: float) -> FloatArray:  # noqa: ARG002
        return -_evaluate(self._function, torch.from_numpy(np.stack([mean, std], axis=-1)))
