"""Blocks of rows that were just written are made of these, without reading their files, and hold the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import CancelledError, ResourceError, SharkError
from sharkpy.execution.tables import versions
from sharkpy.execution.tables.block_loading import DriverLoader
from sharkpy.execution.tables.staged_blocks import WrittenBlocks
from sharkpy.sources import new_files, parquet
from sharkpy.sources.new_files import WrittenRowsCache
from sharkpy.sources.parquet import ROW_GROUP_ROWS

_TYPES = (
    "b BOOLEAN, y TINYINT, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, t STRING, v VARCHAR(3), c CHAR(3), "
    "x BINARY, e DECIMAL(12, 3), g DECIMAL(38, 10), a DATE, m TIMESTAMP, r ARRAY<STRING>, p MAP<STRING, INT>, "
    "u STRUCT<k: INT, w: ARRAY<DATE>>"
)
_ROW = (
    "true, {n}, {n}, {n}, 9223372036854775807 - {n}, -0.0, 'NaN', 'text {n}', 'abcd', 'a', 'x', {n}.125, "
    "-1234567890.0987654321, date '0001-01-01', timestamp '9999-12-31 23:59:59.999999', array('a', NULL), "
    "map('k', {n}), named_struct('k', {n}, 'w', array(date '2026-01-01', NULL))"
)
_NUMBERS = "SELECT id FROM (SELECT explode(sequence({first}, {last})) AS id) s"


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        yield context
    assert not new_files._caches


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """A list that gets an item for each file whose rows are read for blocks."""
    found: list[object] = []
    read = pq.ParquetFile.read_row_groups

    def reading(file: pq.ParquetFile, *args: Any, **kwargs: Any) -> object:
        found.append(file)
        return read(file, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", reading)
    return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the Parquet files that are opened to be read."""
    found: list[str] = []
    make = pq.ParquetFile.__init__

    def opening(file: pq.ParquetFile, path: str, *args: Any, **kwargs: Any) -> None:
        found.append(path)
        make(file, path, *args, **kwargs)

    monkeypatch.setattr(pq.ParquetFile, "__init__", opening)
    return found


def _origins(context: sharkpy.SharkContext) -> tuple[object, ...]:
    """Origins of the blocks of t, which is loaded if it is not."""
    version = context.table_cache.version(context.catalog.table("default", "t"))
    assert version is not None
    return version.origins


def _numbers(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (id BIGINT) STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')").close()
    context.sql(f"INSERT INTO t {_NUMBERS.format(first=1, last=10)}").close()
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(10,)]


def test_files_are_not_read_for_blocks_of_new_rows(context: sharkpy.SharkContext, read: list[object]) -> None:
    _numbers(context)
    read.clear()
    context.sql(f"INSERT INTO t {_NUMBERS.format(first=11, last=5000)}").close()
    context.sql(f"INSERT INTO t {_NUMBERS.format(first=5001, last=5010)}").close()
    assert context.sql("SELECT count(*), sum(id), max(id) FROM t").fetchall() == [(5010, 5010 * 5011 // 2, 5010)]
    context.sql(f"INSERT OVERWRITE TABLE t {_NUMBERS.format(first=7, last=9)}").close()
    assert context.sql("SELECT * FROM t ORDER BY id").fetchall() == [(7,), (8,), (9,)]
    assert not read


@pytest.mark.variants(3)
@pytest.mark.parametrize("verb", ["INSERT INTO", "INSERT OVERWRITE TABLE"])
@pytest.mark.parametrize("rows", [1, 5000, ROW_GROUP_ROWS])
def test_origins_are_those_that_a_later_session_finds(tmp_path: Path, rows: int, verb: str, opened: list[str]) -> None:
    """No footer is read for a file of one row group."""
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        _numbers(context)
        opened.clear()
        context.sql(f"{verb} t {_NUMBERS.format(first=11, last=10 + rows)}").close()
        assert not opened
        made = _origins(context)
        context.table_cache.forget(context.catalog.table("default", "t"))
    opened.clear()
    with sharkpy.connect("local[2]", tmp_path / "w") as later:
        assert _origins(later) == made
        assert opened
        kept = 10 if verb == "INSERT INTO" else 0
        assert later.sql("SELECT count(*), max(id) FROM t").fetchall() == [(kept + rows, 10 + rows)]


def test_blocks_hold_what_the_files_do(context: sharkpy.SharkContext, read: list[object]) -> None:
    context.sql(f"CREATE TABLE t ({_TYPES}) STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')").close()
    nulls = f"SELECT {', '.join(['NULL'] * 18)}"
    context.sql(f"INSERT INTO t {nulls}").close()
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(1,)]
    read.clear()
    rows = " UNION ALL ".join(f"SELECT {_ROW.format(n=n)}" for n in range(20))
    context.sql(f"INSERT INTO t {rows} UNION ALL {nulls}").close()
    made = context.sql("SELECT * FROM t ORDER BY l").fetchall()
    assert not read
    context.sql("UNCACHE TABLE IF EXISTS t").close()
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('shark.cache' = 'NONE')").close()
    assert repr(context.sql("SELECT * FROM t ORDER BY l").fetchall()) == repr(made)
    assert len(made) == 22


def test_many_rows_are_read_from_their_files(
    context: sharkpy.SharkContext, read: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    _numbers(context)
    read.clear()
    monkeypatch.setattr(new_files, "_MOST_BYTES", 100_000)
    context.sql(f"INSERT OVERWRITE TABLE t {_NUMBERS.format(first=1, last=200_000)}").close()
    assert context.sql("SELECT count(*), sum(id) FROM t").fetchall() == [(200_000, 200_000 * 200_001 // 2)]
    assert read


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Row groups of files, by first number and how many they are, that blocks were made of as they were written."""
    taken: list[tuple[int, int]] = []
    take = WrittenBlocks.take

    def taking(self: WrittenBlocks, rows: pa.Table, first: int, count: int) -> None:
        taken.append((first, count))
        take(self, rows, first, count)

    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", 10_000)
    monkeypatch.setattr(WrittenBlocks, "take", taking)
    return taken


def _check_origins(context: sharkpy.SharkContext) -> None:
    """The blocks of each file have all its row groups, in order, and each as many rows as its own."""
    version = context.table_cache.version(context.catalog.table("default", "t"))
    assert version is not None
    rows: dict[Any, int] = {}
    for block, (origin,) in zip(version.blocks, version.origins, strict=True):
        rows[origin] = rows.get(origin, 0) + block.num_rows
    groups: dict[str, list[int]] = {}
    for origin, num_rows in rows.items():
        known, metadata = groups.setdefault(origin.path, []), pq.read_metadata(origin.path)
        assert origin.start == len(known)
        known += [metadata.row_group(origin.start + number).num_rows for number in range(origin.length)]
        assert sum(known[origin.start :]) == num_rows
    assert all(pq.read_metadata(path).num_row_groups == len(known) for path, known in groups.items())


@pytest.mark.variants(3)
@pytest.mark.parametrize("room", [0, 600_000, 128 << 20])
def test_blocks_of_many_rows_are_made_as_these_are_written(
    tmp_path: Path,
    small_groups: list[tuple[int, int]],
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
    room: int,
) -> None:
    total = (300_000, 300_000 * 300_001 // 2)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        _numbers(context)
        monkeypatch.setattr(new_files, "_MOST_BYTES", room)
        opened.clear()
        context.sql(f"INSERT INTO t {_NUMBERS.format(first=11, last=300_000)}").close()
        assert not opened
        assert len(small_groups) > 2
        _check_origins(context)
        assert context.sql("SELECT count(*), sum(id) FROM t").fetchall() == [total]
        version = context.table_cache.version(context.catalog.table("default", "t"))
        assert version is not None
        assert context.engine.store.usage().num_blocks == len(version.blocks)
        for block in version.blocks[1::2]:
            for path in (block.memory_path, block.durable_path):
                Path(path or "").unlink()
        assert context.sql("SELECT count(id), sum(id + 0) FROM t").fetchall() == [total]
    opened.clear()
    with sharkpy.connect("local[2]", tmp_path / "w") as later:
        assert later.sql("SELECT count(id), sum(id + 0) FROM t").fetchall() == [total]
        assert _origins(later) == version.origins
        assert not opened


def test_rows_that_are_kept_need_no_spark(context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of files that are too large for the driver to load."""
    _numbers(context)
    # It chooses the loader by the size of files.
    monkeypatch.delattr(versions, "_loader")
    context.sql(f"INSERT INTO t {_NUMBERS.format(first=11, last=30_000)}").close()
    assert context.sql("SELECT count(id), sum(id + 0) FROM t").fetchall() == [(30_000, 30_000 * 30_001 // 2)]


def test_blocks_of_buckets_are_made_as_their_rows_are_written(
    context: sharkpy.SharkContext, small_groups: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = "(id BIGINT) CLUSTERED BY (id) INTO 3 BUCKETS STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')"
    context.sql(f"CREATE TABLE t {made}").close()
    context.sql("INSERT INTO t VALUES (1)").close()
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(1,)]
    monkeypatch.setattr(new_files, "_MOST_BYTES", 0)
    context.sql(f"INSERT INTO t {_NUMBERS.format(first=2, last=90_000)}").close()
    assert small_groups
    version = context.table_cache.version(context.catalog.table("default", "t"))
    assert version is not None
    assert {block.bucket for block in version.blocks} == {0, 1, 2}
    _check_origins(context)
    assert context.sql("SELECT count(id), sum(id + 0) FROM t").fetchall() == [(90_000, 90_000 * 90_001 // 2)]


def test_blocks_that_fail_as_rows_are_written_are_made_later(
    context: sharkpy.SharkContext, small_groups: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _numbers(context)
    make, left = DriverLoader.make, [None, None]

    def failing(self: DriverLoader, *arguments: Any) -> Iterator[Any]:
        if small_groups and left:
            left.pop()
            if not left:
                raise ResourceError("no room", sqlstate="53100")
        yield from make(self, *arguments)

    monkeypatch.setattr(DriverLoader, "make", failing)
    monkeypatch.setattr(new_files, "_MOST_BYTES", 0)
    context.sql(f"INSERT INTO t {_NUMBERS.format(first=11, last=300_000)}").close()
    assert not left
    monkeypatch.undo()
    assert context.sql("SELECT count(id), sum(id + 0) FROM t").fetchall() == [(300_000, 300_000 * 300_001 // 2)]
    version = context.table_cache.version(context.catalog.table("default", "t"))
    assert version is not None
    assert context.engine.store.usage().num_blocks == len(version.blocks)


def test_a_write_that_fails_half_way_leaves_no_block(
    context: sharkpy.SharkContext, tmp_path: Path, small_groups: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _numbers(context)
    before = context.engine.store.usage()
    kept = sorted((tmp_path / "w" / ".sharkpy" / "blocks").rglob("*.arrow"))
    monkeypatch.setattr(new_files, "_MOST_BYTES", 0)
    take = WrittenBlocks.take

    def failing(self: WrittenBlocks, *arguments: Any) -> None:
        take(self, *arguments)
        if len(small_groups) == 3:
            raise CancelledError("the query was cancelled")

    monkeypatch.setattr(WrittenBlocks, "take", failing)
    with pytest.raises(CancelledError):
        context.sql(f"INSERT INTO t {_NUMBERS.format(first=11, last=300_000)}")
    assert len(small_groups) == 3
    now = context.engine.store.usage()
    assert (now.num_blocks, now.memory_bytes) == (before.num_blocks, before.memory_bytes)
    assert sorted((tmp_path / "w" / ".sharkpy" / "blocks").rglob("*.arrow")) == kept
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(10,)]


def test_nothing_is_kept_of_a_write_that_failed(context: sharkpy.SharkContext) -> None:
    _numbers(context)
    with pytest.raises(SharkError):
        context.sql(f"INSERT INTO t SELECT id * assert_true(id < 4000) FROM ({_NUMBERS.format(first=1, last=5000)}) s")
    assert not new_files._caches
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(10,)]


class _Taker:
    """Taker that notes the numbers of rows."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    def take(self, rows: pa.Table, first: int, count: int) -> None:
        self.taken.append(rows.num_rows)

    def end(self, path: Path) -> None:
        pass

    def drop(self) -> None:
        pass


@pytest.mark.parametrize("has_taker", [False, True])
@pytest.mark.parametrize("is_whole", [False, True])
def test_room_of_rows_that_are_not_kept_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_taker: bool, is_whole: bool
) -> None:
    rows, taker = pa.table({"n": [1, 2, 3]}), _Taker()
    monkeypatch.setattr(new_files, "_MOST_BYTES", 10 * rows.nbytes)
    written = WrittenRowsCache(str(tmp_path), (lambda: taker) if has_taker else None)
    try:
        path = tmp_path / "file"
        path.touch()
        for _ in range(5):
            file = written.begin_file()
            file.add(rows, 1)
            file.add(rows.slice(1), 1)
            if is_whole:
                file.end(path)
            else:
                file.drop()
        assert taker.taken == ([3] * 5 if has_taker else [])
        kept = 5 * rows.slice(1).nbytes if has_taker and is_whole else 0
        assert written.has_room(10 * rows.nbytes - kept)
        assert not written.has_room(1)
        assert (new_files.cached_rows(str(path)) is not None) == (has_taker and is_whole)
    finally:
        written.forget()
