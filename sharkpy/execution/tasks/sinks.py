"""Sinks of a task's batches: payloads for an exchange or the driver, blocks of the store, files (see `new_files`)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sharkpy.execution.tasks.new_files import write_file
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.execution.tasks.row_checksum import row_checksum
from sharkpy.physical.sinks import BlockSink, FileSink
from sharkpy.values.nested_arrow import cast_column
from sharkpy.values.types import Schema

PAYLOAD_BYTES = 64 << 20
"""Arrow bytes gathered before payloads are made; bounds a task's memory and a payload's size."""


@dataclass(frozen=True, slots=True)
class Payload:
    """Payload for `bucket`: an Arrow stream after a header that names its exchange."""

    bucket: int
    data: pa.Buffer
    num_rows: int


@dataclass(frozen=True, slots=True)
class SinkContext:
    """Context of sinks: the store's writer, limits and encoding of blocks, and a temporary folder.

    Remote files are written in the temporary folder first.
    """

    partition: int = 0
    exchange_id: int = 0
    writer: Any = None
    block_bytes: int = 256 << 20
    force_encoding: str = ""
    temp_dir: str = ""


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return `batch` with the names and Arrow types of `schema`, column by column."""
    columns = [cast_column(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def encode_payload(header: int, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    sink.write(struct.pack("<q", header))
    with pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def single_payloads(batches: Iterable[pa.RecordBatch], schema: pa.Schema, header: int) -> Iterator[Payload]:
    """Yield payloads of all rows for bucket 0; none without rows."""
    for window in windows(batches, PAYLOAD_BYTES):
        yield Payload(0, encode_payload(header, schema, window), sum(batch.num_rows for batch in window))


def windows(batches: Iterable[pa.RecordBatch], limit: int) -> Iterator[list[pa.RecordBatch]]:
    """Group batches into runs of about `limit` bytes, without empty batches."""
    window: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        window.append(batch)
        size += batch.get_total_buffer_size() if batch.num_rows > 1 else 1
        if size >= limit:
            yield window
            window, size = [], 0
    if window:
        yield window


def write_blocks(batches: Iterable[pa.RecordBatch], sink: BlockSink, context: SinkContext) -> Iterator[BlockResult]:
    """Write rows into encoded blocks of at most `block_rows`. A task without rows stores nothing."""
    for table in block_tables(batches, sink.schema, sink.block_rows, context.block_bytes):
        yield write_block(table, sink, context)


def write_block(table: pa.Table, sink: BlockSink, context: SinkContext, bucket: int | None = None) -> BlockResult:
    from sharkpy.columnar.block import encode_block

    encoded = encode_block(table, sink.schema, force_encoding=context.force_encoding)
    handle = context.writer.write(encoded, sink.durable_dir)
    checksum = row_checksum(table) if sink.is_checked else None
    return BlockResult(replace(handle, bucket=bucket, checksum=checksum), encoded.statistics, context.partition)


def block_tables(
    batches: Iterable[pa.RecordBatch], schema: Schema, block_rows: int, block_bytes: int
) -> Iterator[pa.Table]:
    """Yield tables of `block_rows` rows, or fewer if these reach `block_bytes`."""
    pending: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        whole = batch
        while whole.num_rows:
            part = whole.slice(0, block_rows - rows)
            whole = whole.slice(part.num_rows)
            pending.append(part)
            rows += part.num_rows
            size += part.nbytes
            if rows >= block_rows or size >= block_bytes:
                yield _named(pa.Table.from_batches(pending), schema)
                pending, rows, size = [], 0, 0
    if pending:
        yield _named(pa.Table.from_batches(pending), schema)


def _named(table: pa.Table, schema: Schema) -> pa.Table:
    return table.rename_columns(list(schema.names))


def write_files(batches: Iterable[pa.RecordBatch], sink: FileSink, context: SinkContext) -> Iterator[FileResult]:
    """Write rows to one file, or to several remote ones. A task without rows writes none."""
    yield from write_file(batches, sink, f"{sink.stem}-{context.partition:05d}", context.temp_dir)
