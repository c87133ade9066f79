"""Python values of Arrow columns: equal to Arrow's own, one value at a time."""

from __future__ import annotations

import datetime
import math
import string
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ExecutionError
from sharkpy.values.few_values import few_values
from sharkpy.values.python_values import python_values
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL_DAY_TIME,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    to_arrow,
)

SCALARS: dict[DataType, st.SearchStrategy[Any]] = {
    NULL: st.none(),
    BOOLEAN: st.booleans(),
    TINYINT: st.integers(-(1 << 7), (1 << 7) - 1),
    SMALLINT: st.integers(-(1 << 15), (1 << 15) - 1),
    INT: st.integers(-(1 << 31), (1 << 31) - 1),
    BIGINT: st.integers(-(1 << 63), (1 << 63) - 1),
    FLOAT: st.floats(width=32),
    DOUBLE: st.floats(),
    STRING: st.text(max_size=20),
    BINARY: st.binary(max_size=20),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(),
    INTERVAL_DAY_TIME: st.integers(-(1 << 63), (1 << 63) - 1),
    DecimalType(38, 18): st.decimals(min_value=-(10**19), max_value=10**19, places=18),
    DecimalType(5, 0): st.decimals(min_value=-99_999, max_value=99_999, places=0),
}
KEYS = [STRING, INT, DATE, TIMESTAMP, DecimalType(5, 0)]


def nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    structs = st.lists(inner, min_size=1, max_size=3).map(
        lambda types: StructType(tuple(string.ascii_lowercase[: len(types)]), tuple(types))
    )
    return st.one_of(inner.map(ArrayType), structs, st.builds(MapType, st.sampled_from(KEYS), inner))


TYPES = st.recursive(st.sampled_from(list(SCALARS)), nested, max_leaves=4)


def values(dtype: DataType) -> st.SearchStrategy[Any]:
    """Strategy for values as pyarrow takes them: a map is a list of pairs."""
    match dtype:
        case ArrayType(element):
            some: st.SearchStrategy[Any] = st.lists(values(element), max_size=3)
        case MapType(key, item):
            some = st.lists(st.tuples(SCALARS[key], values(item)), max_size=3, unique_by=lambda pair: pair[0])
        case StructType(names, types):
            some = st.fixed_dictionaries(dict(zip(names, map(values, types), strict=True)))
        case _:
            some = SCALARS[dtype]
    return st.none() | some


@st.composite
def columns(draw: st.DrawFn) -> pa.Array[Any]:
    """Draw a slice of a column of any type."""
    dtype = draw(TYPES)
    column = pa.array(draw(st.lists(values(dtype), max_size=8)), to_arrow(dtype))
    return column.slice(draw(st.integers(0, 3)), draw(st.integers(0, 8)))


def _maps_of_void(num_rows: int) -> pa.Array[Any]:
    dtype = pa.map_(pa.int32(), pa.struct([("v", pa.null()), ("n", pa.int64())]))
    return pa.array([[(1, {"v": None, "n": 1})]] * num_rows, dtype)


@given(columns())
@example(_maps_of_void(3).slice(3))
@example(_maps_of_void(3).slice(1, 1))
@settings(deadline=None)
def test_values_are_arrows(column: pa.Array[Any]) -> None:
    expected = column.to_pylist(maps_as_pydicts="lossy")
    assert repr(python_values(column)) == repr(expected)  # the text tells types, signs of zero and NaN apart


def test_what_lies_under_null_is_not_read() -> None:
    """A slot of NULL may span items, here one without a value."""
    days = pa.array([0, 1 << 30, 1], pa.int32()).view(pa.date32())
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), days, mask=pa.array([False, True, False]))
    structs = pa.StructArray.from_arrays([days], ["d"], mask=pa.array([False, True, False]))
    first, last = datetime.date(1970, 1, 1), datetime.date(1970, 1, 2)
    assert python_values(lists) == [[first], None, [last]]
    assert python_values(structs) == [{"d": first}, None, {"d": last}]


def test_the_last_of_equal_keys_counts() -> None:
    twice = pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int32()))
    assert python_values(twice) == [{"k": 2}]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([[1, 2]], pa.list_(pa.int8(), 2)), [[1, 2]]),
        (pa.array([{}, None], pa.struct([])), [{}, None]),
        (pa.array(["a", "a"]).dictionary_encode(), ["a", "a"]),
        (pa.array([1.5], pa.float16()), [1.5]),
        (pa.array([datetime.date(2024, 2, 29)], pa.date64()), [datetime.date(2024, 2, 29)]),
    ],
    ids=lambda one: str(one.type) if isinstance(one, pa.Array) else None,
)
def test_types_that_no_result_has(column: pa.Array[Any], expected: list[Any]) -> None:
    assert python_values(column) == expected


def test_nan_is_no_null() -> None:
    nan, null = python_values(pa.array([math.nan, None], pa.float64()))
    assert math.isnan(nan)
    assert null is None


@pytest.mark.parametrize("number", [-719_163, 2_932_897])
def test_a_date_that_python_has_not(number: int) -> None:
    dates = pa.array([None, number], pa.int32()).view(pa.date32())
    for column in (dates, pa.array([[None, None]], pa.list_(pa.date32())).from_arrays([0, 2], dates)):
        with pytest.raises(ExecutionError, match="outside the years 1 to 9999"):
            python_values(column)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([True, None, False], pa.bool_()),
        ([-128, None], pa.int8()),
        ([2**63 - 1], pa.int64()),
        ([1.1, 1e300, float("inf"), -0.0, 5e-324, None], pa.float64()),
        ([1.100000023841858], pa.float32()),
        ([Decimal("1E+3"), Decimal("0.001"), None], pa.decimal128(38, 3)),
        ([datetime.date(1, 1, 1), datetime.date(9999, 12, 31)], pa.date32()),
        ([datetime.datetime(1, 1, 1, 2, 3, 4, 5), None], pa.timestamp("us")),
        (["", "é", None], pa.string()),
        ([b"\xff"], pa.binary()),
        ([None, None], pa.date32()),
        ([], pa.int32()),
    ],
)
def test_few_values_are_as_arrow_makes_them(values: list[object], dtype: pa.DataType) -> None:
    assert few_values(values, dtype).equals(pa.array(values, dtype))


@pytest.mark.parametrize(("value", "dtype"), [(300, pa.int8()), (Decimal("1.25"), pa.decimal128(5, 1))])
def test_few_values_must_fit(value: object, dtype: pa.DataType) -> None:
    with pytest.raises(ValueError, match=r"int8|data loss"):
        few_values([value], dtype)
