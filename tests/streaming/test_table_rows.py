"""UNION ALL of rows of a stream and of tables: the answer equals the query's, whatever happens to the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.test_aggregated_tables import STATE, put, same

BOTH = "(SELECT k, v, ts FROM events UNION ALL SELECT k, v, ts FROM old)"
QUERIES = [
    ("SELECT k, v FROM events WHERE v > 0 UNION ALL SELECT k, v FROM old", ""),
    ("SELECT k, v FROM events UNION ALL SELECT 'x', 5", ""),
    (f"SELECT k, item FROM {BOTH} b LATERAL VIEW explode(array(v, v + 1)) x AS item", ""),
    (
        f"SELECT b.k, name, v FROM {BOTH} b LEFT JOIN names ON b.k = names.k WHERE v IN (SELECT 3 FROM names)",
        "",
    ),
    (f"SELECT count(*) AS n, max(v) AS high, count(DISTINCT k) AS m FROM {BOTH} b", STATE),
    (f"SELECT k, count(*) AS n, avg(v) AS mean, min(ts) AS began FROM {BOTH} b GROUP BY k HAVING count(*) > 1", STATE),
    (f"SELECT k, v, sum(v) AS s FROM {BOTH} b GROUP BY k, v GROUPING SETS ((k, v), (k), ())", STATE),
    ("SELECT k, v FROM events UNION SELECT k, v FROM old", STATE),
    (
        f"SELECT window.start AS s, k, count(*) AS n FROM {BOTH} b GROUP BY k, window(ts, '9 second', '4 second')",
        "",
    ),
    (
        f"SELECT session_window.start AS s, k, count(*) AS n FROM {BOTH} b GROUP BY k, session_window(ts, '9 days')",
        "",
    ),
    (f"SELECT k, v, ts FROM {BOTH} b ORDER BY v DESC, k, ts LIMIT 4", ""),
    (f"SELECT k, v FROM (SELECT *, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM {BOTH} b) x WHERE r <= 2", STATE),
    (
        "SELECT x.k, x.v FROM events x JOIN events y ON x.d = y.d AND x.v = y.v UNION ALL SELECT k, v FROM old",
        STATE,
    ),
    ("SELECT k, count(*) AS n FROM events GROUP BY k UNION ALL SELECT k, v FROM old", STATE),
]


pytestmark = pytest.mark.settings({"shark.stream.kept.epochs": 3, "shark.compaction.min.blocks": 3})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    folder.mkdir()
    columns = "k STRING, v INT, d DECIMAL(20,2), ts TIMESTAMP, WATERMARK FOR ts AS ts"
    context.sql(f"CREATE STREAM events ({columns}) STORED AS JSON FROM FOLDER '{folder}'")
    context.sql("CREATE TABLE names (k STRING, name STRING)")
    context.sql("INSERT INTO names VALUES ('a', 'ant'), ('q', 'queen')")
    context.sql("CREATE TABLE old (k STRING, v INT, ts TIMESTAMP) STORED AS PARQUET")
    context.sql("INSERT INTO old VALUES ('a', 1, '2024-05-01 10:00:30'), (NULL, 9, NULL)")
    return context


@pytest.mark.variants(3)
@pytest.mark.parametrize(("query", "state"), QUERIES)
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_the_answer_is_that_of_the_query(
    context: sharkpy.SharkContext, folder: Path, query: str, state: str, clauses: str
) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} {state} AS {query}")
    same(context, query)
    changes = (
        "INSERT INTO old VALUES ('b', 5, '2024-05-01 10:01:02'), ('q', -3, '2024-05-01 10:01:02')",
        "DELETE FROM old WHERE k = 'a'",
        "INSERT OVERWRITE TABLE old SELECT 'q', 4, TIMESTAMP '2024-05-01 10:00:40'",
        "TRUNCATE TABLE old",
    )
    for number, change in enumerate(changes):
        put(folder, number)
        context.sql("RESUME CONTINUOUS TABLE t")
        same(context, query)
        context.sql(change)
        same(context, query)


def test_rows_of_all_kept_epochs_are_folded(context: sharkpy.SharkContext, folder: Path) -> None:
    query = f"SELECT k, count(*) AS n FROM {BOTH} b GROUP BY k"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {query}")
    for number in range(12):
        put(folder, number, 5)
        context.sql("RESUME CONTINUOUS TABLE t")
    same(context, query)
    # The rows of the table are none of the state.
    ((counted,),) = rows(context, "SELECT sum(count) FROM STATE OF t")
    assert counted == 60


@pytest.mark.variants(2)
@pytest.mark.parametrize("properties", ["STORED AS PARQUET", MEMORY])
def test_programs_are_kept_and_tables_are_those_of_now(
    context: sharkpy.SharkContext, folder: Path, properties: str
) -> None:
    """A table that each epoch reads is planned for other rows, then for other tables of that name."""
    made = f"CREATE TABLE old (k STRING, v INT, ts TIMESTAMP) {properties}"
    context.sql(f"DROP TABLE old; {made}")
    query = f"SELECT k, count(*) AS n, sum(v) AS s, max(v) AS high FROM {BOTH} b GROUP BY k"
    context.sql(f"CREATE CONTINUOUS TABLE t {MEMORY} {NOW} {STATE} AS {query}")
    for number, change in enumerate(
        (
            "INSERT INTO old VALUES ('a', 1, NULL), ('x', -1, NULL)",
            "INSERT INTO old VALUES ('y', 2000000000, NULL), (NULL, NULL, NULL)",
            "INSERT INTO old SELECT concat('k', id), id, NULL FROM range(300)",
            "ALTER TABLE old ADD COLUMNS (more STRING)",
            "INSERT INTO old VALUES ('a', 7, NULL, 'more')",
            "DELETE FROM old WHERE k LIKE 'k%'",
            "TRUNCATE TABLE old",
            f"DROP TABLE old; {made.replace('v INT', 'more INT, v INT')}",
            "INSERT INTO old VALUES ('b', 9, 5, NULL)",
        )
    ):
        context.sql(change)
        for _ in range(2):
            same(context, query)
        put(folder, number)
        context.sql("RESUME CONTINUOUS TABLE t")
        for _ in range(2):
            same(context, query)


def test_what_is_said_of_them(context: sharkpy.SharkContext) -> None:
    text = f"SELECT b.k, name, count(*) AS n FROM {BOTH} b JOIN names ON b.k = names.k GROUP BY b.k, name"
    found = [str(row[0]) for row in rows(context, f"EXPLAIN CREATE CONTINUOUS TABLE t {STATE} AS {text}")]
    assert "table default.old: each reader of the result reads its current version" in found
    assert "table default.names: each epoch reads its current version" in found
    kept = (
        "kept: states of count by k, name, of the streams; who reads the table adds the rows of tables as they are then"
    )
    assert kept in found


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("clauses", "query", "error"),
    [
        ("EMIT APPEND", "SELECT k FROM events UNION ALL SELECT k FROM old", "EMIT APPEND of UNION ALL of a stream and"),
        (
            "EMIT APPEND",
            f"SELECT window.start AS s, count(*) AS n FROM {BOTH} b GROUP BY window(ts, '9 seconds')",
            "EMIT APPEND of UNION ALL of a stream and existing rows, which may change",
        ),
        (
            "EMIT APPEND",
            f"SELECT lag(v) OVER (ORDER BY ts) AS w FROM {BOTH} b",
            "EMIT APPEND of UNION ALL of a stream and existing rows, which may change",
        ),
        (
            "EMIT APPEND",
            "SELECT window.start AS s FROM events GROUP BY window(ts, '9 seconds') UNION ALL SELECT ts FROM old",
            "EMIT APPEND of UNION ALL of a stream and existing rows, which may change",
        ),
        (STATE, f"SELECT b.k FROM {BOTH} b JOIN events e ON b.k = e.k", "in a side of a join of streams"),
        (STATE, f"SELECT b.k FROM {BOTH} b LEFT JOIN events e ON b.k = e.k", "in a side of a join of streams"),
        (STATE, f"SELECT row_number() OVER () AS r, k FROM {BOTH} b", r"below row_number\(\) OVER \(\)"),
        (STATE, "SELECT k, v FROM events UNION ALL SELECT k, count(*) FROM events GROUP BY k", "and of groups, of a"),
        ("", f"SELECT k, count(*) AS n FROM {BOTH} b GROUP BY k", "grows with the values"),
    ],
)
def test_what_is_refused(context: sharkpy.SharkContext, clauses: str, query: str, error: str) -> None:
    with pytest.raises(UnsupportedError, match=error):
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS {query}")


def test_what_writes_rows_for_good_has_no_such_rows(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    query = "SELECT k FROM events UNION ALL SELECT k FROM old"
    context.sql("CREATE TABLE made (k STRING)")
    for text in (
        f"CREATE CONTINUOUS INSERT i AS INSERT INTO made {query}",
        f"CREATE CONTINUOUS SINK s TO FOLDER '{tmp_path / 'out'}' STORED AS JSONFILE AS {query}",
    ):
        with pytest.raises(UnsupportedError, match="UNION ALL of a stream and existing rows") as caught:
            context.sql(text)
        assert "START FROM TABLE" in str(caught.value.hint)


def test_all_rows_are_computed_with_those_of_tables(context: sharkpy.SharkContext, folder: Path) -> None:
    query = f"SELECT k, v, lead(v) OVER (PARTITION BY k ORDER BY v, ts) AS w FROM {BOTH} b"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT COMPLETE WITH RECOMPUTE AS {query}")
    for number in range(3):
        put(folder, number)
        context.sql("RESUME CONTINUOUS TABLE t")
        same(context, query)
        context.sql("INSERT INTO old VALUES ('b', 2, NULL)")
        same(context, query)
