"""One statement through its steps: found among known plans, or bound and planned, and run while its result is read."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING

from sharkpy.commands import Command, Explain
from sharkpy.errors import BlocksReplacedError, InternalError
from sharkpy.logical import LogicalPlan
from sharkpy.plan_cache import CatalogLookups, PlanCache, PlannedQuery
from sharkpy.query_snapshot import QuerySnapshot
from sharkpy.result import Result
from sharkpy.sql.binder import bind
from sharkpy.sql.context import StatementClock
from sharkpy.types import Field, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.execution.stages.runner import Runner
    from sharkpy.execution.statement import Statement
    from sharkpy.session import SharkContext


class StatementSteps:
    """Takes one statement of a session from its text to its Result; `end` is called once it is over.

    A query whose tables' blocks are replaced under it, before its first row, is planned and run once more.
    """

    def __init__(
        self,
        session: SharkContext,
        plans: PlanCache,
        text: str,
        statement: Statement,
        end: Callable[[Statement], None],
    ) -> None:
        self._session = session
        self._plans = plans
        self._text = text
        self._statement = statement
        self._end = end
        self._database = session.current_database

    def run(self) -> Result:
        session = self._session
        engine = session.known_engine
        key = (self._text, self._database, session.conf.changes(), engine and engine.parallelism)
        snapshot = QuerySnapshot(session)
        if (known := self._plans.find(key, snapshot)) is not None:
            return self._query(known, session.new_runner(known.label))
        lookups, clock = CatalogLookups(session.catalog), StatementClock()
        bound = bind(self._text, lookups, session.conf, self._database, clock)
        if not isinstance(bound, LogicalPlan):
            return self._command(bound)
        runner = session.new_runner(bound.label)
        planned = self._planned(bound, runner, lookups, snapshot)
        if not clock.was_read:
            self._plans.keep(key, self._text, planned)
        return self._query(planned, runner)

    def _command(self, command: Command) -> Result:
        from sharkpy.execution.commands.run import run_command

        answer = run_command(command, self._session)
        self._end(self._statement)
        batches = answer.table.to_batches() if answer.table is not None else ()
        return Result(answer.schema, batches, is_text=isinstance(command, Explain))

    def _planned(
        self, plan: LogicalPlan, runner: Runner, lookups: CatalogLookups, snapshot: QuerySnapshot
    ) -> PlannedQuery:
        physical = self._session.plan_steps(plan, None, snapshot)[1]
        schema = Schema(tuple(Field(column.name, column.dtype) for column in plan.output))
        return PlannedQuery(schema, plan.label, physical, runner.only_stage(physical), lookups, snapshot.states())

    def _planned_again(self) -> PlannedQuery:
        """The query planned over its tables as they are now."""
        session = self._session
        lookups = CatalogLookups(session.catalog)
        plan = bind(self._text, lookups, session.conf, self._database)
        if not isinstance(plan, LogicalPlan):
            raise InternalError("a query became a command")
        return self._planned(plan, session.new_runner(plan.label), lookups, QuerySnapshot(session))

    def _query(self, planned: PlannedQuery, runner: Runner) -> Result:
        runners = [runner]

        def end() -> None:
            runners[-1].stages.close()
            self._end(self._statement)

        def rows() -> Iterator[pa.RecordBatch]:
            try:
                yield from self._statement.steps(self._rows(planned, runners))
            finally:
                end()

        cancel = self._statement.cancel
        return Result(planned.schema, rows(), profile=lambda: runners[-1].profile, on_close=end, on_cancel=cancel)

    def _rows(self, planned: PlannedQuery, runners: list[Runner]) -> Generator[pa.RecordBatch]:
        """The query's rows; planned again where blocks were replaced under it before the first one."""
        session = self._session
        is_begun = False
        try:
            for batch in session.run_batches(runners[-1], planned.physical, planned.stage):
                is_begun = True
                yield batch
        except BlocksReplacedError:
            if is_begun:
                raise
        else:
            return
        planned = self._planned_again()
        runners.append(session.new_runner(planned.label))
        yield from session.run_batches(runners[-1], planned.physical, planned.stage)
