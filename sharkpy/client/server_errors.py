"""Errors that a server reports, as errors of this program."""

from __future__ import annotations

from sharkpy.base.errors import CancelledError, ExecutionError, SharkError

CANCELLED = "57014"


class LoginError(ExecutionError):
    """Error for a login that the server refuses."""

    sqlstate = "28000"


def server_error(
    message: str, sqlstate: str | None, line: int | None = None, column: int | None = None, hint: str | None = None
) -> SharkError:
    """Return the error that a server describes."""
    kind = CancelledError if sqlstate == CANCELLED else ExecutionError
    return kind(message, sqlstate=sqlstate or "HY000", line=line, column=column, hint=hint)
