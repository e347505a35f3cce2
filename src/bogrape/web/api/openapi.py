"""The OpenAPI document that describes the endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...trial import package_version
from .. import bodies, exports
from .calls import Endpoint

_REFUSALS = {
    400: "the request cannot be read",
    401: "a token is needed, or it is wrong",
    403: "the origin is not allowed, or the server is read-only",
    404: "not found",
    405: "method not allowed",
    409: "the study cannot do this now",
    413: "the request is too large",
    415: "expected application/json",
    421: "the server is not known by that name",
    422: "the content of the request is not valid",
    429: "too many computations are running",
}
_PARAMETERS: dict[str, bodies.Schema] = {
    "name": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9 ._+-]{0,99}$"},
    "trial": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
    "job": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "kind": {"type": "string", "enum": list(exports.KINDS)},
}


def document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "BoGrape",
            "version": package_version(),
            "description": "Ask for graphs to evaluate and report their values. If the server has "
            "a token, send it as Authorization: Bearer <token>.",
        },
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _PARAMETERS[name]}
        for name in names
    ]
    parameters += [{"name": n, "in": "query", "schema": schema} for n, schema in endpoint.query]
    error = {
        "type": "object",
        "properties": {"error": {"type": "string"}},
        "required": ["error"],
    }
    content = {"application/json": {"schema": error}}
    responses = {
        str(status): {"description": text, "content": content} for status, text in _REFUSALS.items()
    }
    kind = {"type": "object"}
    fine: dict[str, Any] = {"description": "done"}
    if not endpoint.path.endswith("{kind}"):
        fine["content"] = {"application/json": {"schema": kind}}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": endpoint.do.__name__.strip("_"),
        "parameters": parameters,
        "responses": {**{str(status): fine for status in endpoint.answers}, **responses},
    }
    if endpoint.schema is not None:
        content = {"application/json": {"schema": endpoint.schema}}
        required = bool(endpoint.schema["required"])
        operation["requestBody"] = {"content": content, "required": required}
    return operation
