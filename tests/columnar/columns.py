"""Random columns of every type for the store's tests."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa

from sharkpy.values import types as t

LENGTHS = (0, 1, 63, 64, 65, 1023, 1024, 1025, 65_537)
NULL_PATTERNS = ("none", "all", "some", "first", "runs")
SHAPES = ("constant", "few", "narrow", "wide", "sorted", "runs")

TYPES: tuple[t.DataType, ...] = (
    t.NULL,
    t.BOOLEAN,
    t.TINYINT,
    t.SMALLINT,
    t.INT,
    t.BIGINT,
    t.FLOAT,
    t.DOUBLE,
    t.STRING,
    t.BINARY,
    t.DATE,
    t.TIMESTAMP,
    t.DecimalType(9, 2),
    t.DecimalType(18, 4),
    t.DecimalType(38, 10),
    t.VarcharType(20),
    t.CharType(10),
    t.ArrayType(t.INT),
    t.MapType(t.STRING, t.DOUBLE),
    t.StructType(("a", "b"), (t.STRING, t.ArrayType(t.BIGINT))),
)

_RANGE: dict[t.DataType, tuple[int, int]] = {
    t.BOOLEAN: (0, 1),
    t.TINYINT: (-128, 127),
    t.SMALLINT: (-(1 << 15), (1 << 15) - 1),
    t.INT: (-(1 << 31), (1 << 31) - 1),
    t.BIGINT: (-(1 << 63), (1 << 63) - 1),
    t.DATE: (-719_162, 2_932_896),
    t.TIMESTAMP: (-62_135_596_800_000_000, 253_402_300_799_999_999),
    t.DecimalType(9, 2): (-(10**9) + 1, 10**9 - 1),
    t.DecimalType(18, 4): (-(10**18) + 1, 10**18 - 1),
}


def column(dtype: t.DataType, num_rows: int, nulls: str, shape: str, seed: int) -> pa.Array:
    """Column in its logical Arrow type."""
    rng = np.random.default_rng(seed)
    numbers = _numbers(dtype, num_rows, shape, rng)
    missing = null_mask(num_rows, nulls, rng)
    make = _maker(dtype)
    values = [None if gone else make(int(number)) for number, gone in zip(numbers, missing, strict=True)]
    return pa.array(values, t.to_arrow(dtype))


def null_mask(num_rows: int, pattern: str, rng: np.random.Generator) -> np.ndarray:
    match pattern:
        case "none":
            return np.zeros(num_rows, bool)
        case "all":
            return np.ones(num_rows, bool)
        case "some":
            return rng.random(num_rows) < 0.3
        case "first":
            return np.arange(num_rows) == 0
    return (np.arange(num_rows) // 97) % 2 == 1


def _numbers(dtype: t.DataType, num_rows: int, shape: str, rng: np.random.Generator) -> np.ndarray:
    low, high = _RANGE.get(dtype, (-(1 << 40), 1 << 40))
    match shape:
        case "constant":
            numbers = np.full(num_rows, int(rng.integers(low, high, endpoint=True)))
        case "few":
            numbers = rng.choice(rng.integers(low, high, 5, endpoint=True), num_rows)
        case "narrow":
            step = int(rng.integers(1, 1000))
            numbers = max(low, 0) + step * rng.integers(0, 300, num_rows)
        case "sorted":
            numbers = np.cumsum(rng.integers(0, 9, num_rows))
        case "runs":
            numbers = np.repeat(rng.integers(low, high, num_rows // 50 + 1, endpoint=True), 50)[:num_rows]
        case _:
            numbers = rng.integers(low, high, num_rows, endpoint=True)
    return np.clip(numbers, low, high)


def _maker(dtype: t.DataType) -> Callable[[int], object]:
    match dtype:
        case t.NullType():
            return lambda number: None
        case t.BooleanType():
            return lambda number: number % 2 == 1
        case t.FloatType():
            return lambda number: _special(number) if number % 7 == 0 else float(np.float32(number / 8))
        case t.DoubleType():
            return lambda number: _special(number) if number % 977 == 0 else number / 100
        case t.StringType() | t.VarcharType():
            return lambda number: f"é{number:x}" if number % 3 else ("" if number % 5 == 0 else f"row {number}")
        case t.CharType():
            return lambda number: f"{number % 1000:<10}"
        case t.BinaryType():
            return lambda number: number.to_bytes(8, "little", signed=True)[: abs(number) % 9]
        case t.DateType():
            return lambda number: datetime.date(1970, 1, 1) + datetime.timedelta(days=number)
        case t.TimestampType():
            return lambda number: datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=number)
        case t.DecimalType(38, 10):
            return lambda number: Decimal(number * (10**12 if number % 2 else 1)).scaleb(-10)
        case t.DecimalType(_, scale):
            return lambda number: Decimal(number).scaleb(-scale)
    return _nested_maker(dtype)


def _nested_maker(dtype: t.DataType) -> Callable[[int], object]:
    match dtype:
        case t.ArrayType():
            return lambda number: [number % 1000, None, 3][: abs(number) % 4]
        case t.MapType():
            return lambda number: [("k", number / 4), (f"{number}", None)][: abs(number) % 3]
        case t.StructType():
            return lambda number: {"a": None if number % 2 else f"s{number}", "b": [number]}
        case _:
            return lambda number: number


def _special(number: int) -> float:
    return (float("nan"), float("inf"), float("-inf"), -0.0, 5e-324)[abs(number) % 5]


def same(left: pa.Array, right: pa.Array) -> bool:
    """True for equal columns, NaN equal to NaN, zeros with their signs."""
    if left.type != right.type or len(left) != len(right):
        return False
    if not pa.types.is_floating(left.type):
        return left.equals(right)
    bits = pa.int64() if left.type == pa.float64() else pa.int32()
    plain = [pa.array(np.asarray(side.fill_null(0.0)).copy()) for side in (left, right)]
    return left.is_null().equals(right.is_null()) and plain[0].view(bits).equals(plain[1].view(bits))
