"""Disk that is full from the n-th write of a statement on, for every n: the old content or the new one."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.execution.stages import stage_outputs
from tests.faults.disk import used
from tests.faults.nth_write import NthWrite, nth_write_fails
from tests.faults.test_full_disk import content
from tests.faults.workload import QUERIES

ROWS = 3000
_MOST_WRITES = 300
_NEW = "SELECT id, concat('text ', id * 7919) AS t FROM base"
STATEMENTS = {
    "files": ("made", f"CREATE TABLE made AS {_NEW}", ROWS),
    "durable blocks": ("made", f"CREATE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY') AS {_NEW}", ROWS),
    "blocks alone": ("made", f"CREATE TABLE made TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS {_NEW}", ROWS),
    "append": ("stored", f"INSERT INTO stored {_NEW}", ROWS + 100),
    "overwrite": ("stored", f"INSERT OVERWRITE TABLE stored {_NEW}", ROWS),
    "append to blocks": ("kept", f"INSERT INTO kept {_NEW}", ROWS + 100),
    "overwrite blocks": ("kept", f"INSERT OVERWRITE TABLE kept {_NEW}", ROWS),
    "append to blocks alone": ("alone", f"INSERT INTO alone {_NEW}", ROWS + 100),
    "load": ("stored", "CACHE TABLE stored", 100),
    "clone": ("made", "CREATE TABLE made CLONE stored", 100),
    "restore": ("stored", "RESTORE TABLE stored TO TIMESTAMP AS OF '2999-01-01 00:00:00'", 100),
}


def session(folder: Path, memory: str) -> sharkpy.SharkContext:
    """Open a session with that memory. If it is small, blocks go to the local folder, with links to them."""
    (folder / "shm").mkdir(parents=True)
    conf = {"shark.store.shm.dir": folder / "shm", "shark.temp.dir": folder, "shark.block.rows": 1000}
    return sharkpy.connect(warehouse=folder / "warehouse", **conf, shark_store_memory_limit=memory)


def make_tables(context: sharkpy.SharkContext) -> None:
    context.sql(f"CREATE TABLE base AS SELECT explode(sequence(1, {ROWS})) AS id")
    for name, cache in (("stored", "NONE"), ("kept", "MEMORY"), ("alone", "MEMORY_ONLY")):
        rows = "SELECT id, concat('old ', id) AS t FROM base WHERE id <= 100"
        context.sql(f"CREATE TABLE {name} TBLPROPERTIES ('shark.cache' = '{cache}') AS {rows}")
        content(context, name)


def failure(context: sharkpy.SharkContext, statement: str) -> SharkError | None:
    try:
        context.sql(statement).fetchall()
    except SharkError as error:
        return error
    return None


@pytest.mark.variants(6)
@pytest.mark.parametrize("memory", ["64m", "1000"])
@pytest.mark.parametrize("kind", STATEMENTS)
def test_old_or_new(tmp_path: Path, kind: str, memory: str) -> None:
    table, statement, new = STATEMENTS[kind]
    failures = 0
    with session(tmp_path, memory) as context:
        make_tables(context)
        context.engine.store  # noqa: B018 - its folders are made before the disk is full
        old = content(context, table)
        size = used(tmp_path)
        for number in range(1, _MOST_WRITES):
            with nth_write_fails(tmp_path, number) as writes:
                error = failure(context, statement)
            if error is None:
                break
            failures += 1
            check(error, writes)
            assert content(context, table) == old, writes.place
            gc.collect()
            context.engine.store.usage()
            assert used(tmp_path) <= size, f"{writes.place}: {error}"
        assert failures > 2
        assert error is None
        assert content(context, table) == new
    assert not list((tmp_path / "shm").iterdir())


def check(error: SharkError, writes: NthWrite) -> None:
    assert error.sqlstate == "53100", f"{writes.place}: {error}"


@pytest.mark.spark
def test_what_the_driver_hands_to_tasks(
    context: sharkpy.SharkContext, expected: dict[str, list[tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that the driver keeps between stages, and rows that it broadcasts."""
    monkeypatch.setattr(stage_outputs, "BUFFERED_BYTES", 1000)
    query = "SELECT count(*), sum(a.v) FROM facts a JOIN facts b ON a.k = b.v WHERE b.g < 4"
    answer = context.sql(query).fetchall()
    scratch = context.engine.scratch
    places = set()
    context.sql("SET shark.test.join = broadcast")
    try:
        for number in range(1, _MOST_WRITES):
            with nth_write_fails(scratch, number) as writes:
                error = failure(context, query)
            if error is None:
                break
            check(error, writes)
            places.add(Path(writes.place).name.partition("-")[0])
            kept = [path.name for path in scratch.iterdir() if path.name.startswith(("held-", "broadcast-", "frames-"))]
            assert not kept
    finally:
        context.sql("SET shark.test.join = shuffle")
    assert error is None
    assert {"held", "broadcast"} <= places
    assert context.sql(query).fetchall() == answer
    assert context.sql(QUERIES[0]).fetchall() == expected[QUERIES[0]]
