"""Writes of a task that divide its rows: into buckets, or into the folders of Hive partitions."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base import uri
from sharkpy.base.errors import ResourceError
from sharkpy.base.settings import MAX_TASK_PARTITIONS, Setting
from sharkpy.catalog.hive_partition import partition_name
from sharkpy.execution.tasks.buckets import BUCKET_COLUMN, split_by_number
from sharkpy.execution.tasks.report import BlockResult, FileResult
from sharkpy.execution.tasks.sinks import PAYLOAD_BYTES, SinkContext, conform, windows, write_block, write_file
from sharkpy.physical.stage_program import BlockSink, FileSink
from sharkpy.sources.column_conversion import convert_columns
from sharkpy.sources.staged_files import staged_subfolder
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


def write_partitioned_files(
    batches: Iterable[pa.RecordBatch], sink: FileSink, context: SinkContext
) -> Iterator[FileResult]:
    """Write a file for each run of rows of one Hive partition. Only one file is open at a time.

    Raise ResourceError if there are more partitions than the sink allows.
    """
    files: Counter[str] = Counter()
    runs = itertools.chain.from_iterable(_runs(batch, sink.partition_columns) for batch in batches)
    for name, members in itertools.groupby(runs, key=lambda run: run[0]):
        if name not in files and len(files) == sink.max_partitions:
            raise too_many_partitions("one task", len(files), MAX_TASK_PARTITIONS)
        again = f"-{files[name]}" if files[name] else ""
        files[name] += 1
        folder = replace(sink, directory=_subfolder(sink.directory, name), partition_columns=())
        rows, into = in_form((rows for _, rows in members), folder, name)
        yield from write_file(rows, into, f"{sink.stem}-{context.partition:05d}{again}", context.temp_dir)


def _subfolder(folder: str, name: str) -> str:
    """Return a folder in a staging folder; a local one is created."""
    return uri.join(folder, name) if uri.is_remote(folder) else staged_subfolder(folder, name)


def too_many_partitions(writer: str, most: int, setting: Setting[int]) -> ResourceError:
    """Return the error for a `writer` that writes more Hive partitions than `setting` allows."""
    return ResourceError(f"{writer} writes more than {most} partitions", hint=f"raise {setting.key}")


def in_form(batches: Iterable[pa.RecordBatch], sink: FileSink, name: str) -> tuple[Iterable[pa.RecordBatch], FileSink]:
    """Return rows and sink for the Hive partition `name`, converted if it has a format of its own."""
    form = next((form for form in sink.forms if form[0] == name), None)
    if form is None:
        return batches, sink
    _, storage, columns = form
    converted = convert_columns(batches, sink.schema, columns)
    return converted, replace(sink, schema=columns, format=storage.name, properties=storage.properties)


def _runs(batch: pa.RecordBatch, columns: tuple[str, ...]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield runs of rows of one Hive partition with its name, without the columns that name it."""
    if not batch.num_rows:
        return
    num_stored = batch.num_columns - len(columns)
    texts = batch.columns[num_stored:]
    changes = np.zeros(batch.num_rows, np.bool_)
    for text in texts:
        changes[1:] |= np.diff(_codes(text)) != 0
    bounds = [0, *np.flatnonzero(changes).tolist(), batch.num_rows]
    rows = batch.select(list(range(num_stored)))
    for start, end in itertools.pairwise(bounds):
        yield partition_name(columns, [text[start].as_py() for text in texts]), rows.slice(start, end - start)


def _codes(text: Any) -> Any:
    indices = text.cast(pa.string()).dictionary_encode().indices
    return indices.fill_null(-1).to_numpy(zero_copy_only=False)
