"""Statistics of one column of a block, and of all its columns."""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sharkpy.columnar import kernels, parts
from sharkpy.columnar.domain import Domain, DomainValue
from sharkpy.columnar.profile import DISTINCT_LIMIT, ColumnProfile
from sharkpy.values import types as t

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
    low, high, has_nan = kernels.profile_floats(parts.view(profile.filled, _float_type(profile.dtype)))
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
        found = pc.min_max(profile.array.cast(pa.binary()))
        low, high = found["min"].as_py(), found["max"].as_py()
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


def _few(values: parts.Array) -> parts.Array | None:
    out = np.empty(DISTINCT_LIMIT, np.int64)
    count = kernels.small_distinct(values, DISTINCT_LIMIT, out)
    return None if count < 0 else out[:count]


def _distinct_floats(profile: ColumnProfile) -> tuple[DomainValue, ...] | None:
    width = profile.physical.type.bit_width // 8
    bits = _few(parts.view(profile.physical, f"i{width}"))
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
