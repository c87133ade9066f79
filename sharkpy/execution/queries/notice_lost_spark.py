"""Detection of a JVM that ended during a statement."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sharkpy.base.errors import InternalError, SharkError, SparkLostError
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.spark.lost import lost_spark, raising_spark_lost


@contextmanager
def noticing_lost_spark(session: EngineSession) -> Iterator[None]:
    """Raise SparkLostError if the JVM has ended; the next job then starts another one.

    If another thread noticed it first, the remains of the context may fail with other errors. These become
    SparkLostError too.
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
    """Number of lost Sparks so far; does not create the engine."""
    engine = session.known_engine
    return 0 if engine is None else engine.lost_sparks
