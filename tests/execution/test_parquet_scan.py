"""Parquet files that DuckDB reads itself: the same rows as from the engine's own reader."""

from __future__ import annotations

import datetime
import math
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import SharkError
from sharkpy.execution.tasks.inputs import ParquetScan, Relation, TaskData, TaskMetrics, open_input, registered_inputs
from sharkpy.execution.workers.connection_pool import ConnectionPool, ConnectionSettings
from sharkpy.physical.stage_program import FileColumns, TaskInput
from sharkpy.sources.formats import source
from sharkpy.sources.layout import DataFile, list_data_files
from sharkpy.sources.source import Split
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema, arrow_schema, from_arrow
from tests.sources.test_round_trip import VALUES

SCALARS = [
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
]
DECIMALS = ["decimal(12,3)", "decimal(38,10)"]
SCHEMA = Schema(tuple(Field(f"c{place}", parse_type(name)) for place, name in enumerate(SCALARS + DECIMALS)))
ROW = st.tuples(*(st.none() | VALUES[name] for name in SCALARS + DECIMALS))


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    pool = ConnectionPool(ConnectionSettings(1, 512 << 20, str(tmp_path_factory.mktemp("duckdb"))))
    with pool.borrow() as connection:
        yield connection
    pool.close()


@given(st.lists(ROW, max_size=20), st.integers(1, 4))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_readers_agree(
    connection: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]], group_rows: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
        table = pa.table(
            [pa.array(list(c), f.type) for c, f in zip(columns, arrow_schema(SCHEMA), strict=True)],
            schema=arrow_schema(SCHEMA),
        )
        pq.write_table(table, f"{folder}/one.parquet", row_group_size=group_rows)
        pq.write_table(table.select(table.column_names[::-1]), f"{folder}/two.parquet")
        relation = opened(Path(folder), SCHEMA)
        assert isinstance(relation[0], ParquetScan)
        expected = pa.Table.from_batches(relation[0].batches(), arrow_schema(SCHEMA))
        assert text(read(connection, relation, "SELECT * FROM in0")) == text(expected)


@pytest.mark.parametrize("name", ["float", "double"])
def test_nan_is_found_where_statistics_do_not_tell_of_it(
    connection: duckdb.DuckDBPyConnection, tmp_path: Path, name: str
) -> None:
    schema = Schema((Field("x", parse_type(name)),))
    arrow_type = arrow_schema(schema).field(0).type
    for number, values in enumerate(([1.0, math.nan, -0.0], [2.0, 3.0])):
        pq.write_table(pa.table({"x": pa.array(values, arrow_type)}), tmp_path / f"{number}.parquet")
    relation = opened(tmp_path, schema)
    assert isinstance(relation[0], ParquetScan)

    def values_of(sql: str) -> str:
        return str(read(connection, relation, sql)[0].to_pylist())

    nan = f"'nan'::{name}"
    assert values_of("SELECT x FROM in0 WHERE x > 5") == "[nan]"
    assert values_of(f"SELECT x FROM in0 WHERE x = {nan}") == "[nan]"
    assert values_of(f"SELECT x FROM in0 WHERE x IN (7, {nan})") == "[nan]"
    assert values_of("SELECT x FROM in0 WHERE x BETWEEN 4 AND 'nan'") == "[nan]"
    assert values_of("SELECT x FROM in0 WHERE NOT x < 3 ORDER BY x") == "[3.0, nan]"
    assert values_of("SELECT x FROM in0 WHERE x <= 0") == "[-0.0]"
    assert values_of("SELECT x FROM in0 ORDER BY x DESC LIMIT 1") == "[nan]"
    assert values_of("SELECT max(x) FROM in0") == "[nan]"
    assert values_of(f"SELECT x FROM in0 JOIN (VALUES ({nan}), (9::{name})) v(y) ON x = y") == "[nan]"
    assert values_of("SELECT count(DISTINCT x) FROM in0") == "[5]"


def test_partition_columns_are_constants(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    schema = Schema(
        tuple(Field(name, parse_type(kind)) for name, kind in (("n", "int"), ("day", "date"), ("k", "string")))
    )
    files = []
    for number, partition in enumerate(
        ("day=2024-02-29/k=it%27s", "day=__HIVE_DEFAULT_PARTITION__/k=b", "day=soon/k=c")
    ):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"n": pa.array([number, None], pa.int32())}), path)
        files += [DataFile(str(path), path.stat().st_size, path.stat().st_mtime_ns, partition)]
    relation = opened_splits(source("parquet").splits(files, schema, (), 1 << 20), schema)
    assert isinstance(relation[0], ParquetScan)
    rows = read(connection, relation, "SELECT * FROM in0").to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (0, datetime.date(2024, 2, 29), "it's"),
        (None, datetime.date(2024, 2, 29), "it's"),
        (1, None, "b"),
        (None, None, "b"),
        (2, None, "c"),
        (None, None, "c"),
    ]


def write(folder: Path, **columns: Any) -> None:
    pq.write_table(pa.table(columns), folder / "a.parquet")


@pytest.mark.parametrize(
    ("stored", "declared"),
    [
        (pa.array([1], pa.int64()), "int"),
        (pa.array([1], pa.uint8()), "tinyint"),
        (pa.array(["ab "]), "char(2)"),
        (pa.array(["abc"]), "varchar(2)"),
        (pa.array([b"a"]), "string"),
        (pa.array([Decimal("1.5")], pa.decimal128(3, 1)), "decimal(4,1)"),
        (pa.array([0], pa.timestamp("ms")), "timestamp"),
        (pa.array([0], pa.timestamp("us", "UTC")), "timestamp"),
        (pa.array([[1]], pa.list_(pa.int32())), "array<int>"),
    ],
    ids=["wider", "unsigned", "char", "varchar", "bytes", "decimal", "milliseconds", "zone", "nested"],
)
def test_what_readers_may_take_otherwise_is_left_to_ours(tmp_path: Path, stored: pa.Array, declared: str) -> None:
    write(tmp_path, x=stored)
    assert not isinstance(opened(tmp_path, Schema((Field("x", parse_type(declared)),)))[0], ParquetScan)


def test_a_part_of_a_file_or_a_missing_column_is_left_to_ours(tmp_path: Path) -> None:
    schema = Schema((Field("x", parse_type("int")), Field("y", parse_type("int"))))
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int32())}), tmp_path / "a.parquet", row_group_size=1)
    splits = source("parquet").splits(list_data_files(str(tmp_path)), schema, (), 1)
    assert len(splits) == 2
    assert isinstance(opened_splits(splits, schema, ("x",))[0], ParquetScan)
    assert not isinstance(opened_splits(splits[:1], schema, ("x",))[0], ParquetScan)
    assert not isinstance(opened_splits(splits, schema, ("x", "y"))[0], ParquetScan)


def test_int96_is_left_to_ours(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([datetime.datetime(2024, 1, 1)], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    assert not isinstance(opened(tmp_path, Schema((Field("x", from_arrow(table.schema[0].type)),)))[0], ParquetScan)


def test_a_file_changed_after_planning_is_an_error(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    write(tmp_path, x=pa.array([1], pa.int32()))
    relation = opened(tmp_path, Schema((Field("x", parse_type("int")),)))
    write(tmp_path, x=pa.array([1, 2], pa.int32()))
    with pytest.raises(SharkError, match="was changed while"):
        read(connection, relation, "SELECT * FROM in0")


def test_what_was_read_is_counted(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    write(tmp_path, x=pa.array(range(1000), pa.int32()), y=pa.array(["some text"] * 1000))
    schema = Schema((Field("x", parse_type("int")), Field("y", parse_type("string"))))
    metrics = TaskMetrics()
    relation = opened(tmp_path, schema, ("x",), metrics)
    read(connection, relation, "SELECT sum(x) AS s FROM in0")
    column = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0)
    assert (metrics.rows_in, metrics.read.rows) == (1000, 1000)
    assert metrics.read.bytes == column.total_compressed_size


def test_rows_alone_are_counted_without_columns(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    write(tmp_path, x=pa.array(range(10), pa.int32()))
    relation = opened(tmp_path, Schema((Field("x", parse_type("int")),)), ())
    assert read(connection, relation, "SELECT count(*) AS n FROM in0")["n"].to_pylist() == [10]


def opened(
    folder: Path, schema: Schema, names: tuple[str, ...] | None = None, metrics: TaskMetrics | None = None
) -> Relation:
    splits = source("parquet").splits(list_data_files(str(folder)), schema, (), 1 << 20)
    return opened_splits(splits, schema, names, metrics)


def opened_splits(
    splits: list[Split], schema: Schema, names: tuple[str, ...] | None = None, metrics: TaskMetrics | None = None
) -> Relation:
    names = schema.names if names is None else names
    data = TaskData(TaskInput(splits=(("in0", tuple(splits)),)))
    return open_input(FileColumns("in0", schema, names, names), data, metrics or TaskMetrics())


def read(connection: duckdb.DuckDBPyConnection, relation: Relation, sql: str) -> pa.Table:
    with registered_inputs(connection, {"in0": relation}) as reading:
        return connection.sql(reading(sql)).to_arrow_table()


def text(table: pa.Table) -> str:
    """Text of a table: NaN is equal to NaN, -0.0 not to 0.0."""
    return str(table.to_pylist())
