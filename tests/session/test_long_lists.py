"""IN over lists of thousands of constants: the rows that a short list would have, for each type and in each place."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from tests.waiting import allowed

LONG = 2_000
"""More items than a list of separate expressions has."""
INTEGERS = ", ".join(map(str, range(0, 2 * LONG, 2)))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as opened:
        opened.sql(
            "CREATE TABLE t (i INT, l BIGINT, y TINYINT, s STRING, v VARCHAR(20), c CHAR(9), d DECIMAL(12,2), f DOUBLE,"
            " r FLOAT, a DATE, m TIMESTAMP, b BOOLEAN)"
        )
        opened.sql(
            "INSERT INTO t VALUES"
            " (4, 4, 4, '4', 'x4', 'x4', 4, 4, 4, '2020-01-05', '2020-01-05 00:00:00', true),"
            " (5, 5, 5, '5', 'x,5', 'x5', 4.5, 4.5, 5, '1999-01-01', '1999-01-01 00:00:01', false),"
            " (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
        )
        yield opened


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("value", "items", "expected"),
    [
        ("i", INTEGERS, [True, False, None]),
        ("l", INTEGERS, [True, False, None]),
        ("l", INTEGERS + ", 12345678901", [True, False, None]),
        ("y", INTEGERS, [True, False, None]),
        ("y", ", ".join(map(str, range(100))) + ", 5" * LONG, [True, True, None]),
        ("s", INTEGERS, [True, False, None]),
        ("d", INTEGERS, [True, False, None]),
        ("d", ", ".join(f"{n}.5" for n in range(LONG)), [False, True, None]),
        ("f", INTEGERS, [True, False, None]),
        ("f", ", ".join(f"{n}.5" for n in range(LONG)), [False, True, None]),
        ("r", INTEGERS, [True, False, None]),
        ("i + 1", INTEGERS, [False, True, None]),
        ("i", INTEGERS + ", NULL", [True, None, None]),
        ("i", f"i, {INTEGERS}", [True, True, None]),
        ("s", ", ".join(f"'{n}'" for n in range(0, 2 * LONG, 2)), [True, False, None]),
        ("s", "'5', 4, " + ", ".join(f"'x{n}'" for n in range(LONG)), [True, True, None]),
        ("v", "'x,5', " + ", ".join(f"'y{n}'" for n in range(LONG)), [False, True, None]),
        (
            "v",
            "'x,5', 'it\\'s', 'a\\n\u0001\u0002\u001c\u001d\u001e\u001f', " + ", ".join(f"'y{n}'" for n in range(LONG)),
            [False, True, None],
        ),
        ("c", "'x4  ', " + ", ".join(f"'y{n}'" for n in range(LONG)), [True, False, None]),
        ("a", ", ".join(f"'20{n % 100:02}-01-05'" for n in range(LONG)), [True, False, None]),
        (
            "m",
            "'1999-01-01 00:00:01', " + ", ".join(f"'20{n % 100:02}-01-05'" for n in range(LONG)),
            [True, True, None],
        ),
        ("i", ", ".join(f"'{n}'" for n in range(0, 2 * LONG, 2)), [True, False, None]),
        ("4", INTEGERS, [True, True, True]),
        ("NULL", INTEGERS, [None, None, None]),
        ("cast(NULL AS INT)", INTEGERS, [None, None, None]),
        ("b", "true, " * LONG + "true", [True, False, None]),
    ],
)
def test_each_type(session: sharkpy.SharkContext, value: str, items: str, expected: list[bool | None]) -> None:
    rows = session.sql(f"SELECT {value} IN ({items}), {value} NOT IN ({items}) FROM t ORDER BY i NULLS LAST").fetchall()
    assert [row[0] for row in rows] == expected
    assert [row[1] for row in rows] == [None if one is None else not one for one in expected]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT i FROM t WHERE i IN ({INTEGERS})", [(4,)]),
        (f"SELECT i FROM t WHERE i NOT IN ({INTEGERS})", [(5,)]),
        (f"SELECT i FROM t WHERE i IN ({INTEGERS}) OR i IN ({INTEGERS}, 5)", [(4,), (5,)]),
        (f"SELECT CASE WHEN i IN ({INTEGERS}) THEN 'in' ELSE 'out' END FROM t WHERE i > 0", [("in",), ("out",)]),
        (f"SELECT filter(array(3, 4, i), x -> x IN ({INTEGERS})) FROM t WHERE i > 0", [([4, 4],), ([4],)]),
        (f"SELECT hex(unhex(if(i IN ({INTEGERS}), 'ff', '00'))) FROM t WHERE i > 0", [("FF",), ("00",)]),
        (
            f"SELECT i IN ({INTEGERS}) x, count(*) FROM t WHERE i > 0 GROUP BY i IN ({INTEGERS})",
            [(False, 1), (True, 1)],
        ),
        (f"SELECT sum(if(i IN ({INTEGERS}), i, 0)), count(*) FILTER (WHERE i IN ({INTEGERS})) FROM t", [(4, 1)]),
        (f"SELECT t.i FROM t JOIN t u ON t.i = u.i AND t.i + u.i IN ({INTEGERS}, 10)", [(4,), (5,)]),
        (
            f"SELECT t.i, u.i FROM t LEFT JOIN t u ON t.i = u.i AND u.i IN ({INTEGERS}) WHERE t.i > 0",
            [(4, 4), (5, None)],
        ),
        (f"SELECT i FROM t WHERE i > 0 ORDER BY i IN ({INTEGERS})", [(5,), (4,)]),
        (f"SELECT i FROM t WHERE EXISTS (SELECT 1 FROM t u WHERE u.i = t.i AND u.l IN ({INTEGERS}))", [(4,)]),
        (f"SELECT i, sum(i) OVER (PARTITION BY i IN ({INTEGERS})) FROM t WHERE i > 0", [(4, 4), (5, 5)]),
        (f"SELECT max(i) FROM t HAVING max(i) + 1 IN ({INTEGERS}, 6)", [(5,)]),
    ],
    ids=range(14),
)
def test_each_place(session: sharkpy.SharkContext, query: str, expected: list[tuple[object, ...]]) -> None:
    rows = [tuple(row) for row in session.sql(query).fetchall()]
    assert rows == expected if "ORDER BY" in query else sorted(rows, key=str) == sorted(expected, key=str)


def test_it_is_one_line_of_the_plan(session: sharkpy.SharkContext) -> None:
    text = str(session.sql(f"EXPLAIN SELECT i FROM t WHERE i IN ({INTEGERS})").fetchall())
    assert "i#1 IN (0, 2, 4, … 1,997 more)" in text
    assert len(text) < 2_000


def test_a_wrong_list_is_refused_as_a_short_one_is(session: sharkpy.SharkContext) -> None:
    for items in ("1, 2", INTEGERS):
        with pytest.raises(SharkError, match="cannot be compared"):
            session.sql(f"SELECT a FROM t WHERE array(i) IN ({items})")
    with pytest.raises(SharkError, match="a tuple of 2 values"):
        session.sql(f"SELECT a FROM t WHERE (i, l) IN ({INTEGERS})")
    with pytest.raises(SharkError, match="more than 38 digits"):
        session.sql(f"SELECT i IN ({INTEGERS}, {'9' * 40}) FROM t")


def test_rows_of_literals_are_those_of_values(session: sharkpy.SharkContext) -> None:
    rows = ", ".join(f"({n}, 'it\\'s {n}', {n}.5, NULL, true, -{n})" for n in range(LONG))
    made = session.sql(f"SELECT * FROM VALUES {rows} AS v (a, b, c, d, e, f) ORDER BY a").fetchall()
    assert tuple(made[7]) == (7, "it's 7", Decimal("7.5"), None, True, -7)
    assert len(made) == LONG
    session.sql(f"CREATE TABLE made AS SELECT * FROM (VALUES {rows}) v (a, b, c, d, e, f)")
    assert session.sql("SELECT count(*), sum(c), min(f) FROM made WHERE b = 'it\\'s 7' OR e").fetchall() == [
        (LONG, Decimal(str(sum(n + 0.5 for n in range(LONG)))), -LONG + 1)
    ]
    session.sql(f"INSERT INTO made VALUES {rows}")
    assert session.sql("SELECT count(*) FROM made").fetchall() == [(2 * LONG,)]
    with pytest.raises(SharkError, match="has 1 values, the first has 6"):
        session.sql(f"SELECT * FROM VALUES {rows}, (1)")
    with pytest.raises(SharkError, match="has 1 values, the first has 6"):
        session.sql(f"INSERT INTO made VALUES {rows}, (1)")


QUICK = {
    "a million integers": ("SELECT 1 IN (" + ", ".join(map(str, range(1_000_000))) + ")", 3.0, 1),
    "a million integers beside a column": (
        "SELECT count(*) FROM t WHERE i IN (" + ", ".join(map(str, range(1_000_000))) + ")",
        4.0,
        1,
    ),
    "100,000 strings": ("SELECT 'x' IN (" + ", ".join(f"'x{n}'" for n in range(100_000)) + ")", 2.0, 1),
    "2,000 expressions": ("SELECT " + ", ".join(f"i + {n} c{n}" for n in range(2_000)) + " FROM t", 1.5, 3),
    "2,000 groups": (
        "SELECT "
        + ", ".join(f"i + {n}" for n in range(500))
        + " FROM t GROUP BY "
        + ", ".join(f"i + {n}" for n in range(500)),
        2.0,
        3,
    ),
    "20,000 rows": ("SELECT * FROM VALUES " + ", ".join(f"({n}, 'x')" for n in range(20_000)), 3.0, 20_000),
    "20,000 equalities": ("SELECT i FROM t WHERE " + " OR ".join(f"i = {n}" for n in range(20_000)), 6.0, 2),
    "10,000 inequalities": ("SELECT i FROM t WHERE " + " AND ".join(f"i <> {n}" for n in range(10, 10_010)), 6.0, 2),
    "12 levels of BETWEEN": ("SELECT " + "(" * 12 + "i" + " BETWEEN 1 AND 2)" * 12 + " FROM t", 1.0, 3),
    "100 levels of IN": ("SELECT " + "(" * 100 + "i" + " IN (1, 2))" * 100 + " FROM t", 2.0, 3),
    "16 levels of nullif": ("SELECT " + "nullif(" * 16 + "i" + ", 1)" * 16 + " FROM t", 1.0, 3),
    "30 levels of CASE": ("SELECT " + "CASE " * 30 + "i" + " WHEN 4 THEN 5 ELSE 4 END" * 30 + " FROM t", 1.0, 3),
    "20 levels of casts": ("SELECT " + "cast(cast(" * 20 + "i" + " AS STRING) AS INT)" * 20 + " FROM t", 1.0, 3),
    "8 levels of functions": ("SELECT " + "transform(array(1), x -> " * 8 + "i" + ")" * 8 + " FROM t", 2.0, 3),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", QUICK)
def test_long_and_deep_statements_take_seconds(session: sharkpy.SharkContext, name: str) -> None:
    text, seconds, num_rows = QUICK[name]
    start = time.monotonic()
    assert len(session.sql(text).fetchall()) == num_rows
    assert time.monotonic() - start < allowed(seconds)
