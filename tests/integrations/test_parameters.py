"""Graphs as flat parameters: whatever is written is read back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape import Graph, GraphSpace
from bogrape.errors import InvalidInputError
from bogrape.integrations.parameters import GraphParameters

from strategies import any_graphs


@settings(max_examples=60)
@given(any_graphs(n_nodes=(1, 5)), st.booleans(), st.booleans())
def test_a_graph_is_read_back_from_its_parameters(graph: Graph, named: bool, sized: bool) -> None:
    labels = ("C", "N", "O") if named else 3
    space = GraphSpace(
        (1, 6) if sized else graph.n_nodes,
        labels,
        features=graph.n_features,
        directed=graph.directed,
        connected=False,
        edge_labels=0 if graph.edge_labels is None else 2,
    )
    parameters = GraphParameters(space, "g.")
    values = parameters.of(graph)
    assert parameters.graph({**values, "another": 1.5}) == graph
    assert values.keys() <= parameters.choices.keys()
    assert all(value in parameters.choices[name] for name, value in values.items())
    assert all(name.startswith("g.") for name in values)
    if not sized:
        assert values.keys() == parameters.choices.keys()


def test_named_nodes_name_their_parameters() -> None:
    space = GraphSpace(nodes=["a", "b"], labels={"a": "router", "b": "switch"})
    graph = space.sample(1)[0]
    parameters = GraphParameters(space)
    assert parameters.of(graph) == {
        "node [a]": "router",
        "node [b]": "switch",
        "edge [a]-[b]": 1,
    }
    assert parameters.graph(parameters.of(graph)) == graph


def test_ambiguous_names_of_nodes_are_replaced_by_numbers() -> None:
    space = GraphSpace(nodes=["a]-[a", "a"], labels=2)
    assert "edge 0-1" in GraphParameters(space).choices


def test_missing_and_impossible_values_are_named() -> None:
    parameters = GraphParameters(GraphSpace(2, labels=("C", "O")))
    values = parameters.of(Graph([[0, 1], [1, 0]]))
    with pytest.raises(InvalidInputError, match="'edge 0-1' is missing"):
        parameters.graph({k: v for k, v in values.items() if k != "edge 0-1"})
    with pytest.raises(InvalidInputError, match="'node 0': expected one of 'C', 'O', got 'N'"):
        parameters.graph({**values, "node 0": "N"})
    with pytest.raises(InvalidInputError, match="must be a GraphSpace"):
        GraphParameters("space")  # type: ignore[arg-type]


@pytest.mark.parametrize("aromatic", [False, True])
def test_features_that_a_rule_derives_are_not_parameters(aromatic: bool) -> None:
    pytest.importorskip("rdkit")
    from bogrape.molecules import molecule_space

    space = molecule_space(("C", "N", "O"), (3, 6), aromatic=aromatic)
    parameters = GraphParameters(space)
    assert len(parameters.choices) == 1 + 6 + 15
    for graph in space.sample(12, seed=1, distinct=True):
        assert parameters.graph(parameters.of(graph)) == graph
    # values chosen by other samplers are read as well, whether or not they are a molecule
    rng = np.random.default_rng(0)
    made = []
    for n in rng.integers(3, 7, size=40).tolist():
        choices = parameters.choices_at(n)
        values = {name: known[rng.integers(len(known))] for name, known in choices.items()}
        made.append(parameters.graph({**values, "n_nodes": n}))
    assert {space.contains(graph) for graph in made} == {True, False}
