"""State that the stages of one running query share: its limits, its end, its repairs, and its profile."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import Cancellation, current_cancellation
from sharkpy.base.errors import DatabaseEndedError, InvalidTextError, ResourceError, SharkError, WorkersLostError
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.mending import tells_of_damage
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.jobs import SparkJobs
from sharkpy.execution.spark.pools import DEFAULT_POOL, Pool
from sharkpy.execution.stages.profile import QueryProfile, stage_profile
from sharkpy.execution.stages.progress import Progress, ProgressListener, ignore_progress
from sharkpy.execution.stages.stage_observer import StageObserver, Unobserved
from sharkpy.execution.tasks.failure import as_shark_error
from sharkpy.execution.tasks.parquet_scan import note_invalid_text
from sharkpy.execution.tasks.report import BlockResult, FileResult, TaskReport
from sharkpy.execution.tasks.small_files import knows_rows, reads_streams
from sharkpy.execution.workers.connection_pool import ConnectionPool
from sharkpy.execution.workers.held_connections import HeldConnections
from sharkpy.optimizer.replan.place_stage import Place
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import NO_INPUT, StageProgram, TaskInput
from sharkpy.sources.storage.meter import METER

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_log = logging.getLogger(__name__)
_MOST_REPAIRS = 3
"""Times that a stage is run again after lost blocks were made anew."""
Repair = Callable[[Sequence[BlockHandle]], None]
"""Makes those of the blocks anew that are lost or damaged; CorruptionError where one cannot be."""


def new_group() -> str:
    """A name for the Spark jobs of a query, or of a part of it."""
    return f"sharkpy-{uuid.uuid4().hex}"


@dataclass(slots=True)
class QueryRun:
    """One query while it runs. Its statement ends it from any thread; `close` lets go of what it holds here."""

    engine: Engine
    progress: ProgressListener = ignore_progress
    description: str = "query"
    is_profiled: bool = False
    """Whether DuckDB measures each operator, for EXPLAIN ANALYZE."""
    repair: Repair | None = None
    pool: Pool = DEFAULT_POOL
    """The session's share of Spark's tasks."""
    memory_limit: int = 0
    """Bytes that the query may use in this process, of DuckDB's and of rows held; 0: what there is."""
    observer: StageObserver = field(default_factory=Unobserved)
    profile: QueryProfile = field(default_factory=QueryProfile)
    stages: list[Stage] = field(default_factory=list)
    """Stages that have run as RDD jobs: what they read may be read again, where their output is lost."""
    statement: Cancellation = field(default_factory=lambda: current_cancellation() or Cancellation())
    """This thread's statement, which ends the query from outside."""
    group: str = field(default_factory=new_group)
    _connections: HeldConnections = field(default_factory=HeldConnections)
    _own_database: ConnectionPool | None = None
    _shared_failure: SharkError | None = None
    """Error by which the query left the database that it shared with others."""
    _forget: Callable[[], None] = field(default=lambda: None)

    def __post_init__(self) -> None:
        self._forget = self.statement.on_cancel(self._stop)

    # This process's database

    @contextmanager
    def connection(
        self, program: StageProgram | None = None, part: TaskInput = NO_INPUT
    ) -> Iterator[DuckDBPyConnection]:
        """DuckDB for the program over `part`. Where it cannot know the rows of all inputs joins stay in our order, and
        build the sides that we chose where we knew them.

        That takes another database: two that are in use divide their memory whenever one begins or ends.
        """
        database = self.database
        if program is not None and len(program.inputs) > 1 and reads_streams(program, part):
            database = database.in_order(keeps_sides=knows_rows(program, part))
        with self._connections.borrowed(database, self.statement) as connection:
            self.check()
            yield connection

    @property
    def database(self) -> ConnectionPool:
        """The session's, or one of the query's own where its memory is limited, or others have filled the session's."""
        if self._own_database is None:
            if not self.memory_limit:
                return self.engine.pool
            self._own_database = self.engine.pool.limited(self.memory_limit)
        return self._own_database

    def is_moved(self, error: BaseException, began: float) -> bool:
        """Whether work that began then, by time.monotonic(), may begin anew in a database of the query's own: `error`
        told that the shared one is full, and others have filled it, or that it has ended. Each of the others meets the
        same when it asks for more.
        """
        if self._own_database is not None or self.memory_limit or self.statement.is_cancelled:
            return False
        failure, shared = as_shark_error(error), self.engine.pool
        if failure.sqlstate == "53200" and shared.is_filled_by_others(began):
            _log.info("a query runs again in a database of its own: others have filled the shared one")
            self._shared_failure = failure
        elif isinstance(failure, DatabaseEndedError):
            _log.info("a query runs again in a database of its own: the shared one has ended")
        else:
            return False
        self._own_database = shared.limited(shared.wanted_memory)
        return True

    # Failures, and running again

    def check(self) -> None:
        """Raise what ended the query, if anything did."""
        self.statement.check()

    def failure(self, error: BaseException) -> SharkError:
        """The error to raise for an exception of a stage that ran in this process."""
        self.check()
        failure = as_shark_error(error)
        if self._shared_failure is not None and failure.sqlstate == "53200":
            return self._shared_failure
        if self.memory_limit and failure.sqlstate == "53200":
            return self.out_of_memory("the query is out of memory in the driver")
        return failure

    def out_of_memory(self, fact: str) -> ResourceError:
        limit = f"shark.query.memory allows {self.memory_limit:,} bytes"
        return ResourceError(f"{fact}: {limit}", hint="raise it, or set it to 0", sqlstate="53200")

    def is_mended(self, error: BaseException, stage: Stage, attempt: int) -> bool:
        """Whether the stage may run again: `error` told of workers that did not start, or of a lost or damaged block,
        and all such blocks of the query's stages are whole again; or DuckDB has met text that is not UTF-8 in a file
        that the engine's own reader reads from now on.
        """
        if self.statement.is_cancelled:
            return False
        failure = as_shark_error(error)
        if isinstance(failure, InvalidTextError):
            self.group = new_group()
            return note_invalid_text(failure.path)
        if attempt >= _MOST_REPAIRS:
            return False
        if isinstance(error, WorkersLostError):
            self.group = new_group()
            return True
        parts = [part for one in (*self.stages, stage) for part in one.tasks]
        blocks = [handle for part in parts for _, handles in part.blocks for handle in handles]
        if self.repair is None or not tells_of_damage(error, blocks):
            return False
        self.repair(blocks)
        # Tasks of the failed run may still be on their way to being cancelled under its name.
        self.group = new_group()
        return True

    def discard_blocks(self, results: Iterable[BlockResult | FileResult]) -> None:
        """Free the blocks that a failed run stored."""
        handles = [one.handle for one in results if isinstance(one, BlockResult)]
        if handles:
            self.engine.store.adopt(handles)
            self.engine.store.release([handle.block_id for handle in handles], durable=True)

    # Watching

    def listener(self, jobs: SparkJobs, stage: Stage, total: int) -> Callable[[TaskReport], None]:
        """Called as each task ends, in a thread of pyspark's; the first error ends the stage's other tasks."""
        done = rows = 0
        failed = False
        self.note_progress(stage, 0, total, 0)

        def listen(report: TaskReport) -> None:
            nonlocal done, rows, failed
            done, rows = done + 1, rows + report.rows_in
            if report.error is not None and not failed and done < total:
                failed = True
                threading.Thread(target=jobs.cancel, args=(self.group,), daemon=True).start()
            self.note_progress(stage, done, total, rows)

        return listen

    def note_progress(self, stage: Stage, done: int, total: int, rows: int) -> None:
        """So many of the stage's tasks are done, and read so many rows. Who listens badly harms no query."""
        try:
            self.progress(Progress(stage.label, len(self.profile.stages), done, total, rows))
        except Exception:  # noqa: BLE001 - whoever looks on
            _log.exception("a listener of progress failed")

    def note(
        self,
        stage: Stage,
        count: int,
        reports: Sequence[TaskReport],
        start: float,
        exchange_id: int | None = None,
        sizes: tuple[int, ...] = (),
    ) -> None:
        """A run of the stage that began at `start` is over."""
        self.observer.ended(stage, reports)
        seconds = time.perf_counter() - start
        profile = stage_profile(stage, count, reports, seconds, exchange_id, sizes)
        self.profile.stages.append(profile)
        if profile.placement != Place.DRIVER.value and profile.requested.requests:
            METER.add(profile.requested, self.statement)

    # Ending

    def end_jobs(self, jobs: SparkJobs) -> None:
        """End the jobs that run; the query goes on under another name."""
        group, self.group = self.group, new_group()
        jobs.cancel(group)

    def _stop(self) -> None:
        self._connections.interrupt()
        if self.engine.is_spark_started:
            self.engine.jobs.cancel(self.group)

    def outlive_statement(self) -> None:
        """The end of the statement is not that of what it has left here."""
        self._forget()
        # What it refers to refers to this object, whose profile holds the handles of blocks.
        self._forget = _nothing

    def close(self) -> None:
        """Idempotent."""
        self.outlive_statement()
        if self._own_database is not None:
            self._own_database.close()
            self._own_database = None


def _nothing() -> None:
    """There is nothing to take back."""
