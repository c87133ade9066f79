"""A JVM that has ended under a statement, whoever notices it first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sharkpy.base.errors import InternalError, SharkError, SparkLostError
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.spark.lost import lost_spark, raising_spark_lost


@contextmanager
def noticing_lost_spark(session: EngineSession) -> Iterator[None]:
    """Raise SparkLostError for a JVM that has ended, once the engine knows of it: what runs next starts another one.

    Where another thread has noticed it first, what is left of the context fails in ways of its own.
    """
    before = _lost_sparks(session)
    try:
        with raising_spark_lost():
            yield
    except SparkLostError:
        session.engine.await_lost_spark()
        raise
    except Exception as error:
        is_told = isinstance(error, SharkError) and not isinstance(error, InternalError)
        if not is_told and _lost_sparks(session) > before:
            raise lost_spark() from error
        raise


def _lost_sparks(session: EngineSession) -> int:
    """Number of them so far; an engine is not made to know it."""
    engine = session.known_engine
    return 0 if engine is None else engine.lost_sparks
