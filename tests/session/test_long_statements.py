"""Long and deeply nested statements run, or end in one clear error, never in a crash of the engine or of a library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.base.errors import SharkError

RUNNING = {
    "and": ("SELECT a FROM t WHERE " + " AND ".join(f"a <> {i}" for i in range(10, 3010)), 2),
    "or": ("SELECT a FROM t WHERE " + " OR ".join(f"a = {i}" for i in range(3000)), 2),
    "or of and": ("SELECT a FROM t WHERE " + " OR ".join(f"(a = {i} AND b = 'x')" for i in range(1000)), 1),
    "in": ("SELECT a FROM t WHERE a IN (" + ", ".join(map(str, range(10_000))) + ")", 2),
    "parentheses": ("SELECT a FROM t WHERE " + "(" * 500 + "a = 1" + ")" * 500, 1),
    "not": ("SELECT a FROM t WHERE " + "NOT " * 300 + "a = 1", 1),
    "case": ("SELECT CASE " + " ".join(f"WHEN a = {i} THEN {i}" for i in range(500)) + " END FROM t", 2),
    "subqueries": ("SELECT * FROM " + "(SELECT * FROM " * 300 + "t" + ") x" * 300, 2),
    "scalar subqueries": ("SELECT " + "(SELECT " * 100 + "1" + ")" * 100, 1),
    "constants in a union": (" UNION ALL ".join(["SELECT 1"] * 10_000), 10_000),
    "tables in a union": (" UNION ALL ".join(["SELECT a FROM t"] * 300), 600),
    "distinct rows of a union": (" UNION ".join(f"SELECT {i % 7}" for i in range(1000)), 7),
    "joins": ("SELECT 1 FROM t t0 " + " ".join(f"JOIN t t{i} ON t{i}.a = t0.a" for i in range(1, 40)), 2),
    "joins without ON": ("SELECT 1 FROM " + " JOIN ".join(f"(SELECT 1 AS x) t{i}" for i in range(40)), 1),
    "common table expressions": (
        "WITH c0 AS (SELECT * FROM t)"
        + "".join(f", c{i} AS (SELECT * FROM c{i - 1})" for i in range(1, 200))
        + " SELECT * FROM c199",
        2,
    ),
}
REFUSED = {
    "parentheses": "SELECT " + "(" * 50_000 + "a" + ")" * 50_000 + " FROM t",
    "plus": "SELECT " + " + ".join(["a"] * 10_000) + " FROM t",
    "functions": "SELECT " + "abs(" * 390 + "a" + ")" * 390 + " FROM t",
    "not": "SELECT a FROM t WHERE " + "NOT " * 10_000 + "a = 1",
    "minus": "SELECT " + "- " * 10_000 + "1",
    "intersect": " INTERSECT ".join(f"SELECT a + {i} FROM t" for i in range(700)),
}


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(master="local[2]", warehouse=tmp_path_factory.mktemp("warehouse")) as session:
        session.sql("CREATE TABLE t (a INT, b STRING)")
        session.sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        yield session


@pytest.mark.variants(8)
@pytest.mark.parametrize("name", RUNNING)
def test_long_statements_run(context: sharkpy.SharkContext, name: str) -> None:
    text, num_rows = RUNNING[name]
    assert len(context.sql(text).fetchall()) == num_rows


@pytest.mark.variants
@pytest.mark.parametrize("name", REFUSED)
def test_deeper_ones_are_refused_in_one_line(context: sharkpy.SharkContext, name: str) -> None:
    with pytest.raises(SharkError, match="nested") as caught:
        context.sql(REFUSED[name]).fetchall()
    assert caught.value.sqlstate in ("54001", "42601")
    assert "\n" not in str(caught.value)
    assert context.sql("SELECT 1").fetchall()
