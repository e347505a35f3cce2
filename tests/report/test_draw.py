"""Pictures: every kind of graph can be drawn, and is drawn correctly."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from bogrape import Graph
from bogrape.errors import InvalidInputError, UnsupportedError
from bogrape.report.draw import (
    PALETTE,
    Curve,
    draw_convergence,
    draw_graph,
    has_matplotlib,
    new_figure,
    save,
)
from bogrape.report.layout import is_layered, positions

from strategies import any_graphs

pytest.importorskip("matplotlib")

HOSTILE = (
    "",
    " ",
    "_hidden",
    "$x_1^{",
    "$\\frac{1}{0}$",
    "\\textbf{",
    "two\nlines\tand\0null",
    "a" * 500,
    "名前",
    "🧪",
    "\ud800",
    "<b>&amp;",
    "%s {0} %(x)s",
)


def of(graph: Any, n_labels: int = 1) -> Graph:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_labels, len(graph))
    return Graph(nx.to_numpy_array(graph), labels, directed=graph.is_directed())


def ring_with_bonds(bonds: list[int], directed: bool = False) -> Graph:
    n = len(bonds)
    matrix = np.zeros((n, n), dtype=int)
    for i, bond in enumerate(bonds):
        matrix[i, (i + 1) % n] = bond
        if not directed:
            matrix[(i + 1) % n, i] = bond
    return Graph(matrix > 0, directed=directed, edge_labels=matrix)


DAG = nx.DiGraph([(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 4), (1, 5), (4, 5), (0, 5)])
GRAPHS = {
    "labelled": of(nx.gnp_random_graph(10, 0.4, seed=2), 5),
    "unlabelled": of(nx.cycle_graph(6)),
    "directed": of(nx.DiGraph([(0, 1), (1, 0), (1, 2), (2, 0)]), 2),
    "acyclic": of(DAG, 3),
    "single node": of(nx.empty_graph(1)),
    "single labelled node": Graph([[0]], labels=[4]),
    "two nodes": of(nx.path_graph(2)),
    "complete": of(nx.complete_graph(10), 3),
    "30 nodes": of(nx.gnp_random_graph(30, 0.2, seed=1), 4),
    "30 labels": Graph(np.ones((30, 30)) - np.eye(30), labels=range(30)),
    "no edges": of(nx.empty_graph(5), 2),
    "no arcs": of(nx.empty_graph(3, create_using=nx.DiGraph)),
    "disconnected": of(nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(3)), 2),
    "bonds": ring_with_bonds([1, 2, 1, 2, 1, 3]),
    "many bonds": ring_with_bonds([1, 2, 3, 4]),
    "directed bonds": ring_with_bonds([1, 2, 3], directed=True),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_kind_of_graph_is_drawn_and_saved(name: str, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    axes = draw_graph(graph, title=name)
    file = tmp_path / "graph.png"
    save(axes.figure, file)
    assert file.stat().st_size > 1000
    assert sum(len(dots.get_offsets()) for dots in nodes_of(axes)) == graph.n_nodes
    assert [text.get_text() for text in axes.texts][-graph.n_nodes :] == [
        str(v) for v in range(graph.n_nodes)
    ]


def nodes_of(axes: Any) -> list[Any]:
    from matplotlib.collections import PathCollection

    return [item for item in axes.collections if isinstance(item, PathCollection)]


def legend_of(axes: Any) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_the_legend_counts_the_nodes_of_each_label_in_use() -> None:
    graph = Graph([[0, 1, 1], [1, 0, 0], [1, 0, 0]], labels=[2, 0, 2])
    assert legend_of(draw_graph(graph)) == ["label 0  ×1", "label 2  ×2"]
    assert legend_of(draw_graph(graph, label_names=["C", "N", "O"])) == ["C  ×1", "O  ×2"]


def test_a_graph_without_labels_has_no_legend() -> None:
    assert legend_of(draw_graph(GRAPHS["unlabelled"])) == []


def test_a_label_has_the_same_colour_in_every_graph() -> None:
    from matplotlib.colors import to_hex

    for labels in ([0, 2], [2, 2]):
        axes = draw_graph(Graph([[0, 1], [1, 0]], labels=labels))
        colours = [to_hex(dots.get_facecolor()[0]) for dots in nodes_of(axes)]
        assert colours[-1] == PALETTE[2].lower()


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_hostile_names_are_drawn_literally(suffix: str, tmp_path: Path) -> None:
    n = len(HOSTILE)
    graph = Graph(np.ones((n, n)) - np.eye(n), labels=range(n))
    axes = draw_graph(graph, label_names=HOSTILE, node_names=HOSTILE, title="$_{")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(axes.figure, tmp_path / f"hostile{suffix}")
    shown = legend_of(axes)
    assert len(shown) == n
    assert shown[2] == "_hidden  ×1"
    assert shown[3] == "$x_1^{  ×1"
    assert shown[6] == "two lines and null  ×1"
    assert shown[7] == "a" * 23 + "…  ×1"


def test_arcs_become_arrows_and_bonds_become_lines() -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.patches import FancyArrowPatch

    directed = draw_graph(GRAPHS["acyclic"])
    assert sum(isinstance(p, FancyArrowPatch) for p in directed.patches) == DAG.number_of_edges()
    bonded = draw_graph(GRAPHS["bonds"])
    (lines,) = [item for item in bonded.collections if isinstance(item, LineCollection)]
    assert len(lines.get_segments()) == 1 + 2 + 1 + 2 + 1 + 3


@given(graph=any_graphs((1, 9)))
@settings(max_examples=60)
def test_nodes_never_overlap(graph: Graph) -> None:
    xy = positions(graph)
    assert xy.shape == (graph.n_nodes, 2)
    assert np.isfinite(xy).all()
    apart = np.linalg.norm(xy[:, None] - xy[None, :], axis=-1)
    assert (apart + np.eye(graph.n_nodes) > 0.15).all()


@given(graph=any_graphs((2, 8)))
@settings(max_examples=60)
def test_every_arc_of_a_layered_graph_points_down(graph: Graph) -> None:
    upper = Graph(np.triu(graph.adjacency, 1), graph.labels, directed=True)
    if upper.n_edges == 0:
        return
    assert is_layered(upper)
    xy = positions(upper)
    assert all(xy[u, 1] > xy[v, 1] for u, v in upper.edges())


def test_the_same_graph_is_drawn_the_same_way() -> None:
    for graph in GRAPHS.values():
        np.testing.assert_array_equal(positions(graph), positions(graph))


def test_parts_of_a_disconnected_graph_stand_apart() -> None:
    xy = positions(GRAPHS["disconnected"])
    first, second = xy[:5], xy[5:]
    gaps = np.linalg.norm(first[:, None] - second[None, :], axis=-1)
    assert gaps.min() > 0.9


def test_a_curve_knows_its_best_value_so_far() -> None:
    curve = Curve("one", np.array([3.0, 1.0, 2.0]))
    assert curve.best.tolist() == [[3.0, 1.0, 1.0]]


def test_convergence_shows_every_curve_and_marks_the_initial_design(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    one, many = Curve("one run", rng.normal(size=12)), Curve("$many_", rng.normal(size=(4, 12)))
    axes = draw_convergence([one, many], n_initial=5, title="both")
    save(axes.figure, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000
    assert legend_of(axes) == ["one run", "$many_"]
    assert [text.get_text() for text in axes.texts] == ["initial design"]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), one.best[0])
    np.testing.assert_allclose(axes.lines[1].get_ydata(), many.best.mean(axis=0))


def test_curves_may_have_any_length_and_one_value_is_enough(tmp_path: Path) -> None:
    axes = draw_convergence([Curve("short", np.array([1.0])), Curve("long", np.zeros((2, 40)))])
    save(axes.figure, tmp_path / "curves.png")
    assert [len(line.get_ydata()) for line in axes.lines] == [1, 40]
    assert (tmp_path / "curves.png").stat().st_size > 0


@pytest.mark.parametrize("runs", [[], [[]], np.zeros((2, 2, 2))])
def test_a_curve_without_rows_of_values_is_refused(runs: Any) -> None:
    with pytest.raises(InvalidInputError, match="one row of values per run"):
        Curve("empty", runs)


def test_an_empty_list_of_curves_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least one curve"):
        draw_convergence([])


def test_too_few_names_are_refused() -> None:
    graph = GRAPHS["labelled"]
    with pytest.raises(InvalidInputError, match="each of 5 labels, got 1"):
        draw_graph(graph, label_names=["C"])
    with pytest.raises(InvalidInputError, match="each of 10 nodes, got 2"):
        draw_graph(graph, node_names=["a", "b"])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("picture", "ending in"),
        ("picture.jpeg2", "ending in"),
        ("no/picture.png", "does not exist"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(name: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        save(new_figure(2, 2), tmp_path / name)


def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InvalidInputError, match="is a folder"):
        save(new_figure(2, 2), tmp_path / "folder.png")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not has_matplotlib()
    with pytest.raises(UnsupportedError, match=r"pip install 'bogrape\[plots\]'"):
        draw_graph(GRAPHS["labelled"])


def test_drawing_does_not_import_pyplot() -> None:
    import subprocess

    code = (
        "import sys; from bogrape import Graph; from bogrape.report.draw import draw_graph;"
        "draw_graph(Graph([[0, 1], [1, 0]], labels=[0, 1]));"
        "print('matplotlib.figure' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False"]
