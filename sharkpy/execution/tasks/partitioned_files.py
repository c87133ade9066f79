"""Rows to the folders of their Hive partitions."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.catalog.hive_partition import partition_name
from sharkpy.execution.tasks.report import FileResult
from sharkpy.execution.tasks.sinks import write_file
from sharkpy.physical.stage import FileSink


def write_partitioned_files(batches: Iterable[pa.RecordBatch], sink: FileSink, partition: int) -> Iterator[FileResult]:
    """One file for each run of rows of one Hive partition; where these are sorted, one open file at a time."""
    files: Counter[str] = Counter()
    runs = itertools.chain.from_iterable(_runs(batch, sink.partition_columns) for batch in batches)
    for name, members in itertools.groupby(runs, key=lambda run: run[0]):
        again = f"-{files[name]}" if files[name] else ""
        files[name] += 1
        folder = replace(sink, directory=str(Path(sink.directory, name)), partition_columns=())
        yield from write_file((rows for _, rows in members), folder, f"part-{partition:05d}{again}")


def _runs(batch: pa.RecordBatch, columns: tuple[str, ...]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Neighbouring rows of one Hive partition with its name, and without the columns that it is named after."""
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
