"""Reader of an ORC file's stripes, with all of Hive's timestamps and dates. It fetches only the needed ranges."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, suppress
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.orc

from sharkpy.base.cached_property import cached_property
from sharkpy.sources.arrow import Array, check_names, leaves_of, pc, with_leaves
from sharkpy.sources.file_errors import format_error
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import LocalCopy, local_copy, object_of_file
from sharkpy.sources.orc_stripe import (
    FIRST_GREGORIAN_DAY,
    FIRST_OF_1900,
    LAST_OF_DATA,
    ExactStripe,
    gregorian_shift,
    ids_of,
    is_utc,
)
from sharkpy.sources.orc_tail import (
    NUM_ROWS,
    STRIPES,
    OrcTail,
    fields_of,
    messages,
    number_of,
    read_statistics,
    read_tail,
    tail_start,
)
from sharkpy.sources.source import Split
from sharkpy.sources.storage.fetched_files import Range
from sharkpy.values.types import MAX_PRECISION

_DAMAGE = (pa.ArrowException, OSError, ValueError, IndexError, EOFError, zlib.error)


class OrcReader:
    """Reader of one file. SourceError for a file that is not ORC, or is damaged."""

    def __init__(self, file: DataFile | Split) -> None:
        """Open a data file, or a split's file."""
        self._name = file.path
        self._copy = local_copy(file)
        self._path = self._copy.path
        try:
            if not self._copy.is_whole:
                fetch_tail(object_of_file(file).size_bytes, self._copy)
            _check_digits(self._path)
            self._file = pyarrow.orc.ORCFile(self._path)
            # The schema fails if types are not in Arrow.
            check_names(self._file.schema)
        except _DAMAGE as error:
            raise format_error(self._name, "ORC", error) from None

    @property
    def num_stripes(self) -> int:
        return int(self._file.nstripes)

    @property
    def schema(self) -> pa.Schema:
        return self._file.schema

    @property
    def names(self) -> list[str]:
        return list(self._file.schema.names)

    @property
    def is_hybrid(self) -> bool:
        """True if days before 1582-10-15 are Julian."""
        return self._tail.is_hybrid

    @property
    def stripe_rows(self) -> list[int]:
        return [number_of(fields_of(stripe), NUM_ROWS) for stripe in messages(self._tail.footer, STRIPES)]

    @property
    def stripe_statistics(self) -> list[list[bytes]]:
        """Statistics of each stripe in the writer's encoding, by column id; empty if there are none."""
        try:
            with open(self._path, "rb") as file:
                return read_statistics(file, self._tail)
        except _DAMAGE as error:
            raise format_error(self._name, "ORC", error) from None

    def column_id(self, name: str) -> int:
        root = self._tail.types[0]
        return root.children[root.names.index(name)]

    def kind(self, name: str) -> int:
        """Kind of a column's type, one of the kinds in `orc_tail`."""
        return self._tail.types[self.column_id(name)].kind

    def steps(self, stripes: Sequence[int], columns: Sequence[str]) -> Generator[int]:
        """Stripes, each when it can be read. The columns of the next stripe are fetched meanwhile."""
        if self._copy.is_whole:
            yield from stripes
            return
        try:
            self._copy.fetch([footer_range(self._tail, stripe) for stripe in stripes])
            ids = ids_of(self._tail.types, columns)
            with closing(self._copy.steps(len(stripes), lambda step: self._ranges(stripes[step], ids))) as steps:
                for step in steps:
                    yield stripes[step]
        except _DAMAGE as error:
            raise format_error(self._name, "ORC", error) from None

    def _ranges(self, stripe: int, ids: Collection[int]) -> list[Range]:
        with open(self._path, "rb") as file:
            return list(stream_ranges(file, self._tail, stripe, ids))

    def read(self, stripe: int, columns: Sequence[str]) -> pa.RecordBatch:
        """Read columns of a stripe.

        Arrow's reader is tried first. It refuses timestamps beyond 64 bits of nanoseconds (1677 to 2262). For
        timestamps before 1900 it uses other time zone offsets than Java, if the file's time zone is not UTC.
        """
        try:
            batch = self._file.read_stripe(stripe, columns=list(columns))
        except (pa.ArrowException, OSError) as error:
            if not any(_has_times(self._file.schema.field(name).type) for name in columns):
                raise format_error(self._name, "ORC", error) from None
            batch = self._read_exactly(stripe, columns, error)
        else:
            if _is_before_1900(batch) and not self._is_in_utc(stripe):
                batch = self._read_exactly(stripe, columns, None)
        if _has_julian_days(batch) and self._tail.is_hybrid:
            changed = [with_leaves(column, _gregorian) for column in batch.columns]
            return pa.RecordBatch.from_arrays(changed, names=batch.schema.names)
        return batch

    @cached_property
    def _tail(self) -> OrcTail:
        try:
            with open(self._path, "rb") as file:
                return read_tail(file)
        except _DAMAGE as error:
            raise format_error(self._name, "ORC", error) from None

    def _is_in_utc(self, stripe: int) -> bool:
        with open(self._path, "rb") as file:
            return is_utc(ExactStripe(file, self._tail, stripe).zone)

    def _read_exactly(self, stripe: int, columns: Sequence[str], refusal: Exception | None) -> pa.RecordBatch:
        try:
            with open(self._path, "rb") as file:
                return ExactStripe(file, self._tail, stripe).read(columns)
        except _DAMAGE as error:
            raise format_error(self._name, "ORC", refusal or error) from None


def _check_digits(path: str) -> None:
    """Raise ValueError for a decimal with more digits than Arrow allows: its reader would end the process."""
    digits = 0
    with open(path, "rb") as file, suppress(OSError, ValueError, IndexError, EOFError, zlib.error):
        digits = read_tail(file).most_digits
    if digits > MAX_PRECISION:
        raise ValueError(f"it has a decimal of {digits} digits")


def _has_times(dtype: pa.DataType) -> bool:
    children = (dtype.field(index).type for index in range(dtype.num_fields))
    return pa.types.is_timestamp(dtype) or any(_has_times(child) for child in children)


def _is_before_1900(batch: pa.RecordBatch) -> bool:
    times = (leaf for column in batch.columns for leaf in leaves_of(column) if pa.types.is_timestamp(leaf.type))
    lows = (pc.min(leaf.cast(pa.int64())).as_py() for leaf in times)
    return any(low is not None and low < FIRST_OF_1900 * 10**9 for low in lows)


def _has_julian_days(batch: pa.RecordBatch) -> bool:
    days = (leaf for column in batch.columns for leaf in leaves_of(column) if pa.types.is_date32(leaf.type))
    lows = (pc.min(leaf.cast(pa.int32())).as_py() for leaf in days)
    return any(low is not None and low < FIRST_GREGORIAN_DAY for low in lows)


def _gregorian(array: Array) -> Array:
    if not pa.types.is_date32(array.type):
        return array
    days = pc.fill_null(array.cast(pa.int32()), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    shifted = pa.array((days + gregorian_shift(days)).astype(np.int32)).cast(pa.date32())
    return pc.if_else(pc.is_valid(array), shifted, None)


_TAIL_BYTES = 64 << 10
_HEAD_BYTES = 16
"""Bytes at the start of a file with the format's magic, which is only there in old files."""


def fetch_tail(size: int, copy: LocalCopy) -> None:
    """Fetch the tail of a file of `size` bytes; ValueError or IndexError if it has none."""
    copy.fetch([(0, _HEAD_BYTES), (size - _TAIL_BYTES, size)])
    with open(copy.path, "rb") as file:
        start = tail_start(file)
    copy.fetch([(start, size)])


def footer_range(tail: OrcTail, stripe: int) -> Range:
    """Range of a stripe's own footer."""
    start, index, data, footer = _place(tail, stripe)
    return start + index + data, start + index + data + footer


def stream_ranges(file: BinaryIO, tail: OrcTail, stripe: int, ids: Collection[int]) -> Iterator[Range]:
    """Ranges of a stripe's values of the columns with some ids. The stripe's footer has to be present."""
    place, *_ = _place(tail, stripe)
    start, end = footer_range(tail, stripe)
    file.seek(start)
    for stream in messages(fields_of(tail.plain(file.read(end - start))), 1):
        kind, column, length = (number_of(fields_of(stream), number) for number in (1, 2, 3))
        if kind <= LAST_OF_DATA and column in ids:
            yield place, place + length
        place += length


def _place(tail: OrcTail, stripe: int) -> tuple[int, int, int, int]:
    """Offset of a stripe, and the bytes of its indexes, its values and its footer."""
    found = fields_of(messages(tail.footer, STRIPES)[stripe])
    return number_of(found, 1), number_of(found, 2), number_of(found, 3), number_of(found, 4)
