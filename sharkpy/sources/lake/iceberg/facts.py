"""Metadata tables of an Iceberg table: t.snapshots, t.history, t.files, t.refs."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.catalog.system_tables import SystemTable
from sharkpy.sources.lake.fact_table import Row, Rows, fact_table, moment_of
from sharkpy.sources.lake.iceberg.live_files import live_files
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.values.types import BIGINT, BOOLEAN, INT, STRING, TIMESTAMP, Field, MapType, Schema

_SNAPSHOTS = Schema(
    (
        Field("committed_at", TIMESTAMP, "when it was committed, in UTC"),
        Field("snapshot_id", BIGINT),
        Field("parent_id", BIGINT),
        Field("operation", STRING),
        Field("manifest_list", STRING),
        Field("summary", MapType(STRING, STRING)),
    )
)
_HISTORY = Schema(
    (
        Field("made_current_at", TIMESTAMP, "in UTC"),
        Field("snapshot_id", BIGINT),
        Field("parent_id", BIGINT),
        Field("is_current_ancestor", BOOLEAN),
    )
)
_FILES = Schema(
    (
        Field("content", INT, "0: rows, 1: deletes by position, 2: deletes by equality"),
        Field("file_path", STRING),
        Field("file_format", STRING),
        Field("spec_id", INT),
        Field("record_count", BIGINT),
        Field("file_size_in_bytes", BIGINT),
    )
)
_REFS = Schema((Field("name", STRING), Field("type", STRING), Field("snapshot_id", BIGINT)))


def facts_of(table: LakeTable, what: str) -> SystemTable:
    schema, rows = _FACTS[what]
    return fact_table(table, what, schema, rows)


def _snapshots(table: LakeTable) -> Iterator[Row]:
    for one in table.handle.metadata.snapshots:
        summary = one.summary
        operation = None if summary is None else summary.operation.value
        figures = {} if summary is None else dict(summary.additional_properties)
        moment = moment_of(one.timestamp_ms)
        yield moment, one.snapshot_id, one.parent_snapshot_id, operation, one.manifest_list, list(figures.items())


def _history(table: LakeTable) -> Iterator[Row]:
    metadata = table.handle.metadata
    known = {one.snapshot_id: one.parent_snapshot_id for one in metadata.snapshots}
    ancestors, current = set(), metadata.current_snapshot_id
    while current is not None and current not in ancestors:
        ancestors.add(current)
        current = known.get(current)
    for entry in metadata.snapshot_log:
        number = entry.snapshot_id
        yield moment_of(entry.timestamp_ms), number, known.get(number), number in ancestors


def _files(table: LakeTable) -> Iterator[Row]:
    """Files of the table's snapshot, with the delete files."""
    if table.snapshot.number is None:
        return
    seen = set()
    for one in live_files(table.handle, table.snapshot.number)[0]:
        for file in (one.file, *one.deletes):
            if file.file_path not in seen:
                seen.add(file.file_path)
                form, size = file.file_format.value, file.file_size_in_bytes
                yield int(file.content), file.file_path, form, file.spec_id, file.record_count, size


def _refs(table: LakeTable) -> Iterator[Row]:
    for name, ref in table.handle.metadata.refs.items():
        yield name, ref.snapshot_ref_type.value.upper(), ref.snapshot_id


_FACTS: dict[str, tuple[Schema, Rows]] = {
    "snapshots": (_SNAPSHOTS, _snapshots),
    "history": (_HISTORY, _history),
    "files": (_FILES, _files),
    "refs": (_REFS, _refs),
}
