"""Continuous inserts and sinks with state: an epoch gives the rows that are final, or the groups that have changed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import sharkpy
from sharkpy.base.errors import BindError, SharkError, UnsupportedError
from sharkpy.ml.rdd.rows import Row
from sharkpy.streaming import kill_points
from sharkpy.streaming.epoch_log import mark_of
from sharkpy.streaming.sinks.program_sink import ProgramSink
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import put, state_of

STATE = "WITH UNBOUNDED STATE"
BEGIN = datetime(2024, 5, 1, 10, 0)
_COLUMNS = "id BIGINT, k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"
_WINDOW = "window(ts, '10 seconds')"
APPENDED = {
    "tumbling": f"SELECT k, window.start AS start, count(*) AS n, sum(v) AS s FROM events GROUP BY k, {_WINDOW}",
    "sliding": "SELECT window.end AS till, count(DISTINCT k) AS n FROM events "
    "GROUP BY window(ts, '20 seconds', '8 seconds')",
    "having": f"SELECT k, max(v) AS high FROM events WHERE v > 0 GROUP BY k, {_WINDOW} HAVING count(*) > 1",
    "sort by": f"SELECT k, count(*) AS n FROM events GROUP BY k, {_WINDOW} SORT BY n",
    "sessions": "SELECT k, session_window.start AS start, session_window.end AS till, count(*) AS n FROM events "
    "GROUP BY k, session_window(ts, '3 seconds')",
    "of rows": "SELECT count(*) AS n, sum(v) AS s FROM events WINDOWING 7 ROWS",
    "united": f"SELECT k, count(*) AS n FROM events GROUP BY k, {_WINDOW} "
    "UNION ALL SELECT k, 0L FROM events WHERE v = 3",
    "joined": "SELECT x.id, y.id AS other FROM events x JOIN events y ON x.k = y.k AND x.v = y.v + 1 "
    "AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 9 SECONDS",
    "windows of joined": "SELECT x.k, count(*) AS n FROM events x JOIN events y ON x.v = y.v AND x.id < y.id "
    "GROUP BY x.k, window(x.ts, '10 seconds')",
    "outer": "SELECT x.id, x.ts, y.id AS other FROM events x LEFT JOIN others y ON x.k = y.k AND x.v = y.v "
    "AND y.ts BETWEEN x.ts - INTERVAL 4 SECONDS AND x.ts + INTERVAL 6 SECONDS",
    "full": "SELECT x.id, y.id AS other FROM (SELECT * FROM events WHERE v > 2) x FULL JOIN others y ON x.k = y.k "
    "AND x.v = y.v AND y.ts BETWEEN x.ts - INTERVAL 4 SECONDS AND x.ts + INTERVAL 6 SECONDS",
    "semi": "SELECT x.k, x.v FROM events x LEFT SEMI JOIN others y ON x.k = y.k AND x.v = y.v "
    "AND y.ts BETWEEN x.ts - INTERVAL 4 SECONDS AND x.ts + INTERVAL 6 SECONDS",
    "anti": "SELECT x.k, x.v FROM events x LEFT ANTI JOIN others y ON x.k = y.k AND x.v = y.v "
    "AND y.ts BETWEEN x.ts - INTERVAL 4 SECONDS AND x.ts + INTERVAL 6 SECONDS",
    "around": "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY ts "
    "RANGE BETWEEN INTERVAL 9 SECONDS PRECEDING AND CURRENT ROW) AS s FROM events",
    "running": "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM events",
    "places": "SELECT id, dense_rank() OVER (PARTITION BY k ORDER BY ts) AS r FROM events",
    "next": "SELECT ts, lead(ts) OVER (PARTITION BY k ORDER BY ts) AS following FROM events",
    "next ones": "SELECT ts, max(ts) OVER (PARTITION BY k ORDER BY ts "
    "ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) AS last FROM events",
}
"""Queries of which EMIT APPEND of a continuous table gives the same, by their kinds."""
UNBOUNDED = ("windows of joined", "running", "places", "next", "next ones")
"""Queries with an unbounded state."""
UPDATED = {
    "totals": ("k", "SELECT k, count(*) AS n, sum(v) AS s, count(DISTINCT v) AS m FROM events GROUP BY k"),
    "all": ("1", "SELECT 1 AS one, count(*) AS n, max(v) AS high FROM events"),
    "windows": ("start", f"SELECT window.start AS start, count(*) AS n FROM events GROUP BY {_WINDOW}"),
    "overlapping": (
        "start",
        "SELECT k, window.start AS start, sum(v) AS s FROM events GROUP BY k, window(ts, '20 seconds', '8 seconds')",
    ),
    "sets": (
        "g",
        "SELECT k, v, count(*) AS n, grouping__id AS g FROM events GROUP BY k, v GROUPING SETS ((k), (v), ())",
    ),
    "of joined": ("k", "SELECT x.k, count(*) AS n FROM events x JOIN events y ON x.v = y.v GROUP BY x.k"),
}


@contextmanager
def with_streams(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    """A session with the streams `events` and `others`, in which states are folded often."""
    few = {"shark.stream.kept.epochs": 2, "shark.compaction.min.blocks": 3}
    with sharkpy.connect("local[2]", tmp_path / "w", **few) as context:
        for name, place in (("events", tmp_path / "in"), ("others", tmp_path / "others")):
            place.mkdir()
            context.sql(f"CREATE STREAM {name} ({_COLUMNS}) STORED AS JSON FROM FOLDER '{place}'")
        yield context


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with with_streams(tmp_path) as context:
        yield context


def event(number: int, seconds: int | None, key: str | None = "a", value: int | None = 1) -> dict[str, object]:
    time = None if seconds is None else str(BEGIN + timedelta(seconds=seconds))
    return {"id": number, "k": key, "v": value, "ts": time}


def random_events(number: int, seed: int) -> Sequence[dict[str, object]]:
    """Events of an epoch, the same for each number and seed; some come late, some have no time."""
    chance, found = random.Random(number * 2 + seed), []
    for place in range(chance.choice((0, 4, 12))):
        behind = chance.choice((None, *range(-12, 8)))
        seconds = None if behind is None else number * 6 + behind
        found.append(event(number * 100 + place, seconds, chance.choice("ab"), chance.choice((None, *range(-1, 5)))))
    return found


def table_for(context: sharkpy.SharkContext, query: str, name: str = "got", properties: str = "") -> None:
    """Make an empty table for the rows of a query."""
    columns = ", ".join(f"`{column}` {dtype}" for column, dtype, *_ in rows(context, f"DESCRIBE QUERY {query}"))
    context.sql(f"CREATE TABLE {name} ({columns}) {properties}")


def in_order(found: Sequence[tuple[object, ...]]) -> list[str]:
    return sorted(map(repr, found))


def put_epoch(tmp_path: Path, number: int) -> None:
    for seed, name in enumerate(("in", "others")):
        put(tmp_path / name, f"{number:04d}.json", random_events(number, seed))


@pytest.mark.variants(3)
@pytest.mark.parametrize("num_epochs", [8, pytest.param(14, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", APPENDED)
def test_an_insert_has_what_a_table_has(
    context: sharkpy.SharkContext, tmp_path: Path, kind: str, num_epochs: int
) -> None:
    query = APPENDED[kind]
    table_for(context, query)
    clauses = f"{NOW} EMIT APPEND {STATE if kind in UNBOUNDED else ''}"
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} AS {query}")
    context.sql(f"CREATE CONTINUOUS INSERT i {clauses} AS INSERT INTO got {query}")
    given = 0
    for number in range(num_epochs):
        put_epoch(tmp_path, number)
        for one in ("TABLE t", "INSERT i"):
            context.sql(f"RESUME CONTINUOUS {one}")
        found = rows(context, "SELECT * FROM got")
        assert in_order(found) == in_order(rows(context, "SELECT * FROM t"))
        given = len(found)
    assert given > 3
    facts = dict(tuple(str(one).strip() for one in row[:2]) for row in rows(context, "DESCRIBE EXTENDED i"))
    if "Late Rows" in facts:
        assert (
            facts["Late Rows"]
            == dict(tuple(str(one).strip() for one in row[:2]) for row in rows(context, "DESCRIBE EXTENDED t"))[
                "Late Rows"
            ]
        )


def test_distinct_rows_are_given_when_they_are_new(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    query = "SELECT DISTINCT k, v FROM events"
    table_for(context, query)
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} {STATE} AS INSERT INTO got {query}")
    for number in range(6):
        put_epoch(tmp_path, number)
        context.sql("RESUME CONTINUOUS INSERT i")
        assert in_order(rows(context, "SELECT * FROM got")) == in_order(rows(context, query))


class Changes:
    """Function that keeps the last row of each group, and the rows of each epoch."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self.known: dict[tuple[object, ...], tuple[object, ...]] = {}
        self.last: list[tuple[object, ...]] = []

    def __call__(self, _epoch: int, given: pa.Table) -> None:
        self.last = [tuple(row.values()) for row in given.to_pylist()]
        keys = [tuple(row[key] for key in self._keys) for row in given.to_pylist()]
        assert len(set(keys)) == len(keys), "each group comes once in an epoch"
        self.known |= dict(zip(keys, self.last, strict=True))


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", UPDATED)
def test_a_program_gets_the_groups_that_change(context: sharkpy.SharkContext, tmp_path: Path, kind: str) -> None:
    _, query = UPDATED[kind]
    columns = [str(row[0]) for row in rows(context, f"DESCRIBE QUERY {query}")]
    changes = Changes([name for name in columns if name in ("k", "v", "g", "one", "start")])
    context.sql(f"CREATE CONTINUOUS SINK s TO PROGRAM {NOW} EMIT UPDATE {STATE} AS {query}")
    handle = context.foreach_batch("s", changes)
    before: list[str] = []
    written = 0
    for number in range(10):
        put_epoch(tmp_path, number)
        changes.last = []
        handle.resume()
        written += len(changes.last)
        now = in_order(rows(context, query))
        assert in_order(list(changes.known.values())) == now
        assert set(now) - set(before) <= set(map(repr, changes.last))
        before = now
    assert rows(context, "SHOW CONTINUOUS TABLES LIKE 's'")[0][6] == written


@pytest.mark.slow
def test_closed_windows_do_not_change_and_are_forgotten(context: sharkpy.SharkContext, folder: Path) -> None:
    """Without UNBOUNDED STATE a watermark closes windows, and rows that come to one are late."""
    changes = Changes(["start"])
    query = f"SELECT window.start AS start, count(*) AS n FROM events GROUP BY {_WINDOW}"
    context.sql(f"CREATE CONTINUOUS SINK s TO PROGRAM {NOW} EMIT UPDATE LATE ROWS TO late AS {query}")
    handle = context.foreach_batch("s", changes)
    given = []
    for number, seconds in enumerate([(1, 2), (3, 12), (27,), (4, 28), (13,), *((30 + 10 * n,) for n in range(30))]):
        put(folder, f"{number:04d}.json", [event(number, one) for one in seconds])
        changes.last = []
        handle.resume()
        given.append(sorted((start.second, n) for start, n in changes.last if isinstance(start, datetime)))
    assert given[:5] == [[(0, 2)], [(0, 3), (10, 1)], [(20, 1)], [(20, 2)], []]
    assert rows(context, "SELECT second(ts) FROM late ORDER BY ts") == [(4,), (13,)]
    facts = dict(tuple(str(one).strip() for one in row[:2]) for row in rows(context, "DESCRIBE EXTENDED s"))
    assert facts["Late Rows"] == "2"
    ((kept,),) = rows(context, "SELECT count(DISTINCT group0) FROM STATE OF s")
    assert isinstance(kept, int)
    assert kept < 20


FORGOTTEN = ("tumbling", "sessions", "anti", "outer", "joined")


@pytest.mark.parametrize(
    ("kind", "num_epochs"),
    [("tumbling", 16), ("anti", 16), *(pytest.param(kind, 40, marks=pytest.mark.slow) for kind in FORGOTTEN)],
)
def test_what_was_given_is_forgotten(context: sharkpy.SharkContext, tmp_path: Path, kind: str, num_epochs: int) -> None:
    """The state does not grow with the stream."""
    table_for(context, APPENDED[kind])
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS INSERT INTO got {APPENDED[kind]}")
    sizes: list[int] = []
    for number in range(num_epochs):
        for place in ("in", "others"):
            found = [event(number * 100 + n, number * 10 + n, "ab"[n % 2], n % 3) for n in range(8)]
            put(tmp_path / place, f"{number:04d}.json", found)
        context.sql("RESUME CONTINUOUS INSERT i")
        ((size,),) = rows(context, "SELECT count(*) FROM STATE OF i")
        assert isinstance(size, int)
        sizes.append(size)
    half = num_epochs // 2
    assert max(sizes[half:]) < 1.5 * max(sizes[:half])


def test_several_targets_with_states_of_their_own(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql("CREATE TABLE per_window (k STRING, n BIGINT)")
    context.sql("CREATE TABLE kinds (k STRING)")
    context.sql("CREATE TABLE plain (id BIGINT)")
    text = (
        "FROM (SELECT id, k, v, ts FROM events WHERE v IS NOT NULL) e "
        f"INSERT INTO per_window SELECT k, count(*) GROUP BY k, {_WINDOW} "
        "INSERT INTO kinds SELECT DISTINCT k INSERT INTO plain SELECT id WHERE v > 2"
    )
    context.sql(
        f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS SELECT k, count(*) AS n FROM events "
        f"WHERE v IS NOT NULL GROUP BY k, {_WINDOW}"
    )
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} {STATE} AS {text}")
    for number in range(8):
        put_epoch(tmp_path, number)
        context.sql("RESUME CONTINUOUS TABLE t")
        context.sql("RESUME CONTINUOUS INSERT i")
        assert in_order(rows(context, "SELECT * FROM per_window")) == in_order(rows(context, "SELECT * FROM t"))
        distinct = rows(context, "SELECT DISTINCT k FROM events WHERE v IS NOT NULL")
        assert in_order(rows(context, "SELECT * FROM kinds")) == in_order(distinct)
        ids = rows(context, "SELECT id FROM events WHERE v > 2")
        assert in_order(rows(context, "SELECT * FROM plain")) == in_order(ids)
    written = sum(len(rows(context, f"SELECT * FROM {name}")) for name in ("per_window", "kinds", "plain"))
    assert rows(context, "SHOW CONTINUOUS TABLES LIKE 'i'")[0][6] == written


@pytest.mark.variants(9)
@pytest.mark.parametrize("step", kill_points.POINTS)
@pytest.mark.parametrize("properties", ["", MEMORY])
def test_an_epoch_that_fails_between_two_steps(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, properties: str, step: str
) -> None:
    """State, offsets and targets belong to the same epoch; the next try goes on."""
    query = APPENDED["tumbling"]
    table_for(context, query, properties=properties)
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {query}")
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS INSERT INTO got {query}")
    for number in range(9):
        put_epoch(tmp_path, number)
        context.sql("RESUME CONTINUOUS TABLE t")
        ((epoch,),) = rows(context, "SELECT epoch FROM sys.continuous_tables WHERE name = 'i'")

        def fail(done: str) -> None:
            if done == step:
                monkeypatch.setattr(kill_points, "observer", None)
                raise SharkError("killed", sqlstate="XX000")

        before = rows(context, "SELECT * FROM got")
        if number % 2:
            monkeypatch.setattr(kill_points, "observer", fail)
            with pytest.raises(SharkError, match="killed"):
                context.sql("RESUME CONTINUOUS INSERT i")
            counts = rows(context, "SELECT epoch FROM sys.continuous_tables WHERE name = 'i'") != [(epoch,)]
            assert counts == (step in (kill_points.COMMITTED, kill_points.ENDED))
            if not counts:
                assert in_order(rows(context, "SELECT * FROM got")) == in_order(before)
        context.sql("RESUME CONTINUOUS INSERT i")
        assert in_order(rows(context, "SELECT * FROM got")) == in_order(rows(context, "SELECT * FROM t"))


def test_an_epoch_that_is_outside_already(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic may have an epoch that the catalog lacks. The epoch is not sent again, and its state is computed."""
    query, epochs = "SELECT k, count(*) AS n FROM events GROUP BY k", list[int]()
    changes = Changes(["k"])

    def take(epoch: int, given: pa.Table) -> None:
        epochs.append(epoch)
        changes(epoch, given)

    def fail(done: str) -> None:
        if done == kill_points.STAGED:
            monkeypatch.setattr(kill_points, "observer", None)
            raise SharkError("killed", sqlstate="XX000")

    context.sql(f"CREATE CONTINUOUS SINK s TO PROGRAM {NOW} EMIT UPDATE {STATE} AS {query}")
    handle = context.foreach_batch("s", take)
    query_id = context.catalog.table("default", "s").continuous
    for number in (1, 2, 3):
        put(tmp_path / "in", f"{number}.json", [event(number, number, "ab"[number % 2])])
        monkeypatch.setattr(kill_points, "observer", fail if number == 2 else None)
        if number != 2:
            handle.resume()
            continue
        with pytest.raises(SharkError, match="killed"):
            handle.resume()
        begun = context.streams.log(query_id).begun(2)
        assert begun is not None
        mark = mark_of(begun.ranges)
        with monkeypatch.context() as patched:
            patched.setattr(ProgramSink, "written", lambda _, now, __, mark=mark: mark if now.epoch == 1 else None)
            handle.resume()
    assert epochs == [1, 2, 3]
    assert in_order(list(changes.known.values())) == in_order(rows(context, query))


def test_it_goes_on_after_a_restart(tmp_path: Path) -> None:
    query = APPENDED["tumbling"]
    for number in range(6):
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            if not number:
                for name in ("events", "others"):
                    place = tmp_path / ("in" if name == "events" else name)
                    place.mkdir()
                    context.sql(f"CREATE STREAM {name} ({_COLUMNS}) STORED AS JSON FROM FOLDER '{place}'")
                table_for(context, query)
                context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {query}")
                context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS INSERT INTO got {query}")
            put_epoch(tmp_path, number)
            for one in ("TABLE t", "INSERT i"):
                context.sql(f"RESUME CONTINUOUS {one}")
            assert in_order(rows(context, "SELECT * FROM got")) == in_order(rows(context, "SELECT * FROM t"))


def test_it_is_steered_by_its_name(context: sharkpy.SharkContext, folder: Path) -> None:
    text = f"SELECT k, count(*) AS n FROM events GROUP BY k, {_WINDOW}"
    table_for(context, text)
    context.sql(f"CREATE CONTINUOUS INSERT i AS INSERT INTO got {text}")
    for number in range(3):
        put(folder, f"{number}.json", [event(number, number * 10)])
        context.stream("i").await_epoch(number + 1, 60)
    context.sql("PAUSE CONTINUOUS INSERT i")
    assert rows(context, "SELECT * FROM got") == [("a", 1)]
    assert state_of(context, "i") == ("PAUSED", None)
    shown = "\n".join(str(row[0]) for row in rows(context, "SHOW CREATE TABLE i"))
    assert "EMIT APPEND" in shown
    assert "shark." not in shown
    facts = dict(tuple(str(one).strip() for one in row[:2]) for row in rows(context, "DESCRIBE EXTENDED i"))
    assert (facts["Emit"], facts["Watermark of default.events"]) == ("APPEND", "2024-05-01 10:00:15")
    assert "Kept State" in facts
    assert rows(context, "SELECT count(*) FROM STATE OF i FOR SYSTEM_VERSION AS OF 2 WHERE part = 0") == [(2,)]
    with pytest.raises(BindError, match="has no rows"):
        context.sql("SELECT * FROM i")
    for refused in ("CREATE STREAM c FROM TABLE i", "DROP TABLE i", "DROP VIEW i", "ALTER VIEW i RENAME TO j"):
        with pytest.raises(BindError, match=" is a "):
            context.sql(refused)
    for refused in (
        "SET TBLPROPERTIES ('shark.stream.gives' = 'UPDATE')",
        "UNSET TBLPROPERTIES ('shark.stream.gives')",
    ):
        with pytest.raises(BindError, match="cannot be changed"):
            context.sql(f"ALTER TABLE i {refused}")
    with pytest.raises(SharkError, match="belongs to another query"):
        context.sql("ALTER CONTINUOUS INSERT i AS INSERT INTO got SELECT k, sum(v) FROM events GROUP BY k, " + _WINDOW)
    with pytest.raises(SharkError, match="belongs to another query"):
        context.sql("ALTER CONTINUOUS INSERT i AS INSERT INTO got SELECT k, id FROM events")
    context.sql(
        f"ALTER CONTINUOUS INSERT i {NOW} AS INSERT INTO got {text.replace('k, count(*) AS n', 'upper(k), count(*)')}"
    )
    context.sql("ALTER TABLE i RENAME TO j")
    put(folder, "3.json", [event(3, 50)])
    context.sql("RESUME CONTINUOUS INSERT j")
    assert in_order(rows(context, "SELECT * FROM got")) == in_order([("a", 1), ("A", 1), ("A", 1)])
    place = Path(context.catalog.state_table(context.catalog.table("default", "j")).location or "")
    assert place.exists()
    context.sql("DROP CONTINUOUS INSERT j")
    assert [one.name for one in context.catalog.tables("default", with_states=True)] == ["events", "got", "others"]
    assert len(rows(context, "SELECT * FROM got")) == 3


def test_rows_that_wait_are_given_when_they_were_to_be(context: sharkpy.SharkContext, folder: Path) -> None:
    """A query that gives the same waiting rows sooner, or later, would lose some or give them twice."""
    before, behind = (
        f"SELECT id, count(*) OVER (ORDER BY ts RANGE BETWEEN {frame}) AS n FROM events"
        for frame in ("INTERVAL 20 SECONDS PRECEDING AND CURRENT ROW", "CURRENT ROW AND INTERVAL 20 SECONDS FOLLOWING")
    )
    context.sql("CREATE TABLE got (id BIGINT, n BIGINT)")
    for name, first, second in (("one", before, behind), ("two", behind, before)):
        context.sql(f"CREATE CONTINUOUS INSERT {name} {NOW} AS INSERT INTO got {first}")
        with pytest.raises(SharkError, match="belongs to another query"):
            context.sql(f"ALTER CONTINUOUS INSERT {name} AS INSERT INTO got {second}")
        context.sql(f"ALTER CONTINUOUS INSERT {name} AS INSERT INTO got {first.replace('count(*)', '2 * count(*)')}")


def test_the_query_of_idle_streams_may_be_another(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        columns = f"{_COLUMNS} IDLE AFTER 1 SECONDS"
        context.sql(f"CREATE STREAM {name} ({columns}) STORED AS JSON FROM FOLDER '{tmp_path / name}'")
    both = f"FROM (SELECT * FROM x UNION ALL SELECT * FROM y) u GROUP BY k, {_WINDOW}"
    context.sql("CREATE TABLE got (k STRING, n BIGINT)")
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS INSERT INTO got SELECT k, count(*) {both}")
    context.sql(f"ALTER CONTINUOUS INSERT i {NOW} AS INSERT INTO got SELECT upper(k), count(*) {both}")
    with pytest.raises(SharkError, match="belongs to another query"):
        context.sql(f"ALTER CONTINUOUS INSERT i AS INSERT INTO got SELECT k, sum(v) {both}")


def test_rollback(context: sharkpy.SharkContext, folder: Path) -> None:
    """The state goes back, and so do the streams; what the targets have is people's to mend."""
    text = f"SELECT window.start AS start, count(*) AS n FROM events GROUP BY {_WINDOW}"
    table_for(context, text)
    context.sql(f"CREATE CONTINUOUS INSERT i AS INSERT INTO got {text}")
    for number in range(4):
        put(folder, f"{number}.json", [event(number, number * 10)])
        context.stream("i").await_epoch(number + 1, 60)
    first = rows(context, "SELECT * FROM got ORDER BY start")
    assert [n for _, n in first] == [1, 1]
    with pytest.raises(BindError, match="leaves its targets as they are"):
        context.sql("ROLLBACK CONTINUOUS INSERT i TO EPOCH 3")
    context.sql("PAUSE CONTINUOUS INSERT i")
    context.sql("ROLLBACK CONTINUOUS INSERT i TO EPOCH 3")
    assert rows(context, "SELECT epoch FROM sys.continuous_tables") == [(3,)]
    context.sql("DELETE FROM got WHERE second(start) = 10")
    context.sql("RESUME CONTINUOUS INSERT i")
    context.stream("i").await_epoch(4, 60)
    assert rows(context, "SELECT * FROM got ORDER BY start") == first
    with pytest.raises(SharkError, match="its targets have other rows too"):
        context.sql("REFRESH CONTINUOUS INSERT i")


def test_late_rows(context: sharkpy.SharkContext, folder: Path) -> None:
    text = f"SELECT window.start AS start, count(*) AS n FROM events GROUP BY {_WINDOW}"
    table_for(context, text)
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} LATE ROWS TO late AS INSERT INTO got {text}")
    for number, seconds in enumerate([(1, 30), (2, 31), (60,)]):
        put(folder, f"{number}.json", [event(number, one) for one in seconds])
        context.sql("RESUME CONTINUOUS INSERT i")
    assert rows(context, "SELECT id, second(ts) FROM late") == [(1, 2)]
    assert rows(context, "SELECT second(start), n FROM got ORDER BY start") == [(0, 1), (30, 2)]
    assert "LATE ROWS TO `default`.`late`" in [str(row[0]) for row in rows(context, "SHOW CREATE TABLE i")]


def test_rows_of_a_table_come_first(context: sharkpy.SharkContext, folder: Path) -> None:
    text = f"SELECT window.start AS start, count(*) AS n FROM events GROUP BY {_WINDOW}"
    table_for(context, text)
    context.sql("CREATE TABLE history (id BIGINT, k STRING, v INT, ts TIMESTAMP)")
    context.sql("INSERT INTO history VALUES (1, 'a', 1, '2024-05-01 10:00:01'), (2, 'a', 1, '2024-05-01 10:00:17')")
    context.sql(
        f"CREATE CONTINUOUS INSERT i {NOW} START FROM TABLE history THEN STREAM events FROM EARLIEST "
        f"AS INSERT INTO got {text}"
    )
    assert rows(context, "SELECT second(start), n FROM got") == [(0, 1)]
    put(folder, "1.json", [event(1, 18), event(2, 40)])
    context.sql("RESUME CONTINUOUS INSERT i")
    assert rows(context, "SELECT second(start), n FROM got ORDER BY start") == [(0, 1), (10, 2)]


@pytest.mark.parametrize("is_written", [False, True])
def test_rows_of_a_table_that_are_outside_already(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    """Their state is computed again, if the table has no rows of the stream that come with the next epoch."""
    changes = Changes(["k"])

    def fail(done: str) -> None:
        if done == kill_points.STAGED:
            monkeypatch.setattr(kill_points, "observer", None)
            raise SharkError("killed", sqlstate="XX000")

    context.sql("CREATE TABLE history (id BIGINT, k STRING)")
    context.sql("CREATE STREAM appended FROM TABLE history")
    context.sql("INSERT INTO history VALUES (1, 'a'), (2, 'b')")
    context.sql(
        f"CREATE CONTINUOUS SINK s TO PROGRAM {NOW} EMIT UPDATE {STATE} START FROM TABLE history THEN STREAM appended "
        "AS SELECT k, count(*) AS n FROM appended GROUP BY k"
    )
    monkeypatch.setattr(kill_points, "observer", fail)
    with pytest.raises(SharkError, match="killed"):
        context.foreach_batch("s", changes).resume()
    begun = context.streams.log(context.catalog.table("default", "s").continuous).begun(1)
    assert begun is not None
    mark = mark_of(begun.ranges)
    if is_written:
        context.sql("INSERT INTO history VALUES (3, 'a')")
    with monkeypatch.context() as patched:
        patched.setattr(ProgramSink, "written", lambda _, query, __: mark if query.epoch == 0 else None)
        if is_written:
            with pytest.raises(BindError, match="history has got rows of the stream since"):
                context.sql("RESUME CONTINUOUS SINK s")
            return
        context.sql("RESUME CONTINUOUS SINK s")
    context.sql("INSERT INTO history VALUES (3, 'a')")
    context.sql("RESUME CONTINUOUS SINK s")
    assert in_order(list(changes.known.values())) == in_order([("a", 2), ("b", 1)])


def test_a_table_without_rows_that_wait_comes_before_no_stream(context: sharkpy.SharkContext, folder: Path) -> None:
    """Rows of the stream that are in a state would be in neither."""
    context.sql("CREATE TABLE got (id BIGINT, k STRING, v INT, ts TIMESTAMP)")
    query = "SELECT id, k, v, ts FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY ts) AS r FROM events) e"
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} {STATE} AS INSERT INTO got {query}")
    put(folder, "1.json", [event(number, number * 3) for number in range(6)])
    context.sql("RESUME CONTINUOUS INSERT i")
    start = "START FROM TABLE got THEN STREAM events"
    with pytest.raises(BindError, match="has rows of the stream that it has not given yet"):
        context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {start} AS SELECT id FROM events")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {start} FROM LATEST AS SELECT id FROM events")
    assert 0 < len(rows(context, "SELECT * FROM t")) < 6


def test_bad_rows_are_counted_once(context: sharkpy.SharkContext, folder: Path) -> None:
    """Though the state, a row-wise INSERT and the late rows are computed of the same records."""
    context.sql("CREATE TABLE got (n BIGINT)")
    context.sql(
        f"CREATE CONTINUOUS INSERT i {NOW} ON BAD ROW SKIP TO bad LATE ROWS TO late AS FROM events "
        f"INSERT INTO got SELECT count(*) GROUP BY {_WINDOW} INSERT INTO got SELECT id"
    )
    put(folder, "1.json", [event(1, 1), {"id": "none"}, event(2, 40)])
    context.sql("RESUME CONTINUOUS INSERT i")
    assert sorted(rows(context, "SELECT n FROM got")) == [(1,), (1,), (2,)]
    assert rows(context, "SELECT count(*) FROM bad") == [(1,)]
    assert [(row[3], row[6]) for row in rows(context, "SHOW EPOCHS i")] == [(3, 1)]
    with pytest.raises(UnsupportedError, match="ROLLBACK of a continuous insert whose bad rows go to a table"):
        context.sql("ROLLBACK CONTINUOUS INSERT i TO EPOCH 1")


def test_bad_rows_of_a_sink_are_counted_once(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(
        f"CREATE CONTINUOUS SINK s TO PROGRAM {NOW} AS SELECT count(*) AS n FROM events GROUP BY {_WINDOW} "
        "UNION ALL SELECT id FROM events"
    )
    changes = Changes(["n"])
    put(folder, "1.json", [event(11, 1), {"id": "none"}, event(12, 40)])
    context.foreach_batch("s", changes).resume()
    assert [(row[3], row[6]) for row in rows(context, "SHOW EPOCHS s")] == [(4, 1)]


def test_files_of_closed_windows(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    text = f"SELECT window.start AS start, count(*) AS n FROM events GROUP BY {_WINDOW}"
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{out}' STORED AS JSON {NOW} AS {text}")
    for number in range(4):
        put(folder, f"{number}.json", [event(number, number * 10)])
        context.sql("RESUME CONTINUOUS SINK s")
    found = [json.loads(line) for file in sorted(out.glob("*.json*")) for line in file.read_text().splitlines()]
    assert [(one["start"][-2:], one["n"]) for one in found] == [("00", 1), ("10", 1)]
    context.sql("DROP CONTINUOUS SINK s")
    assert [one.name for one in context.catalog.tables("default", with_states=True)] == ["events", "others"]


def test_a_dstream_gives_a_function_its_groups(context: sharkpy.SharkContext, folder: Path) -> None:
    changes = Changes(["k"])
    counts = context.stream("events").key_by("k").count()
    handle = counts.foreach_batch(changes, name="s", emit="UPDATE", unbounded=True)
    put(folder, "1.json", [event(1, 1), event(2, 2, "b")])
    handle.await_epoch(1, 60)
    put(folder, "2.json", [event(3, 1)])
    handle.await_epoch(2, 60)
    assert sorted(changes.known.values()) == [("a", 2), ("b", 1)]
    assert changes.last == [("a", 2)]
    counts.foreach_batch(changes, name="s", emit="UPDATE", unbounded=True)
    with pytest.raises(BindError, match="has EMIT UPDATE, and not EMIT APPEND"):
        counts.foreach_batch(changes, name="s", unbounded=True)


def test_states_that_go_on_are_given(context: sharkpy.SharkContext, folder: Path) -> None:
    """Of aggregates without merge the latest state of each group that has changed."""
    changes = Changes(["k"])

    def last_two(state: list[int], row: Row) -> list[int]:
        return [*state[-1:], row.v]

    states = (
        context.stream("events")
        .key_by("k")
        .update_state_by_key(last_two, initial=[], returns="array<int>", columns=("ts", "v"))
    )
    handle = states.foreach_batch(changes, name="s", emit="UPDATE", unbounded=True)
    for number, (key, value) in enumerate([("a", 1), ("b", 2), ("a", 3), ("a", 4)]):
        put(folder, f"{number}.json", [event(number, number, key, value)])
        handle.await_epoch(number + 1, 60)
    assert changes.last == [("a", [3, 4])]
    assert changes.known[("b",)] == ("b", [2])


def test_explain(context: sharkpy.SharkContext) -> None:
    text = f"SELECT k, count(*) AS n FROM events GROUP BY k, {_WINDOW}"
    table_for(context, text)
    insert = f"EXPLAIN CREATE CONTINUOUS INSERT i AS INSERT INTO got {text}"
    found = [str(row[0]) for row in rows(context, insert)]
    assert "emit: APPEND: an epoch emits rows that do not change any more, each once" in found
    kept = [line for line in found if line.startswith("kept: states of count")]
    assert kept[0].endswith("given when the watermark closes their windows")
    sink = f"EXPLAIN CREATE CONTINUOUS SINK s TO PROGRAM EMIT UPDATE AS {text}"
    kept = [str(row[0]) for row in rows(context, sink) if str(row[0]).startswith("kept: states")]
    assert kept[0].endswith("kept until the watermark closes their windows")
    joined = "SELECT got.n, count(*) AS m FROM events e JOIN got ON e.k = got.k GROUP BY got.n"
    sink = f"EXPLAIN CREATE CONTINUOUS SINK s TO PROGRAM EMIT UPDATE {STATE} AS {joined}"
    assert ("table default.got: each epoch reads its current version",) in rows(context, sink)


@pytest.mark.parametrize(
    ("statement", "error", "hint"),
    [
        (
            "INSERT i AS INSERT INTO got SELECT k, count(*) FROM events GROUP BY k",
            "whose rows change",
            "a sink TO KAFKA",
        ),
        (
            "INSERT i EMIT UPDATE AS INSERT INTO got SELECT k, count(*) FROM events GROUP BY k",
            "EMIT UPDATE of",
            "TABLE",
        ),
        (
            "INSERT i EMIT COMPLETE AS INSERT INTO got SELECT k, count(*) FROM events GROUP BY k",
            "of an insert or a sink",
            "EMIT APPEND",
        ),
        (
            "INSERT i AS INSERT INTO got SELECT k, v FROM events ORDER BY v LIMIT 3",
            "whose rows change",
            "TABLE has the current rows",
        ),
        ("INSERT i AS INSERT INTO got SELECT DISTINCT k, v FROM events", "grows with the values", "UNBOUNDED"),
        (
            f"INSERT i AS FROM events INSERT INTO got SELECT k, count(*) GROUP BY k, {_WINDOW} "
            "INSERT INTO got SELECT k, id WHERE k IN (SELECT k FROM got)",
            "a subquery with several INSERTs",
            "separate INSERTs",
        ),
        (
            "INSERT i AS INSERT INTO got SELECT k, id FROM events UNION ALL SELECT k, n FROM got",
            "EMIT APPEND of UNION ALL of a stream and existing rows, which may change",
            "START FROM TABLE",
        ),
        (
            f"INSERT i AS INSERT INTO got SELECT k, count(*) FROM events GROUP BY k, {_WINDOW} "
            "UNION ALL SELECT k, n FROM got",
            "EMIT APPEND of UNION ALL of a stream and existing rows",
            "TABLE has the current rows",
        ),
        (
            "SINK s TO PROGRAM EMIT UPDATE WITH UNBOUNDED STATE AS SELECT k, count(*) AS n "
            "FROM (SELECT k FROM events UNION ALL SELECT k FROM got) b GROUP BY k",
            "EMIT UPDATE of UNION ALL of a stream and existing rows",
            "TABLE has the current rows",
        ),
        ("INSERT i LATE ROWS TO late AS INSERT INTO got SELECT k, v FROM events", "leaves out no rows", "EMIT APPEND"),
        ("TABLE t TBLPROPERTIES ('shark.stream.gives' = 'UPDATE') AS SELECT k FROM events", "the property", "None"),
        (
            "SINK s TO FOLDER '{}/x' EMIT UPDATE AS SELECT k, count(*) AS n FROM events GROUP BY k",
            "TO FOLDER",
            "APPEND",
        ),
        (
            "SINK s TO KAFKA ('bootstrap.servers' = 'h:1', 'topic' = 't') EMIT UPDATE WITH UNBOUNDED STATE "
            "AS SELECT k, count(*) AS n FROM events GROUP BY k",
            "without a column __key",
            "APPEND",
        ),
        ("SINK s TO PROGRAM EMIT UPDATE AS SELECT k, count(*) AS n FROM events GROUP BY k", "grows with", "UNBOUNDED"),
        (
            "SINK s TO PROGRAM EMIT UPDATE AS SELECT count(*) AS n FROM events "
            "GROUP BY session_window(ts, '3 seconds')",
            "whose rows change",
            "but not sessions",
        ),
        (
            "SINK s TO PROGRAM EMIT UPDATE WITH UNBOUNDED STATE AS "
            "SELECT n, count(*) AS m FROM (SELECT k, count(*) AS n FROM events GROUP BY k) x GROUP BY n",
            "whose rows change",
            "with expressions over each group",
        ),
    ],
)
def test_refused(context: sharkpy.SharkContext, tmp_path: Path, statement: str, error: str, hint: str) -> None:
    context.sql("CREATE TABLE got (k STRING, n BIGINT)")
    with pytest.raises(UnsupportedError, match=error) as found:
        context.sql(f"CREATE CONTINUOUS {statement.format(tmp_path)}")
    assert hint in str(found.value.hint)
    assert rows(context, "SHOW CONTINUOUS TABLES") == []


def test_one_without_state_gets_none(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE TABLE got (k STRING, n BIGINT)")
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS INSERT INTO got SELECT k, id FROM events")
    with pytest.raises(UnsupportedError) as found:
        context.sql(
            f"ALTER CONTINUOUS INSERT i AS INSERT INTO got SELECT k, count(*) FROM events GROUP BY k, {_WINDOW}"
        )
    assert "create a new one" in str(found.value.hint)
