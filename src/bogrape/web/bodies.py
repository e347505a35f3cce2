"""Schemas of the JSON bodies of requests, shown in the OpenAPI document, and their validation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .errors import Refused

Schema = dict[str, Any]
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}


def text(longest: int = 200, shortest: int = 1, **more: Any) -> Schema:
    """Schema of a string."""
    return {"type": "string", "minLength": shortest, "maxLength": longest, **more}


def maybe(schema: Schema) -> Schema:
    """Schema of the same value, or null."""
    return {**schema, "type": [schema["type"], "null"]}


NUMBER: Schema = {"type": "number"}
SEVERAL = "For several properties, an object with a number for each name."
VALUE: Schema = {
    "type": ["number", "object"],
    "additionalProperties": {"type": ["number", "null"]},
    "maxProperties": 100,
    "description": f"The measured value. {SEVERAL}",
}
NOISE: Schema = {
    "type": ["number", "object", "null"],
    "minimum": 0,
    "additionalProperties": {"type": ["number", "null"], "minimum": 0},
    "maxProperties": 100,
    "description": f"Variance of the value. {SEVERAL}",
}
NO_VALUE: Schema = {**VALUE, "type": ["number", "object", "null"]}
PRESENT: Schema = {
    "request_id": text(
        description="Identifies this request: repeated with the same content, it is carried out "
        "once. Same as the header Idempotency-Key."
    ),
    "by": text(80, description="Who makes the change. Same as the header X-Bogrape-Person."),
}
RULES: Schema = {
    "type": "array",
    "maxItems": 50,
    "items": {"type": "object", "properties": {"rule": text()}, "required": ["rule"]},
    "description": "Rules of bogrape.constraints or bogrape.molecules, in their stored form.",
}
GRAPH: Schema = {
    "type": ["object", "string"],
    "maxLength": 1_000_000,
    "description": "A graph as JSON, or a text such as SMILES where the domain has one.",
}


def body(properties: Mapping[str, Schema], *required: str) -> Schema:
    """Schema of an object with these properties, the sender and the identifier of the request."""
    return {
        "type": "object",
        "properties": {**properties, **PRESENT},
        "required": list(required),
        "additionalProperties": False,
    }


ASK = body(
    {
        "n": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1},
        "time_limit": {"type": "number", "exclusiveMinimum": 0, "maximum": 86400},
        "worker": maybe(
            text(description="A name under which unfinished trials are handed out again.")
        ),
        "rules": RULES,
        "wait": {
            "type": "boolean",
            "default": True,
            "description": "If false, the answer is 202 at once, with a job to poll.",
        },
    }
)
TELL = body(
    {
        "value": VALUE,
        "noise": NOISE,
        "seconds": maybe({**NUMBER, "minimum": 0}),
    },
    "value",
)
FAIL = body(
    {
        "reason": text(2000),
        "seconds": maybe({**NUMBER, "minimum": 0}),
        "about_graph": {
            "type": "boolean",
            "default": True,
            "description": "If false, the failure says nothing about the graph, for instance "
            "because a machine broke down. Studies learn from the others which graphs fail.",
        },
    },
    "reason",
)
CORRECT = body(
    {
        "value": NO_VALUE,
        "noise": NOISE,
        "reason": maybe(text(2000)),
    },
    "value",
)
RELEASE = body({"reason": maybe(text(2000))})
EMPTY = body({})
COMMENT = body({"text": text(4000)}, "text")
CANDIDATE = body(
    {
        "graph": GRAPH,
        "value": NO_VALUE,
        "noise": NOISE,
    },
    "graph",
)
OBSERVATIONS = body(
    {
        "observations": {
            "type": "array",
            "minItems": 1,
            "maxItems": 10_000,
            "items": {
                "type": "object",
                "properties": {
                    "graph": GRAPH,
                    "value": VALUE,
                    "noise": NOISE,
                },
                "required": ["graph", "value"],
                "additionalProperties": False,
            },
        },
        "outside": {"type": "string", "enum": ["accept", "refuse"], "default": "accept"},
    },
    "observations",
)
CREATE = body(
    {
        "name": text(100, pattern="^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,99}$"),
        "form": {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": 4000},
            "maxProperties": 60,
            "description": "The fields of the form at /new.",
        },
    },
    "name",
    "form",
)
STOP = body({"take": {"type": "boolean", "default": True}})


def check(data: Any, schema: Schema, where: str = "the body") -> Any:
    """Return the data, or refuse them and name the first problem."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(data, kind) for kind in kinds):
        raise _wrong(where, " or ".join(kinds), data)
    if "enum" in schema and data not in schema["enum"]:
        raise _wrong(where, f"one of {', '.join(schema['enum'])}", data)
    if isinstance(data, str):
        _check_text(data, schema, where)
    elif isinstance(data, list):
        least, most = schema.get("minItems", 0), schema.get("maxItems", math.inf)
        if not least <= len(data) <= most:
            raise Refused(f"{where}: expected {least} to {most} items, got {len(data)}", 422)
        for i, item in enumerate(data):
            check(item, schema.get("items", {}), f"{where}[{i}]")
    elif isinstance(data, dict):
        _check_object(data, schema, where)
    elif isinstance(data, (int, float)) and not isinstance(data, bool):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        over = schema.get("exclusiveMinimum", -math.inf)
        if not low <= data <= high or (data <= over and over != -math.inf):
            raise Refused(f"{where}: {data!r:.40} is out of range", 422)
    return data


def _is(data: Any, kind: str) -> bool:
    if kind in ("number", "integer"):
        if isinstance(data, bool) or not isinstance(data, (int, float)):
            return False
        if isinstance(data, float) and kind == "integer":
            return data.is_integer()
        try:
            return math.isfinite(float(data))
        except OverflowError:
            return False
    return isinstance(data, _TYPES[kind])


def _check_text(data: str, schema: Schema, where: str) -> None:
    least, most = schema.get("minLength", 0), schema.get("maxLength", 1_000_000)
    if not least <= len(data) <= most:
        raise Refused(f"{where}: expected {least} to {most} characters, got {len(data)}", 422)
    if "\0" in data or any("\ud800" <= c <= "\udfff" for c in data):
        raise Refused(f"{where}: expected text without null or invalid characters", 422)


def _check_object(data: dict[str, Any], schema: Schema, where: str) -> None:
    missing = [name for name in schema.get("required", []) if name not in data]
    if missing:
        raise Refused(f"{where}: {', '.join(missing)} is missing", 422)
    known, more = schema.get("properties", {}), schema.get("additionalProperties", {})
    if len(data) > schema.get("maxProperties", 10_000):
        raise Refused(f"{where}: too many fields", 422)
    for name, value in data.items():
        if name not in known and more is False:
            raise Refused(f"{where}: unknown field {name!r:.60}; known are {', '.join(known)}", 422)
        check(value, known.get(name, more or {}), f"{where}.{name:.60}")


def _wrong(where: str, expected: str, data: Any) -> Refused:
    return Refused(f"{where}: expected {expected}, got {data!r:.60}", 422)
