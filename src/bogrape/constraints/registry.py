"""Custom rules in stored studies: how their classes are stored and found again.

A class is stored by its import path, ``module:Class``. A class defined in a script or a notebook
has none: it is stored with the name of the script, and found again when the same script runs.
`register_rule` is for classes that cannot be found in either way.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, TypeVar

from ..errors import InvalidInputError, InvalidSpaceError
from ..import_path import is_import_path, load_object, running_script

PLACE = "defined in"  # beside "rule" in stored data; no parameter can have a name with a space
_MAIN = "__main__"

_registered: dict[str, type] = {}  # by import path, and by the name of the class alone
_stored_as: dict[type, dict[str, str]] = {}  # classes found under another name

Kind = TypeVar("Kind", bound=type)


def is_own(kind: type) -> bool:
    """True if the class of a rule does not belong to this package."""
    return kind.__module__.partition(".")[0] != __name__.partition(".")[0]


def register_rule(kind: Kind) -> Kind:
    """Register the class of a custom rule for studies opened later; can be used as a decorator.

    Only needed for rules that cannot be imported by the name they were stored under: because they
    were defined in another script or in a notebook, or because their module has moved. The class is
    then used for stored rules of the same class name.
    """
    if not isinstance(kind, type):
        raise InvalidInputError(
            f"expected the class of a rule, got {kind!r:.100}; try register_rule(type(rule))"
        )
    _registered[_path(kind)] = _registered[kind.__qualname__] = kind
    return kind


def stored_name(kind: type) -> dict[str, str]:
    """Stored form of the class of a rule."""
    if kind in _stored_as:
        return dict(_stored_as[kind])
    note = {PLACE: running_script()} if kind.__module__ == _MAIN else {}
    return {"rule": _path(kind), **note}


def find_rule(data: Mapping[str, Any]) -> Any:
    """The class of a rule from its stored form."""
    path = data["rule"]
    kind = _registered.get(path) or _found(path, data.get(PLACE))
    if isinstance(kind, type):  # it keeps its stored name, since studies compare names
        _stored_as[kind] = {key: data[key] for key in ("rule", PLACE) if key in data}
    return kind


def _found(path: str, place: object) -> Any:
    module, _, name = path.partition(":")
    substitute = _registered.get(name)
    if module != _MAIN and is_import_path(path):
        try:
            return load_object(path, "the rule")
        except InvalidInputError as error:
            if substitute is None:
                raise InvalidSpaceError(f"{error}, or register it: {_remedy(name)}") from None
            return substitute
    if substitute is not None:
        return substitute
    here = running_script()
    running = sys.modules[_MAIN] if place == here and is_import_path(path) else None
    for part in name.split("."):
        running = getattr(running, part, None)
    if running is None:
        raise InvalidSpaceError(
            f"the rule {name} was defined in {place or module}, and {here} does not define it; "
            f"open the study from there, or register the rule first: {_remedy(name)}"
        )
    return running


def _path(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _remedy(name: str) -> str:
    return f"bogrape.constraints.register_rule({name.rpartition('.')[2]})"
