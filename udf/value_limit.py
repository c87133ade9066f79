"""Limit on the bytes of one value, which functions check before they make it."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from sharkpy.base.errors import ResourceError
from sharkpy.base.settings import VALUE_BYTES

TOO_LARGE = "54000"
"""SQLSTATE of a value over the limit."""
SMALL_BYTES = 64 << 10
"""Bytes that no limit is below: what is sure to have no more is not checked."""
HINT = f"{VALUE_BYTES.key} sets the limit"
_limit: contextvars.ContextVar[int] = contextvars.ContextVar("sharkpy_value_bytes", default=VALUE_BYTES.default)


def too_large(function: str, num_bytes: int, limit: int) -> ResourceError:
    """The error of a call that asks for a value over the limit."""
    message = f"{function} would make a value of {num_bytes} bytes, more than the {limit} that one value may have"
    return ResourceError(message, hint=HINT, sqlstate=TOO_LARGE)


def batch_too_large(function: str, num_bytes: int, rows: int, limit: int) -> ResourceError:
    """The error of a call whose values for the rows of a batch are too large together."""
    made = f"{function} would make {num_bytes} bytes for {rows} rows at once"
    return ResourceError(f"{made}, more than the {limit} that a batch may have", hint=HINT, sqlstate=TOO_LARGE)


def value_limit() -> int:
    """Bytes that one value may have, by the connection that this thread works for."""
    return _limit.get()


def check_value(function: str, num_bytes: int) -> None:
    """Raise the error where a value of so many bytes is over the limit of the connection that calls the kernel."""
    limit = _limit.get()
    if num_bytes > limit:
        raise too_large(function, num_bytes, limit)


@contextlib.contextmanager
def limited_to(value_bytes: int) -> Iterator[None]:
    """Inside, one value may have so many bytes."""
    token = _limit.set(value_bytes)
    try:
        yield
    finally:
        _limit.reset(token)
