"""Sinks of a task's batches: payloads for an exchange or the driver, blocks of the store, new data files.

Each file is written on this machine and gets its name when it is complete.
"""

from __future__ import annotations

import functools
import itertools
import os
import struct
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.base import uri
from sharkpy.base.records import dataclass
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.physical.stage_program import BlockSink, FileSink
from sharkpy.sources.file_errors import io_error
from sharkpy.values.nested_arrow import cast_column
from sharkpy.values.types import Schema, arrow_schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from sharkpy.sources.storage.store import Store

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


Rows = Iterator[pa.RecordBatch]
MOST_OBJECT_BYTES = 1 << 30
"""Arrow bytes above which rows go to another remote file, so that a task needs disk space for only one."""


def write_file(
    batches: Iterable[pa.RecordBatch], sink: FileSink, name: str, temp_dir: str = ""
) -> Iterator[FileResult]:
    """Write rows to the file `name`, or to several remote ones. Without rows, no file is written.

    The folder exists while the statement runs; a task that outlives it must not recreate it. Remote files are written
    in `temp_dir` first (default: the system's), and have distinct names in each attempt.
    """
    from sharkpy.sources.formats import file_suffix

    schema = arrow_schema(sink.schema)
    filled = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches if batch.num_rows)
    first = next(filled, None)
    suffix = file_suffix(sink.format, sink.properties)
    if first is None:
        return
    if uri.is_remote(sink.directory):
        yield from _put_files(first, filled, sink, f"{name}-{uuid.uuid4().hex}", suffix, temp_dir)
    else:
        yield _local_file(itertools.chain([first], filled), sink, name, suffix)


def _local_file(rows: Rows, sink: FileSink, name: str, suffix: str) -> FileResult:
    folder = Path(sink.directory)
    path = folder / f"{name}{suffix}"
    # A distinct name for each attempt, as two of them may run at once.
    attempt = folder / f".{name}-{uuid.uuid4().hex}{suffix}"
    try:
        num_rows = _write(rows, sink, attempt, lambda: attempt.replace(path))
    except BaseException:
        attempt.unlink(missing_ok=True)
        raise
    return FileResult(str(path), num_rows, path.stat().st_size)


def _put_files(
    first: pa.RecordBatch, rest: Rows, sink: FileSink, name: str, suffix: str, temp_dir: str
) -> Iterator[FileResult]:
    """Upload the rows as one or more objects. Only one of them is on this machine's disk at a time."""
    from sharkpy.sources.open_files import store_for_access

    store = store_for_access(sink.directory, sink.access)
    number = 0
    following: pa.RecordBatch | None = first
    while following is not None:
        path = uri.join(sink.directory, f"{name}-{number:04d}{suffix}")
        yield _put_file(_up_to(MOST_OBJECT_BYTES, following, rest), sink, path, store, temp_dir)
        number, following = number + 1, next(rest, None)


def _put_file(rows: Rows, sink: FileSink, path: str, store: Store, temp_dir: str) -> FileResult:
    try:
        with tempfile.TemporaryDirectory(prefix=f"sharkpy-{os.getpid()}-", dir=temp_dir or None) as folder:
            attempt = Path(folder, uri.name_of(path))
            num_rows = _write(rows, sink, attempt, lambda: None)
            with open(attempt, "rb") as file:
                facts = store.put(path, file)
    except OSError as error:
        raise io_error(error, temp_dir) from None
    return FileResult(path, num_rows, facts.size_bytes, facts.modified_ns, facts.tag)


def _write(rows: Rows, sink: FileSink, attempt: Path, place: Callable[[], object]) -> int:
    """Write a file under a temporary name, call `place`, and return the number of rows."""
    from sharkpy.sources.formats import source
    from sharkpy.sources.new_files import rows_cache
    from sharkpy.sources.parquet import ParquetSource

    writer, kept = source(sink.format), rows_cache(sink.directory)
    file = None if kept is None else kept.begin_file()
    try:
        if file is not None and isinstance(writer, ParquetSource):
            num_rows = writer.write(rows, sink.schema, sink.properties, str(attempt), file.add)
            file.end(attempt)
        else:
            num_rows = writer.write(rows, sink.schema, sink.properties, str(attempt))
        place()
    except BaseException:
        if file is not None:
            file.drop()
        raise
    return num_rows


def _up_to(most_bytes: int, first: pa.RecordBatch, rest: Rows) -> Rows:
    """Yield `first` and further batches until they have `most_bytes`."""
    size = 0
    batch: pa.RecordBatch | None = first
    while batch is not None:
        yield batch
        size += batch.get_total_buffer_size()
        batch = next(rest, None) if size < most_bytes else None


_MODULUS = 1 << 64


def row_checksum(rows: pa.Table) -> int:
    """Return the sum of the rows' hashes: equal for equal rows in any order, and additive over tables."""
    if not rows.num_rows:
        return 0
    columns = [f"c{index}" for index in range(rows.num_columns)]
    cursor = _database().cursor()
    try:
        cursor.register("checked", rows.rename_columns(columns))
        ((total,),) = cursor.execute(f"SELECT sum(hash({', '.join(columns)})) FROM checked").fetchall()
    finally:
        cursor.close()
    return int(total) % _MODULUS


def total_checksum(checksums: list[int]) -> int:
    """Return the checksum of several tables together."""
    return sum(checksums) % _MODULUS


@functools.cache
def _database() -> DuckDBPyConnection:
    import duckdb

    return duckdb.connect(config={"threads": 1})
