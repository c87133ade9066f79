"""The session: `connect` gives a SharkContext, and `ctx.sql(text)` takes a statement through all steps.

    text → bind → LogicalPlan | Command → optimize → plan_physical → Runner → Arrow batches → Result
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sharkpy import conf as settings
from sharkpy.conf import Conf
from sharkpy.errors import ExecutionError, ParseError, UnsupportedError
from sharkpy.plan_cache import PlanCache
from sharkpy.result import Result
from sharkpy.types import Field, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.store import Catalog
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics import BlockStatistics
    from sharkpy.commands import Command, Explain
    from sharkpy.execution.commands.result import CommandResult
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.profile import QueryProfile
    from sharkpy.execution.progress import Progress, ProgressListener
    from sharkpy.execution.runner import Runner
    from sharkpy.execution.stage_runner import Stage
    from sharkpy.execution.tables import TableCache
    from sharkpy.logical import LogicalPlan
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.physical.stage import BlockSink, FileSink
    from sharkpy.plan_cache import CatalogLookups, PlannedQuery
    from sharkpy.query_snapshot import QuerySnapshot


def connect(master: str = "local[*]", warehouse: str | os.PathLike[str] | None = None, **conf: object) -> SharkContext:
    """A session over the warehouse folder (default: SHARKPY_WAREHOUSE, else in the user's data folder).

    Settings are keyword arguments, `**{"shark.block.rows": 100_000}` or `shark_block_rows=100_000`.
    ConfigurationError where the warehouse cannot be written.
    """
    values = Conf()
    for key, value in conf.items():
        values.set(_setting_key(key), _setting_text(value))
    values.set(settings.MASTER.key, master)
    folder = Path(warehouse) if warehouse is not None else default_warehouse(values)
    values.set(settings.WAREHOUSE.key, str(folder.expanduser().absolute()))
    return SharkContext(values)


def default_warehouse(conf: Conf) -> Path:
    if chosen := conf.value(settings.WAREHOUSE) or os.environ.get("SHARKPY_WAREHOUSE"):
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "sharkpy" / "warehouse"


def _setting_key(key: str) -> str:
    dotted = key.replace("_", ".")
    return dotted if "." not in key and dotted.split(".")[0] in ("shark", "hive", "spark") else key


def _setting_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class SharkContext:
    """One session: settings, a current database, temporary tables, and the engine behind them.

    1. `sql` runs one statement; a query's rows are computed while its Result is read.
    2. Parts are made when first needed; Spark's JVM starts with the first RDD job.
    3. Several threads may call `sql`; each Result belongs to one of them.
    4. `cancel` ends what runs now; `stop` ends the session and frees everything it holds.
    """

    def __init__(self, conf: Conf) -> None:
        from sharkpy.catalog.store import Catalog

        self.conf = conf
        self.current_database = "default"
        self.catalog: Catalog = Catalog(conf[settings.WAREHOUSE.key])
        self._lock = threading.RLock()
        self._engine: Engine | None = None
        self._table_cache: TableCache | None = None
        self._running: set[Runner] = set()
        self._listeners: list[ProgressListener] = []
        self._observed = threading.local()
        self._is_stopped = False
        self._plans = PlanCache()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def master(self) -> str:
        return self.conf.value(settings.MASTER)

    @property
    def engine(self) -> Engine:
        with self._lock:
            self._check_running()
            if self._engine is None:
                from sharkpy.execution.engine import Engine

                self._engine = Engine(self.conf, self.catalog.warehouse_dir)
            return self._engine

    @property
    def table_cache(self) -> TableCache:
        with self._lock:
            self._check_running()
            if self._table_cache is None:
                from sharkpy.execution.tables import TableCache

                self._table_cache = TableCache(self, changed=self._plans.drop_table)
            return self._table_cache

    def sql(self, text: str) -> Result:
        """Run a statement, or several separated by ";": all of them, with the answer of the last."""
        from sharkpy.sql.split_statements import split_statements

        statements = split_statements(text)
        if not statements:
            raise ParseError("there is no statement")
        for statement, _ in statements[:-1]:
            self._run(statement).close()
        return self._run(statements[-1][0])

    def register_function(self, name: str, function: Callable[..., object], returns: str | None = None) -> None:  # noqa: ARG002
        """Python functions in SQL are not carried out yet: always UnsupportedError."""
        raise UnsupportedError(f'Python function "{name}": register_function')

    def cancel(self) -> None:
        """End all statements that run now; each raises CancelledError in its thread."""
        with self._lock:
            running = list(self._running)
        for runner in running:
            runner.cancel()

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """`listener` hears how far running queries are, from any thread; the returned call removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def stop(self) -> None:
        """End the session. Idempotent; later calls of `sql` raise ExecutionError."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
        self.cancel()
        try:
            if self._table_cache is not None:
                self._table_cache.close()
            if self._engine is not None:
                self._engine.stop()
        finally:
            self.catalog.close()

    # The steps of a statement

    def bind(self, text: str) -> LogicalPlan | Command:
        from sharkpy.sql.binder import bind

        self._check_running()
        return bind(text, self.catalog, self.conf, self.current_database)

    def plan(self, logical: LogicalPlan) -> PhysicalPlan:
        """Optimised and planned over the tables as they are now."""
        return self.plan_steps(logical)[1]

    def plan_steps(
        self, logical: LogicalPlan, placement: str | None = None, snapshot: QuerySnapshot | None = None
    ) -> tuple[LogicalPlan, PhysicalPlan]:
        """The optimised logical plan and the physical plan made of it."""
        from sharkpy.logical import Scan
        from sharkpy.optimizer.optimize import optimize
        from sharkpy.physical.context import PlanContext
        from sharkpy.physical.planner import plan_physical
        from sharkpy.query_snapshot import QuerySnapshot

        snapshot = QuerySnapshot(self) if snapshot is None else snapshot
        self.table_cache.load_all(node.table for node in logical.walk() if isinstance(node, Scan))
        optimized = optimize(logical, snapshot, self.conf)
        context = PlanContext(
            self.conf,
            snapshot.scan_source,
            snapshot,
            default_parallelism=self.engine.parallelism,
            placement=placement,
            is_local=self.engine.is_local,
        )
        return optimized, plan_physical(optimized, context)

    # What commands ask of the session

    def batches(self, plan: LogicalPlan) -> Iterator[pa.RecordBatch]:
        physical = self.plan(plan)
        return self.run_batches(self.new_runner(plan.label), physical)

    def write_files(self, plan: LogicalPlan, sink: FileSink) -> Sequence[tuple[str, int, int]]:
        from sharkpy.execution.report import FileResult

        results = self._run_to_sink(plan, sink)
        return [(one.path, one.num_rows, one.encoded_bytes) for one in results if isinstance(one, FileResult)]

    def write_blocks(self, plan: LogicalPlan, sink: BlockSink) -> Sequence[tuple[BlockHandle, BlockStatistics]]:
        from sharkpy.execution.report import BlockResult

        results = self._run_to_sink(plan, sink)
        return [(one.handle, one.statistics) for one in results if isinstance(one, BlockResult)]

    def explain(self, command: Explain) -> CommandResult:
        from sharkpy.explain import explain

        return explain(command, self)

    # Running plans

    def new_runner(self, description: str) -> Runner:
        from sharkpy.execution.runner import Runner

        profiles = getattr(self._observed, "profiles", None)
        is_profiled = profiles is not None
        runner = Runner(
            self.engine,
            self.conf,
            self._report_progress,
            description,
            is_profiled=is_profiled,
            repair=self.table_cache.repair,
        )
        if profiles is not None:
            profiles.append(runner.profile)
        return runner

    def run_batches(
        self, runner: Runner, physical: PhysicalPlan, only_stage: Stage | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The plan's rows; the runner can be cancelled while they are read."""
        self._start(runner)
        try:
            yield from runner.batches(physical, only_stage)
        finally:
            self._end(runner)

    @contextlib.contextmanager
    def observed_profiles(self) -> Iterator[list[QueryProfile]]:
        """A list that takes the profiles of the plans that this thread runs meanwhile."""
        profiles: list[QueryProfile] = []
        self._observed.profiles = profiles
        try:
            yield profiles
        finally:
            self._observed.profiles = None

    def _run(self, text: str) -> Result:
        from sharkpy.logical import LogicalPlan
        from sharkpy.plan_cache import CatalogLookups
        from sharkpy.query_snapshot import QuerySnapshot
        from sharkpy.sql.binder import bind
        from sharkpy.sql.context import StatementClock

        self._check_running()
        key = (text, self.current_database, self.conf.changes(), self._engine and self._engine.parallelism)
        snapshot = QuerySnapshot(self)
        if (known := self._plans.find(key, snapshot)) is not None:
            return self._query(known, self.new_runner(known.label))
        lookups, clock = CatalogLookups(self.catalog), StatementClock()
        statement = bind(text, lookups, self.conf, self.current_database, clock)
        if not isinstance(statement, LogicalPlan):
            return self._command(statement)
        runner = self.new_runner(statement.label)
        planned = self._planned(statement, runner, lookups, snapshot)
        if not clock.was_read:
            self._plans.keep(key, text, planned)
        return self._query(planned, runner)

    def _planned(
        self, plan: LogicalPlan, runner: Runner, lookups: CatalogLookups, snapshot: QuerySnapshot
    ) -> PlannedQuery:
        from sharkpy.plan_cache import PlannedQuery

        physical = self.plan_steps(plan, None, snapshot)[1]
        schema = Schema(tuple(Field(column.name, column.dtype) for column in plan.output))
        return PlannedQuery(schema, plan.label, physical, runner.only_stage(physical), lookups, snapshot.states())

    def _query(self, planned: PlannedQuery, runner: Runner) -> Result:
        batches = self.run_batches(runner, planned.physical, planned.stage)
        return Result(planned.schema, batches, profile=lambda: runner.profile)

    def _command(self, command: Command) -> Result:
        from sharkpy import commands
        from sharkpy.execution.commands.run import run_command

        answer = run_command(command, self)
        batches = answer.table.to_batches() if answer.table is not None else ()
        return Result(answer.schema, batches, is_text=isinstance(command, commands.Explain))

    def _run_to_sink(self, plan: LogicalPlan, sink: FileSink | BlockSink) -> Sequence[object]:
        physical = self.plan(plan)
        runner = self.new_runner(plan.label)
        self._start(runner)
        try:
            return runner.to_sink(physical, sink)
        finally:
            self._end(runner)

    def _start(self, runner: Runner) -> None:
        with self._lock:
            self._check_running()
            self._running.add(runner)

    def _end(self, runner: Runner) -> None:
        with self._lock:
            self._running.discard(runner)

    def _report_progress(self, progress: Progress) -> None:
        for listener in list(self._listeners):
            listener(progress)

    def _check_running(self) -> None:
        if self._is_stopped:
            raise ExecutionError("this session is stopped", hint="connect again", sqlstate="08003")

