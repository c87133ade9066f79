"""Rows of splits, with the columns that are not in files: constants of Hive partitions, and virtual columns.

Splits are read in advance, with their rows in order: lines in pieces by several threads, remote splits one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, current_cancellation, submit
from sharkpy.catalog.hive_partition import partition_values
from sharkpy.catalog.json_rows import partition_format_from_text
from sharkpy.catalog.system_tables import BLOCK_OFFSET, FILE_NAME
from sharkpy.sources.arrow import Array, ChunkedArray
from sharkpy.sources.column_conversion import convert_columns
from sharkpy.sources.file_errors import no_row_offsets
from sharkpy.sources.formats import source
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.lenient_conversion import single_value
from sharkpy.sources.malformed_rows import BAD_ROWS, COUNTED, SKIPPED, read_counting_malformed, read_without_malformed
from sharkpy.sources.source import PlacedSource, ReadMetrics, Split
from sharkpy.values.types import STRING, DataType, Schema, arrow_schema

if TYPE_CHECKING:
    from sharkpy.sources.parquet import ParquetSource

_VIRTUAL = (FILE_NAME, BLOCK_OFFSET)
_READERS_OF_MALFORMED = {COUNTED: read_counting_malformed, SKIPPED: read_without_malformed}


def read_split(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
) -> Iterator[pa.RecordBatch]:
    """Read a split in its format. A value that does not fit its column's type is NULL, as in Hive."""
    read_malformed = _READERS_OF_MALFORMED.get(dict(split.properties).get(BAD_ROWS, ""))
    if read_malformed is None:
        yield from _read(split, schema, names, metrics)
    else:
        yield from read_malformed(split, schema, names, metrics or ReadMetrics(), _read)


def _read(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
) -> Iterator[pa.RecordBatch]:
    virtual = frozenset(schema.names[-2:]).intersection(_VIRTUAL)
    if not split.partition and not split.form and not virtual:
        yield from source(split.format).read(split, schema, names, metrics)
        return
    values = partition_values(split.partition)
    in_files = Schema(tuple(field for field in schema if field.name not in values and field.name not in virtual))
    constants = {name: single_value(values[name], schema[name].dtype) for name in names if name in values}
    if FILE_NAME in virtual:
        constants[FILE_NAME] = pa.array([uri.as_uri(split.path)])
    stored = [name for name in names if name not in values and name not in virtual]
    target = arrow_schema(schema.select(names))
    read = _read_placed if BLOCK_OFFSET in virtual and BLOCK_OFFSET in names else _read_unplaced
    for batch, places in read(split, in_files, stored, metrics or ReadMetrics()):
        columns: dict[str, Array] = dict(zip(stored, batch.columns, strict=False))
        columns |= {name: repeated(constant, batch.num_rows) for name, constant in constants.items()}
        if places is not None:
            columns[BLOCK_OFFSET] = places
        filled = [columns[name] for name in names]
        yield pa.RecordBatch.from_arrays(filled, schema=target) if names else batch


def _read_unplaced(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
) -> Iterator[tuple[pa.RecordBatch, Array | None]]:
    """Columns `names` of `schema`. In files that were written with other columns they are matched by position."""
    reader = source(split.format)
    written = partition_format_from_text(split.form)[1]
    if written is None:
        yield from ((batch, None) for batch in reader.read(split, schema, names, metrics))
        return
    there = _written_columns(written, schema, names)
    for batch in _converted(reader.read(split, written, there.names, metrics), there, schema, names):
        yield batch, None


def _read_placed(
    split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics
) -> Iterator[tuple[pa.RecordBatch, Array | None]]:
    """Read with BLOCK__OFFSET__INSIDE__FILE; UnsupportedError if the format has no offsets of rows."""
    reader = source(split.format)
    if not isinstance(reader, PlacedSource):
        raise no_row_offsets(split.path, split.format)
    written = partition_format_from_text(split.form)[1]
    there = schema.select(names) if written is None else _written_columns(written, schema, names)
    for batch, places in reader.read_placed(split, written or schema, there.names, metrics):
        (whole,) = [batch] if written is None else _converted([batch], there, schema, names)
        yield whole, pa.array(places, pa.int64())


def _written_columns(written: Schema, schema: Schema, names: Sequence[str]) -> Schema:
    """The files' columns for `names`, as far as they have them, in the table's order."""
    place_of = {name: place for place, name in enumerate(schema.names)}
    places = sorted(place_of[name] for name in names)
    return Schema(tuple(written.fields[place] for place in places if place < len(written)))


def _converted(
    batches: Iterable[pa.RecordBatch], there: Schema, schema: Schema, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    if not names:
        yield from batches
        return
    place_of = {name: place for place, name in enumerate(schema.names)}
    order = sorted(names, key=place_of.__getitem__)
    for batch in convert_columns(batches, there, schema.select(order)):
        yield batch.select(list(names))


def read_split_coded(split: Split, schema: Schema, metrics: ReadMetrics) -> Iterator[pa.Table]:
    """All columns for encoding, in pieces. Strings with few distinct values may be Arrow dictionaries."""
    columns = read_split_columns(split, schema, metrics)
    if columns is None:
        for batch in read_split(split, schema, schema.names, metrics):
            yield pa.Table.from_batches([batch])
        return
    whole = dict[str, ChunkedArray]()
    for piece in columns:
        whole.update(zip(piece.column_names, piece.columns, strict=True))
    yield pa.table({name: whole[name] for name in schema.names})


def read_split_columns(split: Split, schema: Schema, metrics: ReadMetrics) -> Iterator[pa.Table] | None:
    """All rows for encoding, some columns at a time (`ParquetSource.read_coded`), or None if the split's format has
    rows and not columns.
    """
    from sharkpy.sources.parquet import ParquetSource

    reader = source(split.format)
    return _columns(reader, split, schema, metrics) if isinstance(reader, ParquetSource) and not split.form else None


def _columns(reader: ParquetSource, split: Split, schema: Schema, metrics: ReadMetrics) -> Iterator[pa.Table]:
    values, rows = partition_values(split.partition), 0
    in_files = Schema(tuple(field for field in schema if field.name not in values))
    for piece in reader.read_coded(split, in_files, metrics):
        rows = piece.num_rows
        yield piece
        del piece
    constants = [field for field in schema if field.name in values]
    if constants:
        yield pa.table(
            {one.name: coded(single_value(values[one.name], one.dtype), one.dtype, rows) for one in constants}
        )


def repeated(value: Array, num_rows: int) -> Array:
    return pa.repeat(value[0], num_rows)


def coded(value: Array, dtype: DataType, num_rows: int) -> Array:
    """Array with one value for all rows; a string is a dictionary with one entry."""
    if dtype != STRING or value.null_count or not num_rows:
        return repeated(value, num_rows)
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), num_rows), value)


PIECE_BYTES = 4 << 20
"""Bytes of a piece: as many as `line_chunks` reads at a time."""
_FEW_BYTES = 256 << 10
"""Fewer bytes than this are read faster than threads start."""

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")
ReadSplit = Callable[[Split, ReadMetrics], Iterator[pa.RecordBatch]]


def read_splits(
    splits: Sequence[Split], read: ReadSplit, metrics: ReadMetrics, threads: int
) -> Iterator[tuple[Split, pa.RecordBatch]]:
    """Batches of all splits, each with its split. Reads in advance are counted when their rows are returned."""
    is_parted = threads > 1 and all(map(_has_pieces, splits))
    pieces = [(split, piece) for split in splits for piece in _pieces(split)] if is_parted else []
    if len(pieces) < 2 or sum(piece.length for _, piece in pieces) < _FEW_BYTES:
        if len(splits) > 1 and any(split.access for split in splits):
            yield from _next_split_ahead(read, splits, metrics)
            return
        for split in splits:
            for batch in read(split, metrics):
                yield split, batch
        return

    def read_piece(item: tuple[Split, Split]) -> tuple[Split, list[pa.RecordBatch], ReadMetrics]:
        counted = ReadMetrics()
        return item[0], list(read(item[1], counted)), counted

    for split, batches, counted in _pieces_ahead(read_piece, pieces, threads):
        metrics.merge(counted)
        for batch in batches:
            yield split, batch


def _next_split_ahead(
    read: ReadSplit, splits: Sequence[Split], metrics: ReadMetrics
) -> Generator[tuple[Split, pa.RecordBatch]]:
    """Batches of splits; the first batch of the next split is read meanwhile."""
    reading = Cancellation()

    def begin(split: Split) -> tuple[list[pa.RecordBatch], Iterator[pa.RecordBatch], ReadMetrics]:
        counted = ReadMetrics()
        with reading.active():
            rest = read(split, counted)
            return list(islice(rest, 1)), rest, counted

    with (
        reading.following(current_cancellation()),
        ThreadPoolExecutor(1, thread_name_prefix="sharkpy-read") as pool,
    ):
        try:
            coming = submit(pool, begin, splits[0])
            for number, split in enumerate(splits, 1):
                first, rest, counted = coming.result()
                if number < len(splits):
                    coming = submit(pool, begin, splits[number])
                for batch in chain(first, rest):
                    yield split, batch
                metrics.merge(counted)
        finally:
            # Stop reads whose rows are no longer wanted.
            reading.cancel()


def _has_pieces(split: Split) -> bool:
    return source(split.format).splits_lines(split.properties) and codec_of_path(split.path) is None


def _pieces(split: Split) -> Iterator[Split]:
    """Parts of the split that together have its rows."""
    end = split.start + split.length
    for start in range(split.start, end, PIECE_BYTES):
        yield replace(split, start=start, length=min(PIECE_BYTES, end - start))


def _pieces_ahead(make: Callable[[_Item], _Made], items: Iterable[_Item], threads: int) -> Generator[_Made]:
    """`make` of each item, in order; up to `threads` items are made in advance."""
    waiting: deque[Future[_Made]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="sharkpy-read") as pool:
        try:
            for item in items:
                waiting.append(submit(pool, make, item))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
