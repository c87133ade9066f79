"""Names of any length: of tables, databases, columns, struct fields, and values that become names of folders."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.errors import SourceError

FORMATS = ("TEXTFILE", "PARQUET", "ORC", "AVRO", "RCFILE", "SEQUENCEFILE", "JSONFILE")


@pytest.mark.parametrize("length", [200, 250, 300, 1000])
def test_tables(context: sharkpy.SharkContext, length: int) -> None:
    name, other = "t" * length, "o" * length
    context.sql(f"CREATE TABLE {name} TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT 1 AS a")
    context.sql(f"INSERT INTO {name} SELECT 2")
    context.sql(f"UPDATE {name} SET a = a + 1")
    context.sql(f"ALTER TABLE {name} RENAME TO {other}")
    context.sql(f"CREATE TABLE {name} AS SELECT 5 AS a")
    context.sql(f"CREATE OR REPLACE TABLE {name} AS SELECT 6 AS a")
    both = context.sql(f"SELECT sum(a) FROM {other} UNION ALL SELECT a FROM {name}").fetchall()
    assert sorted(both) == [(5,), (6,)]
    for one in (name, other):
        context.sql(f"DROP TABLE {one}")


@pytest.mark.parametrize("length", [200, 252, 253, 1000])
def test_databases(context: sharkpy.SharkContext, length: int) -> None:
    first, second = "d" * length, "d" * (length - 1) + "e"
    for name in (first, second):
        context.sql(f"CREATE DATABASE {name}")
        context.sql(f"CREATE TABLE {name}.t AS SELECT '{name[-1]}' AS a")
    assert context.sql(f"SELECT a FROM {first}.t UNION ALL SELECT a FROM {second}.t").fetchall() == [("d",), ("e",)]
    for name in (first, second):
        context.sql(f"DROP DATABASE {name} CASCADE")


@pytest.mark.parametrize("stored_as", FORMATS)
def test_columns_and_fields(context: sharkpy.SharkContext, stored_as: str) -> None:
    column, nested, field = "c" * 300, "n" * 300, "f" * 300
    context.sql(
        f"CREATE TABLE wide_{stored_as} STORED AS {stored_as} AS "
        f"SELECT 1 AS {column}, named_struct('{field}', 2) AS {nested}"
    )
    assert context.sql(f"SELECT {column}, {nested}.{field} FROM wide_{stored_as}").fetchall() == [(1, 2)]


def test_values_that_name_folders(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("CREATE TABLE parted (v INT) PARTITIONED BY (p STRING)")
    context.sql(f"INSERT INTO parted PARTITION (p = '{'x' * 253}') SELECT 1")
    assert context.sql("SELECT v, length(p) FROM parted").fetchall() == [(1, 253)]
    statements = (
        f"INSERT INTO parted PARTITION (p = '{'x' * 254}') SELECT 1",
        "INSERT INTO parted PARTITION (p) SELECT 1, repeat('ä', 127)",
        f"ALTER TABLE parted ADD PARTITION (p = '{'x' * 254}')",
        f"CREATE EXTERNAL TABLE far (a INT) LOCATION '{tmp_path}/{'y' * 300}'",
    )
    for statement in statements:
        with pytest.raises(SourceError, match=r"the name .* has (256|300) bytes; .*255 bytes") as caught:
            context.sql(statement).fetchall()
        assert caught.value.sqlstate == "54000"
    assert context.sql("SELECT count(*) FROM parted").fetchall() == [(1,)]
