"""Result: reading, looking ahead, closing, converting."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import pyarrow as pa
import pytest

from sharkpy.base.errors import ExecutionError
from sharkpy.session.result import Result
from sharkpy.values.types import (
    DATE,
    DOUBLE,
    INT,
    INTERVAL_DAY_TIME,
    INTERVAL_YEAR_MONTH,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
    arrow_schema,
)

SCHEMA = Schema((Field("a", INT), Field("s", STRING)))


def batch(*rows: tuple[int | None, str | None]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([row[0] for row in rows], pa.int32()), pa.array([row[1] for row in rows], pa.string())],
        names=["c1", "c2"],
    )


def result() -> Result:
    return Result(SCHEMA, iter([batch((1, "x"), (2, None)), batch(), batch((3, "z"))]))


def test_fetching_in_parts() -> None:
    rows = result()
    assert rows.columns == ["a", "s"]
    assert rows.fetchone() == (1, "x")
    assert rows.fetchmany(1) == [(2, None)]
    assert rows.fetchall() == [(3, "z")]
    assert rows.fetchone() is None


def test_looking_ahead_consumes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    rows = result()
    rows.show(2)
    assert "only the first 2 rows" in capsys.readouterr().out
    assert "<td>NULL</td>" in rows._repr_html_()
    assert rows.fetchall() == [(1, "x"), (2, None), (3, "z")]


def test_a_result_is_complete_where_its_rows_are_there_or_its_source_says_so() -> None:
    assert Result(SCHEMA).is_complete
    assert Result(SCHEMA, [batch((1, "x"))]).is_complete
    assert not result().is_complete
    ends: list[bool] = [False]
    rows = Result(SCHEMA, iter([batch((1, "x")), batch((2, "y"))]), is_complete=lambda: ends[0])
    next(rows.batches())
    assert not rows.is_complete
    ends[0] = True
    assert rows.is_complete
    assert rows.fetchall() == [(2, "y")]


def test_rows_are_made_while_read() -> None:
    made = []

    def source() -> Iterator[pa.RecordBatch]:
        for number in range(100):
            made.append(number)
            yield batch((number, "r"))

    rows = Result(SCHEMA, source())
    assert made == []
    rows.fetchmany(3)
    assert len(made) <= 4


def test_close_ends_the_source_and_forbids_reading() -> None:
    ended = []

    def source() -> Iterator[pa.RecordBatch]:
        try:
            while True:
                yield batch((1, "x"))
        finally:
            ended.append(True)

    rows = Result(SCHEMA, source())
    rows.fetchone()
    rows.close()
    rows.close()
    assert ended == [True]
    for read in (rows.fetchall, rows.fetchone, rows.to_arrow, rows.show):
        with pytest.raises(ExecutionError, match="closed"):
            read()


def test_iterator_taken_before_close_raises() -> None:
    rows = result()
    iterator = iter(rows)
    next(iterator)
    rows.close()
    with pytest.raises(ExecutionError, match="closed"):
        next(iterator)


def test_encoded_columns_are_decoded() -> None:
    dictionary = pa.array(["x", "y", "x"]).dictionary_encode()
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([7, 8], pa.int32()))
    rows = Result(SCHEMA, [pa.RecordBatch.from_arrays([runs, dictionary], names=["c1", "c2"])])
    table = rows.to_arrow()
    assert table.schema == arrow_schema(SCHEMA)
    assert table.to_pylist() == [{"a": 7, "s": "x"}, {"a": 7, "s": "y"}, {"a": 8, "s": "x"}]


def test_python_values() -> None:
    schema = Schema((Field("d", DATE), Field("m", MapType(STRING, DecimalType(5, 2))), Field("f", DOUBLE)))
    arrays = [
        pa.array([datetime.date(2024, 2, 29)]),
        pa.array([[("k", Decimal("1.50"))]], pa.map_(pa.string(), pa.decimal128(5, 2))),
        pa.array([0.5]),
    ]
    rows = Result(schema, [pa.RecordBatch.from_arrays(arrays, names=["x", "y", "z"])])
    assert rows.fetchall() == [(datetime.date(2024, 2, 29), {"k": Decimal("1.50")}, 0.5)]


def test_conversions() -> None:
    assert pa.table(result()).num_rows == 3
    assert list(result().to_pandas()["a"]) == [1, 2, 3]
    polars = pytest.importorskip("polars")
    assert result().to_polars().shape == (3, 2)
    assert polars.DataFrame(result()).shape == (3, 2)


def test_empty_result_keeps_its_schema() -> None:
    assert Result(SCHEMA).to_arrow().schema == arrow_schema(SCHEMA)
    assert Result(Schema(())).fetchall() == []


def test_a_notebook_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = Result(Schema(()))
    assert nothing._repr_html_() == "<code>&lt;Result without columns (open)&gt;</code>"
    nothing.show()
    assert capsys.readouterr().out == ""
    half_read = result()
    half_read.fetchone()
    assert half_read._repr_html_().startswith("<code>&lt;Result a int, s string")
    lines = pa.RecordBatch.from_arrays([pa.array(["Scan <t>", "  x"])], names=["plan"])
    plan = Result(Schema((Field("plan", STRING),)), [lines], is_text=True)
    assert plan._repr_html_() == "<pre>Scan &lt;t&gt;\n  x</pre>"
    plan.show()
    assert capsys.readouterr().out == "Scan <t>\n  x\n"


def test_a_date_that_python_has_not_is_an_error_where_it_is_shown() -> None:
    days = pa.record_batch({"d": pa.array([1 << 30], pa.int32()).view(pa.date32())})
    for read in (Result.show, Result._repr_html_, Result.fetchall):
        with pytest.raises(ExecutionError, match="has no Python value; cast it to STRING"):
            read(Result(Schema((Field("d", DATE),)), [days]))


INTERVALS = Schema(
    (
        Field("months", INTERVAL_YEAR_MONTH),
        Field("time", INTERVAL_DAY_TIME),
        Field("times", ArrayType(INTERVAL_DAY_TIME)),
        Field("by_name", MapType(STRING, INTERVAL_YEAR_MONTH)),
        Field("pair", StructType(("h", "i"), (INTERVAL_DAY_TIME, INT))),
    )
)


def intervals() -> Result:
    columns: list[list[object]] = [
        [14, -25, None],
        [1_500_000, -86_400_000_001, None],
        [[1, None], [], None],
        [[("a", 1)], [], None],
        [{"h": 3_600_000_000, "i": 7}, {"h": None, "i": 8}, None],
    ]
    schema = arrow_schema(INTERVALS)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return Result(INTERVALS, iter([pa.RecordBatch.from_arrays(arrays, schema=schema)]))


def test_intervals_are_timedelta_and_hives_text_of_months() -> None:
    hour, moment = datetime.timedelta(hours=1), datetime.timedelta(microseconds=1)
    assert intervals().fetchall() == [
        ("1-2", datetime.timedelta(seconds=1.5), [moment, None], {"a": "0-1"}, {"h": hour, "i": 7}),
        ("-2-1", -datetime.timedelta(days=1) - moment, [], {}, {"h": None, "i": 8}),
        (None, None, None, None, None),
    ]


def test_intervals_in_pandas_are_those_of_rows() -> None:
    frame = intervals().to_pandas()
    assert frame["months"].tolist() == ["1-2", "-2-1", None]
    assert frame["time"].dtype.kind == "m"
    assert frame["time"].iloc[0] == datetime.timedelta(seconds=1.5)
    assert frame["time"].isna().tolist() == [False, False, True]
    assert frame["pair"].iloc[0] == {"h": datetime.timedelta(hours=1), "i": 7}


def test_intervals_in_arrow_are_numbers() -> None:
    table = intervals().to_arrow()
    assert table.column("months").to_pylist() == [14, -25, None]
    assert table.column("time").to_pylist() == [1_500_000, -86_400_000_001, None]
