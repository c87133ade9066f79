"""Facts about tables, streams, continuous queries and their watermarks, for SHOW and DESCRIBE.

Tables have the names that dbt reads.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SharkError, SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery, Position
from sharkpy.catalog.hive_formats import provider_of
from sharkpy.catalog.kafka_options import shown_options
from sharkpy.catalog.model import PolicyKind, StreamSource, Table, TableKind
from sharkpy.catalog.stream_kinds import TABLE
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.run_plan import query_rows
from sharkpy.execution.tables.data_files import files_if_listed, table_files
from sharkpy.sql.binder import bind_state_progress

if TYPE_CHECKING:
    from sharkpy.execution.tables.table_cache import TableCache

_TYPES = {
    TableKind.MANAGED: "MANAGED",
    TableKind.EXTERNAL: "EXTERNAL",
    TableKind.TEMPORARY: "TEMPORARY",
    TableKind.VIEW: "VIEW",
    TableKind.TEMPORARY_VIEW: "VIEW",
    TableKind.STREAM: "STREAM",
    TableKind.CONTINUOUS_INSERT: "CONTINUOUS INSERT",
    TableKind.CONTINUOUS_SINK: "CONTINUOUS SINK",
}


_SHOWN_TEXT = 200
"""Longest property value, in characters, that DESCRIBE shows whole; a model's text is longer."""


def shown_properties(table: Table) -> Iterator[tuple[str, str]]:
    """Properties by name with long values shortened; SHOW TBLPROPERTIES shows them whole."""
    for key, value in sorted(table.properties):
        is_long = len(value) > _SHOWN_TEXT
        yield key, f"{value[: _SHOWN_TEXT // 2]}… ({len(value):,} characters)" if is_long else value


def table_facts(table: Table, statistics: str | None) -> Iterator[tuple[str, str]]:
    yield "Database", table.database
    yield "Table", table.name
    yield "Owner", table.owner
    yield "Created Time", time_text(table)
    yield "Last Access", "UNKNOWN"
    yield "Type", _TYPES[table.kind]
    if table.comment is not None:
        yield "Comment", table.comment
    if table.is_view:
        yield "View Text", table.view_text or ""
        yield "View Original Text", table.written_text or table.view_text or ""
    elif not table.is_continuous_insert:
        yield "Provider", provider_of(table.storage)
    if table.properties:
        yield "Table Properties", f"[{', '.join(f'{key}={value}' for key, value in shown_properties(table))}]"
    if statistics is not None:
        yield "Statistics", statistics
    if table.location is not None:
        yield "Location", uri.redacted(table.location)
    if table.is_partitioned:
        yield "Partition Columns", f"[{', '.join(f'`{name}`' for name in table.partition_columns)}]"


def memory_statistics(table: Table, cache: TableCache) -> str | None:
    """Return `N bytes, M rows` for a table in memory, or None if it is not loaded, without reading files."""
    is_whole = not table.is_view and table.cache_policy.kind is PolicyKind.ALL
    version = cache.loaded_version(table) if is_whole else None
    return None if version is None else f"{version.size_bytes} bytes, {version.num_rows} rows"


def file_statistics(table: Table, session: EngineSession) -> str | None:
    """Return `N bytes` for a table's current files, or None if they cannot be listed."""
    if table.is_view or table.location is None:
        return None
    files = files_if_listed(table, None, session.catalog)
    return None if files is None else f"{sum(file.size_bytes for file in files)} bytes"


def schema_tree(table: Table) -> Iterator[str]:
    """Lines of a schema in Spark's layout with Hive's type names. Nested types take one line."""
    yield "Schema: root"
    for field in table.schema:
        yield f" |-- {field.name}: {field.dtype} (nullable = true)"


def time_text(table: Table) -> str:
    created = datetime.datetime.fromtimestamp(table.created_at, datetime.UTC)
    return created.strftime("%a %b %d %H:%M:%S UTC %Y")


Fact = tuple[str, str]


def stream_facts(table: Table, catalog: Catalog) -> list[Fact]:
    """Return facts about a stream, continuous table or continuous insert; an empty list for other tables."""
    if table.stream is not None:
        source = current_source(table, table.stream, catalog)
        options = ", ".join(f"{key}={value}" for key, value in shown_options(source.options))
        place = f" {source.place}" if source.kind == TABLE.name else ""
        return [
            ("Source", f"{source.kind}{place}{f' ({options})' if options else ''}"),
            *([("Known Items", str(catalog.streams.end(table.table_id)))] if table.location else []),
        ]
    query = catalog.streams.find(table.continuous) if table.continuous else None
    return [] if query is None else [*_sink_fact(table), *_query_facts(query, catalog), *_state_facts(table, catalog)]


def _sink_fact(table: Table) -> Iterator[Fact]:
    """Fact about a sink that does not write to a folder."""
    if table.sink is not None:
        options = ", ".join(f"{key}={value}" for key, value in shown_options(table.sink.options))
        yield "Sink", f"{table.sink.kind}{f' ({options})' if options else ''}"


def current_source(stream: Table, source: StreamSource, catalog: Catalog) -> StreamSource:
    """Return a stream's source, with the current name of the table that it reads."""
    table = catalog.source_of(stream)
    return source if table is None else replace(source, place=table.qualified_name)


def _query_facts(query: ContinuousQuery, catalog: Catalog) -> Iterator[Fact]:
    yield "Continuous Query", query.text
    yield "Trigger", str(query.trigger)
    yield "State", query.state.value
    if query.fault:
        yield "Fault", query.fault
    yield "Epoch", str(query.epoch)
    for target in query.targets:
        table = catalog.current_table(target)
        yield "Target", "a table that was dropped" if table is None else table.qualified_name
    if query.bad_rows:
        table = catalog.current_table(query.bad_rows)
        yield "Bad Rows To", "a table that was dropped" if table is None else table.qualified_name
    if query.late_rows:
        table = catalog.current_table(query.late_rows)
        yield "Late Rows To", "a table that was dropped" if table is None else table.qualified_name
    if query.start_words:
        yield "Start", query.start_words
    for stream in query.streams:
        table = catalog.current_table(stream)
        name = stream if table is None else table.qualified_name
        known = 0 if table is None or table.location is None else catalog.streams.end(stream)
        yield f"Offset of {name}", f"{_text(query.offset(stream))}{f' of {known}' if known else ''}"


def _state_facts(table: Table, catalog: Catalog) -> Iterator[Fact]:
    """Facts about the state that a continuous table keeps between epochs."""
    state = catalog.state_table(table)
    if state is None:
        return
    if table.emit is not None:
        yield "Emit", table.emit.value
    with suppress(SourceError):
        files = table_files(state, catalog)
        yield "Kept State", f"{sum(file.size_bytes for file in files)} bytes in {len(files)} files"


def _text(position: Position) -> str:
    return ", ".join(map(str, position)) or "0"


@dataclass(frozen=True, slots=True)
class StreamProgress:
    """Event times that the state of a continuous query has reached, by stream; None: no time has come.

    `watermark` is the least one, which counts; streams that are idle do not count. `held_back_by` is the stream with
    the least one, if there are several. `late_rows` is None if no row can be late.
    """

    watermarks: dict[str, datetime.datetime | None]
    watermark: datetime.datetime | None
    held_back_by: str | None
    late_rows: int | None
    idle: frozenset[str] = frozenset()
    """Streams that are idle by the clock of the look."""
    may_be_idle: bool = False
    """True if a stream of several may be idle."""


def stream_progress(table: Table, session: EngineSession) -> StreamProgress | None:
    """Return the progress of a table's query; None for a table without state or with a failing query."""
    from sharkpy.sql.incremental.divided_query import IS_IDLE, LATE_ROWS, NOT_IDLE

    state = session.catalog.state_table(table) if table.has_state else None
    query = None if state is None else session.catalog.streams.find(state.continuous)
    if state is None or query is None:
        return None
    try:
        plan = bind_state_progress(query.text, state, session.catalog, session.conf, query.database)
    except SharkError:
        return None
    if not plan.output:
        return None
    with session.as_statement():
        (row,) = (batch for batch in query_rows(session, plan) if batch.num_rows)
    names = [column.name for column in plan.output]
    values = [column.to_pylist()[0] for column in row.columns]
    found = dict(zip(names, values, strict=True))
    late = int(found.pop(LATE_ROWS) or 0) if LATE_ROWS in found else None
    idle = frozenset(name.removeprefix(IS_IDLE) for name, value in found.items() if name.startswith(IS_IDLE) and value)
    watermarks = {name: value for name, value in found.items() if not name.startswith((IS_IDLE, NOT_IDLE))}
    active = [name for name in watermarks if name not in idle]
    held_back_by = min(active, key=lambda name: (watermarks[name] is not None, watermarks[name]), default=None)
    least = watermarks[held_back_by] if held_back_by is not None else None
    return StreamProgress(
        watermarks,
        found.get(NOT_IDLE, least),
        held_back_by if len(watermarks) > 1 else None,
        late,
        idle,
        may_be_idle=NOT_IDLE in found,
    )


def watermark_facts(table: Table, session: EngineSession) -> list[Fact]:
    """Return facts about a table's watermarks; none for a table without state or with a failing query."""
    progress = stream_progress(table, session)
    return [] if progress is None else list(_progress_facts(progress))


def _progress_facts(progress: StreamProgress) -> Iterator[Fact]:
    from sharkpy.sql.incremental.divided_query import NOT_IDLE

    shown = dict(progress.watermarks)
    if progress.may_be_idle:
        shown[NOT_IDLE] = progress.watermark
    for name, value in shown.items():
        yield f"Watermark of {name}", "no time has come" if value is None else str(value)
    for name in sorted(progress.idle):
        yield "Idle Stream", name
    if progress.held_back_by is not None:
        yield "Held Back By", progress.held_back_by
    if progress.late_rows is not None:
        yield "Late Rows", str(progress.late_rows)
