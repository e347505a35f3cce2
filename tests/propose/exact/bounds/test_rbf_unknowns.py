"""What is unknown of molecules at each step of a screen, against molecules that are known."""

from __future__ import annotations

import numpy as np
import pytest

from bogrape import LCB, GraphGP
from bogrape.counts import count
from bogrape.molecules import from_smiles, molecule_space
from bogrape.propose.criterion import Criterion
from bogrape.propose.exact.bounds.rbf_candidates import SumsOfNodes
from bogrape.propose.exact.bounds.rbf_factors import RbfFactors
from bogrape.propose.exact.bounds.rbf_screens import RbfScreens
from bogrape.propose.exact.bounds.rbf_smooth import is_smooth, promising_sums, smooth_candidates
from bogrape.propose.exact.bounds.rbf_unknowns import Tables, Unknowns

N = 7


class Molecules:
    """Molecules with one composition, and their counts by type."""

    def __init__(self, factors, space, graphs):
        counts = count(graphs, space.n_labels, edges=True).padded(N, 0, factors.n_edge_labels)
        a, b = np.array(factors.types).T
        halves = 1 + (a == b)
        within = counts.pairs[:, 1:, a, b].cumsum(axis=1) // halves
        self.within = within[:, : N - 1]  # (B, n - 1, types)
        self.edges = self.within[:, 0]
        self.further = counts.edges[:, 2:, a, b] // halves
        self.sums = counts.features
        self.composition = counts.features[0, : factors.n_labels]
        assert (counts.features[:, : factors.n_labels] == self.composition).all()


def smooth_model(space, n_observed=15, seed=0):
    """Values that follow from the graphs, so that the fitted kernel is smooth."""
    graphs = [
        *space.sample(n_observed, seed=seed, distinct=True),
        from_smiles("CCCC", molecule_space("qm9", 4)),  # another size
        from_smiles("CCCCCCCCC", molecule_space("qm9", 9)),
    ]
    values = [g.edge_labels.sum() / 10 + g.labels.sum() for g in graphs]
    return GraphGP("rbf", "fit", space=space).fit(graphs, values)


@pytest.fixture(scope="module")
def setting():
    space = molecule_space("qm9", N)
    gp = smooth_model(space)
    criterion = Criterion(space, gp.posterior, LCB(1.0))
    factors = RbfFactors(criterion, N)
    by_composition = {}
    for graph in space.sample(400, seed=1, distinct=True):
        by_composition.setdefault(tuple(np.bincount(graph.labels, minlength=4)), []).append(graph)
    groups = sorted(by_composition.values(), key=len)[-4:]
    return space, gp, criterion, factors, groups


def ranges_of(molecules, rng):
    """Ranges that contain all of these molecules, some of them wider than needed."""
    low, high = molecules.within.min(axis=0), molecules.within.max(axis=0)
    low = np.maximum(low - rng.integers(0, 2, size=low.shape), 0)
    high = high + rng.integers(0, 2, size=high.shape)
    low[-1] = high[-1] = molecules.within[0, -1]
    return low, high


def test_kernel_values_are_those_in_the_middle_times_what_unknown_counts_change(setting):
    space, gp, _, factors, groups = setting
    rng = np.random.default_rng(0)
    screens = RbfScreens(factors, 0.0)
    for graphs in groups:
        own = Molecules(factors, space, graphs)
        exact = gp.posterior.model.cross(count(graphs, space.n_labels, edges=True))
        low, high = ranges_of(own, rng)
        unknowns = Unknowns(screens, own.composition, low, high)
        sums = factors.of_sums(own.sums)
        totals = own.further.sum(axis=2)
        most = own.further.max(axis=0) + rng.integers(0, 2, size=own.further.shape[1:])
        wide = np.broadcast_to(low[0], own.edges.shape), np.broadcast_to(high[0], own.edges.shape)
        cells = path_cells(factors, own)
        for ends in (wide, (own.edges, own.edges)):
            tables, rows = Tables.between(*ends, totals, most)
            assert rows.tolist() == list(range(len(graphs)))
            test, around = unknowns.with_tables(tables)
            kernel = unknowns.kernel(sums + unknowns.of_middle(tables))
            moved = own.edges - tables.edges, own.further - tables.further
            eta = np.concatenate([moved[0], moved[1].reshape(len(graphs), -1), cells(unknowns)], 1)
            squares = unknown_squares(factors, *moved, cells(unknowns))
            agrees(exact, kernel, eta, squares, test, around)
            corner = (tables.edges_reach, -tables.further_reach, unknowns.paths[1].reach)
            np.testing.assert_allclose(unknown_squares(factors, *corner), around.square)
        test, around = unknowns.paths
        logs = sums + factors.of_edges(own.edges, own.composition)
        logs += factors.of_further(own.further)
        logs += factors.between(own.edges, own.further).diagonal()[:, None]
        eta = cells(unknowns)
        agrees(exact, unknowns.kernel(logs), eta, (eta**2).sum(axis=1), test, around)


def agrees(exact, kernel, eta, squares, test, around):
    assert (np.abs(eta) <= around.reach + 1e-12).all()
    assert (squares <= around.square + 1e-12).all()
    change = eta @ test._tau.T + (around.pull * eta).sum(axis=1)[:, None] - squares[:, None] / 2
    np.testing.assert_allclose(kernel * np.exp(change), exact, rtol=1e-8)


def path_cells(factors, own):
    """Scaled cells of paths relative to the middle of their ranges."""
    rows = np.diff(own.within, axis=1, prepend=0)
    logs = factors.of_paths(rows.reshape(len(rows), -1).astype(float), own.composition)
    assert (logs <= 0).all()
    weights, n = factors.weights, factors.n_nodes
    nodes = factors.of_nodes(own.composition)
    parts = [
        np.sqrt(weights[f"within_{s}"]) * (own.within[:, s - 1] * factors.units + nodes) / n**2
        for s in (2, 3)
    ]
    far = own.within[:, -1:] - own.within
    parts += [
        np.sqrt(weights["farther"]) * far[:, s - 1] * factors.units / n**2 for s in range(4, n - 1)
    ]
    cells = np.concatenate(parts, axis=1)

    def relative(unknowns):
        low, high = unknowns._path_cells
        assert (cells >= low - 1e-12).all()
        assert (cells <= high + 1e-12).all()
        return (cells - (low + high) / 2)[:, unknowns._moving]

    return relative


def unknown_squares(factors, edges, further, paths):
    """Squared lengths of the changes of all cells."""
    near = np.sqrt(factors.weights["within_1"]) * factors.units / N**2
    labelled = np.sqrt(factors.weights["edge_labels"]) * factors.units / N**2
    out = ((near * edges) ** 2).sum(axis=1) + (paths**2).sum(axis=1)
    out += ((labelled * (edges - further.sum(axis=1))) ** 2).sum(axis=1)
    return out + ((labelled * further) ** 2).sum(axis=(1, 2))


def test_ranges_of_tables_hold_all_tables_and_no_more():
    totals, most = np.array([[2, 1], [4, 0], [0, 0]]), np.array([[1, 2, 0], [1, 0, 1]])
    low, high = np.array([[0, 1, 1]] * 3), np.array([[2, 2, 3]] * 3)
    tables, rows = Tables.between(low, high, totals, most)
    assert rows.tolist() == [0, 2]  # no more than three edges can have label 2
    assert tables.edges.tolist() == [[1.0, 1.5, 2.0]] * 2
    assert tables.edges_reach.tolist() == [[1.0, 0.5, 1.0]] * 2
    assert tables.further[0].tolist() == [[0.5, 1.5, 0.0], [0.5, 0.0, 0.5]]
    assert tables.further_reach[0].tolist() == [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]
    assert not tables.further[1].any()
    assert not tables.further_reach[1].any()


@pytest.mark.parametrize("kappa", [0.0, 1.0, 3.0])
def test_no_molecule_below_the_limit_is_left_out(setting, kappa):
    space, gp, _, _, groups = setting
    criterion = Criterion(space, gp.posterior, LCB(kappa))
    factors = RbfFactors(criterion, N)
    rng = np.random.default_rng(1)
    left_out = 0
    for graphs in groups:
        own = Molecules(factors, space, graphs)
        values = criterion.of_counts(count(graphs, space.n_labels, edges=True))
        low, high = own.within.min(axis=0), own.within.max(axis=0)
        logs = factors.of_sums(own.sums)
        totals = own.further.sum(axis=2)
        most = own.further.max(axis=0)
        for limit in (values.min() - 1.0, *(np.quantile(values, [0.02, 0.3, 0.8]) + 1e-9)):
            screens = RbfScreens(factors, float(limit))
            unknowns = Unknowns(screens, own.composition, low, high)
            sums = SumsOfNodes(own.composition, totals, logs, np.full((2, 4), 9))
            assert is_smooth(unknowns, sums, most)
            rows = promising_sums(unknowns, sums, most)
            below = np.flatnonzero(values < limit)
            assert set(below) <= set(rows.tolist())
            tables = np.unique(own.edges, axis=0)
            passed = smooth_candidates(unknowns, tables, sums, most, lambda: None)
            found = {
                (int(row), *tables[table], *further.ravel())
                for row, table, further in zip(
                    passed.sums, passed.table, passed.further, strict=True
                )
            }
            for row in below:
                assert (int(row), *own.edges[row], *own.further[row].ravel()) in found
            left_out += len(graphs) - len({key[0] for key in found})
            assert (np.diff(passed.table) >= 0).all()
            # logarithms are those of all factors except that of paths
            for k in rng.permutation(len(passed))[:5]:
                edges, further = tables[passed.table[k]][None], passed.further[k][None]
                expected = logs[passed.sums[k]] + factors.of_edges(edges, own.composition)
                expected += factors.of_further(further) + factors.between(edges, further)
                np.testing.assert_allclose(passed.logarithms[k], expected[0], atol=1e-9)
    assert left_out > 50
