"""Transforms of partition fields over columns: as pyiceberg computes them value by value, and DuckDB in SQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import duckdb
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyiceberg import types as ice
from pyiceberg.transforms import parse_transform

from sharkpy.base.errors import ExecutionError
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.sources.lake.iceberg.schemas import partition_value
from sharkpy.sources.lake.iceberg.transforms import transformed_texts
from tests.examples import examples

NUMBERS = st.integers(1, 1000)
WIDTH = 1000
# Below these no multiple of a width is in the type.
INTS = st.integers(-(2**31) + WIDTH, 2**31 - 1)
LONGS = st.integers(-(2**63) + WIDTH, 2**63 - 1)
DATES = st.dates()
TIMES = st.datetimes() | st.sampled_from([dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(1970, 1, 1)])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(["käse", "e\u0301a\U0001f600b"])
BYTES = st.binary(max_size=8)
UNSCALED = st.integers(-(10**8) + WIDTH, 10**8 - 1)
KINDS: dict[str, tuple[Any, pa.DataType, st.SearchStrategy[Any]]] = {
    "int": (ice.IntegerType(), pa.int32(), INTS),
    "bigint": (ice.LongType(), pa.int64(), LONGS),
    "decimal": (ice.DecimalType(9, 2), pa.decimal128(9, 2), UNSCALED.map(lambda n: Decimal(n).scaleb(-2))),
    "wide decimal": (ice.DecimalType(38, 20), pa.decimal128(38, 20), LONGS.map(lambda n: Decimal(n).scaleb(-20))),
    "text": (ice.StringType(), pa.string(), TEXTS),
    "bytes": (ice.BinaryType(), pa.binary(), BYTES),
    "date": (ice.DateType(), pa.date32(), DATES),
    "timestamp": (ice.TimestampType(), pa.timestamp("us"), TIMES),
}
OF_KIND = {
    **dict.fromkeys(("int", "bigint", "decimal", "wide decimal", "text"), ("bucket", "truncate")),
    "bytes": ("bucket", "truncate", "identity"),
    "date": ("bucket", "year", "month", "day"),
    "timestamp": ("bucket", "year", "month", "day", "hour"),
}
CASES = [(kind, transform) for kind, transforms in OF_KIND.items() for transform in transforms]


def field_of(transform: str, number: int) -> PartitionField:
    return PartitionField(transform, "c", number if transform in ("bucket", "truncate") else None)


def values_of(field: PartitionField, kind: str, values: list[Any]) -> list[Any]:
    """Values of the field for a column, as they come to be in manifests."""
    found, dtype, _ = KINDS[kind]
    name = field.transform if field.number is None else f"{field.transform}[{field.number}]"
    result: Any = parse_transform(name).result_type(found)
    texts = transformed_texts(field, pa.array(values, dtype))
    return [partition_value(text, result, "c") for text in texts.to_pylist()]


@pytest.mark.variants(3)
@pytest.mark.parametrize(("kind", "transform"), CASES)
def test_values_are_pyicebergs(kind: str, transform: str) -> None:
    found, _, strategy = KINDS[kind]

    @settings(max_examples=examples(100), deadline=None)
    @given(values=st.lists(strategy | st.none(), max_size=6), number=NUMBERS)
    @example(values=[None], number=1)
    def check(values: list[Any], number: int) -> None:
        field = field_of(transform, number)
        name = transform if field.number is None else f"{transform}[{number}]"
        theirs: Callable[[Any], Any] = parse_transform(name).transform(found)
        assert values_of(field, kind, values) == [theirs(value) for value in values]

    check()


FLOOR = "{c} - ((({c} % {n}) + {n}) % {n})"
IN_SQL = {
    ("int", "truncate"): FLOOR,
    ("bigint", "truncate"): FLOOR.replace("{c}", "{c}::HUGEINT"),
    ("text", "truncate"): "left({c}, {n})",
    ("date", "year"): "date_diff('year', DATE '1970-01-01', {c})",
    ("date", "month"): "date_diff('month', DATE '1970-01-01', {c})",
    ("date", "day"): "date_diff('day', DATE '1970-01-01', {c})",
    ("timestamp", "year"): "date_diff('year', TIMESTAMP '1970-01-01', {c})",
    ("timestamp", "month"): "date_diff('month', TIMESTAMP '1970-01-01', {c})",
    ("timestamp", "day"): "date_diff('day', TIMESTAMP '1970-01-01', {c})",
    ("timestamp", "hour"): "date_diff('hour', TIMESTAMP '1970-01-01', {c})",
}


@pytest.mark.variants(3)
@pytest.mark.parametrize(("kind", "transform"), IN_SQL)
def test_values_are_duckdbs(kind: str, transform: str) -> None:
    _, dtype, strategy = KINDS[kind]
    with duckdb.connect() as connection:

        @settings(max_examples=examples(50), deadline=None)
        @given(values=st.lists(strategy | st.none(), min_size=1, max_size=6), number=NUMBERS)
        def check(values: list[Any], number: int) -> None:
            column = pa.table({"c": pa.array(values, dtype)})
            sql = IN_SQL[kind, transform].format(c="c", n=number)
            theirs = [row[0] for row in connection.from_arrow(column).project(sql).fetchall()]
            assert values_of(field_of(transform, number), kind, values) == theirs

        check()


@pytest.mark.parametrize(
    ("kind", "value", "hashed"),
    [
        ("int", 34, 2017239379),
        ("bigint", 34, 2017239379),
        ("decimal", Decimal("14.20"), -500754589),
        ("date", dt.date(2017, 11, 16), -653330422),
        ("timestamp", dt.datetime(2017, 11, 16, 22, 31, 8), -2047944441),
        ("text", "iceberg", 1210000089),
        ("bytes", b"\x00\x01\x02\x03", -188683207),
    ],
)
def test_buckets_are_those_of_the_specification(kind: str, value: Any, hashed: int) -> None:
    """Hashes of its appendix B; the bucket is the remainder of a hash without its sign."""
    number = 1_000_003
    assert values_of(field_of("bucket", number), kind, [value]) == [(hashed & 0x7FFFFFFF) % number]


@pytest.mark.parametrize(
    ("kind", "value"), [("int", -(2**31)), ("bigint", -(2**63)), ("decimal", Decimal("-9999999.99"))]
)
def test_multiples_beyond_the_type_are_errors(kind: str, value: Any) -> None:
    """Other engines would find such rows in no partition that their conditions ask for."""
    with pytest.raises(ExecutionError, match=r"truncate\(1000, c\) is beyond") as error:
        values_of(field_of("truncate", 1000), kind, [0, value] if kind != "decimal" else [value])
    assert error.value.sqlstate == "22003"
