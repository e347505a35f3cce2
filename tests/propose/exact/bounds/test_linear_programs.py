"""Lines below LCB are below it everywhere; scipy and enumeration confirm their bounds."""

from __future__ import annotations

import math
import time
from itertools import product
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from bogrape import LCB, GraphGP, GraphSpace
from bogrape.arrays import FloatArray
from bogrape.counts import Counts
from bogrape.encoding import Structure, structures
from bogrape.posterior import FunctionPosterior
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds.integer_lcb import IntegerLine
from bogrape.propose.exact.bounds.linear_programs import Lines, Program, Renamed
from bogrape.propose.exact.bounds.lines_below import Box, LcbOverCounts, Line
from bogrape.propose.exact.bounds.rbf_lines import RbfLcbOverCounts
from bogrape.propose.exact.distances.coordinates import Coordinates, Position
from bogrape.propose.exact.distances.inequality import Inequality
from bogrape.propose.exact.distances.known import known_of_counts
from bogrape.propose.exact.distances.variables import Variables
from bogrape.propose.exact.proof.engine import choose
from bogrape.propose.exact.proof.piece import Piece
from crossed import crossed
from exhaustive import fitted

SPACE = GraphSpace(5, labels=2)


def _soon() -> float:
    return time.monotonic() + 60


def _structure(diameter: int | None) -> Structure:
    (whole,) = structures([SPACE.shape(5)], SPACE.connected, SPACE.rules)
    return next(s for s in [whole, *whole.by_diameter()] if s.diameter == diameter)


def _piece(
    kernel: str, where: tuple[int, tuple[int, ...]], seed: int, kappa: float, **options: Any
) -> tuple[GraphGP, LcbOverCounts, list[Inequality[Position]]]:
    gp = fitted(SPACE, kernel, "random", seed, **options)
    piece = Piece(_structure(where[0]), where[1])
    over_counts = choose(Criterion(SPACE, gp.posterior, LCB(kappa))).lcb_over_counts(piece)
    assert over_counts is not None
    return gp, over_counts, list(known_of_counts(piece.structure, over_counts.coordinates, None))


def _lcb(gp: GraphGP, coordinates: Coordinates, x: NDArray[np.int64], kappa: float) -> FloatArray:
    """LCB of rows of counts, whether or not a graph has them; standardised."""
    assert coordinates.composition is not None
    pairs = np.zeros((len(x), coordinates.longest + 1, 2, 2), dtype=np.int64)
    pairs[:, 0, [0, 1], [0, 1]] = coordinates.composition
    for i, (s, a, b) in enumerate(coordinates.paths):
        pairs[:, s, a, b] += x[:, i]
        pairs[:, s, b, a] += x[:, i]
    features = np.tile(coordinates.composition, (len(x), 1))
    sizes = np.full(len(x), coordinates.shape.n_nodes)
    mean, std = gp.posterior.mean_std(Counts(sizes, pairs.sum(axis=(2, 3)), pairs, features, 2))
    model = gp.posterior.model
    return np.asarray((mean - model.y_mean - kappa * std) / model.y_scale)


def _all_counts(coordinates: Coordinates, known: list[Inequality[Position]]) -> NDArray[np.int64]:
    """All counts that satisfy the inequalities, whether or not a graph has them."""
    by_type: dict[tuple[int, ...], list[int]] = {}
    for i, path in enumerate(coordinates.paths):
        by_type.setdefault(path[1:], []).append(i)
    blocks = [
        [
            split
            for split in product(range(coordinates.n_pairs(*kind) + 1), repeat=len(members))
            if sum(split) == coordinates.n_pairs(*kind)
        ]
        for kind, members in by_type.items()
    ]
    every = np.array([sum(choice, ()) for choice in product(*blocks)])
    keep = np.ones(len(every), dtype=bool)
    for inequality in known:
        total = sum(weight * every[:, i] for i, weight in inequality.weights.items())
        keep &= (total >= inequality.low) & (total <= inequality.high)
    return every[keep]


PIECES = [(2, (3, 2)), (3, (3, 2)), (3, (4, 1)), (4, (5, 0)), (4, (2, 3))]
OPTIONS: list[dict[str, Any]] = [{}, {"alpha": 100.0, "noise": 1e-6}, {"feature_kernel": False}]


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("kernel", "kappa", "piece", "options"),
    crossed(["sp", "esp"], [0.0, 1.0, 1.96], PIECES, OPTIONS, one_in=3),
)
def test_the_bound_is_the_smallest_lcb_of_all_counts(
    kernel: str, piece: tuple[int, tuple[int, ...]], kappa: float, options: dict[str, Any]
) -> None:
    # ESP adds up large numbers of both signs, so rounding errors are not negligible
    n_seeds, n_most, relative = (3, 2000, 1e-4) if kernel == "sp" else (1, 300, 5e-3)
    for seed in range(n_seeds):
        gp, over_counts, known = _piece(kernel, piece, seed, kappa, **options)
        every = _all_counts(over_counts.coordinates, known)
        values = _lcb(gp, over_counts.coordinates, every, kappa)
        lines = Lines(over_counts, known)
        left = lines.branched(math.inf, _soon(), n_most)
        least = float(values.min())
        assert left.bound == pytest.approx(least, abs=relative * (1 + abs(least)))
        assert left.bound <= values.min() + 1e-9
        # a value in the middle: all counts below it are in the box, and their LCB is above the line
        value = float(np.quantile(values, 0.3))
        left = lines.branched(value, _soon(), 40)
        below = every[values < value]
        assert (left.box is None) <= (len(below) == 0)
        if left.box is not None:
            assert ((below >= left.box.low) & (below <= left.box.high)).all()
            lowest = lines.lowest(left, _soon())
            assert lowest is not None
            inside = ((every >= left.box.low) & (every <= left.box.high)).all(axis=1)
            line = lowest(every[inside])
            assert (line <= values[inside]).all()
            whole = IntegerLine.of(lowest.cost, lowest.offset)
            objective = every[inside] @ whole.weights
            assert (objective / whole.scale + whole.offset <= line + 1e-12).all()
            assert (objective[values[inside] <= value] <= whole.at_most(value)).all()


@given(st.integers(0, 10**6), st.sampled_from(PIECES), st.sampled_from(["sp", "esp"]))
@settings(max_examples=100, deadline=None)
def test_any_point_gives_a_line_below(
    seed: int, piece: tuple[int, tuple[int, ...]], kernel: str
) -> None:
    rng = np.random.default_rng(seed)
    kappa = float(rng.choice([0.0, 0.5, 1.5]))
    gp, over_counts, known = _piece(kernel, piece, seed % 3, kappa)
    every = _all_counts(over_counts.coordinates, known)
    low = np.minimum.reduce(every[rng.integers(len(every), size=3)])
    high = np.maximum.reduce(every[rng.integers(len(every), size=3)])
    box = Box(np.minimum(low, high).astype(float), np.maximum(low, high).astype(float))
    inside = every[((every >= box.low) & (every <= box.high)).all(axis=1)]
    # any point to touch at will do, from any box
    x = rng.uniform(0, 4, len(over_counts.coordinates))
    line = over_counts.below(over_counts.touching(x, Lines(over_counts, known).box), box)
    assert (line(inside) <= _lcb(gp, over_counts.coordinates, inside, kappa) + 1e-9).all()


class _Plain(Variables):
    """Integer variables without a meaning."""

    def __init__(self, upper: NDArray[np.int64]) -> None:
        object.__setattr__(self, "_upper", upper)

    def upper(self) -> NDArray[np.int64]:
        return cast("NDArray[np.int64]", self._upper)  # type: ignore[attr-defined]


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_programs_agree_with_scipy(seed: int) -> None:
    """Also if there is no solution; one program serves many costs and boxes."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    upper = rng.integers(1, 9, n)
    known: list[Inequality[Position]] = []
    for _ in range(m):
        weights = {Position(i): int(w) for i, w in enumerate(rng.integers(-3, 4, n)) if w}
        least = float(rng.integers(-12, 12))
        kind = rng.integers(3)
        low = -math.inf if kind == 0 else least
        known.append(Inequality("random", weights, low, least + 9 * (kind != 1)))
    program = Program(known, _Plain(upper))
    for _ in range(4):
        lines = [Line(rng.normal(size=n).round(3), float(rng.normal())) for _ in range(3)]
        low = np.minimum(rng.integers(0, 4, n), upper).astype(float)
        high = np.minimum(low + rng.integers(0, 6, n), upper)
        found, _ = program.minimise(lines, Box(low, high), 10.0)
        matrix = [[k.weights.get(Position(i), 0) for i in range(n)] for k in known]
        most = [([*r, 0], k.high) for r, k in zip(matrix, known, strict=True)]
        most += [
            ([*(-c for c in r), 0], -k.low)
            for r, k in zip(matrix, known, strict=True)
            if k.low > -math.inf
        ]
        most += [([*line.cost, -1], -line.offset) for line in lines]
        expected = linprog(
            [0] * n + [1],
            [r for r, _ in most],
            [b for _, b in most],
            bounds=[*np.column_stack([low, high]), (None, None)],
        )
        if expected.status == 2:
            assert found.bound == math.inf
            assert found.x is None
        else:
            assert found.bound == pytest.approx(expected.fun, abs=1e-6)
            assert found.bound <= expected.fun + 1e-9
            # if the solver ever called this infeasible, its proof would be rejected
            assert not program._is_empty(Box(low, high))


def test_lines_refuse_programs_about_other_variables() -> None:
    """Pairs at s steps are not pairs within s steps, though both are equally many variables."""
    space = GraphSpace(5, labels=2)
    graphs = space.sample(6, seed=0)
    gp = GraphGP("rbf", 1e-3, space=space).fit(graphs, np.arange(6.0))
    posterior = cast("FunctionPosterior", gp.posterior)
    piece = Piece(structures([space.shape(5)], space.connected, space.rules)[0], (3, 2))
    coordinates = piece.coordinates(labelled=True)
    lcb = RbfLcbOverCounts(posterior, coordinates, 1.0, connected=True)
    known = list(known_of_counts(piece.structure, coordinates, None))
    places = np.arange(len(coordinates))
    Lines(lcb, Renamed(Program(known, Variables(coordinates, within=True)), places))
    with pytest.raises(ValueError, match="pairs at s steps"):
        Lines(lcb, Renamed(Program(known, Variables(coordinates)), places))
