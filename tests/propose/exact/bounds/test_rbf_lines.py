"""Lines below LCB with the kernel ``rbf`` are below the values of all graphs."""

from __future__ import annotations

import math
import time
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bogrape import LCB, GraphGP, GraphSpace
from bogrape.arrays import FloatArray
from bogrape.batch import Batch
from bogrape.counts import count
from bogrape.encoding import Structure, structures
from bogrape.graph import Graph
from bogrape.posterior import FunctionPosterior
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds.linear_programs import Lines
from bogrape.propose.exact.bounds.lines_below import Box
from bogrape.propose.exact.bounds.rbf_cells import RbfCells
from bogrape.propose.exact.bounds.rbf_in_boxes import (
    WIDEST,
    SumsInBox,
)
from bogrape.propose.exact.bounds.rbf_lines import (
    RbfLcbOverCounts,
    _Around,
    rbf_composition_bounds,
)
from bogrape.propose.exact.distances.known import known_of_counts, most_far
from bogrape.propose.exact.distances.variables import Variables
from bogrape.propose.exact.proof.piece import Piece
from exhaustive import DATASETS, everything, fitted

SPACES = {
    "labels": GraphSpace(5, labels=2),
    "three labels": GraphSpace(4, labels=3),
    "sizes": GraphSpace((3, 4), labels=2),
    "disconnected": GraphSpace(4, labels=2, connected=False),
    "directed": GraphSpace(3, labels=2, directed=True),
    "strongly connected": GraphSpace(3, labels=2, directed=True, connected="strong"),
    "features": GraphSpace(4, labels=2, features=1),
    "paths": GraphSpace(6),
}
NOISES = (1e-6, 1e-3, "fit")
Key = tuple[Structure, tuple[int, ...]]


@lru_cache(maxsize=64)
def _gp(space: str, kind: str, seed: int, noise: float | str) -> GraphGP:
    return fitted(SPACES[space], "rbf", kind, seed, noise=noise)


@lru_cache(maxsize=64)
def _pieces(name: str) -> dict[Key, list[Graph]]:
    """All graphs by size, diameter and composition, and again by size and composition alone."""
    space = SPACES[name]
    out: dict[Key, list[Graph]] = {}
    for whole in structures([space.shape(n) for n in space.sizes], space.connected, space.rules):
        for structure in {whole, *whole.by_diameter()}:
            for graph in everything(space):
                numbers = tuple(np.bincount(graph.labels, minlength=space.n_labels).tolist())
                if Piece(structure, numbers).matches(graph):
                    out.setdefault((structure, numbers), []).append(graph)
    return out


def _over_counts(gp: GraphGP, key: Key, kappa: float) -> RbfLcbOverCounts:
    structure, composition = key
    posterior = gp.posterior
    assert isinstance(posterior, FunctionPosterior)
    coordinates = Piece(structure, composition).coordinates(labelled=True)
    connected = structure.connectivity == "strong"
    return RbfLcbOverCounts(
        posterior, coordinates, kappa, connected=connected, most_far=most_far(structure)
    )


def _variables(lcb: RbfLcbOverCounts, graphs: list[Graph]) -> FloatArray:
    """Variables of boxes and lines, one row per graph."""
    values = [lcb.coordinates.values(graph) for graph in graphs]
    counts = np.array(values, dtype=np.int64).reshape(len(graphs), len(lcb.coordinates))
    return lcb.variables.of_counts(counts)


def _values(name: str, gp: GraphGP, graphs: list[Graph], kappa: float) -> FloatArray:
    return Criterion(SPACES[name], gp.posterior, LCB(kappa)).of_batch(Batch.of(graphs))


def _some_piece(name: str, rng: np.random.Generator) -> tuple[Key, list[Graph]]:
    pieces = list(_pieces(name).items())
    return pieces[int(rng.integers(len(pieces)))]


def _instance(name: str, seed: int) -> tuple[GraphGP, np.random.Generator]:
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(DATASETS))
    noise = NOISES[int(rng.integers(len(NOISES)))]
    return _gp(name, kind, int(rng.integers(3)), noise), rng


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("kind", ["random", "sizes", "one label"])
def test_sums_of_squares_over_cells_are_the_exponents_of_the_kernel(name: str, kind: str) -> None:
    gp = _gp(name, kind, 0, 1e-3)
    model = gp.posterior.model
    for (structure, composition), graphs in _pieces(name).items():
        coordinates = Piece(structure, composition).coordinates(labelled=True)
        connected = structure.connectivity == "strong"
        variables = Variables(coordinates, within=True)
        cells = RbfCells.of(model, variables, connected=connected)
        counts = count(graphs, SPACES[name].n_labels, edges=True)
        expected = model.kernel.cross(counts, model.counts)
        values = [np.array(coordinates.values(graph)) for graph in graphs]
        found = [cells.exponents(variables.of_counts(counts)) for counts in values]
        np.testing.assert_allclose(np.exp(-0.5 * np.array(found)), expected, atol=1e-12)


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_any_point_gives_a_line_below_the_values_of_all_graphs_of_a_box(
    name: str, seed: int
) -> None:
    gp, rng = _instance(name, seed)
    kappa = float(rng.choice([0.0, 1.0, 3.0]))
    key, graphs = _some_piece(name, rng)
    lcb = _over_counts(gp, key, kappa)
    every, values = _variables(lcb, graphs), _values(name, gp, graphs, kappa)
    ends = every[rng.integers(len(every), size=int(rng.integers(1, 4)))]
    box = Box(ends.min(axis=0).astype(float), ends.max(axis=0).astype(float))
    inside = ((every >= box.low) & (every <= box.high)).all(axis=1)
    elsewhere = rng.uniform(0, 4, len(lcb.coordinates))
    for x in (ends[0].astype(float), rng.uniform(box.low, box.high), elsewhere):
        at = lcb.touching(x, box)
        line = lcb.below(at, box)
        assert (line(every[inside]) <= values[inside]).all()
        around = lcb._around(at.cells, box)
        sums = lcb._sums(at, around)
        lines = [lcb._by_chords(at, around, total) for total in sums]
        if around.width <= WIDEST:
            lines += [lcb._by_expansion(at, total, box) for total in sums]
        for base, slope in lines:
            offsets = every[inside] @ lcb._cells.rows.T - at.cells
            assert (base + offsets @ slope - 1e-9 <= values[inside]).all()


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@example("paths", 591)  # so wide a box that exponentials of its square overflow
@settings(max_examples=100, deadline=None)
def test_lines_hold_where_lcb_is_below_a_value_and_deviations_are_small(
    name: str, seed: int
) -> None:
    """Elsewhere they need not hold, which makes them tight."""
    gp, rng = _instance(name, seed)
    kappa = float(rng.choice([0.3, 1.0, 3.0]))
    key, graphs = _some_piece(name, rng)
    plain = _over_counts(gp, key, kappa)
    every, values = _variables(plain, graphs), _values(name, gp, graphs, kappa)
    deviations = (_values(name, gp, graphs, 0.0) - values) / kappa
    most_std = float(rng.choice(deviations)) * (1 + 1e-9) + 1e-9
    value = float(rng.choice(values)) + 1e-9
    lcb = plain.of(kappa, most_std)
    ends = every[rng.integers(len(every), size=int(rng.integers(1, 5)))]
    box = Box(ends.min(axis=0).astype(float), ends.max(axis=0).astype(float))
    asked = ((every >= box.low) & (every <= box.high)).all(axis=1)
    asked &= (values < value) & (deviations <= most_std)
    for x in (ends[0].astype(float), rng.uniform(box.low, box.high)):
        line = lcb.below(lcb.touching(x, box), box, value)
        assert (line(every[asked]) <= values[asked] + 1e-9).all()
        at = lcb.touching(x, box)
        around = lcb._around(at.cells, box)
        if around.width > 50 * WIDEST:
            continue  # far wider than any box whose line is made of an expansion
        offsets = every[asked] @ lcb._cells.rows.T - at.cells
        for total in lcb._sums(at, around):
            base, slope = lcb._by_expansion(at, total, box, value)
            assert (base + offsets @ slope <= values[asked] + 1e-9).all()


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_remainders_hold_in_the_corners_of_boxes(name: str, seed: int) -> None:
    """For any weights, and where no other slack hides remainders that are too small."""
    gp, rng = _instance(name, seed)
    key, _ = _some_piece(name, rng)
    cells = _over_counts(gp, key, 1.0)._cells
    middle = cells.targets[rng.integers(len(cells.targets))]
    half = rng.uniform(0.02, 0.5) / np.sqrt(cells.weights) * rng.uniform(0.1, 1, len(middle))
    weights = rng.normal(size=(2, len(cells.targets)))
    made = SumsInBox(cells, middle - half, middle + half, weights[0])
    zeta = made.reach * rng.choice([-1.0, 1.0], size=(100, len(half)))
    corners = middle + zeta / made._scale
    squares = (zeta**2).sum(axis=1)
    exponents = cells.apart + ((corners[:, None] - cells.targets) ** 2) @ cells.weights
    for some in weights:
        expansion = made.of(some)
        total = np.exp(-0.5 * exponents) @ some * np.exp(squares / 2)
        for at, expected in zip(zeta, total, strict=True):
            room = 1e-9 * (1 + abs(expected))
            far = expansion.off_far * math.exp(made.square / 2)
            assert abs(expansion.polynomial(at) - expected) <= expansion.off + far + room


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_lines_of_sums_are_below_them_where_they_are_below_a_limit(name: str, seed: int) -> None:
    gp, rng = _instance(name, seed)
    key, _ = _some_piece(name, rng)
    cells = _over_counts(gp, key, 1.0)._cells
    middle = cells.targets[rng.integers(len(cells.targets))]
    half = rng.uniform(0.02, 0.7) / np.sqrt(cells.weights) * rng.uniform(0.1, 1, len(middle))
    weights = rng.normal(size=len(cells.targets))
    made = SumsInBox(cells, middle - half, middle + half, weights)
    inside = middle + half * rng.uniform(-1, 1, size=(200, len(half)))
    inside[:100] = middle + half * np.sign(inside[:100] - middle)  # corners
    sums = np.exp(-0.5 * (cells.apart + ((inside[:, None] - cells.targets) ** 2) @ cells.weights))
    sums = sums @ weights
    for most in (math.inf, float(np.median(sums)), float(sums.min()) + 1e-9):
        base, slope = made.line(weights, inside[0], most)
        asked = sums <= most
        assert (base + inside[asked] @ slope <= sums[asked] + 1e-9).all()


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_no_graph_of_a_piece_has_a_larger_deviation_than_its_limit(name: str, seed: int) -> None:
    gp, rng = _instance(name, seed)
    key, graphs = _some_piece(name, rng)
    deviations = _values(name, gp, graphs, 0.0) - _values(name, gp, graphs, 1.0)
    limit = _over_counts(gp, key, 1.0).most_std()
    assert deviations.max() <= limit + 1e-7
    assert limit <= math.sqrt(gp.posterior.model.alpha)


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_line_touches_the_value_of_a_graph_alone_in_its_box(name: str, seed: int) -> None:
    """Below it by no more than rounding, and never above: the room for rounding is needed."""
    gp, rng = _instance(name, seed)
    key, graphs = _some_piece(name, rng)
    graph = graphs[int(rng.integers(len(graphs)))]
    lcb = _over_counts(gp, key, 1.0)
    x = _variables(lcb, [graph])[0].astype(float)
    box = Box(x, x)
    value = float(_values(name, gp, [graph], 1.0)[0])
    found = float(lcb.below(lcb.touching(x, box), box)(x))
    assert found <= value
    assert found >= value - 1e-4 * (1 + abs(value))


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@example("disconnected", 417)  # GLOP called a program unbounded
@settings(max_examples=40, deadline=None)
def test_programs_bound_all_graphs_of_a_piece(name: str, seed: int) -> None:
    gp, rng = _instance(name, seed)
    key, graphs = _some_piece(name, rng)
    lcb = _over_counts(gp, key, 1.0)
    least = float(_values(name, gp, graphs, 1.0).min())
    lines = Lines(lcb, list(known_of_counts(key[0], lcb.coordinates, None)))
    soon = time.monotonic() + 60
    assert lcb.quick_bound() <= least
    first = lines.best(math.inf, soon)
    halved = lines.branched(math.inf, soon, 30)
    assert max(first.bound, halved.bound) <= least
    assert first.bound <= halved.bound + 1e-9  # two programs may round differently
    # tangents found among graphs of another diameter are valid starts here, too
    for other in _pieces(name):
        if other[0].shape == key[0].shape and other[1] == key[1]:
            there = _over_counts(gp, other, 1.0)
            x = _variables(there, _pieces(name)[other])[0].astype(float)
            tangent = there.touching(x, Box(x, x))
            started = lines.best(math.inf, soon, [tangent])
            assert -math.inf < started.bound <= least


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_bounds_of_compositions_bound_all_graphs_with_these_labels(name: str, seed: int) -> None:
    gp, rng = _instance(name, seed)
    kappa = float(rng.choice([0.0, 1.0]))
    posterior = gp.posterior
    assert isinstance(posterior, FunctionPosterior)
    for (_, composition), graphs in _pieces(name).items():
        (bound,) = rbf_composition_bounds(posterior, np.array([composition]), kappa)
        assert bound <= _values(name, gp, graphs, kappa).min()


@given(st.sampled_from(list(SPACES)), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_ranges_of_cells_hold_the_cells_of_all_graphs_of_a_piece(name: str, seed: int) -> None:
    gp, rng = _instance(name, seed)
    key, graphs = _some_piece(name, rng)
    lcb = _over_counts(gp, key, 1.0)
    every = _variables(lcb, graphs)
    box = Box(np.zeros(every.shape[1]), lcb.coordinates.upper().astype(float))
    low, high = lcb._cells.ranges(box)
    cells = every @ lcb._cells.rows.T
    assert (low <= cells).all()
    assert (cells <= high).all()


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_line_of_an_expansion_is_close_to_lcb_in_small_boxes(seed: int) -> None:
    """Its distance from LCB shrinks faster than the box, since terms of degree two are exact."""
    gp, rng = _instance("three labels", seed)
    key, graphs = _some_piece("three labels", rng)
    lcb = _over_counts(gp, key, 1.0)
    x = _variables(lcb, graphs)[0].astype(float)
    value = float(_values("three labels", gp, graphs[:1], 1.0)[0])
    cells = lcb._cells.rows @ x
    off = []
    for width in (1e-2, 1e-3, 1e-4):
        half = np.full(len(cells), width)
        box = Box(x, x)
        lcb._expansions[:] = [
            (box, SumsInBox(lcb._cells, cells - half, cells + half, lcb._weights))
        ]
        at = lcb.touching(x, box)
        around = _Around(-half, half, lcb._cells.weights)
        base, _ = lcb._by_expansion(at, lcb._sums(at, around)[0], box)
        off.append(value - base)
    assert min(off) >= -1e-9
    # a root bends most where the deviation is small: there, only the smaller boxes are small enough
    deviation = float(_values("three labels", gp, graphs[:1], 0.0)[0]) - value
    large, small = off[:2] if deviation > 0.01 else off[1:]
    assert small <= 0.02 * large + 1e-4 * (1 + abs(value))
