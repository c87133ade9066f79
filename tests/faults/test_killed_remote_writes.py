"""Processes killed while they write tables of a warehouse in a bucket: finished statements have all their rows, other
statements all or none, and the next start removes the remains.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from tests.children import Child, status_of
from tests.faults.test_killed_writes import CHILD
from tests.storage.remains import objects, unnamed, wait_for_the_sweep
from tests.storage.s3_servers import MotoServer, S3Server, running
from tests.storage.warehouses import open_warehouse

BUCKET = "killed"
CONNECT = "with sharkpy.connect(warehouse=warehouse) as context:"
KEYED = "with open_warehouse(warehouse, address, Path(home), **NO_RETENTION) as context:"
IMPORTS = """
from pathlib import Path
from tests.faults.test_killed_remote_writes import NO_RETENTION
from tests.storage.warehouses import open_warehouse
"""
NO_RETENTION = {"shark.table.retention": "0"}
STAGED = "sharkpy.execution.queries.write_query:run_to_sink"
LOGGED = "sharkpy.catalog.file_log:FileLog.commit"
PLACED = "sharkpy.sources.folders.logged_folder:LoggedFolder.place"
COMMITTED = "sharkpy.execution.tables.hidden_files:HiddenFiles.note"
ENDED = "sharkpy.sources.folders.logged_folder:LoggedObjects.discard_staging"
HIDDEN = "sharkpy.sources.folders.remote_removal:Removal.remove_files"
CASES = {
    "insert, staged": (STAGED, 1, "INSERT INTO plain SELECT id, -1 FROM base", False),
    "insert, logged": (LOGGED, 1, "INSERT INTO plain SELECT id, -1 FROM base", False),
    "insert, ended": (ENDED, 1, "INSERT INTO plain SELECT id, -1 FROM base", True),
    "overwrite, placed": (PLACED, 1, "INSERT OVERWRITE TABLE plain SELECT id, -1 FROM base", False),
    "overwrite, committed": (COMMITTED, 1, "INSERT OVERWRITE TABLE plain SELECT id, -1 FROM base", True),
    "overwrite, ended": (ENDED, 1, "INSERT OVERWRITE TABLE plain SELECT id, -1 FROM base", True),
    "parts, staged": (STAGED, 1, "INSERT OVERWRITE TABLE parts SELECT id, -1, id % 6 FROM base", False),
    "parts, some logged": (LOGGED, 4, "INSERT OVERWRITE TABLE parts SELECT id, -1, id % 6 FROM base", False),
    "parts, all logged": (LOGGED, 6, "INSERT OVERWRITE TABLE parts SELECT id, -1, id % 6 FROM base", False),
    "parts, hidden ones go": (HIDDEN, 2, "INSERT OVERWRITE TABLE parts SELECT id, -1, id % 6 FROM base", True),
    "create, staged": (STAGED, 1, "CREATE TABLE made AS SELECT id FROM base", False),
    "create, placed": (PLACED, 1, "CREATE TABLE made AS SELECT id FROM base", False),
    "create in parts": (LOGGED, 2, "CREATE TABLE made PARTITIONED BY (p) AS SELECT id, id % 3 AS p FROM base", False),
}
QUICK = ("insert, staged", "parts, some logged", "parts, hidden ones go", "create, placed")
"""Cases of a run that is to be short."""
ROWS = 50
WRITER = f"""
import sys
{IMPORTS}
warehouse, address, home, first = sys.argv[1:]
with open_warehouse(warehouse, address, Path(home), **NO_RETENTION) as context:
    print("ready", flush=True)
    number = int(first)
    while True:
        word = "OVERWRITE TABLE" if number % 7 == 0 else "INTO"
        context.sql(f"INSERT {{word}} t SELECT {{number}}, n FROM (SELECT explode(sequence(1, 50)) AS n) s").close()
        print(number, flush=True)
        number += 1
"""
Opened = Callable[[], sharkpy.SharkContext]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running(MotoServer(tmp_path_factory.mktemp("moto")), BUCKET) as server:
        yield server


@pytest.fixture
def warehouse() -> str:
    return f"s3://{BUCKET}/{uuid4().hex}"


@pytest.fixture
def opened(server: S3Server, warehouse: str, tmp_path: Path) -> Opened:
    return lambda: open_warehouse(warehouse, server.address, tmp_path, **NO_RETENTION)


@pytest.mark.parametrize("cases", [QUICK, pytest.param(tuple(CASES), marks=pytest.mark.slow)], ids=["some", "all"])
def test_old_or_new_and_nothing_else(
    server: S3Server, warehouse: str, opened: Opened, tmp_path: Path, cases: tuple[str, ...]
) -> None:
    """One warehouse, whose writers are killed one after the other."""
    with opened() as context:
        for text in (
            "CREATE TABLE base AS SELECT explode(sequence(1, 60)) AS id",
            "CREATE TABLE plain (id INT, v INT)",
            "CREATE TABLE parts (id INT, v INT) PARTITIONED BY (p INT)",
        ):
            context.sql(text).close()
        reset(context)
    child = IMPORTS + CHILD.replace("statement = sys.argv[1:]", "statement, address, home = sys.argv[1:]").replace(
        CONNECT, KEYED
    )
    for name in cases:
        point, times, statement, is_done = CASES[name]
        before = objects(server.address, warehouse)
        arguments = (warehouse, point, times, statement, server.address, tmp_path)
        assert status_of(child, *arguments) == -signal.SIGKILL, name
        with opened() as context:
            for table in ("plain", "parts"):
                rows = context.sql(f"SELECT count(*), sum(id), min(v), max(v) FROM {table}").fetchall()
                expected = (60, 1830, 1, 1)
                if is_done and f" {table} " in statement:
                    expected = (60, 1830, -1, -1) if "OVERWRITE" in statement else (120, 3660, -1, 1)
                assert rows == [expected], name
            assert not context.catalog.table_names("default", "made"), name
            wait_for_the_sweep(context)
            if not is_done:
                assert objects(server.address, warehouse) == before, name
            else:
                reset(context)
            assert not unnamed(context, server.address), name


def reset(context: sharkpy.SharkContext) -> None:
    context.sql("INSERT OVERWRITE TABLE plain SELECT id, 1 FROM base").close()
    context.sql("INSERT OVERWRITE TABLE parts SELECT id, 1, id % 3 FROM base").close()
    context.sql("ALTER TABLE parts DROP IF EXISTS PARTITION (p > 2)").close()


@pytest.mark.parametrize("kills", [5, pytest.param(500, marks=pytest.mark.slow)])
def test_kills_at_any_time(
    server: S3Server, warehouse: str, opened: Opened, tmp_path: Path, seed: int, kills: int
) -> None:
    chosen, told = random.Random(seed), {0}
    with opened() as context:
        context.sql("CREATE TABLE t (statement BIGINT, n BIGINT) STORED AS PARQUET").close()
    for _ in range(kills):
        writer = Child(WRITER, (warehouse, server.address, tmp_path, max(told) + 1))
        try:
            assert writer.output.readline().strip() == "ready"
            time.sleep(chosen.uniform(0, 1.5))
            writer.kill()
            writer.wait()
            ended = {int(line) for line in writer.output.read().split()}
        finally:
            writer.close()
        with opened() as context:
            found = dict(context.sql("SELECT statement, count(*) FROM t GROUP BY statement").fetchall())
        told |= ended | found.keys()
        assert set(found.values()) <= {ROWS}
        # A statement whose end was not reported may have been carried out, and have replaced the earlier rows.
        replaced = max((one for one in told if one % 7 == 0), default=0)
        assert {one for one in ended if one >= replaced} <= found.keys()
    with opened() as context:
        wait_for_the_sweep(context)
        context.sql("INSERT OVERWRITE TABLE t SELECT 1, 1").close()
        assert not unnamed(context, server.address)
        assert len(objects(server.address, f"{warehouse}/t")) == 1
