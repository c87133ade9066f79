"""Tables that the epochs of a continuous query write: targets of inserts, and tables for bad rows and late rows.

The catalog records the committed generations of these tables, so each row is written exactly once. ON BAD ROW SKIP TO
names the table for records that do not parse. LATE ROWS TO names the table for rows that arrive after all their windows
were closed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.base.errors import BindError, TableNotFoundError, UnsupportedError
from sharkpy.catalog.catalog import Catalog, new_table_id
from sharkpy.catalog.continuous_query import ContinuousQuery
from sharkpy.catalog.format_options import CSV
from sharkpy.catalog.model import CacheMode, StorageFormat, Table, TableKind
from sharkpy.catalog.stream_kinds import FOLDER, FRAMES, KAFKA, SOCKET
from sharkpy.execution.commands.create_table import create_table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.adopted_folders import log_folders, log_partition
from sharkpy.plan.commands import CreateTable, Insert, LateRows, MultiInsert, OnBadRow, StateInserts
from sharkpy.plan.expr import Alias, ColumnRef
from sharkpy.plan.logical import Project, Scan
from sharkpy.sources.csv_files.options import PERMISSIVE, csv_options
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.malformed_records import BYTES, COLUMNS, FORMATS, RECORD, malformed_record_splits
from sharkpy.sql.statements.bind_epoch import EpochTables
from sharkpy.streaming.epoch_input import EpochView
from sharkpy.values.types import BINARY, DataType, Schema

if TYPE_CHECKING:
    from sharkpy.execution.commands.insert import BadRows
    from sharkpy.execution.tables.snapshot import QuerySnapshot
    from sharkpy.sources.source import Split

Inserts: TypeAlias = Insert | MultiInsert | StateInserts


def targets_of(inserts: Inserts) -> tuple[Table, ...]:
    """Return the tables that INSERTs write, each once, except the table of a state."""
    match inserts:
        case MultiInsert():
            branches = inserts.inserts
        case StateInserts():
            branches = inserts.given
        case _:
            branches = (inserts,)
    return tuple(dict.fromkeys(one.table for one in branches if isinstance(one, Insert)))


def target_ids(inserts: Inserts) -> tuple[str, ...]:
    return tuple(sorted(table.table_id for table in targets_of(inserts)))


def check_target(table: Table, role: str = "target of a continuous insert") -> None:
    """Raise UnsupportedError if the rows of a table could not be written exactly once.

    `role` is the use of the table.
    """
    if table.cache_mode is CacheMode.MEMORY_ONLY:
        raise UnsupportedError(f"{table.qualified_name}, which is MEMORY_ONLY, as {role}")
    if table.kind is not TableKind.MANAGED:
        hint = "it has to be a table of the warehouse whose files are the engine's"
        raise UnsupportedError(f"{table.qualified_name}, which is not managed, as {role}", hint=hint)


def check_targets(inserts: Inserts, known: tuple[str, ...]) -> None:
    """Raise BindError if INSERTs write other tables than `known`, by id: one was dropped and made again."""
    if target_ids(inserts) != known:
        message = "the continuous insert writes other tables than when it was made"
        raise BindError(message, hint="ALTER CONTINUOUS INSERT name AS … makes it write the current tables")
    for table in targets_of(inserts):
        check_target(table)


def become_targets(tables: Iterable[Table], catalog: Catalog) -> None:
    """Let the catalog record from now on which generations of tables count, and log their files.

    Call this in a transaction of the catalog, in which no other process writes the tables. Every later write increases
    the recorded number, users' own writes too. The record stays when the continuous insert is dropped; it does no harm.
    """
    for table in tables:
        check_target(table)
        catalog.require(table)
        log_folders(table, catalog)
        for one in catalog.partitions(table):
            log_partition(table, one, catalog)
        if not table.is_partitioned and catalog.newest_generation(table) is None:
            newest = table_folder(table.location or "", catalog).newest()
            catalog.streams.set_newest(table.table_id, newest)


Types = dict[str, DataType]
_ROW_TABLE_STORAGE = StorageFormat("parquet")
"""Format of these tables.

Rows that were left out may contain any byte, and a delimiter in a text table would stop the query.
"""


def find_or_create(database: str, name: str, schema: Schema, session: EngineSession) -> Table:
    """Return the table of that name. A missing table is created with the columns of `schema`."""
    catalog = session.catalog
    if catalog.find_table(database, name) is None:
        command = CreateTable(database, name, TableKind.MANAGED, schema, True, _ROW_TABLE_STORAGE)
        create_table(command, session, session.snapshot())
    return catalog.table(database, name)


def types_of(schema: Schema) -> Types:
    return {field.name: field.dtype for field in schema}


def check_fits(
    table: Table, what: str, role: str, schema: Schema, others: Collection[Types] = (), note: str = ""
) -> None:
    """Raise BindError 42809 if a table cannot have rows with the columns of `schema` or of `others`, in any order.

    Raise UnsupportedError if the rows could not be written exactly once.
    """
    if table.is_view or table.streaming_kind:
        kind = table.streaming_kind or "view"
        raise BindError(f"{what} cannot go to {table.qualified_name}, a {kind}", sqlstate="42809")
    check_target(table, role)
    fits = types_of(table.schema) in (types_of(schema), *others)
    if not fits or table.is_partitioned or table.constraints:
        listed = ", ".join(f"{field.name} {str(field.dtype).upper()}" for field in schema)
        hint = f"such a table has the columns {listed}, in any order, no partitions and no constraints{note}"
        raise BindError(f"{table.qualified_name} does not fit {what}", hint=hint, sqlstate="42809")


_BAD_ROW_SCHEMA = Schema(tuple(field for field in COLUMNS if field.name != BYTES))
"""Columns of a table for bad rows; `record` may be BINARY."""
_BAD_ROW_SOURCES = (FOLDER.name, SOCKET.name, KAFKA.name)


def bad_row_table(on_bad_row: OnBadRow, streams: Sequence[str], session: EngineSession) -> Table | None:
    """Return the table for the bad rows of some streams, or None for ON BAD ROW NULL.

    `streams` are ids. A missing table is created. Raise UnsupportedError if records of a stream cannot be skipped, and
    BindError 42809 if the table does not fit.
    """
    if on_bad_row.table is None:
        return None
    catalog = session.catalog
    for stream in filter(None, map(catalog.current_table, streams)):
        _check_skippable(stream)
    found = find_or_create(*on_bad_row.table, _BAD_ROW_SCHEMA, session)
    _check_bad_row_table(found)
    return found


def skipped_rows(query: ContinuousQuery, tables: Mapping[str, Table]) -> BadRows:
    """Return a function that makes the INSERT of the records that an epoch has skipped.

    `tables` are the existing tables of the query, by id. Raise TableNotFoundError if the table for bad rows was
    dropped.
    """
    table = tables.get(query.bad_rows)
    if table is None:
        raise TableNotFoundError("the table for bad rows was dropped")
    _check_bad_row_table(table)
    streams = [tables[stream] for stream in query.streams if stream in tables]
    for stream in streams:
        _check_skippable(stream)
    return lambda snapshot: _bad_row_insert(table, streams, snapshot)


def _bad_row_insert(table: Table, streams: Sequence[Table], snapshot: QuerySnapshot) -> Insert:
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


def _check_bad_row_table(table: Table) -> None:
    """Raise BindError or UnsupportedError if bad rows cannot be written to a table."""
    as_bytes = types_of(_BAD_ROW_SCHEMA) | {RECORD: BINARY}
    check_fits(
        table, "bad rows", "target of a continuous insert", _BAD_ROW_SCHEMA, (as_bytes,), f"; {RECORD} may be BINARY"
    )


def _check_skippable(stream: Table) -> None:
    """Raise UnsupportedError if the bad records of a stream cannot be skipped."""
    source, storage = stream.stream, stream.storage
    what = f"ON BAD ROW SKIP TO with the stream {stream.qualified_name}"
    if source is None or source.kind not in _BAD_ROW_SOURCES:
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


_LATE_ROW_ROLE = "table of late rows"


def late_row_table(wanted: LateRows | None, session: EngineSession) -> Table | None:
    """Return the table for late rows, or None if none is wanted. A missing table is created.

    Raise BindError 42809 if the table does not fit.
    """
    if wanted is None:
        return None
    found = find_or_create(wanted.database, wanted.name, wanted.schema, session)
    check_fits(found, "late rows", _LATE_ROW_ROLE, wanted.schema)
    return found


def late_rows_of(query: ContinuousQuery, tables: Mapping[str, Table]) -> Table | None:
    """Return the table for the late rows of a query, or None if it has none.

    `tables` are the existing tables of the query's definition, by id. Raise TableNotFoundError if the table was
    dropped.
    """
    if not query.late_rows:
        return None
    found = tables.get(query.late_rows)
    if found is None:
        raise TableNotFoundError("the table for late rows was dropped")
    check_target(found, _LATE_ROW_ROLE)
    return found


def tables_of(view: EpochView) -> EpochTables:
    """Return the tables that a query's epochs write. Raise TableNotFoundError if one was dropped."""
    written, owner = view.table, view.owner
    if written is None or owner is None:
        raise TableNotFoundError(f"the table of the continuous query {view.query.query_id} was dropped")
    return EpochTables(written, owner, late_rows=late_rows_of(view.query, view.tables))
