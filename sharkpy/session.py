"""The session: `connect` gives a SharkContext, and `ctx.sql(text)` takes a statement through all steps.

text → bind → LogicalPlan | Command → optimize → plan_physical → Runner → Arrow batches → Result
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from sharkpy import conf as settings
from sharkpy.conf import Conf
from sharkpy.errors import BlocksReplacedError, ExecutionError, ParseError
from sharkpy.execution.function_loader import FunctionLoader
from sharkpy.restrictions import SCRIPT, UNRESTRICTED
from sharkpy.result import Result, Row
from sharkpy.shared_parts import SharedParts

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.functions import ModelFunction
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics import BlockStatistics
    from sharkpy.commands import Command, Explain, GenerateTable
    from sharkpy.execution.commands.result import CommandResult
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.spark.pools import Pool
    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.execution.stages.progress import Progress, ProgressListener
    from sharkpy.execution.stages.runner import Runner
    from sharkpy.execution.stages.stage import Stage
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.cache import TableCache
    from sharkpy.expr import PythonValue
    from sharkpy.logical import LogicalPlan
    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.ml.rdd.table_rdd import TableRDD
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.physical.stage import BlockSink, FileSink
    from sharkpy.query_snapshot import QuerySnapshot
    from sharkpy.statement_steps import PreparedStatement
    from sharkpy.udf.user.declare import Returns, TypeLike


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
    return SharkContext(values, SharedParts(values))


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
    5. `new_session` gives another session on the same engine; those end with this one, which owns the engine.
    """

    def __init__(self, conf: Conf, parts: SharedParts, catalog: Catalog | None = None) -> None:
        """`catalog` is that of a session which does not own `parts`."""
        self.conf = conf
        self.current_database = "default"
        self.restrictions = UNRESTRICTED
        self.catalog = catalog or parts.catalog
        self._parts = parts
        self._is_owner = catalog is None
        self._lock = threading.RLock()
        self._running: weakref.WeakSet[Statement] = weakref.WeakSet()
        self._listeners: list[ProgressListener] = []
        self._observed = threading.local()
        self._is_stopped = False
        self._plans = parts.plans
        self._name = parts.join(self)
        owner = weakref.ref(self)
        self.catalog.functions.loader = FunctionLoader(conf, lambda: getattr(owner(), "restrictions", UNRESTRICTED))
        self.catalog.functions.model_loader = _model_function

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def master(self) -> str:
        return self.conf.value(settings.MASTER)

    @property
    def engine(self) -> Engine:
        self._check_running()
        return self._parts.engine

    @property
    def known_engine(self) -> Engine | None:
        """The engine, where there is one by now."""
        return self._parts.known_engine

    @property
    def table_cache(self) -> TableCache:
        self._check_running()
        return self._parts.table_cache

    def sql(self, text: str) -> Result:
        """Run a statement, or several separated by ";": all of them, with the answer of the last."""
        from sharkpy.sql.grammar.split_statements import split_statements

        statements = split_statements(text)
        if not statements:
            raise ParseError("there is no statement")
        for statement, _ in statements[:-1]:
            self.prepare(statement).run().close()
        return self.prepare(statements[-1][0]).run()

    def prepare(self, text: str, timeout: float = 0.0, listener: ProgressListener | None = None) -> PreparedStatement:
        """One statement with its names and types resolved, to be run by another thread perhaps, and to be cancelled.

        `timeout` in seconds, where it is shorter than that of the session; `listener` hears of this statement alone.
        """
        from sharkpy.statement_steps import PreparedStatement

        self._check_running()
        text = self.substituted(text)
        statement = self._new_statement(timeout, listener)
        try:
            with statement.active():
                return PreparedStatement(self, self._plans, text, statement, self._end)
        except BaseException:
            self._end(statement)
            raise

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """What this thread does inside is a statement of the session, or of the one that it works for already."""
        from sharkpy.cancellation import current_cancellation

        self._check_running()
        if current_cancellation() is not None:
            yield
            return
        with self.as_statement():
            yield

    def _new_statement(self, timeout: float = 0.0, listener: ProgressListener | None = None) -> Statement:
        from sharkpy.execution.statement import Statement

        own = self.conf.value(settings.QUERY_TIMEOUT)
        allowed = min(filter(None, (timeout, own)), default=0.0)
        statement = Statement(allowed, listener) if listener else Statement(allowed)
        with self._lock:
            self._check_running()
            self._running.add(statement)
        return statement

    @contextlib.contextmanager
    def as_statement(self) -> Iterator[Statement]:
        """What this thread does inside is one statement, which `cancel` and the time limit end; or a part of the one
        that the thread works for.
        """
        from sharkpy.cancellation import current_cancellation
        from sharkpy.execution.statement import Statement

        outer = current_cancellation()
        if isinstance(outer, Statement):
            yield outer
            return
        statement = self._new_statement()
        try:
            with statement.active():
                statement.check()
                yield statement
        finally:
            self._end(statement)

    def substituted(self, text: str) -> str:
        """`text` with the values of its variables; those of the environment are not for remote users."""
        from sharkpy.sql.grammar.variables import substitute_variables

        return substitute_variables(text, self.conf, of_machine=not self.restrictions.guards_settings)

    def sql2rdd(self, text: str) -> TableRDD:
        """The rows of a query as a PySpark RDD of typed rows; names and types are checked now, the rest is lazy."""
        from sharkpy.ml.rdd.table_rdd import TableRDD

        return TableRDD.of_text(self, text)

    def lookup(
        self,
        table: str,
        key: PythonValue,
        columns: Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
    ) -> list[Row]:
        """The rows of a table with a key, in `columns` of it: read in this process, from the blocks that may have it.

        `by` names the key's columns (default: those that the table is bucketed by); of several, `key` is a tuple.
        """
        from sharkpy.lookup import lookup

        self._check_running()
        return lookup(self, table, key, columns, by)

    def register_function(
        self,
        name: str,
        function: Callable[..., object],
        returns: Returns = None,
        arguments: Sequence[TypeLike] | None = None,
    ) -> None:
        """Make a Python function or class, perhaps decorated by `sharkpy.function` and its like, a temporary function.

        Types are those of the decorator, of `arguments` and `returns`, or of annotations.
        """
        from sharkpy.udf.user.function import intern
        from sharkpy.udf.user.make import user_function

        self._check_running()
        self.catalog.functions.add_temporary(name.lower(), intern(user_function(name, function, arguments, returns)))

    def save_as_table(
        self,
        data: object,
        name: str,
        schema: object = None,
        cache: bool | str | None = None,
        mode: Literal["error", "overwrite", "append", "ignore"] = "error",
        *,
        partition_by: Sequence[str] = (),
        distribute_by: Sequence[str] = (),
        comment: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> int:
        """Make a table of an RDD, a TableRDD, Arrow data, a data frame, an array or a list of rows; how many rows.

        `schema`: columns as text ("id bigint, name string"), a dict of types, names, or a pyarrow schema; None: the
        data's own. `cache`: True or "MEMORY", or "MEMORY_ONLY" for blocks without files. See docs/ml.md.
        """
        from sharkpy.ml.tables.save_table import save_as_table

        self._check_running()
        return save_as_table(
            self,
            data,
            name,
            schema,
            cache,
            mode,
            partition_by=partition_by,
            distribute_by=distribute_by,
            comment=comment,
            properties=properties,
        )

    def save_model(self, model: Estimator, name: str, *, replace: bool = False) -> None:
        """Keep a fitted model as the table `name`, for `predict` in SQL; its rows show what was fitted.

        TableExistsError where there is a table of that name and `replace` is not given.
        """
        from sharkpy.ml.generate.model_table import save_model

        with self.working():
            save_model(self, model, name, replace=replace)

    def load_model(self, name: str) -> Estimator:
        """The model that the table `name` holds. TableNotFoundError; BindError for a table that holds none."""
        from sharkpy.ml.generate.model_table import load_model

        self._check_running()
        return load_model(self, name)

    def cancel(self) -> None:
        """End all statements that run now; each raises CancelledError in its thread."""
        with self._lock:
            running = list(self._running)
        for statement in running:
            statement.cancel()

    def new_session(self, **conf: object) -> SharkContext:
        """Another session on the same engine: its own settings, database and temporary tables, the same tables.

        Its settings are those of `connect` with `conf` over them; those of memory and of the queue are the owner's.
        """
        self._check_running()
        values = self._parts.initial_conf.copy()
        for key, value in conf.items():
            values.set(_setting_key(key), _setting_text(value))
        return SharkContext(values, self._parts, self._parts.catalog.for_session())

    def with_settings(self, values: Mapping[str, str]) -> SharkContext:
        """This session under other settings, for one statement: what that changes, settings aside, changes here."""
        return _SessionWithSettings(self, values)

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """`listener` hears how far running queries are, from any thread; the returned call removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def stop(self) -> None:
        """End the session, and where it owns the engine, all. Idempotent; later calls of `sql` raise ExecutionError."""
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
        self.cancel()
        self._parts.leave(self)
        if not self._is_owner:
            self._drop_temporary_tables()
            return
        for session in self._parts.members():
            session.stop()
        self._parts.close()

    def _drop_temporary_tables(self) -> None:
        from sharkpy.execution.commands.tables import drop_temporary_tables

        drop_temporary_tables(self.catalog, self._parts.table_cache)

    # Binding and planning

    def bind(self, text: str) -> LogicalPlan | Command:
        from sharkpy.sql.binder import bind

        self._check_running()
        return bind(text, self.catalog, self.conf, self.current_database)

    def plan(self, logical: LogicalPlan, snapshot: QuerySnapshot | None = None) -> PhysicalPlan:
        """Optimised and planned over the tables as they are now, or as they are in `snapshot`."""
        return self.plan_steps(logical, None, snapshot)[1]

    def plan_steps(
        self, logical: LogicalPlan, placement: str | None = None, snapshot: QuerySnapshot | None = None
    ) -> tuple[LogicalPlan, PhysicalPlan]:
        """The optimised logical plan and the physical plan made of it."""
        from sharkpy.plan_query import plan_query

        return plan_query(self, logical, placement, snapshot)

    # What commands ask of the session

    def batches(self, plan: LogicalPlan) -> Iterator[pa.RecordBatch]:
        with self._reading(None) as snapshot:
            yield from self.run_batches(self.new_runner(plan.label), self.plan(plan, snapshot))

    def snapshot(self) -> QuerySnapshot:
        from sharkpy.query_snapshot import QuerySnapshot

        return QuerySnapshot(self)

    @contextlib.contextmanager
    def _reading(self, snapshot: QuerySnapshot | None) -> Iterator[QuerySnapshot]:
        """`snapshot`, or one that ends with what is done inside."""
        seen = self.snapshot() if snapshot is None else snapshot
        try:
            yield seen
        finally:
            if snapshot is None:
                seen.release()

    def write_files(
        self, plan: LogicalPlan, sink: FileSink, snapshot: QuerySnapshot | None = None
    ) -> Sequence[tuple[str, int, int]]:
        from sharkpy.execution.commands.storage import with_output_settings
        from sharkpy.execution.tasks.report import FileResult

        sink = replace(sink, properties=with_output_settings(sink.properties, self.conf))
        with self._reading(snapshot) as seen:
            results = self._run_to_sink(self.plan(plan, seen), plan.label, sink)
        return [(one.path, one.num_rows, one.encoded_bytes) for one in results if isinstance(one, FileResult)]

    def write_blocks(
        self, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot | None = None
    ) -> Sequence[tuple[BlockHandle, BlockStatistics]]:
        try:
            with self._reading(snapshot) as seen:
                return self._written_blocks(plan, sink, seen)
        except BlocksReplacedError:
            if snapshot is not None:
                raise
            # The tables that it reads have other blocks now.
            with self._reading(None) as seen:
                return self._written_blocks(plan, sink, seen)

    def _written_blocks(
        self, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot
    ) -> Sequence[tuple[BlockHandle, BlockStatistics]]:
        """The blocks that a query makes; how it made them is kept, so that lost ones can be made again."""
        from sharkpy.execution.tables.lineage import Recipe, in_source_order, is_repeatable, is_row_wise
        from sharkpy.execution.tasks.report import BlockResult

        contents, physical = self.table_cache.contents(plan), self.plan(plan, snapshot)
        sink = replace(sink, is_checked=is_repeatable(plan))
        if sink.layout is not None:
            sink = replace(sink, layout=replace(sink.layout, is_by_source=sink.is_checked and is_row_wise(physical)))
        results = self._run_to_sink(physical, plan.label, sink)
        made = in_source_order([one for one in results if isinstance(one, BlockResult)], physical)
        if sink.is_checked:
            self.table_cache.lineage.note_made(Recipe.of(plan, contents, physical, sink, self.conf, self.plan), made)
        return [(one.handle, one.statistics) for one in made]

    def table_buckets(self, plan: LogicalPlan) -> int:
        from sharkpy.optimizer.replan.choose_buckets import choose_table_buckets
        from sharkpy.physical.estimate import estimated_bytes

        return choose_table_buckets(self.engine.parallelism, estimated_bytes(self.plan(plan)))

    def forget_plans(self, table: Table) -> None:
        self._plans.drop_table(table)

    def explain(self, command: Explain) -> CommandResult:
        from sharkpy.explain import explain

        return explain(command, self)

    def generate(self, command: GenerateTable) -> CommandResult:
        from sharkpy.ml.generate.generate_table import generate

        return generate(command, self)

    # Running plans

    def new_runner(self, description: str) -> Runner:
        from sharkpy.execution.stages.runner import Runner

        profiles = getattr(self._observed, "profiles", None)
        is_profiled = profiles is not None
        runner = Runner(
            self.engine,
            self.conf,
            self._reporter(),
            description,
            is_profiled=is_profiled,
            repair=self.table_cache.repair,
            pool=self.pool,
        )
        if profiles is not None:
            profiles.append(runner.profile)
        return runner

    def run_batches(
        self, runner: Runner, physical: PhysicalPlan, only_stage: Stage | None = None
    ) -> Generator[pa.RecordBatch]:
        """The plan's rows, when the query's turn has come."""
        self._check_running()
        with self._turn(runner, physical):
            yield from runner.batches(physical, only_stage)

    @property
    def pool(self) -> Pool:
        """The session's share of the engine."""
        from sharkpy.execution.spark.pools import Pool

        return Pool(self.conf.value(settings.POOL) or self._name, max(1, self.conf.value(settings.POOL_WEIGHT)))

    @contextlib.contextmanager
    def _turn(self, runner: Runner, physical: PhysicalPlan) -> Iterator[None]:
        from sharkpy.execution.stages.progress import Progress
        from sharkpy.execution.statement import Statement
        from sharkpy.physical.plan_step import runs_scripts
        from sharkpy.physical.work import work_rows

        if runs_scripts(physical):
            self.restrictions.check_code(SCRIPT)
        statement = runner.statement
        if not isinstance(statement, Statement):
            yield
            return
        profile, start, tell = runner.profile, time.perf_counter(), self._reporter()

        def report(num_before: int) -> None:
            profile.queued_behind = max(profile.queued_behind, num_before)
            tell(Progress("queue", 0, 0, 0, 0, num_before))

        with self._parts.admission.turn(work_rows(physical), runner.pool, statement, report):
            profile.queued_seconds = time.perf_counter() - start
            yield

    @contextlib.contextmanager
    def observed_profiles(self) -> Iterator[list[QueryProfile]]:
        """A list that takes the profiles of the plans that this thread runs meanwhile."""
        profiles: list[QueryProfile] = []
        self._observed.profiles = profiles
        try:
            yield profiles
        finally:
            self._observed.profiles = None

    def _run_to_sink(self, physical: PhysicalPlan, label: str, sink: FileSink | BlockSink) -> Sequence[object]:
        from sharkpy.execution.statement import Statement
        from sharkpy.execution.tasks.report import num_rows

        runner = self.new_runner(label)
        with self._turn(runner, physical):
            results = runner.to_sink(physical, sink)
        if isinstance(runner.statement, Statement):
            runner.statement.rows_written = num_rows(results)
        return results

    def _end(self, statement: Statement) -> None:
        statement.end()
        with self._lock:
            self._running.discard(statement)

    def _reporter(self) -> ProgressListener:
        """Tells those who listen to the session, and to the statement that this thread works for."""
        from sharkpy.cancellation import current_cancellation
        from sharkpy.execution.statement import Statement

        statement = current_cancellation()

        def report(progress: Progress) -> None:
            for listener in list(self._listeners):
                listener(progress)
            if isinstance(statement, Statement):
                statement.report(progress)

        return report

    def _check_running(self) -> None:
        if self._is_stopped:
            raise ExecutionError("this session is stopped", hint="connect again", sqlstate="08003")


def _model_function(table: Table, method: str) -> ModelFunction:
    from sharkpy.ml.generate.model_table import model_function

    return model_function(table, method)


class _SessionWithSettings(SharkContext):
    def __init__(self, session: SharkContext, values: Mapping[str, str]) -> None:
        self.__dict__.update(session.__dict__)
        self._session = session
        self.conf = session.conf.copy()
        for key, value in values.items():
            self.conf.set(key, value)

    @property
    def current_database(self) -> str:
        return self._session.current_database

    @current_database.setter
    def current_database(self, name: str) -> None:
        self._session.current_database = name
