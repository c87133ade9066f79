"""Footer of a Parquet file: the metadata of its row groups and column chunks, and statistics of row groups.

Arrow's own objects for these end the process at an encrypted chunk, or at one with inconsistent numbers. parquet.thrift
in the format's specification defines the messages, in Thrift's compact form.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TType
from thrift.transport.TTransport import TMemoryBuffer

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics
from sharkpy.columnar.domain import Domain, DomainValue, domain_of
from sharkpy.columnar.statistics_table import StatisticsTable
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import LocalCopy, check_unchanged, local_copy, object_of_file
from sharkpy.sources.source import Split
from sharkpy.sources.storage.fetched_files import Range
from sharkpy.sources.storage.store import is_identified
from sharkpy.values.types import DataType, DecimalType, Schema

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED_BYTES = range(8)
"""Physical types."""
_ENCRYPTED_MAGIC = b"PARE"
_HEADER_BYTES = 100
"""Bytes of a dictionary's header, which some writers have not counted."""
_KNOWN_FOOTERS = 256
_MOST_ITEMS = 1 << 22
_DAMAGE = (TProtocolException, EOFError, TypeError, ValueError, OverflowError, MemoryError)
_NAMES = (TType.STRING, "BINARY", False)
Figures = np.ndarray[Any, np.dtype[np.int64]]


class _Message:
    """A Thrift message; missing fields are None."""

    thrift_spec: tuple[Any, ...]

    def __init__(self, **values: object) -> None:
        for name, value in values.items():
            setattr(self, name, value)


def _message(name: str, *fields: tuple[int, int, str] | tuple[int, int, str, Any]) -> Any:
    """Class of a message with some fields: number, type, name, type of elements. All other fields are skipped."""
    spec: list[Any] = [None] * (max(number for number, *_ in fields) + 1)
    for number, kind, field, *inner in fields:
        spec[number] = (number, kind, field, *(inner or [None]), None)
    return type(name, (_Message,), {"thrift_spec": tuple(spec), **{field[2]: None for field in fields}})


def _of(message: Any) -> list[Any]:
    return [message, message.thrift_spec]


def _list_of(message: Any) -> tuple[Any, ...]:
    return (TType.STRUCT, _of(message), False)


_Statistics = _message(
    "Statistics",
    (1, TType.STRING, "max", "BINARY"),
    (2, TType.STRING, "min", "BINARY"),
    (3, TType.I64, "null_count"),
    (5, TType.STRING, "max_value", "BINARY"),
    (6, TType.STRING, "min_value", "BINARY"),
)
_ColumnMetaData = _message(
    "ColumnMetaData",
    (1, TType.I32, "type"),
    (3, TType.LIST, "path", _NAMES),
    (5, TType.I64, "num_values"),
    (6, TType.I64, "plain_bytes"),
    (7, TType.I64, "bytes"),
    (9, TType.I64, "data_offset"),
    (11, TType.I64, "dictionary_offset"),
    (12, TType.STRUCT, "statistics", _of(_Statistics)),
)
_ColumnKey = _message("EncryptionWithColumnKey", (1, TType.LIST, "path", _NAMES))
_Crypto = _message("ColumnCryptoMetaData", (2, TType.STRUCT, "key", _of(_ColumnKey)))
_ColumnChunk = _message(
    "ColumnChunk", (3, TType.STRUCT, "meta", _of(_ColumnMetaData)), (8, TType.STRUCT, "crypto", _of(_Crypto))
)
_RowGroup = _message("RowGroup", (1, TType.LIST, "columns", _list_of(_ColumnChunk)), (3, TType.I64, "num_rows"))
_FileMetaData = _message("FileMetaData", (4, TType.LIST, "row_groups", _list_of(_RowGroup)))


@dataclass(frozen=True, slots=True)
class ParquetFooter:
    """Numbers of a file by row group (rows of the arrays) and by leaf of its columns (columns of the arrays).

    `rows`: rows of each row group. `paths`: paths of the leaves, with dots. `encrypted`: paths of leaves that cannot be
    read without a key. `misread`: paths of leaves in which DuckDB 2.0 takes NULLs for values.
    """

    rows: tuple[int, ...]
    paths: tuple[str, ...]
    encrypted: frozenset[str]
    misread: frozenset[str]
    bytes: Figures
    plain_bytes: Figures
    num_values: Figures
    starts: Figures

    def column_bytes(self, group: int, names: Collection[str]) -> int:
        """Stored bytes of the columns `names` in a row group."""
        return int(self.bytes[group, self._places(names)].sum())

    def ranges(self, group: int, names: Collection[str]) -> list[Range]:
        """Ranges of the columns of a row group, including the parts of nested columns."""
        places = self._places(names)
        starts, sizes = self.starts[group, places].tolist(), self.bytes[group, places].tolist()
        return [(start, start + size + _HEADER_BYTES) for start, size in zip(starts, sizes, strict=True)]

    def check_readable(self, names: Collection[str], path: str) -> None:
        """Raise UnsupportedError for an encrypted column."""
        for leaf in sorted(self.encrypted):
            if is_part(leaf, names):
                name = leaf if leaf in names else leaf.partition(".")[0]
                hint = "its other columns can be read"
                raise UnsupportedError(f'the column "{name}" of "{path}", which is encrypted', hint=hint)

    def _places(self, names: Collection[str]) -> list[int]:
        return [place for place, path in enumerate(self.paths) if is_part(path, names)]


def parquet_footer(file: DataFile | Split, copy: LocalCopy) -> ParquetFooter:
    """Footer of a copy of a file, which has to be present. SourceError if it is damaged."""
    size = file.file_bytes if isinstance(file, Split) else file.size_bytes
    identity = file.path, size, file.modified_ns, file.tag, file.access
    if (found := _known.get(identity)) is None:
        found = _footer_of(row_group_messages(copy.path, file.path), file.path)
        if len(_known) >= _KNOWN_FOOTERS:
            _known.clear()
        if not file.access or is_identified(object_of_file(file)):
            _known[identity] = found
    return found


def row_group_messages(path: str, name: str) -> list[Any]:
    """Messages of the row groups of the file at `path`, which is a copy of the file `name`."""
    with open(path, "rb") as file:
        data = _footer_bytes(file, name)
    message = _FileMetaData()
    protocol = TCompactProtocolAccelerated(
        TMemoryBuffer(data), string_length_limit=len(data), container_length_limit=_MOST_ITEMS, fallback=False
    )
    try:
        protocol._fast_decode(message, protocol, _of(_FileMetaData))
    except _DAMAGE as error:
        raise _damaged(name, str(error)) from None
    found: list[Any] = message.row_groups or []
    return found


_known: dict[tuple[object, ...], ParquetFooter] = {}


def _footer_of(groups: Sequence[Any], path: str) -> ParquetFooter:
    chunks = [group.columns or [] for group in groups]
    paths = [_path(chunk, path) for chunk in chunks[0]] if chunks else []
    if any(len(group) != len(paths) for group in chunks):
        raise _damaged(path, "its row groups differ in the number of their columns")
    misread = {paths[at] for group in chunks for at, chunk in enumerate(group) if _is_misread(chunk.meta)}
    encrypted = {paths[at] for group in chunks for at, chunk in enumerate(group) if chunk.crypto is not None}
    shape = len(groups), len(paths)
    return ParquetFooter(
        tuple(max(group.num_rows or 0, 0) for group in groups),
        tuple(paths),
        frozenset(encrypted),
        frozenset(misread),
        _figures((chunk.meta.bytes if chunk.meta else 0 for group in chunks for chunk in group), shape),
        _figures((chunk.meta.plain_bytes if chunk.meta else 0 for group in chunks for chunk in group), shape),
        _figures((chunk.meta.num_values if chunk.meta else 0 for group in chunks for chunk in group), shape),
        _figures((_start(chunk.meta) if chunk.meta else 0 for group in chunks for chunk in group), shape),
    )


def _figures(values: Iterator[int | None], shape: tuple[int, int]) -> Figures:
    return np.fromiter((max(value or 0, 0) for value in values), np.int64, shape[0] * shape[1]).reshape(shape)


def _footer_bytes(file: Any, name: str) -> bytes:
    size = file.seek(0, 2)
    file.seek(max(size - 8, 0))
    end = file.read(8)
    if end.endswith(_ENCRYPTED_MAGIC):
        raise UnsupportedError(f'the Parquet file "{name}", which is encrypted')
    first, last = footer_range(size, end)
    if not end.endswith(MAGIC) or first < 0:
        raise _damaged(name, "it has no footer")
    file.seek(first)
    return bytes(file.read(last - first))


def check_plain(copy: LocalCopy, name: str) -> None:
    """Raise UnsupportedError for a file with an encrypted footer."""
    with suppress(OSError, SourceError), open(copy.path, "rb") as file:
        _footer_bytes(file, name)


def _path(chunk: Any, path: str) -> str:
    message = chunk.meta or (chunk.crypto and chunk.crypto.key)
    if not message or not message.path:
        raise _damaged(path, "a column has no name")
    return b".".join(message.path).decode("utf-8", "replace")


def _start(meta: Any) -> int:
    start: int = meta.data_offset or 0
    return min(start, meta.dictionary_offset) if (meta.dictionary_offset or 0) > 0 else start


def _is_misread(meta: Any) -> bool:
    """True if DuckDB 2.0 takes NULLs for values: in strings without a dictionary whose bounds are a single value."""
    if meta is None or meta.type != BYTE_ARRAY or meta.dictionary_offset or meta.statistics is None:
        return False
    found = meta.statistics
    low = found.min if found.min_value is None else found.min_value
    high = found.max if found.max_value is None else found.max_value
    return low is not None and low == high and found.null_count != 0


def _damaged(path: str, reason: str) -> SourceError:
    return SourceError(f'"{path}" is not a readable Parquet file: {reason or "its footer is damaged"}')


_TAIL_BYTES = 64 << 10
_END_BYTES = 8
"""Bytes after the footer: its length, and the format's magic."""
MAGIC = b"PAR1"


def fetch_footer(file: DataFile | Split, copy: LocalCopy) -> None:
    """Fetch a file's footer, usually by one request."""
    if copy.is_whole:
        return
    size = object_of_file(file).size_bytes
    copy.fetch([(size - _TAIL_BYTES, size)])
    with open(copy.path, "rb") as tail:
        tail.seek(max(size - _END_BYTES, 0))
        end = tail.read()
    if end.endswith(MAGIC):
        copy.fetch([(footer_range(size, end)[0], size)])


def footer_range(size: int, end: bytes) -> Range:
    """Range of the footer of a file of `size` bytes, from its last bytes."""
    return size - _END_BYTES - int.from_bytes(end[-_END_BYTES:-4], "little"), size - _END_BYTES


def is_part(path: str, names: Collection[str]) -> bool:
    """True for the path of a column in `names`, or of a part of one. Names may contain dots, too."""
    return path in names or any(path[:end] in names for end, sign in enumerate(path) if sign == ".")


_NUMBERS = {BOOLEAN: "<?", INT32: "<i", INT64: "<q", FLOAT: "<f", DOUBLE: "<d"}
_KEPT = 1024
"""Most splits in the cache of statistics."""


@functools.lru_cache(maxsize=_KEPT)
def row_group_statistics(split: Split, schema: Schema) -> tuple[Schema, StatisticsTable]:
    """Statistics of a split's row groups, and the columns of `schema` that have them: flat columns with the types of
    the file (see `PlainFile`).
    """
    check_unchanged(split)
    copy = local_copy(split)
    fetch_footer(split, copy)
    places = {path.lower(): place for place, path in enumerate(parquet_footer(split, copy).paths)}
    groups = row_group_messages(copy.path, split.path)[split.start : split.start + split.length]
    found: dict[str, list[ColumnStatistics]] = {}
    for field in schema:
        columns = list(_columns(groups, places[field.name], field.dtype)) if field.name in places else []
        if len(columns) == len(groups):
            found[field.name] = columns
    known = schema.select([field.name for field in schema if field.name in found])
    blocks = [
        BlockStatistics(group.num_rows or 0, tuple((name, found[name][number]) for name in known.names))
        for number, group in enumerate(groups)
    ]
    return known, StatisticsTable.of(known, blocks)


def _columns(groups: list[Any], place: int, dtype: DataType) -> Iterator[ColumnStatistics]:
    """Statistics of a column in row groups; fewer if one of them does not have the number of NULLs."""
    for group in groups:
        meta = group.columns[place].meta
        stored = meta and meta.statistics
        if not stored or stored.null_count is None:
            return
        low, high = (_bound(meta.type, one, dtype) for one in _bounds(meta.type, stored))
        if low is None or high is None:
            low = high = None
        # Writers leave NaN out of the bounds without a mark.
        is_float = domain_of(dtype) is Domain.FLOAT
        yield ColumnStatistics(dtype, group.num_rows or 0, stored.null_count, low, high, exact=False, has_nan=is_float)


def _bounds(kind: int, stored: Any) -> tuple[bytes | None, bytes | None]:
    """Stored bounds. The old fields are in the order of signed bytes, so they are useless for strings."""
    if stored.min_value is None and stored.max_value is None and kind in _NUMBERS:
        return stored.min, stored.max
    return stored.min_value, stored.max_value


def _bound(kind: int, stored: bytes | None, dtype: DataType) -> DomainValue | None:
    """Bound in the column's domain. A cut string is not valid text, but its bytes are still a bound."""
    if stored is None:
        return None
    if isinstance(dtype, DecimalType):
        whole = int.from_bytes(stored, "big" if kind == FIXED_BYTES else "little", signed=True)
        return whole if abs(whole) < 1 << 63 else None
    if kind == BYTE_ARRAY:
        return stored
    form = _NUMBERS.get(kind)
    if form is None or len(stored) != struct.calcsize(form):
        return None
    (value,) = struct.unpack(form, stored)
    if isinstance(value, float):
        return None if math.isnan(value) else value
    return int(value)
