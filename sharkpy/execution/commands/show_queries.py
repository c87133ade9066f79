"""SHOW QUERIES and SHOW QUERY: running and finished statements."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

from sharkpy.base.cancellation import current_cancellation
from sharkpy.base.errors import BindError
from sharkpy.base.settings import TIME_ZONE
from sharkpy.base.time_zone import time_zone, zone_name
from sharkpy.catalog.statement_records import StatementRecord
from sharkpy.execution.commands.command_result import CommandResult, table_of, text_rows
from sharkpy.execution.engine_session import DEFAULT_STATEMENTS, EngineSession
from sharkpy.execution.statement import Statement
from sharkpy.plan.commands import ShowQueries, ShowQuery
from sharkpy.values.types import BIGINT, DOUBLE, STRING, TIMESTAMP, Field, Schema

_COLUMNS = Schema(
    (
        *(Field(name, STRING) for name in ("query_id", "state", "user", "session", "kind")),
        Field("started", TIMESTAMP),
        *(Field(name, DOUBLE) for name in ("seconds", "queued_seconds", "running_seconds")),
        *(Field(name, BIGINT) for name in ("rows_read", "rows_written")),
        *(Field(name, STRING) for name in ("progress", "sqlstate", "error", "query")),
    )
)


def show_queries(command: ShowQueries, session: EngineSession) -> CommandResult:
    """List the statements without this one; times are in the session's time zone."""
    limit = DEFAULT_STATEMENTS if command.limit is None else command.limit
    statement, zone = current_cancellation(), _zone(session)
    own = statement.query_id if isinstance(statement, Statement) else ""
    found = [one for one in session.history(limit + 1, like=command.pattern) if one.query_id != own]
    return CommandResult(_COLUMNS, table_of(_COLUMNS, [_row(one, zone) for one in found[:limit]]))


def show_query(command: ShowQuery, session: EngineSession) -> CommandResult:
    found = session.history(query_id=command.query_id)
    if not found:
        hint = "SHOW QUERIES lists the recorded statements"
        raise BindError(f'no statement "{command.query_id}" is known', hint=hint, sqlstate="42704")
    return text_rows(("property", "value"), _properties(found[0], _zone(session)))


def _zone(session: EngineSession) -> tzinfo | None:
    return time_zone(zone_name(session.conf.value(TIME_ZONE)))


def _row(record: StatementRecord, zone: tzinfo | None) -> tuple[str | int | None, ...]:
    return (
        *(record.query_id, record.state.value, record.user, record.session, record.kind),
        _time(record.started, zone),
        *(f"{seconds:.6f}" for seconds in (record.seconds, record.queued_seconds, record.running_seconds)),
        *(record.rows_read, record.rows_written),
        *(record.progress, record.sqlstate, record.error, record.text),
    )


def _properties(record: StatementRecord, zone: tzinfo | None) -> Iterator[tuple[str, str]]:
    """Columns of the listing, then the plan with one row per line, which clients display well."""
    for field, value in zip(_COLUMNS, _row(record, zone), strict=True):
        yield field.name, "" if value is None else str(value)
    for number, line in enumerate(record.plan.splitlines()):
        yield "" if number else "plan", line


def _time(time: datetime, zone: tzinfo | None) -> str:
    return time.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S.%f")
