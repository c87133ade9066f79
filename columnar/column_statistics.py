"""Statistics of one column of a block, and of all its columns; their form in the block's file.

The file has one text per column, parsed when the column is read.
"""

from __future__ import annotations

import base64
import decimal
import json
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
import pyarrow.compute as pc
import xxhash

from sharkpy.base.records import dataclass
from sharkpy.columnar import arrow_buffers, kernels
from sharkpy.columnar.domain import Domain, DomainValue, domain_of
from sharkpy.columnar.profile import DISTINCT_LIMIT, ColumnProfile, string_parts
from sharkpy.values import types as t
from sharkpy.values.type_parser import parse_type, type_text

MAX_BOUND_BYTES = 256
_WIDE = decimal.Context(prec=80)
_INT64 = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """Statistics of a column in a block. Values are in the column's domain (`sharkpy.columnar.domain`).

    1. `low` and `high` bound all valid values except NaN. They are None if there are no such values, the type has no
       order, or an unscaled decimal needs more than 64 bits.
    2. `exact` is true if the bounds are values of the column. Bounds from long strings are truncated, and still bounds.
    3. `has_nan` reports NaN, which no bound covers.
    4. `distinct` is the sorted set of valid values without NaN, or None if there are more than 64.
    5. `num_distinct` estimates the number of distinct valid values. `sketch` holds its mergeable registers
       (`distinct_sketch`), or None if `distinct` is known or no sketch was built. `size_bytes` counts encoded bytes.
    """

    dtype: t.DataType
    num_rows: int
    null_count: int
    low: DomainValue | None = None
    high: DomainValue | None = None
    exact: bool = True
    has_nan: bool = False
    distinct: tuple[DomainValue, ...] | None = None
    num_distinct: int = 0
    size_bytes: int = 0
    sketch: bytes | None = None

    @property
    def num_valid(self) -> int:
        return self.num_rows - self.null_count


@dataclass(frozen=True, slots=True)
class BlockStatistics:
    """The statistics of a block's columns, in the order of its schema."""

    num_rows: int
    columns: tuple[tuple[str, ColumnStatistics], ...]

    def __getitem__(self, name: str) -> ColumnStatistics:
        for column, stats in self.columns:
            if column == name:
                return stats
        raise KeyError(name)


def column_statistics(profile: ColumnProfile, size_bytes: int) -> ColumnStatistics:
    """Compute the statistics of a profiled column."""
    low, high, exact, has_nan = _bounds(profile)
    if isinstance(low, int) and isinstance(high, int) and (low not in _INT64 or high not in _INT64):
        low, high, exact = None, None, False
    distinct = _distinct(profile) if exact else None
    if distinct is not None:
        num_distinct, registers = len(distinct) + has_nan, None
    else:
        num_distinct, registers = profile.num_distinct, profile.sketch
    return ColumnStatistics(
        profile.dtype,
        profile.num_rows,
        profile.null_count,
        low,
        high,
        exact,
        has_nan,
        distinct,
        num_distinct,
        size_bytes,
        None if registers is None else registers.tobytes(),
    )


def _bounds(profile: ColumnProfile) -> tuple[DomainValue | None, DomainValue | None, bool, bool]:
    if profile.num_valid == 0 or profile.domain is Domain.NONE:
        return None, None, True, False
    match profile.domain:
        case Domain.INTEGER:
            return *_integer_bounds(profile), True, False
        case Domain.FLOAT:
            return _float_bounds(profile)
        case _:
            return *_byte_bounds(profile), False


def _integer_bounds(profile: ColumnProfile) -> tuple[int, int]:
    if profile.integers is not None:
        return profile.integers.low, profile.integers.high
    found = pc.min_max(profile.array)
    low, high = found["min"].as_py(), found["max"].as_py()
    if isinstance(profile.dtype, t.DecimalType):
        return int(low.scaleb(profile.dtype.scale, _WIDE)), int(high.scaleb(profile.dtype.scale, _WIDE))
    return int(low), int(high)


def _float_bounds(profile: ColumnProfile) -> tuple[DomainValue | None, DomainValue | None, bool, bool]:
    low, high, has_nan = kernels.profile_floats(arrow_buffers.view(profile.filled, _float_type(profile.dtype)))
    if low > high:
        return None, None, True, bool(has_nan)
    return float(low), float(high), True, bool(has_nan)


def _float_type(dtype: t.DataType) -> str:
    return "f8" if dtype == t.DOUBLE else "f4"


def _byte_bounds(profile: ColumnProfile) -> tuple[bytes | None, bytes | None, bool]:
    if profile.null_count == 0 and profile.dictionary is not None:
        values = profile.dictionary[1]
        low, high = _as_bytes(values[0]), _as_bytes(values[len(values) - 1])
    else:
        values = profile.array.drop_null() if profile.null_count else profile.array
        offsets, data = string_parts(values)
        words = np.ndarray((max(len(data) - 7, 0),), np.uint64, data, strides=(1,))
        low, high = (_as_bytes(values[int(place)]) for place in kernels.byte_bounds(offsets, data, words))
    if len(low) <= MAX_BOUND_BYTES and len(high) <= MAX_BOUND_BYTES:
        return low, high, True
    return low[:MAX_BOUND_BYTES], _cut_above(high), False


def _as_bytes(scalar: Any) -> bytes:
    stored = scalar.as_buffer()
    return bytes(stored) if stored is not None else b""


def _cut_above(value: bytes) -> bytes | None:
    """Return a short value that is not below `value`, or None if there is none."""
    if len(value) <= MAX_BOUND_BYTES:
        return value
    head = value[:MAX_BOUND_BYTES].rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else None


def _distinct(profile: ColumnProfile) -> tuple[DomainValue, ...] | None:
    if profile.num_valid == 0 or profile.domain is Domain.NONE:
        return ()
    if profile.domain is Domain.BYTES:
        return _distinct_bytes(profile)
    if profile.domain is Domain.FLOAT:
        return _distinct_floats(profile)
    if profile.integers is None:
        return _distinct_by_arrow(profile)
    codes, narrowing = profile.codes, profile.narrowing
    if codes is not None and narrowing is not None and codes.itemsize <= 2:
        found = profile.present_codes
        if len(found) > DISTINCT_LIMIT:
            return None
        return tuple(narrowing.base + narrowing.factor * int(code) for code in found)
    values = _few(profile.integers.values)
    return None if values is None else tuple(sorted(values.tolist()))


def _few(values: arrow_buffers.Array) -> arrow_buffers.Array | None:
    out, slots, used = np.empty(DISTINCT_LIMIT, np.int64), np.zeros(256, np.int64), np.zeros(256, np.uint8)
    count = kernels.small_distinct(values, DISTINCT_LIMIT, out, slots, used)
    return None if count < 0 else out[:count]


def _distinct_floats(profile: ColumnProfile) -> tuple[DomainValue, ...] | None:
    width = profile.physical.type.bit_width // 8
    bits = _few(arrow_buffers.view(profile.physical, f"i{width}"))
    if bits is None:
        return None
    floats = bits.astype(f"i{width}").view(f"f{width}")
    return tuple(sorted({float(value) for value in floats if not np.isnan(value)}))


def _distinct_bytes(profile: ColumnProfile) -> tuple[DomainValue, ...] | None:
    if profile.sample_distinct > DISTINCT_LIMIT + 1 or profile.dictionary is None:
        return None
    values = profile.dictionary[1]
    if len(values) > DISTINCT_LIMIT + 1:
        return None
    if profile.null_count:
        values = profile.array.unique().drop_null()
    return tuple(sorted(_as_bytes(value) for value in values)) if len(values) <= DISTINCT_LIMIT else None


def _distinct_by_arrow(profile: ColumnProfile) -> tuple[DomainValue, ...] | None:
    values = profile.array.unique().drop_null()
    if len(values) > DISTINCT_LIMIT:
        return None
    if isinstance(profile.dtype, t.DecimalType):
        return tuple(sorted(int(v.as_py().scaleb(profile.dtype.scale, _WIDE)) for v in values))
    return tuple(sorted(int(v.as_py()) for v in values))


Array = np.ndarray[Any, np.dtype[Any]]
RECORD = np.dtype(
    [
        ("name", "<u8"),
        ("layout", "<u8"),
        ("layout_bytes", "<u4"),
        ("statistics_bytes", "<u4"),
        ("statistics", "<u8"),
        ("size_bytes", "<u8"),
        ("layout_digest", "<u8"),
    ]
)
"""Directory entry of a column: a hash of its name, the positions of its layout and its statistics, its encoded bytes,
and a checksum of the layout.
"""


def name_hash(name: str) -> int:
    """Return the number by which a directory finds a column."""
    return xxhash.xxh3_64_intdigest(name.encode("utf-8", "surrogatepass"))


def index_in_directory(directory: Array, name: str) -> int | None:
    """Return the index of a column in the directory, or None if it has no such column."""
    found = np.flatnonzero(directory["name"] == np.uint64(name_hash(name)))
    return int(found[0]) if len(found) else None


@dataclass(frozen=True, slots=True)
class PackedStatistics:
    """Statistics of a block's columns. The cost of reading one column does not depend on the other columns."""

    num_rows: int
    records: bytes = field(repr=False)
    """The block's directory."""
    texts: bytes = field(repr=False)

    def __getitem__(self, name: str) -> ColumnStatistics:
        place = index_in_directory(self._directory, name)
        if place is None:
            raise KeyError(name)
        found, statistics = self._at(place)
        if found != name:
            raise KeyError(name)
        return statistics

    @property
    def columns(self) -> tuple[tuple[str, ColumnStatistics], ...]:
        """The statistics of all columns, in the order of the block's schema."""
        return tuple(self._at(place) for place in range(len(self._directory)))

    @property
    def sizes(self) -> list[int]:
        """Encoded bytes of all columns, in the order of the block's schema."""
        return self._directory["size_bytes"].tolist()  # type: ignore[no-any-return]

    @property
    def _directory(self) -> Array:
        return np.frombuffer(self.records, RECORD)

    def _at(self, place: int) -> tuple[str, ColumnStatistics]:
        record = self._directory[place]
        start, size = int(record["statistics"]), int(record["statistics_bytes"])
        return _parsed(self.texts[start : start + size], self.num_rows, int(record["size_bytes"]))


def texts_of(columns: Sequence[tuple[str, ColumnStatistics]]) -> list[bytes]:
    """Return the text of each column."""
    return [_text(name, stats) for name, stats in columns]


def _text(name: str, stats: ColumnStatistics) -> bytes:
    distinct = None if stats.distinct is None else [_stored(value) for value in stats.distinct]
    low, high = (None if value is None else _stored(value) for value in (stats.low, stats.high))
    sketch = None if stats.sketch is None else base64.b64encode(stats.sketch).decode()
    fields = (
        name,
        type_text(stats.dtype),
        stats.null_count,
        low,
        high,
        stats.exact,
        stats.has_nan,
        distinct,
        stats.num_distinct,
        sketch,
    )
    return json.dumps(fields, separators=(",", ":")).encode()


def _parsed(text: bytes, num_rows: int, size_bytes: int) -> tuple[str, ColumnStatistics]:
    name, of_type, nulls, low, high, exact, has_nan, distinct, num_distinct, sketch = json.loads(text)
    dtype = parse_type(of_type)
    domain = domain_of(dtype)
    statistics = ColumnStatistics(
        dtype,
        num_rows,
        nulls,
        None if low is None else _value(low, domain),
        None if high is None else _value(high, domain),
        exact,
        has_nan,
        None if distinct is None else tuple(_value(value, domain) for value in distinct),
        num_distinct,
        size_bytes,
        None if sketch is None else base64.b64decode(sketch),
    )
    return name, statistics


def _stored(value: DomainValue) -> object:
    match value:
        case bytes():
            return value.decode("latin-1")
        case float():
            return value.hex()
    return value


def _value(value: object, domain: Domain) -> DomainValue:
    match domain, value:
        case Domain.BYTES, str():
            return value.encode("latin-1")
        case Domain.FLOAT, str():
            return float.fromhex(value)
        case Domain.INTEGER, int():
            return value
    raise ValueError(f"statistics hold {value!r} for {domain}")
