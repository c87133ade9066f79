"""Errors of Py4J for a JVM that has ended, in the engine's words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sharkpy.base.errors import InternalError, SharkError, SparkLostError

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession

_OF_PY4J = ("Py4JError", "Py4JNetworkError")


def is_lost(error: BaseException) -> bool:
    """True if an exception comes from calls into a JVM that has ended: exceptions of the JVM itself have a trace."""
    if isinstance(error, ConnectionError):
        return True
    return type(error).__name__ in _OF_PY4J and "Trace:" not in str(error)


def lost_spark() -> SparkLostError:
    hint = "it was killed, or ran out of memory; the next job starts another one"
    return SparkLostError("the JVM of the session has ended", hint=hint)


@contextmanager
def raising_spark_lost() -> Iterator[None]:
    """Turn Py4J's errors for a JVM that has ended into a SparkLostError."""
    try:
        yield
    except Exception as error:
        if is_lost(error):
            raise lost_spark() from None
        raise


@contextmanager
def noticing_lost_spark(session: EngineSession) -> Iterator[None]:
    """Raise SparkLostError for a JVM that has ended, once the engine knows of it: what runs next starts another one.

    Where another thread has noticed it first, what is left of the context fails in ways of its own.
    """
    engine = session.known_engine
    before = 0 if engine is None else engine.lost_sparks
    try:
        with raising_spark_lost():
            yield
    except SparkLostError:
        session.engine.await_lost_spark()
        raise
    except Exception as error:
        is_told = isinstance(error, SharkError) and not isinstance(error, InternalError)
        if not is_told and session.engine.lost_sparks > before:
            raise lost_spark() from error
        raise
