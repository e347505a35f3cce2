"""`Domain`: what the graphs of a space stand for, such as molecules or circuits.

Spaces and computations only know graphs. A domain adds what people need to recognise these graphs:
nouns, names of labels, a drawing, a text format. Reports,
notebooks, the command line and exports ask the domain of a space; without a domain they
use the words graph, node and edge.

A domain is found by its *name*: ``molecules``, or, for custom domains, the import path
``package.module:name``. Stored studies keep this name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, final

from .errors import InvalidInputError
from .graph import Graph
from .import_path import is_import_path, load_object

BUILT_IN = {"molecules": "bogrape.molecules.domain:MOLECULES"}  # loaded on first use


@final
@dataclass(frozen=True, kw_only=True)
class Nouns:
    """Nouns for graphs, nodes and edges, singular and plural."""

    graph: str = "graph"
    graphs: str = "graphs"
    node: str = "node"
    nodes: str = "nodes"
    edge: str = "edge"
    edges: str = "edges"

    def __post_init__(self) -> None:
        for name, noun in vars(self).items():
            if not isinstance(noun, str) or not noun.strip():
                raise InvalidInputError(
                    f"expected the noun {name} to be a string, got {noun!r:.60}"
                )


GRAPHS = Nouns()
DIRECTED_GRAPHS = Nouns(edge="arc", edges="arcs")


@final
@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """A way to write a graph as a line of text and read it back.

    Args:
        name: for instance ``SMILES``. Study files name the format in lower case.
        write: function that returns the text of a graph, whose ``label_names`` are set.
        read: function that returns the graph, given its text and the `GraphSpace`.
    """

    name: str
    write: Callable[[Graph], str]
    read: Callable[[str, Any], Graph]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise InvalidInputError(
                f"expected the name of a text format to be a word, got {self.name!r:.60}; "
                "try 'netlist'"
            )
        for part in ("write", "read"):
            if not callable(getattr(self, part)):
                raise InvalidInputError(f"expected {part} of {self.name!r} to be a function")


@final
@dataclass(frozen=True, kw_only=True)
class Domain:
    """The meaning of the graphs of a space. Two domains of the same name are equal.

    Args:
        name: where the domain is imported from, as ``package.module:name``. The domain is
            registered under this name when it is created.
        nouns: nouns for its graphs, nodes and edges.
        label_names: allowed names of node labels, of which a space uses some; if empty, any name.
        edge_label_names: names of edges with label 1, 2, ..., e.g. ``double bond``.
        feature_phrases: descriptions of nodes with feature 0, 1, ..., e.g. ``with 2 hydrogens``.
        draw: function that returns an SVG text, given a graph and a width in pixels.
        text: text format of its graphs.

    >>> Domain(name="circuits:CIRCUITS", nouns=Nouns(graph="circuit", graphs="circuits"))
    Domain('circuits:CIRCUITS')
    """

    name: str
    nouns: Nouns = field(default=GRAPHS, compare=False)
    label_names: tuple[str, ...] = field(default=(), compare=False)
    edge_label_names: tuple[str, ...] = field(default=(), compare=False)
    feature_phrases: tuple[str, ...] = field(default=(), compare=False)
    draw: Callable[[Graph, int], str] | None = field(default=None, compare=False)
    text: TextFormat | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not (is_import_path(self.name) or self.name in BUILT_IN):
            raise InvalidInputError(
                "expected the name of a domain to be where it is imported from, as "
                f"'package.module:name', got {self.name!r:.100}"
            )
        if not isinstance(self.nouns, Nouns):
            raise InvalidInputError(f"expected nouns as Nouns(...), got {self.nouns!r:.60}")
        for part in ("label_names", "edge_label_names", "feature_phrases"):
            object.__setattr__(self, part, _texts(getattr(self, part), part))
        if self.draw is not None and not callable(self.draw):
            raise InvalidInputError(f"expected draw to be a function, got {self.draw!r:.60}")
        if self.text is not None and not isinstance(self.text, TextFormat):
            raise InvalidInputError(f"expected text as TextFormat(...), got {self.text!r:.60}")
        _known[self.name] = self

    def __repr__(self) -> str:
        return f"Domain({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without functions; the copy looks them up by name when one of them is called."""
        parts = {part: getattr(self, part) for part in _PLAIN}
        text = None if self.text is None else self.text.name
        return _copied, (self.name, parts, self.draw is not None, text)


_PLAIN = ("nouns", "label_names", "edge_label_names", "feature_phrases")  # parts without functions
_known: dict[str, Domain] = {}


def find_domain(name: str) -> Domain:
    """The domain with this name; the error says in one line what is missing."""
    if name not in _known:
        found = load_object(BUILT_IN.get(name, name), "the domain")
        called = found.name if isinstance(found, Domain) else f"a {type(found).__name__}"
        if called != name:
            raise InvalidInputError(
                f"expected the domain {name!r:.100}, found {called!r:.100} there; a domain is "
                "named after where it is imported from"
            )
        _known[name] = found
    return _known[name]


@dataclass(frozen=True)
class _Late:
    """A function of a domain, looked up when it is called."""

    domain: str
    part: str

    def __call__(self, *arguments: Any) -> Any:
        """Call the function; the error says what is missing if the domain cannot be imported."""
        return attrgetter(self.part)(find_domain(self.domain))(*arguments)


def _copied(name: str, parts: dict[str, Any], draws: bool, text: str | None) -> Domain:
    """A copy from another process: the domain itself if it is known here."""
    if name in _known:
        return _known[name]
    made = object.__new__(Domain)  # not by `Domain()`, which would register the copy
    read, write = _Late(name, "text.read"), _Late(name, "text.write")
    functions = {
        "draw": _Late(name, "draw") if draws else None,
        "text": None if text is None else TextFormat(name=text, read=read, write=write),
    }
    for part, value in {"name": name, **parts, **functions}.items():
        object.__setattr__(made, part, value)
    return made


def _texts(given: object, what: str) -> tuple[str, ...]:
    good = isinstance(given, Sequence) and not isinstance(given, str)
    if not good or not all(isinstance(item, str) and item for item in given):  # type: ignore[attr-defined]
        raise InvalidInputError(f"expected {what} to be a list of strings, got {given!r:.100}")
    return tuple(given)  # type: ignore[arg-type]
