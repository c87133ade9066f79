"""Joins of streams whose times are bounded: rows are kept as long as, by the watermarks, later rows may match."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.sql.context import StatementClock
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import put
from tests.streaming.random_events import COLUMNS, Events, Watermark, canonical
from tests.streaming.random_joins import join, outer_join
from tests.streaming.test_generated_definitions import Warehouse
from tests.streaming.test_generated_windows import each_epoch


def run(warehouse: Warehouse, folder: Path, seed: int, *, is_outer: bool = False) -> None:
    chance = random.Random(seed)
    delays = {"events": chance.choice((0, 2, 8))}
    other = chance.choice(("events", "others"))
    delays.setdefault(other, chance.choice((0, 2, 8, 20)))
    ahead = delays["events"] - delays[other]
    hive, duck, emit = outer_join(chance, other, ahead) if is_outer else (*join(chance, other, ahead), "")
    events = Events(chance, folder)
    mark = Watermark(events, delays["events"])
    sql = warehouse.context.sql
    for stream, delay in delays.items():
        watermark = f"WATERMARK FOR ts AS ts - INTERVAL {delay} SECONDS"
        sql(f"CREATE STREAM {stream} ({COLUMNS}, {watermark}) STORED AS JSON FROM FOLDER '{folder}'")
    sql(f"CREATE CONTINUOUS TABLE t {chance.choice(('', MEMORY))} {NOW} {emit} AS {hive}")
    for _ in each_epoch(warehouse, events, mark, (hive, duck), is_appended=bool(emit)):
        pass
    for one in ("CONTINUOUS TABLE t", *(f"STREAM {stream}" for stream in delays)):
        warehouse.context.sql(f"DROP {one}")
    events.duck.close()


@pytest.mark.parametrize(("first", "number"), [(0, 2), pytest.param(100, 8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_outer", [False, True])
def test_each_epoch_joins_what_is_kept(tmp_path: Path, first: int, number: int, is_outer: bool) -> None:
    warehouse = Warehouse(tmp_path / "w")
    try:
        for seed in range(first, first + number):
            run(warehouse, tmp_path / f"in{seed}", seed, is_outer=is_outer)
    finally:
        warehouse.context.stop()


def make_stream(context: sharkpy.SharkContext, folder: Path) -> None:
    events = "k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    context.sql(f"CREATE STREAM events ({events}) STORED AS JSON FROM FOLDER '{folder}'")


def make(context: sharkpy.SharkContext, folder: Path, clauses: str = "", bound: str = "") -> str:
    make_stream(context, folder)
    bound = bound or "o.ts BETWEEN e.ts AND e.ts + INTERVAL '15' SECOND"
    text = f"SELECT e.n AS n, o.n AS m FROM events e JOIN events o ON e.k = o.k AND {bound}"
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} AS {text}")
    return text


def put_tens(context: sharkpy.SharkContext, folder: Path, number: int, place: int | None = None) -> None:
    """Put a row of each ten seconds, and read it."""
    minutes, seconds = divmod(number * 10, 60)
    put(
        folder,
        f"{number if place is None else place:04d}.json",
        [{"k": "a", "n": number, "ts": f"2024-05-01 10:{minutes:02d}:{seconds:02d}"}],
    )
    context.sql("RESUME CONTINUOUS TABLE t")


@pytest.mark.variants(2)
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_the_state_stays_small(tmp_path: Path, folder: Path, clauses: str) -> None:
    few = {"shark.stream.kept.epochs": 2, "shark.compaction.min.blocks": 3}
    with sharkpy.connect("local[2]", tmp_path / "w", **few) as context:
        make(context, folder, clauses)
        for number in range(40):
            put_tens(context, folder, number)
        expected = [(one, other) for one in range(40) for other in (one, one + 1) if other < 40]
        assert rows(context, "SELECT n, m FROM t ORDER BY n, m") == expected
        # The answer is kept, of the sides what the last epochs have brought, and a watermark.
        ((kept,),) = rows(context, "SELECT count(*) FROM STATE OF t WHERE n IS NULL")
        assert kept < 40


@pytest.mark.variants
@pytest.mark.parametrize(
    ("kind", "bound", "numbers"),
    [
        # All rows but the last ones have a match, or none has one.
        ("LEFT ANTI", "o.ts BETWEEN e.ts AND e.ts + INTERVAL '15' SECOND AND o.n > e.n", [29]),
        ("LEFT SEMI", "o.ts BETWEEN e.ts AND e.ts + INTERVAL '15' SECOND AND o.n < e.n", []),
    ],
)
@pytest.mark.parametrize("emit", ["", "EMIT APPEND"])
def test_rows_that_are_not_wanted_are_forgotten(
    tmp_path: Path, folder: Path, kind: str, bound: str, numbers: list[int], emit: str
) -> None:
    few = {"shark.stream.kept.epochs": 2, "shark.compaction.min.blocks": 3}
    with sharkpy.connect("local[2]", tmp_path / "w", **few) as context:
        make_stream(context, folder)
        text = f"SELECT e.n FROM events e {kind} JOIN events o ON e.k = o.k AND {bound}"
        context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {emit} AS {text}")
        for number in range(30):
            put_tens(context, folder, number)
        given = [] if emit else [(number,) for number in numbers]
        assert rows(context, "SELECT n FROM t") == given
        ((kept,),) = rows(context, "SELECT count(*) FROM STATE OF t")
        assert kept < 30


def test_what_was_forgotten_is_not_wanted_later(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    bound = "o.ts BETWEEN e.ts AND e.ts + INTERVAL '15' SECOND"
    text = f"SELECT e.n FROM events e LEFT SEMI JOIN events o ON e.k = o.k AND {bound}"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS {text}")
    context.sql(f"ALTER CONTINUOUS TABLE t AS {text} WHERE e.n > 3")
    with pytest.raises(SharkError, match="belongs to another query"):
        context.sql(f"ALTER CONTINUOUS TABLE t AS {text.replace('SEMI', 'ANTI')}")


def test_all_rows_are_kept_where_that_is_said(context: sharkpy.SharkContext, folder: Path) -> None:
    text = make(context, folder, "WITH UNBOUNDED STATE")
    for number in (0, 30, 1):
        put_tens(context, folder, number)
    assert canonical(rows(context, "SELECT * FROM t")) == canonical(rows(context, text))
    assert (0, 1) in rows(context, "SELECT n, m FROM t")


def test_a_late_row_finds_what_is_still_kept(context: sharkpy.SharkContext, folder: Path) -> None:
    make(context, folder)
    for place, number in enumerate((0, 1, 3, 2, 9, 8, 1)):
        put_tens(context, folder, number, place)
    pairs = {pair for pair in rows(context, "SELECT n, m FROM t") if pair[0] != pair[1]}
    # 2 is late, and 1 was no longer kept; 8 is late, and 9 is kept.
    assert pairs == {(0, 1), (2, 3), (8, 9)}


def test_it_is_made_again_and_altered(context: sharkpy.SharkContext, folder: Path) -> None:
    text = make(context, folder)
    shown = "\n".join(row[0] for row in rows(context, "SHOW CREATE TABLE t"))
    assert "shark.stream" not in shown
    assert "UNBOUNDED" not in shown
    context.sql("DROP CONTINUOUS TABLE t")
    context.sql(shown)
    put_tens(context, folder, 0)
    context.sql(f"ALTER CONTINUOUS TABLE t AS {text}")
    put_tens(context, folder, 1)
    assert (0, 1) in rows(context, "SELECT n, m FROM t")
    plan = "\n".join(row[0] for row in rows(context, f"EXPLAIN CREATE CONTINUOUS TABLE u AS {text}"))
    assert "while the watermark of the other one says that some may match them" in plan


@pytest.mark.parametrize(
    "bound",
    ["o.ts >= e.ts", "o.ts <= e.ts + INTERVAL '15' SECOND", "o.n = e.n + 1", "o.ts > e.ts + INTERVAL '1' MONTH"],
)
def test_bounds_that_keep_a_side_for_ever(context: sharkpy.SharkContext, folder: Path, bound: str) -> None:
    with pytest.raises(UnsupportedError, match="the rows of both sides of a join of streams are kept"):
        make(context, folder, bound=bound)


@pytest.mark.slow
@pytest.mark.parametrize("emit", ["", "EMIT APPEND"])
def test_a_stream_that_is_ahead(context: sharkpy.SharkContext, tmp_path: Path, folder: Path, emit: str) -> None:
    """Rows of the other stream that are in time find the rows that wait for them."""
    make_stream(context, folder)
    other = tmp_path / "other"
    other.mkdir()
    columns = "k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    context.sql(f"CREATE STREAM others ({columns}) STORED AS JSON FROM FOLDER '{other}'")
    bound = "o.ts BETWEEN e.ts AND e.ts + INTERVAL '5' SECOND"
    text = f"SELECT e.n AS n, o.n AS m FROM events e LEFT JOIN others o ON e.k = o.k AND {bound}"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {emit} AS {text}")
    for number in range(8):
        put_tens(context, folder, number)
    expected = []
    for number in range(0, 8, 2):
        put(other, f"{number}.json", [{"k": "a", "n": number, "ts": f"2024-05-01 10:{number // 6:02d}:{number % 6}2"}])
        context.sql("RESUME CONTINUOUS TABLE t")
        expected.append((number, number))
        assert [row for row in rows(context, "SELECT n, m FROM t ORDER BY n") if row[1] is not None] == expected
    missing = [(number, None) for number in (1, 3, 5)]
    if not emit:
        missing.append((7, None))
    assert rows(context, "SELECT n, m FROM t WHERE m IS NULL ORDER BY n") == missing


def test_alike_rows_of_two_epochs_have_matches_of_their_own(
    context: sharkpy.SharkContext, tmp_path: Path, folder: Path
) -> None:
    """The same holds if no watermark has moved between them: the other stream is ahead, and keeps no row for them."""
    make_stream(context, folder)
    other = tmp_path / "other"
    other.mkdir()
    columns = "k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    context.sql(f"CREATE STREAM others ({columns}) STORED AS JSON FROM FOLDER '{other}'")
    bound = "o.ts BETWEEN e.ts AND e.ts + INTERVAL '5' SECOND"
    text = f"SELECT e.n AS n, o.n AS m FROM events e LEFT JOIN others o ON e.k = o.k AND {bound}"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")
    epochs = ((("b", 1),), (("c", 30),)), ((("a", 1),), ()), ((("a", 1),), (("a", 2),))
    found = []
    for place, (of_events, of_others) in enumerate(epochs):
        for target, given in ((folder, of_events), (other, of_others)):
            put(target, f"{place}.json", [{"k": k, "n": n, "ts": f"2024-05-01 10:00:{n:02d}"} for k, n in given])
        context.sql("RESUME CONTINUOUS TABLE t")
        found.append(rows(context, "SELECT n, m FROM t ORDER BY m, n"))
    assert found == [[(1, None)], [(1, None), (1, None)], [(1, None), (1, None), (1, 2)]]


@pytest.mark.slow
def test_an_idle_stream_holds_nothing_back(
    context: sharkpy.SharkContext, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the clock; what comes when it is back matches no row that was given without a match."""
    begin = datetime(2024, 5, 1, 10, tzinfo=UTC)
    clock = [begin]
    monkeypatch.setattr(StatementClock, "_read_clock", staticmethod(lambda: clock[0]))
    make_stream(context, folder)
    other = tmp_path / "other"
    other.mkdir()
    columns = "k STRING, n INT, ts TIMESTAMP, WATERMARK FOR ts AS ts IDLE AFTER 1 MINUTE"
    context.sql(f"CREATE STREAM others ({columns}) STORED AS JSON FROM FOLDER '{other}'")
    bound = "o.ts BETWEEN e.ts AND e.ts + INTERVAL '5' SECOND"
    text = f"SELECT e.n AS n, o.n AS m FROM events e LEFT JOIN others o ON e.k = o.k AND {bound}"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")

    def now(second: int, of_events: list[int], of_others: list[int]) -> list[tuple[object, ...]]:
        clock[0] = begin + timedelta(seconds=second)
        for place, seconds in ((folder, of_events), (other, of_others)):
            times = ((one, f"2024-05-01 10:{one // 60:02d}:{one % 60:02d}") for one in seconds)
            put(place, f"{second:04d}.json", [{"k": "a", "n": one, "ts": time} for one, time in times])
        context.sql("RESUME CONTINUOUS TABLE t")
        return rows(context, "SELECT n, m FROM t ORDER BY n")

    assert now(0, [1], []) == []
    assert now(10, [40], []) == []
    assert now(20, [], [2]) == [(1, 2)], "the other stream is ahead"
    assert now(30, [41], []) == [(1, 2)]
    found: list[tuple[object, ...]] = [(1, 2), (40, None), (41, None)]
    assert now(81, [50], []) == found
    assert now(82, [], [43]) == found
    assert now(83, [60], [60]) == [*found, (50, None), (60, 60)]


def test_a_row_without_a_match_is_given_when_none_may_come(context: sharkpy.SharkContext, folder: Path) -> None:
    """Equal rows are matched one by one: a row that came after its watermark has no match, though an equal row in time
    has.
    """
    columns = "k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    context.sql(f"CREATE STREAM seen ({columns}) STORED AS JSON FROM FOLDER '{folder}'")
    condition = "e.k = o.k AND o.ts > e.ts AND o.ts BETWEEN e.ts AND e.ts + INTERVAL '5' SECOND"
    text = f"SELECT e.k AS k, e.ts AS ts, o.ts AS other FROM seen e LEFT JOIN seen o ON {condition}"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")
    unbounded = "SELECT e.k AS k FROM seen e LEFT ANTI JOIN seen o ON e.k = o.k AND o.ts > e.ts"
    with pytest.raises(UnsupportedError, match="rows change with each epoch") as error:
        context.sql(f"CREATE CONTINUOUS TABLE u EMIT APPEND AS {unbounded}")
    assert "bound such times" in str(error.value.hint)
    found = []
    for place, second in enumerate((0, 2, 20, 0, 40)):
        put(folder, str(place), [{"k": "a", "ts": f"2024-05-01 10:00:{second:02d}"}])
        context.sql("RESUME CONTINUOUS TABLE t")
        given = rows(context, "SELECT second(ts), second(other) FROM t ORDER BY ts, other")
        found.append([(one, other) for one, other in given])
    assert found == [
        [],
        [(0, 2)],
        [(0, 2), (2, None)],
        [(0, None), (0, 2), (2, None)],
        [(0, None), (0, 2), (2, None), (20, None)],
    ]


@pytest.mark.parametrize("kind", ["", "LEFT", "LEFT SEMI"])
def test_the_state_has_only_the_columns_that_the_join_and_the_answer_need(
    context: sharkpy.SharkContext, folder: Path, kind: str
) -> None:
    make_stream(context, folder)
    context.sql(f"CREATE STREAM clicks (k STRING, kind STRING, ts TIMESTAMP) STORED AS JSON FROM FOLDER '{folder}'")
    views = "(SELECT * FROM events WHERE n > 0) e"
    clicks = "(SELECT * FROM clicks WHERE kind = 'click') c"
    context.sql(
        f"CREATE CONTINUOUS TABLE t WITH UNBOUNDED STATE {NOW} AS "
        f"SELECT e.ts AS seen FROM {views} {kind} JOIN {clicks} ON e.k = c.k"
    )
    names = [column.name for column in context.sql("SELECT * FROM STATE OF t").schema]
    assert not {"n", "kind"} & set(names)
