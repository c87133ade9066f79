"""ORC: stripes as splits, columns by name."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.orc

from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.sources.columns import batches_of, conform, file_columns, row_count_batch
from sharkpy.sources.layout import DataFile
from sharkpy.sources.local_copy import check_unchanged, of_each
from sharkpy.sources.metrics import ReadMetrics
from sharkpy.sources.orc_fractions import has_early_fractions, mend_fractions
from sharkpy.sources.orc_reader import OrcReader
from sharkpy.sources.orc_tail import PROLEPTIC, read_tail
from sharkpy.sources.output_file import output_file
from sharkpy.sources.parquet import packed
from sharkpy.sources.source import Properties
from sharkpy.sources.split import Split
from sharkpy.values.nested_arrow import cast_table
from sharkpy.values.types import Schema, arrow_schema

_KNOWN_FILES = 10_000
_COMPRESSIONS: dict[str, Any] = {
    "none": "uncompressed",
    "uncompressed": "uncompressed",
    "zlib": "zlib",
    "snappy": "snappy",
    "lz4": "lz4",
    "zstd": "zstd",
}


class OrcSource:
    name = "orc"
    splits_bytes = False

    def splits_lines(self, properties: Properties) -> bool:  # noqa: ARG002 - the protocol's signature
        return False

    def check(self, schema: Schema, properties: Properties) -> None:  # noqa: ARG002 - any columns
        _codec(properties)

    def splits(
        self,
        files: Sequence[DataFile],
        schema: Schema,  # noqa: ARG002 - the protocol's signature
        properties: Properties,
        split_bytes: int,
    ) -> list[Split]:
        splits = []
        # Hive writes empty files for buckets without rows.
        files = [file for file in files if file.size_bytes]
        counts = of_each(_num_stripes, files)
        for file, stripes in zip(files, counts, strict=True):
            sizes = [file.size_bytes // stripes] * stripes if stripes else []
            for start, length in packed(sizes, split_bytes):
                splits.append(Split.of(file, self.name, properties, start, length))
        return splits

    def read(
        self, split: Split, schema: Schema, names: Sequence[str], metrics: ReadMetrics | None = None
    ) -> Iterator[pa.RecordBatch]:
        check_unchanged(split)
        file = OrcReader(split)
        found = file_columns(file.names, schema, names, split.path)
        # The reader returns no rows if it has no columns.
        wanted = list(found.values()) or file.names[:1]
        with closing(file.steps(range(split.start, split.start + split.length), wanted)) as stripes:
            for stripe in stripes:
                batch = file.read(stripe, wanted)
                if metrics is not None:
                    metrics.rows += batch.num_rows
                    metrics.bytes += batch.nbytes
                if not names:
                    yield row_count_batch(batch.num_rows)
                else:
                    table = conform(pa.Table.from_batches([batch]), found, schema, names, split.path)
                    yield from batches_of(table, max(batch.num_rows, 1))

    def write(self, batches: Iterable[pa.RecordBatch], schema: Schema, properties: Properties, path: str) -> int:
        target, num_rows, is_early = arrow_schema(schema), 0, False
        compression: Any = _codec(properties)
        with output_file(path) as file:
            sink: Any = _PatientFile(file)
            writer = pa.orc.ORCWriter(pa.PythonFile(sink, mode="w"), compression=compression)
            try:
                writer.write(target.empty_table())
                for batch in batches:
                    whole = _whole(batch)
                    writer.write(cast_table(pa.Table.from_batches([whole]), target))
                    num_rows += batch.num_rows
                    is_early = is_early or has_early_fractions(whole)
                    sink.check()
            finally:
                writer.close()
            sink.check()
            if is_early:
                mend_fractions(file, Path(path).parent)
            _mark_calendar(file)
        return num_rows


@functools.lru_cache(maxsize=_KNOWN_FILES)
def _num_stripes(file: DataFile) -> int:
    """Number of a file's stripes. Its tail is read once, since a DataFile identifies the content."""
    return OrcReader(file).num_stripes


def _codec(properties: Properties) -> Any:
    """Arrow's name of a table's codec; ConfigurationError for an unknown one."""
    name = dict(properties).get("orc.compress", "zlib")
    if name.lower() not in _COMPRESSIONS:
        hint = did_you_mean(name, _COMPRESSIONS) or f"one of {', '.join(_COMPRESSIONS)}"
        raise ConfigurationError(f'"{name}" is not a compression of ORC', hint=hint, sqlstate="22023")
    return _COMPRESSIONS[name.lower()]


class _PatientFile:
    """A file for the ORC writer, which would end the process if its file failed while it closes.

    The first error is kept, and further output is dropped; `check` raises the error.
    """

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._error: OSError | None = None
        self._position = 0

    def write(self, data: bytes) -> int:
        self._position += len(data)
        if self._error is None:
            try:
                self._file.write(data)
            except OSError as error:
                self._error = error
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        return

    def close(self) -> None:
        return

    def check(self) -> None:
        if self._error is not None:
            raise self._error


def _whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows without offsets: the writer takes the nulls of sliced structs from the wrong rows."""
    if any(column.offset for column in batch.columns):
        return batch.take(pa.array(range(batch.num_rows), pa.int64()))
    return batch


def _mark_calendar(file: BinaryIO) -> None:
    """Mark days before 1582-10-15 as Gregorian: Java's readers take them for Julian in a file without a mark."""
    file.flush()
    tail = read_tail(file)
    file.seek(tail.footer_start)
    file.truncate()
    file.write(tail.with_calendar(PROLEPTIC).encoded())
