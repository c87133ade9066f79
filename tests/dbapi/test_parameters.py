"""Parameters: typed literals, placed only at the placeholders of the engine's tokenizer."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from enum import IntEnum

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sharkpy import dbapi
from sharkpy.sql.parameters import bind_parameters


class Colour(IntEnum):
    RED = 3


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "boolean"),
        (False, "boolean"),
        (7, "int"),
        (-7, "int"),
        (-(2**31), "int"),
        (2**31, "bigint"),
        (-(2**63), "bigint"),
        (2**63, "decimal(19,0)"),
        (Colour.RED, "int"),
        (1.5, "double"),
        (-1e300, "double"),
        (5e-324, "double"),
        (math.inf, "double"),
        (datetime.timedelta(days=-3, seconds=1.25), "interval_day_time"),
        (datetime.timedelta(days=106_751_991), "interval_day_time"),
        (-math.inf, "double"),
        (np.int64(-9), "int"),
        (np.float64(0.1), "double"),
        (np.bool_(True), "boolean"),
        (Decimal("-1.50"), "decimal(3,2)"),
        (Decimal("1E+5"), "decimal(6,0)"),
        (Decimal("0.000001"), "decimal(6,6)"),
        (Decimal("9" * 38), "decimal(38,0)"),
        ("", "string"),
        ("it's \\ \"quoted\" `so` \\' '' -- /* ; ? :a %s ${x}\n\r\t\x00\x1a", "string"),
        ("\\%\\_\\n\\u0041", "string"),
        ("é😀", "string"),
        (b"", "binary"),
        (b"\x00'\\\xff", "binary"),
        (bytearray(b"ab"), "binary"),
        (datetime.date(1, 1, 1), "date"),
        (datetime.date(9999, 12, 31), "date"),
        (datetime.datetime(2024, 2, 29, 23, 59, 59, 999_999), "timestamp"),
        (datetime.datetime(1, 1, 1), "timestamp"),
        (pd.Timestamp("2024-01-02 03:04:05"), "timestamp"),
        (None, "void"),
    ],
    ids=repr,
)
def test_a_value_comes_back_as_it_was(cursor: dbapi.Cursor, value: object, dtype: str) -> None:
    row = cursor.execute("SELECT ?", [value]).fetchone()
    assert row == (value,)
    assert cursor.description is not None
    assert str(cursor.description[0][1]) == dtype


def test_nan_nat_and_intervals(cursor: dbapi.Cursor) -> None:
    nan, minus, nothing = cursor.execute("SELECT ?, ?, ?", [math.nan, -0.0, pd.NaT]).fetchall()[0]
    assert math.isnan(nan)
    assert math.copysign(1, minus) == -1
    assert nothing is None
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 6)
    for step in (datetime.timedelta(microseconds=1), datetime.timedelta(days=-40, seconds=1.25)):
        assert cursor.execute("SELECT ? + ?", [moment, step]).fetchone() == (moment + step,)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.text(), st.binary(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=4))
def test_any_text_and_bytes(cursor: dbapi.Cursor, values: list[object]) -> None:
    marks = ", ".join("?" * len(values))
    assert cursor.execute(f"SELECT {marks}, 'end' -- ?", values).fetchall() == [(*values, "end")]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Decimal("NaN"), dbapi.DataError),
        (Decimal("Infinity"), dbapi.DataError),
        (Decimal("9" * 39), dbapi.DataError),
        (10**40, dbapi.DataError),
        (10**5000, dbapi.DataError),
        (-(10**38), dbapi.DataError),
        (Decimal("1E+999999999"), dbapi.DataError),
        (Decimal("1E-999999999"), dbapi.DataError),
        (datetime.timedelta.max, dbapi.DataError),
        ("\ud800", dbapi.DataError),
        (datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), dbapi.DataError),
        (datetime.time(1, 2), dbapi.NotSupportedError),
        ({"a": 1}, dbapi.NotSupportedError),
        (object(), dbapi.NotSupportedError),
        ([], dbapi.ProgrammingError),
    ],
    ids=lambda given: getattr(given, "__name__", type(given).__name__),
)
def test_values_without_a_literal(cursor: dbapi.Cursor, value: object, kind: type[dbapi.Error]) -> None:
    with pytest.raises(dbapi.Error) as caught:
        cursor.execute("SELECT ?", [value])
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    "template",
    [
        "SELECT '?', ?",
        'SELECT "?", ?',
        "SELECT '\\'?', ?",
        "SELECT '?' AS `?`, ?",
        "SELECT '?', ? -- ?",
        "SELECT /* ? */ '?', ? /* ? /* ? */ ? */",
        "SELECT /*+ MAPJOIN(?) */ '?',\n?",
    ],
)
def test_only_placeholders_are_replaced(cursor: dbapi.Cursor, template: str) -> None:
    row = cursor.execute(template, ["*/ x"]).fetchone()
    assert row is not None
    assert row[1] == "*/ x"
    assert str(row[0]).endswith("?")


def test_literals_do_not_run_into_what_is_beside_them(cursor: dbapi.Cursor) -> None:
    assert cursor.execute("SELECT 5-?, 5 -?, -?, 2*?", [-1, -2, -3, -4]).fetchone() == (6, 7, 3, -8)
    with pytest.raises(dbapi.ProgrammingError):
        cursor.execute("SELECT 1?", [2])
    with pytest.raises(dbapi.ProgrammingError, match="column"):
        cursor.execute("SELECT a?", [2])


def test_variables_in_values_are_text(cursor: dbapi.Cursor) -> None:
    """A session replaces variables everywhere in a statement, but not in values: they could end the literal."""
    cursor.execute("SET hivevar:q = a', 'b")
    for value in ("${hivevar:q}", "$${hivevar:q}", "$", "{hivevar:q}", "${hivevar:${hivevar:q}}"):
        assert cursor.execute("SELECT ?", [value]).fetchall() == [(value,)]


def test_numpy_and_pandas(cursor: dbapi.Cursor) -> None:
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 6)
    values = [np.datetime64("2024-01-02T03:04:05.000006000"), np.datetime64("NaT"), pd.NA, pd.NaT]
    assert cursor.execute("SELECT ?, ?, ?, ?", values).fetchone() == (moment, None, None, None)
    row = cursor.execute("SELECT 2 IN ?, 'a' IN (?)", [np.array([1, 2]), pd.Series(["a", "b"])]).fetchone()
    assert row == (True, True)
    assert cursor.execute("SELECT ? IN ?", [moment, np.array([values[0]])]).fetchone() == (True,)


def test_lists(cursor: dbapi.Cursor) -> None:
    query = "SELECT 2 IN ?, 'b' IN (?), NULL IN (?) IS NULL, size(array(?)), ? IN (?, ?)"
    values = [[1, 2], ("a", "b"), {1}, [1, 2, 3], 1, 2, 1]
    assert cursor.execute(query, values).fetchone() == (True, True, True, 3, True)
    assert cursor.execute("SELECT :n IN :all", {"n": 4, "all": [1, 4]}).fetchone() == (True,)


def test_names(cursor: dbapi.Cursor) -> None:
    row = cursor.execute(
        "SELECT :a, :B, :a + 1, ':a', CAST(NULL AS struct<a:int>) AS x -- :c", {"a": 1, "B": "b", "unused": 0}
    ).fetchone()
    assert row == (1, "b", 2, ":a", None)
    with pytest.raises(dbapi.ProgrammingError, match='no value for the parameter ":c"'):
        cursor.execute("SELECT :c", {"a": 1})


@pytest.mark.parametrize(
    ("template", "parameters", "message"),
    [
        ("SELECT ?", None, "statement: 1, values given: 0"),
        ("SELECT ?", [1, 2], "statement: 1, values given: 2"),
        ("SELECT 1", [1], "statement: 0, values given: 1"),
        ("SELECT ?", "x", "a sequence or a mapping, not str"),
        ("SELECT ?", {1}, "a sequence or a mapping, not set"),
    ],
)
def test_parameters_that_do_not_fit(cursor: dbapi.Cursor, template: str, parameters: object, message: str) -> None:
    with pytest.raises(dbapi.ProgrammingError, match=message):
        cursor.execute(template, parameters)  # type: ignore[arg-type]


@given(st.text(alphabet="ab\n ?", max_size=12), st.lists(st.sampled_from(["", "x", "a'b\n", "long text"]), max_size=12))
def test_places_lead_back_to_the_template(template: str, values: list[str]) -> None:
    values = (values * 12)[: template.count("?")] if values else ["v"] * template.count("?")
    bound = bind_parameters(template, values)
    kept = [offset for offset, character in enumerate(template) if character in "ab"]
    quoted = False
    found = []
    for offset, character in enumerate(bound.text):
        if character == "'" and bound.text[offset - 1] != "\\":
            quoted = not quoted
        elif character in "ab" and not quoted:
            line, column = bound.text.count("\n", 0, offset) + 1, offset - bound.text.rfind("\n", 0, offset)
            found.append(bound.place(line, column))
    assert found == [(template.count("\n", 0, offset) + 1, offset - template.rfind("\n", 0, offset)) for offset in kept]
