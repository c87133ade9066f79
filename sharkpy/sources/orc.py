"""ORC: stripes as splits, columns by name.

Arrow's writer stores -0.5 s as zero seconds and minus half a second. The specification has no negative nanoseconds, and
Java's readers fail on them. So timestamps before 1970 with a fraction of a second are rewritten in new files.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.orc

from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.sources.arrow import Array, leaves_of, pc
from sharkpy.sources.column_conversion import batches_of, conform, file_columns, row_count_batch
from sharkpy.sources.layout import DataFile
from sharkpy.sources.new_files import output_file
from sharkpy.sources.open_files import check_unchanged, map_files
from sharkpy.sources.orc_reader import OrcReader
from sharkpy.sources.orc_stripe import DATA, EPOCH_2015, SECONDARY, VERSION_2, Days, ExactStripe, footer_of
from sharkpy.sources.orc_tail import PROLEPTIC, STRIPES, Fields, OrcTail, message_of, messages, number_of, read_tail
from sharkpy.sources.parquet import packed
from sharkpy.sources.source import Properties, ReadMetrics, Split
from sharkpy.values.nested_arrow import cast_table
from sharkpy.values.types import Schema, arrow_schema

_CACHED_FILES = 10_000
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
        counts = map_files(_num_stripes, files)
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
            sink: Any = _FileWithLateErrors(file)
            writer = pa.orc.ORCWriter(pa.PythonFile(sink, mode="w"), compression=compression)
            try:
                writer.write(target.empty_table())
                for batch in batches:
                    whole = _without_offsets(batch)
                    writer.write(cast_table(pa.Table.from_batches([whole]), target))
                    num_rows += batch.num_rows
                    is_early = is_early or has_early_fractions(whole)
                    sink.check()
            finally:
                writer.close()
            sink.check()
            if is_early:
                correct_fractions(file, Path(path).parent)
            _mark_calendar(file)
        return num_rows


@functools.lru_cache(maxsize=_CACHED_FILES)
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


class _FileWithLateErrors:
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


def _without_offsets(batch: pa.RecordBatch) -> pa.RecordBatch:
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


_INDEX_ROWS, _CONTENT_LENGTH, _METADATA_LENGTH = 8, 2, 5
_RUN = 512
"""Most values of a run."""
_DIRECT_64 = 0x7E00 | (_RUN - 1)
"""Header of a run of values in 64 bits each: encoding 1, code of the width 31, number of values less one."""


def has_early_fractions(batch: pa.RecordBatch) -> bool:
    """True if a timestamp before 1970, at any depth, has a fraction of a second."""
    times = (leaf for column in batch.columns for leaf in leaves_of(column) if pa.types.is_timestamp(leaf.type))
    return any(_has_early_fraction(leaf) for leaf in times)


def _has_early_fraction(leaf: Array) -> bool:
    low = pc.min(leaf.cast(pa.int64())).as_py()
    if low is None or low >= 0:
        return False
    micros = leaf.drop_null().cast(pa.int64()).to_numpy()
    return bool(((micros < 0) & (micros % 10**6 != 0)).any())


def correct_fractions(file: BinaryIO, folder: Path) -> None:
    """Rewrite the stripes of an open file, without indexes; `folder` is for a temporary file."""
    tail = read_tail(file)
    with tempfile.TemporaryFile(dir=folder) as made:
        made.write(b"ORC")
        count = len(messages(tail.footer, STRIPES))
        stripes = [(STRIPES, _rewritten(ExactStripe(file, tail, index), tail, made)) for index in range(count)]
        length = made.tell()
        size = number_of(tail.postscript, _METADATA_LENGTH)
        file.seek(tail.footer_start - size)
        metadata = file.read(size)
        made.seek(0)
        file.seek(0)
        file.truncate()
        shutil.copyfileobj(made, file)
    kept = [field for field in tail.footer if field[0] not in (STRIPES, _INDEX_ROWS, _CONTENT_LENGTH)]
    footer: Fields = ((_CONTENT_LENGTH, length), *stripes, *kept, (_INDEX_ROWS, 0))
    file.write(metadata + tail.with_footer(footer).encoded())


def _rewritten(stripe: ExactStripe, tail: OrcTail, made: BinaryIO) -> bytes:
    """Write a stripe; return its entry in the footer."""
    encodings, start = stripe.encodings(), made.tell()
    changed = {
        (kind, one): tail.packed(data)
        for one, (seconds, nanos) in stripe.halves().items()
        if encodings[one] == VERSION_2 and (nanos < 0).any()
        for kind, data in zip((DATA, SECONDARY), _streams(seconds, nanos), strict=True)
    }
    streams = [(kind, one, changed.get((kind, one), data)) for kind, one, data in stripe.streams()]
    made.writelines(data for _, _, data in streams)
    length = made.tell() - start
    footer = tail.packed(footer_of(streams, stripe.footer, stripe.zone))
    made.write(footer)
    return message_of(((1, start), (2, 0), (3, length), (4, len(footer)), (5, stripe.num_rows)))


def _streams(seconds: Days, nanos: Days) -> tuple[bytes, bytes]:
    """Streams of seconds and nanoseconds in the form of Java's writer.

    Seconds are rounded towards zero if the fraction is more than a millisecond. So the last second before 1970 cannot
    be represented, and keeps Arrow's form.
    """
    instants = seconds + EPOCH_2015 + nanos // 10**9
    fraction = nanos % 10**9
    is_lost = (instants == -1) & (fraction > 999_999)
    instants += (instants < 0) & (fraction > 999_999)
    stored = np.where(is_lost, seconds, instants - EPOCH_2015)
    zigzag = (stored << 1) ^ (stored >> 63)
    return _runs(zigzag), _runs(_without_zeros(np.where(is_lost, nanos, fraction)))


def _without_zeros(nanos: Days) -> Days:
    """Nanoseconds without trailing zeros; the last three bits are the number of zeros less one."""
    rest, zeros = nanos.copy(), np.zeros_like(nanos)
    is_short = (nanos != 0) & (np.abs(nanos) % 100 == 0)
    rest[is_short] //= 100
    zeros[is_short] = 1
    for _ in range(6):
        goes_on = is_short & (np.abs(rest) % 10 == 0)
        rest[goes_on] //= 10
        zeros[goes_on] += 1
    return (rest << 3) | zeros


def _runs(values: Days) -> bytes:
    return b"".join(_run(values[start : start + _RUN]) for start in range(0, len(values), _RUN))


def _run(values: np.ndarray[Any, Any]) -> bytes:
    header = (_DIRECT_64 & ~(_RUN - 1)) | (len(values) - 1)
    return header.to_bytes(2, "big") + values.astype(">i8").tobytes()
