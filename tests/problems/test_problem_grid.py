"""The 33-bus grid: lines, spanning trees, and pandapower's losses if it is installed."""

from __future__ import annotations

import math
import sys

import networkx as nx
import numpy as np
import pytest

from bogrape.errors import EvaluationFailed, MissingExtraError, NotInSpaceError
from bogrape.problems import distribution_grid, get_problem
from bogrape.problems.distribution_grid import (
    AS_BUILT,
    BEST_PUBLISHED,
    LINES,
    Losses,
    configuration,
    grid_space,
    losses,
    open_lines,
)


def test_the_lines_have_as_many_spanning_trees_as_the_literature_says() -> None:
    laplacian = nx.laplacian_matrix(nx.Graph(LINES)).toarray().astype(float)
    assert round(np.linalg.det(laplacian[1:, 1:])) == 50_751


def test_the_space_holds_spanning_trees_of_the_lines_only() -> None:
    lines = {frozenset(line) for line in LINES}
    space = grid_space()
    for graph in space.sample(10, seed=0, distinct=True):
        tree = graph.to_networkx()
        assert nx.is_tree(tree)
        assert {frozenset(edge) for edge in tree.edges} <= lines
        assert configuration(open_lines(graph)) == graph
    assert not space.contains(configuration(AS_BUILT[1:]))  # a cycle
    assert not space.contains(configuration((*AS_BUILT, 1)))  # in two parts


def test_without_pandapower_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandapower", None)
    monkeypatch.setitem(sys.modules, "pandapower.networks", None)
    distribution_grid._grid.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'bogrape\[grids\]'"):
        get_problem("grid-33")


def test_lines_are_those_of_pandapower_and_losses_those_of_the_literature() -> None:
    networks = pytest.importorskip("pandapower.networks")
    grid = networks.case33bw()
    ends = zip(grid.line.from_bus, grid.line.to_bus, strict=True)
    assert [(int(u), int(v)) for u, v in ends] == list(LINES)
    assert losses(frozenset(AS_BUILT)) == pytest.approx(202.68, abs=0.005)
    assert losses(frozenset(BEST_PUBLISHED)) == pytest.approx(139.55, abs=0.005)
    problem = get_problem("grid-33")
    assert problem.objective(configuration(BEST_PUBLISHED)) == pytest.approx(math.log(139.5513))
    assert problem.reference == pytest.approx(math.log(139.55))


def test_a_configuration_whose_voltage_collapses_fails() -> None:
    pytest.importorskip("pandapower")
    problem = get_problem("grid-33")
    far = configuration((4, 21, 22, 27, 34))
    assert problem.space.contains(far)
    with pytest.raises(EvaluationFailed, match=r"lines \[4, 21, .*\] open does not converge"):
        problem.objective(far)


def test_a_graph_that_is_not_a_spanning_tree_is_refused_before_any_power_flow() -> None:
    for opened in ((*AS_BUILT, 1), AS_BUILT[1:]):  # in two parts; with a cycle
        with pytest.raises(NotInSpaceError):
            Losses()(configuration(opened))
