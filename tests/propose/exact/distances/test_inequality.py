"""Inequalities over counts mean the same for a graph, whichever keys they are written in."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bogrape.constraints import Shape
from bogrape.encoding import Structure
from bogrape.graph import Graph
from bogrape.propose.exact.distances.coordinates import (
    Attribute,
    Coordinates,
    Distance,
    LabelledDistance,
    Position,
)
from bogrape.propose.exact.distances.histograms import Fact, known_facts
from bogrape.propose.exact.distances.inequality import (
    AtMost,
    Inequality,
    attributes_by_position,
    distances_by_position,
    labelled_by_position,
    over_histogram,
)
from bogrape.propose.exact.distances.known import known_of_counts
from bogrape.propose.exact.distances.layers import Heaviest

from strategies import graphs

N_LABELS = 3
anything = graphs(n_nodes=(1, 6), n_labels=N_LABELS, n_features=None, directed=None)
weight = st.integers(-4, 4)


# -- counts of a graph, by networkx -----------------------------------------------------------


def pairs_of(graph: Graph) -> Counter[LabelledDistance]:
    g = graph.to_networkx()
    out: Counter[LabelledDistance] = Counter()
    for u, reached in nx.all_pairs_shortest_path_length(g):
        for v, s in reached.items():
            a, b = int(graph.labels[u]), int(graph.labels[v])
            if graph.directed and u != v:
                out[LabelledDistance(s, a, b)] += 1
            elif u < v:
                out[LabelledDistance(s, min(a, b), max(a, b))] += 1
    return out


def histogram_of(graph: Graph) -> Counter[Distance]:
    out: Counter[Distance] = Counter()
    for key, number in pairs_of(graph).items():
        out[Distance(key.s)] += number
    return out


def attributes_of(graph: Graph) -> dict[Attribute, int]:
    sums = [list(graph.labels).count(k) for k in range(N_LABELS)]
    sums += [int(column.sum()) for column in graph.features.T]
    return {Attribute(m): number for m, number in enumerate(sums)}


def positions_of(graph: Graph, coordinates: Coordinates) -> dict[Position, int]:
    return {Position(i): number for i, number in enumerate(coordinates.values(graph))}


@st.composite
def coordinates_of(draw: st.DrawFn, graph: Graph, *, labelled: bool | None = None) -> Coordinates:
    """Some coordinates that can describe the graph."""
    shape = Shape(graph.n_nodes, N_LABELS, graph.n_features, directed=graph.directed)
    numbers = tuple(int((graph.labels == k).sum()) for k in range(N_LABELS))
    return Coordinates.of(
        shape,
        labelled=draw(st.booleans()) if labelled is None else labelled,
        longest=draw(st.integers(max(histogram_of(graph), default=0), graph.n_nodes)),
        composition=draw(st.sampled_from([None, numbers])),
    )


@st.composite
def inequalities(draw: st.DrawFn, keys: list[Any], counts: Any) -> Inequality[Any]:
    """An inequality with limits near its sum for these counts: it barely holds or fails."""
    weights = {key: draw(weight) for key in keys}
    total = sum(w * counts.get(key, 0) for key, w in weights.items())
    low, high = (total + draw(st.integers(-2, 2)) for _ in range(2))
    return Inequality(
        "drawn",
        weights,
        draw(st.sampled_from([low, low - 0.5, -np.inf])),
        draw(st.sampled_from([high, high + 0.5, np.inf])),
    )


@given(anything, st.data())
@settings(max_examples=100, deadline=None)
def test_the_histogram_of_the_counts_is_that_of_the_graph(
    graph: Graph, data: st.DataObject
) -> None:
    h, coordinates = histogram_of(graph), data.draw(coordinates_of(graph))
    found = coordinates.histogram(coordinates.values(graph))
    assert found.tolist() == [h[Distance(s)] for s in range(1, coordinates.longest + 1)]


# -- conversions ------------------------------------------------------------------------------


@given(anything, st.data())
@settings(max_examples=200, deadline=None)
def test_an_inequality_by_distance_holds_for_the_histogram_iff_it_holds_by_position(
    graph: Graph, data: st.DataObject
) -> None:
    h, coordinates = histogram_of(graph), data.draw(coordinates_of(graph))
    keys = [Distance(s) for s in range(1, graph.n_nodes + 2)]
    inequality = data.draw(inequalities(keys, h))
    converted = distances_by_position(inequality, coordinates)
    assert inequality.holds(h) == converted.holds(positions_of(graph, coordinates))


@given(anything, st.data())
@settings(max_examples=200, deadline=None)
def test_an_inequality_by_distance_and_labels_holds_iff_it_holds_by_position(
    graph: Graph, data: st.DataObject
) -> None:
    x, coordinates = pairs_of(graph), data.draw(coordinates_of(graph, labelled=True))
    keys = [
        LabelledDistance(s, a, b)
        for s in range(1, graph.n_nodes + 1)
        for a in range(N_LABELS)
        for b in range(N_LABELS)
        if graph.directed or a <= b
    ]
    inequality = data.draw(inequalities(keys, x))
    converted = labelled_by_position(inequality, coordinates)
    assert inequality.holds(x) == converted.holds(positions_of(graph, coordinates))


@given(graphs(n_nodes=(2, 6), n_labels=1), st.integers(0, 2), st.data())
@settings(max_examples=100, deadline=None)
def test_coordinates_without_labels_accept_inequalities_about_a_single_label(
    graph: Graph, label: int, data: st.DataObject
) -> None:
    h, coordinates = histogram_of(graph), data.draw(coordinates_of(graph, labelled=False))
    x = {LabelledDistance(s, label, label): number for s, number in h.items()}
    keys = [LabelledDistance(s, label, label) for s in range(1, 7)]
    inequality = data.draw(inequalities(keys, x))
    converted = labelled_by_position(inequality, coordinates)
    assert inequality.holds(x) == converted.holds(positions_of(graph, coordinates))


def test_coordinates_without_labels_refuse_inequalities_about_two_labels() -> None:
    coordinates = Coordinates.of(Shape(4, 2), labelled=False, longest=3)
    between: Inequality[LabelledDistance] = Inequality("cut[0]", {LabelledDistance(1, 0, 1): 1}, 1)
    with pytest.raises(ValueError, match=r"expected cut\[0\] to speak of one label.*got \[0, 1\]"):
        labelled_by_position(between, coordinates)


@given(anything, st.data())
@settings(max_examples=200, deadline=None)
def test_an_inequality_on_attributes_holds_for_the_nodes_iff_it_holds_by_position(
    graph: Graph, data: st.DataObject
) -> None:
    sums, coordinates = attributes_of(graph), data.draw(coordinates_of(graph))
    inequality = data.draw(inequalities(list(sums), sums))
    converted = attributes_by_position(inequality, coordinates)
    assert inequality.holds(sums) == converted.holds(positions_of(graph, coordinates))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.data())
@settings(max_examples=200, deadline=None)
def test_arrays_are_equivalent_to_the_inequalities_they_are_made_of(
    x: list[int], data: st.DataObject
) -> None:
    counts = {Distance(s): number for s, number in enumerate(x, start=1)}
    some = data.draw(st.lists(inequalities(list(counts), counts), max_size=4))
    arrays = AtMost.of(some, list(counts))
    assert arrays.weights.shape == (len(arrays.most), len(x))
    as_arrays = bool((arrays.weights @ np.array(x) <= arrays.most).all())
    assert all(inequality.holds(counts) for inequality in some) == as_arrays
    sides = [side for inequality in some for side in inequality.one_sided()]
    assert all(side.holds(counts) for side in sides) == as_arrays
    assert all(side.low == -np.inf for side in sides)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.data())
@settings(max_examples=100, deadline=None)
def test_the_first_weight_of_facts_and_of_the_heaviest_belongs_to_distance_one(
    h: list[int], data: st.DataObject
) -> None:
    weights = tuple(data.draw(st.lists(weight, min_size=len(h), max_size=len(h))))
    total = sum(w * number for w, number in zip(weights, h, strict=True))
    least, most = total + data.draw(st.integers(-1, 1)), total + data.draw(st.integers(-1, 1))
    by_distance = {Distance(s): number for s, number in enumerate(h, start=1)}
    assert Fact(weights, most).inequality().holds(by_distance) == (total <= most)
    heaviest = Heaviest(weights, least, most).inequality()
    assert heaviest.holds(by_distance) == (least <= total <= most)
    assert over_histogram("same", weights, least, most).weights == heaviest.weights


# -- known inequalities -----------------------------------------------------------------------


@given(graphs(n_nodes=(2, 6), n_labels=N_LABELS, n_features=None, directed=False), st.data())
@settings(max_examples=150, deadline=None)
def test_known_inequalities_hold_for_connected_graphs_in_any_coordinates(
    graph: Graph, data: st.DataObject
) -> None:
    if not nx.is_connected(graph.to_networkx()):
        return
    diameter = max(histogram_of(graph))
    known_diameter = data.draw(st.sampled_from([diameter, None]))
    shape = Shape(graph.n_nodes, N_LABELS, graph.n_features)
    labelled = data.draw(st.booleans())
    numbers = tuple(int((graph.labels == k).sum()) for k in range(N_LABELS))
    coordinates = Coordinates.of(
        shape,
        labelled=labelled,
        longest=known_diameter or graph.n_nodes - 1,
        composition=data.draw(st.sampled_from([None, numbers])) if labelled else None,
    )
    structure = Structure(shape, "strong", diameter=known_diameter)
    facts = known_facts(graph.n_nodes, diameter)
    x = positions_of(graph, coordinates)
    for inequality in known_of_counts(structure, coordinates, None, facts):
        assert inequality.holds(x), inequality


# -- types ------------------------------------------------------------------------------------

MIXED = """
from bogrape.propose.exact.distances.coordinates import Coordinates, Distance, Position
from bogrape.propose.exact.distances.count_variables import bare_counts
from bogrape.propose.exact.distances.inequality import (
    Inequality, attributes_by_position, distances_by_position, over_histogram,
)

def mix(model: object, coordinates: Coordinates) -> None:
    by_distance = over_histogram("pairs", (1, 2), high=3)
    by_position = distances_by_position(by_distance, coordinates)
    bare_counts(model, coordinates, [by_position])
    bare_counts(model, coordinates, [by_distance])  # refused
    attributes_by_position(by_distance, coordinates)  # refused
    by_distance.holds({Position(0): 1})  # refused
    wrong: Inequality[Distance] = by_position  # refused
"""


def test_mypy_refuses_an_inequality_with_keys_of_another_kind(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "mixed.py").write_text(MIXED)
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "mixed.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    wrong = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    expected = {i for i, line in enumerate(MIXED.splitlines(), 1) if line.endswith("# refused")}
    assert wrong == expected, done.stdout + done.stderr
