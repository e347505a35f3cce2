"""All known inequalities for the counts of a structure, independent of data.

They come from `histograms` and `layers` (pairs at each distance), `labelled_pairs` (pairs by
distance and labels) and `limited_degrees` (graphs whose degrees are limited).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain

from ....encoding import Structure
from . import histograms, layers
from .coordinates import Attribute, Coordinates, Distance, LabelledDistance, Position
from .free_attributes import FreeAttributes
from .histograms import Fact
from .inequality import (
    Inequality,
    attributes_by_position,
    distances_by_position,
    labelled_by_position,
)
from .labelled_pairs import connections, triangles
from .limited_degrees import of_limited_degrees


def known_of_counts(
    structure: Structure,
    coordinates: Coordinates,
    free: FreeAttributes | None,
    facts: Sequence[Fact] = (),
) -> Iterator[Inequality[Position]]:
    """All known inequalities for the counts of the structure's graphs."""
    yield from shared_out(structure, coordinates)
    yield from of_limited_degrees(structure, coordinates)
    one_kind = len(coordinates.at_distance) == len(coordinates.paths)
    if coordinates.composition is not None or one_kind:
        for by_labels in _known_of_labelled_distances(structure, coordinates):
            yield labelled_by_position(by_labels, coordinates)
    for by_distance in known_of_distances(structure, facts):
        yield distances_by_position(by_distance, coordinates)
    if coordinates.composition is None:
        n, labels = structure.shape.n_nodes, map(Attribute, range(structure.shape.n_labels))
        yield Inequality("nodes", {coordinates.at_attribute[label]: 1 for label in labels}, n, n)
    for by_attribute in free.inequalities if free is not None else ():
        yield attributes_by_position(by_attribute, coordinates)


def known_of_distances(
    structure: Structure, facts: Sequence[Fact]
) -> Iterator[Inequality[Distance]]:
    """Known inequalities for the numbers of pairs at each distance."""
    n, diameter = structure.shape.n_nodes, structure.diameter
    if n == 1:
        return
    if diameter is None:
        if structure.connectivity == "strong" and not structure.shape.directed:
            yield from histograms.inequalities_of_all(n)
        return
    yield from histograms.inequalities(n, diameter, facts)
    if structure.layers is not None:
        yield from layers.inequalities(diameter, structure.layers)


def most_far(structure: Structure) -> tuple[float, ...]:
    """Upper bounds on the number of pairs at distance s or more, for s = 0, 1, ..

    Empty for directed graphs and for those that may be disconnected.
    """
    if structure.connectivity != "strong" or structure.shape.directed:
        return ()
    n, diameter = structure.shape.n_nodes, structure.diameter
    longest = n - 1 if diameter is None else diameter
    return tuple(
        float(
            histograms.most_far_of_all(n, s)
            if diameter is None
            else histograms.most_far(n, diameter, s)
        )
        for s in range(longest + 1)
    )


def shared_out(structure: Structure, coordinates: Coordinates) -> Iterator[Inequality[Position]]:
    """Limits on the pairs of each type (the labels of their ends), summed over all distances."""
    by_type: dict[tuple[int, ...], list[Position]] = {}
    for i, path in enumerate(coordinates.paths):
        by_type.setdefault(path[1:], []).append(Position(i))
    if coordinates.composition is None and len(by_type) > 1:
        return  # the number of pairs of each type is unknown
    for types, members in by_type.items():
        total = coordinates.n_pairs(*types)
        least = total if structure.connectivity == "strong" else -math.inf
        yield Inequality(f"pairs{[*types]}", dict.fromkeys(members, 1), least, total)


def _known_of_labelled_distances(
    structure: Structure, coordinates: Coordinates
) -> Iterator[Inequality[LabelledDistance]]:
    """Known inequalities for pairs by the labels of their ends, in connected undirected graphs."""
    if structure.connectivity != "strong" or structure.shape.directed:
        return iter(())
    sizes = {0: coordinates.shape.n_nodes}  # without labels, all nodes are alike
    if coordinates.composition is not None:
        sizes = dict(enumerate(coordinates.composition))
    longest = coordinates.longest
    return chain(
        triangles(sizes, longest),
        connections(sizes, longest, structure.diameter),
    )
