"""Actions of RDDs that begin with a query. Each is a statement of the session, and is repaired and run again if
possible.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Iterator
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sharkpy.base.cancellation import Cancellation, check_cancelled, current_cancellation
from sharkpy.base.errors import BlocksReplacedError, CorruptionError, SharkError, WorkersLostError
from sharkpy.execution.spark.jobs import SparkJobs, java_exception, java_messages
from sharkpy.execution.stages.query_run import new_group
from sharkpy.execution.workers.task_failure import pickled_error, traceback_error

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.query_source import QuerySource

T = TypeVar("T")
_MOST_REPAIRS = 3
_is_inside: ContextVar[bool] = ContextVar("sharkpy_rdd_action", default=False)


def run_action(sources: Collection[QuerySource], name: str, action: Callable[[], T]) -> T:
    """Run `action`, whose jobs read `sources`.

    It runs again after lost blocks were recomputed, or if workers did not start. Task errors are SharkErrors.
    """
    if _is_inside.get() or not sources:
        return action()
    with _session(sources).working(name):
        for attempt in itertools.count():
            try:
                for source in sources:
                    # The progress of map stages is reported; the action's own jobs report none.
                    source.bound()
                with _job(sources, name):
                    return action()
            except Exception as error:
                check_cancelled()
                failure = _failure(sources, error)
                if failure is None:
                    raise
                if attempt >= _MOST_REPAIRS or not _is_mended(sources, failure):
                    raise failure from None
    raise AssertionError


def iterate_action(sources: Collection[QuerySource], name: str, items: Callable[[], Iterator[T]]) -> Iterator[T]:
    """Run an action as `run_action` does, and yield its elements one by one. It does not run again after the first."""
    made = run_action(sources, name, items)
    while True:
        try:
            item = next(made)
        except StopIteration:
            return
        except Exception as error:  # noqa: BLE001 - Py4J raises whatever Spark or the connection met
            raise _failure(sources, error) or error from None
        yield item


def _session(sources: Collection[QuerySource]) -> EngineSession:
    return next(iter(sources)).session


@contextlib.contextmanager
def _job(sources: Collection[QuerySource], name: str) -> Iterator[None]:
    """Put the jobs that this thread starts inside into the session's pool, to end with the statement.

    A job group that the user has set stays.
    """
    session = _session(sources)
    jobs, statement = session.engine.jobs, current_cancellation()
    users = jobs.context.getLocalProperty("spark.jobGroup.id")
    group = users or new_group()
    stop = partial(jobs.scala_context.cancelJobGroup if users else jobs.cancel, group)
    with contextlib.ExitStack() as stack:
        if not users:
            stack.enter_context(jobs.job_group(group, name, session.pool))
        stack.callback(_on_cancel(statement, stop))
        stack.callback(_is_inside.reset, _is_inside.set(True))
        yield


def _on_cancel(statement: Cancellation | None, stop: Callable[[], None]) -> Callable[[], object]:
    return statement.on_cancel(stop) if statement is not None else lambda: None


def _failure(sources: Collection[QuerySource], error: Exception) -> SharkError | None:
    """Return the error to raise for one of Spark's, or None for errors of Python code in this process."""
    if isinstance(error, SharkError):
        return error
    java = java_exception(error)
    if java is None and not type(error).__module__.startswith("py4j."):
        return None
    jobs: SparkJobs = _session(sources).engine.jobs
    said = java_messages(java) if java is not None else []
    return pickled_error(said) or traceback_error(said) or jobs.failure(error)


def _is_mended(sources: Collection[QuerySource], error: SharkError) -> bool:
    """True if the action may run again."""
    if isinstance(error, WorkersLostError):
        return True
    if not isinstance(error, CorruptionError) or error.block_id is None:
        return False
    for source in sources:
        if not any(block.block_id == error.block_id for block in source.blocks):
            continue
        try:
            source.session.table_cache.repair(source.blocks)
        except BlocksReplacedError:
            source.query.renew()
        return True
    return False
