"""The session: `connect` gives a SharkContext, and `ctx.sql(text)` takes a statement through all steps.

text → bind → LogicalPlan | Command → optimize → plan_physical → Runner → Arrow batches → Result
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from sharkpy.base import settings
from sharkpy.base.errors import ParseError
from sharkpy.base.settings import Conf
from sharkpy.execution.function_loader import FunctionLoader
from sharkpy.execution.queries import run_plan
from sharkpy.execution.queries.run_plan import PlanObservers
from sharkpy.execution.restrictions import UNRESTRICTED
from sharkpy.session.defaults import add_keywords, default_warehouse
from sharkpy.session.result import Result, Row
from sharkpy.session.running_statements import RunningStatements
from sharkpy.session.shared_parts import SharedParts

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.function_catalog import ModelFunction
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics import BlockStatistics
    from sharkpy.execution.commands.result import CommandResult
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.queries.admission import Admission
    from sharkpy.execution.spark.pools import Pool
    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.execution.stages.progress import ProgressListener
    from sharkpy.execution.stages.runner import Runner
    from sharkpy.execution.stages.stage import Stage
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.cache import TableCache
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.ml.rdd.table_rdd import TableRDD
    from sharkpy.physical.plan import PhysicalPlan
    from sharkpy.physical.stage import BlockSink, FileSink
    from sharkpy.plan.commands import Command, Explain, GenerateTable
    from sharkpy.plan.expr import PythonValue
    from sharkpy.plan.logical import LogicalPlan
    from sharkpy.session.prepared_statement import PreparedStatement
    from sharkpy.udf.user.declare import Returns, TypeLike


def connect(master: str = "local[*]", warehouse: str | os.PathLike[str] | None = None, **conf: object) -> SharkContext:
    """A session over the warehouse folder (default: SHARKPY_WAREHOUSE, else in the user's data folder).

    Settings are keyword arguments, `**{"shark.block.rows": 100_000}` or `shark_block_rows=100_000`.
    ConfigurationError where the warehouse cannot be written.
    """
    values = add_keywords(Conf(), conf)
    values.set(settings.MASTER.key, master)
    folder = Path(warehouse) if warehouse is not None else default_warehouse(values)
    values.set(settings.WAREHOUSE.key, str(folder.expanduser().absolute()))
    return SharkContext(values, SharedParts(values))


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
        self.observers = PlanObservers()
        self._statements = RunningStatements()
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
    def is_stopped(self) -> bool:
        return self._statements.is_stopped

    @property
    def num_running(self) -> int:
        """How many statements have begun and not ended."""
        return self._statements.num_running

    @property
    def engine(self) -> Engine:
        self._statements.check_open()
        return self._parts.engine

    @property
    def known_engine(self) -> Engine | None:
        """The engine, where there is one by now."""
        return self._parts.known_engine

    @property
    def table_cache(self) -> TableCache:
        self._statements.check_open()
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
        from sharkpy.session.prepared_statement import PreparedStatement

        self._statements.check_open()
        text = self.substituted(text)
        allowed = min(filter(None, (timeout, self._timeout)), default=0.0)
        statement = self._statements.begin(allowed, listener)
        try:
            with statement.active():
                return PreparedStatement(self, self._plans, text, statement, self._statements.end)
        except BaseException:
            self._statements.end(statement)
            raise

    def working(self) -> contextlib.AbstractContextManager[None]:
        """What this thread does inside is a statement of the session, or of the one that it works for already."""
        return self._statements.working(self._timeout)

    def as_statement(self) -> contextlib.AbstractContextManager[Statement]:
        """What this thread does inside is one statement, which `cancel` and the time limit end; or a part of the one
        that the thread works for.
        """
        return self._statements.as_statement(self._timeout)

    @property
    def _timeout(self) -> float:
        return self.conf.value(settings.QUERY_TIMEOUT)

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
        from sharkpy.session.lookup import lookup

        self._statements.check_open()
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

        self._statements.check_open()
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

        self._statements.check_open()
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

        self._statements.check_open()
        return load_model(self, name)

    def cancel(self) -> None:
        """End all statements that run now; each raises CancelledError in its thread."""
        self._statements.cancel()

    def new_session(self, **conf: object) -> SharkContext:
        """Another session on the same engine: its own settings, database and temporary tables, the same tables.

        Its settings are those of `connect` with `conf` over them; those of memory and of the queue are the owner's.
        """
        self._statements.check_open()
        values = add_keywords(self._parts.initial_conf.copy(), conf)
        return SharkContext(values, self._parts, self._parts.catalog.for_session())

    def with_settings(self, values: Mapping[str, str]) -> SharkContext:
        """This session under other settings, for one statement: what that changes, settings aside, changes here."""
        return _SessionWithSettings(self, values)

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """`listener` hears how far running queries are, from any thread; the returned call removes it."""
        return self.observers.add_listener(listener)

    def stop(self) -> None:
        """End the session, and where it owns the engine, all. Idempotent; later calls of `sql` raise ExecutionError."""
        if not self._statements.stop():
            return
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

        self._statements.check_open()
        return bind(text, self.catalog, self.conf, self.current_database)

    def plan(self, logical: LogicalPlan, snapshot: QuerySnapshot | None = None) -> PhysicalPlan:
        """Optimised and planned over the tables as they are now, or as they are in `snapshot`."""
        return self.plan_steps(logical, None, snapshot)[1]

    def plan_steps(
        self, logical: LogicalPlan, placement: str | None = None, snapshot: QuerySnapshot | None = None
    ) -> tuple[LogicalPlan, PhysicalPlan]:
        """The optimised logical plan and the physical plan made of it."""
        from sharkpy.execution.queries.plan_query import plan_query

        return plan_query(self, logical, placement, snapshot)

    # What commands ask of the session

    def batches(self, plan: LogicalPlan) -> Iterator[pa.RecordBatch]:
        from sharkpy.execution.tables.snapshot import reading

        with reading(self, None) as snapshot:
            yield from self.run_batches(self.new_runner(plan.label), self.plan(plan, snapshot))

    def snapshot(self) -> QuerySnapshot:
        from sharkpy.execution.tables.snapshot import QuerySnapshot

        return QuerySnapshot(self)

    def write_files(
        self, plan: LogicalPlan, sink: FileSink, snapshot: QuerySnapshot | None = None
    ) -> Sequence[tuple[str, int, int]]:
        from sharkpy.execution.queries.write_plan import write_files

        return write_files(self, plan, sink, snapshot)

    def write_blocks(
        self, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot | None = None
    ) -> Sequence[tuple[BlockHandle, BlockStatistics]]:
        from sharkpy.execution.queries.write_plan import write_blocks

        return write_blocks(self, plan, sink, snapshot)

    def table_buckets(self, plan: LogicalPlan) -> int:
        from sharkpy.optimizer.replan.choose_buckets import choose_table_buckets
        from sharkpy.physical.estimate import estimated_bytes

        return choose_table_buckets(self.engine.parallelism, estimated_bytes(self.plan(plan)))

    def forget_plans(self, table: Table) -> None:
        self._plans.drop_table(table)

    def explain(self, command: Explain) -> CommandResult:
        from sharkpy.explain.explain_plan import explain

        return explain(command, self)

    def generate(self, command: GenerateTable) -> CommandResult:
        from sharkpy.ml.generate.generate_table import generate

        return generate(command, self)

    # Running plans

    def new_runner(self, description: str) -> Runner:
        return run_plan.new_runner(self, description)

    def run_batches(
        self, runner: Runner, physical: PhysicalPlan, only_stage: Stage | None = None
    ) -> Generator[pa.RecordBatch]:
        """The plan's rows, when the query's turn has come."""
        self._statements.check_open()
        yield from run_plan.run_batches(self, runner, physical, only_stage)

    @property
    def pool(self) -> Pool:
        """The session's share of the engine."""
        from sharkpy.execution.spark.pools import Pool

        return Pool(self.conf.value(settings.POOL) or self._name, max(1, self.conf.value(settings.POOL_WEIGHT)))

    @property
    def admission(self) -> Admission:
        """Whose turn it is."""
        return self._parts.admission

    def observed_profiles(self) -> contextlib.AbstractContextManager[list[QueryProfile]]:
        """A list that takes the profiles of the plans that this thread runs meanwhile."""
        return self.observers.taking_profiles()


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
