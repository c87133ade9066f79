"""Definition of a continuous query, from a statement and its session: streams, settings, user, and start position."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.settings import USER, Conf, is_guarded
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery, Offsets, Position, QueryState
from sharkpy.catalog.model import Table
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.catalog.stream_kinds import TO_KAFKA, sink_kind
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.restrictions import SCRIPT
from sharkpy.plan.commands import History, StartFrom
from sharkpy.plan.logical import LogicalPlan, Scan, Step
from sharkpy.plan.row_steps import Script
from sharkpy.sql.binder import bind_epoch, bind_state
from sharkpy.sql.context import StatementClock
from sharkpy.sql.incremental.row_wise import expressions_of, varying_function
from sharkpy.sql.statements.bind_epoch import EpochTables
from sharkpy.streaming.epoch_tables import late_rows_of
from sharkpy.streaming.scheduler import StreamSession
from sharkpy.streaming.table_before_stream import bind_history_epoch, check_place

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table

_OF_STATEMENTS = ("shark.query.timeout", "shark.pool")
"""Settings of a session that do not affect the meaning of a query."""


def check_definition(queries: Sequence[LogicalPlan], session: EngineSession) -> None:
    """Raise UnsupportedError for a query over a temporary table.

    Raise an error for a script that the session may not run.
    """
    nodes = [node for query in queries for node in query.walk()]
    if any(isinstance(node, Step) and isinstance(node.step, Script) for node in nodes):
        session.restrictions.check_code(SCRIPT)
    for node in nodes:
        if isinstance(node, Scan) and node.table.kind in TEMPORARY_KINDS:
            raise UnsupportedError(f"the temporary table {node.table.name} in a continuous query")


def make_and_run(
    table: Table,
    query: ContinuousQuery,
    publish: Callable[[], object],
    session: StreamSession,
    *,
    if_not_exists: bool,
) -> None:
    """Add a continuous query and its name to the catalog, with `publish` in the same transaction, and run it.

    If its trigger ends, run it over the available input. A query that is not to run yet is only added. Raise
    TableExistsError if another session was faster, unless `if_not_exists`.
    """
    try:
        session.catalog.create_table(table, publish=publish)
    except TableExistsError:
        if not if_not_exists:
            raise
        return
    if query.state is not QueryState.RUNNING:
        return
    if query.trigger.ends:
        session.streams.run_now(query.query_id)
    else:
        session.streams.start()
        session.streams.wake()


def streams_of(queries: Sequence[LogicalPlan]) -> tuple[str, ...]:
    """Return the ids of the streams that the queries of one epoch read."""
    found = (node.table for query in queries for node in query.walk() if isinstance(node, Scan))
    return tuple(dict.fromkeys(table.table_id for table in found if table.is_stream))


def settings_of(session: EngineSession) -> tuple[tuple[str, str], ...]:
    """Return the settings that the session has changed and that may affect the meaning of a query."""
    changes = session.conf.changes()
    return tuple((key, value) for key, value in changes if not is_guarded(key) and key not in _OF_STATEMENTS)


def definer(session: EngineSession) -> str:
    """Return the user in whose name the epochs run."""
    return session.conf.value(USER) or user_name(session.conf)


def check_epochs(query: ContinuousQuery, rows: Table, owner: Table, session: EngineSession) -> None:
    """Bind a query as its epochs will, which write `rows`, so that names known only to this session are an error now.

    Raise UnsupportedError if an epoch could not be computed again with the same result.
    """
    catalog, clock = session.catalog.for_session(), StatementClock()
    late_rows = late_rows_of(query, catalog.current_tables(query.named_tables))
    tables = EpochTables(rows, owner, late_rows=late_rows)
    bind_epoch(query.text, tables, catalog, session.conf, query.database, clock)
    if rows.gives and owner.is_continuous_sink and sink_kind(owner) is TO_KAFKA:
        _check_repeatable(query, rows, catalog, session.conf, reads_clock=clock.was_read)
    if query.is_before_history and (stream := catalog.current_table(query.continued)) is not None:
        bind_history_epoch(query, tables, stream, catalog, session.conf)


def _check_repeatable(query: ContinuousQuery, state: Table, catalog: Catalog, conf: Conf, *, reads_clock: bool) -> None:
    """Raise UnsupportedError if the state of an epoch could differ when it is computed again.

    An epoch is computed again if a broker has it and the catalog does not know it.
    """
    what = "a continuous sink TO KAFKA with state that"
    if reads_clock:
        hint = "leave IDLE AFTER, CURRENT_TIMESTAMP and their like out"
        raise UnsupportedError(f"{what} reads the clock", hint=hint)
    added = bind_state(query.text, state, catalog, conf, query.database).stored_delta
    if (name := varying_function(expressions_of(added))) is not None:
        raise UnsupportedError(f"{what} keeps values of {name}", hint="compute it of what is grouped, or leave it out")


def with_start_offsets(query: ContinuousQuery, start: StartFrom, session: StreamSession) -> ContinuousQuery:
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
    """Return the start offsets of streams, by id. Streams without one are read from their first existing item.

    Streams of changes always have one, so that lost changes are an error before the first epoch, too.
    """
    found = []
    for stream in streams:
        table = session.catalog.current_table(stream)
        assert table is not None  # the statement was bound over it
        if not start.is_earliest or table.follows_changes:
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
