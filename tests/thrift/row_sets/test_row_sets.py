"""Row sets made of Arrow's buffers: the same bytes as thrift's own codec writes from Python's values."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import ExecutionError, ResourceError
from sharkpy.thrift import row_sets
from sharkpy.thrift.row_sets import encode_row_set
from sharkpy.values import types as t
from tests.examples import examples
from tests.thrift.row_sets import expected

V5, V6 = 4, 5
BY_VERSION = {V5: expected.row_based, V6: expected.columnar}


@pytest.mark.variants(3)
@pytest.mark.parametrize("version", BY_VERSION)
@pytest.mark.parametrize("dtype", expected.TYPES, ids=str)
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_bytes_are_those_of_thrifts_codec(dtype: t.DataType, version: int, data: st.DataObject) -> None:
    batch = expected.batch_of((dtype, data.draw(expected.columns(dtype))))
    first = data.draw(st.integers(0, batch.num_rows))
    batch = batch.slice(first, data.draw(st.integers(0, batch.num_rows - first)))
    cut = data.draw(st.integers(0, batch.num_rows))
    schema = expected.schema_of(dtype)
    parts = [batch.slice(0, cut), batch.slice(cut)]
    content = encode_row_set(parts, schema, 12, version)
    assert content == expected.written(BY_VERSION[version](batch, schema, 12))


@pytest.mark.parametrize("version", BY_VERSION)
def test_all_types_side_by_side(version: int) -> None:
    schema = expected.schema_of(*expected.TYPES)
    batch = expected.batch_of(*((dtype, EXAMPLES[dtype]) for dtype in expected.TYPES))
    content = encode_row_set([batch, batch.slice(1, 1)], schema, 3, version)
    both = pa.Table.from_batches([batch, batch.slice(1, 1)]).combine_chunks().to_batches()[0]
    assert content == expected.written(BY_VERSION[version](both, schema, 3))


EXAMPLES: dict[t.DataType, list[Any]] = {
    t.NULL: [None, None, None],
    t.BOOLEAN: [True, None, False],
    t.TINYINT: [-128, None, 127],
    t.SMALLINT: [-32768, None, 32767],
    t.INT: [-(1 << 31), None, (1 << 31) - 1],
    t.BIGINT: [-(1 << 63), None, (1 << 63) - 1],
    t.FLOAT: [0.1, None, float("-inf")],
    t.DOUBLE: [0.1, None, float("nan")],
    t.STRING: ["", None, "grün 🦈"],
    t.VarcharType(20): ["", None, "varchar"],
    t.CharType(3): ["a", None, "abc"],
    t.BINARY: [b"", None, b"\xff\x00"],
    t.DATE: [datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)],
    t.TIMESTAMP: [datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000), None, datetime.datetime(2024, 1, 2, 3, 4, 50)],
    t.DecimalType(9, 2): [Decimal("-0.10"), None, Decimal("1234567.89")],
    t.DecimalType(20, 0): [Decimal(-5), None, Decimal(100)],
    t.DecimalType(38, 12): [Decimal("-0.000000000001"), None, Decimal("10.500000000000")],
    t.DecimalType(38, 38): [Decimal(0), None, Decimal("1E-38")],
    t.INTERVAL_YEAR_MONTH: [14, None, -25],
    t.INTERVAL_DAY_TIME: [1, None, -86_400_000_001],
    t.ArrayType(t.INT): [[1, None], None, []],
    t.MapType(t.STRING, t.DOUBLE): [[("k", 1.5)], None, []],
    t.StructType(("a", "b"), (t.STRING, t.DATE)): [
        {"a": 'x"', "b": datetime.date(2024, 1, 2)},
        None,
        {"a": None, "b": None},
    ],
}

TEXTS: dict[t.DataType, list[str]] = {
    t.DATE: ["0001-01-01", "", "9999-12-31"],
    t.TIMESTAMP: ["1969-12-31 23:59:59.999", "", "2024-01-02 03:04:50"],
    t.DecimalType(9, 2): ["-0.10", "", "1234567.89"],
    t.DecimalType(20, 0): ["-5", "", "100"],
    t.DecimalType(38, 12): ["-0.000000000001", "", "10.500000000000"],
    t.DecimalType(38, 38): ["0." + "0" * 38, "", "0." + "0" * 37 + "1"],
    t.INTERVAL_YEAR_MONTH: ["1-2", "", "-2-1"],
    t.INTERVAL_DAY_TIME: ["0 00:00:00.000001000", "", "-1 00:00:00.000001000"],
    t.ArrayType(t.INT): ["[1,null]", "", "[]"],
    t.MapType(t.STRING, t.DOUBLE): ['{"k":1.5}', "", "{}"],
    t.StructType(("a", "b"), (t.STRING, t.DATE)): ['{"a":"x\\"","b":"2024-01-02"}', "", '{"a":null,"b":null}'],
}


@pytest.mark.parametrize("dtype", TEXTS, ids=str)
def test_texts_are_hives(dtype: t.DataType) -> None:
    content = encode_row_set([expected.batch_of((dtype, EXAMPLES[dtype]))], expected.schema_of(dtype), 0, V6)
    assert expected.read(content).columns[0].stringVal.values == TEXTS[dtype]


@pytest.mark.parametrize("version", BY_VERSION)
@pytest.mark.parametrize(
    ("arrow_type", "dtype", "values"),
    [
        (pa.large_string(), t.STRING, ["a", None, "bc"]),
        (pa.string_view(), t.STRING, ["a", None, "a text longer than what is kept inline"]),
        (pa.dictionary(pa.int8(), pa.string()), t.STRING, ["a", None, "a"]),
        (pa.large_binary(), t.BINARY, [b"a", None, b""]),
        (pa.int32(), t.BIGINT, [1, None, -1]),
        (pa.timestamp("ns"), t.TIMESTAMP, [1_000, None, -1_000]),
    ],
    ids=str,
)
def test_other_arrow_types_are_cast(
    arrow_type: pa.DataType, dtype: t.DataType, values: list[Any], version: int
) -> None:
    schema = expected.schema_of(dtype)
    given_batch = pa.RecordBatch.from_arrays([pa.array(values, arrow_type)], ["c0"])
    same = pa.RecordBatch.from_arrays([given_batch.column(0).cast(t.to_arrow(dtype))], ["c0"])
    content = encode_row_set([given_batch.slice(1)], schema, 0, version)
    assert content == expected.written(BY_VERSION[version](same.slice(1), schema, 0))


@pytest.mark.parametrize("version", BY_VERSION)
def test_run_end_encoded_columns_are_decoded(version: int) -> None:
    schema, plain = expected.schema_of(t.INT), expected.batch_of((t.INT, [5, 5, None, 7]))
    encoded = pa.RecordBatch.from_arrays([pc.run_end_encode(plain.column(0))], ["c0"])
    assert encode_row_set([encoded], schema, 0, version) == encode_row_set([plain], schema, 0, version)


@pytest.mark.parametrize("version", BY_VERSION)
@pytest.mark.parametrize("num_batches", [0, 1])
def test_no_rows_keep_their_columns(version: int, num_batches: int) -> None:
    schema = expected.schema_of(*expected.TYPES)
    empty = expected.batch_of(*((dtype, []) for dtype in expected.TYPES))
    content = encode_row_set([empty] * num_batches, schema, 1 << 40, version)
    assert content == expected.written(BY_VERSION[version](empty, schema, 1 << 40))


@pytest.mark.parametrize("version", BY_VERSION)
def test_what_is_no_utf8_is_replaced(version: int) -> None:
    schema = expected.schema_of(t.STRING)
    broken = pa.array([b"fine", None, b"a\xffb"]).view(pa.string())
    content = encode_row_set([pa.RecordBatch.from_arrays([broken], ["c0"])], schema, 0, version)
    mended = expected.batch_of((t.STRING, ["fine", None, "a\ufffdb"]))
    assert content == expected.written(BY_VERSION[version](mended, schema, 0))


@pytest.mark.parametrize(("dtype", "days"), [(t.DATE, 1), (t.TIMESTAMP, 86_400_000_000)], ids=str)
@pytest.mark.parametrize("years", [-35_000, 31_000])
def test_dates_too_far_away_are_an_error(dtype: t.DataType, days: int, years: int) -> None:
    far = pa.array([0, years * 365 * days]).cast(pa.int32() if days == 1 else pa.int64()).cast(t.to_arrow(dtype))
    with pytest.raises(ExecutionError, match="32767"):
        encode_row_set([pa.RecordBatch.from_arrays([far], ["c0"])], expected.schema_of(dtype), 0, V6)


def test_dates_beyond_pythons_years_have_a_text() -> None:
    far = pa.array([-719_529, 2_932_897, 11_000_000], pa.int32()).cast(pa.date32())
    content = encode_row_set([pa.RecordBatch.from_arrays([far], ["c0"])], expected.schema_of(t.DATE), 0, V6)
    assert expected.read(content).columns[0].stringVal.values == ["-0001-12-31", "10000-01-01", "32086-12-23"]


def test_far_dates_inside_other_values_are_an_error() -> None:
    far = pa.array([[2_932_897]], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))
    batch = pa.RecordBatch.from_arrays([far], ["c0"])
    with pytest.raises(ExecutionError, match="9999"):
        encode_row_set([batch], expected.schema_of(t.ArrayType(t.DATE)), 0, V6)


@pytest.mark.variants(3)
@pytest.mark.parametrize("version", BY_VERSION)
@pytest.mark.parametrize("limit", [1_000_000, 900_000])
def test_more_than_a_frame_is_an_error(version: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known before or after, as the values need more room on the wire than in memory."""
    batch = expected.batch_of((t.INTERVAL_YEAR_MONTH, list(range(240_000))))
    monkeypatch.setattr(row_sets, "MAX_BYTES", limit)
    with pytest.raises(ResourceError, match=f"more than {limit} bytes"):
        encode_row_set([batch], expected.schema_of(t.INTERVAL_YEAR_MONTH), 0, version)


def test_more_than_arrow_can_join_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def join(*_: object) -> bytes:
        wide, rows = pa.scalar(bytes(1 << 20)), pa.array([b""] * 2048)
        return pc.binary_join_element_wise(wide, rows, b"")

    monkeypatch.setattr(row_sets, "columnar_row_set", join)
    with pytest.raises(ResourceError, match="2147483647 bytes"):
        encode_row_set([], expected.schema_of(t.STRING), 0, V6)


def test_lines_of_a_log_are_one_column_of_strings() -> None:
    lines = ["INFO  : Launching Job 1 out of 2", "INFO  : Stage-1 map = 40%,  reduce = 0%"]
    schema = t.Schema((t.Field("operation_log", t.STRING),))
    batch = pa.RecordBatch.from_arrays([pa.array(lines)], ["operation_log"])
    assert expected.read(encode_row_set([batch], schema, 4, V6)).columns[0].stringVal.values == lines
    rows = expected.read(encode_row_set([batch], schema, 4, V5)).rows
    assert [row.colVals[0].stringVal.value for row in rows] == lines
