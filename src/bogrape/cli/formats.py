"""How graphs look to the outside: JSON, or SMILES for molecules."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, final

from ..errors import InvalidInputError
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
            raise InvalidInputError(f"expected a SMILES text, got {type(data).__name__}")
        return self.decode(json.dumps(data))


def get_format(name: object, space: GraphSpace) -> Format:
    """The format of a name, for graphs of a space."""
    if name == "json":
        return Format("json", Graph.to_json, Graph.from_json)
    if name == "smiles":
        molecules = get_module("molecules")
        return Format(
            "smiles",
            partial(molecules.to_smiles, elements=space.label_names),
            partial(molecules.from_smiles, elements=space),
        )
    raise InvalidInputError(f"[objective] format must be 'json' or 'smiles', got {name!r:.60}")


def get_module(name: str) -> Any:
    """A part of the package that needs an extra; it says itself what is missing."""
    return import_module(f"bogrape.{name}")
