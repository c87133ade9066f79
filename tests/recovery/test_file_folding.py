"""Small files of cached tables are folded while they are read: no row changes, and nothing is read again."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sharkpy
from sharkpy.base.errors import ResourceError, TableChangedError
from sharkpy.catalog.file_log import FileLog, LoggedFile
from sharkpy.catalog.model import Table
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.commands import table_statistics
from sharkpy.execution.commands.writes.staged_write import ConflictCheck
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables import versions
from sharkpy.execution.tables.block_loading import LoadedBlock
from sharkpy.execution.tables.cached_table import CacheEntry
from sharkpy.execution.tables.file_contents import FileContents
from sharkpy.plan.commands import AnalyzeTable
from sharkpy.sources.folders.generations import Placed, is_folded
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.source import Split
from tests.files import files_of
from tests.rows import rows

MEMORY = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
FORMATS = ["STORED AS TEXTFILE", "STORED AS PARQUET", "STORED AS JSONFILE"]


def start(folder: Path) -> sharkpy.SharkContext:
    return sharkpy.connect("local[2]", folder / "w", **{"shark.compaction.min.blocks": 4})


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with start(tmp_path) as context:
        yield context


def table_of(context: sharkpy.SharkContext, name: str = "t") -> Table:
    return context.catalog.table("default", name)


def version_of(context: sharkpy.SharkContext) -> TableVersion:
    version = context.table_cache.version(table_of(context))
    assert version is not None
    return version


def append(context: sharkpy.SharkContext, numbers: range) -> None:
    context.table_cache.version(table_of(context))
    for number in numbers:
        context.sql(f"INSERT INTO t VALUES ({number}, 'x{number}')").close()
        context.table_cache.settle()


@pytest.mark.variants(3)
@pytest.mark.parametrize("stored", FORMATS)
def test_many_appends_leave_few_files(tmp_path: Path, stored: str) -> None:
    with start(tmp_path) as context:
        context.sql(f"CREATE TABLE t (a INT, s STRING) {stored} {MEMORY}").close()
        append(context, range(30))
        expected = [(number, f"x{number}") for number in range(30)]
        assert rows(context, "SELECT * FROM t") == expected
        table, version = table_of(context), version_of(context)
        location = table.location or ""
        assert len(files_of(context)) < 8
        assert sum(map(len, version.origins)) < 8
        assert len(list(Path(location).iterdir())) < 8
        assert rows(context, "SELECT count(DISTINCT INPUT__FILE__NAME), count(*) FROM t")[0][1] == 30
    with start(tmp_path) as context:
        # All but the last few, whose blocks were only in memory, as they would soon have been merged.
        load, read = context.table_cache.versions.load, list[Split]()

        def noted(entry: CacheEntry, splits: Sequence[Split], **named: bool) -> list[LoadedBlock]:
            read.extend(splits)
            return load(entry, splits, **named)

        context.table_cache.versions.load = noted  # type: ignore[method-assign]
        assert rows(context, "SELECT * FROM t") == expected
        assert len(read) < 4
        assert not any(is_folded(split.path) for split in read)


@pytest.mark.variants(3)
@pytest.mark.parametrize("stored", FORMATS)
def test_files_of_a_table_on_the_disk_alone(context: sharkpy.SharkContext, stored: str) -> None:
    """Many small INSERTs do not make each query open as many files."""
    context.sql(f"CREATE TABLE t (a INT, s STRING) {stored}").close()
    append(context, range(30))
    assert rows(context, "SELECT * FROM t") == [(number, f"x{number}") for number in range(30)]
    location = table_of(context).location or ""
    assert len(files_of(context)) < 8
    assert len(list(Path(location).iterdir())) < 8
    context.sql("INSERT OVERWRITE TABLE t VALUES (0, 'x0')").close()
    append(context, range(1, 9))
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(9, 36)]


def test_files_of_hive_partitions_on_the_disk_alone(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (p INT) STORED AS PARQUET").close()
    for number in range(24):
        context.sql(f"INSERT INTO t VALUES ({number}, {number % 2})").close()
        context.table_cache.settle()
    assert rows(context, "SELECT p, count(*), sum(a) FROM t GROUP BY p ORDER BY p") == [(0, 12, 132), (1, 12, 144)]
    for part in ("p=0", "p=1"):
        assert len(list(Path(table_of(context).location or "", part).iterdir())) < 8


def test_blocks_of_many_small_appends_are_not_kept_on_the_disk(tmp_path: Path) -> None:
    """Such blocks would soon be merged. Merged blocks are on the disk, and a later session loads the other rows."""
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql(f"CREATE TABLE t (a INT, s STRING) {MEMORY}").close()
        kept = list[bool]()
        for number in range(15):
            append(context, range(number, number + 1))
            version = version_of(context)
            kept.append(version.blocks[-1].durable_path is not None)
        assert kept == [True] * 4 + [False] * 11
        append(context, range(15, 16))
        context.table_cache.settle()
        (block,) = version_of(context).blocks
        assert block.durable_path is not None
        append(context, range(16, 24))
        assert rows(context, "SELECT count(*), sum(a) FROM t") == [(24, 276)]
    for _ in range(2):
        with sharkpy.connect("local[2]", tmp_path / "w") as context:
            assert rows(context, "SELECT count(*), sum(a) FROM t") == [(24, 276)]


@pytest.mark.parametrize(
    ("created", "settings"),
    [
        ("(a INT, s STRING)", {"shark.compaction": "false"}),
        ("(a INT, s STRING)", {"shark.block.rows": 8}),
        ("(a INT, s STRING) PARTITIONED BY (p INT)", {}),
        ("(a INT, s STRING) CLUSTERED BY (a) INTO 2 BUCKETS", {}),
    ],
)
def test_blocks_that_may_never_be_merged_are_kept_on_the_disk(
    tmp_path: Path, created: str, settings: dict[str, Any]
) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w", **settings) as context:
        context.sql(f"CREATE TABLE t {created} {MEMORY}").close()
        context.table_cache.version(table_of(context))
        values = "2, 'x', 1" if "PARTITIONED" in created else "2, 'x'"
        for _ in range(8):
            context.sql(f"INSERT INTO t VALUES ({values})").close()
        assert all(block.durable_path for block in version_of(context).blocks)


def test_an_insert_does_not_look_at_the_files_of_the_others(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql(f"CREATE TABLE t (a INT, s STRING) STORED AS TEXTFILE {MEMORY}").close()
    append(context, range(3))
    listed, files = list[int](), FileLog.files

    def noted(log: FileLog, folder_id: int, at: int | None = None) -> list[LoggedFile]:
        listed.append(folder_id)
        return files(log, folder_id, at)

    monkeypatch.setattr(FileLog, "files", noted)
    context.sql("INSERT INTO t VALUES (3, 'x3')").close()
    assert not listed
    known = context.table_cache.loaded_version(table_of(context))
    assert known is not None
    assert known.num_rows == 4


def test_files_of_a_table_that_nobody_has_read_yet_are_folded(context: sharkpy.SharkContext) -> None:
    """One that is to be in memory, and to which a session only adds."""
    context.sql(f"CREATE TABLE t (a INT, s STRING) STORED AS PARQUET {MEMORY}").close()
    for number in range(30):
        context.sql(f"INSERT INTO t VALUES ({number}, 'x{number}')").close()
    context.table_cache.settle()
    assert not context.table_cache.is_loaded(table_of(context))
    assert len(files_of(context)) < 8
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(30, 435)]


def test_a_statement_goes_on_beside_a_fold(context: sharkpy.SharkContext) -> None:
    """A fold does not count as a write of another session, for which the statement would start again."""
    context.sql("CREATE TABLE t (a INT, s STRING) STORED AS PARQUET").close()
    context.sql("SET shark.compaction=false").close()
    append(context, range(5))
    before = ConflictCheck.now(table_of(context), context)
    context.sql("SET shark.compaction=true").close()
    context.table_cache.fold_later(table_of(context), [""])
    context.table_cache.settle()
    assert len(files_of(context)) == 1
    with context.catalog.transaction():
        before.place()
    append(context, range(5, 6))
    with context.catalog.transaction(), pytest.raises(TableChangedError):
        before.place()


def test_dropped_tables_leave_nothing(context: sharkpy.SharkContext) -> None:
    for _ in range(3):
        context.sql("CREATE TABLE t (a INT, s STRING) STORED AS PARQUET").close()
        append(context, range(5))
        context.sql("DROP TABLE t").close()
    cache = context.table_cache
    assert not cache.versions.contents._folds
    assert not cache._compactor._written
    assert not cache._compactor._folds


def test_a_lost_block_is_made_from_the_folded_file(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE TABLE t (a INT, s STRING) {MEMORY}").close()
    append(context, range(9))
    for block in version_of(context).blocks:
        for path in filter(None, (block.memory_path, block.durable_path)):
            Path(path).unlink()
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(9, 36)]


def test_a_full_disk_behind_a_fold_takes_no_rows(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folded file counts, and the table's version still has the blocks of the files before."""
    context.sql(f"CREATE TABLE t (a INT, s STRING) {MEMORY}").close()
    append(context, range(3))
    place, publish, is_full = LoggedFolder.place_fold, versions.publish_durably, threading.Event()

    def placed(*arguments: Any) -> Placed | None:
        is_full.set()
        return place(*arguments)

    def published(*arguments: Any) -> TableVersion:
        if is_full.is_set():
            raise ResourceError("no space left", sqlstate="53100")
        return publish(*arguments)

    monkeypatch.setattr(LoggedFolder, "place_fold", placed)
    monkeypatch.setattr(versions, "publish_durably", published)
    append(context, range(3, 4))
    assert is_full.is_set()
    assert len(files_of(context)) == 1
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(4, 6)]
    monkeypatch.undo()
    append(context, range(4, 5))
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(5, 10)]


def test_a_reader_keeps_its_files(context: sharkpy.SharkContext) -> None:
    properties = "TBLPROPERTIES ('shark.cache' = 'MEMORY', 'shark.table.retention' = '0')"
    context.sql(f"CREATE TABLE t (a INT, s STRING) {properties}").close()
    append(context, range(3))
    location = Path(table_of(context).location or "")
    reading = context.catalog.readers.enter(str(location))
    old = [file.path for file in files_of(context)]
    append(context, range(3, 4))
    assert len(files_of(context)) == 1
    assert all(Path(path).exists() for path in old)
    with context.catalog.readers.reading(str(location)):
        context.catalog.readers.leave(reading)
        append(context, range(4, 9))
        assert not any(Path(path).exists() for path in old)


def test_partitions(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE TABLE t (a INT) PARTITIONED BY (k STRING) {MEMORY}").close()
    context.table_cache.version(table_of(context))
    for number in range(20):
        context.sql(f"INSERT INTO t PARTITION (k = 'p{number % 2}') VALUES ({number})").close()
        context.table_cache.settle()
    assert rows(context, "SELECT k, count(*), sum(a) FROM t GROUP BY k ORDER BY k") == [("p0", 10, 90), ("p1", 10, 100)]
    assert sum(map(len, version_of(context).origins)) < 16
    context.sql("INSERT OVERWRITE TABLE t PARTITION (k = 'p0') VALUES (1)").close()
    context.sql("INSERT INTO t PARTITION (k = 'p0') VALUES (2)").close()
    assert rows(context, "SELECT k, count(*), sum(a) FROM t GROUP BY k ORDER BY k") == [("p0", 2, 3), ("p1", 10, 100)]


def test_other_files_stay(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Files that a user has put there, and files of an overwrite, are not deltas."""
    place = f"LOCATION '{tmp_path}/t'"
    context.sql(f"CREATE EXTERNAL TABLE t (a INT, s STRING) {place} {MEMORY}").close()
    (tmp_path / "t/by_hand").write_text("100\x01y\n")
    append(context, range(10))
    assert (tmp_path / "t/by_hand").exists()
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(11, 145)]
    context.sql("INSERT OVERWRITE TABLE t VALUES (1, 'x')").close()
    append(context, range(10))
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(11, 46)]


@pytest.mark.variants(2)
@pytest.mark.parametrize("stored", ["STORED AS ORC", "CLUSTERED BY (a) INTO 2 BUCKETS STORED AS PARQUET"])
def test_tables_that_keep_their_files(context: sharkpy.SharkContext, stored: str) -> None:
    context.sql(f"CREATE TABLE t (a INT, s STRING) {stored} {MEMORY}").close()
    append(context, range(10))
    assert len(files_of(context)) == 10
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(10, 45)]


def test_statistics_hold(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE TABLE t (a INT, s STRING) {MEMORY}").close()
    append(context, range(3))
    context.sql("INSERT INTO t VALUES (3, 'x3')").close()
    context.sql("ANALYZE TABLE t COMPUTE STATISTICS").close()
    context.table_cache.settle()
    context.table_cache.compact(table_of(context))
    assert len(files_of(context)) == 1
    described = context.sql("DESCRIBE FORMATTED t").fetchall()
    assert ["numRows", "4"] in [[str(text).strip() for text in row[1:]] for row in described]


def test_statistics_of_files_that_are_folded_meanwhile(
    context: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql(f"CREATE TABLE t (a INT, s STRING) {MEMORY}").close()
    context.sql("SET shark.compaction=false").close()
    append(context, range(4))
    counted = table_statistics._rows

    def folded(command: AnalyzeTable, session: EngineSession) -> list[tuple[object, ...]]:
        found = counted(command, session)
        context.table_cache.compact(table_of(context))
        return found

    monkeypatch.setattr(table_statistics, "_rows", folded)
    context.sql("ANALYZE TABLE t COMPUTE STATISTICS").close()
    assert len(files_of(context)) == 1
    described = context.sql("DESCRIBE FORMATTED t").fetchall()
    assert ["numRows", "4"] in [[str(text).strip() for text in row[1:]] for row in described]


def test_a_table_made_of_folded_files_is_made_again(context: sharkpy.SharkContext) -> None:
    """The source of a lost block now has other files with the same rows."""
    context.sql(f"CREATE TABLE t (a INT, s STRING) {MEMORY}").close()
    context.sql("SET shark.compaction=false").close()
    append(context, range(8))
    context.sql("CREATE TABLE only TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT a + 1 AS b FROM t").close()
    context.sql("SET shark.compaction=true").close()
    context.table_cache.compact(table_of(context))
    assert len(files_of(context)) == 1
    version = context.table_cache.version(table_of(context, "only"))
    assert version is not None
    for block in version.blocks:
        Path(block.memory_path).unlink()
    assert rows(context, "SELECT count(*), sum(b) FROM only") == [(8, 36)]


@pytest.mark.variants
@pytest.mark.parametrize("kept", [MEMORY, ""])
@pytest.mark.parametrize("seed", [1, 2])
def test_updates_beside_folding(context: sharkpy.SharkContext, seed: int, kept: str) -> None:
    """Writers of all kinds: each row that was added is there once, with all that was added to it."""
    context.sql(f"CREATE TABLE t (a INT, s STRING) STORED AS PARQUET {kept}").close()
    failures: list[BaseException] = []
    added = [0, 0]

    def run(number: int) -> None:
        chance, session = random.Random(10 * seed + number), context.new_session()
        try:
            for step in range(25):
                # A session that the other one overtakes too often has changed nothing.
                with suppress(TableChangedError):
                    if chance.random() < 0.15:
                        session.sql(f"UPDATE t SET s = concat(s, '+') WHERE a % 2 = {number}").close()
                key = 2 * step + number
                session.sql(f"INSERT INTO t VALUES ({key}, 'x')").close()
                added[number] += 1
                found = rows(session, f"SELECT count(*), count(DISTINCT a) FROM t WHERE a % 2 = {number}")
                assert found == [(added[number], added[number])], found
        except BaseException as error:
            failures.append(error)
        finally:
            session.stop()

    threads = [threading.Thread(target=run, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    context.table_cache.settle()
    assert rows(context, "SELECT count(*), sum(a) FROM t") == [(50, 1225)]


def test_contents_do_not_depend_on_folds() -> None:
    files = [DataFile(f"f{number}", number, number) for number in range(5)]
    contents = FileContents()
    whole = contents.of(files)
    assert whole != contents.of(reversed(files))
    assert whole != contents.of(files[:4])
    first, second, *others = (DataFile(name, 1, 1) for name in "ghijk")
    contents.note_fold([first], files[1:3])
    assert contents.of([files[0], first, *files[3:]]) == whole
    contents.note_fold([second], [first, files[3]])
    assert contents.of([files[0], second, files[4]]) == whole
    assert contents.of([files[0], second]) != whole
    contents.note_fold(others, [files[0], second])
    assert contents.of([*others, files[4]]) == whole
    contents.note_fold([first], [*others, files[4]])
    assert contents.of([first]) == whole
    assert contents._folds.keys() == {first}
    contents.note_fold([], [first])
    assert not contents._folds
