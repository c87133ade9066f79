"""Watermarks of a continuous table's streams, for DESCRIBE."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.base.errors import SharkError
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.stream_facts import Fact
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.sql.binder import bind_state_progress
from sharkpy.sql.incremental.divided_query import LATE_ROWS, NOT_IDLE


def watermark_facts(table: Table, session: EngineSession) -> list[Fact]:
    """Return facts about a table's watermarks; none for a table without state or with a failing query."""
    state = session.catalog.state_table(table) if table.has_state else None
    query = None if state is None else session.catalog.streams.find(state.continuous)
    if state is None or query is None:
        return []
    try:
        plan = bind_state_progress(query.text, state, session.catalog, session.conf, query.database)
    except SharkError:
        return []
    if not plan.output:
        return []
    with session.as_statement():
        (row,) = (batch for batch in query_rows(session, plan) if batch.num_rows)
    names = [column.name for column in plan.output]
    values = [column.to_pylist()[0] for column in row.columns]
    return list(_facts(dict(zip(names, values, strict=True))))


def _facts(found: dict[str, object]) -> Iterator[Fact]:
    counts_late = LATE_ROWS in found
    late = found.pop(LATE_ROWS, None)
    for name, value in found.items():
        yield f"Watermark of {name}", "no time has come" if value is None else str(value)
    if len(found) > 1 and NOT_IDLE not in found:
        yield "Held Back By", min(found, key=lambda name: str(found[name] or ""))
    if counts_late:
        yield "Late Rows", str(late or 0)
