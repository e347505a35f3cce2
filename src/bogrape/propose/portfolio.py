"""`propose`: the next graph to evaluate, by the method of your choice.

Several graphs at once (``n > 1``) are chosen one after another. Each chosen or pending graph is
*believed*: its posterior mean is treated as an observation, with unchanged hyperparameters. This
removes the uncertainty there and moves the next choice elsewhere (kriging believer; Ginsbourger, Le
Riche and Carraro, 2010). If the time for each is too short, several are taken from one search
(`bogrape.propose.batches`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from threadpoolctl import threadpool_limits

from ..acquisition import EI, LCB, Acquisition
from ..checks import seconds, whole
from ..errors import InvalidInputError, SamplingError, SearchSpaceExhausted, UnsupportedError
from ..gp import GraphGP
from ..graph import Graph
from ..posterior import FunctionPosterior, Posterior, WeightPosterior
from ..space import GraphSpace
from ..surrogate import FittedSurrogate, Surrogate
from .batches import propose_many
from .criterion import AnyCriterion, Criterion
from .graph_criterion import GraphCriterion
from .joint_criterion import JointCriterion, JointModel
from .local.evolution import propose_evolve
from .local.sampling import propose_sample
from .local.search import FirstSearch, break_tie, find_any, search
from .proposal import Proposal, Request, Stage
from .recheck import recheck
from .weighted_criterion import Chance, LimitChance, WeightedCriterion

Proposer = Callable[[AnyCriterion, Request], Proposal]
Method = Literal["auto", "exact", "mip", "search", "sample", "evolve"]

MOST_STARTS = 500  # excluded graphs that local search considers as starts
_PREDICTIONS = 60_000  # of a custom surrogate, which is slower than a function of counts
_JOINT_PREDICTIONS = 100_000  # of several properties
_SCALE_SAMPLE = 32  # graphs whose predictions give the scale of values
_SEARCHES = ("auto", "exact", "search")  # methods that include a search
_MANY = 10  # graphs in a large batch:
_FIRST_SHARE = 0.1  # the first may take this share of the time,
_TOO_SHORT = 0.5  # and with less time for each other one (seconds), fewer searches find more
_ENGINE = f"{__package__}.exact.proof.engine"  # the module that loads the solver
_FOREVER = 1e8  # seconds: the most that solvers and clocks can handle


def propose_search(objective: AnyCriterion, request: Request) -> Proposal:
    """The best graph that local search finds, without a bound."""
    elite = search(
        objective,
        excluded=request.excluded,
        n_evaluations=request.n_evaluations,
        deadline=request.deadline,
        seed=request.seed,
        starts=request.starts,
        stop=request.stop,
    )
    if not elite.ties and request.late and not find_any(objective, elite, request):
        raise request.too_late()
    if not elite.ties:
        raise SearchSpaceExhausted(
            "local search found no graph of the space that is not excluded; widen the space, or "
            'use method="exact" to learn whether one exists'
        )
    graph = break_tie(elite.ties, request.exclude, request.seed, request.deadline)
    return objective.proposal(
        graph,
        objective.of_graph(graph),
        seconds=request.seconds,
        method="search",
        n_evaluations=elite.n_evaluations,
    )


def propose_exact(objective: AnyCriterion, request: Request) -> Proposal:
    """The globally best graph, with a proof if possible (`bogrape.propose.exact`)."""
    first = FirstSearch(objective, request)
    if _ENGINE not in sys.modules:
        first.begin()  # before the solver is loaded: the time limit may be half a second
    from .exact.proof.engine import propose_exact as prove  # late: loads the solver

    return prove(objective, request, first)


def propose_mip(objective: AnyCriterion, request: Request) -> Proposal:
    """The paper's mixed-integer program, on SCIP or Gurobi (`bogrape.propose.mip`)."""
    from .mip import propose_mip as solve  # late: a large package few calls need

    if not isinstance(objective, Criterion):
        raise UnsupportedError(
            'expected a GraphGP for method "mip", got a surrogate of your own, several '
            'properties, or probabilities of success, which it cannot encode; try method="auto"'
        )
    return solve(objective, request)


METHODS: dict[Method, Proposer] = {
    "auto": propose_exact,
    "exact": propose_exact,
    "mip": propose_mip,
    "search": propose_search,
    "sample": propose_sample,
    "evolve": propose_evolve,
}


@overload
def propose(
    space: GraphSpace,
    gp: GraphGP | Posterior | JointModel | FittedSurrogate | Surrogate,
    acquisition: Acquisition = ...,
    method: Method = ...,
    time_limit: float = ...,
    exclude: Sequence[Graph] = ...,
    n: Literal[1] = ...,
    seed: int = ...,
    solver: str | None = ...,
    *,
    pending: Sequence[Graph] = ...,
    starts: Sequence[Graph] | None = ...,
    n_evaluations: int | None = ...,
    options: Mapping[str, Any] | None = ...,
    chances: Sequence[Chance] = ...,
    stop: Callable[[], bool] | None = ...,
    watch: Callable[[Stage], None] | None = ...,
    client: Any = ...,
) -> Proposal: ...
@overload
def propose(
    space: GraphSpace,
    gp: GraphGP | Posterior | JointModel | FittedSurrogate | Surrogate,
    acquisition: Acquisition = ...,
    method: Method = ...,
    time_limit: float = ...,
    exclude: Sequence[Graph] = ...,
    n: int = ...,
    seed: int = ...,
    solver: str | None = ...,
    *,
    pending: Sequence[Graph] = ...,
    starts: Sequence[Graph] | None = ...,
    n_evaluations: int | None = ...,
    options: Mapping[str, Any] | None = ...,
    chances: Sequence[Chance] = ...,
    stop: Callable[[], bool] | None = ...,
    watch: Callable[[Stage], None] | None = ...,
    client: Any = ...,
) -> Proposal | list[Proposal]: ...
def propose(
    space: GraphSpace,
    gp: GraphGP | Posterior | JointModel | FittedSurrogate | Surrogate,
    acquisition: Acquisition | None = None,
    method: Method = "auto",
    time_limit: float = 60.0,
    exclude: Sequence[Graph] = (),
    n: int = 1,
    seed: int = 0,
    solver: str | None = None,
    *,
    pending: Sequence[Graph] = (),
    starts: Sequence[Graph] | None = None,
    n_evaluations: int | None = None,
    options: Mapping[str, Any] | None = None,
    chances: Sequence[Chance] = (),
    stop: Callable[[], bool] | None = None,
    watch: Callable[[Stage], None] | None = None,
    client: Any = None,
) -> Proposal | list[Proposal]:
    """Find the graph of the space with the smallest acquisition value.

    Args:
        space: the graphs to choose from.
        gp: a fitted `GraphGP`, or its posterior; posteriors of several properties with their
            goals (`JointModel`); or your own surrogate with the observations it was fitted to
            (`bogrape.surrogate.FittedSurrogate`). A fitted surrogate alone is enough for one graph
            with LCB.
        acquisition: the function to minimise; ``LCB(1.0)`` by default, or ``EI()`` for the front of
            several properties. Any function of the mean, the deviation and the best observed value
            works.
        method: ``auto`` and ``exact`` prove the quality of the answer if possible, as does
            ``mip``, the paper's mixed-integer program, for small graphs; ``search``, ``evolve`` and
            ``sample`` (best of 20 random graphs) are heuristics without a bound.
        time_limit: seconds for the whole call.
        exclude: graphs that must not be proposed (up to `GraphSpace.identity`).
        n: number of graphs; with more than one, the result is a list, chosen one after another.
        seed: the same seed gives the same answer unless the time limit stops the call.
        solver: ``scip`` or ``gurobi``, for ``mip``.
        pending: graphs under evaluation: excluded, and assumed to have their predicted mean.
        starts: graphs that local search may begin from, for instance the best observed ones; by
            default the last 500 of those excluded and pending.
        n_evaluations: number of acquisition values that local search computes, alone (``search``)
            or before a proof; fewer if time runs out. By default 300,000, or 100,000 for several
            properties, or 60,000 predictions of your own surrogate.
        options: further options of a method; for ``mip`` see `bogrape.propose.mip.MipOptions`.
        chances: probabilities that a graph is usable, such as a
            `bogrape.success.SuccessModel`: values are weighted by their product
            (`bogrape.propose.weighted_criterion`). Not for ``mip``.
        stop: called several times per second; once it returns True, the best graph so far is
            returned with the bound proved so far.
        watch: called with a `Stage` whenever there is progress.
        client: a Dask client, or ``dask://host:port``: the pieces of a proof are solved by the
            workers of that cluster instead of processes on this machine, with the same certificate.
    """
    check_method(method, solver, options, client)
    time_limit = seconds(time_limit, "time_limit")
    n, seed = whole(n, "n", 1), whole(seed, "seed", 0)
    if n_evaluations is not None:
        n_evaluations = whole(n_evaluations, "n_evaluations", 1)
    _check_parts(space, acquisition)
    try:
        exclude, pending = list(exclude), list(pending)
        starts = None if starts is None else list(starts)
    except TypeError:
        raise InvalidInputError("exclude, pending and starts must be lists of graphs") from None
    for graph in (*exclude, *pending, *(starts or ())):
        if not isinstance(graph, Graph):
            raise InvalidInputError(
                f"exclude, pending and starts must hold Graph objects, got {type(graph).__name__}"
            )
    deadline = time.monotonic() + min(time_limit, _FOREVER)
    front = isinstance(gp, JointModel) and gp.goals.is_pareto
    default = EI() if front else LCB(1.0)
    chosen_acquisition = default if acquisition is None else acquisition
    model = _model_of(space, gp, chosen_acquisition, alone=n == 1 and not pending, until=deadline)
    if pending:
        model = model.believe(pending)
    taken = [*exclude, *pending]
    hooks: dict[str, Any] = {"stop": stop, "watch": watch}
    hooks = {name: hook for name, hook in hooks.items() if hook is not None}
    proposals: list[Proposal] = []
    # with several threads, matrices this small take 5 to 20 times as long
    with threadpool_limits(1), _working_on(client):
        while (i := len(proposals)) < n:
            objective = _criterion(space, model, chosen_acquisition, _step_seed(seed, i), chances)
            objective.check_declared()
            left = deadline - time.monotonic()
            share = left / (n - i)
            request = Request(
                taken,
                time_limit=max(0.0, share if i or n < _MANY else max(share, _FIRST_SHARE * left)),
                seed=_step_seed(seed, i),
                solver=solver,
                options=options,
                identify=space.identity,
                starts=taken[-MOST_STARTS:] if starts is None else starts,
                **hooks,
            )
            if n_evaluations is not None:
                request = replace(request, n_evaluations=n_evaluations)
            elif isinstance(objective.unweighted, GraphCriterion):
                request = replace(request, n_evaluations=_PREDICTIONS)
            elif isinstance(objective.unweighted, JointCriterion):
                request = replace(request, n_evaluations=_JOINT_PREDICTIONS)
            found: list[Proposal] = []
            short = bool(proposals) and share < min(_TOO_SHORT, proposals[-1].seconds)
            if short and n >= _MANY and method in _SEARCHES:
                found = propose_many(
                    lambda some: _criterion(
                        space, some, chosen_acquisition, _step_seed(seed, 0), chances
                    ),
                    lambda some, graphs: some.believe(graphs),
                    model,
                    request,
                    n - i,
                    max(deadline, time.monotonic() + _TOO_SHORT),  # at least one search
                )
            if not found:
                try:
                    found = [METHODS[method](objective, request)]
                except (SamplingError, SearchSpaceExhausted) as error:
                    error.proposals = tuple(proposals)
                    raise
                recheck(found[0], objective, request, method)
            proposals += [replace(one, graph=space.named(one.graph)) for one in found]
            if request.stop():
                break
            if len(proposals) < n:
                model = model.believe([one.graph for one in found])
                taken = [*taken, *(one.graph for one in found)]
    return proposals[0] if n == 1 else proposals


def _model_of(
    space: GraphSpace,
    gp: GraphGP | Posterior | JointModel | FittedSurrogate | Surrogate,
    acquisition: Acquisition,
    *,
    alone: bool,
    until: float,
) -> Posterior | JointModel | FittedSurrogate:
    """The posterior of a Gaussian process, or a surrogate with its observations."""
    if isinstance(gp, GraphGP):
        return gp.posterior
    if isinstance(gp, (FunctionPosterior, WeightPosterior, JointModel, FittedSurrogate)):
        return gp
    if not isinstance(gp, Surrogate) or isinstance(gp, type):
        raise InvalidInputError(
            "expected a fitted GraphGP, its posterior, or a surrogate with fit(graphs, y) and "
            f"predict(graphs) -> (mean, std), got {type(gp).__name__}"
        )
    if not alone or not isinstance(acquisition, LCB):
        raise InvalidInputError(
            "several graphs, pending ones, and acquisitions other than LCB need the observations "
            f"that {type(gp).__name__} was fitted to; try FittedSurrogate.fit(surrogate, graphs, y)"
        )
    # LCB needs no observations, and other predictions give the scale for tolerances
    some = space.sample(_SCALE_SAMPLE, seed=0, deadline=until)
    blank = FittedSurrogate(gp, tuple(some), np.zeros(len(some)))
    return replace(blank, y=blank.predict(some)[0])


def _criterion(
    space: GraphSpace,
    model: Posterior | JointModel | FittedSurrogate,
    acquisition: Acquisition,
    seed: int,
    chances: Sequence[Chance] = (),
) -> AnyCriterion:
    plain: AnyCriterion
    alone = False
    if isinstance(model, JointModel):
        alone = model.keeps_none
        chances = [*chances, *(LimitChance(*limited) for limited in model.limits)]
        plain = JointCriterion(space=space, model=model, acquisition=acquisition, seed=seed)
    elif isinstance(model, FittedSurrogate):
        plain = GraphCriterion(space=space, model=model, acquisition=acquisition)
    else:
        plain = Criterion(space, model, acquisition)
    if not chances:
        return plain
    return WeightedCriterion(plain=plain, chances=tuple(chances), alone=alone)


def _working_on(client: Any) -> AbstractContextManager[None]:
    """The context in which the jobs of a proof run on the client, if one is given."""
    if client is None:
        return nullcontext()
    from .jobs.dask_pool import working_on  # late: loads the modules that send jobs

    return working_on(client)


def check_client(client: Any, method: object) -> None:
    """Raise unless proposals by this method can be proved by this client, before it is needed."""
    if client is None:
        return
    check_method(method, None, None, client)
    from .jobs import dask_pool  # late: loads what sends jobs

    dask_pool.check_client(client)


def _step_seed(seed: int, i: int) -> int:
    return seed if i == 0 else int(np.random.default_rng([seed, i]).integers(2**31))


def _check_parts(space: object, acquisition: object) -> None:
    if not isinstance(space, GraphSpace):
        raise InvalidInputError(f"space must be a GraphSpace, got {type(space).__name__}")
    if acquisition is not None and not callable(acquisition):
        raise InvalidInputError(
            f"acquisition must be a function such as LCB(1.0), got {acquisition!r:.100}"
        )


def check_method(method: object, solver: object, options: object, client: object = None) -> None:
    """Raise unless the method exists and offers this solver, these options and this client."""
    if not isinstance(method, str) or method not in METHODS:
        raise InvalidInputError(
            f"unknown method {method!r:.100}; choose one of {', '.join(METHODS)}"
        )
    if client is not None and method not in ("auto", "exact"):
        raise InvalidInputError(
            f"client applies to methods 'auto' and 'exact' only, got method {method!r}; try "
            "client=None"
        )
    if method == "mip" and not (solver is None and options is None):
        from .mip.propose import check_choices  # late: a large package few calls need

        check_choices(solver, options)
        return
    for name, given in (("solver", solver), ("options", options)):
        if given is not None:
            raise InvalidInputError(
                f"{name} applies to method 'mip' only, got {given!r:.100} with method {method!r}; "
                f"try {name}=None, or method='mip'"
            )
