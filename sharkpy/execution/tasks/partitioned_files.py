"""Writing of rows into the folders of their Hive partitions, each in its own format."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.base import uri
from sharkpy.base.errors import ResourceError
from sharkpy.base.settings import MAX_TASK_PARTITIONS, Setting
from sharkpy.catalog.hive_partition import partition_name
from sharkpy.execution.tasks.new_files import write_file
from sharkpy.execution.tasks.report import FileResult
from sharkpy.execution.tasks.sinks import SinkContext
from sharkpy.physical.sinks import FileSink
from sharkpy.sources.column_conversion import convert_columns
from sharkpy.sources.staged_files import staged_subfolder


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
