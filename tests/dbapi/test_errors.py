"""Errors of the engine as errors of PEP 249."""

from __future__ import annotations

import pytest

from sharkpy import dbapi
from sharkpy.base import errors
from sharkpy.dbapi.exceptions import error_of, translated


def all_errors() -> list[type[errors.SharkError]]:
    """All errors of the engine. Errors of a server, if imported, do not occur in process."""
    found = (one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.SharkError))
    return sorted(found, key=lambda one: one.__name__)


@pytest.mark.parametrize("kind", all_errors())
def test_every_error_of_the_engine_becomes_a_database_error(kind: type[errors.SharkError]) -> None:
    error = error_of(kind("what happened", hint="what to do", line=3, column=4))
    assert isinstance(error, dbapi.DatabaseError)
    assert (error.message, error.hint, error.line, error.column) == ("what happened", "what to do", 3, 4)
    assert error.sqlstate == kind.sqlstate


@pytest.mark.parametrize(
    ("statement", "kind", "sqlstate"),
    [
        ("SELEC 1", dbapi.ProgrammingError, "42601"),
        ("SELECT * FROM nope", dbapi.ProgrammingError, "42S02"),
        ("SELECT nope()", dbapi.ProgrammingError, "42883"),
        ("SELECT 1 + array(1)", dbapi.ProgrammingError, "42804"),
        ("LOCK TABLE u SHARED", dbapi.NotSupportedError, "0A000"),
        ("SELECT date '2024-13-01'", dbapi.DataError, "22007"),
        ("SET shark.block.rows=many", dbapi.DataError, "22023"),
        ("LOAD DATA LOCAL INPATH '/nowhere' INTO TABLE u", dbapi.OperationalError, "58P01"),
    ],
)
def test_kinds(cursor: dbapi.Cursor, statement: str, kind: type[dbapi.Error], sqlstate: str) -> None:
    cursor.execute("CREATE TABLE u (k INT)")
    with pytest.raises(dbapi.DatabaseError) as caught:
        cursor.execute(statement)
    assert type(caught.value) is kind
    assert caught.value.sqlstate == sqlstate
    assert isinstance(caught.value.__cause__, errors.SharkError)


def test_an_error_while_rows_are_fetched(cursor: dbapi.Cursor) -> None:
    cursor.execute("SELECT assert_true(k < 15) FROM (SELECT explode(sequence(1, 20)) AS k) t")
    with pytest.raises(dbapi.DataError) as caught:
        cursor.fetchall()
    assert caught.value.sqlstate == "22000"


def test_hint_and_place(cursor: dbapi.Cursor) -> None:
    cursor.execute("CREATE TABLE people (name STRING)")
    with pytest.raises(dbapi.ProgrammingError, match='did you mean "people"') as caught:
        cursor.execute("SELECT *\n  FROM peeple")
    assert (caught.value.line, caught.value.column) == (2, 8)
    assert caught.value.hint == 'did you mean "people"?'


def test_the_place_is_that_of_the_text_that_was_given(cursor: dbapi.Cursor) -> None:
    with pytest.raises(dbapi.ProgrammingError) as caught:
        cursor.execute("SELECT ?,\n ?, ? + nope", ["a long text with\nlines", 1, 2])
    assert (caught.value.line, caught.value.column) == (2, 9)
    assert "(line 2, column 9)" in str(caught.value)


def test_what_is_no_error_of_the_engine() -> None:
    with pytest.raises(dbapi.InternalError, match="ZeroDivisionError"), translated():
        _ = 1 // 0
    with pytest.raises(KeyboardInterrupt), translated():
        raise KeyboardInterrupt
