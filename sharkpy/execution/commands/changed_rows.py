"""Number of rows that UPDATE, DELETE or MERGE changes, derived from the rows that it writes."""

from __future__ import annotations

from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.execution.statement import Statement
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.plan.commands import ChangeRows
from sharkpy.plan.logical import Aggregate, LogicalPlan, Step
from sharkpy.plan.row_steps import CountChanges


def counting(rows: LogicalPlan, command: ChangeRows) -> LogicalPlan:
    """Return the rows to write; the tasks that write them count the updated ones."""
    if not command.marks_updates:
        return rows
    *columns, is_updated = rows.output
    return Step(rows, CountChanges(), (is_updated,), (), tuple(columns))


def num_changed(before: Aggregate | None, statement: Statement, session: EngineSession, snapshot: QuerySnapshot) -> int:
    """Return the number of rows that the last staged write updated or left out.

    `before` counts all rows before the write, mostly from statistics.
    """
    num_updated, num_kept = statement.changed_rows, statement.rows_written
    if before is None:
        return num_updated
    rows = query_rows(session, before, snapshot)
    num_before: int = sum(batch.column(0)[0].as_py() for batch in rows if batch.num_rows)
    return num_updated + max(num_before - num_kept, 0)
