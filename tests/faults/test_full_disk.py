"""Disk that fills at any point of a statement: the old content or the new one, and the space is free again."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from tests.faults.cluster import run_apart
from tests.faults.disk import ballast, small_disk, used

Limiter = Callable[[int], AbstractContextManager[None]]
"""Limits writing to so many more bytes, until the end of the body."""
SMALL = 6 << 20
_CLEAR = ("53100", "F0000")
"""SQLSTATEs of a full disk; SQLite calls a limit of the process a failing disk."""

STATEMENTS = (
    "CREATE TABLE made AS SELECT id, concat('text ', id * 7919) AS t FROM base",
    "CREATE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT id, concat('t ', id * 7919) AS t FROM base",
    "CREATE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT id, concat(id * 7919) AS t FROM base",
    "INSERT INTO stored SELECT id, concat('text ', id * 7919) FROM base",
    "INSERT OVERWRITE TABLE stored SELECT id, concat('text ', id * 7919) FROM base",
    "INSERT INTO kept SELECT id, concat('text ', id * 7919) FROM base",
    "CACHE TABLE stored",
)
NEW_ROWS = {0: 20_000, 1: 20_000, 2: 20_000, 3: 20_100, 4: 20_000, 5: 20_100, 6: 100}
TABLES = ("made", "made", "made", "stored", "stored", "kept", "stored")


@pytest.fixture(params=["full", "limit"])
def limited(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Limiter]]:
    """Folder with a limiter of writes: a small file system that is filled, or the process's file size."""
    if request.param == "limit":
        yield tmp_path, _file_size
        return
    with small_disk(tmp_path / "disk", SMALL) as disk:
        yield disk, lambda size: ballast(disk, size)


@contextmanager
def _file_size(size: int) -> Iterator[None]:
    """Limit files to `size` bytes: a write beyond fails with EFBIG (Python ignores the signal)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def session(folder: Path) -> sharkpy.SharkContext:
    (folder / "shm").mkdir(exist_ok=True)
    conf = {"shark.store.shm.dir": str(folder / "shm"), "shark.temp.dir": str(folder)}
    return sharkpy.connect(warehouse=folder / "warehouse", **conf)


def content(context: sharkpy.SharkContext, table: str) -> int | None:
    """Number of rows of the table, None if there is no table."""
    if table not in [name for (name, *_) in context.sql("SHOW TABLES").fetchall()]:
        return None
    ((count, least),) = context.sql(f"SELECT count(*), min(id) FROM {table}").fetchall()
    assert count == 0 or least == 1
    return int(count)


def fails(context: sharkpy.SharkContext, statement: str) -> bool:
    try:
        context.sql(statement)
    except SharkError as error:
        assert error.sqlstate in _CLEAR, f"{statement}: {error}"  # noqa: PT017 - other errors are not for this test
        return True
    return False


@pytest.mark.variants(3)
@pytest.mark.parametrize("number", range(len(STATEMENTS)))
def test_old_or_new(limited: tuple[Path, Limiter], number: int) -> None:
    folder, limiter = limited
    statement, table = STATEMENTS[number], TABLES[number]
    failures = 0
    with session(folder) as context:
        context.sql("CREATE TABLE base AS SELECT explode(sequence(1, 20000)) AS id")
        for name, cache in (("stored", ""), ("kept", "TBLPROPERTIES ('shark.cache' = 'MEMORY')")):
            rows = "SELECT id, concat('old ', id) AS t FROM base WHERE id <= 100"
            context.sql(f"CREATE TABLE {name} {cache} AS {rows}")
        context.sql("SELECT count(*), max(t) FROM stored").fetchall()
        old, size = content(context, table), used(folder)
        for allowed in (0, 1_000, 5_000, 20_000, 70_000, 150_000, 300_000):
            with limiter(allowed):
                failed = fails(context, statement)
            if not failed:
                assert content(context, table) == NEW_ROWS[number], f"{allowed} bytes"
                break
            failures += 1
            assert content(context, table) == old, f"{allowed} bytes"
            assert used(folder) <= size + 4096, f"{allowed} bytes"
        assert context.sql("SELECT count(*), sum(id) FROM base").fetchall() == [(20_000, 200_010_000)]
        if failed:
            context.sql(statement)
        assert content(context, table) == NEW_ROWS[number]
    assert failures


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_tasks(tmp_path: Path) -> None:
    """Workers and the JVM meet the full disk: blocks, data files, frames, the files of exchanges."""
    with small_disk(tmp_path / "disk", 48 << 20) as disk:
        print(run_apart("full_disk", disk))
