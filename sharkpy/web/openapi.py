"""Description of the API in OpenAPI 3.1, made of the table of endpoints and their dataclasses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import sharkpy
from sharkpy.web.errors import ErrorAnswer
from sharkpy.web.requests import CSRF_HEADER, Endpoint, Parameter
from sharkpy.web.shapes import schema_of

_ERRORS = {
    400: "The request is wrong",
    401: "A login is needed",
    403: "Another site sent it, or the token of the login is missing",
    404: "There is no such thing, or the reader may not see it",
    409: "It is over",
    413: "The body is too large",
    415: "The body has another content type",
    421: "The server does not know itself by this host",
    429: "Too many at once",
    503: "The server is full or stopping",
}


def description(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the description of these endpoints."""
    named: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, named)
    return {
        "openapi": "3.1.0",
        "info": {"title": "sharkpy", "version": sharkpy.__version__},
        "paths": paths,
        "components": {
            "schemas": named,
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer", "description": "A token of a login with `gives_token`."},
                "cookie": {"type": "apiKey", "in": "cookie", "name": "sharkpy", "description": _COOKIE},
            },
        },
    }


_COOKIE = f"Set by the login; its name has the port. Requests that change something also need {CSRF_HEADER}."


def _operation(endpoint: Endpoint, named: dict[str, Any]) -> dict[str, Any]:
    codes = {400, 401, 403, 421, *endpoint.statuses, *([413, 415] if endpoint.takes is not None else [])}
    answers: dict[str, Any] = {
        str(code): {
            "description": _ERRORS.get(code, "The request failed"),
            "content": {"application/json": {"schema": schema_of(ErrorAnswer, named)}},
        }
        for code in sorted(codes)
    }
    if endpoint.gives is None and endpoint.content_type == "application/json":
        answers["204"] = {"description": "Done"}
    else:
        schema = {} if endpoint.gives is None else schema_of(endpoint.gives, named)
        answers["200"] = {"description": "The answer", "content": {endpoint.content_type: {"schema": schema}}}
    body = {"application/json": {"schema": schema_of(endpoint.takes, named)}} if endpoint.takes is not None else None
    return {
        "operationId": "_".join([endpoint.method.lower(), *re.findall(r"\w+", endpoint.path)]),
        "summary": endpoint.summary,
        "security": [{"basic": []}, {"bearer": []}, {"cookie": []}] if endpoint.needs_login else [],
        "parameters": [*_path_parameters(endpoint.path), *(_parameter(one, named) for one in endpoint.parameters)],
        **({"requestBody": {"required": True, "content": body}} if body is not None else {}),
        "responses": dict(sorted(answers.items())),
    }


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{(\w+)}", path)
    ]


def _parameter(parameter: Parameter, named: dict[str, Any]) -> dict[str, Any]:
    schema = schema_of(parameter.kind, named)
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.text,
        "schema": {"type": "array", "items": schema} if parameter.is_repeated else schema,
    }
