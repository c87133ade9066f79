"""Session as its user sees it: `ctx.sql(text)` takes a statement through all steps.

text → bind → LogicalPlan | Command → optimize → plan_physical → PlanRunner → Arrow batches → Result
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Literal, Self

from sharkpy.base import settings
from sharkpy.base.cancellation import current_cancellation
from sharkpy.base.cleanup import collect_garbage_seldom
from sharkpy.base.errors import ParseError, TableNotFoundError
from sharkpy.base.thread_call import interruptible
from sharkpy.catalog.continuous_query import QueryState
from sharkpy.catalog.names import check_name, qualified
from sharkpy.execution.statement_figures import loading_seconds
from sharkpy.session.defaults import add_keywords
from sharkpy.session.result import Result, Row
from sharkpy.session.session_base import SessionBase
from sharkpy.sources.storage.meter import LISTED

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.execution.statement import ProgressListener
    from sharkpy.ml.models.estimator import Estimator
    from sharkpy.ml.rdd.table_rdd import TableRDD
    from sharkpy.plan.arrow_data import GivenRows
    from sharkpy.plan.expr import PythonValue
    from sharkpy.session.prepared_statement import PreparedStatement
    from sharkpy.sql.parameters import Parameters
    from sharkpy.streaming.dstreams.handles import ContinuousTable, Streams
    from sharkpy.streaming.sinks.program_sink import BatchFunction, Console
    from sharkpy.streaming.sources.spool import StreamWriter
    from sharkpy.udf.user.declare import Returns, TypeLike


class SharkContext(SessionBase):
    """Session of an engine: settings, a current database, temporary tables, and access to the engine.

    1. `sql` runs one statement; a query's rows are computed while its Result is read.
    2. Parts are made when first needed; Spark's JVM starts with the first RDD job.
    3. Several threads may call `sql`; each Result belongs to one of them.
    4. `cancel` ends all running statements; `stop` ends the session and frees its resources.
    5. `new_session` opens another session on the same engine. It ends with this session, which owns the engine.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def master(self) -> str:
        return self.conf.value(settings.MASTER)

    def __repr__(self) -> str:
        if self._statements.is_stopped:
            return "<SharkContext (stopped)>"
        place = f"{self.conf.value(settings.WAREHOUSE)}, database {self.current_database}"
        return f"<SharkContext {self.master}, warehouse {place}>"

    def sql(self, text: str, parameters: Parameters | None = None) -> Result:
        """Run a statement, or several separated by ";", and return the result of the last one.

        `?` in a statement take a sequence of parameters, `:name` a mapping. If a name in FROM is not a table of the
        catalog, it may name a variable of the caller: a frame of pandas or Polars, or a table of pyarrow or DuckDB.
        """
        from sharkpy.sql.grammar.split_statements import split_statements

        statements = [statement for statement, _ in split_statements(text)]
        if not statements:
            raise ParseError("there is no statement")
        variables = partial(_variable, sys._getframe(1))
        for statement in statements[:-1]:
            self._run(statement, parameters, variables).close()
        return self._run(statements[-1], parameters, variables)

    def _run(self, text: str, parameters: Parameters | None, variables: Callable[[str], object]) -> Result:
        from sharkpy.sql.parameters import BoundText, bind_parameters, errors_at_template

        bound = BoundText(text, text) if parameters is None else bind_parameters(text, parameters)
        with errors_at_template(bound):
            return self.prepare(bound.text, variables=variables).run()

    def register(self, name: str, data: object) -> None:
        """Let queries of this session read data of the program under a name: a frame of pandas or Polars, Arrow data,
        an array, a list of rows, an RDD.

        The name takes precedence over a table's. Each query reads the current data, in this process. Data that can be
        read only once goes to the first query.
        """
        from sharkpy.ml.tables.program_data import rows_of

        self._statements.check_open()
        check_name(name)
        rows_of(self, data)
        self._state.registered[name.lower()] = data

    def unregister(self, name: str) -> None:
        """Undo `register`. Raise TableNotFoundError if no data has the name."""
        if self._state.registered.pop(name.lower(), None) is None:
            raise TableNotFoundError(f'nothing is registered as "{name}"')

    def prepare(
        self,
        text: str,
        timeout: float = 0.0,
        listener: ProgressListener | None = None,
        query_id: str = "",
        variables: Callable[[str], object] | None = None,
    ) -> PreparedStatement:
        """Prepare a statement: resolve its names and types. Another thread may run it, and it can be cancelled.

        `timeout` in seconds applies if it is shorter than the session's. `listener` gets the progress of this statement
        only. `query_id` is its id in the history, if it has one already. `variables` returns the caller's variables
        that the statement may read. Cancelling the work that the thread runs for cancels the statement, too.
        """
        from sharkpy.session.prepared_statement import PreparedStatement

        allowed = min(filter(None, (timeout, self._timeout)), default=0.0)
        statement = self._statements.begin(self._title(text, query_id=query_id), allowed, listener)
        statement.memory_limit = self.conf.value(settings.QUERY_MEMORY)
        LISTED.allow(statement, self.conf.value(settings.STORAGE_FILES))
        outer = current_cancellation()

        def prepared() -> PreparedStatement:
            # `statement.planning()` takes longer, for each statement.
            started = time.perf_counter()
            try:
                with statement.following(outer), statement.active():
                    bound = self.substituted(text)
                    given = partial(self._given_rows, variables)
                    return PreparedStatement(self, self._shared.plans, bound, statement, self._statements.end, given)
            finally:
                seconds = time.perf_counter() - started - loading_seconds(statement.loads)
                statement.figures.planning_seconds += max(0.0, seconds)

        try:
            return interruptible(prepared, statement.cancel)
        except BaseException as error:
            self._statements.end(statement, error)
            raise

    def _given_rows(
        self, variables: Callable[[str], object] | None, name: str, is_registered: bool
    ) -> GivenRows | None:
        if is_registered and name.lower() in self._state.registered:
            from sharkpy.ml.tables.program_data import rows_of

            return rows_of(self, self._state.registered[name.lower()])
        if not is_registered and variables is not None:
            from sharkpy.ml.tables.program_data import rows_of_variable

            return rows_of_variable(self, variables(name))
        return None

    def substituted(self, text: str) -> str:
        """Replace the variables of `text` by their values. Remote users cannot read environment variables."""
        from sharkpy.execution.queries.plan_query import substituted

        return substituted(self, text)

    def sql2rdd(self, text: str) -> TableRDD:
        """Return a query's rows as a PySpark RDD of typed rows. Names and types are checked now, the rest is lazy."""
        from sharkpy.ml.rdd.table_rdd import TableRDD

        return TableRDD.of_text(self, text)

    def lookup(
        self,
        table: str,
        key: PythonValue,
        columns: Sequence[str] | None = None,
        by: str | Sequence[str] | None = None,
    ) -> list[Row]:
        """Return the rows of a table with a key, with `columns` of each. They are read in this process, from the blocks
        that may have the key.

        `by` names the key's columns (default: the table's bucket columns); for several columns, `key` is a tuple.
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
        """Register a Python function or class as a temporary function. It may be decorated by `sharkpy.function` or a
        similar decorator.

        The types come from the decorator, from `arguments` and `returns`, or from annotations.
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
        """Create a permanent function of a database from a Python function or class. All sessions and continuous
        queries can call it. The catalog stores the code and the objects that it refers to, by value.

        The types are found as by `register_function`. Raise BindError 42723 if the database has a function of that
        name, unless `replace` is given: then queries call the new function from now on.
        """
        from sharkpy.execution.commands.user_functions import store_function
        from sharkpy.udf.user.function import intern
        from sharkpy.udf.user.make import user_function

        self._statements.check_open()
        short = name.rpartition(".")[2]
        store_function(name, intern(user_function(short, function, arguments, returns)), self, replace=replace)

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
        """Create a table from an RDD, a TableRDD, Arrow data, a data frame, an array or a list of rows. Return the
        number of rows.

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
        """Save a fitted model as the table `name`, for `predict` in SQL. The rows show the fitted values.

        Raise TableExistsError if a table of that name exists, unless `replace` is given.
        """
        from sharkpy.ml.generate.model_table import save_model

        with self.working(f"save_model {name}"):
            save_model(self, model, name, replace=replace)

    def load_model(self, name: str) -> Estimator:
        """Load the model of the table `name`. Raise TableNotFoundError, or BindError if the table holds no model."""
        from sharkpy.ml.generate.model_table import load_model

        self._statements.check_open()
        return load_model(self, name)

    def cancel(self) -> None:
        """Cancel all running statements; each raises CancelledError in its thread."""
        self._statements.cancel()

    def new_session(self, **conf: object) -> SharkContext:
        """Open another session on the same engine. It has its own settings, database and temporary tables, and shares
        the other tables.

        It starts with the settings of `connect`, changed by `conf`. Settings of memory and of the queue stay the
        owner's. The session uses the owner's access to storage, but cannot see the owner's keys.

        The first call in a process raises the thresholds of Python's garbage collector: a collection of all objects
        would delay the statements of all sessions.
        """
        from sharkpy.session.connect import open_session

        self._statements.check_open()
        collect_garbage_seldom()
        values = add_keywords(self._shared.initial_conf.copy(), conf)
        return open_session(values, self._shared, self._shared.catalog.for_session(), is_owner=False)

    def push(self, stream: str) -> StreamWriter:
        """Return a writer of rows into a stream FROM PROGRAM: `with ctx.push("events") as out: out.write(rows)`.

        Raise TableNotFoundError, or BindError if `stream` is not such a stream.
        """
        from sharkpy.streaming.sources.spool import StreamWriter

        return StreamWriter(self, self._table_named(stream))

    @property
    def stream(self) -> Streams:
        """Streams and continuous tables: `ctx.stream("clicks")` finds one by name, `ctx.stream.from_folder(…)` creates
        one. See `sharkpy.streaming.dstreams.handles.Streams`.
        """
        from sharkpy.streaming.dstreams.handles import Streams

        return Streams(self)

    def foreach_batch(self, sink: str, function: BatchFunction, *, as_reader: bool = False) -> ContinuousTable:
        """Call `function(epoch, rows)` with the rows of the continuous sink TO PROGRAM named `sink`. See
        `sharkpy.streaming.dstreams.handles.ContinuousTable.foreach_batch`.
        """
        from sharkpy.streaming.dstreams.handles import ContinuousTable

        return ContinuousTable(self, self._table_named(sink)).foreach_batch(function, as_reader=as_reader)

    def _table_named(self, text: str) -> Table:
        self._statements.check_open()
        return self.catalog.table(*qualified(text, self.current_database))

    def take_console(self, console: Console) -> None:
        """Show the epochs of sinks TO CONSOLE by a function of this process, which has a terminal."""
        self._shared.take_console(console)

    def start_streams(self) -> None:
        """Resume the warehouse's running continuous tables in this process, unless another process runs them."""
        if any(query.state is QueryState.RUNNING for query in self.catalog.streams.queries()):
            self.streams.start()

    def add_progress_listener(self, listener: ProgressListener) -> Callable[[], None]:
        """Report the progress of running queries to `listener`, from any thread. Return a function that removes the
        listener.
        """
        return self._state.observers.add_listener(listener)

    def stop(self) -> None:
        """End the session, and if it owns the engine, all sessions. Idempotent. Later calls of `sql` raise
        ExecutionError.
        """
        if not self._statements.stop():
            return
        self._shared.leave(self)
        if not self._state.is_owner:
            self._drop_temporary_tables()
            return
        self._shared.stop_streams()
        for session in self._shared.members():
            session.stop()
        self._shared.close()

    def _drop_temporary_tables(self) -> None:
        from sharkpy.execution.commands.tables import drop_temporary_tables

        drop_temporary_tables(self.catalog, self._shared.table_cache)


def _variable(caller: FrameType, name: str) -> object:
    return caller.f_locals.get(name, caller.f_globals.get(name))
