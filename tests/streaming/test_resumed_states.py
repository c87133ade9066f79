"""Aggregates without merge over streams: an epoch goes on from the states of those before it."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import UnsupportedError
from sharkpy.sql.context import StatementClock
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import put

STATE = "WITH UNBOUNDED STATE"
BEGIN = datetime(2026, 5, 1, 10)
FEW = {"shark.stream.kept.epochs": 4, "shark.compaction.min.blocks": 3}


class Way:
    """State that keeps the values in the order in which they came."""

    def init(self) -> list[int]:
        return []

    def update(self, state: list[int], at: datetime, v: int | None) -> list[int]:
        return [*state, -1 if v is None else v]

    def finish(self, state: list[int]) -> str:
        return " ".join(map(str, state))


def make(context: sharkpy.SharkContext) -> None:
    for name, options in (("way", {}), ("typed", {"state": "array<int>"}), ("visit", {"timeout": "10 seconds"})):
        declared = sharkpy.aggregate("timestamp", "int", returns="string", null="call", **options)(Way)
        context.create_function(name, declared, replace=True)


pytestmark = pytest.mark.settings(FEW)


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make(context)
    columns = "k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts"
    context.sql(f"CREATE STREAM events ({columns}) STORED AS JSON FROM FOLDER '{folder}'")
    return context


class Events:
    """Rows that come in the order of their times, some at one time."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.now = BEGIN
        self.number = 0

    def put(self, num_rows: int = 6) -> list[dict[str, Any]]:
        made = []
        # Rows of one time are in the order of their values, which epochs would cut.
        self.now += timedelta(seconds=1)
        for _ in range(num_rows):
            self.now += timedelta(seconds=self.chance.choice((0, 1, 1, 2, 4)))
            k = self.chance.choice(("a", "b", "c", None))
            made.append({"k": k, "v": self.chance.choice((None, *range(9))), "ts": str(self.now)})
        self.chance.shuffle(made)
        put(self.folder, f"{self.number:04}", made)
        self.number += 1
        return made


QUERIES = (
    "SELECT k, way(ts, v) AS w FROM events GROUP BY k",
    "SELECT k, typed(ts, v) AS w, count(*) AS n, sum(v) AS s FROM events GROUP BY k",
    "SELECT way(ts, v) AS w, max(v) AS most FROM events",
    "SELECT way(ts, v) FILTER (WHERE v > 4) AS w, typed(ts, v) FILTER (WHERE k = 'a') AS x FROM events",
    "SELECT k, v, way(ts, v) AS w FROM events GROUP BY k, v GROUPING SETS ((k), (v), ())",
    "SELECT k, window.start AS start, way(ts, v) AS w FROM events GROUP BY k, window(ts, '7 seconds')",
    "SELECT n, count(*) AS m FROM (SELECT length(way(ts, v)) AS n FROM events WHERE v > 2 GROUP BY k) x GROUP BY n",
    "SELECT k, way(ts, v) AS w FROM events GROUP BY k HAVING count(*) > 8 ORDER BY k LIMIT 2",
    "SELECT x.k, way(x.ts, y.v) AS w FROM events x JOIN events y ON x.k = y.k AND x.ts = y.ts GROUP BY x.k",
    "SELECT 'w' AS of, way(ts, v) AS w FROM events UNION ALL SELECT k, typed(ts, v) FROM events GROUP BY k",
)


@pytest.mark.variants(9)
@pytest.mark.parametrize("query", QUERIES)
def test_each_epoch_goes_on(context: sharkpy.SharkContext, folder: Path, query: str) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {random.Random(query).choice(('', MEMORY))} {NOW} {STATE} AS {query}")
    events = Events(folder, 1)
    for epoch in range(9):
        events.put()
        if epoch == 4:
            events.put()
        context.sql("RESUME CONTINUOUS TABLE t")
        assert sorted(map(repr, rows(context, "SELECT * FROM t"))) == sorted(map(repr, rows(context, query)))
    before = rows(context, "SELECT * FROM t FOR SYSTEM_VERSION AS OF 8")
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 8")
    assert sorted(map(repr, rows(context, "SELECT * FROM t"))) == sorted(map(repr, before))
    context.sql("RESUME CONTINUOUS TABLE t")
    assert sorted(map(repr, rows(context, "SELECT * FROM t"))) == sorted(map(repr, rows(context, query)))
    context.sql("REFRESH CONTINUOUS TABLE t")
    context.sql("RESUME CONTINUOUS TABLE t")
    assert sorted(map(repr, rows(context, "SELECT * FROM t"))) == sorted(map(repr, rows(context, query)))


def test_the_state_is_that_of_the_latest(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS SELECT k, typed(ts, v) AS w FROM events GROUP BY k")
    events = Events(folder, 2)
    for _ in range(5):
        events.put()
        context.sql("RESUME CONTINUOUS TABLE t")
    found = dict(rows(context, "SELECT k, max_by(typed_1, typed_0) FROM STATE OF t GROUP BY k"))
    assert {k: " ".join(map(str, state)) for k, state in found.items()} == dict(rows(context, "SELECT * FROM t"))
    described = "\n".join(
        str(row[0]) for row in context.sql(f"EXPLAIN CREATE CONTINUOUS TABLE x {STATE} AS {QUERIES[0]}")
    )
    assert "each the latest one" in described


@pytest.mark.variants(3)
@pytest.mark.parametrize("seed", range(4))
def test_keys_are_forgotten_behind_the_timeout(context: sharkpy.SharkContext, folder: Path, seed: int) -> None:
    """The watermark is the latest time; a key is forgotten when it is more than 10 seconds older."""
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT k, visit(ts, v) AS w FROM events GROUP BY k")
    events, timeout = Events(folder, seed), timedelta(seconds=10)
    states: dict[str | None, tuple[datetime, list[int]]] = {}
    latest, most = datetime(1970, 1, 1), 0
    for _ in range(14):
        for row in sorted(events.put(4), key=lambda row: (row["ts"], row["v"] is None, row["v"])):
            at, v = datetime.fromisoformat(row["ts"]), row["v"]
            last, state = states.get(row["k"], (datetime(1970, 1, 1), []))
            state = [] if at - last > timeout else state
            states[row["k"]] = (at, [*state, -1 if v is None else v])
            latest = max(latest, at)
        context.sql("RESUME CONTINUOUS TABLE t")
        wanted = {k: " ".join(map(str, state)) for k, (last, state) in states.items() if last + timeout >= latest}
        assert dict(rows(context, "SELECT * FROM t")) == wanted
        most = max(most, int(str(rows(context, "SELECT count(*) FROM STATE OF t")[0][0])))
    assert most < 14 * 4, "folds forget"


def test_keys_are_forgotten_by_the_clock(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The zone of the reader does not matter."""
    clock = [BEGIN.replace(tzinfo=UTC)]
    monkeypatch.setattr(StatementClock, "_read_clock", staticmethod(lambda: clock[0]))
    query = "SELECT k, visit(current_timestamp(), v) AS w FROM events GROUP BY k"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS {query}")

    def now(second: int, *given: tuple[str, int]) -> dict[object, object]:
        clock[0] = BEGIN.replace(tzinfo=UTC) + timedelta(seconds=second)
        put(folder, f"{second:03}", [{"k": k, "v": v} for k, v in given])
        context.sql("RESUME CONTINUOUS TABLE t")
        return dict(rows(context, "SELECT * FROM t"))

    assert now(0, ("a", 1)) == {"a": "1"}
    assert now(8, ("b", 2)) == {"a": "1", "b": "2"}
    assert now(9, ("a", 3)) == {"a": "1 3", "b": "2"}
    context.sql("SET TIME ZONE 'Asia/Tokyo'")
    assert now(19) == {"a": "1 3"}
    assert now(30, ("c", 4)) == {"c": "4"}
    assert now(31, ("a", 5)) == {"a": "5", "c": "4"}
    context.sql(f"ALTER CONTINUOUS TABLE t AS {query} ORDER BY k")
    assert now(32, ("a", 6)) == {"a": "5 6", "c": "4"}
    described = [str(row[0]) for row in context.sql(f"EXPLAIN CREATE CONTINUOUS TABLE u AS {query}")]
    assert any("for 10 s without a row" in line for line in described)
    with pytest.raises(UnsupportedError, match="not known to be that of a WATERMARK"):
        context.sql("CREATE CONTINUOUS TABLE u AS SELECT visit(TIMESTAMP '2026-01-01 00:00:00', v) AS w FROM events")


def test_rows_that_are_left_out_have_no_time(context: sharkpy.SharkContext, folder: Path) -> None:
    """The row between is NULL: so there is a gap, in a batch and over epochs."""
    declared = sharkpy.aggregate("timestamp", "int", returns="string", timeout="10 seconds")(Way)
    context.create_function("known", declared)
    query = "SELECT k, known(ts, v) AS w FROM events GROUP BY k"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS {query}")
    for number, (second, v) in enumerate(((0, 1), (9, None), (18, 2))):
        put(folder, str(number), [{"k": "a", "v": v, "ts": str(BEGIN + timedelta(seconds=second))}])
        context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t") == rows(context, query) == [("a", "2")]


def test_several_aggregates_with_a_timeout(context: sharkpy.SharkContext, folder: Path) -> None:
    query = "SELECT k, visit(ts, v) FILTER (WHERE v > 4) AS w, visit(ts, v) AS x FROM events GROUP BY k"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS {query}")
    for number, (k, v, second) in enumerate((("a", 1, 0), ("a", 2, 5), ("b", 5, 6), ("a", 3, 12), ("b", 1, 14))):
        put(folder, str(number), [{"k": k, "v": v, "ts": str(BEGIN + timedelta(seconds=second))}])
        context.sql("RESUME CONTINUOUS TABLE t")
    assert sorted(rows(context, "SELECT * FROM t")) == [("a", "", "1 2 3"), ("b", "5", "5 1")]
    assert sorted(rows(context, query)) == [("a", "", "1 2 3"), ("b", "5", "5 1")]


def test_late_rows_do_not_outlive_the_ones_in_time(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT k, visit(ts, v) AS w FROM events GROUP BY k")
    seconds = (("b", 100), ("a", 85), ("a", 92), ("a", 85), ("b", 101), ("a", 93), ("b", 102), ("c", 103))
    for number, (k, second) in enumerate(seconds):
        put(folder, f"{number:03}", [{"k": k, "v": second, "ts": str(BEGIN + timedelta(seconds=second))}])
        context.sql("RESUME CONTINUOUS TABLE t")
    assert dict(rows(context, "SELECT * FROM t")) == {"a": "92 85 93", "b": "100 101 102", "c": "103"}


def test_a_batch_begins_anew_behind_the_timeout(context: sharkpy.SharkContext, folder: Path) -> None:
    put(
        folder, "0", [{"k": "a", "v": v, "ts": str(BEGIN + timedelta(seconds=s))} for v, s in ((1, 0), (2, 9), (3, 30))]
    )
    assert rows(context, "SELECT k, visit(ts, v) AS w FROM events GROUP BY k") == [("a", "3")]


def test_rows_of_a_table_come_first(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE TABLE old AS SELECT 'a' AS k, 5 AS v, TIMESTAMP '2026-04-01 00:00:00' AS ts")
    start = "START FROM TABLE old THEN STREAM events"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} {start} AS SELECT k, way(ts, v) AS w FROM events GROUP BY k")
    put(folder, "0", [{"k": "a", "v": 6, "ts": str(BEGIN)}])
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t") == [("a", "5 6")]


@pytest.mark.parametrize(
    ("query", "emit", "fault"),
    [
        ("SELECT k, way(ts, v) AS w FROM events GROUP BY k, window(ts, '1 minute')", "EMIT APPEND", "with EMIT APPEND"),
        ("SELECT way(ts, v) AS w FROM events WINDOWING 9 s EVERY 3 s", "", "of overlapping windows"),
        ("SELECT way(ts, v) AS w FROM events WINDOWING SESSION 9 s", "", "of sessions"),
        (
            "SELECT way(ts, v) AS w, count(DISTINCT v) AS n FROM events",
            STATE,
            "together with an aggregate of distinct values",
        ),
        (
            "SELECT way(ts, v) AS w FROM (SELECT ts, v FROM events UNION ALL SELECT CAST(NULL AS TIMESTAMP), 1) b",
            STATE,
            "together with rows of tables",
        ),
        ("SELECT visit(ts, v) AS w, count(*) AS n FROM events", STATE, "together with an aggregate without a timeout"),
        ("SELECT visit(ts + INTERVAL 1 DAY, v) AS w FROM events", STATE, "that is not known to be that of a WATERMARK"),
    ],
)
def test_what_has_no_such_state(context: sharkpy.SharkContext, query: str, emit: str, fault: str) -> None:
    with pytest.raises(UnsupportedError, match=f"an aggregate without merge, .*{fault}"):
        context.sql(f"CREATE CONTINUOUS TABLE t {emit} AS {query}")


def test_all_rows_are_kept_on_wish(context: sharkpy.SharkContext, folder: Path) -> None:
    query = "SELECT way(ts, v) AS w FROM events WINDOWING 9 s EVERY 3 s"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT COMPLETE WITH RECOMPUTE {STATE} AS {query}")
    events = Events(folder, 3)
    for _ in range(3):
        events.put()
        context.sql("RESUME CONTINUOUS TABLE t")
    assert sorted(map(repr, rows(context, "SELECT * FROM t"))) == sorted(map(repr, rows(context, query)))


def test_another_session_goes_on(tmp_path: Path, folder: Path) -> None:
    query = "SELECT k, way(ts, v) AS w FROM events GROUP BY k"
    events = Events(folder, 5)
    for number in range(4):
        with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
            if not number:
                make(context)
                context.sql(
                    f"CREATE STREAM events (k STRING, v INT, ts TIMESTAMP) STORED AS JSON FROM FOLDER '{folder}'"
                )
                context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {query}")
            events.put()
            context.sql("RESUME CONTINUOUS TABLE t")
            assert sorted(map(repr, rows(context, "SELECT * FROM t"))) == sorted(map(repr, rows(context, query)))
