"""Requirements of PEP 249 on a module, its connections and its cursors."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from sharkpy import dbapi


def test_the_modules_constants() -> None:
    assert dbapi.apilevel == "2.0"
    assert dbapi.threadsafety in (0, 1, 2, 3)
    assert dbapi.paramstyle == "qmark"


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("Warning", "Exception"),
        ("Error", "Exception"),
        ("InterfaceError", "Error"),
        ("DatabaseError", "Error"),
        ("DataError", "DatabaseError"),
        ("OperationalError", "DatabaseError"),
        ("IntegrityError", "DatabaseError"),
        ("InternalError", "DatabaseError"),
        ("ProgrammingError", "DatabaseError"),
        ("NotSupportedError", "DatabaseError"),
    ],
)
def test_exceptions_have_their_bases_and_are_on_connections(name: str, base: str) -> None:
    kind = getattr(dbapi, name)
    assert [one.__name__ for one in kind.__bases__] == [base]
    assert getattr(dbapi.Connection, name) is kind


def test_constructors() -> None:
    assert dbapi.Date(2024, 1, 2) == datetime.date(2024, 1, 2)
    assert dbapi.Time(3, 4, 5) == datetime.time(3, 4, 5)
    assert dbapi.Timestamp(2024, 1, 2, 3, 4, 5) == datetime.datetime(2024, 1, 2, 3, 4, 5)
    now = datetime.datetime(2024, 1, 2, 3, 4, 5)
    ticks = now.timestamp()
    assert dbapi.DateFromTicks(ticks) == now.date()
    assert dbapi.TimeFromTicks(ticks) == now.time()
    assert dbapi.TimestampFromTicks(ticks) == now
    assert dbapi.Binary(b"x") == b"x"


def test_connect_takes_a_database(tmp_path: Path) -> None:
    with dbapi.connect(tmp_path, "local[2]") as connection:
        connection.execute("CREATE DATABASE other")
        connection.execute("CREATE TABLE other.t AS SELECT 1 AS k")
        with dbapi.connect(tmp_path, "local[2]", "OTHER") as second:
            assert second.execute("SELECT k FROM t").fetchall() == [(1,)]
        with pytest.raises(dbapi.ProgrammingError, match="Database not found nope") as caught:
            dbapi.connect(tmp_path, "local[2]", "nope")
        assert caught.value.sqlstate == "3F000"


def test_commit_and_rollback(connection: dbapi.Connection) -> None:
    connection.commit()
    with pytest.raises(dbapi.NotSupportedError, match="rollback"):
        connection.rollback()


def test_a_closed_connection(tmp_path: Path) -> None:
    connection = dbapi.connect(tmp_path, "local[2]")
    cursor = connection.cursor()
    cursor.execute("SELECT 1")
    connection.close()
    connection.close()
    for use in (connection.cursor, connection.commit, connection.rollback, connection.cancel):
        with pytest.raises(dbapi.InterfaceError, match="this connection is closed"):
            use()
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        cursor.fetchone()
    with pytest.raises(dbapi.InterfaceError, match="closed"):
        cursor.execute("SELECT 1")


def test_a_closed_cursor(connection: dbapi.Connection) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    cursor.close()
    for use in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, lambda: cursor.execute("SELECT 1")):
        with pytest.raises(dbapi.InterfaceError, match="this cursor is closed"):
            use()
    assert connection.execute("SELECT 2").fetchone() == (2,)


def test_description(cursor: dbapi.Cursor) -> None:
    assert cursor.description is None
    cursor.execute(
        "SELECT 1 AS i, 1.50BD AS d, 'x' AS s, CAST('x' AS VARCHAR(7)) AS v, date '2024-01-02' AS t, true AS b, "
        "unhex('00') AS y, array(1) AS a, NULL AS n"
    )
    description = cursor.description
    assert description is not None
    assert all(len(column) == 7 for column in description)
    assert [column[0] for column in description] == ["i", "d", "s", "v", "t", "b", "y", "a", "n"]
    codes = [column[1] for column in description]
    expected = [dbapi.NUMBER, dbapi.NUMBER, dbapi.STRING, dbapi.STRING, dbapi.DATETIME, dbapi.NUMBER, dbapi.BINARY]
    assert codes == [*expected, dbapi.NESTED, dbapi.STRING]
    assert all(code != dbapi.ROWID for code in codes)
    assert codes[0] != dbapi.STRING
    assert str(codes[1]) == "decimal(3,2)"
    assert description[1][2:] == (None, None, 3, 2, True)
    assert description[3][3] == 7
    cursor.execute("CREATE TABLE t (k INT)")
    assert cursor.description is None


def test_a_type_code_equals_exactly_one_type_object() -> None:
    from sharkpy.values.types import PRIMITIVES, ArrayType, CharType, MapType, StructType, VarcharType

    objects = [dbapi.STRING, dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.NESTED, dbapi.ROWID]
    one = PRIMITIVES["int"]
    nested = [ArrayType(one), MapType(one, one), StructType(("a",), (one,)), CharType(1), VarcharType(1)]
    for dtype in (*PRIMITIVES.values(), *nested):
        assert sum(dtype == known for known in objects) == 1, dtype


def test_fetching_needs_a_query(cursor: dbapi.Cursor) -> None:
    for statement in (None, "CREATE TABLE t (k INT)"):
        if statement:
            cursor.execute(statement)
        for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.fetch_arrow_table):
            with pytest.raises(dbapi.ProgrammingError, match="there are no rows"):
                fetch()


def test_fetching(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT explode(sequence(1, 7)) AS k")
    assert cursor.arraysize == 1
    assert cursor.fetchone() == (1,)
    assert cursor.fetchmany() == [(2,)]
    cursor.arraysize = 2
    assert cursor.fetchmany() == [(3,), (4,)]
    assert cursor.fetchmany(1) == [(5,)]
    assert next(cursor) == (6,)
    assert list(cursor) == [(7,)]
    assert cursor.fetchone() is None
    assert cursor.fetchmany(3) == []
    assert cursor.fetchall() == []
    assert cursor.rowcount == -1


def test_execute_gives_up_the_rows_before_it(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT explode(sequence(1, 7)) AS k").fetchone()
    assert cursor.execute("SELECT 'next'").fetchall() == [("next",)]
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("SELECT nope")
    with pytest.raises(dbapi.ProgrammingError, match="there are no rows"):
        cursor.fetchone()


def test_cursors_of_a_connection_see_each_others_work(connection: dbapi.Connection) -> None:
    one, two = connection.cursor(), connection.cursor()
    one.execute("CREATE TEMPORARY TABLE t (k INT)")
    two.execute("INSERT INTO t VALUES (1)")
    assert one.execute("SELECT k FROM t").fetchall() == [(1,)]
    assert one.connection is connection


def test_executemany(cursor: dbapi.Cursor) -> None:
    cursor.execute("CREATE TABLE t (k INT, v STRING)")
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, None), (3, "c")])
    assert cursor.rowcount == 3
    assert cursor.lastrowid is None
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [])
    cursor.executemany("INSERT INTO t VALUES (:k, :v)", [{"k": 4, "v": "d"}, {"k": 5, "v": "e"}])
    cursor.execute("SELECT * FROM t ORDER BY k")
    assert cursor.fetchall() == [(1, "a"), (2, None), (3, "c"), (4, "d"), (5, "e")]
    with pytest.raises(dbapi.ProgrammingError, match="yields rows"):
        cursor.executemany("SELECT ?", [(1,), (2,)])


def test_sizes_are_taken(cursor: dbapi.Cursor) -> None:
    cursor.setinputsizes([dbapi.STRING, None])
    cursor.setoutputsize(1000)
    cursor.setoutputsize(1000, 0)
    assert cursor.execute("SELECT ?", ["x" * 2000]).fetchone() == ("x" * 2000,)


def test_several_statements_are_refused(cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.ProgrammingError, match="one statement expected"):
        cursor.execute("SELECT 1; SELECT 2")
    assert cursor.execute("SELECT ';' ; ").fetchall() == [(";",)]
