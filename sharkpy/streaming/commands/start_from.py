"""Position at which a continuous query begins to read its streams."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets, Position
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.plan.commands import History, StartFrom
from sharkpy.streaming.history import check_place
from sharkpy.streaming.scheduler import StreamSession

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table


def beginning(query: ContinuousQuery, start: StartFrom, session: StreamSession) -> ContinuousQuery:
    """Return the query with the offsets of START FROM, which are looked up now and stay the same.

    Raise UnsupportedError for a time if a stream does not know when its items arrived. Raise BindError if it is unclear
    which position of the stream the rows of the table before it reach.
    """
    if start.history is not None:
        return _behind_table(query, start, start.history, session)
    offsets = _offsets(start, query.streams, session)
    return dataclasses.replace(query, offsets=offsets, start=offsets, start_words=start.words)


def _behind_table(
    query: ContinuousQuery, start: StartFrom, history: History, session: StreamSession
) -> ContinuousQuery:
    table, stream = history.table, history.stream
    if table.kind in TEMPORARY_KINDS:
        raise UnsupportedError(f"START FROM TABLE {table.name}, which is temporary")
    if stream.table_id not in query.streams:
        message = f"START FROM TABLE … THEN STREAM {stream.qualified_name}, which the query does not read"
        raise BindError(message, sqlstate="42809")
    source = session.catalog.source_of(stream)
    if source is not None and source.has_state:
        message = f"START FROM TABLE … THEN STREAM {stream.qualified_name}, which is of a table with state,"
        hint = "CREATE STREAM … FROM TABLE … WITH HISTORY has the rows that are there already"
        raise UnsupportedError(message, hint=hint)
    offsets: Offsets = ()
    if history.then is None:
        check_place(table, stream, session.catalog)
    else:
        offsets = ((stream.table_id, _position(history.then, stream, session)),)
    return dataclasses.replace(
        query, start=offsets, start_words=start.words, history=table.table_id, continued=stream.table_id
    )


def _offsets(start: StartFrom, streams: Sequence[str], session: StreamSession) -> Offsets:
    """Return the start offsets of streams, by id, or () for the first items of all streams."""
    if start.is_earliest:
        return ()
    found = []
    for stream in streams:
        table = session.catalog.current_table(stream)
        assert table is not None  # the statement was bound over it
        found.append((stream, _position(start, table, session)))
    return tuple(found)


def _position(start: StartFrom, stream: Table, session: StreamSession) -> Position:
    reader = session.streams.readers.of(stream)
    end = reader.look()
    if start.is_earliest:
        return reader.first()
    if start.moment_ms is None:
        return end
    since = reader.since(start.moment_ms)
    if since is None:
        kind = "" if stream.stream is None else f" FROM {stream.stream.kind}"
        message = f"START FROM TIMESTAMP with {stream.qualified_name}, a stream{kind},"
        raise UnsupportedError(message, hint="START FROM EARLIEST or LATEST")
    return since
