"""Metadata tables of a Delta table: t.snapshots and t.history with its versions, and t.files."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.system_tables import SystemTable
from sharkpy.sources.lake.delta.history import versions
from sharkpy.sources.lake.fact_table import Row, Rows, fact_table, moment_of
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.values.types import BIGINT, STRING, TIMESTAMP, Field, MapType, Schema

_VERSIONS = Schema(
    (
        Field("version", BIGINT),
        Field("timestamp", TIMESTAMP, "when it was committed, in UTC"),
        Field("operation", STRING),
        Field("operation_parameters", MapType(STRING, STRING)),
    )
)
_FILES = Schema((Field("path", STRING), Field("size", BIGINT), Field("num_records", BIGINT)))


def facts_of(table: LakeTable, what: str) -> SystemTable:
    if what not in _FACTS:
        raise UnsupportedError(f"{table.qualified_name}.{what} of a table of Delta")
    schema, rows = _FACTS[what]
    return fact_table(table, what, schema, rows)


def _versions(table: LakeTable) -> Iterator[Row]:
    """Versions up to the one that is read, the first one first."""
    found = table.handle
    for one in versions(found.table, found.place):
        if one["version"] <= (table.snapshot.number or 0):
            moment = moment_of(one.get("timestamp") or 0)
            given = [(key, str(value)) for key, value in (one.get("operationParameters") or {}).items()]
            yield one["version"], moment, one.get("operation"), given


def _files(table: LakeTable) -> Iterator[Row]:
    for row in pa.table(table.handle.table.get_add_actions(flatten=True)).to_pylist():
        yield row["path"], row["size_bytes"], row.get("num_records")


_FACTS: dict[str, tuple[Schema, Rows]] = {
    "snapshots": (_VERSIONS, _versions),
    "history": (_VERSIONS, _versions),
    "files": (_FILES, _files),
}
