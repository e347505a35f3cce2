"""Proposals with the kernel ``rbf``: proved if all graphs can be listed, else only bounded."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bogrape import GraphGP, GraphSpace, propose
from bogrape.acquisition import EI, LCB
from bogrape.batch import Batch
from bogrape.errors import InvalidInputError, UnsupportedError
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.proof.engine import choose
from exhaustive import assert_optimal, everything, fitted, true_values

SPACES = {
    "labels": GraphSpace(4, labels=2),
    "sizes": GraphSpace((2, 4), labels=2),
    "features": GraphSpace(4, features=1),
    "directed": GraphSpace(3, labels=2, directed=True),
    "disconnected": GraphSpace(4, labels=2, connected=False),
    "edge labels": GraphSpace(4, labels=2, edge_labels=2),
    "edge labels alone": GraphSpace(4, edge_labels=2),
    "one label": GraphSpace(6),
}
TWO_EDGE_LABELS = SPACES["edge labels alone"]


@pytest.mark.parametrize("acquisition", [LCB(1.0), EI(0.0)], ids=["lcb", "ei"])
@pytest.mark.parametrize("name", SPACES)
def test_small_spaces_are_proved_and_the_optimum_is_that_of_brute_force(
    name: str, acquisition: LCB | EI
) -> None:
    for seed in range(2):
        gp = fitted(SPACES[name], "rbf", seed=seed, noise="fit")
        assert_optimal(SPACES[name], gp, acquisition, seed=seed)


def test_the_proof_distinguishes_graphs_that_differ_in_edge_labels_only() -> None:
    """Their histograms of distances are equal."""
    gp = fitted(TWO_EDGE_LABELS, "rbf", seed=3)
    assert choose(Criterion(TWO_EDGE_LABELS, gp.posterior, LCB(1.0))) is None
    values = true_values(gp, LCB(1.0), everything(TWO_EDGE_LABELS))
    proposal = assert_optimal(TWO_EDGE_LABELS, gp)
    same_bones = [
        value
        for graph, value in zip(everything(TWO_EDGE_LABELS), values, strict=True)
        if graph.n_edges == proposal.graph.n_edges
    ]
    assert max(same_bones) > min(same_bones) + 1e-6


def test_values_of_batches_see_edge_labels() -> None:
    space = SPACES["edge labels"]
    gp, graphs = fitted(space, "rbf"), everything(space)[:200]
    criterion = Criterion(space, gp.posterior, LCB(1.0))
    whole = criterion.of_batch(Batch.of(graphs))
    mean, std = gp.posterior.model.in_units(np.zeros(1), np.ones(1))
    expected = (true_values(gp, LCB(1.0), graphs) - mean) / std
    np.testing.assert_allclose(whole, expected, rtol=1e-7, atol=1e-9)
    alone = [criterion.of_graph(graph) for graph in graphs[:20]]
    np.testing.assert_allclose(alone, whole[:20], rtol=0, atol=1e-9)


def test_a_space_too_large_to_be_listed_gets_a_bound_and_no_proof() -> None:
    space = GraphSpace(12, labels=4)
    graphs = space.sample(12, seed=1)
    gp = GraphGP("rbf", noise="fit", space=space).fit(graphs, [g.n_edges for g in graphs])
    for method in ("exact", "auto"):
        proposal = propose(space, gp, EI(), method, time_limit=1.0, exclude=graphs)
        assert proposal.status == "time_limit"
        assert proposal.bound <= proposal.value
        assert math.isfinite(proposal.bound)
    assert propose(space, gp, EI(), "search", time_limit=1.0).status == "heuristic"


def test_the_mip_refuses_rbf() -> None:
    with pytest.raises(UnsupportedError, match="rbf"):
        propose(SPACES["labels"], fitted(SPACES["labels"], "rbf"), method="mip")


def test_a_model_of_graphs_without_edge_labels_is_refused_if_the_space_has_some() -> None:
    gp = fitted(GraphSpace(4), "rbf")
    with pytest.raises(InvalidInputError, match="fitted to graphs without edge labels"):
        propose(TWO_EDGE_LABELS, gp)


def test_proposals_of_a_batch_are_different() -> None:
    space = SPACES["labels"]
    gp = fitted(space, "rbf", noise="fit")
    chosen = propose(space, gp, EI(), "search", n=3, time_limit=2.0)
    assert len({proposal.graph.canonical_key() for proposal in chosen}) == 3
