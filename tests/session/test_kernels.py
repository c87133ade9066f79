"""Kernels: which aggregations they compute, with the same rows as DuckDB, and when the machine is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.columnar import machine, machine_loading
from tests.rows import rows
from tests.session.kernel_decisions import planned
from tests.waiting import until

ROWS = 70_000


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("kernels") / "w") as made:
        made.sql(
            f"""CREATE TABLE facts TBLPROPERTIES ('shark.cache' = 'MEMORY') AS
            SELECT n, CAST(n % 5 AS INT) AS k, IF(n % 7 = 0, NULL, n * 3) AS gaps, CAST(n AS DECIMAL(12,2)) AS price,
                   date_add('2020-01-01', CAST(n % 900 AS INT)) AS day, n % 2 = 0 AS even,
                   IF(n % 13 = 5, NULL, n / 4 * IF(n % 6 = 0, -0.0, 1)) AS real,
                   concat('c', n % 3) AS colour, concat('t', n) AS text,
                   IF(n % 11 = 0, NULL, concat('l', n % 300)) AS label,
                   (n % 500) * 18000000000000000 AS wide, IF(n % 3 = 0, NULL, -9000000000000000000 + n) AS far
            FROM (SELECT posexplode(split(space({ROWS - 1}), ' ')) AS (n, x)) t"""
        ).fetchall()
        yield made


@pytest.mark.parametrize(
    "query",
    [
        "SELECT colour, k, count(*), sum(gaps), avg(price) FROM facts WHERE day >= '2020-06-01' GROUP BY colour, k",
        "SELECT sum(price * (1 + k)), min(day), max(n) FROM facts WHERE k IN (1, 3) AND NOT (gaps BETWEEN 7 AND 900)",
        "SELECT n, count(gaps) FROM facts WHERE n > 1000 GROUP BY n",
        "SELECT day, k, sum(CASE WHEN even THEN n ELSE -1 END) FROM facts GROUP BY day, k",
        "SELECT gaps, sum(n) FROM facts WHERE gaps IS NULL OR gaps < 5000 GROUP BY gaps",
        "SELECT text, count(*), min(n), max(day), avg(gaps), sum(price) FROM facts WHERE n < 9000 GROUP BY text",
        "SELECT colour, label, k, sum(gaps), count(gaps) FROM facts GROUP BY colour, label, k",
        "SELECT wide, label, count(*) FROM facts WHERE k < 3 GROUP BY wide, label",
        "SELECT wide, far, n, count(*) FROM facts WHERE n < 700 GROUP BY wide, far, n",
        "SELECT count(DISTINCT label), count(DISTINCT label), sum(n), avg(price) FROM facts",
        "SELECT k, count(DISTINCT wide), count(*), max(gaps) FROM facts GROUP BY k",
        "SELECT colour, count(DISTINCT gaps) FROM facts WHERE label <> 'l7' GROUP BY colour",
        "SELECT label, count(DISTINCT colour), sum(n) FROM facts GROUP BY label HAVING sum(n) > 1000",
        "SELECT sum(n), sum(n + 1), sum(gaps + 7), sum(5 + gaps), sum(gaps - 2), sum(k + 1 + 2) FROM facts",
        "SELECT count(*), sum(n) FROM facts WHERE label LIKE '%3' AND n > 100",
        "SELECT sum(real), avg(real), count(real), sum(k) FROM facts",
        "SELECT k, colour, sum(real), avg(real), count(real) FROM facts WHERE n % 6 <> 1 GROUP BY k, colour",
        "SELECT label, sum(real) FILTER (WHERE even), avg(real) FILTER (WHERE k = 3) FROM facts GROUP BY label",
        "SELECT n, sum(real) FROM facts WHERE n BETWEEN 5 AND 40 GROUP BY n",
        "SELECT label, k, count(*) FROM facts WHERE text LIKE '%77%' GROUP BY label, k",
    ],
)
def test_the_same_rows_by_kernels_and_by_duckdb(session: sharkpy.SharkContext, query: str) -> None:
    (decided,) = planned(session, query, "always")
    assert decided.endswith(": by a kernel")
    made = sorted(rows(session, query), key=repr)
    assert not planned(session, query, "never")
    assert made == sorted(rows(session, query), key=repr)
    assert made


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT sum(real * 2) FROM facts", "no kernel computes sum("),
        ("SELECT min(real) FROM facts WHERE k < 3", "no kernel computes min("),
        ("SELECT count(DISTINCT real) FROM facts", "no kernel computes count(DISTINCT"),
        ("SELECT count(DISTINCT k), count(DISTINCT day) FROM facts", "count(DISTINCT …) of several columns"),
        ("SELECT real, count(*) FROM facts GROUP BY real", "no kernel computes"),
        ("SELECT upper(text), count(*) FROM facts GROUP BY upper(text)", "no kernel computes"),
        ("SELECT day, n, n + 1, gaps, gaps + 1, count(*) FROM facts GROUP BY 1, 2, 3, 4, 5", "do not fit 64 bits"),
    ],
)
def test_the_reason_for_duckdb(session: sharkpy.SharkContext, query: str, reason: str) -> None:
    (decided,) = planned(session, query, "always")
    assert "by DuckDB, since" in decided
    assert reason in decided


def test_kernels_are_used_once_they_are_loaded(session: sharkpy.SharkContext) -> None:
    query = "SELECT k, sum(n) FROM facts GROUP BY k"
    planned(session, query, "auto")
    until(machine_loading.is_loaded)
    assert machine.is_compiled()
    (decided,) = planned(session, query, "auto")
    assert decided.endswith("by a kernel")
    (decided,) = planned(session, "SELECT text, count(*) FROM facts GROUP BY text", "auto")
    assert decided.endswith("by DuckDB, since its keys have too many different values")
    assert not planned(session, "SELECT k, sum(n) FROM facts WHERE n < 0 GROUP BY k", "auto")


def test_figures_of_a_kernel(session: sharkpy.SharkContext, tmp_path: Path) -> None:
    session.sql("SET shark.kernels=always")
    lines = [line for (line,) in rows(session, "EXPLAIN ANALYZE SELECT k, sum(n) FROM facts GROUP BY k")]
    (scan,) = [line.split() for line in lines if " BlockScan " in line]
    (groups,) = [line.split() for line in lines if " HashAggregate " in line and "decided" not in line]
    assert scan[0] == f"{ROWS:,}"
    assert groups[0] == "5"
    assert sum("by a kernel" in line for line in lines) == 1
