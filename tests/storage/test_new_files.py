"""Files that tasks put into a bucket: only whole files, under names of their own, with little room on the disk."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base.errors import ResourceError, SharkError
from sharkpy.execution.tasks import sinks
from sharkpy.execution.tasks.inputs import TaskData, TaskMetrics
from sharkpy.execution.tasks.report import FileResult
from sharkpy.execution.tasks.sinks import SinkContext
from sharkpy.execution.tasks.task import run_task
from sharkpy.physical.stage_program import FileSink, StageProgram
from sharkpy.sources.formats import source
from sharkpy.sources.layout import DataFile
from sharkpy.sources.storage import stores
from sharkpy.sources.storage.access import ACCESSES, StorageAccess
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import Field, Schema
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.places import BUCKET, QUICK, ended, s3_access

SCHEMA = Schema((Field("a", parse_type("bigint")), Field("s", parse_type("string"))))
ROWS = "SELECT range AS a, concat('row ', range) AS s FROM range({})"
BIG = "SELECT range AS a, concat(md5(range::VARCHAR), md5((range + 1)::VARCHAR)) AS s FROM range(400_000)"
"""Rows that make more than one part of an upload."""


@pytest.fixture
def access(proxy: FaultProxy) -> Iterator[StorageAccess]:
    proxy.rules.clear()
    proxy.seen.clear()
    found = s3_access(proxy.address)
    ACCESSES.note([found])
    yield found
    proxy.rules.clear()


def write(
    sql: str, folder: str, access: StorageAccess, temp: Path, *, name: str = "parquet", **more: Any
) -> list[FileResult]:
    """Files that one task puts into a folder."""
    sink = FileSink(SCHEMA, name, (), folder, access=access.id, **more)
    partitions = "".join(f", s AS {name}" for name in sink.partition_columns)
    program = StageProgram(f"SELECT *{partitions} FROM ({sql})", (), SCHEMA, sink)
    if sink.partition_columns:
        output = Schema((*SCHEMA, *(Field(name, parse_type("string")) for name in sink.partition_columns)))
        program = StageProgram(program.sql, (), output, sink)
    with duckdb.connect() as connection:
        results = run_task(
            program, TaskData(), connection, SinkContext(partition=3, temp_dir=str(temp)), TaskMetrics(), 1000
        )
        return [one for one in results if isinstance(one, FileResult)]


def names(s3: Any, folder: str) -> list[str]:
    found = s3.list_objects_v2(Bucket=BUCKET, Prefix=folder.partition(f"{BUCKET}/")[2]).get("Contents", [])
    return [f"s3://{BUCKET}/{one['Key']}" for one in found]


def rows(files: list[FileResult], access: StorageAccess, name: str = "parquet") -> list[tuple[Any, ...]]:
    listed = [DataFile(one.path, one.encoded_bytes, one.modified_ns, tag=one.tag, access=access.id) for one in files]
    reader = source(name)
    splits = reader.splits(listed, SCHEMA, (), 1 << 20)
    batches = [batch for split in splits for batch in reader.read(split, SCHEMA, ("a", "s"))]
    return sorted(tuple(row.values()) for batch in batches for row in batch.to_pylist())


@pytest.mark.variants(3)
@pytest.mark.parametrize("name", ["parquet", "orc", "text", "csv", "json", "avro", "rcfile", "sequencefile", "csvfile"])
def test_every_format(access: StorageAccess, s3: Any, folder: str, tmp_path: Path, name: str) -> None:
    (file,) = write(ROWS.format(5000), folder, access, tmp_path, name=name)
    assert names(s3, folder) == [file.path]
    assert file.num_rows == 5000
    assert file.tag
    assert rows([file], access, name) == [(number, f"row {number}") for number in range(5000)]
    assert list(tmp_path.iterdir()) == []


def test_no_rows_no_file(access: StorageAccess, s3: Any, folder: str, tmp_path: Path) -> None:
    assert write(ROWS.format(0), folder, access, tmp_path) == []
    assert names(s3, folder) == []


def test_an_attempt_has_names_of_its_own(access: StorageAccess, s3: Any, folder: str, tmp_path: Path) -> None:
    """Two attempts of a task may run at once: neither replaces what the other has put."""
    first, second = (write(ROWS.format(10), folder, access, tmp_path)[0] for _ in range(2))
    assert sorted(names(s3, folder)) == sorted((first.path, second.path))


def test_many_rows_are_several_files(
    access: StorageAccess, s3: Any, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk has one of them at a time."""
    monkeypatch.setattr(sinks, "MOST_OBJECT_BYTES", 40_000)
    most, put = 0, sinks._put_file

    def counted(*arguments: Any) -> FileResult:
        nonlocal most
        assert list(tmp_path.iterdir()) == []
        most += 1
        return put(*arguments)

    monkeypatch.setattr(sinks, "_put_file", counted)
    files = write(ROWS.format(10_000), folder, access, tmp_path)
    assert len(files) == most > 3
    assert names(s3, folder) == [one.path for one in files], "they are in the order of their rows"
    assert rows(files, access) == [(number, f"row {number}") for number in range(10_000)]
    assert max(one.num_rows for one in files) <= 3000


def test_partitions(access: StorageAccess, s3: Any, folder: str, tmp_path: Path) -> None:
    sql = "SELECT range // 4 AS a, concat('x/', range // 4) AS s FROM range(10)"
    files = write(sql, folder, access, tmp_path, partition_columns=("p",), max_partitions=9)
    assert sorted({one.path.rpartition("/")[0] for one in files}) == [f"{folder}/p=x%2F{part}" for part in range(3)]
    assert sorted(names(s3, folder)) == sorted(one.path for one in files)
    assert list(tmp_path.iterdir()) == []


FAULTS = {
    "second part refused": Rule(method="PUT", path="partNumber=2", status=403, code="AccessDenied"),
    "second part dies": Rule(method="PUT", path="partNumber=2", cut_upload=1000),
    "too busy": Rule(method="PUT", path="partNumber=2", status=503, code="SlowDown"),
    "cannot begin": Rule(method="POST", path="uploads", status=500, code="InternalError"),
    "cannot end": Rule(method="POST", path="uploadId", status=403, code="AccessDenied"),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("fault", FAULTS)
def test_an_upload_that_fails_leaves_nothing(
    proxy: FaultProxy,
    access: StorageAccess,
    s3: Any,
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    monkeypatch.setattr(stores, "StoreLimits", lambda: QUICK)
    proxy.rules[:] = [FAULTS[fault]]
    with pytest.raises(SharkError) as caught:
        write(BIG, folder, access, tmp_path)
    assert caught.value.sqlstate in ("42501", "08001", "08006", "57P03", "58030")
    assert FAULTS[fault].met
    assert names(s3, folder) == []
    assert list(tmp_path.iterdir()) == []
    proxy.rules.clear()
    prefix = folder.removeprefix(f"s3://{BUCKET}/")
    assert not s3.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads")


@pytest.mark.slow
def test_a_part_that_dies_once_is_sent_again(
    proxy: FaultProxy, access: StorageAccess, s3: Any, folder: str, tmp_path: Path
) -> None:
    proxy.rules[:] = [Rule(method="PUT", path="partNumber=2", cut_upload=1000, times=1)]
    (file,) = write(BIG, folder, access, tmp_path)
    assert names(s3, folder) == [file.path]
    assert len(rows([file], access)) == 400_000


def test_a_disk_that_is_full(access: StorageAccess, s3: Any, folder: str, tmp_path: Path) -> None:
    with pytest.raises(ResourceError) as caught, files_of_at_most(1 << 20):
        write(BIG, folder, access, tmp_path)
    assert caught.value.sqlstate == "53100"
    assert names(s3, folder) == []
    assert list(tmp_path.iterdir()) == []


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system refuses what would make a file of this process larger, as a full disk does."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_an_upload_ends_with_its_statement(
    proxy: FaultProxy, access: StorageAccess, s3: Any, folder: str, tmp_path: Path
) -> None:
    slow = Rule(method="PUT", path="partNumber", delay=20)
    proxy.rules[:] = [slow]
    assert ended(lambda: write(BIG, folder, access, tmp_path), lambda: slow.met) < 3
    assert names(s3, folder) == []
    assert list(tmp_path.iterdir()) == []
