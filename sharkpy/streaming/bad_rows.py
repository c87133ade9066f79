"""Tables for records that do not parse: ON BAD ROW SKIP TO table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sharkpy.base.errors import TableNotFoundError, UnsupportedError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.stream_kinds import FOLDER, FRAMES, KAFKA, SOCKET
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import Insert, OnBadRow
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import Project, Scan
from sharkpy.sources.csv_files.options import PERMISSIVE, csv_options
from sharkpy.sources.malformed_records import BYTES, COLUMNS, FORMATS, RECORD, malformed_record_splits
from sharkpy.streaming.row_tables import check_fits, found_or_made, types_of
from sharkpy.values.types import BINARY, Schema

if TYPE_CHECKING:
    from sharkpy.execution.commands.insert import BadRows
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.sources.source import Split

_SCHEMA = Schema(tuple(field for field in COLUMNS if field.name != BYTES))
"""Columns of a table for bad rows; `record` may be BINARY."""
_KINDS = (FOLDER.name, SOCKET.name, KAFKA.name)


def bad_row_table(on_bad_row: OnBadRow, streams: Sequence[str], session: EngineSession) -> Table | None:
    """Return the table for the bad rows of some streams, or None for ON BAD ROW NULL.

    `streams` are ids. A missing table is created. Raise UnsupportedError if records of a stream cannot be skipped, and
    BindError 42809 if the table does not fit.
    """
    if on_bad_row.table is None:
        return None
    catalog = session.catalog
    for stream in filter(None, map(catalog.current_table, streams)):
        _check_stream(stream)
    found = found_or_made(*on_bad_row.table, _SCHEMA, session)
    _check_table(found)
    return found


def skipped_rows(query: ContinuousQuery, tables: Mapping[str, Table]) -> BadRows:
    """Return a function that makes the INSERT of the records that an epoch has skipped.

    `tables` are the existing tables of the query, by id. Raise TableNotFoundError if the table for bad rows was
    dropped.
    """
    table = tables.get(query.bad_rows)
    if table is None:
        raise TableNotFoundError("the table for bad rows was dropped")
    _check_table(table)
    streams = [tables[stream] for stream in query.streams if stream in tables]
    for stream in streams:
        _check_stream(stream)
    return lambda snapshot: _insert(table, streams, snapshot)


def _insert(table: Table, streams: Sequence[Table], snapshot: QuerySnapshot) -> Insert:
    found = Table(new_table_id(), table.database, "bad rows", TableKind.STREAM, COLUMNS)
    splits: list[Split] = []
    for stream in streams:
        source = stream.stream
        place = source.place if source is not None and source.kind == SOCKET.name else ""
        given = snapshot.scan_source(stream)
        assert isinstance(given, Sequence)  # a stream is neither cached nor partitioned
        splits += malformed_record_splits(given, stream.qualified_name, stream.schema, place)
    snapshot.give_splits(found, splits)
    columns = {field.name: ColumnRef(number, field.name, field.dtype) for number, field in enumerate(COLUMNS)}
    scan = Scan(found, tuple(columns.values()), COLUMNS.names)
    items: list[Alias | ColumnRef] = []
    for field in table.schema:
        is_bytes = field.name == RECORD and field.dtype == BINARY
        items.append(columns[BYTES] if is_bytes else columns[field.name])
    return Insert(table, Project(scan, tuple(items)), False, ())


def _check_table(table: Table) -> None:
    """Raise BindError or UnsupportedError if bad rows cannot be written to a table."""
    as_bytes = types_of(_SCHEMA) | {RECORD: BINARY}
    check_fits(table, "bad rows", "target of a continuous insert", _SCHEMA, (as_bytes,), f"; {RECORD} may be BINARY")


def _check_stream(stream: Table) -> None:
    """Raise UnsupportedError if the bad records of a stream cannot be skipped."""
    source, storage = stream.stream, stream.storage
    what = f"ON BAD ROW SKIP TO with the stream {stream.qualified_name}"
    if source is None or source.kind not in _KINDS:
        raise UnsupportedError(f"{what}, whose rows are typed")
    if dict(source.options).get(FRAMES) == "arrow":
        raise UnsupportedError(f"{what}, which comes in Arrow frames")
    if storage.name not in FORMATS:
        raise UnsupportedError(f"{what} in the format {storage.name}", hint=f"formats: {', '.join(FORMATS)}")
    if storage.name == CSV:
        options = csv_options(storage.properties)
        if options.is_one_piece:
            raise UnsupportedError(f"{what}, whose CSV is multiLine or of wide characters")
        if options.mode != PERMISSIVE:
            raise UnsupportedError(f"{what}, whose CSV is read in the mode {options.mode}")
