"""Blocks: immutable parts of a table, encoded column by column and read from mapped files without copies."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.errors import CorruptionError, ResourceError
from sharkpy.base.records import dataclass
from sharkpy.columnar import arrow_buffers, block_file, encodings
from sharkpy.columnar.block_file import BlockFile, SerializedBlock, StoredColumn
from sharkpy.columnar.column_statistics import ColumnStatistics, PackedStatistics, column_statistics
from sharkpy.columnar.encoded_column import DictionaryForm, EncodedColumn, ScanForm
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t
from sharkpy.values.nested_arrow import cast_column
from sharkpy.values.types import DataType, Schema, is_string, to_arrow

T = TypeVar("T")
_CODED = ("dictionary", "constant", "run_length")
"""Encodings that give strings as dictionary codes."""
# Offsets of strings are 32-bit.
_MAX_COLUMN_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class EncodedBlock:
    """A block ready to be written: the bytes of its file, in pieces, with its statistics and encodings."""

    pieces: tuple[pa.Buffer, ...]
    statistics: PackedStatistics
    encodings: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, file: SerializedBlock, columns: Mapping[str, EncodedColumn]) -> EncodedBlock:
        return cls(file.pieces, file.statistics, tuple((name, column.encoding) for name, column in columns.items()))

    @property
    def num_rows(self) -> int:
        return self.statistics.num_rows

    @property
    def size_bytes(self) -> int:
        return sum(piece.size for piece in self.pieces)

    @property
    def column_bytes(self) -> dict[str, int]:
        """Encoded bytes of each column."""
        return dict(zip((name for name, _ in self.encodings), self.statistics.sizes, strict=True))

    @property
    def content(self) -> pa.Buffer:
        """The complete file."""
        return pa.py_buffer(b"".join(map(memoryview, self.pieces)))


def encode_block(table: pa.Table, schema: Schema, *, force_encoding: str = "") -> EncodedBlock:
    """Encode the columns of `schema` from `table` (same names), with statistics, in one pass.

    Columns of other Arrow types are cast to their logical types. Raise ResourceError if a column is too large for one
    block (2 GiB of strings).
    """
    block = _Columns(table.num_rows, {}, {})
    for field in schema:
        check_cancelled()
        block.add(field.name, table.column(field.name), field.dtype, force_encoding)
    return block.encoded(schema)


def encode_blocks(
    pieces: Iterable[pa.Table], schema: Schema, block_rows: int, *, force_encoding: str = ""
) -> list[EncodedBlock]:
    """Encode rows that come as `pieces` with some columns each, as blocks of equal size: no block if there are no
    rows. No reference to a piece is left when the next one is asked for.
    """
    blocks, step = list[_Columns](), 1
    for piece in pieces:
        if not blocks and piece.num_rows:
            step = math.ceil(piece.num_rows / math.ceil(piece.num_rows / block_rows))
            starts = range(0, piece.num_rows, step)
            blocks = [_Columns(min(step, piece.num_rows - start), {}, {}) for start in starts]
        for name in piece.column_names:
            check_cancelled()
            for place, block in enumerate(blocks):
                block.add(name, piece.column(name).slice(place * step, step), schema[name].dtype, force_encoding)
        del piece
    return [block.encoded(schema) for block in blocks]


@dataclass(frozen=True, slots=True)
class _Columns:
    """A block under construction: its encoded columns by name, with their statistics."""

    num_rows: int
    columns: dict[str, EncodedColumn]
    statistics: dict[str, ColumnStatistics]

    def add(self, name: str, column: pa.ChunkedArray[Any], dtype: DataType, force: str) -> None:
        profile = ColumnProfile(logical_array(column, dtype, name), dtype)
        encoded = encodings.encode(profile, force)
        self.columns[name], self.statistics[name] = encoded, column_statistics(profile, encoded.size_bytes)

    def encoded(self, schema: Schema) -> EncodedBlock:
        columns = {name: self.columns[name] for name in schema.names}
        statistics = [(name, self.statistics[name]) for name in schema.names]
        return EncodedBlock.of(block_file.serialize(self.num_rows, columns, statistics), columns)


def logical_array(column: pa.ChunkedArray[Any] | pa.Array[Any], dtype: DataType, name: str) -> pa.Array[Any]:
    """Return a column in its logical type as one array. Strings may stay a dictionary."""
    target = to_arrow(dtype)
    if _is_coded(column, target):
        return column.unify_dictionaries().combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if column.type != target:
        if pa.types.is_integer(column.type) and pa.types.is_decimal(target):
            # Arrow refuses to cast an integer type wider than the decimal, even if all values fit.
            column = column.cast(pa.decimal128(38, target.scale))
        column = cast_column(column, target)
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return cast("pa.Array[Any]", column.chunk(0))
        if column.nbytes >= _MAX_COLUMN_BYTES:
            raise ResourceError(f'column "{name}" is too large for one block', hint="lower shark.block.rows")
        return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], target)
    return column


def _is_coded(column: pa.ChunkedArray[Any] | pa.Array[Any], target: pa.DataType) -> bool:
    """Return whether a column is a dictionary of strings that can be used unchanged."""
    is_dictionary = isinstance(column.type, pa.DictionaryType) and column.type.value_type == target
    return is_dictionary and pa.types.is_string(target) and column.null_count == 0 and len(column) > 0


class Block:
    """A mapped block. Threads may share it.

    1. The file's directory is verified when the file is opened, and each column when it is first read.
    2. CorruptionError names the block and the column. Damaged bytes are never decoded.
    3. Arrays may refer to the mapped file. They stay valid after the file is removed.
    4. The cost of opening a block and of reading a column does not depend on the number of columns.
    """

    def __init__(self, path: str, file: BlockFile, verify: bool, buffer: pa.Buffer) -> None:
        self.path = path
        self._file = file
        self._addresses = range(buffer.address, buffer.address + buffer.size)
        self._verify = verify
        self._columns: dict[str, EncodedColumn] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: str, verify: bool = True) -> Block:
        """Map the file at `path`. Raise FileNotFoundError if it does not exist."""
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
            file = BlockFile(buffer)
        except ValueError as error:
            raise _corrupt(path, str(error)) from None
        return cls(path, file, verify, buffer)

    @property
    def num_rows(self) -> int:
        return self._file.num_rows

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns. To test for one name, `in` is cheaper."""
        return self._checked(self._file.names)

    def __contains__(self, name: str) -> bool:
        return name in self._file

    @property
    def statistics(self) -> PackedStatistics:
        return self._checked(self._file.statistics)

    def has_columns(self, schema: Schema) -> bool:
        """Return whether the block has exactly the columns of `schema`, with their types."""
        return self._file.columns_digest == block_file.columns_digest([(f.name, f.dtype) for f in schema])

    def encoding(self, name: str) -> str:
        """Return the name of a column's codec."""
        return self._column(name).encoding

    def read(self, names: Iterable[str], *, decoded: bool = False) -> pa.Table:
        """Read columns in their logical types. Strings may be Arrow dictionaries, unless `decoded` is set."""
        names = list(names)
        arrays = [self._decode(name) if decoded else self._values(name) for name in names]
        if not names:
            return pa.table({"": pa.nulls(self.num_rows)}).select([])
        return pa.Table.from_arrays(arrays, names=names)

    def scan_forms(self, names: Iterable[str]) -> dict[str, ScanForm]:
        """Return columns in the form that is cheapest to scan."""
        return {name: self.scan_form(name) for name in names}

    def values(self, name: str) -> pa.Array[Any]:
        """Return a column in its logical type. Strings may be an Arrow dictionary."""
        return self._values(name)

    def scan_form(self, name: str) -> ScanForm:
        """Return a column in the form that is cheapest to scan."""
        return encodings.scan_form(self._column(name))

    def stored(self, name: str) -> EncodedColumn:
        """Return a column as stored in the file."""
        return self._column(name)

    def maps(self, buffer: pa.Buffer) -> bool:
        """Return whether `buffer` is in the block's mapped memory."""
        return buffer.address in self._addresses

    def verify(self) -> None:
        """Verify all columns and the statistics now."""
        for name in self.names:
            self._column(name)
        _ = self.statistics

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
        found = self._columns.get(name)
        if found is None:
            with self._lock:
                found = self._columns.get(name)
                if found is None:
                    found = self._columns[name] = self._verified(name)
        return found

    def _verified(self, name: str) -> EncodedColumn:
        stored: StoredColumn = self._checked(lambda: self._file.column(name))
        if self._verify and block_file.checksum(stored.encoded) != stored.checksum:
            raise _corrupt(self.path, f'column "{name}" does not match its checksum')
        return stored.encoded

    def _checked(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except ValueError as error:
            raise _corrupt(self.path, str(error)) from None


def _corrupt(path: str, fact: str) -> CorruptionError:
    return CorruptionError.of_block(Path(path).name.removesuffix(".arrow"), f"damaged: {fact}")


Array = npt.NDArray[Any]
_ENCODING = "plain"


def encode_arrays(arrays: Mapping[str, Array]) -> EncodedBlock:
    """Encode one-dimensional `arrays` by name as a block. Only `StoredArrays` reads it."""
    columns, statistics = {}, []
    for name, array in arrays.items():
        columns[name] = _encode(array)
        statistics.append((name, ColumnStatistics(t.TINYINT, 0, 0, size_bytes=array.nbytes)))
    return EncodedBlock.of(block_file.serialize(0, columns, statistics), columns)


def _encode(array: Array) -> EncodedColumn:
    if array.ndim != 1 or array.dtype.hasobject:
        raise TypeError(f"an array of {array.ndim} dimensions of {array.dtype} cannot be stored")
    values = np.ascontiguousarray(array).view(np.uint8) if array.size else np.empty(0, np.uint8)
    described = json.dumps(np.lib.format.dtype_to_descr(array.dtype))
    return EncodedColumn(
        _ENCODING,
        t.TINYINT,
        len(values),
        {"dtype": described},
        {"values": arrow_buffers.bytes_part(arrow_buffers.buffer_of(values))},
    )


class StoredArrays(Mapping[str, Array]):
    """The arrays of a block, mapped and read-only. Reading a damaged array raises CorruptionError."""

    def __init__(self, block: Block) -> None:
        self._block = block

    def __getitem__(self, name: str) -> Array:
        column = self._block.stored(name)
        descr = json.loads(str(column.params["dtype"]))
        dtype = np.lib.format.descr_to_dtype(_tuples(descr))
        stored: pa.Buffer = arrow_buffers.buffer(column.parts["values"], 1)
        return np.frombuffer(memoryview(stored), dtype=dtype) if stored.size else np.empty(0, dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self._block.names)

    def __len__(self) -> int:
        return len(self._block.names)


def _tuples(descr: Any) -> Any:
    """Convert JSON's lists to NumPy's description of fields: a list of tuples, with a tuple for each shape."""
    if not isinstance(descr, list):
        return descr
    return [(name, _tuples(kind), *map(tuple, shape)) for name, kind, *shape in descr]
