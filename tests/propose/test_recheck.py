"""Proposers with one false claim at a time: the final check catches all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, propose
from bogrape.constraints import Acyclic, DegreeRange
from bogrape.errors import EngineError, InvalidInputError
from bogrape.propose import portfolio
from bogrape.propose import recheck as module
from bogrape.propose.criterion import Criterion
from bogrape.propose.proposal import Proposal, Request
from bogrape.propose.recheck import recheck
from exhaustive import everything, fitted

SPACE = GraphSpace(5, labels=2, rules=[DegreeRange(maximum=3)])
Lie = Callable[[Proposal, Criterion, Request], Any]


@pytest.fixture(scope="module")
def gp() -> GraphGP:
    return fitted(SPACE, "ssp", seed=2)


@pytest.fixture(scope="module")
def taken() -> list[Graph]:
    """Two graphs of the space."""
    return [everything(SPACE)[7], everything(SPACE)[40]]


def answer(
    lie: Lie, gp: GraphGP, monkeypatch: pytest.MonkeyPatch, method: Any = "exact", **options: Any
) -> Any:
    """Call `propose` with a proposer that applies this lie to an honest proposal."""
    proposer = portfolio.METHODS[method]

    def liar(objective: Criterion, request: Request) -> Any:
        honest = proposer(objective, replace(request, n_evaluations=500))  # soon found
        return lie(honest, objective, request)

    monkeypatch.setitem(portfolio.METHODS, method, liar)
    return propose(SPACE, gp, method=method, **options)


# -- about the space ----------------------------------------------------------------------------


def _of_graph(graph: Graph) -> Lie:
    """An honest proposal of another graph."""
    return lambda proposal, objective, _: objective.proposal(
        graph,
        objective.of_graph(graph),
        bound=objective.of_graph(graph),
        status="time_limit",
        seconds=proposal.seconds,
        method="cp-sat",
    )


def _matrix(n: int, *edges: tuple[int, int]) -> np.ndarray:
    out = np.zeros((n, n), dtype=bool)
    for u, v in edges:
        out[u, v] = out[v, u] = True
    return out


PATH = _matrix(5, (0, 1), (1, 2), (2, 3), (3, 4))
OUTSIDE = {
    "of another size": Graph(_matrix(4, (0, 1), (1, 2), (2, 3)), [0, 1, 0, 1]),
    "with another label": Graph(PATH, [0, 1, 2, 1, 0]),
    "with a feature": Graph(PATH, [0] * 5, np.ones((5, 1))),
    "directed": Graph(np.triu(PATH), [0] * 5, directed=True),
    "not connected": Graph(_matrix(5, (0, 1), (1, 2), (3, 4)), [0] * 5),
    "against a rule": Graph(_matrix(5, (0, 1), (0, 2), (0, 3), (0, 4)), [0] * 5),
    "with edge labels": Graph(PATH, [0] * 5, edge_labels=PATH.astype(int)),
}


@pytest.mark.parametrize("graph", OUTSIDE.values(), ids=OUTSIDE)
def test_a_graph_outside_the_space_is_caught(
    graph: Graph, gp: GraphGP, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its value; the number is that of the honest proposal."""

    def lie(proposal: Proposal, *_: Any) -> Proposal:
        return replace(proposal, graph=graph)

    with pytest.raises(EngineError, match="must return a graph of the space"):
        answer(lie, gp, monkeypatch)


@pytest.mark.parametrize("thing", [None, "a graph", (1, 2)], ids=str)
def test_a_result_that_is_not_a_proposal_is_caught(
    thing: Any, gp: GraphGP, monkeypatch: pytest.MonkeyPatch
) -> None:
    for lie in (lambda *_: thing, lambda proposal, *_: replace(proposal, graph=thing)):
        with monkeypatch.context() as patch, pytest.raises(EngineError, match="a Proposal of a"):
            answer(lie, gp, patch)


# -- about exclusion ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["exclude", "pending"])
def test_an_excluded_or_pending_graph_is_caught_in_any_numbering(
    way: str, gp: GraphGP, taken: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    for graph in taken:
        lie = _of_graph(graph.permuted([3, 1, 4, 0, 2]))
        with monkeypatch.context() as patch, pytest.raises(EngineError, match="must return a new"):
            answer(lie, gp, patch, **{way: taken})


def test_a_graph_of_the_same_batch_is_caught(gp: GraphGP, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time it is a new graph, the second time it is not."""
    always = portfolio.METHODS["exact"](Criterion(SPACE, gp.posterior, LCB(1.0)), Request()).graph
    with pytest.raises(EngineError, match="must return a new graph"):
        answer(_of_graph(always), gp, monkeypatch, n=2)


# -- about numbers ------------------------------------------------------------------------------


def _changed(**changes: Any) -> Lie:
    """Add finite numbers to those of the proposal; replace everything else."""

    def lie(proposal: Proposal, *_: Any) -> Proposal:
        made = {}
        for name, change in changes.items():
            number = isinstance(change, float) and math.isfinite(change)
            made[name] = getattr(proposal, name) + change * proposal.scale if number else change
        return replace(proposal, **made)

    return lie


LIES: dict[str, tuple[Lie, str]] = {
    "value too low": (_changed(value=-1e-4, bound=-1e-4), "the value of its graph"),
    "value too high": (_changed(value=1e-4), "the value of its graph"),
    "value of nan": (_changed(value=math.nan), "the value of its graph"),
    "value of nan, and the bound": (_changed(value=math.nan, bound=math.nan), "the value of its"),
    "value of minus infinity": (_changed(value=-math.inf, bound=-math.inf), "the value of its"),
    "value of infinity": (_changed(value=math.inf), "the value of its graph"),
    "bound above the value": (_changed(bound=1e-3), "not above the value"),
    "bound of nan": (_changed(bound=math.nan), "not above the value"),
    "bound of infinity": (_changed(bound=math.inf), "not above the value"),
    "optimal without a bound": (_changed(bound=-math.inf), "finite bound with the status"),
    "optimal with a gap": (_changed(bound=-1e-4, standard_gap=1e-4), "meets the value"),
    "optimal with a gap kept silent": (_changed(bound=-1e-4), "meets the value"),
    "optimal by half": (_changed(bound=-0.5, standard_gap=None), "meets the value"),
    "a gap that is not there": (_changed(status="time_limit", standard_gap=0.1), "the gap between"),
    "a gap kept silent": (
        _changed(status="time_limit", bound=-1.0, standard_gap=-1.0),
        "the gap between",
    ),
    "a gap of nan": (_changed(status="time_limit", standard_gap=math.nan), "the gap between"),
    "an endless gap kept silent": (
        _changed(status="time_limit", bound=-math.inf, standard_gap=0.0),
        "the gap between",
    ),
    "another scale": (_changed(scale=1e3), "the scale"),
    "heuristic with a bound": (_changed(status="heuristic"), "no bound with the status"),
    "unknown status": (_changed(status="proved"), "one of optimal, time_limit, heuristic"),
    "no method": (_changed(method=""), "a non-empty text as its method"),
    "a method that is no text": (_changed(method=None), "a non-empty text as its method"),
    "proved by search": (_changed(method="search"), "a method that includes a proof"),
    "proved by sampling": (_changed(method="sample"), "a method that includes a proof"),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_numbers_is_caught(
    name: str, gp: GraphGP, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie, promise = LIES[name]
    with pytest.raises(EngineError, match=f"'exact' must return .*{promise}.*please report this"):
        answer(lie, gp, monkeypatch)


@pytest.mark.parametrize("method", ["search", "evolve", "sample"])
@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"status": "optimal"}, "the status 'heuristic'"),
        ({"status": "time_limit"}, "the status 'heuristic'"),
        ({"bound": -100.0}, "no bound with the status"),
        ({"method": "search+cp-sat"}, "as its method"),
    ],
    ids=str,
)
def test_a_heuristic_that_claims_a_proof_is_caught(
    method: str,
    changes: dict[str, Any],
    promise: str,
    gp: GraphGP,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lie(proposal: Proposal, *_: Any) -> Proposal:
        return replace(proposal, **changes)

    with pytest.raises(EngineError, match=promise):
        answer(lie, gp, monkeypatch, method)


@pytest.mark.parametrize("method", ["auto", "exact", "mip", "search", "evolve", "sample"])
def test_honest_proposals_are_accepted(
    method: str, gp: GraphGP, taken: list[Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = answer(lambda proposal, *_: proposal, gp, monkeypatch, method, exclude=taken)
    assert SPACE.contains(found.graph)


# -- about the bound ----------------------------------------------------------------------------


def _called_optimal(graph: Graph, objective: Criterion) -> Proposal:
    value = objective.of_graph(graph)
    return objective.proposal(
        graph, value, bound=value - 1e-7, status="optimal", seconds=0.0, method="search+cp-sat"
    )


def _ranked(objective: Criterion) -> list[Graph]:
    return sorted(everything(objective.space), key=objective.of_graph)


BOUND = "a bound on all graphs that are not excluded"


@pytest.mark.parametrize("acquisition", [LCB(1.0), LCB(0.0), EI()], ids=str)
@pytest.mark.parametrize("kernel", ["ssp", "sp", "essp", "esp"])
def test_the_worst_graph_called_the_best_is_caught(
    kernel: str, acquisition: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lie(_: Any, objective: Criterion, __: Any) -> Proposal:
        return _called_optimal(_ranked(objective)[-1], objective)

    with pytest.raises(EngineError, match=BOUND):
        answer(lie, fitted(SPACE, kernel, seed=5), monkeypatch, acquisition=acquisition)


@pytest.fixture
def objective(gp: GraphGP) -> Criterion:
    return Criterion(SPACE, gp.posterior, LCB(1.0))


def _only(monkeypatch: pytest.MonkeyPatch, *witnesses: str) -> None:
    """Keep only these kinds of witnesses."""
    if "neighbours" not in witnesses:
        monkeypatch.setattr(module.MoveTable, "of", lambda *_: ())
    if "samples" not in witnesses:
        monkeypatch.setattr(module._Recheck, "_sample", lambda _: [])


def test_neighbours_are_witnesses(objective: Criterion, monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph one edge from the best, called the best."""
    _only(monkeypatch, "neighbours")
    best = _ranked(objective)[0]
    for u, v in itertools.combinations(range(5), 2):
        matrix = best.adjacency.copy()
        matrix[u, v] = matrix[v, u] = not matrix[u, v]
        near = Graph(matrix, best.labels)
        if SPACE.contains(near) and objective.of_graph(near) > objective.of_graph(best) + 1e-3:
            with pytest.raises(EngineError, match=BOUND):
                recheck(_called_optimal(near, objective), objective, Request(), "exact")
            return
    pytest.fail("the best graph has no neighbour in the space")


def test_starts_are_witnesses_unless_they_are_excluded(
    objective: Criterion, monkeypatch: pytest.MonkeyPatch
) -> None:
    _only(monkeypatch)
    best, worst = _ranked(objective)[0], _ranked(objective)[-1]
    lie = _called_optimal(worst, objective)
    recheck(lie, objective, Request(), "exact")  # without a witness
    with pytest.raises(EngineError, match=BOUND):
        recheck(lie, objective, Request(starts=[*OUTSIDE.values(), best]), "exact")
    recheck(lie, objective, Request([best], starts=[best.permuted([4, 3, 2, 1, 0])]), "exact")


def test_random_graphs_are_witnesses(objective: Criterion, monkeypatch: pytest.MonkeyPatch) -> None:
    _only(monkeypatch, "samples")
    with pytest.raises(EngineError, match=BOUND):
        recheck(_called_optimal(_ranked(objective)[-1], objective), objective, Request(), "exact")


SMALL = {
    "labels": GraphSpace(4, labels=2),
    "sizes": GraphSpace((2, 5)),
    "directed": GraphSpace(3, labels=2, directed=True),
    "apart": GraphSpace(4, connected=False),
    "trees": GraphSpace(6, rules=[Acyclic()]),
    "edge labels": GraphSpace(3, labels=2, edge_labels=2),
}


@settings(max_examples=60)
@given(
    name=st.sampled_from(sorted(SMALL)),
    kernel=st.sampled_from(["ssp", "sp", "essp", "esp"]),
    seed=st.integers(0, 4),
    data=st.data(),
)
def test_a_bound_that_brute_force_confirms_is_never_refused(
    name: str, kernel: str, seed: int, data: st.DataObject
) -> None:
    """Any graph, bound and exclusions: refused only if a graph is below the bound."""
    space = SMALL[name]
    objective = Criterion(space, fitted(space, kernel, seed=seed).posterior, LCB(1.0))
    graphs = everything(space)
    excluded = data.draw(st.sets(st.integers(0, len(graphs) - 2), max_size=len(graphs) - 2))
    left = [graph for i, graph in enumerate(graphs) if i not in excluded]
    values = [objective.of_graph(graph) for graph in left]
    chosen = data.draw(st.integers(0, len(left) - 1))
    lowered = data.draw(st.sampled_from([0.0, 1e-8, 1e-3, 0.1, 1.0, 10.0]))
    bound = values[chosen] - lowered
    proposal = objective.proposal(
        left[chosen], values[chosen], bound=bound, status="time_limit", seconds=0.0, method="cp-sat"
    )
    request = Request([graphs[i] for i in excluded], seed=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SAMPLE_SECONDS", 60.0)
        refused = _is_refused(proposal, objective, request)
    is_true = min(values) >= bound - 1e-9 * max(1.0, abs(bound))
    assert not (refused and is_true)


def _is_refused(proposal: Proposal, objective: Criterion, request: Request) -> bool:
    try:
        recheck(proposal, objective, request, "exact")
    except EngineError:
        return True
    return False


def test_a_bound_in_a_space_of_large_graphs_is_checked_at_no_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No witness is made if a single one takes long."""
    space = GraphSpace(200)
    gp = GraphGP("ssp", restarts=1).fit(space.sample(3, seed=0), [0.0, 1.0, 2.0])
    objective = Criterion(space, gp.posterior, LCB(1.0))
    (graph,) = space.sample(1, seed=1)
    proposal = objective.proposal(
        graph, objective.of_graph(graph), bound=-50.0, status="time_limit", seconds=0.0, method="x"
    )
    made: list[str] = []
    monkeypatch.setattr(
        objective.space.__class__, "sample", lambda *_, **__: made.append("sampled") or []
    )
    monkeypatch.setattr(module.MoveTable, "of", lambda *_: made.append("moved"))
    recheck(proposal, objective, Request(), "exact")
    assert not made


# -- not a number -------------------------------------------------------------------------------


def test_an_acquisition_that_is_not_a_number_is_named(gp: GraphGP) -> None:
    def acquisition(mean: np.ndarray, std: np.ndarray, best: float) -> np.ndarray:  # noqa: ARG001
        return mean * math.nan

    with pytest.raises(InvalidInputError, match="expected a number, got nan"):
        propose(SPACE, gp, acquisition, method="sample")
