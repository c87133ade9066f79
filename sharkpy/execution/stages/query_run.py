"""State shared by the stages of a running query: its limits, cancellation, repairs and profile."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import Cancellation, current_cancellation
from sharkpy.base.errors import DatabaseEndedError, InvalidTextError, ResourceError, SharkError, WorkersLostError
from sharkpy.base.records import dataclass
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.store import is_caused_by_damage
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.jobs import SparkJobs
from sharkpy.execution.spark.pools import DEFAULT_POOL, Pool
from sharkpy.execution.stages.block_figures import BlockCounter
from sharkpy.execution.stages.profile import QueryProfile, stage_profile
from sharkpy.execution.stages.stage_recorder import StageObserver, Unobserved
from sharkpy.execution.statement import Progress, ProgressListener, Statement, ignore_progress
from sharkpy.execution.tasks.error_conversion import as_shark_error
from sharkpy.execution.tasks.parquet_scan import note_invalid_text
from sharkpy.execution.tasks.report import BlockResult, FileResult, TaskReport
from sharkpy.execution.workers.connection_pool import ConnectionPool, QueryConnections
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.operators import BlockScan
from sharkpy.physical.stage import Stage
from sharkpy.physical.stage_program import (
    NO_INPUT,
    BlockColumns,
    KernelColumns,
    ResultSink,
    StageProgram,
    TaskInput,
)
from sharkpy.sources.storage.meter import METER
from sharkpy.udf.connection import functions_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_log = logging.getLogger(__name__)
_MOST_REPAIRS = 3
"""Number of times a stage runs again after lost blocks were rebuilt."""
Repair = Callable[[Sequence[BlockHandle]], None]
"""Function that rebuilds the lost or damaged ones of the blocks; raises CorruptionError if one cannot be rebuilt."""

NoteReads = Callable[[str, Sequence[BlockHandle]], None]
"""Function that counts the blocks that a scan of a table, given by its id, has read."""


def new_group() -> str:
    """Return a new name for the Spark jobs of a query, or of a part of it."""
    return f"sharkpy-{uuid.uuid4().hex}"


@dataclass(slots=True)
class QueryRun:
    """Running query. Its statement can cancel it from any thread, and `close` frees its resources."""

    engine: Engine
    progress: ProgressListener = ignore_progress
    description: str = "query"
    is_profiled: bool = False
    """Whether DuckDB measures each operator, for EXPLAIN ANALYZE."""
    repair: Repair | None = None
    note_reads: NoteReads | None = None
    pool: Pool = DEFAULT_POOL
    """Pool that gives the session its share of Spark's tasks."""
    memory_limit: int = 0
    """Limit on the query's bytes in this process, for DuckDB and held rows; 0 means none."""
    observer: StageObserver = field(default_factory=Unobserved)
    profile: QueryProfile = field(default_factory=QueryProfile)
    stages: list[Stage] = field(default_factory=list)
    """Stages that have run as RDD jobs. Their inputs are read again if their output is lost."""
    statement: Cancellation = field(default_factory=lambda: current_cancellation() or Cancellation())
    """This thread's statement, which can cancel the query."""
    group: str = field(default_factory=new_group)
    _blocks: BlockCounter = field(default_factory=BlockCounter)
    _connections: QueryConnections = field(default_factory=QueryConnections)
    _own_database: ConnectionPool | None = None
    _shared_failure: SharkError | None = None
    """Error because of which the query left the shared database."""
    _repairs: Counter[int] = field(default_factory=Counter)
    """Failed runs of stages that run again, by the identity of the stage."""
    _forget: Callable[[], None] = field(default=lambda: None)

    def __post_init__(self) -> None:
        self._forget = self.statement.on_cancel(self._stop)

    # This process's database

    @contextmanager
    def connection(
        self, program: StageProgram | None = None, part: TaskInput = NO_INPUT
    ) -> Iterator[DuckDBPyConnection]:
        """Borrow a DuckDB connection for the program over `part`.

        Two databases that are in use divide their memory when one begins or ends.
        """
        database = self.database if program is None else self.database.suited_to(program, part)
        functions = None if program is None else _functions_of(program)
        with self._connections.borrowed(database, self.statement, functions) as connection:
            self.check()
            yield connection

    @property
    def database(self) -> ConnectionPool:
        """The shared database, or the query's own if its memory is limited or the shared one is full."""
        if self._own_database is None:
            if not self.memory_limit:
                return self.engine.pool
            self._own_database = self.engine.pool.limited(self.memory_limit)
        return self._own_database

    def may_restart_alone(self, error: BaseException, began: float) -> bool:
        """Whether work that began at `began`, by time.monotonic(), may restart in a database of the query's own.

        That is so if `error` says that the shared database has ended, or is full and other queries have filled it.
        Other queries get the same error when they ask for more memory.
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

    # Failures and retries

    def check(self) -> None:
        """Raise the error that ended the query, if any."""
        self.statement.check()

    def failure(self, error: BaseException) -> SharkError:
        """Return the error to raise for an exception of a stage in this process."""
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

    def is_repaired(self, error: BaseException, stage: Stage, attempt: int) -> bool:
        """Repair what made the stage fail, and return whether it may run again.

        It may if workers did not start, or if lost or damaged blocks of the query's stages were rebuilt. It may also if
        DuckDB met text that is not UTF-8: the engine's own reader reads that file from now on.
        """
        is_repaired = self._repaired(error, stage, attempt)
        self._repairs[id(stage)] += is_repaired
        return is_repaired

    def _repaired(self, error: BaseException, stage: Stage, attempt: int) -> bool:
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
        if self.repair is None or not is_caused_by_damage(error, blocks):
            return False
        self.repair(blocks)
        # Tasks of the failed run may still be in cancellation under the old group.
        self.group = new_group()
        return True

    def discard_blocks(self, results: Iterable[BlockResult | FileResult]) -> None:
        """Free the blocks stored by a failed run."""
        handles = [one.handle for one in results if isinstance(one, BlockResult)]
        if handles:
            self.engine.store.adopt(handles)
            self.engine.store.release([handle.block_id for handle in handles], durable=True)

    # Progress and profile

    def listener(self, jobs: SparkJobs, stage: Stage, total: int) -> Callable[[TaskReport], None]:
        """Return a listener of task ends, which pyspark's thread calls.

        The first error cancels the stage's other tasks.
        """
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
        """Report that `done` tasks of the stage have ended and all have read `rows`.

        Errors of a listener are logged.
        """
        try:
            self.progress(Progress(stage.label, len(self.profile.stages), done, total, rows))
        except Exception:  # noqa: BLE001 - listeners may raise anything
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
        """Record a finished run of the stage that began at `start`."""
        self.observer.ended(stage, reports)
        seconds = time.perf_counter() - start
        repairs = self._repairs.pop(id(stage), 0)
        profile = stage_profile(stage, count, reports, seconds, exchange_id, sizes, repairs)
        self.profile.stages.append(profile)
        self.profile.decisions += (one for one in stage.kernels if one not in self.profile.decisions)
        if self.note_reads is not None:
            for _, leaf in profile.leaves:
                if isinstance(leaf, BlockScan):
                    self.note_reads(leaf.blocks.table_id, leaf.blocks.blocks)
        if isinstance(self.statement, Statement):
            self.statement.figures.add_stage(profile, self._blocks.add(profile.leaves))
        if profile.placement != Place.DRIVER.value and profile.requested.requests:
            METER.add(profile.requested, self.statement)

    # Ending

    def cancel_jobs(self, jobs: SparkJobs) -> None:
        """Cancel the running jobs; the query continues with a new job group."""
        group, self.group = self.group, new_group()
        jobs.cancel(group)

    def _stop(self) -> None:
        self._connections.interrupt()
        if self.engine.is_spark_started:
            self.engine.jobs.cancel(self.group)

    def outlive_statement(self) -> None:
        """Keep the query's outputs beyond its statement, whose cancellation no longer ends it."""
        self._forget()
        # Its closure refers to this object, whose profile holds block handles.
        self._forget = _nothing

    def close(self) -> None:
        """Detach from the statement and close the query's own database. Idempotent."""
        self.outlive_statement()
        if self._own_database is not None:
            self._own_database.close()
            self._own_database = None


def _nothing() -> None:
    """Do nothing."""


def _functions_of(program: StageProgram) -> frozenset[str] | None:
    """Return the functions that a program over blocks calls, or None if other texts than its own may call some."""
    blocks = [one.blocks if isinstance(one, KernelColumns) else one for one in program.inputs]
    if program.edges or program.functions or program.otherwise or not isinstance(program.sink, ResultSink):
        return None
    texts = [program.sql]
    for one in blocks:
        if not isinstance(one, BlockColumns):
            return None
        texts += one.filter.texts if one.filter is not None else ()
    return functions_of(" ".join(texts))
