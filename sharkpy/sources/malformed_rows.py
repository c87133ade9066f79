"""Malformed rows of a stream's splits, counted or skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sharkpy.catalog.system_tables import is_virtual
from sharkpy.sources.column_conversion import row_count_batch
from sharkpy.sources.source import ReadMetrics, Split
from sharkpy.values.types import Schema

BAD_ROWS = "shark.bad.rows"
"""Property of splits for malformed rows: COUNTED, or SKIPPED. By default, malformed fields are NULL."""
COUNTED, SKIPPED = "count", "skip"
Read = Callable[[Split, Schema, Sequence[str], ReadMetrics], Iterator[pa.RecordBatch]]


def validated_splits(splits: Sequence[Split], how: str) -> list[Split]:
    """Splits whose malformed rows are COUNTED or SKIPPED."""
    return [replace(split, properties=(*plain_properties(split), (BAD_ROWS, how))) for split in splits]


def is_validated(split: Split) -> bool:
    """True for splits of `validated_splits`."""
    return any(name == BAD_ROWS for name, _ in split.properties)


def plain_properties(split: Split) -> tuple[tuple[str, str], ...]:
    """Properties of a split without BAD_ROWS."""
    return tuple(item for item in split.properties if item[0] != BAD_ROWS)


def read_counting_malformed(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics, read: Read
) -> Iterator[pa.RecordBatch]:
    """All rows. A row counts as malformed if one of its columns `names` is, or the whole record."""
    counted = ReadMetrics(marks=[])
    yield from read(split, schema, names, counted)
    counted.malformed_rows += len(counted.marked())
    metrics.merge(counted)


def read_without_malformed(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics, read: Read
) -> Iterator[pa.RecordBatch]:
    """Rows without a malformed value in any column of the files, wanted or not."""
    others = [field.name for field in schema if field.name not in names and not is_virtual(field.name)]
    counted, done = ReadMetrics(marks=[]), 0
    for batch in read(split, schema, (*names, *others), counted):
        wanted = batch.select(list(names)) if names else row_count_batch(batch.num_rows)
        bad = take_malformed(counted, done + batch.num_rows) - done
        done += batch.num_rows
        if not len(bad):
            yield wanted
        elif not names:
            yield row_count_batch(batch.num_rows - len(bad))
        else:
            is_good = np.ones(batch.num_rows, np.bool_)
            is_good[bad] = False
            yield wanted.filter(pa.array(is_good))
    metrics.merge(counted)


def take_malformed(counted: ReadMetrics, end: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Numbers of the malformed rows before row `end`, which are counted and removed from `counted`."""
    marked = np.asarray(counted.marked(), np.int64)
    taken = marked[marked < end]
    counted.marks = [marked[len(taken) :]] if len(taken) < len(marked) else []
    counted.malformed_rows += len(taken)
    return taken
