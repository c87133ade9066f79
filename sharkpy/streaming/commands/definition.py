"""Definition of a continuous query, from a statement and its session."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base.errors import TableExistsError, UnsupportedError
from sharkpy.base.settings import USER, Conf, is_guarded
from sharkpy.base.users import user_name
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery, QueryState
from sharkpy.catalog.model import Table
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.catalog.stream_kinds import TO_KAFKA, sink_kind
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.restrictions import SCRIPT
from sharkpy.plan.logical import LogicalPlan, Scan, Step
from sharkpy.plan.row_steps import Script
from sharkpy.sql.binder import bind_epoch, bind_state
from sharkpy.sql.context import StatementClock
from sharkpy.sql.incremental.row_wise import expressions_of, varying_function
from sharkpy.sql.statements.bind_epoch import EpochTables
from sharkpy.streaming.history import bind_history_epoch
from sharkpy.streaming.late_rows import known_late_rows
from sharkpy.streaming.scheduler import StreamSession

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
    late_rows = known_late_rows(query, catalog.current_tables(query.named_tables))
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
