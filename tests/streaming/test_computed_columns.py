"""Columns of streams that are computed from other columns, or come from the paths of files."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError, UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import put

TEN = 1_777_629_600_000
"""2026-05-01 10:00:00 in milliseconds since 1970."""
AT = "at TIMESTAMP AS (timestamp_millis(ms)) COMMENT 'of the event'"
MARK = "WATERMARK FOR at AS at - INTERVAL 10 SECONDS"
WINDOWS = "SELECT window.start AS start, count(*) AS n FROM s GROUP BY window(at, '1 minute')"


def event(second: int, k: str = "a") -> dict[str, object]:
    return {"k": k, "ms": TEN + second * 1000}


def clock(second: int) -> datetime:
    return datetime(2026, 5, 1, 10, second // 60, second % 60)


def make(context: sharkpy.SharkContext, folder: Path, columns: str = f"k STRING, {AT}, ms BIGINT, {MARK}") -> None:
    context.sql(f"CREATE STREAM s ({columns}) STORED AS JSONFILE FROM FOLDER '{folder}'")


def test_windows_of_a_computed_time(context: sharkpy.SharkContext, folder: Path) -> None:
    make(context, folder)
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {WINDOWS}")
    context.sql(
        f"CREATE CONTINUOUS TABLE c {NOW} EMIT APPEND AS SELECT k, count(*) AS n FROM s GROUP BY k WINDOWING 60 s"
    )
    put(folder, "1", map(event, (0, 5, 65)))
    for name in "tc":
        context.sql(f"RESUME CONTINUOUS TABLE {name}")
    assert rows(context, "SELECT * FROM t") == []
    put(folder, "2", map(event, (80, 3)))
    for name in "tc":
        context.sql(f"RESUME CONTINUOUS TABLE {name}")
    assert rows(context, "SELECT * FROM t") == [(clock(0), 3)]
    assert rows(context, "SELECT k, n FROM c") == [("a", 3)]
    assert ("Watermark of default.s", "2026-05-01 10:01:10", "") in rows(context, "DESCRIBE EXTENDED t")
    context.sql("REFRESH CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t") == [(clock(0), 3)]


def test_joins_by_a_computed_time(context: sharkpy.SharkContext, folder: Path) -> None:
    make(context, folder)
    near = "a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL 2 SECONDS AND b.ms > a.ms"
    text = f"SELECT a.k, a.at, b.at AS next_at FROM s a LEFT JOIN s b ON {near}"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")
    put(folder, "1", [event(0), event(1), event(30)])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t ORDER BY at") == [("a", clock(0), clock(1)), ("a", clock(1), None)]
    assert "expires" in "\n".join(str(row) for row in rows(context, "DESCRIBE EXTENDED t"))


def test_what_others_see_of_it(context: sharkpy.SharkContext, folder: Path) -> None:
    make(context, folder)
    put(folder, "1", [event(7)])
    assert rows(context, "SELECT * FROM s") == [("a", TEN + 7000, clock(7))]
    assert rows(context, "SELECT x.at, INPUT__FILE__NAME FROM s AS x (k, m, at)")[0][0] == clock(7)
    assert rows(context, "DESCRIBE s")[-1] == ("at", "timestamp", "of the event")
    assert rows(context, "SHOW COLUMNS IN s") == [("k",), ("ms",), ("at",)]
    shown = "\n".join(str(row[0]) for row in rows(context, "SHOW CREATE TABLE s"))
    assert "`at` timestamp AS (timestamp_millis(ms)) COMMENT 'of the event'" in shown
    context.sql("DROP STREAM s")
    context.sql(shown)
    assert rows(context, "SELECT at FROM s") == [(clock(7),)]
    with pytest.raises(SharkError, match='"at" is defined twice'):
        context.sql("ALTER TABLE s ADD COLUMNS (at INT)")
    context.sql("ALTER TABLE s ADD COLUMNS (more INT)")
    assert rows(context, "SELECT more, at FROM s") == [(None, clock(7))]
    columns = "k STRING, ms BIGINT, at AS (timestamp_millis(ms))"
    again = context.stream.from_folder("again", folder, columns, watermark=("at", "10 SECONDS"))
    assert again.filter("at IS NOT NULL").take(1)[0].at == clock(7)


def test_new_columns_are_none_of_these_names(context: sharkpy.SharkContext, folder: Path) -> None:
    made = f"(ms BIGINT, {AT}) STORED AS JSONFILE TBLPROPERTIES ('stream.new.columns' = 'add')"
    context.sql(f"CREATE STREAM s {made} FROM FOLDER '{folder}'")
    put(folder, "1", [{"ms": TEN, "at": "no time", "other": 5}])
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT * FROM s")
    assert rows(context, "SELECT * FROM s") == [(TEN, 5, clock(0))]


def test_other_sources(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE STREAM s (k STRING, ms BIGINT, {AT}, {MARK}) FROM PROGRAM")
    context.sql("CREATE TABLE before (k STRING, ms BIGINT)")
    context.sql(f"INSERT INTO before VALUES ('x', {TEN})")
    context.sql(f"CREATE STREAM f ({AT}, {MARK}) FROM TABLE before WITH HISTORY")
    assert rows(context, "SELECT * FROM f") == [("x", TEN, clock(0))]
    context.sql(f"CREATE CONTINUOUS TABLE r {NOW} START FROM TABLE before THEN STREAM s AS SELECT k, at FROM s")
    context.sql(f"CREATE CONTINUOUS TABLE w {NOW} START FROM TABLE before THEN STREAM s EMIT APPEND AS {WINDOWS}")
    with context.push("s") as out:
        out.write([("y", TEN + 1000), ("z", TEN + 75_000)])
    for name in "rw":
        context.sql(f"RESUME CONTINUOUS TABLE {name}")
    assert rows(context, "SELECT * FROM r ORDER BY k")[:2] == [("x", clock(0)), ("y", clock(1))]
    assert rows(context, "SELECT * FROM w") == [(clock(0), 2)]


def test_values_of_paths(context: sharkpy.SharkContext, folder: Path) -> None:
    put(folder, "dt=2026-05-01/Place=a%2Fb%3A c/1", [event(0)])
    put(folder, "dt=2026-05-02/place=__HIVE_DEFAULT_PARTITION__/1", [event(1)])
    put(folder, "dt=none/1", [event(2)])
    context.sql(
        "CREATE STREAM s (k STRING, ms BIGINT, day AS (date_add(dt, 1))) PARTITIONED BY (dt DATE, place STRING) "
        f"STORED AS JSONFILE FROM FOLDER '{folder}'"
    )
    found = rows(context, "SELECT ms, dt, place, day FROM s ORDER BY ms")
    first, second = date(2026, 5, 1), date(2026, 5, 2)
    assert [row[1:] for row in found] == [
        (first, "a/b: c", second),
        (second, None, date(2026, 5, 3)),
        (None, None, None),
    ]
    context.sql(f"CREATE CONTINUOUS TABLE t PARTITIONED BY (dt) {NOW} AS SELECT ms, dt FROM s")
    assert rows(context, "SELECT count(*) FROM t WHERE dt = '2026-05-02'") == [(1,)]
    assert ("PARTITIONED BY (`dt` date, `place` string)",) in rows(context, "SHOW CREATE TABLE s")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("x AS (rand())", "another value each time"),
        ("x AS (ms + (SELECT 1))", "without subqueries"),
        ("x AS (count(*))", "not allowed in a computed column"),
        ("x AS (nothing)", 'in the column "x" of default.s: no column "nothing"'),
        ("x INT AS (map(1, 2))", "cannot be int"),
        ("x AS (NULL)", "cannot be void"),
        ("ms AS (1)", "defined twice"),
        ("x AS ms", r'"\(" expected'),
        ("x AS ()", "an expression in the parentheses expected"),
        ("WATERMARK FOR ms AS ms", r"compute one among the columns: name AS \(timestamp_millis\(ms\)\)"),
    ],
)
def test_what_is_refused(context: sharkpy.SharkContext, folder: Path, column: str, message: str) -> None:
    with pytest.raises(SharkError, match=message):
        make(context, folder, f"ms BIGINT, {column}")


def test_tables_have_none(context: sharkpy.SharkContext) -> None:
    with pytest.raises(UnsupportedError, match="a view over the table computes them"):
        context.sql("CREATE TABLE t (a INT, b INT AS (a + 1))")
