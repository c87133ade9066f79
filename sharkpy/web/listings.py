"""Listings of the API: pages of many items, and answers that a client may have already."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus

import xxhash
from starlette.responses import Response

from sharkpy.web.errors import JSON, RefusedError
from sharkpy.web.requests import ApiRequest, Parameter
from sharkpy.web.shapes import json_bytes


def check_parameters(request: ApiRequest, known: Collection[Parameter]) -> None:
    """Raise RefusedError 400 for a parameter that is not `known`."""
    for name in request.http.query_params:
        if name not in {one.name for one in known}:
            raise wrong(f'there is no parameter "{name[:100]}"')


def wrong(text: str) -> RefusedError:
    return RefusedError(HTTPStatus.BAD_REQUEST, text, "22023")


def number(request: ApiRequest, name: str, default: int, least: int, most: int) -> int:
    """Return the number of a parameter, or the default. Raise RefusedError 400 if it is not within its bounds."""
    given = request.http.query_params.get(name)
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) < 16 and least <= int(given) <= most):
        raise wrong(f"{name} is not a number from {least} to {most}")
    return int(given)


def page_of(request: ApiRequest, known: Collection[Parameter], default: int, most: int, last: int = 1_000_000) -> slice:
    """Return the part of a listing that `offset` (at most `last`) and `limit` name. Raise RefusedError 400 for a value
    out of bounds, or for a parameter that is not `known`.
    """
    check_parameters(request, known)
    start = number(request, "offset", 0, 0, last)
    return slice(start, start + number(request, "limit", default, 1, most))


def tagged(request: ApiRequest, answer: object) -> Response:
    """Return the answer with an ETag, or 304 if the client has named this tag in If-None-Match."""
    body = json_bytes(answer)
    tag = f'"{xxhash.xxh3_64_hexdigest(body)}"'
    known = [one.strip() for one in request.http.headers.get("if-none-match", "").split(",")]
    if tag in known:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    return Response(body, headers={"ETag": tag}, media_type=JSON)
