"""Continuous tables with state: after each epoch their rows equal the answer of their query over all rows so far."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError, UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW

STATE = "WITH UNBOUNDED STATE"


pytestmark = pytest.mark.settings({"shark.stream.kept.epochs": 3, "shark.compaction.min.blocks": 3})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    folder.mkdir()
    columns = (
        "k STRING, v INT, x DOUBLE, d DECIMAL(20,2), b BOOLEAN, a ARRAY<INT>, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    )
    context.sql(f"CREATE STREAM events ({columns}) STORED AS JSON FROM FOLDER '{folder}'")
    context.sql("CREATE TABLE names (k STRING, name STRING)")
    context.sql("INSERT INTO names VALUES ('a', 'ant'), ('b', 'bee'), ('z', 'zebra')")
    return context


def put(folder: Path, number: int, num_rows: int = 20) -> None:
    """Put a file of random rows, the same for each number."""
    chance = random.Random(number)
    lines = []
    for _ in range(num_rows):
        row = {
            "k": chance.choice(["a", "b", "c", None]),
            "v": chance.choice([None, *range(-5, 6)]),
            # Sums of these are exact, in whatever order.
            "x": chance.choice([None, 0.5, -2.25, 1e6]),
            "d": chance.choice([None, "1.25", "-99999999999.99", "7.00"]),
            "b": chance.choice([None, True, False]),
            "ts": chance.choice([None, f"2024-05-01 10:0{chance.randrange(2)}:{chance.randrange(60):02d}"]),
            "a": [chance.randrange(3) for _ in range(chance.randrange(3))],
        }
        lines.append(json.dumps(row))
    (folder / f"{number:04d}.tmp").write_text("".join(f"{line}\n" for line in lines))
    (folder / f"{number:04d}.tmp").rename(folder / f"{number:04d}.json")


def same(context: sharkpy.SharkContext, query: str, table: str = "t") -> None:
    """The table has the rows of its query over the whole stream."""
    assert sorted(map(repr, rows(context, f"SELECT * FROM {table}"))) == sorted(map(repr, rows(context, query)))


QUERIES = [
    "SELECT count(*) AS n FROM events",
    "SELECT count(*) AS n, count(v) AS m, sum(v) AS s, min(k) AS low, max(v) AS high, avg(v) AS mean FROM events",
    "SELECT k, count(*) AS n, sum(v) AS s, avg(x) AS mean, sum(d) AS total, avg(d) AS share FROM events GROUP BY k",
    "SELECT k, v % 3 AS r, max(x) AS high, min(d) AS low FROM events WHERE v > 0 GROUP BY k, v % 3",
    "SELECT DISTINCT k, b FROM events",
    "SELECT k, count(DISTINCT v) AS n, sum(DISTINCT v) AS s, count(*) AS m FROM events GROUP BY k",
    "SELECT count(DISTINCT v, b) AS n, count(DISTINCT k) FILTER (WHERE v > 0) AS m FROM events",
    "SELECT count(DISTINCT 1) AS n, sum(DISTINCT 3) AS s FROM events",
    "SELECT count(DISTINCT 1) AS n, count(*) AS m, max(v) AS high FROM events WHERE v > 4",
    "SELECT k, sum(v) FILTER (WHERE b) AS s, count(*) FILTER (WHERE NOT b) AS n FROM events GROUP BY k",
    "SELECT k, bool_and(b) AS every, bool_or(b) AS one, bit_or(v) AS bits FROM events GROUP BY k",
    "SELECT k, round(var_pop(v), 6) AS spread, round(stddev_samp(x), 3) AS dev, round(corr(v, x), 6) AS together "
    "FROM events GROUP BY k",
    "SELECT k, sort_array(collect_set(v)) AS vs, size(collect_list(v)) AS n FROM events GROUP BY k",
    "SELECT sort_array(collect_list(v)) AS vs, size(collect_set(k)) AS n, count(DISTINCT b) AS m FROM events",
    "SELECT k, percentile(v, 0.5) AS middle, approx_count_distinct(v) AS n FROM events GROUP BY k",
    "SELECT k, max_by(v, v * 10) AS m FROM events GROUP BY k",
    "SELECT k, ds_hll_estimate(ds_hll_sketch(v)) AS n, ds_cpc_estimate(ds_cpc_sketch(x)) AS m FROM events GROUP BY k",
    "SELECT k, ds_kll_quantiles(ds_kll_sketch(v), 0.2, 0.9) AS q, ds_countmin_estimate(ds_countmin_sketch(v), 2) AS n "
    "FROM events GROUP BY k",
    "SELECT k, f.item, f.estimate FROM (SELECT k, ds_freq_sketch(v) AS s FROM events GROUP BY k) x "
    "LATERAL VIEW ds_freq_frequent_items(s) f",
    "SELECT k, b, count(*) AS n, grouping__id AS g FROM events GROUP BY k, b GROUPING SETS ((k, b), (k), ())",
    "SELECT k, b, sum(v) AS s FROM events GROUP BY k, b WITH CUBE",
    "SELECT k, count(*) AS n FROM events GROUP BY k HAVING count(*) > 20 ORDER BY n DESC, k LIMIT 2",
    "SELECT n, count(*) AS m FROM (SELECT k, count(*) AS n FROM events GROUP BY k) x GROUP BY n",
    "SELECT k, s, rank() OVER (ORDER BY s DESC) AS place FROM (SELECT k, sum(v) AS s FROM events GROUP BY k) x",
    "SELECT name, count(*) AS n FROM events JOIN names USING (k) GROUP BY name",
    "SELECT e.k, name, n FROM (SELECT k, count(*) AS n FROM events GROUP BY k) e LEFT JOIN names USING (k)",
    "SELECT item, count(*) AS n FROM events LATERAL VIEW explode(a) x AS item GROUP BY item",
    "SELECT 'k' AS of, k AS what, count(*) AS n FROM events GROUP BY k "
    "UNION ALL SELECT 'b', CAST(b AS STRING), count(*) FROM events GROUP BY b",
    "SELECT * FROM (SELECT k, v, x, row_number() OVER (PARTITION BY k ORDER BY v DESC, x, d, b) AS r FROM events) y "
    "WHERE r <= 3",
    "SELECT k, v FROM (SELECT k, v, rank() OVER (ORDER BY v DESC) AS r FROM events WHERE v < 4) y "
    "WHERE r < 4 AND k > 'a'",
    "SELECT v, x, d FROM events ORDER BY v DESC, x, d LIMIT 5",
    "SELECT upper(k) AS u FROM events ORDER BY v + x, d, k LIMIT 3 OFFSET 1",
    "SELECT n + 1 AS m FROM (SELECT v AS n FROM events ORDER BY x DESC, v LIMIT 4) y WHERE n <> 2",
    "SELECT k, window.start AS start, count(*) AS n FROM events GROUP BY k, window(ts, '10 seconds')",
    "SELECT window.end AS till, k, sum(v) AS s FROM events GROUP BY window(ts, '20 seconds', '8 seconds'), k",
    "SELECT window(ts, '20 seconds', '8 seconds').start AS start, count(DISTINCT k) AS n FROM events "
    "GROUP BY window(ts, '20 seconds', '8 seconds')",
    "SELECT k, count(*) AS n FROM events GROUP BY k WINDOWING 10 s",
    "SELECT max(v) AS high, window.start AS start FROM events WINDOWING 20 s EVERY 5 s",
    "SELECT k, session_window.start AS start, session_window.end AS till, count(*) AS n, avg(x) AS mean FROM events "
    "GROUP BY k, session_window(ts, '3 seconds')",
    "SELECT b, max(v) AS high, count(DISTINCT k) AS n FROM events WHERE v > 2 GROUP BY b WINDOWING SESSION 15 s",
    "SELECT session_window.start AS start, sum(v) AS s FROM events WHERE v < -2 "
    "GROUP BY session_window(ts, '4 seconds')",
    "SELECT n, count(*) AS m FROM (SELECT count(*) AS n FROM events WINDOWING SESSION 1 s) x GROUP BY n",
    "SELECT x.k, count(*) AS n FROM events x JOIN events y ON x.d = y.d AND x.v = y.v "
    "GROUP BY x.k, session_window(x.ts, '2 seconds')",
    "SELECT x.k, x.v, y.x AS other FROM events x JOIN events y ON x.k = y.k AND x.v = y.v + 1",
    "SELECT x.k, count(*) AS n, sum(y.v) AS s FROM events x JOIN events y ON x.b = y.b WHERE x.v > 0 GROUP BY x.k",
    "SELECT x.k, max(z.v) AS high FROM events x JOIN events y ON x.v = y.v JOIN events z ON y.k = z.k AND y.x = z.x "
    "WHERE x.v > 2 AND z.v < 0 GROUP BY x.k",
    "SELECT x.k, name FROM events x JOIN events y ON x.d = y.d AND x.v = y.v JOIN names ON x.k = names.k WHERE x.v = 3",
    "SELECT x.k, x.v, y.x AS other FROM events x LEFT JOIN events y ON x.k = y.k AND x.v = y.v + 1",
    "SELECT x.k, y.v, y.x AS other FROM events x RIGHT JOIN events y ON x.k = y.k AND x.v = y.v + 1 AND x.b",
    "SELECT x.k AS one, y.k AS other, x.v FROM (SELECT * FROM events WHERE v > 3) x "
    "FULL JOIN (SELECT * FROM events WHERE v < -3) y ON x.k = y.k AND x.v > -y.v",
    "SELECT x.k, x.v, x.ts FROM events x LEFT SEMI JOIN events y ON x.k = y.k AND x.v = y.v + 4",
    "SELECT x.k, x.v, x.ts FROM events x LEFT ANTI JOIN events y ON x.k = y.k AND x.v = y.v + 4",
    "SELECT x.k, count(*) AS n, count(y.k) AS m FROM events x LEFT JOIN events y ON x.d = y.d AND x.v = y.v + 2 "
    "GROUP BY x.k",
    "SELECT x.k, n, high FROM (SELECT k, count(*) AS n FROM events GROUP BY k) x "
    "JOIN (SELECT k, max(v) AS high FROM events WHERE v < 3 GROUP BY k) y ON x.k = y.k",
]


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        pytest.param(query, clauses, marks=pytest.mark.slow if (2 * number + is_second) % 3 else ())
        for number, query in enumerate(QUERIES)
        for is_second, clauses in enumerate(("", MEMORY))
    ],
)
def test_each_epoch_gives_the_answer_over_all(
    context: sharkpy.SharkContext, folder: Path, query: str, clauses: str
) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} {STATE} AS {query}")
    same(context, query)
    for number in range(8):
        put(folder, number)
        context.sql("RESUME CONTINUOUS TABLE t")
        same(context, query)


RECOMPUTED = [
    "SELECT k, v, lag(v) OVER (PARTITION BY k ORDER BY v, x, d) AS before FROM events",
    "SELECT first_value(v) IS NULL AS f FROM events",
    "SELECT k, first_value(v) IS NULL AS f, count(*) AS n FROM events GROUP BY k, session_window(ts, '5 seconds')",
]


@pytest.mark.variants(3)
@pytest.mark.parametrize("query", RECOMPUTED)
def test_what_is_computed_of_all_rows(context: sharkpy.SharkContext, folder: Path, query: str) -> None:
    with pytest.raises(UnsupportedError, match="EMIT COMPLETE WITH RECOMPUTE"):
        context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {query}")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT COMPLETE WITH RECOMPUTE AS {query}")
    for number in range(4):
        put(folder, number)
        context.sql("RESUME CONTINUOUS TABLE t")
        same(context, query)


def test_the_state_is_folded(context: sharkpy.SharkContext, folder: Path) -> None:
    query = "SELECT k, count(*) AS n, avg(x) AS mean FROM events GROUP BY k"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {query}")
    for number in range(40):
        put(folder, number, 5)
        context.sql("RESUME CONTINUOUS TABLE t")
    same(context, query)
    ((num_rows,),) = rows(context, "SELECT count(*) FROM STATE OF t")
    assert 4 <= num_rows < 60
    facts = {str(row[0]): str(row[1]) for row in rows(context, "DESCRIBE EXTENDED t")}
    assert re.fullmatch(r"[1-9][0-9]* bytes in [0-9]+ files", facts["Kept State"])


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT k, sum(v) AS s, sum(v) + 1 AS t, sum(x) AS u FROM events GROUP BY k", ["k", "sum", "sum_1"]),
        (
            "SELECT k, session_window.start AS start, max(ts) AS last FROM events "
            "GROUP BY k, session_window(ts, '5 seconds')",
            ["k", "min", "max"],
        ),
    ],
)
def test_equal_aggregates_have_one_state(
    context: sharkpy.SharkContext, folder: Path, query: str, names: list[str]
) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {query}")
    for number in range(4):
        put(folder, number, 5)
        context.sql("RESUME CONTINUOUS TABLE t")
    same(context, query)
    assert [column.name for column in context.sql("SELECT * FROM STATE OF t").schema] == names


def test_earlier_epochs_and_rollback(context: sharkpy.SharkContext, folder: Path) -> None:
    query = "SELECT k, sum(v) AS s FROM events GROUP BY k"
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {NOW} {STATE} AS {query}")
    answers = {}
    for number in range(1, 7):
        put(folder, number)
        context.sql("RESUME CONTINUOUS TABLE t")
        answers[number] = sorted(map(repr, rows(context, query)))
    for number in (5, 6):
        then = rows(context, f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {number}")
        assert sorted(map(repr, then)) == answers[number]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 5")
    assert sorted(map(repr, rows(context, "SELECT * FROM t"))) == answers[5]
    context.sql("RESUME CONTINUOUS TABLE t")
    same(context, query)
    context.sql("REFRESH CONTINUOUS TABLE t")
    same(context, query)


def test_another_query_over_the_same_state(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS SELECT k, sum(v) AS s FROM events GROUP BY k")
    put(folder, 1)
    context.sql("RESUME CONTINUOUS TABLE t")
    context.sql(f"ALTER CONTINUOUS TABLE t {NOW} AS SELECT k, sum(v) AS s FROM events GROUP BY k HAVING sum(v) > 0")
    put(folder, 2)
    context.sql("RESUME CONTINUOUS TABLE t")
    same(context, "SELECT k, sum(v) AS s FROM events GROUP BY k HAVING sum(v) > 0")
    with pytest.raises(SharkError, match=r"the state of default\.t belongs to another query"):
        context.sql(f"ALTER CONTINUOUS TABLE t {NOW} AS SELECT k, max(v) AS s FROM events GROUP BY k")


def test_with_subqueries_the_state_is_the_same(context: sharkpy.SharkContext, folder: Path) -> None:
    query = "SELECT k, sum(v) AS s FROM events WHERE k IN (SELECT k FROM names) GROUP BY k"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {query}")
    context.sql(f"ALTER CONTINUOUS TABLE t {NOW} AS {query} HAVING sum(v) > 0")
    put(folder, 1)
    context.sql("RESUME CONTINUOUS TABLE t")
    same(context, f"{query} HAVING sum(v) > 0")
    with pytest.raises(SharkError, match=r"the state of default\.t belongs to another query"):
        context.sql(f"ALTER CONTINUOUS TABLE t AS {query.replace('SELECT k FROM names', 'SELECT name FROM names')}")


def test_it_is_one_table_for_people(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS SELECT k, count(*) AS n FROM events GROUP BY k")
    assert [row[0] for row in rows(context, "SHOW TABLES LIKE 't*'")] == ["t"]
    assert len(rows(context, "SHOW TABLES")) == 3
    assert [row[1] for row in rows(context, "SHOW CONTINUOUS TABLES")] == ["t"]
    text = "\n".join(row[0] for row in rows(context, "SHOW CREATE TABLE t"))
    assert "LOCATION" not in text
    with pytest.raises(SharkError, match=r"default\.t is a continuous table"):
        context.sql("DROP TABLE t")
    with pytest.raises(SharkError, match="is a continuous table: INSERT needs a table"):
        context.sql("INSERT INTO t VALUES ('a', 1)")
    context.sql("ALTER TABLE t RENAME TO u")
    assert rows(context, "SELECT * FROM u") == []
    context.sql("DROP CONTINUOUS TABLE u")
    context.sql(text)
    assert rows(context, "SELECT * FROM t") == []
    context.sql("DROP CONTINUOUS TABLE t")
    assert not [path for path in (tmp_path / "w").iterdir() if path.name.startswith("$state")]
    context.sql("DROP STREAM events")


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("clauses", "query", "error"),
    [
        ("", "SELECT k, count(*) AS n FROM events GROUP BY k", "grows with the values"),
        ("", "SELECT collect_list(v) AS n FROM events", "the state of collect_list grows"),
        ("EMIT APPEND", "SELECT count(*) AS n FROM events", "EMIT APPEND of a query whose rows change"),
        ("EMIT COMPLETE", "SELECT k FROM events", "EMIT COMPLETE of a query whose rows never change"),
        (STATE, "SELECT k FROM events", "needs no state"),
        (STATE, "SELECT k, row_number() OVER (PARTITION BY k ORDER BY v) AS r FROM events", "a window function"),
        (STATE, "SELECT k FROM events ORDER BY k", "ORDER BY over a stream"),
        (
            STATE,
            "SELECT x.u, y.v FROM (SELECT k, uuid() AS u FROM events) x LEFT JOIN events y ON x.k = y.k",
            "uuid below a join of two streams",
        ),
        (
            STATE,
            "SELECT x.v, y.r FROM events x JOIN (SELECT k, rand() AS r FROM events) y ON x.k = y.k",
            "rand below a join of two streams",
        ),
        (
            STATE,
            "SELECT x.v FROM events x LEFT ANTI JOIN events y ON x.k = y.k AND rand() < 0.5",
            "rand in the condition of an outer join of two streams",
        ),
        (STATE, "SELECT k, first_value(v) AS f FROM events GROUP BY k", "without a state that merges"),
        ("STORED AS TEXTFILE", "SELECT count(*) AS n FROM events", "a format of a continuous table"),
    ],
)
def test_what_is_refused(context: sharkpy.SharkContext, clauses: str, query: str, error: str) -> None:
    with pytest.raises(UnsupportedError, match=error):
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS {query}")
    assert rows(context, "SHOW CONTINUOUS TABLES") == []
