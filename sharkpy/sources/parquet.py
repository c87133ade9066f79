"""Parquet: row groups as splits, columns by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sharkpy.sources.columns import batches_of, conform, file_columns, row_count_batch
from sharkpy.sources.failures import format_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.line_chunks import check_unchanged
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.output_file import output_file
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.types import STRING, Field, Schema, arrow_schema, from_arrow

ROW_GROUP_ROWS = 1_000_000
_DICTIONARY_VALUE_BYTES = 3
"""A string takes four bytes for its length alone where it is not a code."""
_COMPRESSIONS: dict[str, Any] = {
    "uncompressed": "none",
    "none": "none",
    "snappy": "snappy",
    "gzip": "gzip",
    "zstd": "zstd",
    "lz4": "lz4",
}


class ParquetSource:
    name = "parquet"

    def infer_schema(self, path: str) -> Schema:
        with _open(path) as file:
            return Schema(tuple(Field(f.name.lower(), from_arrow(f.type)) for f in file.schema_arrow))

    def splits(
        self,
        files: Sequence[DataFile],
        schema: Schema,  # noqa: ARG002 - the protocol's
        properties: Properties,
        split_bytes: int,
    ) -> list[Split]:
        splits = []
        for file in files:
            with _open(file.path) as parquet:
                sizes = [_group_size(parquet.metadata, group) for group in range(parquet.num_row_groups)]
            for start, length in packed([size for size, _ in sizes], split_bytes):
                rows = sum(rows for _, rows in sizes[start : start + length])
                identity = (file.size_bytes, file.modified_ns, rows, file.partition)
                splits.append(Split(file.path, self.name, properties, start, length, *identity))
        return splits

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        check_unchanged(split)
        with _open(split.path) as file:
            found = file_columns(file.schema_arrow.names, schema, names)
            for group in range(split.start, split.start + split.length):
                rows = file.metadata.row_group(group).num_rows
                if metrics is not None:
                    metrics.rows += rows
                    metrics.bytes += _column_bytes(file.metadata, group, set(found.values()))
                if not found and not names:
                    yield row_count_batch(rows)
                    continue
                try:
                    table = file.read_row_group(group, columns=list(found.values()), use_threads=pa.cpu_count() > 1)
                except (pa.ArrowException, OSError) as error:
                    raise format_error(split.path, "Parquet", error) from None
                if not found:
                    table = pa.Table.from_batches([row_count_batch(rows)])
                yield from batches_of(conform(table, found, schema, names, split.path), max(rows, 1))

    def read_coded(self, split: Split, schema: Schema, metrics: ReadMetrics) -> pa.Table:
        """All columns of a split in one piece; strings of few values as Arrow dictionaries, where it costs nothing."""
        check_unchanged(split)
        groups = range(split.start, split.start + split.length)
        with _open(split.path) as file:
            found = file_columns(file.schema_arrow.names, schema, schema.names)
            coded = _coded_columns(file.metadata, groups, found, schema)
            metadata = file.metadata
        rows = sum(metadata.row_group(group).num_rows for group in groups)
        metrics.rows += rows
        metrics.bytes += sum(_column_bytes(metadata, group, set(found.values())) for group in groups)
        if not found:
            return conform(pa.Table.from_batches([row_count_batch(rows)]), found, schema, schema.names, split.path)
        with _open(split.path, metadata, [found[name] for name in coded]) as file:
            try:
                table = file.read_row_groups(list(groups), columns=list(found.values()), use_threads=False)
            except (pa.ArrowException, OSError) as error:
                raise format_error(split.path, "Parquet", error) from None
        return conform(table, found, schema, schema.names, split.path, coded)

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int:
        target, num_rows = arrow_schema(schema), 0
        codec = _COMPRESSIONS.get(dict(properties).get("parquet.compression", "snappy").lower(), "snappy")
        with output_file(path) as file, pq.ParquetWriter(file, target, compression=codec) as writer:
            for table in _groups(batches, target):
                writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
                num_rows += table.num_rows
        return num_rows


def packed(sizes: Sequence[int], split_bytes: int) -> Iterator[tuple[int, int]]:
    """Runs (start, length) of neighbours whose sizes add up to at most `split_bytes`, or single ones."""
    start, total = 0, 0
    for index, size in enumerate(sizes):
        if index > start and total + size > split_bytes:
            yield start, index - start
            start, total = index, 0
        total += size
    if start < len(sizes):
        yield start, len(sizes) - start


def _groups(batches: Iterable[pa.RecordBatch], target: pa.Schema) -> Iterator[pa.Table]:
    """Tables of about a row group each."""
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        if rows >= ROW_GROUP_ROWS:
            yield pa.Table.from_batches(pending).rename_columns(target.names).cast(target)
            pending, rows = [], 0
    if rows:
        yield pa.Table.from_batches(pending).rename_columns(target.names).cast(target)


def _coded_columns(
    metadata: pq.FileMetaData, groups: Iterable[int], found: dict[str, str], schema: Schema
) -> frozenset[str]:
    """The table's STRING columns that the file itself keeps as dictionaries, to go by their size."""
    totals: dict[str, tuple[int, int]] = {}
    for group in groups:
        row_group = metadata.row_group(group)
        for index in range(row_group.num_columns):
            chunk = row_group.column(index)
            size, values = totals.get(chunk.path_in_schema, (0, 0))
            totals[chunk.path_in_schema] = (size + chunk.total_uncompressed_size, values + chunk.num_values)
    strings = {name: stored for name, stored in found.items() if schema[name].dtype == STRING and stored in totals}
    return frozenset(
        name for name, stored in strings.items() if totals[stored][0] < _DICTIONARY_VALUE_BYTES * totals[stored][1]
    )


def _open(
    path: str, metadata: pq.FileMetaData | None = None, dictionaries: Sequence[str] | None = None
) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(
            path,
            metadata=metadata,
            read_dictionary=list(dictionaries or ()),
            memory_map=True,
            coerce_int96_timestamp_unit="us",
        )
    except (pa.ArrowException, OSError) as error:
        raise format_error(path, "Parquet", error) from None


def _group_size(metadata: pq.FileMetaData, group: int) -> tuple[int, int]:
    row_group = metadata.row_group(group)
    size = sum(row_group.column(i).total_compressed_size for i in range(row_group.num_columns))
    return size, row_group.num_rows


def _column_bytes(metadata: pq.FileMetaData, group: int, names: set[str]) -> int:
    row_group = metadata.row_group(group)
    columns = (row_group.column(index) for index in range(row_group.num_columns))
    return sum(c.total_compressed_size for c in columns if c.path_in_schema.split(".")[0] in names)
