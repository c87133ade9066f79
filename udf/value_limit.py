"""Limit on the bytes of one value, which functions check before they compute it."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from sharkpy.base.errors import ResourceError
from sharkpy.base.settings import VALUE_BYTES

TOO_LARGE = "54000"
"""SQLSTATE of a value that exceeds the limit."""
SMALL_BYTES = 64 << 10
"""Every limit is at least this. Values that are certainly not larger are not checked."""
HINT = f"{VALUE_BYTES.key} sets the limit"
_limit: contextvars.ContextVar[int] = contextvars.ContextVar("sharkpy_value_bytes", default=VALUE_BYTES.default)


def too_large(function: str, num_bytes: int, limit: int) -> ResourceError:
    """Return the error of a call whose value exceeds the limit."""
    message = f"{function} would make a value of {num_bytes} bytes, more than the {limit} that one value may have"
    return ResourceError(message, hint=HINT, sqlstate=TOO_LARGE)


def batch_too_large(function: str, num_bytes: int, rows: int, limit: int) -> ResourceError:
    """Return the error of a call whose values for the rows of a batch are too large together."""
    made = f"{function} would make {num_bytes} bytes for {rows} rows at once"
    return ResourceError(f"{made}, more than the {limit} that a batch may have", hint=HINT, sqlstate=TOO_LARGE)


def value_limit() -> int:
    """Return the maximum bytes of one value, for the connection of this thread."""
    return _limit.get()


def check_value(function: str, num_bytes: int) -> None:
    """Raise an error if a value of `num_bytes` exceeds the limit of the connection that calls the kernel."""
    limit = _limit.get()
    if num_bytes > limit:
        raise too_large(function, num_bytes, limit)


@contextlib.contextmanager
def limited_to(value_bytes: int) -> Iterator[None]:
    """Within the block, one value may have `value_bytes` bytes."""
    token = _limit.set(value_bytes)
    try:
        yield
    finally:
        _limit.reset(token)
