"""External formats of graphs: JSON, or the text format of their domain, such as SMILES."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from ..domain import Domain, TextFormat
from ..errors import BoGrapeError, InvalidInputError
from ..graph import Graph
from ..space import GraphSpace


@final
@dataclass(frozen=True)
class Format:
    """A way to write graphs down and read them back. ``plain`` is what JSON output holds."""

    name: str
    encode: Callable[[Graph], str]
    decode: Callable[[str], Graph]

    def plain(self, graph: Graph) -> Any:
        """The graph as part of JSON output."""
        text = self.encode(graph)
        return json.loads(text) if self.name == "json" else text

    def from_plain(self, data: Any) -> Graph:
        """Read what `plain` gave, or the text of `encode`."""
        if isinstance(data, str):
            return self.decode(data)
        if self.name != "json":
            raise InvalidInputError(f"expected a {self.name} string, got {type(data).__name__}")
        return self.decode(json.dumps(data))


JSON = Format("json", Graph.to_json, Graph.from_json)


def get_format(name: object, space: GraphSpace) -> Format:
    """The format of a name, for graphs of a space."""
    if name == "json":
        return JSON
    domain = space.domain
    if domain is None or domain.text is None or name != domain.text.name.lower():
        own = "" if domain is None or domain.text is None else f" or {domain.text.name.lower()!r}"
        hint = "" if own else "; other formats come with the domain of a space: [space] domain"
        raise InvalidInputError(f"[objective] format must be 'json'{own}, got {name!r:.60}{hint}")
    return Format(domain.text.name.lower(), partial(_write, domain), partial(_read, domain, space))


# Partial functions of a domain, not functions of its own: domains travel to workers by name.


def _write(domain: Domain, graph: Graph) -> str:
    """The text of a graph, on one line."""
    try:
        text = _text(domain).write(graph)
    except BoGrapeError:
        raise
    except Exception as error:  # of whoever wrote the domain
        raise _failed(domain, "write", error) from error
    if not isinstance(text, str) or len(text.splitlines()) != 1:
        raise InvalidInputError(
            f"expected the domain {domain.name!r} to write a graph as one line of text, got "
            f"{text!r:.100}"
        )
    return text


def _read(domain: Domain, space: GraphSpace, text: str) -> Graph:
    """The graph of a text."""
    try:
        graph = _text(domain).read(text, space)
    except BoGrapeError:
        raise
    except Exception as error:  # of whoever wrote the domain
        raise _failed(domain, "read", error) from error
    if not isinstance(graph, Graph):
        raise InvalidInputError(
            f"expected the domain {domain.name!r} to read a Graph, got {type(graph).__name__}"
        )
    return space.named(graph) if graph.label_names is None else graph


def _text(domain: Domain) -> TextFormat:
    assert domain.text is not None  # checked by `get_format`
    return domain.text


def _failed(domain: Domain, what: str, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"the domain {domain.name!r} cannot {what} this {domain.nouns.graph}: "
        f"{type(error).__name__}: {str(error)[:200]}"
    )
