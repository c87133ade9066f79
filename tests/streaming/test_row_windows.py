"""Windows by numbers of rows, and numbers of rows, as they come."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import UnsupportedError
from sharkpy.sql.context import StatementClock
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import put

STATE = "WITH UNBOUNDED STATE"


pytestmark = pytest.mark.settings({"shark.stream.kept.epochs": 3, "shark.compaction.min.blocks": 3})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    context.sql(f"CREATE STREAM events (id BIGINT, k STRING) STORED AS JSON FROM FOLDER '{folder}'")
    return context


class Rows:
    """Rows whose ids count up as they come."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder, self._chance = folder, chance
        self.keys = list[str]()

    def put(self) -> None:
        begin = len(self.keys)
        self.keys += self._chance.choices("abc", k=self._chance.choice((0, 1, 7, 30)))
        made = [{"id": number, "k": key} for number, key in enumerate(self.keys[begin:], begin)]
        put(self._folder, f"{begin:06}-{self._chance.random()}.json", made)


@pytest.mark.variants(3)
@pytest.mark.parametrize("clauses", ["", MEMORY])
@pytest.mark.parametrize(("size", "slide"), [(10, 10), (10, 4), (7, 1)])
def test_windows_go_on_over_epochs(
    context: sharkpy.SharkContext, folder: Path, clauses: str, size: int, slide: int
) -> None:
    text = "SELECT k, row_window.end AS e, count(*) AS n, min(id) AS least, max(id) AS most FROM events GROUP BY k"
    context.sql("SET TIME ZONE 'Asia/Tokyo'")
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} {STATE} AS {text} WINDOWING {size} ROWS EVERY {slide} ROWS")
    events, answers = Rows(folder, random.Random(size * slide)), list[list[tuple[object, ...]]]()
    for _ in range(10):
        events.put()
        context.sql("RESUME CONTINUOUS TABLE t")
        expected = []
        for begin in range(-(size // slide) * slide, len(events.keys), slide):
            ids = range(max(begin, 0), min(begin + size, len(events.keys)))
            for key in "abc":
                own = [number for number in ids if events.keys[number] == key]
                expected += [(key, begin + size, len(own), own[0], own[-1])] if own else []
        answers.append(rows(context, "SELECT * FROM t ORDER BY e, k"))
        assert answers[-1] == sorted(expected, key=lambda row: (row[1], row[0]))
    context.sql("SET TIME ZONE 'Asia/Kolkata'")
    assert rows(context, "SELECT * FROM t ORDER BY e, k") == answers[9]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 9")
    assert rows(context, "SELECT * FROM t ORDER BY e, k") == answers[8]
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t ORDER BY e, k") == answers[9]


@pytest.mark.variants
@pytest.mark.parametrize("clauses", ["", MEMORY])
@pytest.mark.parametrize(("size", "slide"), [(10, 10), (10, 4)])
def test_windows_are_appended_when_their_rows_have_come(
    context: sharkpy.SharkContext, folder: Path, clauses: str, size: int, slide: int
) -> None:
    text = "SELECT k, row_window.end AS e, count(*) AS n, max(id) AS most FROM events WHERE k <> 'c' GROUP BY k"
    windowing = f"WINDOWING {size} ROWS EVERY {slide} ROWS"
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} EMIT APPEND AS {text} {windowing}")
    context.sql("CREATE STREAM whole FROM TABLE t")
    context.sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT * FROM whole WHERE n > 0")
    events, answers = Rows(folder, random.Random(size + slide)), list[list[tuple[object, ...]]]()
    for _ in range(10):
        events.put()
        context.sql("RESUME CONTINUOUS TABLE t")
        context.sql("RESUME CONTINUOUS TABLE u")
        ids = [number for number, key in enumerate(events.keys) if key != "c"]
        expected = []
        for end in range(size - (size - 1) // slide * slide, len(ids) + 1, slide):
            for key in "ab":
                own = [number for number in ids[max(end - size, 0) : end] if events.keys[number] == key]
                expected += [(key, end, len(own), own[-1])] if own else []
        answers.append(rows(context, "SELECT * FROM t ORDER BY e, k"))
        assert answers[-1] == sorted(expected, key=lambda row: (row[1], row[0]))
        assert rows(context, "SELECT * FROM u ORDER BY e, k") == answers[-1]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 9")
    assert rows(context, "SELECT * FROM t ORDER BY e, k") == answers[8]
    context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT * FROM t ORDER BY e, k") == answers[9]
    explained = rows(context, f"EXPLAIN CREATE CONTINUOUS TABLE v EMIT APPEND AS {text} {windowing}")
    assert any("given when all their rows have come" in str(line) for (line,) in explained)


@pytest.mark.variants(2)
@pytest.mark.parametrize("emit", ["", "EMIT APPEND"])
def test_rows_are_numbered(context: sharkpy.SharkContext, folder: Path, emit: str) -> None:
    text = "SELECT id, row_number() OVER () AS number FROM events WHERE k <> 'c'"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {emit} AS {text}")
    events = Rows(folder, random.Random(5))
    for _ in range(8):
        events.put()
        context.sql("RESUME CONTINUOUS TABLE t")
    ids = [number for number, key in enumerate(events.keys) if key != "c"]
    assert rows(context, "SELECT id, number FROM t ORDER BY id") == [(one, place) for place, one in enumerate(ids, 1)]
    if emit:
        context.sql("CREATE STREAM numbered FROM TABLE t WITH HISTORY")
        assert rows(context, "SELECT count(*), max(number) FROM numbered") == [(len(ids), len(ids))]


def test_beside_a_join_of_streams(context: sharkpy.SharkContext, folder: Path) -> None:
    both = "SELECT e.id FROM events e JOIN events o ON e.id = o.id + 1"
    text = f"SELECT row_window.end AS e, count(*) AS n FROM ({both}) b GROUP BY row_window(5)"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {text}")
    events = Rows(folder, random.Random(3))
    for _ in range(6):
        events.put()
        context.sql("RESUME CONTINUOUS TABLE t")
    whole, rest = divmod(len(events.keys) - 1, 5)
    expected = [(5 * number, 5) for number in range(1, whole + 1)] + ([(5 * whole + 5, rest)] if rest else [])
    assert rows(context, "SELECT * FROM t ORDER BY e") == expected


def test_windows_of_the_time_of_arrival(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = datetime(2024, 5, 1, 10, tzinfo=UTC)
    clock = [begin]
    monkeypatch.setattr(StatementClock, "_read_clock", staticmethod(lambda: clock[0]))
    window = "window(current_timestamp(), '1 minute')"
    query = f"SELECT minute(window.start) AS m, k, count(*) AS n FROM events GROUP BY {window}, k"
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} {STATE} AS {query}")
    for second in (0, 30, 70, 200):
        clock[0] = begin + timedelta(seconds=second)
        put(folder, f"{second:03}.json", [{"id": second, "k": "a"}, {"id": second, "k": "b"}])
        context.sql("RESUME CONTINUOUS TABLE t")
    assert rows(context, "SELECT m, n FROM t WHERE k = 'a' ORDER BY m") == [(0, 2), (1, 1), (3, 1)]


def test_what_is_refused(context: sharkpy.SharkContext) -> None:
    query = "SELECT count(*) AS n FROM events WINDOWING 10 ROWS"
    arrival = "SELECT count(*) AS n FROM events GROUP BY window(current_timestamp(), '1 minute')"
    with pytest.raises(UnsupportedError, match="grows with the values of these"):
        context.sql(f"CREATE CONTINUOUS TABLE t AS {arrival}")
    with pytest.raises(UnsupportedError, match="whose rows change with each epoch"):
        context.sql(f"CREATE CONTINUOUS TABLE t EMIT APPEND {STATE} AS {arrival}")
    with pytest.raises(UnsupportedError, match="LATE ROWS TO of a query that leaves out no rows"):
        context.sql(f"CREATE CONTINUOUS TABLE t EMIT APPEND LATE ROWS TO late_ones AS {query}")
    context.sql("CREATE TABLE names (k STRING)")
    inner = "SELECT * FROM events WHERE k IN (SELECT k FROM names)"
    with pytest.raises(UnsupportedError, match="a window function over a stream"):
        context.sql(f"CREATE CONTINUOUS TABLE t {STATE} AS {query.replace('events', f'({inner}) e')}")
