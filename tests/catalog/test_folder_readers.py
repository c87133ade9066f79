"""Readers of folders: counted in a process, seen from other processes, free when a reader dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sharkpy
from sharkpy.catalog.folder_readers import FolderReaders
from tests.paths_below import paths_below

OTHER = """
import sys
from sharkpy.catalog.folder_readers import FolderReaders
readers = FolderReaders(sys.argv[1], "/other")
readers.enter("/data/a")
print(readers.is_read("/data/b"), flush=True)
sys.stdin.read(1)
"""


def test_readers_of_one_process_are_counted(tmp_path: Path) -> None:
    readers = FolderReaders(str(tmp_path / "readers"), "/warehouse")
    first, second = readers.enter("/data/a"), readers.enter("/data/a")
    readers.leave(first)
    assert readers.is_read("/data/a")
    assert not readers.is_read("/data/b")
    readers.leave(second)
    assert not readers.is_read("/data/a")
    readers.close()
    readers.close()


def test_readers_who_came_later_do_not_count(tmp_path: Path) -> None:
    readers = FolderReaders(str(tmp_path / "readers"), "/warehouse")
    before = readers.enter("/data/a")
    mark = readers.mark()
    after = readers.enter("/data/a")
    assert readers.is_read("/data/a", mark)
    readers.leave(before)
    assert not readers.is_read("/data/a", mark)
    assert readers.is_read("/data/a")
    command = [sys.executable, "-c", OTHER.replace("/data/b", "/data/a"), str(tmp_path / "readers")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert readers.is_read("/data/a", mark)
        other.communicate("x")
    assert not readers.is_read("/data/a", mark)
    readers.leave(after)
    assert not readers.is_read("/data/a")
    readers.close()


def test_a_reader_may_leave_in_the_middle_of_anything(tmp_path: Path) -> None:
    """The collector of garbage ends a query's snapshot wherever it runs."""
    readers = FolderReaders(str(tmp_path / "readers"), "/warehouse")
    reading = readers.enter("/data/a")
    with readers._lock:
        readers.leave(reading)
    assert not readers.is_read("/data/a")
    readers.close()


def test_a_reader_in_another_process_until_it_dies(tmp_path: Path) -> None:
    path = str(tmp_path / "readers")
    readers = FolderReaders(path, "/warehouse")
    command = [sys.executable, "-c", OTHER, path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "False\n"
        readers.leave(readers.enter("/data/a"))
        assert readers.is_read("/data/a")
        other.kill()
        other.wait()
    assert not readers.is_read("/data/a")


def test_a_folder_of_the_warehouse_has_one_name(tmp_path: Path) -> None:
    """The folder of the warehouse may have another name in another container."""
    path = str(tmp_path / "readers")
    readers = FolderReaders(path, "/warehouse")
    command = [sys.executable, "-c", OTHER.replace("/data/a", "/other/a"), path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "False\n"
        assert readers.is_read("/warehouse/a")
        assert not readers.is_read("/warehouse/b")
        other.communicate("x")
    assert not readers.is_read("/warehouse/a")
    readers.close()


def test_what_a_result_reads_stays_until_it_is_closed(tmp_path: Path) -> None:
    with sharkpy.connect(warehouse=tmp_path / "warehouse", shark_table_retention="0") as context:
        context.sql("CREATE TABLE t (a INT) STORED AS PARQUET")
        context.sql("INSERT INTO t VALUES (1)")
        folder = Path(context.catalog.table("default", "t").location or "")

        def files() -> int:
            return len(paths_below(folder, "*.parquet"))

        result = context.sql("SELECT a FROM t")
        context.sql("INSERT OVERWRITE TABLE t VALUES (2)")
        assert files() == 2
        assert [tuple(row) for row in result.fetchall()] == [(1,)]
        context.sql("INSERT OVERWRITE TABLE t VALUES (3)")
        assert files() == 1
        result = context.sql("SELECT a FROM t")
        context.sql("DROP TABLE t")
        context.sql("CREATE TABLE t (a INT) STORED AS PARQUET")
        assert [tuple(row) for row in result.fetchall()] == [(3,)]
        assert context.sql("SELECT count(*) FROM t").fetchall()[0][0] == 0
        context.sql("DROP TABLE t")
        assert not folder.exists()
