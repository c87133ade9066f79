"""Cursors beyond PEP 249: Arrow, cancelling, rows inserted in bulk."""

from __future__ import annotations

import datetime
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from sharkpy import dbapi
from sharkpy.dbapi import batch_inserts
from sharkpy.dbapi.batch_inserts import find_insert
from sharkpy.execution.statement import Progress
from sharkpy.session.prepared_statement import PreparedStatement
from tests.waiting import allowed, when

SLOW = "SELECT count(*) FROM t a, t b, t c, t d WHERE hash(a.k, b.k, c.k, d.k) % 7 = 3"


@pytest.fixture
def numbers(cursor: dbapi.Cursor) -> dbapi.Cursor:
    return cursor.execute("CREATE TABLE t AS SELECT explode(sequence(1, 1000)) AS k")


def test_arrow(numbers: dbapi.Cursor) -> None:
    query = "SELECT k, CAST(k AS DECIMAL(9,2)) AS d FROM t ORDER BY k"
    table = numbers.execute(query).fetch_arrow_table()
    assert table.schema.field("d").type == pa.decimal128(9, 2)
    assert table.num_rows == 1000
    assert pa.Table.from_batches(numbers.execute(query).fetch_arrow_batches()) == table
    assert pa.table(numbers.execute(query)) == table
    assert numbers.execute(query).fetch_df()["d"].iloc[999] == Decimal("1000.00")
    assert pa.table(numbers.execute(query).result) == table


def test_rows_and_batches_do_not_mix(numbers: dbapi.Cursor) -> None:
    numbers.execute("SELECT k FROM t").fetchone()
    with pytest.raises(dbapi.InterfaceError, match="one by one"):
        numbers.fetch_arrow_table()


def test_errors_of_batches_are_translated(numbers: dbapi.Cursor) -> None:
    numbers.execute("SELECT assert_true(k < 0) FROM t")
    with pytest.raises(dbapi.DataError):
        list(numbers.fetch_arrow_batches())


@pytest.mark.parametrize("statement", [SLOW, f"CREATE TABLE made AS {SLOW}"])
def test_cancel_from_another_thread(numbers: dbapi.Cursor, statement: str) -> None:
    when(lambda: numbers.connection.session.num_running, numbers.cancel)
    start = time.monotonic()
    with pytest.raises(dbapi.OperationalError, match="cancelled") as caught:
        numbers.execute(statement).fetchall()
    assert caught.value.sqlstate == "57014"
    assert time.monotonic() - start < allowed(5)
    assert numbers.execute("SELECT count(*) FROM t").fetchall() == [(1000,)]


@pytest.mark.parametrize("statement", [SLOW, "SELECT k FROM t", "INSERT INTO t VALUES (1)"])
def test_cancel_of_a_statement_that_is_being_prepared(
    numbers: dbapi.Cursor, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = numbers.connection.session
    prepare = session.prepare

    def cancelled(text: str, **options: Any) -> PreparedStatement:
        numbers.cancel()
        return prepare(text, **options)

    with monkeypatch.context() as patch:
        patch.setattr(session, "prepare", cancelled)
        with pytest.raises(dbapi.OperationalError, match="cancelled") as caught:
            numbers.execute(statement).fetchall()
    assert caught.value.sqlstate == "57014"
    assert numbers.execute("SELECT count(*) FROM t").fetchall() == [(1000,)]


def test_cancel_between_the_statements_of_many(numbers: dbapi.Cursor, monkeypatch: pytest.MonkeyPatch) -> None:
    session = numbers.connection.session
    prepare = session.prepare
    texts: list[str] = []

    def counted(text: str, **options: Any) -> PreparedStatement:
        texts.append(text)
        prepared = prepare(text, **options)
        if len(texts) == 2:
            numbers.cancel()
        return prepared

    with monkeypatch.context() as patch:
        patch.setattr(session, "prepare", counted)
        with pytest.raises(dbapi.OperationalError, match="cancelled"):
            numbers.executemany("INSERT INTO t SELECT ?", [(1,), (2,), (3,)])
    assert len(texts) == 2
    assert numbers.execute("SELECT count(*) FROM t").fetchall() == [(1001,)]


def test_cancel_ends_this_cursors_statement_alone(numbers: dbapi.Cursor) -> None:
    other = numbers.connection.execute("SELECT k FROM t ORDER BY k")
    assert other.fetchone() == (1,)
    numbers.cancel()
    numbers.execute("SELECT k FROM t")
    numbers.cancel()
    with pytest.raises(dbapi.OperationalError):
        numbers.fetchall()
    assert len(other.fetchall()) == 999


def test_connection_cancel_ends_all(numbers: dbapi.Cursor) -> None:
    when(lambda: numbers.connection.session.num_running, numbers.connection.cancel)
    with pytest.raises(dbapi.OperationalError, match="cancelled"):
        numbers.execute(SLOW).fetchall()


def test_listener(numbers: dbapi.Cursor) -> None:
    heard: list[Progress] = []
    numbers.execute("SELECT count(*) FROM t WHERE k % 3 = 1", listener=heard.append).fetchall()
    assert heard


@pytest.mark.parametrize(
    ("template", "head", "row"),
    [
        ("INSERT INTO t VALUES (?, ?)", "INSERT INTO t ", "(?, ?)"),
        ("insert into table d.t (a, b) values (?, f(?, 1));", "insert into table d.t (a, b) ", "(?, f(?, 1))"),
        ("INSERT INTO t PARTITION (p = 1) VALUES (?)", "INSERT INTO t PARTITION (p = 1) ", "(?)"),
    ],
)
def test_inserts_of_one_row(template: str, head: str, row: str) -> None:
    found = find_insert(template)
    assert found is not None
    assert (found.head, found.row) == (head, row)


@pytest.mark.parametrize(
    "template",
    [
        "INSERT OVERWRITE TABLE t VALUES (?)",
        "INSERT INTO t PARTITION (p = ?) VALUES (?)",
        "INSERT INTO t VALUES (?), (?)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t SELECT ?",
        "SELECT ?",
    ],
)
def test_other_statements_run_once_for_each_set(template: str) -> None:
    assert find_insert(template) is None


def test_each_set_runs_by_itself_where_it_has_to(cursor: dbapi.Cursor) -> None:
    cursor.execute("CREATE TABLE p (k INT) PARTITIONED BY (d STRING)")
    cursor.executemany("INSERT INTO p PARTITION (d = ?) VALUES (?)", [("x", 1), ("y", 2)])
    assert cursor.rowcount == 2
    assert sorted(cursor.execute("SELECT d, k FROM p").fetchall()) == [("x", 1), ("y", 2)]


@pytest.mark.parametrize(
    ("statement", "num_rows"),
    [
        ("INSERT INTO t VALUES (1), (abs(2)), (NULL)", 3),
        ("insert overwrite table t values (1);", 1),
        ("INSERT INTO t (k) VALUES (?)", 1),
        ("INSERT INTO t SELECT 1", 1),
        ("INSERT INTO t SELECT k FROM (SELECT 1 AS k) x", 1),
        ("CREATE TABLE u (k INT)", -1),
    ],
)
def test_rowcount(cursor: dbapi.Cursor, statement: str, num_rows: int) -> None:
    cursor.execute("CREATE TABLE t (k INT)")
    cursor.execute(statement, [5] if "?" in statement else None)
    assert cursor.rowcount == num_rows
    if num_rows > 0:
        assert len(cursor.execute("SELECT * FROM t").fetchall()) == num_rows
        assert cursor.rowcount == -1


ROWS = [
    (
        number - 5,
        f"it's \\ {number}\n" if number % 3 else None,
        number / 7,
        Decimal(number).scaleb(-3),
        datetime.date(2024, 1, 1) + datetime.timedelta(days=number % 50),
        datetime.datetime(2024, 1, 1, 1, 2, 3, number),
        number % 2 == 0,
        b"\x00" * (number % 3),
        None,
    )
    for number in range(300)
]
COLUMNS = "a INT, b STRING, c DOUBLE, d DECIMAL(12,4), e DATE, f TIMESTAMP, g BOOLEAN, h BINARY, i ARRAY<INT>"


def test_rowcount_of_changes(cursor: dbapi.Cursor) -> None:
    cursor.execute("CREATE TABLE t (k INT)")
    cursor.execute("INSERT INTO t VALUES (1), (2), (3)")
    assert cursor.execute("UPDATE t SET k = k + 10 WHERE k > ?", [1]).rowcount == 2
    cursor.executemany("DELETE FROM t WHERE k = ?", [[1], [2], [12]])
    assert cursor.rowcount == 2
    assert cursor.execute("DELETE FROM t WHERE k = 1").rowcount == 0


def test_many_rows_take_the_same_values_either_way(cursor: dbapi.Cursor, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("staged", "written"):
        cursor.execute(f"CREATE TABLE {name} ({COLUMNS}) STORED AS PARQUET")
    runs: list[str] = []
    run = cursor._run
    monkeypatch.setattr(cursor, "_run", lambda text: (runs.append(text.text), run(text)))
    cursor.executemany("INSERT INTO staged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ROWS)
    assert cursor.rowcount == 300
    monkeypatch.setattr(batch_inserts, "LEAST_ROWS", 1000)
    cursor.executemany("INSERT INTO written VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", ROWS)
    monkeypatch.undo()
    assert " FROM `default`.parameters_" in runs[0]
    assert "VALUES" in runs[1]
    staged, written = (sorted(cursor.execute(f"SELECT * FROM {name}").fetchall()) for name in ("staged", "written"))
    assert staged == written
    assert [row[0] for row in staged] == sorted(row[0] for row in ROWS)
    assert cursor.execute("SHOW TABLES").fetchall() == [("staged",), ("written",)]


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5] * 200,
        [2**70] * 400,
        [[1]] * 400,
        [None] * 400,
    ],
    ids=["mixed", "wide", "lists", "nothing"],
)
def test_values_that_a_temporary_table_does_not_take(cursor: dbapi.Cursor, values: list[object]) -> None:
    cursor.execute("CREATE TABLE t (k DECIMAL(38,1))")
    if isinstance(values[0], list):
        cursor.executemany("INSERT INTO t VALUES (? + 0)", [(value[0],) for value in values])  # type: ignore[index]
    else:
        cursor.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    expected = [None if value is None else Decimal(str(value)) for value in values if not isinstance(value, list)]
    found = [row[0] for row in cursor.execute("SELECT k FROM t").fetchall()]
    assert found == (expected or [1] * 400)


def test_a_failed_bulk_insert_leaves_nothing(cursor: dbapi.Cursor, tmp_path: Path) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="Table not found nope") as caught:
        cursor.executemany("INSERT INTO nope VALUES (?)", [(number,) for number in range(300)])
    assert (caught.value.line, caught.value.column) == (1, 13)
    with pytest.raises(dbapi.ProgrammingError, match="statement: 1, values given: 2"):
        cursor.executemany("INSERT INTO nope VALUES (?)", [(1,), (1, 2)])
    assert cursor.execute("SHOW TABLES").fetchall() == []
    assert not list((tmp_path / "w" / ".sharkpy" / "temporary").iterdir())
