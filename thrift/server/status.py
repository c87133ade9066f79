"""Status of a call for the client: success, or an error in one line with its SQLSTATE and Hive's error code."""

from __future__ import annotations

import logging
from typing import Any

from sharkpy.base.errors import (
    BindError,
    CancelledError,
    ColumnNotFoundError,
    ConfigurationError,
    DatabaseNotFoundError,
    ExecutionError,
    InternalError,
    ParseError,
    SharkError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
)
from sharkpy.thrift.bindings import ttypes

log = logging.getLogger(__name__)

_CODES: tuple[tuple[type[SharkError], int, str], ...] = (
    (TableNotFoundError, 10001, "SemanticException"),
    (ColumnNotFoundError, 10004, "SemanticException"),
    (DatabaseNotFoundError, 10072, "SemanticException"),
    (TableExistsError, 10073, "SemanticException"),
    (BindError, 40000, "SemanticException"),
    (ParseError, 40000, "ParseException"),
    (UnsupportedError, 10130, "SemanticException"),
    (ConfigurationError, 2, ""),
    (CancelledError, 1317, ""),
    (ExecutionError, 2, ""),
    (SharkError, 1, ""),
)
"""Hive's error code by kind of error, and the name that clients look for in the text. The first that fits counts."""


def success() -> Any:
    return ttypes.TStatus(statusCode=ttypes.TStatusCode.SUCCESS_STATUS)


def invalid_handle(error: SharkError) -> Any:
    return ttypes.TStatus(
        statusCode=ttypes.TStatusCode.INVALID_HANDLE_STATUS,
        errorMessage=error.message,
        sqlState=error.sqlstate,
        errorCode=0,
    )


def failure(error: BaseException) -> Any:
    """Return the status of a failed call.

    `infoMessages` stays empty: beeline fails on a line there that is not part of a Java stack.
    """
    error = as_shark_error(error)
    return ttypes.TStatus(
        statusCode=ttypes.TStatusCode.ERROR_STATUS,
        sqlState=error.sqlstate,
        errorCode=error_code(error),
        errorMessage=error_text(error),
    )


def as_shark_error(error: BaseException) -> SharkError:
    """Return the error for the client.

    An error other than a SharkError is a fault of the server. It is logged with its traceback, and the client gets its
    first line.
    """
    if isinstance(error, SharkError):
        return error
    log.error("a call failed", exc_info=error)
    return InternalError(f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}")


def error_code(error: SharkError) -> int:
    return next(code for kind, code, _ in _CODES if isinstance(error, kind))


def error_text(error: SharkError) -> str:
    """Return the text of an error in one line, in Hive's words if clients read these."""
    _, code, name = next(row for row in _CODES if isinstance(error, row[0]))
    message = " ".join(error.message.split())
    place = f" (line {error.line}, column {error.column})" if error.line is not None else ""
    hint = f"; {' '.join(error.hint.split())}" if error.hint else ""
    if not name:
        return f"{message}{place}{hint}"
    known = f" [Error {code}]" if name == "SemanticException" else ""
    return f"Error while compiling statement: FAILED: {name}{known}: {message}{place}{hint}"
