"""Conversion of Py4J's errors about a JVM that has ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sharkpy.base.errors import SparkLostError

_OF_PY4J = ("Py4JError", "Py4JNetworkError")


def means_jvm_lost(error: BaseException) -> bool:
    """True if an exception means that the JVM has ended. Exceptions of the JVM itself have a trace."""
    if isinstance(error, ConnectionError):
        return True
    return type(error).__name__ in _OF_PY4J and "Trace:" not in str(error)


def jvm_lost_error() -> SparkLostError:
    hint = "it was killed, or ran out of memory; the next job starts another one"
    return SparkLostError("the JVM of the session has ended", hint=hint)


@contextmanager
def converting_lost_jvm() -> Iterator[None]:
    """Turn Py4J's errors for a JVM that has ended into a SparkLostError."""
    try:
        yield
    except Exception as error:
        if means_jvm_lost(error):
            raise jvm_lost_error() from None
        raise
