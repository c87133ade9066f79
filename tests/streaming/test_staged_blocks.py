"""Blocks of new rows are made before the rows are committed. No reader waits for the blocks, and a write that fails
leaves none.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, ResourceError, SharkError, TableNotFoundError
from sharkpy.catalog.catalog import Catalog
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.commands.writes.table_files import TableFiles
from sharkpy.execution.tables import versions
from sharkpy.execution.tables.block_loading import DriverLoader
from sharkpy.sources import new_files
from sharkpy.streaming import kill_points
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers, put_numbers

MADE = (
    "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW AS SELECT n FROM numbers"
)
LIMIT = 4096


@pytest.fixture
def context(tmp_path: Path, folder: Path, request: pytest.FixtureRequest) -> Iterator[sharkpy.SharkContext]:
    (tmp_path / "shm").mkdir()
    conf = {"shark.store.shm.dir": tmp_path / "shm", "shark.compaction": False}
    with sharkpy.connect("local[2]", tmp_path / "w", **conf, **getattr(request, "param", {})) as context:
        make_stream(context, folder, "('max.files.per.epoch' = '1')")
        yield context
    assert not new_files._caches
    assert not list((tmp_path / "shm").iterdir())


@pytest.fixture
def done(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Steps of writes that were done, with the making of blocks among them."""
    found: list[str] = []
    load, place = DriverLoader.load, TableFiles.place

    def loading(self: DriverLoader, *arguments: Any, **named: Any) -> Any:
        found.append("blocks" if are_free(context) else "blocks under a lock")
        return load(self, *arguments, **named)

    def placing(self: TableFiles) -> None:
        found.append("place")
        place(self)

    monkeypatch.setattr(DriverLoader, "load", loading)
    monkeypatch.setattr(TableFiles, "place", placing)
    return found


def are_free(context: sharkpy.SharkContext) -> bool:
    """True if another thread gets the locks of all tables in memory."""

    def take() -> bool:
        taken = [entry for entry in context.table_cache.versions.all() if entry.lock.acquire(timeout=0.5)]
        for entry in taken:
            entry.lock.release()
        return len(taken) == len(context.table_cache.versions.all())

    return elsewhere(take)


def elsewhere(work: Callable[[], Any]) -> Any:
    """Do some work in another thread, and wait for it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def run_epoch(context: sharkpy.SharkContext, folder: Path, number: int) -> None:
    put_numbers(folder, f"{number:03d}.json", [number])
    context.sql("RESUME CONTINUOUS TABLE t")


def version_of(context: sharkpy.SharkContext, table: str = "t") -> TableVersion:
    version = context.table_cache.loaded_version(context.catalog.table("default", table))
    assert version is not None
    return version


def blocks_on_the_disk(tmp_path: Path) -> set[str]:
    return {path.stem for path in (tmp_path / "w" / ".sharkpy" / "blocks").rglob("*.arrow")}


def check_blocks(context: sharkpy.SharkContext, table: str = "t") -> None:
    """Check that the store has the blocks of the table's version, and no other blocks."""
    gc.collect()
    assert context.engine.store.usage().num_blocks == len(version_of(context, table).blocks)
    assert not [entry for entry in context.table_cache.versions.all() if entry.staged]


def test_blocks_of_an_epoch(
    context: sharkpy.SharkContext, folder: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql(MADE)
    monkeypatch.setattr(kill_points, "observer", done.append)
    for number in range(3):
        done.clear()
        run_epoch(context, folder, number)
        assert done == ["begun", "blocks", "staged", "place", "placed", "committed", "ended"]
        assert numbers(context) == [*range(number + 1)]
        assert done.count("blocks") == 1
        assert len(version_of(context).blocks) == number + 1
    check_blocks(context)


@pytest.mark.variants(3)
@pytest.mark.parametrize("stored", ["PARQUET", "TEXTFILE", "ORC"])
def test_blocks_of_an_insert(context: sharkpy.SharkContext, tmp_path: Path, done: list[str], stored: str) -> None:
    context.sql(f"CREATE TABLE u (n BIGINT) STORED AS {stored} TBLPROPERTIES ('shark.cache' = 'MEMORY')")
    context.sql("INSERT INTO u VALUES (1)")
    assert numbers(context, "u") == [1]
    done.clear()
    context.sql("INSERT INTO u VALUES (2)")
    assert numbers(context, "u") == [1, 2]
    assert done == ["blocks", "place"]
    check_blocks(context, "u")
    assert blocks_on_the_disk(tmp_path) == {block.block_id for block in version_of(context, "u").blocks}


def test_a_reader_right_behind_the_commit(
    context: sharkpy.SharkContext, folder: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader takes the blocks that were made, before the write itself does."""
    context.sql(MADE)
    run_epoch(context, folder, 0)
    seen: list[object] = []

    def read(step: str) -> None:
        if step == kill_points.COMMITTED:
            seen.append(elsewhere(lambda: numbers(context.new_session())))

    monkeypatch.setattr(kill_points, "observer", read)
    done.clear()
    run_epoch(context, folder, 1)
    assert seen == [[0, 1]]
    assert done == ["blocks", "place"]
    assert len(version_of(context).blocks) == 2
    check_blocks(context)


@contextmanager
def failing(where: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let an epoch fail when its rows are in place, or as the catalog's transaction is committed."""
    is_placed: list[str] = []
    transaction = Catalog.transaction

    def fail() -> None:
        is_placed.clear()
        raise ResourceError("no room", sqlstate="53100")

    def hook(step: str) -> None:
        if step == kill_points.PLACED:
            is_placed.append(step)
            if where == "place":
                fail()

    @contextmanager
    def committed(self: Catalog, **given: bool) -> Iterator[None]:
        with transaction(self, **given):
            yield
            if is_placed:
                fail()

    with monkeypatch.context() as patch:
        patch.setattr(kill_points, "observer", hook)
        patch.setattr(Catalog, "transaction", committed)
        yield


@pytest.mark.variants
@pytest.mark.parametrize(
    "context", [{"shark.store.memory.limit": "64m"}, {"shark.store.memory.limit": "1000"}], indirect=True
)
@pytest.mark.parametrize("is_hot", [True, False])
@pytest.mark.parametrize("where", ["place", "commit"])
def test_a_write_that_fails_leaves_no_block(
    context: sharkpy.SharkContext,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    is_hot: bool,
) -> None:
    if not is_hot:
        monkeypatch.setattr(versions, "_HOT_BYTES", -1)
    context.sql(MADE)
    for number in range(2):
        run_epoch(context, folder, number)
    before, kept = context.engine.store.usage(), blocks_on_the_disk(tmp_path)
    assert bool(version_of(context).blocks[-1].durable_path) != is_hot
    with failing(where, monkeypatch), pytest.raises(SharkError, match="no room"):
        run_epoch(context, folder, 2)
    now = context.engine.store.usage()
    assert (now.num_blocks, now.memory_bytes, now.local_bytes) == (
        before.num_blocks,
        before.memory_bytes,
        before.local_bytes,
    )
    assert blocks_on_the_disk(tmp_path) == kept
    check_blocks(context)
    assert numbers(context) == [0, 1]
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [0, 1, 2]
    check_blocks(context)


def failing_once(error: SharkError, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let blocks not be made the next time."""
    load, left = DriverLoader.load, [error]

    def loading(self: DriverLoader, *arguments: Any, **named: Any) -> Any:
        if left:
            raise left.pop()
        return load(self, *arguments, **named)

    monkeypatch.setattr(DriverLoader, "load", loading)


def test_blocks_that_cannot_be_made_are_made_later(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql(MADE)
    run_epoch(context, folder, 0)
    failing_once(ResourceError("no memory"), monkeypatch)
    run_epoch(context, folder, 1)
    assert len(version_of(context).blocks) == 2
    assert numbers(context) == [0, 1]
    check_blocks(context)


def test_a_statement_that_is_cancelled_while_they_are_made(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql("CREATE TABLE u (n BIGINT) STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')")
    context.sql("INSERT INTO u VALUES (1)")
    assert numbers(context, "u") == [1]
    failing_once(CancelledError("the query was cancelled"), monkeypatch)
    with pytest.raises(CancelledError):
        context.sql("INSERT INTO u VALUES (2)")
    assert numbers(context, "u") == [1]
    check_blocks(context, "u")


@pytest.mark.variants(2)
@pytest.mark.parametrize("is_forgotten", [False, True])
def test_blocks_that_are_dropped_before_they_count(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_forgotten: bool
) -> None:
    monkeypatch.setattr(versions, "_HOT_BYTES", -1)
    context.sql(MADE)
    run_epoch(context, folder, 0)
    table = context.catalog.table("default", "t")

    def drop(step: str) -> None:
        if step == kill_points.STAGED:
            (context.table_cache.forget if is_forgotten else context.table_cache.release)(table)

    monkeypatch.setattr(kill_points, "observer", drop)
    run_epoch(context, folder, 1)
    assert numbers(context) == [0, 1]
    check_blocks(context)
    assert blocks_on_the_disk(tmp_path) == {block.block_id for block in version_of(context).blocks}


@pytest.mark.slow
def test_a_table_that_is_dropped_while_they_are_made(
    context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql("CREATE TABLE u (n BIGINT) STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')")
    context.sql("INSERT INTO u VALUES (1)")
    assert numbers(context, "u") == [1]
    table, load = context.catalog.table("default", "u"), DriverLoader.load

    def loading(self: DriverLoader, *arguments: Any, **named: Any) -> Any:
        elsewhere(lambda: context.new_session().sql("DROP TABLE u").close())
        return load(self, *arguments, **named)

    monkeypatch.setattr(DriverLoader, "load", loading)
    with pytest.raises(TableNotFoundError):
        context.sql("INSERT INTO u VALUES (2)")
    gc.collect()
    assert context.engine.store.usage().num_blocks == 0
    assert not list((tmp_path / "w" / ".sharkpy" / "blocks").glob(f"{table.table_id}*"))


def test_a_table_that_is_altered_before_they_count(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql("CREATE TABLE u (n BIGINT) STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')")
    context.sql("INSERT INTO u VALUES (1)")
    assert numbers(context, "u") == [1]
    prepare = TableFiles.prepare

    def prepared(self: TableFiles) -> None:
        prepare(self)
        elsewhere(lambda: context.new_session().sql("ALTER TABLE u ADD COLUMNS (s STRING)").close())

    with monkeypatch.context() as patch:
        patch.setattr(TableFiles, "prepare", prepared)
        context.sql("INSERT INTO u VALUES (2)")
    assert rows(context, "SELECT n, s FROM u ORDER BY n") == [(1, None), (2, None)]
    check_blocks(context, "u")


@pytest.mark.slow
@pytest.mark.parametrize("context", [{"shark.store.memory.limit": str(LIMIT)}], indirect=True)
def test_they_keep_to_the_limit_of_memory(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []
    context.sql(MADE)
    monkeypatch.setattr(kill_points, "observer", lambda _: used.append(context.engine.store.usage().memory_bytes))
    for number in range(12):
        run_epoch(context, folder, number)
    assert len(used) == 12 * len(kill_points.POINTS)
    assert max(used) <= LIMIT
    assert context.engine.store.usage().local_bytes > 0
    assert numbers(context) == [*range(12)]
    check_blocks(context)


RUNNER = """
import sys, sharkpy

with sharkpy.connect("local[2]", sys.argv[1], shark_compaction=False) as context:
    context.sql("RESUME CONTINUOUS TABLE t")
    version = context.table_cache.loaded_version(context.catalog.table("default", "t"))
    print(version.origins)
"""


@pytest.mark.slow
def test_another_process_finds_the_same_origins(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    """The other process makes blocks from the files; the writer has made them from the rows."""
    context.sql(MADE)
    run_epoch(context, folder, 0)
    for number in range(1, 4):
        put_numbers(folder, f"{number:03d}.json", range(number * 10, number * 10 + number))
    writer = subprocess.run(
        [sys.executable, "-c", RUNNER, str(tmp_path / "w")], capture_output=True, text=True, timeout=120, check=True
    )
    assert numbers(context) == [0, 10, 20, 21, 30, 31, 32]
    assert len(version_of(context).blocks) == 4
    assert writer.stdout.strip() == str(version_of(context).origins)
