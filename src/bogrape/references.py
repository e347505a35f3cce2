"""Custom parts of a stored study: their import paths and arguments.

A function or a class is stored as ``{"import": "module:name"}``. An object is stored by its class,
with the fields of a dataclass as arguments; a class without attributes needs none. What a
script defines is stored with the name of the script, and found again when the same script runs.
"""

from __future__ import annotations

import json
import sys
from dataclasses import fields, is_dataclass
from typing import Any

from .errors import InvalidInputError, StudyError, UnsupportedError
from .import_path import is_import_path, load_object, running_script

_PLACE = "defined in"


def reference_to(thing: Any, what: str) -> dict[str, Any]:
    """Plain data from which `resolve` makes an equal object; ``what`` is its role, for messages."""
    home = thing if isinstance(thing, type) or hasattr(thing, "__qualname__") else type(thing)
    module, name = getattr(home, "__module__", None), getattr(home, "__qualname__", "")
    remedy = "define it at the top of a module, or use a study without storage"
    if not isinstance(module, str) or _lookup(module, name) is not home:
        raise UnsupportedError(
            f"{what} {name or home!r} cannot be stored: it cannot be found as {name!r} in "
            f"module {module!r}; {remedy}"
        )
    out: dict[str, Any] = {"import": f"{module}:{name}"}
    if module == "__main__":
        out[_PLACE] = running_script()
    if home is thing:
        return out
    if is_dataclass(thing):
        out["arguments"] = {
            field.name: getattr(thing, field.name) for field in fields(thing) if field.init
        }
    elif getattr(thing, "__dict__", None):
        raise UnsupportedError(
            f"{what} {name} cannot be stored: expected a dataclass, or a class without attributes "
            f"of its own, got the attributes {', '.join(thing.__dict__)}; make it a dataclass"
        )
    else:
        out["arguments"] = {}
    try:
        same = json.loads(json.dumps(out, allow_nan=False)) == out
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise UnsupportedError(
            f"{what} {name} cannot be stored: expected fields that are numbers, texts, lists or "
            f"dictionaries, got {out['arguments']!r:.200}"
        )
    return out


def resolve(data: Any, what: str) -> Any:
    """The object that `reference_to` described; the error says in one line what is missing."""
    match data:
        case {"import": str(path), **rest} if is_import_path(path):
            pass
        case _:
            raise StudyError(f"expected the import path of the study's {what}, got {data!r:.100}")
    name, place, here = path.partition(":")[2], rest.get(_PLACE), running_script()
    if place is not None and place != here:
        raise StudyError(
            f"the study's {what} {name} was defined in {place}, and this is {here}: open the study "
            f"from there, or move {name} to a module of its own"
        )
    try:
        home = load_object(path, f"the study's {what}")
    except InvalidInputError as error:
        raise StudyError(str(error)) from None
    if "arguments" not in rest:
        return home
    arguments = rest["arguments"]
    if not isinstance(home, type) or not isinstance(arguments, dict):
        raise StudyError(f"expected the study's {what} {path} to be a class, got {home!r:.100}")
    if arguments and not is_dataclass(home):
        raise StudyError(f"expected the study's {what} {path} to be a dataclass, as it was before")
    try:
        return home(**arguments)
    except TypeError as error:
        raise StudyError(
            f"the study's {what} {path} cannot be made from what was stored: {error}"
        ) from None


def _lookup(module: str, name: str) -> Any:
    """The attribute of a loaded module; ``None`` if there is none."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found
