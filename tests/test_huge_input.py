"""Enormous input is refused at once, before anything is built from it."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, reject
from hypothesis import strategies as st

from bogrape import Graph, GraphSpace, Study
from bogrape.cli.config import read_study_file
from bogrape.cli.main import main
from bogrape.constraints import DegreeRange, DiameterRange, Edge, HasLabel, TotalCost
from bogrape.errors import InvalidGraphError, InvalidInputError, InvalidSpaceError
from bogrape.space import propagation
from bogrape.space.checks import MAX_EDGE_LABELS, MAX_FEATURES, MAX_LABELS, MAX_NODES
from bogrape.study import StudySettings
from places import ROOT

from strategies import rules

HUGE: tuple[dict[str, Any], ...] = (
    {"n_nodes": 10_000_000},
    {"n_nodes": [5, 3000]},
    {"n_nodes": MAX_NODES + 1},
    {"n_nodes": 5, "labels": 10**9},
    {"n_nodes": 5, "labels": MAX_LABELS + 1},
    {"n_nodes": 5, "labels": [str(i) for i in range(2000)]},
    {"n_nodes": 5, "features": 10**9},
    {"n_nodes": 5, "features": MAX_FEATURES + 1},
    {"n_nodes": 5, "edge_labels": 10**9},
    {"n_nodes": 5, "edge_labels": MAX_EDGE_LABELS + 1},
    {"nodes": [str(i) for i in range(2000)]},
)


@contextmanager
def assert_at_once() -> Iterator[None]:
    """Assert that a block takes at most half a second and 50 MB."""
    tracemalloc.start()
    start = time.process_time()
    try:
        yield
    finally:
        seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert seconds < 0.5
    assert peak < 50e6


def from_python(data: dict[str, Any], _: Path) -> object:
    return GraphSpace(**data)


def from_json(data: dict[str, Any], _: Path) -> object:
    return GraphSpace.from_json(json.dumps(data))


def from_settings(data: dict[str, Any], _: Path) -> object:
    """As if read from somebody else's database."""
    settings = StudySettings(space=GraphSpace(5)).to_dict()
    return StudySettings.from_dict({**settings, "space": data})


def from_toml(data: dict[str, Any], folder: Path) -> object:
    path = folder / "study.toml"
    body = "".join(f"{key} = {json.dumps(value)}\n" for key, value in data.items())
    path.write_text(f"[space]\n{body}", encoding="ascii")
    return read_study_file(path)


@pytest.mark.parametrize("way", [from_python, from_json, from_settings, from_toml])
@pytest.mark.parametrize("data", HUGE, ids=lambda d: str(d)[:40])
def test_a_huge_space_is_refused_at_once(
    data: dict[str, Any], way: Callable[[dict[str, Any], Path], object], tmp_path: Path
) -> None:
    with assert_at_once(), pytest.raises(InvalidInputError, match="at most"):
        way(data, tmp_path)


def test_the_largest_spaces_can_be_made() -> None:
    space = GraphSpace(MAX_NODES, labels=MAX_LABELS, features=3, edge_labels=MAX_EDGE_LABELS)
    assert space.n_max == MAX_NODES
    named = GraphSpace(nodes=[f"site {i}" for i in range(MAX_NODES)])
    assert len(named.nodes or ()) == MAX_NODES


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_nodes": 100, "labels": 20},
        {"n_nodes": (5, MAX_NODES)},
        {"n_nodes": (5, 100), "rules": [DegreeRange(maximum=3), DiameterRange(maximum=7)]},
        {"n_nodes": 100, "directed": True, "connected": "strong"},
        {"n_nodes": 100, "edge_labels": 2, "rules": [TotalCost((), 90.5, {1: 1, 2: 1.5})]},
    ],
    ids=lambda a: str(a)[:60],
)
def test_large_spaces_are_made_quickly(arguments: dict[str, Any]) -> None:
    """With rows that decide nothing, (5, 300) took a second and (5, 3000) took 38."""
    start = time.process_time()
    GraphSpace(**arguments)
    assert time.process_time() - start < 2.0


@st.composite
def ruled_spaces(draw: st.DrawFn) -> GraphSpace:
    n, n_labels, directed = draw(st.integers(2, 5)), draw(st.integers(1, 3)), draw(st.booleans())
    some = draw(st.lists(rules(n_nodes=n, n_labels=n_labels, directed=directed), max_size=3))
    ways: list[Any] = [True, False, *(["strong"] if directed else [])]
    connected = draw(st.sampled_from(ways))
    try:
        return GraphSpace(n, n_labels, directed=directed, connected=connected, rules=some)
    except InvalidSpaceError:
        reject()


@given(ruled_spaces())
def test_rows_left_out_of_the_propagation_would_have_decided_nothing(space: GraphSpace) -> None:
    """With all rows, the conflict, the edges and the labels are the same."""
    shape, structure = space.shape(space.n_max), propagation._structure
    atoms = {Edge(u, v) for u, v in shape.pairs()} | _all_paths(shape)
    atoms |= {HasLabel(v, k) for v in range(shape.n_nodes) for k in range(shape.n_labels)}
    few = space.known(space.n_max)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            propagation,
            "_structure",
            lambda shape, strong, used: structure(shape, strong, used | atoms),
        )
        full = propagation.propagate(space.rules, shape, space.connected == "strong")
    assert (few.conflict is None) == (full.conflict is None)
    assert few.n_edges == full.n_edges
    for atom, value in full.value.items():
        decides = isinstance(atom, Edge) or (isinstance(atom, HasLabel) and shape.n_labels > 1)
        assert few.value.get(atom) == value or not decides
    assert few.value.items() <= full.value.items()


def _all_paths(shape: Any) -> set[Any]:
    if shape.n_nodes <= 2:
        return set()
    return {propagation.Within(u, v, shape.n_nodes - 1) for u, v in shape.pairs()}


def test_a_huge_graph_is_refused_before_its_matrices_are_made() -> None:
    for n in (1001, 10_000, 10**30):
        with assert_at_once(), pytest.raises(InvalidGraphError, match="between 1 and 1000"):
            Graph.from_json(json.dumps({"n_nodes": n, "edges": []}))
    assert Graph.from_json('{"n_nodes": 1000, "edges": [[0, 999]]}').n_edges == 1


def test_a_graph_no_model_can_be_fitted_to_is_not_recorded() -> None:
    study = Study(GraphSpace(5))
    path = Graph([[int(abs(u - v) == 1) for v in range(1001)] for u in range(1001)])
    with pytest.raises(InvalidInputError, match="at most 1000 nodes, got 1001"):
        study.add(path, 1.0)
    assert study.trials == ()


def test_huge_rows_of_an_import_are_named(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("[space]\nn_nodes = 5\n", encoding="ascii")
    rows = [{"graph": {"n_nodes": 10_000, "edges": [[0, 1]]}, "value": 1.0}] * 3
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="ascii")
    arguments = ["import", str(tmp_path / "study.toml"), str(tmp_path / "rows.jsonl")]
    with assert_at_once():
        result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "line 2: n_nodes must be an integer between 1 and 1000" in result.output
    assert not (tmp_path / "study.db").exists()


def test_the_limits_are_in_the_documents() -> None:
    text = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
    assert (
        f"at most {MAX_NODES} nodes, {MAX_LABELS} labels, {MAX_FEATURES:,} features per node and "
        f"{MAX_EDGE_LABELS} edge labels" in " ".join(text.split())
    )
    with pytest.raises(InvalidSpaceError):
        GraphSpace(MAX_NODES + 1)
