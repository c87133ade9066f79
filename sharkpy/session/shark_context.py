"""Session of an engine: `connect` makes a SharkContext, and `ctx.sql(text)` takes a statement through all steps.

text → bind → LogicalPlan | Command → optimize → plan_physical → PlanRunner → Arrow batches → Result
"""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from sharkpy.base import settings
from sharkpy.base.cancellation import current_cancellation
from sharkpy.base.errors import ParseError
from sharkpy.base.secrets import redacted
from sharkpy.base.settings import Conf
from sharkpy.catalog.continuous_query import QueryState
from sharkpy.catalog.names import qualified
from sharkpy.execution.engine_session import DEFAULT_STATEMENTS
from sharkpy.execution.function_loader import FunctionLoader
from sharkpy.execution.restrictions import UNRESTRICTED, Restrictions, of_owner
from sharkpy.session.defaults import add_keywords, default_warehouse
from sharkpy.session.result import Result, Row
from sharkpy.session.running_statements import PYTHON, StatementTitle, new_query_id
from sharkpy.session.session_accesses import SessionAccesses
from sharkpy.session.session_state import SessionState
from sharkpy.session.shared_parts import SharedParts
from sharkpy.sources.lake.session_lakes import SessionLakes

if TYPE_CHECKING:
    from sharkpy.catalog.function_catalog import ModelFunction
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.statement_record import StatementRecord
    from sharkpy.catalog.store import Catalog
    from sharkpy.catalog.system_tables import SystemTable
    from sharkpy.execution.commands.command_result import CommandResult
    from sharkpy.execution.engine import Engine
    from sharkpy.execution.queries.admission import Admission
    from sharkpy.execution.queries.plan_observers import PlanObservers
    from sharkpy.execution.spark.pools import Pool
    from sharkpy.execution.stages.progress import ProgressListener
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.execution.tables.table_cache import TableCache
    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.ml.rdd.table_rdd import TableRDD
    from sharkpy.plan.commands import Command
    from sharkpy.plan.expr import PythonValue
    from sharkpy.session.prepared_statement import PreparedStatement
    from sharkpy.streaming.dstreams.new_streams import Streams
    from sharkpy.streaming.handles import ContinuousTable
    from sharkpy.streaming.push import StreamWriter
    from sharkpy.streaming.scheduler import StreamScheduler
    from sharkpy.streaming.sinks.programs import BatchFunction, Console
    from sharkpy.udf.user.declare import Returns, TypeLike


def connect(master: str = "local[*]", warehouse: str | os.PathLike[str] | None = None, **conf: object) -> SharkContext:
    """Open a session over the warehouse folder (default: SHARKPY_WAREHOUSE, else in the user's data folder).

    Settings are keyword arguments, `**{"shark.block.rows": 100_000}` or `shark_block_rows=100_000`. ConfigurationError
    if the warehouse cannot be written.
    """
    values = add_keywords(Conf(), conf)
    values.set(settings.MASTER.key, master)
    folder = Path(warehouse) if warehouse is not None else default_warehouse(values)
    values.set(settings.WAREHOUSE.key, str(folder.expanduser().absolute()))
    parts = SharedParts(values)
    return _new_session(values, parts, parts.catalog, is_owner=True)


class SharkContext:
    """Session of an engine: settings, a current database, temporary tables, and the engine behind them.

    1. `sql` runs one statement; a query's rows are computed while its Result is read.
    2. Parts are made when first needed; Spark's JVM starts with the first RDD job.
    3. Several threads may call `sql`; each Result belongs to one of them.
    4. `cancel` ends what runs now; `stop` ends the session and frees everything it holds.
    5. `new_session` gives another session on the same engine; those end with this one, which owns the engine.
    """

    def __init__(self, conf: Conf, state: SessionState) -> None:
        self.conf = conf
        self._state = state
        self._parts = state.parts
        self._statements = state.statements

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
        """Number of statements that have begun and not ended."""
        return self._statements.num_running

    @property
    def engine(self) -> Engine:
        self._statements.check_open()
        return self._parts.engine

    @property
    def known_engine(self) -> Engine | None:
        """Engine, if it was needed so far; else None."""
        return self._parts.known_engine

    @property
    def table_cache(self) -> TableCache:
        self._statements.check_open()
        return self._parts.table_cache

    def sql(self, text: str) -> Result:
        """Run a statement, or several separated by ";", whose result is that of the last."""
        from sharkpy.sql.grammar.split_statements import split_statements

        statements = split_statements(text)
        if not statements:
            raise ParseError("there is no statement")
        for statement, _ in statements[:-1]:
            self.prepare(statement).run().close()
        return self.prepare(statements[-1][0]).run()

    def prepare(
        self,
        text: str,
        timeout: float = 0.0,
        listener: ProgressListener | None = None,
        query_id: str = "",
    ) -> PreparedStatement:
        """Prepare a statement: its names and types are resolved. Another thread may run it, and it can be cancelled.

        `timeout` in seconds, if it is shorter than that of the session; `listener` gets the progress of this statement
        alone; `query_id`: its name in the history, if it has one already. What the thread works for ends it, too.
        """
        from sharkpy.session.prepared_statement import PreparedStatement

        allowed = min(filter(None, (timeout, self._timeout)), default=0.0)
        statement = self._statements.begin(self._title(text, query_id=query_id), allowed, listener)
        statement.memory_limit = self.conf.value(settings.QUERY_MEMORY)
        try:
            with statement.following(current_cancellation()), statement.active():
                bound = self.substituted(text)
                return PreparedStatement(self, self._parts.plans, bound, statement, self._statements.end)
        except BaseException as error:
            self._statements.end(statement, error)
            raise

    def _title(self, text: str, kind: str = "", query_id: str = "") -> StatementTitle:
        return StatementTitle(query_id or new_query_id(), redacted(text), self._user, kind)

    @property
    def _user(self) -> str:
        return self.conf.value(settings.USER) or self._parts.user

    def working(self, text: str | None = None) -> contextlib.AbstractContextManager[None]:
        """Run the body as a statement of the session, or as a part of the one that this thread works for.

        It is in the history as `text`, if that is given.
        """
        return self._statements.working(self._timeout, self._work_title(text))

    def as_statement(self, text: str | None = None) -> contextlib.AbstractContextManager[Statement]:
        """Run the body as one statement, which `cancel` and the time limit end, or as a part of the one that the
        thread works for.
        """
        return self._statements.as_statement(self._timeout, self._work_title(text))

    def _work_title(self, text: str | None) -> StatementTitle | None:
        return None if text is None else self._title(text, PYTHON)

    @property
    def _timeout(self) -> float:
        return self.conf.value(settings.QUERY_TIMEOUT)

    def substituted(self, text: str) -> str:
        """Replace the variables of `text` by their values; those of the environment are not for remote users."""
        from sharkpy.execution.queries.bind_text import substituted

        return substituted(self, text)

    def sql2rdd(self, text: str) -> TableRDD:
        """Rows of a query as a PySpark RDD of typed rows; names and types are checked now, the rest is lazy."""
        from sharkpy.ml.rdd.table_rdd import TableRDD

        return TableRDD.of_text(self, text)

    def lookup(
        self,
        table: str,
        key: PythonValue,
        columns: Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
    ) -> list[Row]:
        """Rows of a table by key, with `columns` of it: read in this process, from the blocks that may have the key.

        `by` names the key's columns (default: those that the table is bucketed by); for several, `key` is a tuple.
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

    def create_function(
        self,
        name: str,
        function: Callable[..., object],
        returns: Returns = None,
        arguments: Sequence[TypeLike] | None = None,
        *,
        replace: bool = False,
    ) -> None:
        """Make a Python function or class a permanent function of a database: all sessions have it, and continuous
        queries may call it. The catalog keeps the code, by value, and what it refers to.

        Types are those of `register_function`. BindError 42723 if the database has a function of that name, unless
        `replace` is given: then queries call the new one from now on.
        """
        from sharkpy.execution.commands.user_functions import keep_function
        from sharkpy.udf.user.function import intern
        from sharkpy.udf.user.make import user_function

        self._statements.check_open()
        short = name.rpartition(".")[2]
        keep_function(name, intern(user_function(short, function, arguments, returns)), self, replace=replace)

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
        """Make a table of an RDD, a TableRDD, Arrow data, a data frame, an array or a list of rows; returns the number
        of rows.

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
        """Keep a fitted model as the table `name`, for `predict` in SQL; its rows show the fitted values.

        TableExistsError if a table of that name exists, unless `replace` is given.
        """
        from sharkpy.ml.generate.model_table import save_model

        with self.working(f"save_model {name}"):
            save_model(self, model, name, replace=replace)

    def load_model(self, name: str) -> Estimator:
        """Model that the table `name` holds. TableNotFoundError; BindError for a table that holds none."""
        from sharkpy.ml.generate.model_table import load_model

        self._statements.check_open()
        return load_model(self, name)

    def cancel(self) -> None:
        """Cancel all running statements; each raises CancelledError in its thread."""
        self._statements.cancel()

    def new_session(self, **conf: object) -> SharkContext:
        """Open another session on the same engine: its own settings, database and temporary tables, the same tables.

        Its settings are those of `connect` with `conf` over them; those of memory and of the queue are the owner's. It
        uses the owner's access to storage, and sees none of its keys.
        """
        self._statements.check_open()
        values = add_keywords(self._parts.initial_conf.copy(), conf)
        return _new_session(values, self._parts, self._parts.catalog.for_session(), is_owner=False)

    def with_settings(self, values: Mapping[str, str]) -> SharkContext:
        """View of the session under other settings, for one statement; other changes apply to the session too."""
        conf = self.conf.copy()
        for key, value in values.items():
            conf.set(key, value)
        return SharkContext(conf, self._state)

    def push(self, stream: str) -> StreamWriter:
        """Writer of rows into a stream FROM PROGRAM: `with ctx.push("events") as out: out.write(rows)`.

        TableNotFoundError; BindError for what is no such stream.
        """
        from sharkpy.streaming.push import StreamWriter

        return StreamWriter(self, self._table_named(stream))

    @property
    def stream(self) -> Streams:
        """Streams and continuous tables: `ctx.stream("clicks")` is the one of a name, `ctx.stream.from_folder(…)` makes
        one. See `sharkpy.streaming.dstreams.new_streams.Streams`.
        """
        from sharkpy.streaming.dstreams.new_streams import Streams

        return Streams(self)

    def foreach_batch(self, sink: str, function: BatchFunction, *, as_reader: bool = False) -> ContinuousTable:
        """Let `function(epoch, rows)` take the rows of a continuous sink TO PROGRAM, by its name. See
        `sharkpy.streaming.handles.ContinuousTable.foreach_batch`.
        """
        from sharkpy.streaming.handles import ContinuousTable

        return ContinuousTable(self, self._table_named(sink)).foreach_batch(function, as_reader=as_reader)

    def _table_named(self, text: str) -> Table:
        self._statements.check_open()
        return self.catalog.table(*qualified(text, self.current_database))

    def take_console(self, console: Console) -> None:
        """Let a function of this process, which has a terminal, show the epochs of sinks TO CONSOLE."""
        self._parts.take_console(console)

    def start_streams(self) -> None:
        """Let the continuous tables of the warehouse that were running go on in this process, if no other has them."""
        if any(query.state is QueryState.RUNNING for query in self.catalog.streams.queries()):
            self.streams.start()

    def history(
        self,
        limit: int | None = DEFAULT_STATEMENTS,
        *,
        like: str | None = None,
        user: str | None = None,
        query_id: str | None = None,
    ) -> list[StatementRecord]:
        """Records of the statements of all sessions, running ones too, newest first; None as `limit`: all that is kept.

        `like`: those whose whole text matches a pattern of SHOW; `user`: those of one user; `query_id`: the one with
        this id, if there is any.
        """
        if self.restrictions.sees_own_statements:
            if user not in (None, self._user):
                return []
            user = self._user
        running, history = self._parts.running_statements(), self._parts.history
        if query_id is None:
            return history.newest(running, limit, like, user)
        found = history.find(running, query_id)
        return [found] if found is not None and user in (None, found.user) else []

    def running_statements(self) -> list[StatementRecord]:
        """Records of the session's statements that run, each as far as it is."""
        return self._statements.records()

    def statements(self) -> list[Statement]:
        """Statements of the session that have begun and not ended."""
        return self._statements.statements()

    def all_statements(self) -> list[Statement]:
        """Statements of all sessions that have begun and not ended."""
        return self._parts.statements()

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """Report the progress of running queries to `listener`, from any thread; the returned function removes it."""
        return self._state.observers.add_listener(listener)

    def stop(self) -> None:
        """End the session, and if it owns the engine, all sessions. Idempotent; later calls of `sql` raise
        ExecutionError.
        """
        if not self._statements.stop():
            return
        self._parts.leave(self)
        if not self._state.is_owner:
            self._drop_temporary_tables()
            return
        self._parts.stop_streams()
        for session in self._parts.members():
            session.stop()
        self._parts.close()

    def _drop_temporary_tables(self) -> None:
        from sharkpy.execution.commands.tables import drop_temporary_tables

        drop_temporary_tables(self.catalog, self._parts.table_cache)

    # The seam to what works for the session: see EngineSession

    @property
    def catalog(self) -> Catalog:
        return self._state.catalog

    @property
    def current_database(self) -> str:
        return self._state.current_database

    @current_database.setter
    def current_database(self, name: str) -> None:
        self._state.current_database = name

    @property
    def restrictions(self) -> Restrictions:
        return self._state.restrictions

    @restrictions.setter
    def restrictions(self, restrictions: Restrictions) -> None:
        self._state.restrictions = restrictions
        self.catalog.gate = restrictions.gate

    @property
    def observers(self) -> PlanObservers:
        return self._state.observers

    def check_open(self) -> None:
        self._statements.check_open()

    def snapshot(self) -> QuerySnapshot:
        from sharkpy.execution.queries.write_plan import write_query_table
        from sharkpy.execution.tables.snapshot import QuerySnapshot

        compute = partial(write_query_table, self)
        return QuerySnapshot(self.catalog, self.table_cache, self.conf, compute, self._give_stream_rows)

    def _give_stream_rows(self, stream: Table, snapshot: QuerySnapshot) -> None:
        self.streams.readers.give_now(stream, snapshot)

    def run_command(self, command: Command, snapshot: QuerySnapshot) -> CommandResult:
        from sharkpy.session.run_command import run_command

        return run_command(command, self, snapshot)

    @property
    def streams(self) -> StreamScheduler:
        """Scheduler of the engine's continuous queries."""
        self._statements.check_open()
        return self._parts.streams(partial(_stream_session, self._parts))

    def forget_plans(self, table: Table) -> None:
        self._parts.plans.drop_table(table)

    @property
    def pool(self) -> Pool:
        """Pool of the session: its share of the engine."""
        from sharkpy.execution.spark.pools import Pool

        return Pool(self.conf.value(settings.POOL) or self._state.name, self.conf.value(settings.POOL_WEIGHT))

    @property
    def admission(self) -> Admission:
        """Admission of the engine's queries."""
        return self._parts.admission


def _new_session(conf: Conf, parts: SharedParts, catalog: Catalog, *, is_owner: bool) -> SharkContext:
    """Make a session of `parts` whose functions are loaded by its own settings."""
    state = SessionState(parts, catalog, parts.new_name(), is_owner)
    known = weakref.ref(state)

    def restrictions() -> Restrictions:
        state = known()
        return UNRESTRICTED if state is None else state.restrictions

    catalog.functions.loader = FunctionLoader(conf, restrictions)
    catalog.functions.model_loader = _model_function
    session = SharkContext(conf, state)
    catalog.system_tables = partial(_system_tables, weakref.ref(session))
    catalog.find_files = parts.find_files
    catalog.find_access = SessionAccesses(conf, parts.conf, restrictions).find
    catalog.known_lakes = SessionLakes(lambda: parts.lakes, partial(_lake_conf, weakref.ref(session), parts.conf))
    session.restrictions = of_owner(parts.conf, catalog)
    parts.join(session)
    return session


def _system_tables(session: weakref.ref[SharkContext]) -> Mapping[str, SystemTable]:
    from sharkpy.streaming.commands.show_streams import system_tables

    known = session()
    return {} if known is None else system_tables(known)


def _lake_conf(session: weakref.ref[SharkContext], owner: Conf) -> Conf:
    """Settings that say where catalogs of lake tables are: those of the engine's owner for sessions that may not name
    any address and any file. A catalog is either, and says itself where its tables lie.
    """
    known = session()
    if known is None or known.restrictions.refuses_connections or known.restrictions.folders is not None:
        return owner
    return known.conf


def _stream_session(parts: SharedParts, values: Mapping[str, str]) -> SharkContext:
    """Open a session for the epochs of a continuous query, under its settings."""
    conf = parts.initial_conf.copy()
    for key, value in values.items():
        conf.set(key, value)
    return _new_session(conf, parts, parts.catalog.for_session(), is_owner=False)


def _model_function(table: Table, method: str) -> ModelFunction:
    from sharkpy.ml.generate.model_table import model_function

    return model_function(table, method)
