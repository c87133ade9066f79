"""Window functions over streams: each row is given when the watermark has passed it, with what the functions find in
the rows before it, by DuckDB.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError, UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import put
from tests.streaming.random_events import COLUMNS, Events, Watermark, canonical
from tests.streaming.random_window_functions import definition
from tests.streaming.test_generated_definitions import Warehouse
from tests.streaming.test_generated_windows import each_epoch

pytestmark = pytest.mark.settings({"shark.stream.kept.epochs": 3, "shark.compaction.min.blocks": 3})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    folder.mkdir()
    columns = "k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"
    context.sql(f"CREATE STREAM events ({columns}) STORED AS JSON FROM FOLDER '{folder}'")
    return context


def run(warehouse: Warehouse, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    hive, duck, grows = definition(chance)
    events, delay = Events(chance, folder), chance.choice((0, 2, 8))
    mark = Watermark(events, delay)
    sql = warehouse.context.sql
    watermark = f"WATERMARK FOR ts AS ts - INTERVAL {delay} SECONDS"
    state = "WITH UNBOUNDED STATE" if grows else ""
    sql(f"CREATE STREAM events ({COLUMNS}, {watermark}) STORED AS JSON FROM FOLDER '{folder}'")
    sql(f"CREATE CONTINUOUS TABLE t {chance.choice(('', MEMORY))} {NOW} EMIT APPEND {state} AS {hive}")
    sql("CREATE STREAM passed FROM TABLE t WITH HISTORY")
    sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT * FROM passed")
    for found in each_epoch(warehouse, events, mark, (hive, duck), is_appended=True):
        if chance.random() < 0.4:
            warehouse.context.sql("RESUME CONTINUOUS TABLE u")
            assert canonical(rows(warehouse.context, "SELECT * FROM u")) == found, hive
    late = "SELECT count(*) FROM events WHERE ts < before"
    if " WHERE " not in hive:
        ((counted,),) = rows(warehouse.context, "SELECT coalesce(sum(late), 0) FROM STATE OF t")
        assert [(counted,)] == events.duck.execute(late).fetchall()
    for one in ("CONTINUOUS TABLE u", "STREAM passed", "CONTINUOUS TABLE t", "STREAM events"):
        warehouse.context.sql(f"DROP {one}")
    events.duck.close()


@pytest.mark.parametrize(("first", "number"), [(0, 3), pytest.param(100, 8, marks=pytest.mark.slow)])
def test_rows_are_given_when_the_watermark_has_passed_them(tmp_path: Path, first: int, number: int) -> None:
    warehouse = Warehouse(tmp_path / "w")
    try:
        for seed in range(first, first + number):
            run(warehouse, tmp_path / f"in{seed}", seed)
    finally:
        warehouse.context.stop()


def epoch(context: sharkpy.SharkContext, folder: Path, number: int, *seconds: int, key: str = "a") -> None:
    times = [f"2024-05-01 10:{one // 60:02d}:{one % 60:02d}" for one in seconds]
    put(folder, f"{number:04d}.json", [{"k": key, "n": number, "ts": time} for time in times])
    context.sql("RESUME CONTINUOUS TABLE t")


def test_the_row_before_is_of_an_earlier_epoch(context: sharkpy.SharkContext, folder: Path) -> None:
    text = "SELECT k, second(ts) AS s, second(lag(ts) OVER (PARTITION BY k ORDER BY ts)) AS last FROM events"
    clauses = f"{NOW} EMIT APPEND LATE ROWS TO late WITH UNBOUNDED STATE"
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS {text}")
    found = []
    # The watermark is 5 seconds before the latest row.
    for number, (key, *seconds) in enumerate([("a", 3, 1), ("b", 8), ("a", 7), ("b", 2), ("a", 14), ("b", 30)]):
        epoch(context, folder, number, *map(int, seconds), key=str(key))
        found.append(rows(context, "SELECT k, s, last FROM t ORDER BY s"))
    one, three, seven, eight = ("a", 1, None), ("a", 3, 1), ("a", 7, 3), ("b", 8, None)
    fourteen = ("a", 14, 7)
    assert found == [[], [one], [one], [one], [one, three, seven, eight], [one, three, seven, eight, fourteen]]
    assert rows(context, "SELECT k, second(ts) FROM late") == [("b", 2)]
    assert dict(row[:2] for row in rows(context, "DESCRIBE EXTENDED t"))["Late Rows"] == "1"


def test_the_first_row_of_each(context: sharkpy.SharkContext, folder: Path) -> None:
    """The first row of each key, by which duplicates are left out; and running totals."""
    over = "OVER (PARTITION BY k ORDER BY ts)"
    text = f"SELECT k, n, second(ts) AS s FROM (SELECT *, row_number() {over} AS place FROM events) x WHERE place = 1"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND WITH UNBOUNDED STATE AS {text}")
    context.sql("CREATE STREAM firsts FROM TABLE t")
    context.sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT k, s FROM firsts")
    totals = f"SELECT k, n, row_number() {over} AS place, sum(n) {over} AS total, max(n) {over} AS most FROM events"
    context.sql(f"CREATE CONTINUOUS TABLE v {MEMORY} {NOW} EMIT APPEND WITH UNBOUNDED STATE AS {totals}")
    for number, (key, second) in enumerate([("a", 3), ("a", 1), ("b", 7), ("b", 9), ("a", 11), ("c", 40), ("a", 50)]):
        epoch(context, folder, number, second, key=key)
        context.sql("RESUME CONTINUOUS TABLE v")
        context.sql("RESUME CONTINUOUS TABLE u")
    assert rows(context, "SELECT k, n, s FROM t ORDER BY s") == [("a", 1, 1), ("b", 2, 7), ("c", 5, 40)]
    assert rows(context, "SELECT k, s FROM u ORDER BY s") == [("a", 1), ("b", 7), ("c", 40)]
    expected = [("a", 0, 2, 1, 1), ("a", 1, 1, 1, 1), ("a", 4, 3, 5, 4), ("b", 2, 1, 2, 2), ("b", 3, 2, 5, 3)]
    assert rows(context, "SELECT * FROM v WHERE k <> 'c' ORDER BY k, n") == expected


def test_rows_wait_for_those_that_functions_look_ahead_to(context: sharkpy.SharkContext, folder: Path) -> None:
    frame = "RANGE BETWEEN CURRENT ROW AND INTERVAL '10' SECOND FOLLOWING"
    text = f"SELECT second(ts) AS s, count(*) OVER (PARTITION BY k ORDER BY ts {frame}) AS c FROM events"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")
    found = []
    # The watermark is 5 seconds before the latest row, and has to pass a row by 10.
    for number, second in enumerate([0, 8, 12, 16, 24, 40]):
        epoch(context, folder, number, second)
        found.append(rows(context, "SELECT s, c FROM t ORDER BY s"))
    assert found == [[], [], [], [(0, 2)], [(0, 2), (8, 3)], [(0, 2), (8, 3), (12, 2), (16, 2), (24, 1)]]


def test_what_functions_over_all_rows_before_have_come_to(context: sharkpy.SharkContext, folder: Path) -> None:
    over = "OVER (PARTITION BY k ORDER BY ts)"
    items = f"second(ts) AS s, rank() {over} AS place, avg(n) {over} AS mean, first_value(n) {over} AS first"
    text = f"SELECT k, {items} FROM events"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND WITH UNBOUNDED STATE AS {text}")
    for number, seconds in enumerate([(1,), (10, 10), (20,)], 1):
        epoch(context, folder, number, *seconds)
        epoch(context, folder, 10 * number, seconds[0], key="b")
    epoch(context, folder, 50, 59, key="c")
    assert rows(context, "SELECT s, place, round(mean, 3), first FROM t WHERE k = 'a' ORDER BY s") == [
        (1, 1, 1.0, 1),
        (10, 2, 1.667, 1),
        (10, 2, 1.667, 1),
        (20, 4, 2.0, 1),
    ]
    assert rows(context, "SELECT s, place, mean, first FROM t WHERE k = 'b' ORDER BY s") == [
        (1, 1, 10.0, 10),
        (10, 2, 15.0, 10),
        (20, 3, 20.0, 10),
    ]


def test_the_first_value_of_all_rows(context: sharkpy.SharkContext, folder: Path) -> None:
    """Without partitions there are totals before the first row; and a first value may be NULL."""
    first = "first_value({}) OVER (ORDER BY ts)"
    items = f"{first.format('n')} AS begun, {first.format('CASE WHEN n > 1 THEN n END')} AS later"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS SELECT second(ts) AS s, {items} FROM events")
    for number, second in enumerate([10, 20, 30, 40], 1):
        epoch(context, folder, number, second)
    assert rows(context, "SELECT * FROM t ORDER BY s") == [(10, 1, None), (20, 1, None), (30, 1, None)]


@pytest.mark.slow
def test_the_state_stays_small(context: sharkpy.SharkContext, folder: Path) -> None:
    frame = "RANGE BETWEEN INTERVAL '20' SECOND PRECEDING AND CURRENT ROW"
    text = f"SELECT n, count(*) OVER (PARTITION BY k ORDER BY ts {frame}) AS c FROM events"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")
    for number in range(40):
        epoch(context, folder, number, number * 10)
    counts = [min(number + 1, 3) for number in range(39)]
    assert rows(context, "SELECT n, c FROM t ORDER BY n") == list(enumerate(counts))
    ((kept,),) = rows(context, "SELECT count(*) FROM STATE OF t WHERE c IS NULL")
    assert kept < 40


def test_it_goes_on_after_a_rollback_and_another_query(context: sharkpy.SharkContext, folder: Path) -> None:
    text = "SELECT k, n, lag(n) OVER (PARTITION BY k ORDER BY ts) AS last FROM events"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND WITH UNBOUNDED STATE AS {text}")
    answers = {}
    for number in range(6):
        epoch(context, folder, number, number * 10)
        answers[number + 1] = rows(context, "SELECT n, last FROM t ORDER BY n")
    assert answers[6] == [(0, None), (1, 0), (2, 1), (3, 2), (4, 3)]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 4")
    assert rows(context, "SELECT n, last FROM t ORDER BY n") == answers[4]
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT n, last FROM t ORDER BY n") == answers[6]
    with pytest.raises(SharkError, match=r"the state of default\.t belongs to another query"):
        context.sql(f"ALTER CONTINUOUS TABLE t AS {text.replace('lag(n)', 'lag(n, 2)')}")
    plan = "\n".join(
        row[0] for row in rows(context, f"EXPLAIN CREATE CONTINUOUS TABLE u EMIT APPEND WITH UNBOUNDED STATE AS {text}")
    )
    assert "the last 1 rows of each k" in plan
    with pytest.raises(UnsupportedError, match="the last rows by k grows with the values of these"):
        context.sql(f"CREATE CONTINUOUS TABLE u EMIT APPEND AS {text}")


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (
            "lead(n) IGNORE NULLS OVER (ORDER BY ts)",
            "lead, a window function that looks at all rows before its own, or",
        ),
        ("ntile(3) OVER (ORDER BY ts)", "ntile, a window function that looks at all rows"),
        ("percent_rank() OVER (ORDER BY ts)", "percent_rank, a window function that looks at all rows"),
        ("avg(CAST(n AS DECIMAL(28,2))) OVER (ORDER BY ts)", "avg, a window function that looks at all rows"),
        ("lag(n) IGNORE NULLS OVER (ORDER BY ts)", "lag, a window function that looks at all rows"),
        (
            "sum(n) OVER (ORDER BY ts ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING)",
            "sum, a window function over ROWS",
        ),
        (
            "sum(n) OVER (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)",
            "sum, a window function over ROWS",
        ),
        ("stddev_pop(n) OVER (ORDER BY ts ROWS UNBOUNDED PRECEDING)", "stddev_pop, a window function over ROWS"),
        ("rank() OVER (ORDER BY n)", "rank, a window function that is not in the ascending order of a time"),
        ("lag(n, 1, (SELECT 1)) OVER (ORDER BY ts)", "a subquery in, or below, a window function"),
        ("lag(rand() * n) OVER (ORDER BY ts)", "rand below a window function"),
        ("sum(n) OVER ()", "sum, a window function that is not in the ascending order of a time"),
        ("lag(n) OVER (ORDER BY ts DESC)", "not in the ascending order of a time with a WATERMARK"),
        ("lag(n) OVER (ORDER BY n)", "not in the ascending order of a time with a WATERMARK"),
        (
            "lag(n) OVER (PARTITION BY k ORDER BY ts), lag(n) OVER (PARTITION BY n ORDER BY ts)",
            "with another PARTITION BY",
        ),
        (
            "lead(n) OVER (ORDER BY ts), min(n) OVER (ORDER BY ts RANGE INTERVAL '1' DAY PRECEDING)",
            "min, a window function by time together with one that looks ahead by rows",
        ),
        (
            "lead(n) OVER (PARTITION BY k ORDER BY ts), sum(n) OVER (PARTITION BY n ORDER BY ts)",
            "with another PARTITION BY",
        ),
    ],
)
def test_functions_that_are_refused(context: sharkpy.SharkContext, function: str, error: str) -> None:
    with pytest.raises(UnsupportedError, match=error) as caught:
        context.sql(f"CREATE CONTINUOUS TABLE t EMIT APPEND AS SELECT {function} FROM events")
    assert "below" in error or "EMIT COMPLETE WITH RECOMPUTE" in str(caught.value.hint)


def test_averages_of_decimals_are_those_of_a_batch(context: sharkpy.SharkContext, folder: Path) -> None:
    average = "avg(CAST(n AS DECIMAL(9,2)) / 7) OVER (PARTITION BY k ORDER BY ts)"
    query = f"SELECT ts, {average} AS mean, dense_rank() OVER (PARTITION BY k ORDER BY ts) AS r FROM events"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND WITH UNBOUNDED STATE AS {query}")
    for number, seconds in enumerate(((1, 2, 2), (2, 3, 9), (12, 13), (13, 14, 40), (90,))):
        epoch(context, folder, number, *seconds)
    found = rows(context, "SELECT ts, mean, r, typeof(mean) FROM t ORDER BY ts, r")
    assert len(found) == 11
    assert found == rows(
        context, f"SELECT *, typeof(mean) FROM ({query}) q WHERE second(ts) < 41 ORDER BY ts, r LIMIT 11"
    )


def test_rows_wait_for_those_behind_them(context: sharkpy.SharkContext, folder: Path) -> None:
    """Rows of one time come together, with what functions over all rows before them find."""
    text = (
        "SELECT k, second(ts) AS s, second(lead(ts) OVER (PARTITION BY k ORDER BY ts)) AS behind, "
        "count(*) OVER (PARTITION BY k ORDER BY ts) AS n FROM events"
    )
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND WITH UNBOUNDED STATE AS {text}")
    answers = []
    for number, (key, seconds) in enumerate((("a", (1, 4)), ("b", (2, 8, 20)), ("a", (16, 30)), ("b", (50,)))):
        epoch(context, folder, number, *seconds, key=key)
        answers.append(rows(context, "SELECT * FROM t ORDER BY k, s"))
    first = [("a", 1, 4, 1), ("b", 2, 8, 1)]
    # The watermark is 5 seconds before the latest row.
    assert answers[:2] == [[], first]
    assert answers[2] == [("a", 1, 4, 1), ("a", 4, 16, 2), ("b", 2, 8, 1), ("b", 8, 20, 2)]
    assert answers[3] == sorted([*answers[2], ("a", 16, 30, 3)])
    plan = "\n".join(
        row[0] for row in rows(context, f"EXPLAIN CREATE CONTINUOUS TABLE u EMIT APPEND WITH UNBOUNDED STATE AS {text}")
    )
    assert "the last 1 rows of each k behind the watermark" in plan


def test_without_append_the_hint_tells(context: sharkpy.SharkContext) -> None:
    with pytest.raises(UnsupportedError, match="a window function over a stream") as caught:
        context.sql("CREATE CONTINUOUS TABLE t AS SELECT lag(n) OVER (ORDER BY ts) AS last FROM events")
    assert "EMIT APPEND" in str(caught.value.hint)
