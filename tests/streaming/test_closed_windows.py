"""EMIT APPEND: windows are given when a watermark closes them, and do not change any more."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sharkpy
from sharkpy.base.errors import SharkError, UnsupportedError
from sharkpy.sql.context import StatementClock
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STATE = "WITH UNBOUNDED STATE"
BEGIN = datetime(2024, 5, 1, 10, 0)
Row = tuple[str, datetime | None]
_COLUMNS = "k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"


pytestmark = pytest.mark.settings({"shark.stream.kept.epochs": 3, "shark.compaction.min.blocks": 3})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    folder.mkdir()
    context.sql(f"CREATE STREAM events ({_COLUMNS}) STORED AS JSON FROM FOLDER '{folder}'")
    context.sql(f"CREATE STREAM plain (k STRING, ts TIMESTAMP) STORED AS JSON FROM FOLDER '{folder}'")
    return context


class Model:
    """Expected rows of a table of closed windows, epoch by epoch."""

    def __init__(self, size: int, slide: int, delay: int) -> None:
        self.size, self.slide, self.delay = size, slide, timedelta(seconds=delay)
        self.latest: datetime | None = None
        self.counts = Counter[tuple[str, datetime]]()
        self.late = 0

    def epoch(self, given: Sequence[Row]) -> None:
        before = self.watermark
        for key, time in given:
            if time is None:
                continue
            begins = [begin for begin in self._begins(time) if before is None or self._end(begin) > before]
            self.late += not begins
            self.counts.update((key, begin) for begin in begins)
        times = [time for _, time in given if time is not None]
        self.latest = max(times if self.latest is None else [*times, self.latest], default=None)

    @property
    def watermark(self) -> datetime | None:
        return None if self.latest is None else self.latest - self.delay

    @property
    def answer(self) -> dict[tuple[str, datetime], int]:
        mark = self.watermark
        return {one: n for one, n in self.counts.items() if mark is not None and self._end(one[1]) <= mark}

    def _begins(self, time: datetime) -> Iterator[datetime]:
        seconds = int((time - BEGIN).total_seconds())
        last = seconds - seconds % self.slide
        return (BEGIN + timedelta(seconds=at) for at in range(last, seconds - self.size, -self.slide))

    def _end(self, begin: datetime) -> datetime:
        return begin + timedelta(seconds=self.size)


def put(folder: Path, number: int, given: Sequence[Row]) -> None:
    text = "".join(f"{json.dumps({'k': key, 'ts': None if time is None else str(time)})}\n" for key, time in given)
    (folder / f"{number:04d}.tmp").write_text(text)
    (folder / f"{number:04d}.tmp").rename(folder / f"{number:04d}.json")


def at(*seconds: int | None, key: str = "a") -> list[Row]:
    return [(key, None if one is None else BEGIN + timedelta(seconds=one)) for one in seconds]


def answer(context: sharkpy.SharkContext, table: str = "t") -> dict[tuple[object, object], object]:
    return {(key, start): n for key, start, n in rows(context, f"SELECT k, start, n FROM {table}")}


def epoch(context: sharkpy.SharkContext, folder: Path, number: int, given: Sequence[Row]) -> None:
    put(folder, number, given)
    context.sql("RESUME CONTINUOUS TABLE t")


def query(size: int, slide: int, stream: str = "events") -> str:
    window = f"window(ts, '{size} seconds', '{slide} seconds')"
    return f"SELECT k, window.start AS start, count(*) AS n FROM {stream} GROUP BY k, {window}"


@pytest.mark.variants(3)
@pytest.mark.parametrize(("size", "slide"), [(10, 10), (10, 4), (6, 5), (20, 2)])
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_windows_are_given_when_they_are_closed(
    context: sharkpy.SharkContext, folder: Path, size: int, slide: int, clauses: str
) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} EMIT APPEND AS {query(size, slide)}")
    chance, model = random.Random(size * slide), Model(size, slide, 5)
    assert answer(context) == {}
    for number in range(12):
        behind = [chance.choice([None, chance.randrange(-50, 8)]) for _ in range(chance.choice([0, 3, 15]))]
        given = at(*(None if one is None else number * 6 + one for one in behind), key=chance.choice("abc"))
        earlier = model.answer
        epoch(context, folder, number, given)
        model.epoch(given)
        assert answer(context) == model.answer
        assert earlier.items() <= model.answer.items()
        ((late,),) = rows(context, "SELECT coalesce(sum(late), 0) FROM STATE OF t")
        assert late == model.late
    assert model.late
    assert model.answer


def test_late_rows_correct_the_answer_that_is_updated(context: sharkpy.SharkContext, folder: Path) -> None:
    """With a watermark windows bound the state."""
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS {query(10, 10)}")
    epoch(context, folder, 1, at(1, 2, 40))
    epoch(context, folder, 2, at(3))
    assert sorted(answer(context).values()) == [1, 3]


@pytest.mark.parametrize("is_made", [False, True])
def test_late_rows_are_kept(context: sharkpy.SharkContext, folder: Path, is_made: bool) -> None:
    if is_made:
        context.sql("CREATE TABLE late (ts TIMESTAMP, k STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY')")
        context.sql("INSERT INTO late VALUES (NULL, 'own')")
    text = query(10, 4).replace("FROM events", "FROM events WHERE k <> 'x'")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND LATE ROWS TO late AS {text}")
    epoch(context, folder, 1, at(1, 40))
    assert rows(context, "SELECT k, ts FROM late WHERE k <> 'own'") == []
    # A row that is still in one of its windows is not late.
    epoch(context, folder, 2, [*at(2, 3, 33), *at(4, key="x")])
    late = [("a", BEGIN + timedelta(seconds=2)), ("a", BEGIN + timedelta(seconds=3))]
    assert rows(context, "SELECT k, ts FROM late WHERE k <> 'own' ORDER BY ts") == late
    put(folder, 3, at(5, 90))
    with pytest.raises(UnsupportedError, match="late rows go to a table"):
        context.sql("REFRESH CONTINUOUS TABLE t")
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT count(*) FROM late WHERE k = 'a'") == [(3,)]
    shown = "\n".join(row[0] for row in rows(context, "SHOW CREATE TABLE t"))
    assert "LATE ROWS TO `default`.`late`" in shown
    context.sql("DROP TABLE late")
    put(folder, 4, at(91))
    with pytest.raises(SharkError, match="the table for late rows was dropped"):
        context.sql("RESUME CONTINUOUS TABLE t")


@pytest.mark.parametrize(
    ("table", "clauses", "text", "error"),
    [
        ("(k STRING)", "EMIT APPEND", query(10, 10), "does not fit late rows"),
        ("(k STRING, ts TIMESTAMP)", "", query(10, 10), "leaves out no rows"),
        ("(k STRING, ts TIMESTAMP)", "", "SELECT k FROM events", "leaves out no rows"),
    ],
)
def test_late_rows_that_are_refused(
    context: sharkpy.SharkContext, table: str, clauses: str, text: str, error: str
) -> None:
    context.sql(f"CREATE TABLE late {table}")
    with pytest.raises(SharkError, match=error):
        context.sql(f"CREATE CONTINUOUS TABLE t {clauses} LATE ROWS TO late AS {text}")
    with pytest.raises(UnsupportedError, match="leaves out no rows"):
        context.sql("CREATE CONTINUOUS INSERT i LATE ROWS TO late AS INSERT INTO late (k) SELECT k FROM events")


def test_sessions_are_given_when_they_are_closed(context: sharkpy.SharkContext, folder: Path) -> None:
    """A session closes after its end, when no row in time can touch it. Rows before the watermark are late, even if
    they are near an open session.
    """
    items, session = "k, session_window.start AS start, count(*) AS n", "session_window(ts, '10 seconds')"
    text = f"SELECT {items} FROM events GROUP BY k, {session}"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND LATE ROWS TO late AS {text}")

    # The watermark is 5 seconds before the latest row.
    found = []
    for number, seconds in enumerate([(0, 7), (22,), (12,), (23,), (21, 17, 9), (50,)]):
        epoch(context, folder, number, at(*seconds))
        found.append(rows(context, "SELECT second(start), n FROM t ORDER BY start"))
    assert found == [[], [], [], [(0, 2)], [(0, 2)], [(0, 2), (21, 3)]]
    assert rows(context, "SELECT second(ts) FROM late ORDER BY ts") == [(9,), (12,), (17,)]
    assert rows(context, "SELECT sum(late), second(max(latest)) FROM STATE OF t") == [(3, 50)]


def test_what_is_above_windows(context: sharkpy.SharkContext, folder: Path) -> None:
    text = (
        "SELECT k, start, n FROM (SELECT k, window.start AS start, count(*) AS n FROM events "
        "GROUP BY k, window(ts, '10 seconds') HAVING count(*) > 1) x WHERE k < 'b' "
        f"UNION ALL SELECT 'all', start, n FROM ({query(20, 20)}) y"
    )
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")
    epoch(context, folder, 1, at(1, 2, 11, 33))
    assert answer(context) == {("a", BEGIN): 2, ("all", BEGIN): 3}
    epoch(context, folder, 2, at(3, 4, 28, 50))
    assert answer(context) == {("a", BEGIN): 2, ("all", BEGIN): 3, ("all", BEGIN + timedelta(seconds=20)): 2}


def test_the_least_of_several_watermarks(context: sharkpy.SharkContext, tmp_path: Path, folder: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    context.sql(f"CREATE STREAM others ({_COLUMNS}) STORED AS JSON FROM FOLDER '{other}'")
    text = (
        "SELECT e.k, window.start AS start, count(*) AS n FROM events e JOIN others o ON e.k = o.k "
        "GROUP BY e.k, window(e.ts, '10 seconds')"
    )
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND {STATE} AS {text}")
    epoch(context, folder, 1, at(1, 2, 40))
    assert answer(context) == {}
    put(other, 1, at(3))
    context.sql("RESUME CONTINUOUS TABLE t")
    assert answer(context) == {}
    put(other, 2, at(15, key="b"))
    context.sql("RESUME CONTINUOUS TABLE t")
    assert answer(context) == {("a", BEGIN): 2}


def test_an_idle_stream_holds_nothing_back(
    context: sharkpy.SharkContext, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock decides. When the stream comes back, emitted rows stay."""
    clock = [BEGIN.replace(tzinfo=UTC)]
    monkeypatch.setattr(StatementClock, "_read_clock", staticmethod(lambda: clock[0]))
    other = tmp_path / "other"
    other.mkdir()
    columns = f"{_COLUMNS} IDLE AFTER 1 MINUTE"
    context.sql(f"CREATE STREAM others ({columns}) STORED AS JSON FROM FOLDER '{other}'")
    both = "SELECT ts FROM events UNION ALL SELECT ts FROM others"
    text = f"SELECT 'all' AS k, window.start AS start, count(*) AS n FROM ({both}) b GROUP BY window(ts, '10 seconds')"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")
    context.sql("CREATE STREAM closed FROM TABLE t WITH HISTORY")
    context.sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT * FROM closed")

    def now(second: int, seconds: Sequence[int], of_others: Sequence[int] = ()) -> list[tuple[object, ...]]:
        clock[0] = BEGIN.replace(tzinfo=UTC) + timedelta(seconds=second)
        put(other, second, at(*of_others))
        epoch(context, folder, second, at(*seconds))
        context.sql("RESUME CONTINUOUS TABLE u")
        found = rows(context, "SELECT second(start), n FROM t ORDER BY start")
        assert rows(context, "SELECT second(start), n FROM u ORDER BY start") == found
        return found

    assert now(0, [1, 2]) == []
    assert now(10, [40]) == [], "no row of the other has come"
    assert now(20, [], [3]) == []
    assert now(80, [41]) == [], "a minute has not passed"
    assert now(81, [42]) == [(0, 3)]
    facts = dict(row[:2] for row in rows(context, "DESCRIBE EXTENDED t"))
    assert (facts["Idle Stream"], facts["Held Back By"]) == ("default.others", "default.events")
    assert now(82, [], [5, 44]) == [(0, 3)]
    assert now(83, [61], [62]) == [(0, 3), (40, 4)]
    facts = dict(row[:2] for row in rows(context, "DESCRIBE EXTENDED t"))
    assert facts["Watermark of streams that are not idle"] == "2024-05-01 10:00:56"
    assert facts["Late Rows"] == "1"
    assert facts["Held Back By"] == "default.events"
    assert "Idle Stream" not in facts


def test_joins_of_streams_are_appended(context: sharkpy.SharkContext, folder: Path) -> None:
    text = "SELECT e.k, p.ts AS start, 1 AS n FROM events e JOIN plain p ON e.ts = p.ts"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND {STATE} AS {text}")
    epoch(context, folder, 1, at(1, 2))
    assert len(answer(context)) == 2


def test_another_query_from_another_database(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {query(10, 10)}")
    context.sql("CREATE DATABASE other")
    context.sql("USE other")
    context.sql(f"ALTER CONTINUOUS TABLE default.t AS {query(10, 10, 'default.events')} HAVING count(*) > 1")
    put(folder, 1, at(1, 2, 11, 40))
    context.sql("RESUME CONTINUOUS TABLE default.t")
    assert list(answer(context, "default.t").values()) == [2]


def test_versions_rollback_and_another_query(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {query(10, 10)}")
    answers = {}
    for number in range(1, 6):
        epoch(context, folder, number, at(number * 10, number * 10 - 18))
        answers[number] = answer(context)
    then = rows(context, "SELECT k, start, n FROM t FOR SYSTEM_VERSION AS OF 4")
    assert {(key, start): n for key, start, n in then} == answers[4]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 4")
    assert answer(context) == answers[4]
    context.sql("RESUME CONTINUOUS TABLE t")
    assert answer(context) == answers[5]
    context.sql(f"ALTER CONTINUOUS TABLE t {NOW} AS {query(10, 10)} HAVING count(*) > 100")
    assert answer(context) == {}
    text = "\n".join(row[0] for row in rows(context, "SHOW CREATE TABLE t"))
    assert "\nEMIT APPEND\n" in text
    context.sql("DROP CONTINUOUS TABLE t")
    context.sql(text)
    context.sql("DROP CONTINUOUS TABLE t")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT k, count(*) AS n FROM events GROUP BY k", "whose rows change with each epoch"),
        ("SELECT k, count(*) AS n FROM plain GROUP BY k, session_window(ts, '3 seconds')", "whose rows change"),
        ("SELECT k, ts FROM events ORDER BY ts LIMIT 3", "whose rows change"),
        (f"SELECT max(n) AS n FROM ({query(10, 10)}) x", "whose rows change"),
        (f"SELECT * FROM ({query(10, 10)}) x ORDER BY n LIMIT 1", "whose rows change"),
        (query(10, 10, "plain"), "whose rows change"),
        (
            "SELECT e.k, window.end AS at, count(*) AS n FROM events e JOIN plain p ON e.k = p.k "
            "GROUP BY e.k, window(e.ts, '10 seconds')",
            r"default\.plain, which has no WATERMARK",
        ),
    ],
)
def test_what_is_refused(context: sharkpy.SharkContext, text: str, error: str) -> None:
    with pytest.raises(UnsupportedError, match=error):
        context.sql(f"CREATE CONTINUOUS TABLE t EMIT APPEND {STATE} AS {text}")
    with pytest.raises(SharkError):
        context.sql("SELECT * FROM t")


def spark_epoch(session: SparkSession, text: str, place: Path, seen: list[tuple[object, ...]]) -> None:
    """Let Structured Streaming read what is new; `seen` gets the rows that it appends."""

    def take(found: DataFrame, _batch: int) -> None:
        seen.extend(tuple(row) for row in found.collect())

    writer = session.sql(text).writeStream.outputMode("append").foreachBatch(take)
    writer.option("checkpointLocation", str(place)).trigger(availableNow=True).start().awaitTermination()


def spark_stream(session: SparkSession, name: str, folder: Path) -> None:
    rows_of_files = session.readStream.schema("k STRING, ts TIMESTAMP").json(str(folder))
    rows_of_files.withWatermark("ts", "5 seconds").createOrReplaceTempView(name)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "slide"), [(10, 10), (10, 4)])
def test_windows_are_those_of_spark(
    context: sharkpy.SharkContext, spark_sql: SparkSession, tmp_path: Path, folder: Path, size: int, slide: int
) -> None:
    """Run file by file, Structured Streaming gives the same windows after each, and drops the same late rows."""
    spark_stream(spark_sql, "events", folder)
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {query(size, slide)}")
    chance, seen = random.Random(size + slide), list[tuple[object, ...]]()
    for number in range(8):
        behind = [chance.choice([None, chance.randrange(-25, 8)]) for _ in range(10)]
        epoch(context, folder, number, at(*(None if one is None else number * 6 + one for one in behind)))
        spark_epoch(spark_sql, query(size, slide), tmp_path / "checkpoint", seen)
        assert answer(context) == {(key, start): n for key, start, n in seen}
        assert len(set(seen)) == len(seen)
    assert seen


@pytest.mark.slow
def test_sessions_are_those_of_spark(
    context: sharkpy.SharkContext, spark_sql: SparkSession, tmp_path: Path, folder: Path
) -> None:
    """Except for rows before the watermark by less than the gap: Structured Streaming does not call these rows late."""
    items, session = "k, session_window.start AS start, count(*) AS n", "session_window(ts, '10 seconds')"
    text = f"SELECT {items} FROM events GROUP BY k, {session}"
    spark_stream(spark_sql, "events", folder)
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {text}")
    chance, seen, latest = random.Random(11), list[tuple[object, ...]](), 60
    for number in range(10):
        in_time = [latest, *(latest - 4 + chance.randrange(11) for _ in range(chance.randrange(6)))]
        late = [latest - 30 - chance.randrange(20) for _ in range(3)] if number > 1 else []
        epoch(context, folder, number, [row for one in in_time + late for row in at(one, key=chance.choice("abc"))])
        latest = max(in_time)
        spark_epoch(spark_sql, text, tmp_path / "checkpoint", seen)
    epoch(context, folder, 99, at(10_000, key="last"))
    spark_epoch(spark_sql, text, tmp_path / "checkpoint", seen)
    assert answer(context) == {(key, start): n for key, start, n in seen} != {}
    ((late_rows,),) = rows(context, "SELECT sum(late) FROM STATE OF t")
    assert late_rows == 24


@pytest.mark.slow
def test_outer_joins_end_as_those_of_spark(
    context: sharkpy.SharkContext, spark_sql: SparkSession, tmp_path: Path, folder: Path
) -> None:
    """Structured Streaming gives a row without a match when the watermark tells that none will come; here it is there
    at once, and goes when one comes.
    """
    other = tmp_path / "other"
    other.mkdir()
    context.sql(f"CREATE STREAM others ({_COLUMNS}) STORED AS JSON FROM FOLDER '{other}'")
    spark_stream(spark_sql, "events", folder)
    spark_stream(spark_sql, "others", other)
    text = (
        "SELECT e.k AS k, e.ts AS start, o.ts AS n FROM events e LEFT JOIN others o "
        "ON e.k = o.k AND o.ts >= e.ts AND o.ts <= e.ts + INTERVAL '7' SECOND"
    )
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {text}")
    chance, seen = random.Random(3), list[tuple[object, ...]]()
    for number in range(5):
        for place in (folder, other):
            seconds = [number * 6 + chance.randrange(5) for _ in range(6)]
            put(place, number, [row for second in seconds for row in at(second, key=chance.choice("abcdef"))])
        context.sql("RESUME CONTINUOUS TABLE t")
        spark_epoch(spark_sql, text, tmp_path / "checkpoint", seen)
    last = at(1000, key="last")
    put(folder, 99, last)
    put(other, 99, last)
    context.sql("RESUME CONTINUOUS TABLE t")
    spark_epoch(spark_sql, text, tmp_path / "checkpoint", seen)
    found = [row for row in rows(context, "SELECT k, start, n FROM t") if row[0] != "last"]
    assert any(row[2] is None for row in found)
    assert sorted(map(repr, found)) == sorted(repr(row) for row in seen if row[0] != "last")


def test_describe_tells_the_watermarks(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """And which stream holds the others back."""
    for name in ("early", "behind"):
        (tmp_path / name).mkdir()
        context.sql(f"CREATE STREAM {name} ({_COLUMNS}) STORED AS JSON FROM FOLDER '{tmp_path / name}'")
    both = " UNION ALL ".join(f"SELECT k, ts FROM {name}" for name in ("early", "behind"))
    query = f"SELECT window.start AS start, count(*) AS n FROM ({both}) b GROUP BY window(ts, '10 seconds')"
    context.sql(f"CREATE CONTINUOUS TABLE both_of {NOW} EMIT APPEND AS {query}")

    def described() -> dict[str, str]:
        facts = context.sql("DESCRIBE EXTENDED both_of").fetchall()
        return {name: value for name, value, _ in facts if name and name.split()[0] in ("Watermark", "Held", "Late")}

    assert described() == {
        "Watermark of default.early": "no time has come",
        "Watermark of default.behind": "no time has come",
        "Held Back By": "default.early",
        "Late Rows": "0",
    }

    def come(*given: tuple[str, int]) -> None:
        for name, second in given:
            put(tmp_path / name, second, [("a", BEGIN + timedelta(seconds=second))])
            context.sql("RESUME CONTINUOUS TABLE both_of")

    come(("early", 30), ("behind", 12), ("early", 50), ("early", 1))
    assert described() == {
        "Watermark of default.early": "2024-05-01 10:00:45",
        "Watermark of default.behind": "2024-05-01 10:00:07",
        "Held Back By": "default.behind",
        "Late Rows": "0",
    }
    come(("behind", 40), ("early", 2))
    assert described()["Late Rows"] == "1"
