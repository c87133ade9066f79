"""Writes of bucketed tables in a task: each block and file has rows of one bucket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import pyarrow as pa

from sharkpy.execution.tasks.buckets import BUCKET_COLUMN
from sharkpy.execution.tasks.new_files import write_file
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.execution.tasks.row_buckets import split_by_number
from sharkpy.execution.tasks.sinks import PAYLOAD_BYTES, SinkContext, conform, windows, write_block
from sharkpy.physical.sinks import BlockSink, FileSink
from sharkpy.values.types import arrow_schema

_PENDING_BLOCKS = 2
"""Limit, in full blocks, on the rows that wait in a task until their block is full."""
_ALL_ROWS = 1 << 62


def write_bucketed_blocks(
    batches: Iterable[pa.RecordBatch], sink: BlockSink, num_buckets: int, context: SinkContext
) -> Iterator[BlockResult]:
    """Write rows into blocks of one bucket each. The rows' last column is the bucket."""
    schema = arrow_schema(sink.schema)
    for bucket, table in bucket_tables(batches, schema, num_buckets, sink.block_rows, context.block_bytes):
        yield write_block(table, sink, context, bucket)


def write_bucketed_files(
    batches: Iterable[pa.RecordBatch], sink: FileSink, num_buckets: int, context: SinkContext
) -> Iterator[FileResult]:
    """Write rows into files of one bucket each, with the bucket in the name. The rows' last column is the bucket."""
    written: dict[int, int] = defaultdict(int)
    schema = arrow_schema(sink.schema)
    for bucket, table in bucket_tables(batches, schema, num_buckets, _ALL_ROWS, context.block_bytes):
        name = f"bucket-{bucket:05d}-part-{context.partition:05d}-{written[bucket]}"
        written[bucket] += 1
        yield from write_file(table.to_batches(), sink, name, context.temp_dir)


def bucket_tables(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, num_buckets: int, max_rows: int, max_bytes: int
) -> Iterator[tuple[int, pa.Table]]:
    """Yield tables of one bucket each with at most `max_rows`; fewer if the waiting rows would be too large."""
    pending: dict[int, list[pa.Table]] = defaultdict(list)
    sizes: dict[int, int] = defaultdict(int)
    for window in windows(batches, PAYLOAD_BYTES):
        table = pa.Table.from_batches(window)
        numbers = table.column(BUCKET_COLUMN).to_numpy()
        rows = table.drop_columns([BUCKET_COLUMN])
        for bucket, part in split_by_number(rows, numbers, num_buckets):
            conformed = pa.Table.from_batches([conform(batch, schema) for batch in part.to_batches()], schema)
            pending[bucket].append(conformed)
            sizes[bucket] += conformed.nbytes
            while sum(one.num_rows for one in pending[bucket]) >= max_rows:
                whole = pa.concat_tables(pending[bucket])
                yield bucket, whole.slice(0, max_rows)
                pending[bucket] = [whole.slice(max_rows)]
                sizes[bucket] = pending[bucket][0].nbytes
        while sum(sizes.values()) > _PENDING_BLOCKS * max_bytes:
            largest = max(sizes, key=lambda bucket: sizes[bucket])
            sizes.pop(largest)
            yield largest, pa.concat_tables(pending.pop(largest))
    for bucket in sorted(pending):
        whole = pa.concat_tables(pending[bucket])
        if whole.num_rows:
            yield bucket, whole
