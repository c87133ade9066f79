"""Kernels look up the rows of joins: which joins, with the same rows as DuckDB, and when a key repeats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sharkpy
from sharkpy.execution.tasks import lookup_tables
from tests.rows import rows
from tests.session.kernel_decisions import planned

ROWS = 3000


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder = tmp_path_factory.mktemp("lookups") / "w"
    with sharkpy.connect("local[2]", folder, shark_block_rows=700) as made:
        numbers = f"(SELECT posexplode(split(space({ROWS - 1}), ' ')) AS (n, x)) t"
        tables = {
            "facts": f"""SELECT n, IF(n % 7 = 0, NULL, CAST(n * 13 % 90 AS INT)) AS k, CAST(n % 40 AS BIGINT) AS place,
            date_add('2024-01-01', CAST(n % 50 AS INT)) AS day, CAST(n AS DECIMAL(9,2)) AS price, n / 8 AS real
            FROM {numbers}""",
            "keys": f"""SELECT CAST(n + 20 AS INT) AS k, IF(n % 4 = 0, NULL, n * 3) AS w, concat('c', n % 3) AS colour,
            CAST(n % 6 AS INT) AS place, n / 4 * IF(n % 5 = 0, -0.0, 1) AS real FROM {numbers} WHERE n < 50""",
            "places": f"SELECT CAST(n AS INT) AS place, concat('p', n % 2) AS name FROM {numbers} WHERE n < 6",
            "days": f"""SELECT date_add('2024-01-03', CAST(n AS INT)) AS day, n % 7 AS weekday, concat('d', n) AS name
            FROM {numbers} WHERE n < 30""",
            # By estimate its keys do not repeat.
            "almost": f"SELECT IF(n = 9, 8, CAST(n AS INT)) AS k, n AS w FROM {numbers} WHERE n < 60",
            "wide": f"SELECT CAST(n AS BIGINT) * 3000000 AS k, n AS w FROM {numbers} WHERE n < 60",
        }
        for name, query in tables.items():
            made.sql(f"CREATE TABLE {name} TBLPROPERTIES ('shark.cache' = 'MEMORY') AS {query}").close()
        yield made


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*), sum(f.n), sum(s.w), avg(s.real), sum(f.real) FROM facts f JOIN keys s ON f.k = s.k",
        "SELECT count(*), count(s.k), sum(s.w), sum(s.real) FROM facts f LEFT JOIN keys s ON f.k = s.k",
        "SELECT count(*), sum(s.w) FROM keys s RIGHT JOIN facts f ON f.k = s.k",
        "SELECT s.colour, f.place, count(*), sum(s.w * f.n) FROM facts f JOIN keys s ON f.k = s.k GROUP BY 1, 2",
        "SELECT s.w, count(*), max(f.price) FROM facts f LEFT JOIN keys s ON f.k = s.k AND s.w > 30 GROUP BY s.w",
        "SELECT count(*), max(f.n) FROM facts f LEFT JOIN keys s ON f.k = s.k WHERE s.k IS NULL OR s.w > 40",
        "SELECT count(*), max(f.n) FROM facts f JOIN keys s ON f.k = s.k AND f.n > s.w WHERE f.price < 900",
        "SELECT sum(f.n), min(s.w) FROM facts f JOIN keys s ON f.k = s.k WHERE s.colour LIKE '%1' AND f.n % 3 = 1",
        "SELECT d.weekday, count(*), sum(f.price) FROM facts f JOIN days d ON f.day = d.day GROUP BY d.weekday",
        "SELECT sum(f.n) FROM facts f JOIN days d ON f.day = d.day WHERE d.name LIKE 'd1%' AND d.weekday < 5",
        """SELECT p.name, d.weekday, sum(f.n) FROM facts f JOIN keys s ON f.k = s.k JOIN places p ON s.place = p.place
        JOIN days d ON f.day = d.day WHERE d.weekday <> 3 GROUP BY p.name, d.weekday""",
        """SELECT count(*), sum(s.w), max(p.place) FROM facts f LEFT JOIN keys s ON f.k = s.k
        LEFT JOIN places p ON s.place = p.place AND p.name = 'p1'""",
        "SELECT f.place, count(DISTINCT f.n), sum(s.w) FROM facts f JOIN keys s ON f.k + 1 = s.k GROUP BY f.place",
        "SELECT count(*), sum(s.w) FROM facts f JOIN keys s ON f.place = s.k WHERE s.w + f.n < 0",
    ],
)
def test_the_same_rows_by_lookups_and_by_duckdb(session: sharkpy.SharkContext, query: str) -> None:
    (decided,) = planned(session, query, "always")
    assert ": by a kernel, which looks up rows of in" in decided
    made = sorted(rows(session, query), key=repr)
    # Now with rows from the cache.
    assert sorted(rows(session, query), key=repr) == made
    session.sql("SET shark.placement.driver=false")
    assert sorted(rows(session, query), key=repr) == made
    session.sql("SET shark.placement.driver=true")
    assert not planned(session, query, "never")
    assert made == sorted(rows(session, query), key=repr)
    assert made


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*), sum(a.w), sum(f.n) FROM facts f JOIN almost a ON f.k = a.k",
        "SELECT a.w, count(*), sum(f.n) FROM facts f LEFT JOIN almost a ON f.k = a.k GROUP BY a.w",
    ],
)
def test_duckdb_joins_if_a_key_repeats(session: sharkpy.SharkContext, query: str) -> None:
    (decided,) = planned(session, query, "always")
    assert decided.endswith(": by a kernel, which looks up rows of in1")
    made = sorted(rows(session, query), key=repr)
    session.sql("SET shark.placement.driver=false")
    assert sorted(rows(session, query), key=repr) == made
    session.sql("SET shark.placement.driver=true")
    planned(session, query, "never")
    assert made == sorted(rows(session, query), key=repr)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM facts f JOIN facts g ON f.place = g.place",
        "SELECT count(*) FROM facts f JOIN keys s ON f.k <=> s.k",
        "SELECT count(*) FROM facts f JOIN keys s ON f.k = s.k AND f.place = s.place",
        "SELECT count(*) FROM facts f FULL JOIN keys s ON f.k = s.k",
        "SELECT count(*) FROM facts f LEFT JOIN keys s ON f.k = s.k AND f.n > s.w",
        "SELECT count(*), sum(a.w), sum(f.n) FROM facts f JOIN wide a ON f.n * 3000000 = a.k",
        "SELECT max(s.real) FROM facts f JOIN keys s ON f.k = s.k",
    ],
)
def test_other_joins_are_by_duckdb(session: sharkpy.SharkContext, query: str) -> None:
    assert not any("looks up" in line for line in planned(session, query, "always"))


def test_duckdb_joins_if_the_tables_are_large(session: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """A range of keys may be too large for the columns that are looked up, or for the tables of several lookups."""
    query = "SELECT count(*), sum(s.w) FROM facts f JOIN keys s ON f.k = s.k"
    session.sql("SET shark.kernels=always")
    made = rows(session, query)
    tried: list[bool] = []
    original = lookup_tables.lookup_table

    def noted(*args: Any) -> Any:
        table = original(*args)
        tried.append(table is not None)
        return table

    monkeypatch.setattr(lookup_tables, "lookup_table", noted)
    for most, is_made in ((20, False), (200, True)):
        monkeypatch.setattr(lookup_tables, "_MOST_ITEMS", most)
        assert rows(session, query) == made
        assert tried.pop() == is_made


def test_figures_of_a_lookup(session: sharkpy.SharkContext) -> None:
    session.sql("SET shark.kernels=always")
    query = "SELECT s.place, sum(f.n) AS x FROM facts f LEFT JOIN keys s ON f.k = s.k GROUP BY s.place ORDER BY x"
    lines = [line.split() for (line,) in rows(session, f"EXPLAIN ANALYZE {query}") if "decided" not in line]
    figures = {words[words.index("BlockScan") + 1]: words[0] for words in lines if "BlockScan" in words}
    assert figures == {"default.facts": "3,000", "default.keys": "50"}
    (groups,) = [words[0] for words in lines if "HashAggregate" in words]
    (ordered,) = [words[0] for words in lines if "Sort" in words]
    assert groups == ordered == "7"
