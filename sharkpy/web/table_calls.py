"""Calls about one table: its definition, its size, its files and its history."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SharkError
from sharkpy.base.records import dataclass
from sharkpy.catalog.hive_formats import provider_of
from sharkpy.execution.commands.show_create_table import show_create_table
from sharkpy.execution.commands.table_facts import shown_properties, stream_facts
from sharkpy.execution.commands.table_statistics import current_statistics
from sharkpy.execution.tables.data_files import files_if_listed
from sharkpy.plan.commands import ShowCreateTable
from sharkpy.web.catalog_calls import kind_of, system_table, table_of
from sharkpy.web.listings import check_parameters, number, page_of
from sharkpy.web.requests import ApiRequest, Parameter

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.sources.layout import DataFile

_MOST_FILES = 500
_MOST_CHANGES = 200


@dataclass(frozen=True, slots=True)
class NamedText:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """Definition of a table. `ddl` is the answer of SHOW CREATE TABLE, or null if there is none.

    `facts`: what DESCRIBE shows of streams and continuous queries. `has_files`: its rows may be in files.
    `has_history`: its versions are recorded.
    """

    database: str
    name: str
    kind: str
    comment: str | None
    owner: str
    created: datetime | None
    format: str | None
    location: str | None
    num_columns: int
    partition_columns: list[str]
    bucket_columns: list[str]
    num_buckets: int | None
    properties: list[NamedText]
    facts: list[NamedText]
    ddl: str | None
    has_files: bool
    has_history: bool
    is_cached: bool
    """Whether queries read it in memory."""


def table(request: ApiRequest) -> TableAnswer:
    if (system := system_table(request)) is not None:
        return TableAnswer(
            *(system.database, system.name, "system table", None, "", None, None, None, len(system.schema.fields)),
            *([], [], None, [], [], None),
            has_files=False,
            has_history=False,
            is_cached=False,
        )
    session, found = request.parts.engine_session, table_of(request)
    buckets = found.buckets
    return TableAnswer(
        found.database,
        found.name,
        kind_of(found),
        found.comment,
        found.owner,
        datetime.fromtimestamp(found.created_at, UTC) if found.created_at else None,
        None if found.is_view or found.has_no_rows else provider_of(found.storage),
        None if found.location is None else uri.redacted(found.location),
        len(found.shown_schema.fields),
        list(found.partition_columns),
        [] if buckets is None else list(buckets.columns),
        None if buckets is None else buckets.num_buckets,
        [NamedText(name, value) for name, value in shown_properties(found)],
        [NamedText(name, value) for name, value in stream_facts(found, session.catalog)],
        _ddl(request, found),
        has_files=found.location is not None and not found.is_view and not found.has_no_rows,
        has_history=session.catalog.has_history(found),
        is_cached=session.table_cache.is_cached(found),
    )


def _ddl(request: ApiRequest, found: Table) -> str | None:
    try:
        lines = show_create_table(ShowCreateTable(found), request.parts.engine_session).table
    except SharkError:
        # The format of a table that another system has made may have no statement.
        return None
    return None if lines is None else "\n".join(map(str, lines.column(0).to_pylist()))


@dataclass(frozen=True, slots=True)
class TableSizeAnswer:
    """Size of a table. Figures that are not known without reading rows are null.

    `rows_from`: memory, or statistics of ANALYZE TABLE that are up to date.
    """

    num_files: int | None
    bytes: int | None
    rows: int | None
    rows_from: str | None


def size(request: ApiRequest) -> TableSizeAnswer:
    """Return the size of a table. This lists its files, which may take a while if they are remote."""
    session = request.parts.engine_session
    found = None if system_table(request) is not None else table_of(request)
    if found is None or found.is_view or found.has_no_rows:
        return TableSizeAnswer(None, None, None, None)
    files = files_if_listed(found, None, session.catalog) if found.location is not None else None
    version = session.table_cache.loaded_version(found) if session.table_cache.is_cached(found) else None
    # A policy may hold some Hive partitions only.
    rows, rows_from = (None, None) if version is None or found.is_partitioned else (version.num_rows, "memory")
    if rows is None and (statistics := current_statistics(found, None, session)) is not None:
        rows, rows_from = statistics.num_rows, "statistics"
    return TableSizeAnswer(
        None if files is None else len(files),
        None if files is None else sum(one.size_bytes for one in files),
        rows,
        None if rows is None else rows_from,
    )


FILE_PARAMETERS = (
    Parameter("offset", "Files that are left out at the beginning", int),
    Parameter("limit", f"Most files, at most {_MOST_FILES}", int),
)


@dataclass(frozen=True, slots=True)
class TableFile:
    path: str
    bytes: int
    modified: datetime | None
    partition: str


@dataclass(frozen=True, slots=True)
class FilesAnswer:
    """Page of the files that a query reads now. `num_files` is null if they cannot be listed."""

    files: list[TableFile]
    num_files: int | None
    bytes: int | None


def files(request: ApiRequest) -> FilesAnswer:
    shown = page_of(request, FILE_PARAMETERS, 100, _MOST_FILES, 1_000_000_000)
    session = request.parts.engine_session
    found = None if system_table(request) is not None else table_of(request)
    if found is None or found.location is None or found.is_view or found.has_no_rows:
        return FilesAnswer([], 0, 0)
    listed = files_if_listed(found, None, session.catalog)
    if listed is None:
        return FilesAnswer([], None, None)
    return FilesAnswer([_file(one) for one in listed[shown]], len(listed), sum(one.size_bytes for one in listed))


def _file(file: DataFile) -> TableFile:
    modified = datetime.fromtimestamp(file.modified_ns / 1e9, UTC) if file.modified_ns > 0 else None
    return TableFile(uri.redacted(file.path), file.size_bytes, modified, file.partition)


HISTORY_PARAMETERS = (
    Parameter("before", "The versions before this one", int),
    Parameter("limit", f"Most versions, at most {_MOST_CHANGES}", int),
)


@dataclass(frozen=True, slots=True)
class TableChange:
    """Version of a table. `user` and `statement` are null if the reader may not see the user's statements."""

    version: int
    time: datetime
    user: str | None
    statement: str | None
    files_added: int
    files_removed: int
    rows_added: int | None
    rows_removed: int | None


@dataclass(frozen=True, slots=True)
class HistoryAnswer:
    """Page of a table's versions, the newest first. `next` is `before` of the next page, or null."""

    changes: list[TableChange]
    next: int | None


def history(request: ApiRequest) -> HistoryAnswer:
    check_parameters(request, HISTORY_PARAMETERS)
    before = number(request, "before", 1 << 50, 0, 1 << 50)
    limit = number(request, "limit", 50, 1, _MOST_CHANGES)
    session = request.parts.engine_session
    found = None if system_table(request) is not None else table_of(request)
    if found is None or not session.catalog.has_history(found):
        return HistoryAnswer([], None)
    changes = session.catalog.history.changes(found.table_id, 0, before - 1, limit + 1)
    page = [
        TableChange(
            one.version,
            datetime.fromtimestamp(one.time_ms / 1000, UTC),
            one.user if request.reader.sees(one.user) else None,
            one.statement if request.reader.sees(one.user) else None,
            one.files_added,
            one.files_removed,
            one.rows_added,
            one.rows_removed,
        )
        for one in changes[:limit]
    ]
    return HistoryAnswer(page, page[-1].version if len(changes) > limit else None)
