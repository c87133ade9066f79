"""Continuous tables with Hive partitions: read as they were at one of their last epochs, and rolled back to one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, SharkError
from sharkpy.physical.hive_partitions import HivePartitions
from tests.rows import rows
from tests.streaming.clauses import MEMORY
from tests.streaming.folder_input import make_stream, put
from tests.waiting import until

CREATE = "CREATE CONTINUOUS TABLE t PARTITIONED BY (s) {} TRIGGER AVAILABLE NOW AS SELECT n, s FROM numbers"
KEPT = 5
Rows = list[tuple[object, ...]]


pytestmark = pytest.mark.settings({"shark.stream.kept.epochs": KEPT, "shark.compaction.min.blocks": 4})


@pytest.fixture
def context(context: sharkpy.SharkContext, folder: Path) -> sharkpy.SharkContext:
    make_stream(context, folder)
    return context


def write_epoch(context: sharkpy.SharkContext, folder: Path, number: int, parts: str) -> None:
    """Write an epoch with a row for each of some Hive partitions."""
    put(folder, f"{number:03d}.json", [{"n": number, "s": part} for part in parts])
    context.sql("RESUME CONTINUOUS TABLE t")


def content(context: sharkpy.SharkContext, version: str = "") -> Rows:
    return sorted(rows(context, f"SELECT n, s FROM t {version}"))


def at(epoch: int) -> str:
    return f"FOR SYSTEM_VERSION AS OF {epoch}"


def partitions(context: sharkpy.SharkContext) -> list[object]:
    return [row[0] for row in rows(context, "SHOW PARTITIONS t")]


def expected(parts: list[str], epoch: int) -> Rows:
    """Rows of the first epochs, of which each had a row for each of its Hive partitions."""
    return sorted((number, part) for number in range(1, epoch + 1) for part in parts[number - 1])


@pytest.mark.variants(3)
@pytest.mark.parametrize("clauses", ["", MEMORY, "STORED AS TEXTFILE"])
def test_each_kept_epoch_has_its_rows_and_partitions(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    context.sql(CREATE.format(clauses))
    parts = ["a", "ab", "bc", "a", "c", "ad", "abcd"] + ["a", "ab"] * 12 + ["e", "d", "abe", "f"]
    for last, wanted in enumerate(parts, 1):
        write_epoch(context, folder, last, wanted)
        context.table_cache.settle()
        for epoch in range(max(1, last - KEPT + 1), last + 1, 2):
            assert content(context, at(epoch)) == expected(parts, epoch)
            named = rows(context, f"SELECT DISTINCT s FROM t VERSION AS OF {epoch} ORDER BY s")
            assert named == sorted({(part,) for wanted in parts[:epoch] for part in wanted})
    last = len(parts)
    assert content(context) == expected(parts, last)
    with pytest.raises(BindError, match=rf"epoch {last - KEPT} of default\.t is not available"):
        content(context, at(last - KEPT))
    location = Path(context.catalog.table("default", "t").location or "")
    assert any(path.name.count("_") == 2 for path in location.glob("s=a/_files/*")), "nothing was put together"


def test_at_a_moment(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(CREATE.format(MEMORY))
    write_epoch(context, folder, 1, "ab")
    ((moment,),) = rows(context, "SELECT date_format(current_timestamp(), 'yyyy-MM-dd HH:mm:ss.SSS')")
    until(lambda: rows(context, f"SELECT current_timestamp() > '{moment}'") == [(True,)])
    write_epoch(context, folder, 2, "bc")
    assert content(context, f"TIMESTAMP AS OF '{moment}'") == [(1, "a"), (1, "b")]
    text = f"SELECT a.n, a.s FROM t a LEFT ANTI JOIN t FOR SYSTEM_TIME AS OF '{moment}' b ON a.n = b.n AND a.s = b.s"
    assert sorted(rows(context, text)) == [(2, "b"), (2, "c")]
    assert rows(context, f"SELECT count(*) FROM t {at(1)} WHERE s = 'c'") == [(0,)]


@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_the_rows_and_partitions_of_then_are_there(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    context.sql(CREATE.format(clauses))
    parts = ["ab", "ac", "bd", "ad"]
    for number, wanted in enumerate(parts, 1):
        write_epoch(context, folder, number, wanted)
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
    assert content(context) == expected(parts, 2) == content(context, at(2))
    assert partitions(context) == ["s=a", "s=b", "s=c"]
    location = Path(context.catalog.table("default", "t").location or "")
    assert not (location / "s=d").exists()
    for gone in (1, 3, 4):
        with pytest.raises(BindError, match=r"is not available.*epochs 2 to 2"):
            content(context, at(gone))
    context.sql("RESUME CONTINUOUS TABLE t")
    assert content(context) == expected(parts, 4)
    assert partitions(context) == ["s=a", "s=b", "s=c", "s=d"]
    assert content(context, at(2)) == expected(parts, 2)
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
    assert content(context) == expected(parts, 2)


def test_another_query_computes_the_epochs_behind(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(CREATE.format(MEMORY))
    for number, wanted in enumerate(["a", "ab", "ac"], 1):
        write_epoch(context, folder, number, wanted)
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")
    context.sql("ALTER CONTINUOUS TABLE t AS SELECT n * 10 AS n, upper(s) AS s FROM numbers")
    context.sql("RESUME CONTINUOUS TABLE t")
    assert content(context) == [(1, "a"), (20, "A"), (20, "B"), (30, "A"), (30, "C")]
    assert partitions(context) == ["s=A", "s=B", "s=C", "s=a"]


def test_a_rollback_stays_after_a_restart(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        context.sql(CREATE.format(MEMORY))
        for number, wanted in enumerate(["ab", "bc"], 1):
            write_epoch(context, folder, number, wanted)
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        assert content(context) == [(1, "a"), (1, "b")]
        assert partitions(context) == ["s=a", "s=b"]
        context.sql("RESUME CONTINUOUS TABLE t")
        assert content(context) == [(1, "a"), (1, "b"), (2, "b"), (2, "c")]


def test_refresh_begins_anew(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(CREATE.format(""))
    for number, wanted in enumerate(["ab", "bc"], 1):
        write_epoch(context, folder, number, wanted)
    context.sql("REFRESH CONTINUOUS TABLE t")
    with pytest.raises(BindError, match=r"is not available.*epochs 4 to 4"):
        content(context, at(2))
    assert content(context, at(4)) == content(context) == expected(["ab", "bc"], 2)


def test_no_epoch_is_kept(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **{"shark.stream.kept.epochs": 0}) as context:
        make_stream(context, folder)
        context.sql(CREATE.format(""))
        write_epoch(context, folder, 1, "ab")
        with pytest.raises(BindError, match=r"is not available.*no epoch is"):
            context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")


def test_the_catalog_grows_with_what_epochs_change_alone(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(CREATE.format(""))
    put(folder, "000.json", [{"n": 0, "s": f"p{number}"} for number in range(100)])
    context.sql("RESUME CONTINUOUS TABLE t")
    for number in range(1, 2 * KEPT + 1):
        write_epoch(context, folder, number, "ab")
    query = context.catalog.table("default", "t").continuous
    kept = context.catalog.streams.epochs.kept(query)
    assert [one.number for one in kept] == list(range(KEPT + 2, 2 * KEPT + 2))
    assert context.catalog._file.row("SELECT count(*) FROM epoch_partition_") == (2 * (KEPT - 1),)
    assert len(context.catalog.streams.epochs.undone(query, kept[0].number)) == 2


def test_readers_keep_what_a_rollback_takes(context: sharkpy.SharkContext, folder: Path) -> None:
    """A partition that is dropped and made again while it is read keeps its files until its readers have left."""
    context.sql(CREATE.format(""))
    write_epoch(context, folder, 1, "a")
    write_epoch(context, folder, 2, "ab")
    table = context.catalog.table("default", "t")
    snapshot = context.snapshot()
    try:
        source = snapshot.scan_source(table)
        assert isinstance(source, HivePartitions)
        source.read(("s=a", "s=b"))
        files = {path: path.stat().st_mtime_ns for path in Path(table.location or "", "s=b").rglob("*.parquet")}
        assert files
        context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1")
        assert partitions(context) == ["s=a"]
        context.sql("RESUME CONTINUOUS TABLE t")
        assert {path: path.stat().st_mtime_ns for path in files} == files
        assert content(context) == [(1, "a"), (2, "a"), (2, "b")]
    finally:
        snapshot.release()
    write_epoch(context, folder, 3, "b")
    assert not any(path.exists() for path in files)
    assert content(context) == [(1, "a"), (2, "a"), (2, "b"), (3, "b")]


def test_a_table_that_follows_is_told_of_a_rollback(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(CREATE.format(""))
    write_epoch(context, folder, 1, "ab")
    context.sql("CREATE STREAM added FROM TABLE t")
    context.sql("CREATE CONTINUOUS TABLE second TRIGGER AVAILABLE NOW AS SELECT n, s FROM added")
    write_epoch(context, folder, 2, "bc")
    context.sql("RESUME CONTINUOUS TABLE second")
    assert sorted(rows(context, "SELECT n, s FROM second")) == [(2, "b"), (2, "c")]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
    write_epoch(context, folder, 3, "c")
    context.sql("RESUME CONTINUOUS TABLE second")
    assert sorted(rows(context, "SELECT n, s FROM second")) == [(2, "b"), (2, "c"), (3, "c")]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
    with pytest.raises(SharkError, match=r"rows of the table of default\.added were replaced or removed"):
        context.sql("RESUME CONTINUOUS TABLE second")


@pytest.mark.slow
@pytest.mark.parametrize("clauses", ["", MEMORY])
def test_versions_are_read_beside_epochs(context: sharkpy.SharkContext, folder: Path, clauses: str) -> None:
    """Whatever version a reader names while epochs are written, folded and forgotten: its rows, or an error."""
    context.sql(CREATE.format(clauses))
    parts = ["ab", "bc", "cd", "da"] * 12
    wrong, seen = list[str](), list[int]()
    is_over = threading.Event()

    def read(session: sharkpy.SharkContext) -> None:
        while not is_over.is_set():
            try:
                kept = session.catalog.streams.epochs.kept(session.catalog.table("default", "t").continuous)
                epoch = kept[len(seen) % len(kept)].number if kept else 1
                found = content(session, at(epoch))
            except BindError:
                continue
            except Exception as error:
                wrong.append(repr(error))
                return
            seen.append(epoch)
            if found != expected(parts, epoch):
                wrong.append(f"{epoch}: {found}")

    threads = [threading.Thread(target=read, args=(context.new_session(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for number, wanted in enumerate(parts, 1):
            write_epoch(context, folder, number, wanted)
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len(set(seen)) > KEPT
