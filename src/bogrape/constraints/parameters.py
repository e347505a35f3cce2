"""`Parametrised`: a frozen object defined by its parameters, which are checked, shown and stored.

Rules derive from it. A parameter is a number, a label, a node, or a tuple of such; labels and nodes
may be given by name, and keep the name after a space has replaced it by a number.
"""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, ClassVar, NoReturn, Self

from ..checks import is_number, is_whole
from ..errors import InvalidSpaceError, UnsupportedError
from .registry import is_own, stored_name

Label = int | str
Node = int | str
_LARGEST = 2**53  # largest integer up to which floats represent all integers


class _Named(int):
    """An index that remembers its name, so that messages can use it."""

    name: str

    def __new__(cls, index: int, name: str) -> Self:
        """Index ``index`` with the name ``name``."""
        made = super().__new__(cls, index)
        made.name = name
        return made

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]
        return int(self), self.name

    def __repr__(self) -> str:
        return repr(self.name)

    __str__ = __repr__


class NamedLabel(_Named):
    """A label shown in messages by its name: 'C', not 0."""


class NamedNode(_Named):
    """A node shown in messages by its name: 'core-1', not 0."""


class Parametrised:
    """Base of objects that are compared, shown and stored by their parameters."""

    package: ClassVar[str] = ""  # subpackage of bogrape that defines the rule, if not this one

    def parameters(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        if not is_dataclass(self):
            return {}
        out = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.default is MISSING or _differs(value, field.default):
                out[field.name] = value
        return out

    @property
    def name(self) -> str:
        """Short text that names the rule with its parameters."""
        body = ", ".join(f"{key}={_show(value)}" for key, value in self.parameters().items())
        return f"{type(self).__name__}({body})"

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:  # rules without parameters; dataclasses have theirs
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def to_dict(self) -> dict[str, Any]:
        """Type and parameters as plain JSON values; ``rule_from_dict`` reads them back."""
        if is_own(type(self)):
            return {**stored_name(type(self)), **self._stored_parameters()}
        body = {key: _plain(value) for key, value in self.parameters().items()}
        prefix = f"{self.package}." if self.package else ""
        return {"rule": prefix + type(self).__name__, **body}

    def _stored_parameters(self) -> dict[str, Any]:
        """All parameters, since defaults in user code may change without notice."""
        if not is_dataclass(self):
            return {}
        names = [field.name for field in fields(self) if field.init]
        body = {name: _plain(getattr(self, name)) for name in names}
        try:
            json.dumps(body)
        except (TypeError, ValueError) as error:
            raise UnsupportedError(
                f"{self.name}: expected parameters that can be stored (numbers, texts, tuples of "
                f"these), got {error}; try such parameters, or a study without storage"
            ) from None
        return body

    # -- checks, called from __post_init__ ----------------------------------------------------

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)  # bypasses freezing; only during construction

    def _check_whole(self, field: str, *, optional: bool = False) -> None:
        value = getattr(self, field)
        if value is None and optional:
            return
        self._set(field, self._whole(value, field))

    def _whole(self, value: object, what: str) -> int:
        if not is_whole(value) or value < 0:
            self.refuse(f"{what} to be an integer >= 0", repr(value), f"{what}=0 or more")
        if int(value) > _LARGEST:
            self.refuse(f"{what} to be at most {_LARGEST}", f"{value!r:.40}", "a smaller number")
        return int(value)

    def _check_range(self) -> None:
        self._check_whole("minimum")
        self._check_whole("maximum", optional=True)
        low, high = self.minimum, self.maximum  # type: ignore[attr-defined]
        if high is not None and low > high:
            self.refuse("minimum <= maximum", f"{low} > {high}", "swapping them")

    def _check_label(self, field: str, *, optional: bool = False) -> None:
        value = getattr(self, field)
        if value is not None or not optional:
            self._set(field, self._label(value, field))

    def _label(self, value: object, what: str) -> Label:
        if isinstance(value, (NamedLabel, str)) and value != "":
            return value
        if not is_whole(value) or value < 0:
            self.refuse(f"{what} to be a name or an integer >= 0", repr(value), f"{what}=0")
        return int(value)

    def _check_node(self, field: str, *, optional: bool = False) -> None:
        value = getattr(self, field)
        if value is not None or not optional:
            self._set(field, self._node(value, field))

    def _node(self, value: object, what: str) -> Any:
        """A node: its number, or its name in a space that names nodes."""
        if isinstance(value, (NamedNode, str)) and value != "":
            return value
        return self._whole(value, what)

    def _pair(self, value: object, what: str) -> tuple[Any, Any]:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            self.refuse(f"{what} to be a pair of nodes", repr(value), f"{what}=(0, 1)")
        u, v = (self._node(node, f"a node of {what}") for node in value)
        if u == v:
            self.refuse(f"two different nodes in {what}", f"{u} twice", "removing the self-loop")
        return u, v

    def _number(self, value: object, what: str) -> int | float:
        if not is_number(value) or math.isinf(value):
            self.refuse(f"{what} to be a finite number", repr(value), f"{what} as int or float")
        return int(value) if is_whole(value) else float(value)

    def refuse(self, expected: str, got: str, remedy: str) -> NoReturn:
        """Raise an error that says what was expected, what was given and what to try."""
        raise InvalidSpaceError(f"{self.name}: expected {expected}, got {got}; try {remedy}")


def _differs(value: object, default: object) -> bool:
    try:
        return bool(value != default)
    except (TypeError, ValueError):  # an array, in an error message
        return True


def _show(value: object) -> str:
    """Readable form of a value; long lists are cut, since names appear in messages."""
    if isinstance(value, tuple) and len(value) > 6:
        return f"[{', '.join(map(_show, value[:5]))}, ... {len(value)} in all]"
    if isinstance(value, tuple):
        body = ", ".join(map(_show, value))
        return f"({body},)" if len(value) == 1 else f"({body})"
    return repr(value)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.name if isinstance(value, _Named) else value
