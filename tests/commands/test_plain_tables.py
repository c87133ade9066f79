"""Tables whose folders have no log: external ones and tables outside the warehouse. Other programs find their files
directly in their folders.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import sharkpy
from sharkpy.base.errors import UnsupportedError
from sharkpy.catalog.model import TableKind
from tests.files import files_of
from tests.rows import rows


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w", shark_table_retention="0") as context:
        yield context


def run(context: sharkpy.SharkContext, *statements: str) -> None:
    for statement in statements:
        context.sql(statement).close()


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def numbers(context: sharkpy.SharkContext, table: str = "t") -> list[int]:
    return sorted(row[0] for row in rows(context, f"SELECT a FROM {table}"))


def read(pattern: Path) -> list[int]:
    """Column `a` of Parquet files, read by DuckDB."""
    return sorted(row[0] for row in duckdb.sql(f"SELECT a FROM read_parquet('{pattern}')").fetchall())


@pytest.mark.parametrize("kind", ["EXTERNAL ", ""])
@pytest.mark.parametrize("cache", ["", "TBLPROPERTIES ('shark.cache' = 'MEMORY')"])
def test_other_programs_read_them(context: sharkpy.SharkContext, tmp_path: Path, kind: str, cache: str) -> None:
    folder = tmp_path / "far"
    run(context, f"CREATE {kind}TABLE t (a INT) STORED AS PARQUET LOCATION '{folder}' {cache}")
    run(context, "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2), (3)")
    assert numbers(context) == read(folder / "*") == [1, 2, 3]
    duckdb.sql(f"COPY (SELECT 9 AS a) TO '{folder}/theirs.parquet' (FORMAT parquet)")
    assert numbers(context) == [1, 2, 3, 9]
    run(context, "INSERT OVERWRITE TABLE t SELECT a + 1 FROM t WHERE a > 1")
    assert numbers(context) == read(folder / "*") == [3, 4, 10]
    assert all(path.is_file() for path in folder.iterdir()), names_in(folder)
    with pytest.raises(UnsupportedError, match="whose changes are not recorded"):
        context.sql("DESCRIBE HISTORY t")


def test_hive_partitions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    folder = tmp_path / "far"
    run(
        context,
        f"CREATE EXTERNAL TABLE t (a INT) PARTITIONED BY (d STRING) STORED AS PARQUET LOCATION '{folder}'",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
        "INSERT INTO t PARTITION (d = 'x') VALUES (3)",
        "INSERT OVERWRITE TABLE t PARTITION (d = 'y') VALUES (4)",
    )
    assert read(folder / "d=*/*") == numbers(context) == [1, 3, 4]
    assert names_in(folder) == ["d=x", "d=y"]
    run(context, "ALTER TABLE t DROP PARTITION (d = 'y')", "MSCK REPAIR TABLE t")
    assert numbers(context) == [1, 3, 4]


def test_made_from_a_query(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    run(context, f"CREATE TABLE t STORED AS PARQUET LOCATION '{tmp_path}/far' AS SELECT 1 AS a")
    run(context, f"CREATE DATABASE d LOCATION '{tmp_path}/d'", "CREATE TABLE d.t STORED AS PARQUET AS SELECT 2 AS a")
    assert (read(tmp_path / "far/*"), read(tmp_path / "d/t/*")) == ([1], [2])
    run(context, "CREATE TABLE s AS SELECT 5 AS a", "CREATE TABLE d.c CLONE s", "DROP TABLE s PURGE")
    assert numbers(context, "d.c") == [5]


def test_folders_of_earlier_releases(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """A base hides older rows. Added rows follow as another generation, new content is plain."""
    folder = tmp_path / "far"
    for name, number in (("delta_0000001", 1), ("base_0000002", 2), ("delta_0000003", 3)):
        (folder / name).mkdir(parents=True)
        (folder / name / "part").write_text(f"{number}\n")
    run(context, f"CREATE EXTERNAL TABLE t (a INT) LOCATION '{folder}'", "INSERT INTO t VALUES (4)")
    assert numbers(context) == [2, 3, 4]
    run(context, "INSERT INTO t VALUES (5)")
    assert numbers(context) == [2, 3, 4, 5]
    run(context, "INSERT OVERWRITE TABLE t VALUES (6)")
    assert numbers(context) == [6]
    assert all(path.is_file() for path in folder.iterdir()), names_in(folder)


@pytest.mark.parametrize("clauses", ["", "PARTITIONED BY (d INT)"])
def test_managed_tables_become_external_and_back(context: sharkpy.SharkContext, tmp_path: Path, clauses: str) -> None:
    run(context, f"CREATE TABLE t (a INT) {clauses} STORED AS PARQUET")
    into = "PARTITION (d = 1) " if clauses else ""
    run(context, f"INSERT INTO t {into}VALUES (1)", f"INSERT INTO t {into}VALUES (2)", "CREATE TABLE c CLONE t")
    run(context, f"INSERT OVERWRITE TABLE t {into}SELECT a FROM t WHERE a = 2")
    folder = Path(context.catalog.table("default", "t").location or "") / ("d=1" if clauses else "")
    run(context, "ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL' = 'TRUE')")
    assert context.catalog.table("default", "t").kind is TableKind.EXTERNAL
    assert numbers(context) == read(folder / "*.parquet") == [2]
    run(context, f"INSERT INTO t {into}VALUES (3)", "DROP TABLE t")
    assert numbers(context, "c") == [1, 2], "the clone has files of its own"
    assert read(folder / "*.parquet") == [2, 3]
    place = folder.parent if clauses else folder
    run(context, f"CREATE EXTERNAL TABLE t (a INT) {clauses} STORED AS PARQUET LOCATION '{place}'")
    run(context, *(["MSCK REPAIR TABLE t"] if clauses else []))
    run(context, "ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL' = 'FALSE')")
    run(context, f"INSERT INTO t {into}VALUES (4)", "DELETE FROM t WHERE a = 2")
    assert numbers(context) == [3, 4]
    run(context, "DROP TABLE t", "DROP TABLE c")
    assert not [path for path in place.rglob("*") if path.is_file()]


def test_a_continuous_insert_counts_each_row_once(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """So its target gets a log, with the rows that are there, and so does a table that a stream follows."""
    (tmp_path / "in").mkdir()
    run(
        context,
        f"CREATE TABLE t (a INT) STORED AS PARQUET LOCATION '{tmp_path}/far'",
        "INSERT INTO t VALUES (1)",
        f"CREATE TABLE p (a INT) PARTITIONED BY (d INT) STORED AS PARQUET LOCATION '{tmp_path}/parts'",
        f"ALTER TABLE p ADD PARTITION (d = 1) LOCATION '{tmp_path}/own'",
        "INSERT INTO p PARTITION (d = 1) VALUES (7)",
        f"CREATE STREAM s (a INT) STORED AS JSONFILE FROM FOLDER '{tmp_path}/in'",
        "CREATE STREAM added FROM TABLE p WITH HISTORY",
        "CREATE CONTINUOUS INSERT i TRIGGER AVAILABLE NOW AS INSERT INTO t SELECT a FROM s",
    )
    (tmp_path / "in/1.json").write_text('{"a": 2}\n')
    run(context, "RESUME CONTINUOUS INSERT i", "INSERT INTO t VALUES (3)", "INSERT INTO p PARTITION (d = 1) VALUES (8)")
    run(context, "INSERT OVERWRITE TABLE p PARTITION (d = 2) VALUES (9)")
    run(context, "CREATE CONTINUOUS TABLE c TRIGGER AVAILABLE NOW AS SELECT a FROM added")
    assert (numbers(context), numbers(context, "c"), numbers(context, "p")) == ([1, 2, 3], [7, 8, 9], [7, 8, 9])
    assert context.catalog.log.find(f"{tmp_path}/far") is not None
    assert any("/_files/" in file.path for file in files_of(context, "p"))
