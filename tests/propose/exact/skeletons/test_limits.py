"""Compositions that rules on numbers of labels forbid are left out, and no others."""

from __future__ import annotations

import numpy as np

from bogrape import GraphSpace
from bogrape.constraints import DegreeRange, LabelCount, NumberOfEdges
from bogrape.encoding import structures
from bogrape.molecules import molecule_space
from bogrape.propose.exact.distances.free_attributes import compositions
from bogrape.propose.exact.skeletons.limits import possible_compositions


def left(space):
    (structure,) = structures([space.shape(space.n_max)], space.connected, space.rules)
    return possible_compositions(structure, compositions(space.n_max, space.n_labels))


def test_all_graphs_have_one_that_is_left_and_all_that_are_left_obey_the_rules():
    rules = [
        LabelCount("a", minimum=1, maximum=3),
        LabelCount("c", maximum=1),
        DegreeRange(maximum=3, label="b"),
        NumberOfEdges(maximum=5),
    ]
    for space in (
        GraphSpace(4, labels=["a", "b", "c"], rules=rules),
        GraphSpace(4, labels=["a", "b", "c"], rules=rules[:1], directed=True, connected=False),
    ):
        found = left(space)
        of_graphs = {
            tuple(np.bincount(graph.labels, minlength=3).tolist()) for graph in space.enumerate()
        }
        assert of_graphs <= set(found)
        assert all(1 <= a <= 3 for a, _, _ in found)
        if len(space.rules) > 1:
            assert all(c <= 1 for _, _, c in found)
            assert set(found) == of_graphs


def test_molecules_have_few():
    found = left(molecule_space("qm7", 20))
    assert len(found) == 143
    assert all(c >= 10 and n <= 8 and o <= 6 and s <= 2 for c, n, o, s in found)
    space = GraphSpace(5, labels=3)
    assert left(space) == compositions(5, 3)
