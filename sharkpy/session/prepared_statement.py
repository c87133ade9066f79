"""Prepared statement: bound or found in the plan cache, planned, and run while its result is read."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.base.errors import (
    BindError,
    BlocksReplacedError,
    ConfigurationError,
    InternalError,
    SharkError,
    SourceError,
    SparkLostError,
)
from sharkpy.base.thread_call import interruptible
from sharkpy.columnar.machine_loading import is_loaded
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.plan_cache import CatalogLookups, Given, PlanCache, PlannedQuery
from sharkpy.execution.queries.plan_query import plan_stage
from sharkpy.execution.queries.run_plan import detecting_lost_jvm, new_runner, run_batches
from sharkpy.execution.restrictions import SCRIPT
from sharkpy.execution.stages.plan_runner import runs_early
from sharkpy.physical.lowering.lower_stage import only_stage
from sharkpy.physical.plan_step import runs_scripts
from sharkpy.plan.commands import ChangeRows, Command, CreateTable, Explain, GenerateTable, Insert
from sharkpy.plan.logical import LogicalPlan, Step
from sharkpy.plan.row_steps import Script
from sharkpy.plan.subqueries import read_tables
from sharkpy.session.result import Result
from sharkpy.sql.binder import bind
from sharkpy.sql.context import StatementClock
from sharkpy.sql.grammar.parser import add_place
from sharkpy.values.types import Field, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.stages.plan_runner import PlanRunner
    from sharkpy.execution.stages.profile import QueryProfile
    from sharkpy.execution.statement import Statement
    from sharkpy.execution.tables.snapshot import QuerySnapshot

QUERY = "SELECT"
"""Kind of every query, whatever its first word is."""
_WRITERS = (Insert, ChangeRows, CreateTable, GenerateTable)


class PreparedStatement:
    """Statement of a session whose names and types are resolved; `end` is called once when it is over.

    1. Call either `run`, once, or `close`. `cancel` may come from any thread, at any time.
    2. A query is planned and run once more if, before its first row, blocks of its tables are replaced or Spark's JVM
       is lost.
    """

    def __init__(
        self,
        session: EngineSession,
        plans: PlanCache,
        text: str,
        statement: Statement,
        end: Callable[[Statement, BaseException | None], None],
        given: Given | None = None,
    ) -> None:
        self._session = session
        self._plans = plans
        self._text = text
        self._statement = statement
        self._end = end
        self._database = session.current_database
        engine = session.started_engine
        conf = session.conf
        self._key = (
            text,
            self._database,
            conf.plan_changes(),
            conf.secrets_id,
            engine and engine.parallelism,
            is_loaded(begins=False),
        )
        self._snapshot = session.snapshot()
        self._known = plans.find(self._key, self._snapshot)
        lookups = CatalogLookups(session.catalog, given)
        self._lookups, self._clock = lookups, StatementClock()
        self._bound: LogicalPlan | Command | None = None
        if self._known is None and (known := plans.find_bound(self._key, session.catalog)) is not None:
            self._bound, self._lookups = known.plan, known.lookups
        elif self._known is None:
            self._bound = bind(text, lookups, session.conf, self._database, self._clock)
        # The variables of the caller are not held: the result may be one of them.
        self._given = lookups.forget_given()
        statement.kind = _kind(type(self._bound).__name__) if isinstance(self._bound, Command) else QUERY
        if session.restrictions.refuses_code and self._runs_scripts():
            session.restrictions.check_code(SCRIPT)

    def _runs_scripts(self) -> bool:
        """True if the query is known to run scripts. Scripts within a command or an expression are noticed when it
        runs.
        """
        if self._known is not None:
            return runs_scripts(self._known.physical.root)
        queries = self._bound.queries if isinstance(self._bound, GenerateTable) else (self._bound,)
        return any(_is_script(node) for one in queries if isinstance(one, LogicalPlan) for node in one.walk())

    @property
    def yields_rows(self) -> bool:
        return self._bound.yields_rows if isinstance(self._bound, Command) else True

    @property
    def schema(self) -> Schema | None:
        """Schema of a query's rows; None for a command, whose result has its own schema."""
        if self._known is not None:
            return self._known.schema
        return _schema(self._bound) if isinstance(self._bound, LogicalPlan) else None

    @property
    def rows_written(self) -> int | None:
        """Number of rows that an INSERT, CREATE TABLE or GENERATE has written, or that an UPDATE, DELETE or MERGE has
        changed; None for other statements.
        """
        is_bare = isinstance(self._bound, CreateTable) and self._bound.query is None
        return self._statement.rows_written if isinstance(self._bound, _WRITERS) and not is_bare else None

    def cancel(self, error: SharkError | None = None) -> None:
        self._statement.cancel(error)

    def close(self) -> None:
        """End the statement without running it."""
        self._end(self._statement, GeneratorExit())

    def run(self) -> Result:
        return interruptible(self._run_here, self.cancel)

    def _run_here(self) -> Result:
        try:
            with self._statement.active(), detecting_lost_jvm(self._session):
                self._statement.check()
                return self._run()
        except BaseException as error:
            self._snapshot.release()
            self._end(self._statement, error)
            if isinstance(error, (BindError, ConfigurationError, SourceError)):
                add_place(error, self._text)
            raise

    def _run(self) -> Result:
        bound = self._bound
        if self._known is not None:
            return self._query(self._known)
        if not isinstance(bound, LogicalPlan):
            return self._command(bound)
        planned = self._planned(bound, self._lookups, self._snapshot)
        if not (self._clock.was_read or self._given or self._snapshot.has_computed):
            self._plans.keep(self._key, self._text, planned, bound)
        return self._query(planned)

    def _command(self, command: Command | None) -> Result:
        if command is None:
            raise InternalError("a statement that is neither bound nor known")
        answer = self._session.run_command(command, self._snapshot)
        self._snapshot.release()
        if answer.stream is not None:
            return self._streamed(answer.schema, answer.stream)
        self._statement.rows_read = answer.table.num_rows if answer.table is not None else 0
        self._end(self._statement, None)
        batches = answer.table.to_batches() if answer.table is not None else ()
        is_text = isinstance(command, Explain)
        return Result(answer.schema, batches, is_text=is_text, rows_written=self.rows_written)

    def _streamed(self, schema: Schema, batches: Generator[pa.RecordBatch]) -> Result:
        """Return the result of a command whose rows are computed while they are read."""

        def end(error: BaseException | None) -> None:
            batches.close()
            self._end(self._statement, error)

        return self._result(schema, batches, end)

    def _result(
        self,
        schema: Schema,
        batches: Generator[pa.RecordBatch],
        end: Callable[[BaseException | None], None],
        profile: Callable[[], QueryProfile] | None = None,
        is_complete: Callable[[], bool] | None = None,
    ) -> Result:
        """Return a result whose rows are computed while they are read. `end` gets the error that ends it, or None after
        the last row.
        """
        statement = self._statement

        def rows() -> Iterator[pa.RecordBatch]:
            try:
                with contextlib.closing(statement.steps(batches)) as steps:
                    for batch in steps:
                        statement.rows_read += batch.num_rows
                        yield batch
            except BaseException as error:
                end(error)
                raise
            end(None)

        return Result(
            schema,
            rows(),
            profile=profile,
            on_close=lambda: end(GeneratorExit()),
            on_cancel=statement.cancel,
            is_complete=is_complete,
        )

    def _planned(self, plan: LogicalPlan, lookups: CatalogLookups, snapshot: QuerySnapshot) -> PlannedQuery:
        tables = read_tables(plan)
        if tables:
            self._session.engine.pool.begin()
        physical, stage = plan_stage(self._session, plan, snapshot)
        parallelism = self._session.engine.parallelism
        stage = stage or only_stage(physical, parallelism)
        if stage is not None:
            stage = replace(stage, is_alone=not runs_early(physical.root, self._session.conf, parallelism))
        return PlannedQuery(_schema(plan), plan.label, physical, stage, lookups, snapshot.states(), tables)

    def _planned_again(self) -> PlannedQuery:
        """Plan the query over the current versions of its tables."""
        self._snapshot.renew()
        session = self._session
        lookups = CatalogLookups(session.catalog, lambda *name: self._given.get(name))
        plan = bind(self._text, lookups, session.conf, self._database)
        if not isinstance(plan, LogicalPlan):
            raise InternalError("a query became a command")
        return self._planned(plan, lookups, self._snapshot)

    def _query(self, planned: PlannedQuery) -> Result:
        runners = [new_runner(self._session, planned.physical, planned.label)]

        def end(error: BaseException | None) -> None:
            runners[-1].stages.close()
            self._snapshot.release()
            self._end(self._statement, error)

        return self._result(
            planned.schema,
            self._rows(planned, runners),
            end,
            lambda: runners[-1].run.profile,
            lambda: runners[-1].is_complete,
        )

    def _rows(self, planned: PlannedQuery, runners: list[PlanRunner]) -> Generator[pa.RecordBatch]:
        """Yield the query's rows. Plan it again if blocks were replaced, or Spark was lost, before the first row."""
        session = self._session
        is_begun = False
        try:
            with detecting_lost_jvm(self._session):
                for batch in run_batches(session, runners[-1], planned.stage):
                    is_begun = True
                    yield batch
        except (BlocksReplacedError, SparkLostError):
            if is_begun:
                raise
        else:
            return
        runners[-1].stages.close()
        planned = self._planned_again()
        runners.append(new_runner(session, planned.physical, planned.label))
        with detecting_lost_jvm(self._session):
            yield from run_batches(session, runners[-1], planned.stage)


@functools.cache
def _kind(command: str) -> str:
    """Return the kind of a command: CREATE TABLE for CreateTable."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", command).upper()


def _schema(plan: LogicalPlan) -> Schema:
    return Schema(tuple(Field(column.name, column.dtype) for column in plan.output))


def _is_script(node: LogicalPlan) -> bool:
    return isinstance(node, Step) and isinstance(node.step, Script)
