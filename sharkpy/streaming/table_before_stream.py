"""Table rows before the rows of a stream: START FROM TABLE … THEN STREAM …

The first epoch reads the whole table, and determines the stream position that its rows reach. Later epochs read the
stream from that position.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.base.errors import BindError, TableChangedError, TableNotFoundError
from sharkpy.catalog.model import Table, TableKind
from sharkpy.execution.queries.plan_cache import CatalogLookups
from sharkpy.sql.binder import bind_epoch
from sharkpy.values.type_parser import type_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from sharkpy.base.settings import Conf
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.continuous_query import ContinuousQuery, Position
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.plan.commands import Insert, MultiInsert, StateInserts
    from sharkpy.sql.statements.bind_epoch import EpochTables
    from sharkpy.streaming.sources.interfaces import SourceReader

_TRIES = 10


class _HistoryLookups(CatalogLookups):
    """Catalog lookups for binding a query, which replace a stream by a view of the table before it."""

    def __init__(self, catalog: Catalog, stream: Table, history: Table) -> None:
        super().__init__(catalog)
        self._stream = stream
        self._view = _view(stream, history)

    def table(self, database: str, name: str) -> Table:
        found = super().table(database, name)
        return self._view if found == self._stream else found

    def find_table(self, database: str, name: str) -> Table | None:
        found = super().find_table(database, name)
        return self._view if found == self._stream else found


def bind_history_epoch(
    query: ContinuousQuery, tables: EpochTables, stream: Table, catalog: Catalog, conf: Conf
) -> Insert | MultiInsert | StateInserts:
    """Bind the query of the epoch that reads the table before a stream."""
    history = history_of(query, catalog)
    if tables.written.is_state:
        with_history = replace(tables, history=_view(stream, history))
        return bind_epoch(query.text, with_history, catalog, conf, query.database)
    return bind_epoch(query.text, tables, _HistoryLookups(catalog, stream, history), conf, query.database)


def _view(stream: Table, history: Table) -> Table:
    """Return a view of a table with the columns of a stream."""
    types = {field.name: field.dtype for field in history.schema}
    items = [
        f"`{field.name}`" if types.get(field.name) == field.dtype else _cast(field.name, type_text(field.dtype))
        for field in stream.schema
    ]
    text = f"SELECT {', '.join(items)} FROM `{history.database}`.`{history.name}`"
    kind, computed = TableKind.VIEW, stream.computed
    return Table(stream.table_id, stream.database, stream.name, kind, stream.schema, view_text=text, computed=computed)


def _cast(name: str, type_words: str) -> str:
    return f"CAST(`{name}` AS {type_words}) AS `{name}`"


def history_of(query: ContinuousQuery, catalog: Catalog) -> Table:
    """Return the table before a stream. Raise TableNotFoundError if it was dropped before it was read."""
    found = catalog.current_table(query.history)
    if found is None:
        raise TableNotFoundError("the table from which the continuous query starts was dropped")
    return found


def snapshot_of_history(
    query: ContinuousQuery, session: EngineSession, reader: SourceReader
) -> tuple[QuerySnapshot, Position]:
    """Return a snapshot of a query's history, and the stream position after the rows of the history.

    Raise BindError 55000 if items after that position are gone, and TableChangedError if the table changes all the
    time.
    """
    catalog, history = session.catalog, history_of(query, session.catalog)
    for _ in range(_TRIES):
        place = _place(query, history, catalog)
        before = place()
        snapshot = session.snapshot()
        try:
            snapshot.pin(history)
            # The table was not written in between, so its rows still reach the same position.
            if place() == before:
                reader.look()
                position = reader.first() if before is None else before
                _check_there(position, reader)
                return snapshot, position
        except BaseException:
            snapshot.release()
            raise
        snapshot.release()
    raise TableChangedError(f"{history.qualified_name} was written all the time while it was looked at")


def check_place(history: Table, stream: Table, catalog: Catalog) -> None:
    """Raise BindError if it is unclear which position of a stream the rows of a table reach."""
    _writers(history.table_id, stream.table_id, catalog)


def _place(query: ContinuousQuery, history: Table, catalog: Catalog) -> Callable[[], Position | None]:
    """Return a function that finds the stream position after the history's rows; None means the first item."""
    given = dict(query.start).get(query.continued)

    def place() -> Position | None:
        if given is not None:
            return given
        if catalog.streams.feeding(query.continued) == history.table_id:
            return (catalog.streams.end(query.continued),)
        writers = _writers(history.table_id, query.continued, catalog)
        return next((one.offset(query.continued) or dict(one.start).get(query.continued) for one in writers), None)

    return place


def _writers(history: str, stream: str, catalog: Catalog) -> list[ContinuousQuery]:
    """Return the continuous query that writes a table from a stream, both given by id, in a list of at most one.

    Raise BindError 55000 if there are several, or if the query has rows of the stream in a state.
    """
    queries = catalog.streams.queries()
    found = [one for one in queries if stream in one.streams and history in (one.table_id, *one.targets)]
    hint = "say where the stream begins: THEN STREAM … FROM EARLIEST, LATEST or TIMESTAMP"
    if len(found) > 1:
        raise BindError("several continuous queries write the table from the stream", hint=hint, sqlstate="55000")
    for one in found:
        state = catalog.current_table(one.table_id)
        if state is not None and state.gives:
            message = "the continuous insert that writes the table has rows of the stream that it has not given yet"
            raise BindError(message, hint=hint, sqlstate="55000")
    return found


def _check_there(position: Position, reader: SourceReader) -> None:
    first = reader.first()
    if any(one < other for one, other in zip(position, first, strict=False)):
        raise BindError("items of the stream after the rows of the table are gone", sqlstate="55000")
