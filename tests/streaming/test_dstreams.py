"""DStreams: streams as a Python program writes them, by the operators of D-Streams."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sharkpy
from sharkpy.base.errors import BindError, ExecutionError, TypeMismatchError, UnsupportedError
from sharkpy.ml.rdd.rows import Row
from sharkpy.streaming.dstreams.dstream import DStream
from sharkpy.streaming.dstreams.handles import ContinuousTable, Stream
from tests.streaming.folder_input import put, state_of
from tests.waiting import until

COLUMNS = "uid BIGINT, url STRING, ts TIMESTAMP"
WATERMARK = ("ts", "10 SECONDS")


@pytest.fixture
def clicks(context: sharkpy.SharkContext, folder: Path) -> Stream:
    return context.stream.from_folder("clicks", folder, COLUMNS, watermark=WATERMARK)


def click(uid: int | None, url: str | None, second: int) -> tuple[Any, ...]:
    return uid, url, f"2026-05-01 10:{second // 60:02}:{second % 60:02}"


def come(folder: Path, *rows: tuple[Any, ...]) -> None:
    """Let rows come, as one file."""
    number = len(list(folder.iterdir())) if folder.exists() else 0
    put(folder, f"{number:03}", [dict(zip(("uid", "url", "ts"), row, strict=True)) for row in rows])


def fill(folder: Path) -> None:
    come(folder, click(1, "/a", 1), click(2, "/b", 2), click(1, "/b c", 3))
    come(folder, click(3, None, 70), click(None, "/a", 71))


def rows_of(stream: DStream | ContinuousTable) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, stream.collect()), key=repr)


def kept(stream: DStream, name: str, epochs: int, **clauses: Any) -> list[tuple[Any, ...]]:
    """Rows of a continuous table of it when so many epochs have come."""
    table = stream.to_table(name, **clauses)
    table.await_epoch(epochs, timeout=60)
    return rows_of(table)


STATELESS: dict[str, Callable[[Stream], DStream]] = {
    "select": lambda s: s.select("uid + 1 AS u", "upper(url) AS url"),
    "where": lambda s: s.where("uid > 1").select("uid"),
    "filter": lambda s: s.filter(lambda row: row.uid is not None and row.uid > 1).select("uid"),
    "map": lambda s: s.map_rows(lambda row: (row.uid, len(row.url or "")), "uid bigint, size int"),
    "dicts": lambda s: s.map_rows(lambda row: {"Size": len(row.url or "")}, {"uid": "bigint", "size": "int"}),
    "flat": lambda s: s.flat_map(lambda row: (row.url or "").split(), "string"),
    "batches": lambda s: s.map_batches(
        lambda batch: {"big": pc.multiply(batch.column("uid"), 10), "url": batch.column("url")},
        "url string, big bigint",
    ),
    "union": lambda s: s.select("uid", "'l' AS side").union(s.where("uid = 1").select("uid", "'r' AS side")),
}
ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "select": [(2, "/A"), (2, "/B C"), (3, "/B"), (4, None), (None, "/A")],
    "where": [(2,), (3,)],
    "filter": [(2,), (3,)],
    "map": [(1, 2), (1, 4), (2, 2), (3, 0), (None, 2)],
    "dicts": [(None, 0), (None, 2), (None, 2), (None, 2), (None, 4)],
    "flat": [("/a",), ("/a",), ("/b",), ("/b",), ("c",)],
    "batches": [("/a", 10), ("/a", None), ("/b", 20), ("/b c", 10), (None, 30)],
    "union": [(1, "l"), (1, "l"), (1, "r"), (1, "r"), (2, "l"), (3, "l"), (None, "l")],
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", STATELESS)
def test_operators_of_rows(folder: Path, clicks: Stream, name: str) -> None:
    fill(folder)
    stream = STATELESS[name](clicks)
    wanted = sorted(ANSWERS[name], key=repr)
    assert rows_of(stream) == wanted
    assert kept(stream, "t", 1) == wanted
    come(folder, click(9, "/z", 80))
    until(lambda: len(rows_of(stream)) > len(wanted))


def test_groups_and_windows(folder: Path, clicks: Stream) -> None:
    fill(folder)
    by_url = clicks.key_by("url")
    assert rows_of(by_url.count()) == [("/a", 2), ("/b c", 1), ("/b", 1), (None, 1)]
    assert kept(by_url.count(), "per_url", 1, unbounded=True) == [("/a", 2), ("/b c", 1), ("/b", 1), (None, 1)]
    longest = clicks.map_rows(lambda row: ("x", row.url), "k string, url string").key_by("k")
    reduced = longest.reduce_by_key(lambda a, b: max(a, b, key=len), "url", "longest")
    assert kept(reduced, "reduced", 1, unbounded=True) == [("x", "/b c")]
    windows = by_url.count_by_window("60 s").select("url", "window.start", "count")
    found = [(url, str(start), count) for url, start, count in kept(windows, "windows", 1)]
    minutes = ["2026-05-01 10:00:00", "2026-05-01 10:01:00"]
    assert found == [
        ("/a", minutes[0], 1),
        ("/a", minutes[1], 1),
        ("/b c", minutes[0], 1),
        ("/b", minutes[0], 1),
        (None, minutes[1], 1),
    ]
    sliding = clicks.window("60 s", "30 s").aggregate(n="count(*)", most="max(uid)")
    table = sliding.to_table("sliding")
    table.await_epoch(1, timeout=60)
    assert [(row.n, row.most) for row in table.slice("2026-05-01 10:00:00", "2026-05-01 10:00:30")] == [(3, 2)]
    sessions = clicks.sessions("30 s").count()
    assert sorted(row["count"] for row in sessions.collect()) == [2, 3]
    largest = clicks.key_by("url").reduce_by_window(lambda a, b: max(a, b), "uid", "60 s", "30 s")
    assert {(row.url, row.uid) for row in largest.collect()} == {
        ("/a", 1),
        ("/b", 2),
        ("/b c", 1),
        (None, 3),
        ("/a", None),
    }
    assert clicks.count().collect() == [(5,)]
    assert clicks.where("uid = 1").select("uid").distinct().collect() == [(1,)]


def test_aggregates_of_the_program(folder: Path, clicks: Stream) -> None:
    class Longest:
        def init(self) -> str:
            return ""

        def update(self, state: str, url: str) -> str:
            return max(state, url, key=len)

        def merge(self, state: str, other: str) -> str:
            return max(state, other, key=len)

        def finish(self, state: str) -> str:
            return state

    fill(folder)
    assert kept(clicks.aggregate(longest=(Longest, "url"), n="count(*)"), "longest", 1) == [("/b c", 5)]


def test_states_of_keys(folder: Path, clicks: Stream) -> None:
    def update(state: list[str], row: Row) -> list[str]:
        return [*state[-1:], row.url or "-"]

    last = clicks.where("uid IS NOT NULL").key_by("uid")
    last_two = last.update_state_by_key(update, initial=[], returns="array<string>", columns=("ts", "url"))
    table = last_two.to_table("last_two", unbounded=True)
    come(folder, click(1, "/c", 3), click(1, "/a", 1), click(2, "/b", 2), click(1, "/b", 2))
    table.await_epoch(1, timeout=60)
    assert rows_of(table) == [(1, ["/b", "/c"]), (2, ["/b"])]
    come(folder, click(1, "/d", 4), click(3, None, 5))
    table.await_epoch(2, timeout=60)
    wanted = [(1, ["/c", "/d"]), (2, ["/b"]), (3, ["-"])]
    assert rows_of(table) == wanted
    assert table.lookup(uid=1) == [wanted[0]]
    assert table.lookup(UID=9) == []
    assert rows_of(last_two) == wanted
    counted = last.update_state_by_key(
        lambda state, row: {**state, row.url: state.get(row.url, 0) + 1},
        initial={},
        finish=len,
        returns="int",
        columns=["url"],
        name="urls",
    )
    assert counted.columns == ("uid", "urls")
    assert kept(counted, "counted", 1, unbounded=True) == [(1, 4), (2, 1), (3, 1)]


def test_what_is_shown_of_keys(folder: Path, clicks: Stream) -> None:
    def ranked(seen: int, row: Row) -> tuple[int, str]:
        return seen + 1, f"{row.url} is page {seen + 1}"

    pages = clicks.key_by("uid").map_groups_with_state(ranked, returns="string", initial=0, columns=["ts", "url"])
    fill(folder)
    wanted = [(1, "/b c is page 2"), (2, "/b is page 1"), (3, "None is page 1"), (None, "/a is page 1")]
    assert kept(pages, "pages", 1, unbounded=True) == rows_of(pages) == wanted
    assert pages.columns == ("uid", "value")


def test_keys_are_forgotten(folder: Path, clicks: Stream) -> None:
    counted = clicks.key_by("uid").update_state_by_key(
        lambda state, row: state + 1, initial=0, returns="int", columns=["ts"], timeout="30 s"
    )
    table = counted.to_table("counted")
    come(folder, click(1, "/a", 1), click(2, "/a", 2))
    table.await_epoch(1, timeout=60)
    assert rows_of(table) == [(1, 1), (2, 1)]
    come(folder, click(2, "/a", 31), click(3, "/a", 50))
    table.await_epoch(2, timeout=60)
    # The watermark is at 40, and the last click of 1 was at 1.
    assert rows_of(table) == [(2, 2), (3, 1)]


def test_keys_are_forgotten_by_the_clock(folder: Path, clicks: Stream) -> None:
    def update(state: int, row: Any) -> int:
        return state + row.uid

    def counted(timeout_by: Any) -> DStream:
        by_url = clicks.key_by("url")
        return by_url.update_state_by_key(
            update, initial=0, returns="int", columns=["uid"], timeout="2 s", timeout_by=timeout_by
        )

    table = counted("clock").to_table("counted")
    come(folder, click(1, "/a", 1), click(2, "/b", 90))
    table.await_epoch(1, timeout=60)
    until(lambda: rows_of(table) == [])
    assert rows_of(counted("clock")) == [("/a", 1), ("/b", 2)]
    with pytest.raises(BindError, match="timeout_by is one of watermark, clock"):
        counted("wall")


def test_joins(context: sharkpy.SharkContext, folder: Path, clicks: Stream) -> None:
    context.save_as_table([(1, "ada"), (2, "bob")], "people", "uid bigint, name string")
    named = clicks.join("people", "uid").select("name", "url")
    fill(folder)
    assert kept(named, "named", 1) == [("ada", "/a"), ("ada", "/b c"), ("bob", "/b")]
    assert rows_of(clicks.join("people", "uid", "anti").select("url")) == [("/a",), (None,)]
    orders = context.stream.from_folder("orders", folder.with_name("orders"), "uid BIGINT, item STRING")
    put(folder.with_name("orders"), "0", [{"uid": 1, "item": "pen"}, {"uid": 4, "item": "ink"}])
    both = clicks.key_by("uid").join(orders.key_by("uid")).select("url", "item")
    for words in (
        "left leftouter left_outer LEFT",
        "semi leftsemi left_semi",
        "anti leftanti left_anti",
        "right rightouter right_outer",
        "outer full fullouter full_outer",
    ):
        found = [sorted(map(str, rows_of(clicks.join("people", "uid", how)))) for how in words.split()]
        assert found == found[:1] * len(found)
    with pytest.raises(BindError, match='"sideways" is not a join'):
        clicks.join("people", "uid", "sideways")
    assert kept(both, "both", 1, unbounded=True) == [("/a", "pen"), ("/b c", "pen")]
    near = clicks.join(orders, condition="l.uid < r.uid AND r.item = 'ink'", select=["l.uid AS u", "r.item"])
    assert rows_of(near) == [(1, "ink"), (1, "ink"), (2, "ink"), (3, "ink")]
    groups = clicks.select("uid", "url").key_by("uid").cogroup(orders.key_by("uid"))
    found = {uid: (left, right) for uid, left, right in kept(groups, "groups", 1, unbounded=True)}
    assert found[1] == ([{"url": "/a"}, {"url": "/b c"}], [{"item": "pen"}])
    assert found[4] == (None, [{"item": "ink"}])
    assert found[2] == ([{"url": "/b"}], None)
    with pytest.raises(BindError, match="takes `on`, or `condition`"):
        clicks.join("people")
    with pytest.raises(BindError, match="have other keys"):
        clicks.key_by("uid").join(clicks.key_by("url"))
    with pytest.raises(BindError, match=r"cannot be joined with list") as error:
        clicks.join([(1,)], "uid")  # type: ignore[arg-type]
    assert "save_as_table" in str(error.value.hint)


def test_slices(folder: Path, clicks: Stream) -> None:
    fill(folder)
    assert len(clicks.slice("2026-05-01 10:01:00", "2026-05-01 10:02:00").collect()) == 2
    by_time = clicks.select("ts AS t", "uid").slice("2026-05-01 10:00:02", "2026-05-01 10:00:03")
    assert [row.uid for row in by_time.collect()] == [2]
    assert clicks.take(1) == [clicks.collect()[0]]
    with pytest.raises(BindError, match="no time with a WATERMARK"):
        clicks.select("uid").slice("2026-05-01", "2026-05-02")


def test_a_function_of_batches(folder: Path, clicks: Stream) -> None:
    taken = list[tuple[int, int]]()
    stream = clicks.filter(lambda row: row.uid == 1)
    stream.foreach_batch(lambda epoch, rows: taken.append((epoch, rows.num_rows)), name="ones")
    fill(folder)
    until(lambda: sum(number for _, number in taken) == 2)


def test_errors_name_the_place_in_the_program(context: sharkpy.SharkContext, folder: Path, clicks: Stream) -> None:
    def broken(row: Row) -> int:
        return 1 // (row.uid - 1)

    with pytest.raises(BindError, match="does not say the type of its result"):
        clicks.map_rows(lambda row: 1)
    with pytest.raises(BindError, match='no column "usr"'):
        clicks.key_by("usr")
    with pytest.raises(ExecutionError, match=r"raised ZeroDivisionError: .* \(.*test_dstreams\.py, line"):
        (come(folder, click(1, "/a", 1)), clicks.map_rows(broken).collect())
    clicks.map_rows(broken).to_table("broken")
    until(lambda: state_of(context, "broken")[0] == "STOPPED")
    assert "test_dstreams.py" in str(state_of(context, "broken"))
    with pytest.raises(ExecutionError, match="3 values for 2 columns"):
        clicks.map_rows(lambda row: (1, 2, 3), "a int, b int").collect()
    with pytest.raises(ExecutionError, match="returned 0 rows for 1"):
        clicks.map_batches(lambda batch: batch.slice(0, 0), "uid bigint").collect()
    with pytest.raises(UnsupportedError, match="grows"):
        clicks.key_by("uid").count().to_table("unbounded")
    assert context.catalog.functions.entries() == [context.catalog.functions.entry("default", "broken__function_1")]


def test_a_program_that_runs_again(context: sharkpy.SharkContext, folder: Path, clicks: Stream) -> None:
    def tenfold(factor: int) -> DStream:
        return clicks.select("uid").map_rows(lambda row: (row.uid or 0) * factor, "bigint")

    come(folder, click(1, "/a", 1))
    table = tenfold(10).to_table("tens")
    table.await_epoch(1, timeout=60)
    assert rows_of(tenfold(100).to_table("tens")) == [(10,)]
    come(folder, click(1, "/a", 2))
    table.await_epoch(2, timeout=60)
    assert rows_of(table) == [(10,), (100,)]
    clicks.select("uid").map_rows(lambda row: -1, "bigint").where("col < 0").to_table("tens")
    come(folder, click(1, "/a", 3))
    table.await_epoch(3, timeout=60)
    assert rows_of(table) == [(-1,), (10,), (100,)]
    with pytest.raises(BindError, match="has other columns, or another state"):
        clicks.select("uid", "url").filter(lambda row: True).to_table("tens")
    come(folder, click(1, "/a", 4))
    table.await_epoch(4, timeout=60)
    assert rows_of(table)[0] == (-1,)
    context.sql("CREATE TABLE plain (n INT)")
    with pytest.raises(BindError, match="is not a continuous table"):
        clicks.to_table("plain")
    table.drop()
    assert context.catalog.functions.entries() == []


PROGRAM = """
import sharkpy, sys

def longest(state, row):
    return max(state, row.url, key=len)

with sharkpy.connect("local[2]", sys.argv[1]) as context:
    clicks = context.stream.queue("clicks", "uid BIGINT, url STRING")
    states = clicks.key_by("uid").update_state_by_key(longest, initial="", returns="string")
    table = states.to_table("longest", unbounded=True)
    clicks.push().write([(1, "/a"), (2, sys.argv[2])])
    table.await_epoch(int(sys.argv[3]), timeout=60)
    print(sorted(map(tuple, table.collect())))
"""


@pytest.mark.slow
def test_functions_outlive_their_program(tmp_path: Path) -> None:
    """The table goes on, and is read, by processes that have no such function."""
    for number, url in enumerate(("/long", "/x"), 1):
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "w"), url, str(number)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == "[(1, '/a'), (2, '/long')]", done.stderr
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.push("clicks").write([(1, "/longer")])
        context.start_streams()
        table = context.stream("longest")
        assert isinstance(table, ContinuousTable)
        table.await_epoch(3, timeout=60)
        assert context.sql("SELECT * FROM longest ORDER BY uid").fetchall() == [(1, "/longer"), (2, "/long")]
        with pytest.raises(TypeMismatchError):
            table.lookup(uid="x")


def test_explain(folder: Path, clicks: Stream) -> None:
    assert "Scan" in clicks.select("uid").explain()
    text = clicks.key_by("uid").count().explain()
    assert "states of count by uid" in text
    assert repr(clicks.select("uid")) == "<DStream uid bigint>"


def test_batches_are_of_arrow(folder: Path, clicks: Stream) -> None:
    seen = list[object]()

    def look(batch: pa.RecordBatch) -> pa.RecordBatch:
        seen.append(batch.schema.names)
        return batch

    come(folder, click(1, "/a", 1))
    assert clicks.map_batches(look, COLUMNS).collect() == clicks.collect()
    assert seen[0] == ["uid", "url", "ts"]
