"""Answers to requests that failed: an HTTP status, and the error as JSON."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from starlette.responses import Response

from sharkpy.base.errors import InternalError, SharkError
from sharkpy.base.records import dataclass
from sharkpy.web.shapes import json_bytes

_log = logging.getLogger(__name__)

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Error:
    """Error of a request or a statement. `line` and `column` are positions in the statement, from 1."""

    message: str
    sqlstate: str
    line: int | None = None
    column: int | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    error: Error


class RefusedError(Exception):
    """Request that is answered with an HTTP status and an error."""

    def __init__(
        self,
        status: int,
        message: str,
        sqlstate: str,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = Error(message, sqlstate, hint=hint)
        self.headers = dict(headers or {})


_STATUSES = (
    *(("42501", 403), ("28", 401), ("53300", 429), ("53", 503), ("57P01", 503), ("57014", 408)),
    *(("XX", 500), ("58", 500), ("HY", 500)),
)
"""HTTP statuses by the first characters of a SQLSTATE; the first that fits counts. All remaining errors are 400."""


def status_of(error: SharkError) -> int:
    """Return the HTTP status of a statement's error."""
    return next((status for prefix, status in _STATUSES if error.sqlstate.startswith(prefix)), 400)


def error_of(error: SharkError) -> Error:
    return Error(error.message, error.sqlstate, error.line, error.column, error.hint)


def error_response(error: Exception) -> Response:
    """Return the answer to a request that failed with `error`. An error of the server itself is logged."""
    if isinstance(error, RefusedError):
        return _response(error.status, error.error, error.headers)
    if isinstance(error, SharkError):
        return _response(status_of(error), error_of(error))
    _log.error("a request failed", exc_info=error)
    return _response(500, Error("the request failed by an error of the server", InternalError.sqlstate))


def _response(status: int, error: Error, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json_bytes(ErrorAnswer(error)), status, headers, JSON)
