"""Streams FROM a TABLE of windows that a watermark closes: each window once, when it is closed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError, TableNotFoundError, UnsupportedError
from sharkpy.streaming import epoch_runner
from tests.paths_below import paths_below
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW
from tests.streaming.folder_input import put, state_of

FEW = {"shark.stream.kept.epochs": 3, "shark.compaction.min.blocks": 3}
EVENTS = "k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS"


pytestmark = pytest.mark.settings(FEW)


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    folder.mkdir()
    context.sql(f"CREATE STREAM events ({EVENTS}) STORED AS JSON FROM FOLDER '{folder}'")
    return context


def windows(size: int = 10, slide: int = 10) -> str:
    window = f"window(ts, '{size} seconds', '{slide} seconds')"
    return f"SELECT k, window.start AS start, count(*) AS n FROM events GROUP BY k, {window}"


def make(context: sharkpy.SharkContext, text: str, clauses: str = "", history: str = "WITH HISTORY") -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} EMIT APPEND AS {text}")
    context.sql(f"CREATE STREAM closed FROM TABLE t {history}")


def follow(context: sharkpy.SharkContext, text: str = "SELECT k, start, n FROM closed", clauses: str = "") -> None:
    context.sql(f"CREATE CONTINUOUS TABLE u {clauses} {NOW} AS {text}")


def epoch(context: sharkpy.SharkContext, folder: Path, number: int, *seconds: int, key: str = "a") -> None:
    times = [f"2024-05-01 10:{one // 60:02d}:{one % 60:02d}" for one in seconds]
    put(folder, f"{number:04d}.json", [{"k": key, "ts": time} for time in times])
    context.sql("RESUME CONTINUOUS TABLE t")


def go_on(context: sharkpy.SharkContext) -> None:
    context.sql("RESUME CONTINUOUS TABLE u")


def answer(context: sharkpy.SharkContext, table: str) -> Sequence[tuple[object, ...]]:
    return rows(context, f"SELECT * FROM {table} ORDER BY 1, 2")


@pytest.mark.variants(3)
@pytest.mark.parametrize(("size", "slide"), [(10, 10), (10, 4), (20, 2)])
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_each_window_comes_once(
    context: sharkpy.SharkContext, folder: Path, size: int, slide: int, clauses: str
) -> None:
    make(context, windows(size, slide), clauses)
    follow(context, clauses=clauses)
    chance = random.Random(size * slide)
    for number in range(14):
        behind = [chance.randrange(-40, 8) for _ in range(chance.choice([0, 3, 12]))]
        epoch(context, folder, number, *(60 + number * 6 + one for one in behind), key=chance.choice("abc"))
        if chance.random() < 0.6:
            go_on(context)
            assert answer(context, "u") == answer(context, "t")
    go_on(context)
    assert answer(context, "u") == answer(context, "t") != []


def test_from_now_on(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} EMIT APPEND AS {windows()}")
    epoch(context, folder, 1, 1, 2, 11, 30)
    context.sql("CREATE STREAM closed FROM TABLE t")
    context.sql("CREATE STREAM all_closed FROM TABLE t WITH HISTORY")
    follow(context)
    assert answer(context, "u") == []
    assert answer(context, "all_closed") == answer(context, "t")
    epoch(context, folder, 2, 29, 50)
    go_on(context)
    assert [n for _, _, n in answer(context, "u")] == [1, 1]
    assert [n for _, _, n in answer(context, "t")] == [2, 1, 1, 1]


def test_a_table_without_rows_yet(context: sharkpy.SharkContext, folder: Path) -> None:
    make(context, windows(), history="")
    follow(context)
    epoch(context, folder, 1, 1, 30)
    go_on(context)
    assert [n for _, _, n in answer(context, "u")] == [1]


def test_into_a_folder_and_tables(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    make(context, windows())
    out = tmp_path / "out"
    context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{out}' STORED AS JSONFILE {NOW} AS SELECT k, n FROM closed")
    context.sql("CREATE TABLE x (k STRING, n BIGINT)")
    context.sql("CREATE TABLE names (k STRING, name STRING)")
    context.sql("INSERT INTO names VALUES ('a', 'ann')")
    text = "SELECT name, n FROM closed JOIN names ON closed.k = names.k WHERE n > 1"
    context.sql(f"CREATE CONTINUOUS INSERT i {NOW} AS INSERT INTO x {text}")
    for number, seconds in enumerate([(1, 2, 12, 30), (13, 33, 50), (51, 52, 90)]):
        epoch(context, folder, number, *seconds)
        context.sql("RESUME CONTINUOUS SINK s")
        context.sql("RESUME CONTINUOUS INSERT i")
    texts = [path.read_text() for path in paths_below(out) if path.suffix == ".json"]
    found = [json.loads(line) for text in texts for line in text.splitlines()]
    assert sorted(one["n"] for one in found) == sorted(n for _, _, n in answer(context, "t")) == [1, 2, 2, 3]
    assert answer(context, "x") == [("ann", 2), ("ann", 2), ("ann", 3)]
    folder_of_spans = Path(context.catalog.table("default", "closed").location or "")
    assert len([path for path in paths_below(folder_of_spans) if path.is_file()]) == 1


def test_windows_of_windows(context: sharkpy.SharkContext, folder: Path) -> None:
    """Several aggregates over one watermark, and state over what comes of them."""
    text = f"{windows()} HAVING count(*) > 1 UNION ALL SELECT 'all', start, n FROM ({windows(20, 20)}) y"
    make(context, text)
    follow(context, "SELECT k, sum(n) AS n FROM closed GROUP BY k", "WITH UNBOUNDED STATE")
    for number, seconds in enumerate([(1, 2, 11, 33), (3, 28, 29, 50), (51, 95)]):
        epoch(context, folder, number, *seconds)
        go_on(context)
        expected = rows(context, "SELECT k, sum(n) FROM t GROUP BY k ORDER BY k")
        assert answer(context, "u") == expected != []


def test_two_watermarks(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    context.sql(f"CREATE STREAM others ({EVENTS}) STORED AS JSON FROM FOLDER '{other}'")
    text = (
        "SELECT e.k, window.start AS start, count(*) AS n FROM events e JOIN others o ON e.k = o.k "
        "GROUP BY e.k, window(e.ts, '10 seconds')"
    )
    make(context, text, "WITH UNBOUNDED STATE")
    follow(context)
    epoch(context, folder, 1, 1, 2, 40)
    go_on(context)
    assert answer(context, "u") == []
    put(other, "1.json", [{"k": "a", "ts": "2024-05-01 10:00:33"}])
    context.sql("RESUME CONTINUOUS TABLE t")
    go_on(context)
    assert answer(context, "u") == answer(context, "t") != []


@pytest.mark.variants(2)
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_a_process_that_ends_before_it_tells(
    tmp_path: Path, folder: Path, clauses: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        context.sql(f"CREATE STREAM events ({EVENTS}) STORED AS JSON FROM FOLDER '{folder}'")
        make(context, windows(), clauses)
        follow(context)
        monkeypatch.setattr(epoch_runner, "add_closed_windows", lambda *_: None)
        epoch(context, folder, 1, 1, 30)
        go_on(context)
        assert answer(context, "u") == []
    monkeypatch.undo()
    with sharkpy.connect("local[2]", tmp_path / "w", **FEW) as context:
        context.sql("RESUME CONTINUOUS TABLE t")
        go_on(context)
        assert answer(context, "u") == answer(context, "t") != []


@pytest.mark.variants(2)
@pytest.mark.parametrize("change", ["ROLLBACK CONTINUOUS TABLE t TO EPOCH 1", "REFRESH CONTINUOUS TABLE t"])
def test_windows_that_are_taken_back(context: sharkpy.SharkContext, folder: Path, change: str) -> None:
    make(context, windows())
    follow(context)
    for number, seconds in enumerate([(1, 20), (21, 22, 45), (46, 70)], 1):
        epoch(context, folder, number, *seconds)
    go_on(context)
    before = answer(context, "u")
    context.sql(change)
    with pytest.raises(SharkError, match=r"rows of the table of default\.closed were replaced") as caught:
        go_on(context)
    assert caught.value.sqlstate == "55000"
    assert state_of(context, "u")[0] == "STOPPED"
    context.sql("ALTER TABLE closed SET TBLPROPERTIES ('failOnDataLoss' = 'false')")
    context.sql("RESUME CONTINUOUS TABLE t")
    go_on(context)
    # Emitted rows stay, and are not emitted again.
    assert answer(context, "u") == before
    epoch(context, folder, 9, 90)
    go_on(context)
    assert answer(context, "u") == answer(context, "t")


def test_the_table_is_renamed_and_dropped(context: sharkpy.SharkContext, folder: Path) -> None:
    make(context, windows())
    follow(context)
    assert rows(context, "SHOW STREAMS LIKE 'closed'") == [("default", "closed", "TABLE", "default.t", None)]
    context.sql("ALTER TABLE t RENAME TO renamed")
    put(folder, "1.json", [{"k": "a", "ts": f"2024-05-01 10:00:{second}"} for second in (10, 40)])
    context.sql("RESUME CONTINUOUS TABLE renamed")
    go_on(context)
    assert [n for _, _, n in answer(context, "u")] == [1]
    assert "FROM TABLE `default`.`renamed`" in "\n".join(row[0] for row in rows(context, "SHOW CREATE TABLE closed"))
    context.sql("DROP CONTINUOUS TABLE renamed")
    with pytest.raises((TableNotFoundError, SharkError), match="dropped"):
        go_on(context)


def test_what_is_shown(context: sharkpy.SharkContext, folder: Path) -> None:
    make(context, windows())
    described = rows(context, "DESCRIBE closed")
    assert [row[:2] for row in described[:3]] == [("k", "string"), ("start", "timestamp"), ("n", "bigint")]
    shown = "\n".join(row[0] for row in rows(context, "EXPLAIN CREATE CONTINUOUS TABLE v AS SELECT * FROM closed"))
    assert "stream default.closed: FROM TABLE default.t" in shown
    epoch(context, folder, 1, 1, 2, 30)
    assert rows(context, "SELECT sum(n) FROM closed") == [(2,)]


@pytest.mark.parametrize(
    "text",
    [
        f"EMIT UPDATE AS {windows()}",
        "WITH UNBOUNDED STATE AS SELECT k, count(*) AS n FROM events GROUP BY k",
        f"EMIT APPEND WITH UNBOUNDED STATE AS {windows()} UNION ALL SELECT k, ts, 1 FROM events",
    ],
)
def test_tables_that_are_no_streams(context: sharkpy.SharkContext, text: str) -> None:
    context.sql(f"CREATE CONTINUOUS TABLE t {text}")
    with pytest.raises(UnsupportedError, match=r"the rows of default\.t change|default\.t, which has windows of"):
        context.sql("CREATE STREAM closed FROM TABLE t")


@pytest.mark.variants(2)
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_joins_of_streams_go_on(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    text = "SELECT e.k, e.ts AS start, 1 AS n FROM events e JOIN events o ON e.k = o.k AND e.ts < o.ts"
    context.sql(f"CREATE CONTINUOUS TABLE t {clauses} {NOW} EMIT APPEND WITH UNBOUNDED STATE AS {text}")
    epoch(context, folder, 1, 1, 2)
    context.sql("CREATE STREAM later FROM TABLE t")
    context.sql("CREATE STREAM closed FROM TABLE t WITH HISTORY")
    follow(context)
    context.sql(f"CREATE CONTINUOUS TABLE v {NOW} AS SELECT count(*) AS n FROM later")
    for number in range(2, 9):
        epoch(context, folder, number, 10 * number, 10 * number - 5)
        if number % 2:
            go_on(context)
            assert answer(context, "u") == answer(context, "t")
    assert len(answer(context, "t")) == 120
    context.sql("RESUME CONTINUOUS TABLE v")
    assert rows(context, "SELECT n FROM v") == [(119,)]


def test_history_before_closed_windows(context: sharkpy.SharkContext) -> None:
    make(context, windows())
    context.sql("CREATE TABLE older (k STRING, start TIMESTAMP, n BIGINT)")
    with pytest.raises(UnsupportedError, match=r"THEN STREAM default\.closed, which is of a table with state"):
        context.sql(
            f"CREATE CONTINUOUS TABLE u {NOW} START FROM TABLE older THEN STREAM closed AS SELECT k, n FROM closed"
        )
