from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.execution.tasks.buckets import BUCKET_COLUMN, HASH_COLUMN, bucketed_sql
from sharkpy.execution.tasks.exchange_writer import exchange_payloads
from sharkpy.execution.tasks.inputs import TaskMetrics
from sharkpy.execution.tasks.sinks import PAYLOAD_BYTES, SinkContext, windows
from sharkpy.physical.stage_program import HashSink, RangeSink

KeyOrder = tuple[bool, bool]
ROW = st.tuples(st.one_of(st.none(), st.integers(-3, 3)), st.sampled_from(["", "a", "b", None]))


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def buckets(table: pa.Table, sink: HashSink | RangeSink, connection: duckdb.DuckDBPyConnection) -> list[int]:
    connection.register("t", table)
    sql = bucketed_sql("SELECT * FROM t", sink, connection)
    found = connection.sql(sql).to_arrow_table()
    connection.unregister("t")
    assert found.column_names[-1] == BUCKET_COLUMN
    return found.column(BUCKET_COLUMN).to_pylist()


def test_the_hash_is_the_same_in_every_process(connection: duckdb.DuckDBPyConnection) -> None:
    table = pa.table(
        {
            "a": pa.array([1, None, 3, 1], pa.int64()),
            "b": ["x", "y", None, "x"],
            "c": [Decimal("1.50"), None, Decimal("2.25"), Decimal("1.50")],
            "d": [datetime.date(2013, 1, 1), None, datetime.date(2013, 1, 2), datetime.date(2013, 1, 1)],
            "e": [[1, 2], None, [], [1, 2]],
        }
    )
    sink = HashSink(("a", "b", "c", "d", "e"), 1000)
    # Written down once: another process, machine or day must find the same.
    assert buckets(table, sink, connection) == EXPECTED


EXPECTED = [527, 219, 797, 527]


def test_encoded_columns_hash_as_their_values(connection: duckdb.DuckDBPyConnection) -> None:
    plain = pa.array(["x", "y", "x", None])
    sink = HashSink(("k",), 64)
    as_plain = buckets(pa.table({"k": plain}), sink, connection)
    assert buckets(pa.table({"k": plain.dictionary_encode()}), sink, connection) == as_plain


@pytest.mark.parametrize("values", [[0.0, -0.0], [float("nan"), -float("nan")]])
def test_equal_doubles_meet(values: list[float], connection: duckdb.DuckDBPyConnection) -> None:
    first, second = buckets(pa.table({"k": pa.array(values, pa.float64())}), HashSink(("k",), 1 << 20), connection)
    assert first == second


@settings(deadline=None)
@given(
    rows=st.lists(ROW, max_size=30),
    bounds=st.lists(ROW, max_size=5),
    first=st.tuples(st.booleans(), st.booleans()),
    second=st.tuples(st.booleans(), st.booleans()),
)
def test_ranges_follow_the_order(
    connection: duckdb.DuckDBPyConnection,
    rows: list[tuple[int | None, str | None]],
    bounds: list[tuple[int | None, str | None]],
    first: KeyOrder,
    second: KeyOrder,
) -> None:
    """Rows sorted by the keys have buckets that never fall, and equal rows share one."""
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    table = pa.Table.from_pylist([dict(zip("ab", row, strict=True)) for row in rows], schema)
    cuts = pa.Table.from_pylist([dict(zip("ab", row, strict=True)) for row in bounds], schema)
    sink = RangeSink((("a", *first), ("b", *second)), stream(cuts), len(bounds) + 1)
    order = ", ".join(
        f"{name} {'ASC' if ascending else 'DESC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
        for name, (ascending, nulls_first) in zip("ab", (first, second), strict=True)
    )
    connection.register("r", table)
    ordered = connection.sql(f"SELECT * FROM r ORDER BY {order}").to_arrow_table()
    found = buckets(ordered, sink, connection)
    assert found == sorted(found)
    assert all(0 <= bucket <= len(bounds) for bucket in found)
    by_row: dict[tuple[object, ...], int] = {}
    for row, bucket in zip(ordered.to_pylist(), found, strict=True):
        assert by_row.setdefault(tuple(row.values()), bucket) == bucket


@pytest.mark.parametrize(
    "dtype",
    [
        "TINYINT",
        "INTEGER",
        "BIGINT",
        "FLOAT",
        "DOUBLE",
        "DECIMAL(4,2)",
        "DECIMAL(20,2)",
        "DATE",
        "TIMESTAMP",
        "VARCHAR",
    ],
)
@pytest.mark.parametrize("order", [(True, True), (True, False), (False, True), (False, False)])
def test_ranges_of_one_key_of_each_type(dtype: str, order: KeyOrder, connection: duckdb.DuckDBPyConnection) -> None:
    """DuckDB's sort keys are numbers for short types, bytes for other types."""
    epoch = "DATE '2000-01-01' + range::INTEGER" if dtype in ("DATE", "TIMESTAMP") else "range - 20"
    values = f"SELECT CAST({epoch} AS {dtype}) AS a FROM range(40) UNION ALL SELECT NULL"
    direction = f"{'ASC' if order[0] else 'DESC'} NULLS {'FIRST' if order[1] else 'LAST'}"
    table = connection.sql(f"SELECT a FROM ({values}) ORDER BY a {direction}").to_arrow_table()
    sink = RangeSink((("a", *order),), stream(table.take([10, 20, 30])), 4)
    assert buckets(table, sink, connection) == [0] * 10 + [1] * 10 + [2] * 10 + [3] * 11


def test_payloads_hold_each_row_once_in_its_bucket_and_order() -> None:
    schema = pa.schema([("v", pa.int64())])
    batches = [
        pa.record_batch(
            {"v": range(start, start + 100), HASH_COLUMN: pa.array([i % 7 for i in range(100)], pa.uint64())}
        )
        for start in (0, 100)
    ]
    found: dict[int, list[int]] = {}
    for payload in exchange_payloads(batches, schema, HashSink(("v",), 9), SinkContext(), TaskMetrics()):
        rows = pa.ipc.open_stream(payload.data.slice(8)).read_all().column("v").to_pylist()
        assert len(rows) == payload.num_rows
        found.setdefault(payload.bucket, []).extend(rows)
    assert found == {bucket: [v for v in range(200) if v % 100 % 7 == bucket] for bucket in range(7)}


def test_windows_bound_what_is_gathered() -> None:
    batch = pa.record_batch({"v": range(1 << 17)})
    sizes = [len(window) for window in windows([batch] * 100, PAYLOAD_BYTES)]
    assert sum(sizes) == 100
    assert max(sizes) == PAYLOAD_BYTES // batch.nbytes
