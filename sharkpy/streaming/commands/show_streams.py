"""SHOW STREAMS, SHOW CONTINUOUS TABLES and SHOW EPOCHS."""

from __future__ import annotations

import json

from sharkpy.catalog.model import StreamSource, Table
from sharkpy.catalog.pattern import matching
from sharkpy.catalog.position import as_numbers
from sharkpy.catalog.stream_kinds import KINDS
from sharkpy.execution.commands.command_result import CommandResult, table_of, text_rows
from sharkpy.execution.commands.stream_facts import current_source
from sharkpy.plan.commands import ShowContinuousTables, ShowEpochs, ShowStreams
from sharkpy.streaming.commands.control_continuous import query_of
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.status import status_of
from sharkpy.values.types import BIGINT, DOUBLE, STRING, Field, Schema

_STREAMS = ("database", "name", "source", "place", "comment")
_QUERIES = Schema(
    (
        *(Field(name, STRING) for name in ("database", "name", "state", "trigger")),
        *(Field(name, BIGINT) for name in ("epoch", "lag", "rows")),
        Field("rows_per_second", DOUBLE),
        Field("bad_rows", BIGINT),
        Field("fault", STRING),
    )
)
_EPOCHS = Schema(
    (
        Field("epoch", BIGINT),
        Field("state", STRING),
        Field("began", STRING),
        Field("rows", BIGINT),
        Field("seconds", DOUBLE),
        Field("offsets", STRING),
        Field("bad_rows", BIGINT),
    )
)


def show_streams(command: ShowStreams, session: StreamSession) -> CommandResult:
    rows = [
        (
            table.database,
            table.name,
            table.stream.kind,
            _place(table, current_source(table, table.stream, session.catalog)),
            table.comment,
        )
        for table in _tables(command.database, command.pattern, session)
        if table.stream is not None
    ]
    return text_rows(_STREAMS, rows)


def show_continuous_tables(command: ShowContinuousTables, session: StreamSession) -> CommandResult:
    """State of each continuous table and insert; `lag` is in items of its streams, rows are those of this process."""
    rows = []
    for table in _tables(command.database, command.pattern, session):
        query = session.catalog.streams.find(table.continuous) if table.continuous else None
        if query is None:
            continue
        status = status_of(query, session.streams, session.catalog)
        rate = None if status.rows_per_second is None else round(status.rows_per_second, 1)
        how_far = (status.epoch, status.lag, status.rows, rate, status.bad_rows)
        rows.append((table.database, table.name, status.state, status.trigger, *how_far, status.fault))
    return CommandResult(_QUERIES, table_of(_QUERIES, rows))


def show_epochs(command: ShowEpochs, session: StreamSession) -> CommandResult:
    query = query_of(command.table, session)
    rows = []
    for one in session.streams.log(query.query_id).epochs(command.limit):
        state = "WRITTEN" if one.number <= query.epoch else "BEGUN"
        reads = {_name(stream, session): [as_numbers(start), as_numbers(end)] for stream, start, end in one.ranges}
        rows.append((one.number, state, one.began, one.rows, one.seconds, json.dumps(reads), one.bad_rows))
    return CommandResult(_EPOCHS, table_of(_EPOCHS, rows))


def _tables(database: str, pattern: str | None, session: StreamSession) -> list[Table]:
    tables = {table.name: table for table in session.catalog.tables(database)}
    return [tables[name] for name in matching(set(tables), pattern)]


def _place(table: Table, source: StreamSource) -> str | None:
    """Place of a source that has one; where the engine keeps a stream's rows is its own affair."""
    return source.place or table.location if KINDS[source.kind].place else None


def _name(stream: str, session: StreamSession) -> str:
    found = session.catalog.current_table(stream)
    return stream if found is None else found.qualified_name
