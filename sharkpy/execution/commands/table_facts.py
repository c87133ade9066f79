"""Facts of a table for SHOW TABLE EXTENDED and DESCRIBE EXTENDED, under the names that dbt reads."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.catalog.hive_formats import provider_of
from sharkpy.catalog.model import PolicyKind, Table, TableKind
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.data_files import files_if_listed

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
    version = cache.known_version(table) if is_whole else None
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
