"""Continuous tables that get rows all the time: what an epoch and a statement need not look at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.tables import cached_table
from sharkpy.execution.tables.file_folding import small_run
from sharkpy.sources import layout
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.layout import DataFile
from sharkpy.streaming import scheduled_queries, scheduler
from sharkpy.streaming.sources.folder_finder import FolderFinder
from sharkpy.streaming.sources.interfaces import FoundFile
from tests.paths_below import paths_below
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers, put_numbers, until_numbers
from tests.waiting import until

MADE = (
    "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW AS SELECT n FROM numbers"
)
HEAD = "CREATE CONTINUOUS TABLE t PARTITIONED BY (k) TBLPROPERTIES ('shark.cache' = 'MEMORY')"
FOLDED = {"shark.compaction.min.blocks": 4, "shark.stream.kept.epochs": 1}


@pytest.fixture
def context(tmp_path: Path, folder: Path, request: pytest.FixtureRequest) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w", **getattr(request, "param", FOLDED)) as context:
        make_stream(context, folder)
        yield context


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Folders of tables that were listed."""
    found: list[str] = []
    names = layout.names_in

    def noted(path: str) -> list[str]:
        found.append(path)
        return names(path)

    monkeypatch.setattr(layout, "names_in", noted)
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Folders whose files, or new files, were asked for."""
    found: list[str] = []
    files, deltas = LoggedFolder.files, LoggedFolder.deltas

    def all_files(folder: LoggedFolder, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
        found.append(folder.path)
        return files(folder, newest)

    def new_files(folder: LoggedFolder, after: int, until: int) -> list[DataFile] | None:
        found.append(folder.path)
        return deltas(folder, after, until)

    monkeypatch.setattr(LoggedFolder, "files", all_files)
    monkeypatch.setattr(LoggedFolder, "deltas", new_files)
    return found


def write_epochs(context: sharkpy.SharkContext, folder: Path, wanted: range) -> None:
    for number in wanted:
        put_numbers(folder, f"{number:03d}.json", [number])
        context.sql("RESUME CONTINUOUS TABLE t")


def version_of(context: sharkpy.SharkContext) -> TableVersion:
    version = context.table_cache.loaded_version(context.catalog.table("default", "t"))
    assert version is not None
    return version


def blocks(context: sharkpy.SharkContext) -> list[str | None]:
    """Places on the disk of the blocks in memory."""
    return [block.durable_path for block in version_of(context).blocks]


def test_epochs_and_queries_list_no_folder(
    context: sharkpy.SharkContext, folder: Path, listed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached_table, "_LIST_SECONDS", 1e9)
    context.sql("SET shark.compaction = false")
    context.sql(MADE)
    write_epochs(context, folder, range(1))
    assert numbers(context) == [0]
    listed.clear()
    for number in range(1, 10):
        write_epochs(context, folder, range(number, number + 1))
        assert numbers(context) == [*range(number + 1)]
    context.table_cache.settle()
    folds = [one for one in context.table_cache.versions.all() if one.compaction is not None]
    assert len(listed) <= 4 * len(folds)


def test_only_hive_partitions_with_new_rows_are_listed(
    context: sharkpy.SharkContext, folder: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached_table, "_LIST_SECONDS", 1e9)
    context.sql("SET shark.compaction = false")
    made = MADE.replace("SELECT n", "SELECT n, n % 20 AS k").replace(" TRIGGER", " PARTITIONED BY (k) TRIGGER")
    made = made.replace("CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') PARTITIONED BY (k)", HEAD)
    context.sql(made)
    put_numbers(folder, "all", range(20))
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [*range(20)]
    asked.clear()
    assert numbers(context) == [*range(20)]
    assert not [path for path in asked if "k=" in path]
    write_epochs(context, folder, range(25, 26))
    assert numbers(context) == [*range(20), 25]
    assert {Path(path).name for path in asked if "k=" in path} == {"k=5"}


@pytest.mark.slow
def test_folded_files_have_the_same_rows(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(MADE)
    for number in range(30):
        write_epochs(context, folder, range(number, number + 1))
        assert numbers(context) == [*range(number + 1)]
        context.table_cache.settle()
    location = context.catalog.table("default", "t").location or ""
    assert len(layout.names_in(location)) < 20


@pytest.mark.variants
@pytest.mark.parametrize("clauses", ["", "STORED AS TEXTFILE", "PARTITIONED BY (k)", "PARTITIONED BY (k) {}"])
def test_files_of_tables_that_nobody_reads_are_folded(
    context: sharkpy.SharkContext, folder: Path, clauses: str
) -> None:
    """In memory or not, in Hive partitions or not: few files, and all rows, however many epochs there were."""
    clauses = clauses.format("TBLPROPERTIES ('shark.cache' = 'MEMORY')")
    made = f"CREATE CONTINUOUS TABLE t {clauses} TRIGGER AVAILABLE NOW AS SELECT n, n % 2 AS k FROM numbers"
    context.sql(made)
    for number in range(40):
        write_epochs(context, folder, range(number, number + 1))
        context.table_cache.settle()
    location = Path(context.catalog.table("default", "t").location or "")
    assert len([path for path in paths_below(location) if path.is_file() and "/." not in str(path)]) < 24
    assert numbers(context) == [*range(40)]
    assert rows(context, "SELECT k, count(*) FROM t GROUP BY k ORDER BY k") == [(0, 20), (1, 20)]


def test_a_fold_is_made_of_files_of_its_size() -> None:
    def folded(sizes: list[int]) -> list[int]:
        """Sizes of what is folded."""
        parts = [(Generation(str(n), n, n), [DataFile(str(n), size, 0)]) for n, size in enumerate(sizes, 1)]
        return [file.size_bytes for _, files in small_run(parts, 4, 100) for file in files]

    assert folded([1, 1, 1]) == []
    assert folded([1, 1, 1, 1]) == [1, 1, 1, 1]
    assert folded([9, 1, 1, 1, 1]) == [1, 1, 1, 1]
    assert folded([4, 1, 1, 1, 1]) == [4, 1, 1, 1, 1]
    assert folded([8, 4, 1, 1, 1, 1]) == [8, 4, 1, 1, 1, 1]
    assert folded([90, 30, 30, 30, 30]) == []
    assert folded([90, 20, 20, 20, 20]) == [20, 20, 20, 20]


@pytest.mark.slow
def test_files_that_another_process_folds(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql(MADE)
    write_epochs(context, folder, range(2))
    assert numbers(context) == [0, 1]
    with sharkpy.connect("local[2]", tmp_path / "w") as other:
        assert numbers(other) == [0, 1]
        for number in range(2, 20):
            write_epochs(context, folder, range(number, number + 1))
            context.table_cache.settle()
            if number % 3 == 0:
                assert numbers(other) == [*range(number + 1)]
        monkeypatch.setattr(cached_table, "_LIST_SECONDS", 0.0)
        assert numbers(other) == [*range(20)]


@pytest.mark.slow
def test_a_block_is_lost_whose_files_another_process_has_folded(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached_table, "_LIST_SECONDS", 1e9)
    context.sql(MADE)
    write_epochs(context, folder, range(3))
    assert numbers(context) == [0, 1, 2]
    with sharkpy.connect("local[2]", tmp_path / "w", shark_compaction=False) as other:
        assert numbers(other) == [0, 1, 2]
        before = version_of(other)
        for number in range(3, 12):
            write_epochs(context, folder, range(number, number + 1))
            context.table_cache.settle()
        assert not all(Path(origin.path).exists() for origins in before.origins for origin in origins)
        for block in version_of(other).blocks:
            for path in (block.memory_path, block.durable_path):
                if path:
                    Path(path).unlink(missing_ok=True)
        assert numbers(other) == [*range(12)]


def test_small_epochs_are_in_memory_alone_until_they_are_merged(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path
) -> None:
    context.sql(MADE)
    write_epochs(context, folder, range(1))
    assert numbers(context) == [0]
    write_epochs(context, folder, range(1, 3))
    assert blocks(context)[1:] == [None, None]
    for number in range(3, 12):
        write_epochs(context, folder, range(number, number + 1))
        context.table_cache.settle()
    kept = [Path(path) for path in blocks(context) if path is not None]
    assert kept
    assert all(path.is_file() for path in kept)
    context.stop()
    with sharkpy.connect("local[2]", tmp_path / "w") as again:
        assert numbers(again) == [*range(12)]
        assert set(map(str, kept)) <= set(blocks(again))


def test_what_a_killed_epoch_has_left_does_not_count(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(MADE)
    write_epochs(context, folder, range(3))
    table = context.catalog.table("default", "t")
    newest = context.catalog.newest_generation(table)
    assert newest is not None
    for kind in ("base", "delta"):
        left = Path(table.location or "", f"{kind}_{newest + 1:07d}")
        left.mkdir()
        (left / "part-00000.parquet").write_bytes(b"not whole")
    assert numbers(context) == [0, 1, 2]
    write_epochs(context, folder, range(3, 5))
    assert numbers(context) == [0, 1, 2, 3, 4]
    context.table_cache.clear()
    assert numbers(context) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("context", [{"shark.stream.kept.epochs": 9}], indirect=True)
def test_rows_of_a_rollback_and_of_a_refresh(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(MADE)
    write_epochs(context, folder, range(5))
    assert numbers(context) == [0, 1, 2, 3, 4]
    context.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 2")
    assert numbers(context) == [0, 1]
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [0, 1, 2, 3, 4]
    context.sql("REFRESH CONTINUOUS TABLE t")
    write_epochs(context, folder, range(5, 6))
    assert numbers(context) == [*range(6)]


def test_a_query_that_names_the_time_has_that_of_each_epoch(context: sharkpy.SharkContext, folder: Path) -> None:
    made = "AS SELECT n, current_timestamp() AS seen FROM numbers"
    context.sql(f"CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW {made}")
    write_epochs(context, folder, range(2))
    assert rows(context, "SELECT count(DISTINCT seen) FROM t") == [(2,)]


def test_an_epoch_sees_a_table_that_was_made_anew(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql("CREATE TABLE names AS SELECT 0 AS n, 'zero' AS name")
    joined = "SELECT numbers.n, name FROM numbers LEFT JOIN names ON numbers.n = names.n"
    context.sql(f"CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW AS {joined}")
    write_epochs(context, folder, range(2))
    context.sql("DROP TABLE names")
    context.sql("CREATE TABLE names AS SELECT 'two' AS name, 2 AS n")
    write_epochs(context, folder, range(2, 3))
    assert rows(context, "SELECT n, name FROM t ORDER BY n") == [(0, "zero"), (1, None), (2, "two")]


def test_idle_queries_are_looked_at_together(
    context: sharkpy.SharkContext, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    look_at = scheduler.StreamScheduler._look_at
    monkeypatch.setattr(scheduled_queries, "_EAGER_LOOKS", 3)
    monkeypatch.setattr(scheduled_queries, "_IDLE_LOOKS", 1)

    def noted(self: scheduler.StreamScheduler, quiet: list[scheduled_queries.ScheduledQuery]) -> None:
        looked.append(len(quiet))
        look_at(self, quiet)

    monkeypatch.setattr(scheduler.StreamScheduler, "_look_at", noted)
    folder.mkdir()
    for number in range(8):
        context.sql(f"CREATE CONTINUOUS TABLE t{number} AS SELECT n FROM numbers")
    until(lambda: 8 in looked)
    put_numbers(folder, "a", [1])
    for number in range(8):
        until_numbers(context, [1], f"t{number}")
    # What another process rolls back is read again.
    with sharkpy.connect("local[2]", tmp_path / "w") as other:
        other.sql("ROLLBACK CONTINUOUS TABLE t0 TO EPOCH 1")
        other.sql("REFRESH CONTINUOUS TABLE t1")
    put_numbers(folder, "b", [2])
    for number in range(8):
        until_numbers(context, [1, 2], f"t{number}")


def test_known_files_are_not_looked_at_again(
    context: sharkpy.SharkContext, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    put_numbers(folder, "a", [1])
    until_numbers(context, [1])
    reader = context.streams.readers.of(context.catalog.table("default", "numbers"))
    finder = reader._finder  # type: ignore[attr-defined]
    found: list[str] = []
    look = FolderFinder._found

    def noted(self: FolderFinder, path: str, name: str) -> FoundFile | None:
        found.append(name)
        return look(self, path, name)

    monkeypatch.setattr(FolderFinder, "_found", noted)
    monkeypatch.setattr(finder, "_compared", time.monotonic() + 1000)
    put_numbers(folder, "b", [2])
    until_numbers(context, [1, 2])
    assert "b" in found
    assert "a" not in found
