"""Mistakes of users and failures below the engine: one clear error with its SQLSTATE, and nothing half-done."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import SharkError

STATEMENTS = (
    ("SELEC 1", "42601", 'near "SELEC".*line 1, column 1.*did you mean "SELECT"'),
    ("SELECT 1 +\n  FROM t", "42601", 'near "FROM".*line 2, column 3'),
    ("SELECT 'abc", "42601", "not closed.*line 1, column 8"),
    ("SELECT * FROM t WHERE", "42601", "at the end"),
    ("SELECT * FROM tt", "42S02", 'tt.*column 15.*did you mean "t"'),
    ("INSERT INTO tt VALUES (1)", "42S02", 'did you mean "t"'),
    ("USE nowhere", "3F000", "nowhere"),
    ("SELECT aa FROM t", "42703", 'no column "aa".*column 8.*did you mean "a"'),
    ("SELECT x.z FROM t x", "42703", '"z"'),
    ("SELECT lenght(b) FROM t", "42883", 'no function "lenght".*did you mean "length"'),
    ("SELECT a + array(1) FROM t", "42804", r"int \+ array<int> is not defined.*column 8"),
    ("SELECT sum(b, a) FROM t", "42804", r"sum does not take \(string, int\)"),
    ("SELECT CAST(DATE '2020-01-01' AS INT)", "42804", "date and cannot be cast to int"),
    ("SELECT CAST(a AS nonsense) FROM t", "42601", 'unknown type "nonsense"'),
    ("SELECT a FROM t x JOIN t y ON x.a = y.a", "42702", 'column "a" is ambiguous.*x.a or y.a'),
    ("SELECT a FROM t GROUP BY b", "42803", 'column "a" is neither grouped.*GROUP BY'),
    ("SELECT (SELECT a, b FROM t)", "42823", "has one column, this one has 2"),
    ("SELECT (SELECT a FROM t)", "21000", "more than one row"),
    ("INSERT INTO t SELECT 1", "21S01", "takes 2 columns here, the query has 1"),
    ("INSERT INTO t VALUES (1, 'a', 3)", "21S01", "takes 2 columns here, the query has 3"),
    ("INSERT INTO t SELECT array(1), 'a'", "42804", 'column "a" is int, the query gives array<int>'),
    ("CREATE TABLE t (a INT)", "42S01", '"t" already exists'),
    ("CREATE TABLE u (a INT, a INT)", "42701", '"a" is defined twice'),
    ("LOAD DATA INPATH '/nonexistent/file' INTO TABLE t", "58P01", '"/nonexistent/file" does not exist'),
    ("SET shark.block.rows = abc", "22023", '"abc" is not a value of shark.block.rows'),
    ("SET shark.block.rows = -5", "22023", '"-5" is not a value of shark.block.rows.*from 1 to'),
    ("SET shark.block.rows = 0", "22023", '"0" is not a value of shark.block.rows'),
    ("SET shark.blok.rows = 7", "42704", 'no setting "shark.blok.rows".*did you mean "shark.block.rows"'),
    ("SET shark.blok.rows", "42704", 'no setting "shark.blok.rows".*did you mean "shark.block.rows"'),
    (f"SELECT {'1' * 5000}", "22003", r"the number 1{20}… \(5,000 characters\) has more than 38 digits"),
    (f"SELECT 0.{'1' * 5000}BD", "22003", "has more than 38 digits"),
    (f"SELECT {'1' * 5000}L", "22003", "has more than 38 digits"),
    (f"SELECT interval '{'1' * 5000}' day", "22007", "is not an interval of day"),
    (f"SELECT date '2020-01-01' + interval {'9' * 30} day", "22015", "cannot be that long"),
    ("SELECT interval '106751991' day * 1000", "22015", "cannot be that long"),
    (f"SELECT a FROM t LIMIT {'1' * 5000}", "2201W", "a whole number"),
    (f"SELECT a FROM t ORDER BY {'1' * 5000}", "22003", "has more than 38 digits"),
    (f"SELECT array(1)[{'1' * 5000}]", "22003", "has more than 38 digits"),
    (f"SELECT CAST(1 AS DECIMAL({'1' * 5000}))", "42601", "a number expected"),
    (f"SELECT a FROM t TABLESAMPLE ({'1' * 5000} ROWS)", "42601", "a whole number of ROWS"),
    (f"SELECT a FROM t TABLESAMPLE (BUCKET 1 OUT OF {'1' * 5000})", "42601", "a number of buckets"),
    (f"SHOW QUERIES LIMIT {'1' * 5000}", "42601", "a number of statements"),
    (f"CREATE TABLE u (a INT) CLUSTERED BY (a) INTO {'1' * 5000} BUCKETS", "42601", "a number of buckets"),
    (
        "SELECT sum(a) OVER (ORDER BY a RANGE BETWEEN 1e400 PRECEDING AND CURRENT ROW) FROM t",
        "42P20",
        "must be a number",
    ),
    (f"SELECT schema_of_json('{'1' * 5000}')", "42804", "is not JSON"),
    (f"SELECT schema_of_json('{'[' * 100_000}')", "42804", "is not JSON"),
    (
        "SELECT sum(a) OVER (ORDER BY CAST(a AS TIMESTAMP) RANGE BETWEEN 1e30 PRECEDING AND CURRENT ROW) FROM t",
        "22015",
        "too large",
    ),
)


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(master="local[2]", warehouse=tmp_path_factory.mktemp("warehouse")) as session:
        session.sql("CREATE TABLE t (a INT, b STRING)")
        session.sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        yield session


def failure(context: sharkpy.SharkContext, text: str) -> SharkError:
    with pytest.raises(SharkError) as caught:
        context.sql(text).fetchall()
    return caught.value


@pytest.mark.parametrize(("text", "sqlstate", "message"), STATEMENTS)
def test_statement(context: sharkpy.SharkContext, text: str, sqlstate: str, message: str) -> None:
    error = failure(context, text)
    assert error.sqlstate == sqlstate
    assert re.search(message, str(error), re.IGNORECASE), str(error)
    assert "\n" not in str(error)
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(2,)]


def test_corrupt_parquet(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "part-0.parquet").write_bytes(b"no parquet")
    context.sql(f"CREATE EXTERNAL TABLE corrupt (a INT) STORED AS PARQUET LOCATION '{tmp_path}'")
    error = failure(context, "SELECT * FROM corrupt")
    assert error.sqlstate == "58030"
    assert f'"{tmp_path / "part-0.parquet"}" is not a readable Parquet file' in str(error)


def test_damaged_page_of_parquet(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """The footer of the Parquet file is whole, the data is not."""
    path = tmp_path / "part-0.parquet"
    pq.write_table(pa.table({"a": pa.array(range(10_000), pa.int32())}), path, compression="snappy")
    data = bytearray(path.read_bytes())
    data[4:200] = b"\xff" * 196
    path.write_bytes(data)
    context.sql(f"CREATE EXTERNAL TABLE damaged (a INT) STORED AS PARQUET LOCATION '{tmp_path}'")
    error = failure(context, "SELECT sum(a) FROM damaged")
    assert error.sqlstate == "58030"
    assert str(path) in str(error)


def test_file_that_vanished(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    location = tmp_path / "data"
    location.mkdir()
    context.sql(f"CREATE EXTERNAL TABLE vanished (a INT) STORED AS PARQUET LOCATION '{location}'")
    location.rmdir()
    error = failure(context, "SELECT * FROM vanished")
    assert error.sqlstate == "58P01"
    assert f'"{location}" does not exist' in str(error)


def test_malformed_lines_become_null_and_are_counted(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("1,x\nabc,y\n3\n")
    context.sql(
        "CREATE EXTERNAL TABLE lines (a INT, b STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"
        f" LOCATION '{tmp_path}'"
    )
    assert context.sql("SELECT a, b FROM lines").fetchall() == [(1, "x"), (None, "y"), (3, None)]
    text = "\n".join(str(row[0]) for row in context.sql("EXPLAIN ANALYZE SELECT a, b FROM lines").fetchall())
    assert "1 malformed line, 1 malformed field" in text


def test_warehouse_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SharkError) as caught:
        sharkpy.connect(warehouse=tmp_path / "file" / "warehouse")
    assert caught.value.sqlstate == "F0000"
    assert "warehouse" in str(caught.value)


def test_full_disk_leaves_nothing(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device fills up in the middle of a file: one error, no rows, no file."""
    context.sql(f"CREATE EXTERNAL TABLE full (a INT) STORED AS TEXTFILE LOCATION '{tmp_path}'")
    context.sql("INSERT INTO full VALUES (1)")
    before = sorted(path for path in tmp_path.rglob("*"))

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.rename", refuse)
        error = failure(context, "INSERT INTO full SELECT a FROM t")
    assert error.sqlstate == "53100"
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert context.sql("SELECT * FROM full").fetchall() == [(1,)]


def test_no_statement_replaces_a_shared_folder(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "mine.txt").write_text("1\n")
    (tmp_path / "new.txt").write_text("2\n")
    context.sql(f"CREATE EXTERNAL TABLE at_home (a STRING) STORED AS TEXTFILE LOCATION '{home}'")
    monkeypatch.setenv("HOME", str(home))
    for statement in (
        "INSERT OVERWRITE TABLE at_home SELECT 'x'",
        f"LOAD DATA LOCAL INPATH '{tmp_path}/new.txt' OVERWRITE INTO TABLE at_home",
        f"INSERT OVERWRITE DIRECTORY '{home}' SELECT 'x'",
    ):
        assert failure(context, statement).sqlstate == "42000"
        assert [path.name for path in home.iterdir()] == ["mine.txt"]
    assert context.sql("SELECT a FROM at_home").fetchall() == [("1",)]
