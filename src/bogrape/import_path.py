"""Objects identified by their import path: ``package.module:name``."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import BoGrapeError, InvalidInputError

_PATH = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


def is_import_path(text: object) -> bool:
    """True if a text reads ``package.module:name``."""
    return isinstance(text, str) and _PATH.fullmatch(text) is not None


def running_script() -> str:
    """Description of the running script or session, valid on other machines."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return (
        "a notebook or an interactive session" if file is None else f"the script {Path(file).name}"
    )


def load_object(path: str, what: str) -> Any:
    """The object behind an import path; the error says in one line what is missing.

    >>> load_object("math:tau", "the number")
    6.283185307179586
    """
    if not is_import_path(path):
        raise InvalidInputError(f"expected {what} as 'package.module:name', got {path!r:.100}")
    module, _, name = path.partition(":")
    try:
        found: Any = import_module(module)
    except BoGrapeError:  # such as MissingExtraError, whose message is better
        raise
    except ModuleNotFoundError as error:
        raise InvalidInputError(
            f"{what} {path!r:.100} cannot be loaded: there is no module {error.name!r}; run where "
            "Python can import it, for instance with its folder in PYTHONPATH"
        ) from None
    except Exception as error:  # a user's module may raise anything
        raise InvalidInputError(
            f"{what} {path!r:.100} cannot be loaded: importing {module!r} raised "
            f"{type(error).__name__}: {str(error)[:200]}"
        ) from error
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            remedy = "move it from the script or notebook that made it to a module of its own"
            raise InvalidInputError(
                f"{what} {path!r:.100} cannot be loaded: {module!r} has no {name!r}"
                f"{f'; {remedy}' if module == '__main__' else ''}"
            ) from None
    return found
