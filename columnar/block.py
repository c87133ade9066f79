"""Blocks: an immutable part of a table, encoded column by column, read from a mapped file without a copy."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import CorruptionError, ResourceError
from sharkpy.columnar import block_file, encodings
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics, column_statistics
from sharkpy.columnar.encoded_column import DictionaryForm, EncodedColumn, ScanForm
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values.types import DataType, Schema, is_string, to_arrow

_CODED = ("dictionary", "constant", "run_length")
"""Encodings that give strings as codes."""
# Offsets of strings are 32-bit.
_MAX_COLUMN_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class EncodedBlock:
    """A block ready to be written: the bytes of its file, in pieces, and what they hold."""

    pieces: tuple[pa.Buffer, ...]
    statistics: BlockStatistics
    encodings: tuple[tuple[str, str], ...]

    @property
    def num_rows(self) -> int:
        return self.statistics.num_rows

    @property
    def size_bytes(self) -> int:
        return sum(piece.size for piece in self.pieces)

    @property
    def content(self) -> pa.Buffer:
        """The whole of the file."""
        return pa.py_buffer(b"".join(map(memoryview, self.pieces)))


def encode_block(table: pa.Table, schema: Schema, *, force_encoding: str = "") -> EncodedBlock:
    """Encode the columns of `schema` from `table` (same names), with statistics, in one pass.

    Columns are cast to their logical Arrow types where they differ. ResourceError where a column is too large
    for one block (2 GiB of strings).
    """
    columns: dict[str, EncodedColumn] = {}
    statistics: list[tuple[str, ColumnStatistics]] = []
    for field in schema:
        check_cancelled()
        array = logical_array(table.column(field.name), field.dtype, field.name)
        columns[field.name], stats = _encode_column(array, field.dtype, force_encoding)
        statistics.append((field.name, stats))
    block_statistics = BlockStatistics(table.num_rows, tuple(statistics))
    pieces = block_file.serialize(columns, block_statistics)
    return EncodedBlock(pieces, block_statistics, tuple((name, c.encoding) for name, c in columns.items()))


def _encode_column(array: pa.Array[Any], dtype: DataType, force: str) -> tuple[EncodedColumn, ColumnStatistics]:
    profile = ColumnProfile(array, dtype)
    encoded = encodings.encode(profile, force)
    return encoded, column_statistics(profile, encoded.size_bytes)


def logical_array(column: pa.ChunkedArray[Any] | pa.Array[Any], dtype: DataType, name: str) -> pa.Array[Any]:
    """Array of a column in its logical type, in one piece; strings may stay a dictionary."""
    target = to_arrow(dtype)
    if _is_coded(column, target):
        return column.unify_dictionaries().combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if column.type != target:
        if pa.types.is_integer(column.type) and pa.types.is_decimal(target):
            # Arrow refuses integers of a type wider than the decimal, whatever their values.
            column = column.cast(pa.decimal128(38, target.scale))
        column = column.cast(target)
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return cast("pa.Array[Any]", column.chunk(0))
        if column.nbytes >= _MAX_COLUMN_BYTES:
            raise ResourceError(f'column "{name}" is too large for one block', hint="lower shark.block.rows")
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], target)
    return column


def _is_coded(column: pa.ChunkedArray[Any] | pa.Array[Any], target: pa.DataType) -> bool:
    """A dictionary of strings that is taken as it is."""
    is_dictionary = isinstance(column.type, pa.DictionaryType) and column.type.value_type == target
    return is_dictionary and pa.types.is_string(target) and column.null_count == 0 and len(column) > 0


class Block:
    """A mapped block. Safe to use from several threads.

    1. The file's own structure is verified when it is opened, each column once, when it is first read.
    2. CorruptionError names the block and the column; damaged bytes are never decoded.
    3. What is read may refer to the mapped file: it stays valid after the file is removed.
    """

    def __init__(self, path: str, content: block_file.BlockContent, verify: bool, buffer: pa.Buffer) -> None:
        self.path = path
        self._content = content
        self._addresses = range(buffer.address, buffer.address + buffer.size)
        self._unverified = set(content.columns) if verify else set()
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: str, verify: bool = True) -> Block:
        """Map the file at `path`; FileNotFoundError where there is none."""
        try:
            with pa.memory_map(path, "r") as mapped:
                buffer = mapped.read_buffer(mapped.size())
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _corrupt(path, str(error)) from None
        return cls.from_buffer(buffer, path, verify)

    @classmethod
    def from_buffer(cls, buffer: pa.Buffer, path: str = "<memory>", verify: bool = True) -> Block:
        try:
            block_file.verify_outer(buffer)
            content = block_file.parse(buffer)
        except (ValueError, pa.ArrowException) as error:
            raise _corrupt(path, str(error)) from None
        return cls(path, content, verify, buffer)

    @property
    def num_rows(self) -> int:
        return self._content.num_rows

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._content.columns)

    @property
    def statistics(self) -> BlockStatistics:
        return self._content.statistics

    def encodings(self) -> dict[str, str]:
        """The codec of each column."""
        return {name: column.encoded.encoding for name, column in self._content.columns.items()}

    def read(self, names: Iterable[str], *, decoded: bool = False) -> pa.Table:
        """Columns in their logical types; strings may come as Arrow dictionaries unless `decoded`."""
        names = list(names)
        arrays = [self._decode(name) if decoded else self._values(name) for name in names]
        if not names:
            return pa.table({"": pa.nulls(self.num_rows)}).select([])
        return pa.Table.from_arrays(arrays, names=names)

    def scan_forms(self, names: Iterable[str]) -> dict[str, ScanForm]:
        """Columns in the cheapest form to scan."""
        return {name: self.scan_form(name) for name in names}

    def values(self, name: str) -> pa.Array[Any]:
        """A column in its logical type; strings may come as an Arrow dictionary."""
        return self._values(name)

    def scan_form(self, name: str) -> ScanForm:
        """A column in the cheapest form to scan."""
        return encodings.scan_form(self._column(name))

    def stored(self, name: str) -> EncodedColumn:
        """A column as it lies in the file."""
        return self._column(name)

    def maps(self, buffer: pa.Buffer) -> bool:
        """Whether `buffer` lies in the block's own memory."""
        return buffer.address in self._addresses

    def verify(self) -> None:
        """Verify every column now."""
        for name in self.names:
            self._column(name)

    def _decode(self, name: str) -> pa.Array[Any]:
        return encodings.decode(self._column(name))

    def _values(self, name: str) -> pa.Array[Any]:
        column = self._column(name)
        if column.encoding in _CODED and is_string(column.dtype):
            form = encodings.scan_form(column)
            if isinstance(form, DictionaryForm):
                return form.array
        return encodings.decode(column)

    def _column(self, name: str) -> EncodedColumn:
        stored = self._content.columns[name]
        if name in self._unverified:
            with self._lock:
                if name in self._unverified and block_file.checksum(stored.encoded) != stored.checksum:
                    raise _corrupt(self.path, f'column "{name}" does not match its checksum')
                self._unverified.discard(name)
        return stored.encoded


def _corrupt(path: str, fact: str) -> CorruptionError:
    return CorruptionError.of_block(Path(path).name.removesuffix(".arrow"), f"damaged: {fact}")
