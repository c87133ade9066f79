"""Tables of Iceberg that are divided by transforms: rows come to files that have one value of each field."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import pyarrow.parquet as pq
from pyiceberg import types as ice
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergHandle
from pyiceberg.transforms import DayTransform, IdentityTransform, UnknownTransform

import sharkpy
from sharkpy.base.errors import BindError, SharkError, UnsupportedError
from tests.lake.tables import own_catalog, run
from tests.rows import rows


def table_of(context: sharkpy.SharkContext, name: str) -> IcebergHandle:
    found: IcebergHandle = own_catalog(context).load_table(f"default.{name}")
    return found


def checked_files(handle: IcebergHandle) -> list[Any]:
    """Partitions of the files, each of which has the values that its rows have by pyiceberg's transforms."""
    schema, found = handle.schema(), []
    for task in handle.scan().plan_files():
        stored, spec = pq.read_table(task.file.file_path.removeprefix("file://")), handle.specs()[task.file.spec_id]
        assert stored.num_rows == task.file.record_count
        for place, field in enumerate(spec.fields):
            column = schema.find_field(field.source_id)
            transform: Any = field.transform.transform(column.field_type)
            values = {transform(value) for value in stored.column(column.name).to_pylist()}
            assert values == {task.file.partition[place]}
        found.append(task.file.partition)
    return found


MANY = (
    "SELECT id - 20 AS id, CASE WHEN id % 7 <> 0 THEN concat('kä', id % 4, '/ =%') END AS word, "
    "date_add('1970-01-01', CAST((id - 20) * 40 AS INT)) AS day, "
    "CAST(from_unixtime((id - 20) * 1800 - 1) AS TIMESTAMP) AS at, CAST(id - 20 AS DECIMAL(9,2)) / 8 AS price, "
    "unhex(concat('ff0', id % 3, 'aa')) AS bytes FROM range({rows})"
)
"""Rows around the year 1970, and negative numbers, with NULLs and with bytes that are not text."""
COLUMNS = "(id BIGINT, word STRING, day DATE, at TIMESTAMP, price DECIMAL(12,4), bytes BINARY)"


@pytest.mark.parametrize(
    "spec",
    [
        "bucket(4, id), truncate(3, word)",
        pytest.param("year(day), hour(at), truncate(100, id)", marks=pytest.mark.slow),
        pytest.param("month(day), day(at), truncate(5000, price)", marks=pytest.mark.slow),
        pytest.param("bucket(3, word), bucket(2, price), truncate(2, bytes), word", marks=pytest.mark.slow),
        pytest.param("bytes, bucket(2, at), bucket(2, day)", marks=pytest.mark.slow),
    ],
)
def test_each_file_has_one_value(context: sharkpy.SharkContext, spec: str) -> None:
    name = "many"
    run(context, f"CREATE TABLE {name} {COLUMNS} PARTITIONED BY SPEC ({spec}) STORED BY ICEBERG")
    try:
        run(context, f"INSERT INTO {name} {MANY.format(rows=40)}")
        handle = table_of(context, name)
        partitions = checked_files(handle)
        assert len(partitions) == len(set(partitions)) > 2
        expected = rows(context, MANY.format(rows=40) + " ORDER BY id")
        assert rows(context, f"SELECT * FROM {name} ORDER BY id") == [
            (*row[:4], row[4].quantize(Decimal("0.0001")), row[5]) for row in expected
        ]
        # Other engines skip files by the values in their manifests.
        for condition in ("id = -7", "word = 'kä1/ =%'", "word IS NULL", "day < '1969-06-01'", "price >= 1.5000"):
            ours = rows(context, f"SELECT count(*) FROM {name} WHERE {condition}")
            assert ours == [(handle.scan(condition).to_arrow().num_rows,)]
            assert ours[0][0] > 0
    finally:
        run(context, f"DROP TABLE {name}")


def test_conditions_leave_files_out(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE pruned PARTITIONED BY (bucket(8, id), months(at)) STORED BY ICEBERG AS "
        "SELECT id, add_months(DATE '1969-11-15', CAST(id % 4 AS INT)) AS at FROM range(64)",
    )
    handle = table_of(context, "pruned")
    assert [str(field) for field in handle.spec().fields] == [
        "1000: id_bucket: bucket[8](1)",
        "1001: at_month: month(2)",
    ]
    files = len(checked_files(handle))
    condition = "at >= '1969-12-01' AND at < '1970-01-01'"
    found = list(handle.scan(condition).plan_files())
    assert {task.file.partition[1] for task in found} == {-1}
    plan = "\n".join(row[0] for row in rows(context, f"EXPLAIN SELECT * FROM pruned WHERE {condition}"))
    assert f"{len(found)} of {files} files" in plan
    assert len({task.file.partition[0] for task in handle.scan("id = 9").plan_files()}) == 1


def test_overwrite_and_changes_of_rows(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE overwritten (id INT, day DATE) PARTITIONED BY SPEC (month(day), truncate(10, id)) "
        "STORED BY ICEBERG",
        "INSERT INTO overwritten VALUES (1, DATE '1969-12-31'), (2, DATE '1969-12-01'), (-1, DATE '1969-12-31'), "
        "(11, DATE '1969-12-31'), (3, DATE '1970-01-01'), (4, NULL), (NULL, DATE '1970-01-01')",
        "INSERT OVERWRITE overwritten VALUES (9, DATE '1969-12-15'), (5, NULL)",
    )
    expected: list[Any] = [None, -1, 3, 5, 9, 11]
    assert [row[0] for row in rows(context, "SELECT id FROM overwritten ORDER BY id")] == expected
    run(
        context,
        "UPDATE overwritten SET id = id + 10 WHERE id = 9",
        "DELETE FROM overwritten WHERE id IS NULL",
        "MERGE INTO overwritten t USING (SELECT 5 AS id) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET day = DATE '1970-02-28'",
    )
    assert sorted(map(tuple, checked_files(table_of(context, "overwritten")))) == [(-1, -10), (-1, 10), (0, 0), (1, 0)]
    assert [row[0] for row in rows(context, "SELECT id FROM overwritten ORDER BY id")] == [-1, 3, 5, 11, 19]
    run(context, "INSERT INTO overwritten SELECT id, day FROM overwritten WHERE id < 0", "TRUNCATE TABLE overwritten")
    assert rows(context, "SELECT count(*) FROM overwritten") == [(0,)]


def test_whole_buckets_are_not_overwritten(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE hashed (id INT) PARTITIONED BY SPEC (bucket(2, id)) STORED BY ICEBERG")
    run(context, "INSERT INTO hashed VALUES (1), (2), (3)")
    with pytest.raises(UnsupportedError, match=r"partitioned by bucket\(2, id\)"):
        context.sql("INSERT OVERWRITE hashed VALUES (1)")
    run(context, "UPDATE hashed SET id = id + 1")
    assert rows(context, "SELECT id FROM hashed ORDER BY id") == [(2,), (3,), (4,)]


def test_a_spec_that_others_change(context: sharkpy.SharkContext) -> None:
    """After a table of version 1 has lost a field, the field holds no values, even if its column is dropped."""
    run(
        context,
        "CREATE TABLE evolved (id INT, word STRING) PARTITIONED BY SPEC (bucket(2, id)) STORED BY ICEBERG "
        "TBLPROPERTIES ('format-version'='1')",
        "INSERT INTO evolved VALUES (1, 'a'), (2, 'b')",
    )
    handle = table_of(context, "evolved")
    with handle.update_spec() as update:
        update.remove_field("id_bucket")
        update.add_field("word", "truncate[1]", "first")
    assert "void" in str(table_of(context, "evolved").spec())
    run(context, "INSERT INTO evolved VALUES (3, 'bc'), (4, NULL)", "INSERT OVERWRITE evolved VALUES (5, 'bd')")
    assert rows(context, "SELECT * FROM evolved ORDER BY id") == [(1, "a"), (2, "b"), (4, None), (5, "bd")]
    assert (None, "b") in map(tuple, checked_files(table_of(context, "evolved")))
    assert "`word`" in str(rows(context, "SHOW CREATE TABLE evolved"))
    assert "void" not in str(rows(context, "SHOW CREATE TABLE evolved"))


def test_what_divides_is_shown(context: sharkpy.SharkContext) -> None:
    run(
        context,
        "CREATE TABLE shown (id INT, `a b` STRING, at TIMESTAMP) "
        "PARTITIONED BY SPEC (bucket(4, id), truncate(2, `a b`), hour(at)) STORED BY ICEBERG",
    )
    lines = [row[0] for row in rows(context, "SHOW CREATE TABLE shown")]
    start = lines.index("PARTITIONED BY SPEC (")
    assert lines[start + 1 : start + 4] == ["  bucket(4, `id`),", "  truncate(2, `a b`),", "  hour(`at`))"]
    run(context, "DROP TABLE shown", "\n".join(line for line in lines if "TBLPROPERTIES" not in line))
    assert [row[0] for row in rows(context, "SHOW CREATE TABLE shown")] == lines


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("bucket(0, id)", "22023", "1 or more"),
        ("year(id)", "42804", 'column "id" of type int'),
        ("hour(day)", "42804", 'column "day" of type date'),
        ("bucket(2, ratio)", "42804", 'column "ratio" of type double'),
        ("truncate(2, day)", "42804", 'column "day" of type date'),
        ("year(day), month(day)", "42701", "divided by day like that already"),
        ("bucket(2, id), bucket(3, id)", "42701", "divided by id like that already"),
        ("day, id, day", "42701", "divided by day like that already"),
        ("bucket(2, word)", "42701", 'name of the column "word_bucket"'),
        ("bucket(2, other)", "42703", "other"),
        ("bucket(id)", "42601", "number"),
        ("zorder(id)", "42601", "transform"),
    ],
)
def test_specs_that_are_none(context: sharkpy.SharkContext, spec: str, error: str, message: str) -> None:
    columns = "id INT, day DATE, ratio DOUBLE, word STRING, word_bucket INT"
    with pytest.raises(SharkError, match=message) as raised:
        context.sql(f"CREATE TABLE none ({columns}) PARTITIONED BY SPEC ({spec}) STORED BY ICEBERG")
    assert raised.value.sqlstate == error
    assert not own_catalog(context).table_exists("default.none")


def test_a_column_that_divides_stays(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE kept (id INT, word STRING) PARTITIONED BY SPEC (bucket(2, id)) STORED BY ICEBERG")
    with pytest.raises(BindError, match="source column for partition field"):
        context.sql("ALTER TABLE kept REPLACE COLUMNS (word STRING)")
    run(
        context,
        "ALTER TABLE kept CHANGE id number BIGINT",
        "ALTER TABLE kept SET TBLPROPERTIES ('a'='b')",
        "INSERT INTO kept VALUES (20000000000, 'x'), (1, 'y')",
    )
    assert rows(context, "SELECT number FROM kept ORDER BY word") == [(20_000_000_000,), (1,)]
    checked_files(table_of(context, "kept"))


@pytest.mark.parametrize(
    ("transform", "source", "message"),
    [
        (DayTransform(), 3, r"divided by day\(part\.at\)"),
        (IdentityTransform(), 3, r"divided by part\.at"),
        (UnknownTransform("unknown"), 1, r"divided by unknown\(id\)"),
    ],
)
def test_fields_that_are_not_written(context: sharkpy.SharkContext, transform: Any, source: int, message: str) -> None:
    """Rows of such tables are read."""
    part = ice.StructType(ice.NestedField(3, "at", ice.TimestampType(), False))
    schema = Schema(ice.NestedField(1, "id", ice.IntegerType(), False), ice.NestedField(2, "part", part, False))
    catalog = own_catalog(context)
    catalog.create_namespace_if_not_exists("default")
    catalog.create_table(
        "default.others",
        schema,
        partition_spec=PartitionSpec(PartitionField(source, 1000, transform, "other")),
    )
    run(context, "CREATE EXTERNAL TABLE others STORED BY ICEBERG")
    assert rows(context, "SELECT count(*) FROM others") == [(0,)]
    with pytest.raises(UnsupportedError, match=message):
        context.sql("INSERT INTO others VALUES (1, NULL)")
    run(context, "DROP TABLE others")
    catalog.drop_table("default.others")


def test_a_field_that_takes_too_much(context: sharkpy.SharkContext) -> None:
    """A value that has no multiple below it in its type ends the statement, and leaves nothing."""
    run(context, "CREATE TABLE bounded (d DECIMAL(3,1)) PARTITIONED BY SPEC (truncate(70, d)) STORED BY ICEBERG")
    with pytest.raises(SharkError, match=r"truncate\(70, d\) is beyond") as error:
        context.sql("INSERT INTO bounded VALUES (1), (-99.9)")
    assert error.value.sqlstate == "22003"
    assert rows(context, "SELECT count(*) FROM bounded") == [(0,)]
    assert list(Path(context.catalog.table("default", "bounded").location or "").rglob("*.parquet")) == []


@pytest.mark.slow
def test_tasks_of_spark_divide(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", warehouse=tmp_path, **{"shark.placement.driver": "false"}) as context:
        run(
            context,
            "CREATE TABLE plain STORED AS PARQUET AS SELECT id, concat('w', id % 5) AS word FROM range(100)",
            "CREATE TABLE tasks PARTITIONED BY SPEC (bucket(3, id), truncate(2, word)) STORED BY ICEBERG AS "
            "SELECT id, word FROM plain DISTRIBUTE BY id",
        )
        assert len(set(checked_files(table_of(context, "tasks")))) == 15
        assert rows(context, "SELECT count(*), sum(id) FROM tasks") == [(100, 4950)]
