"""Processes killed while they write tables in a bucket: finished statements have all their rows, other statements all
or none, and the next start removes the remains.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from tests.children import Child, status_of
from tests.faults.test_killed_writes import CHILD
from tests.storage.remains import objects, unnamed, wait_for_the_sweep
from tests.storage.s3_servers import ACCESS_KEY, SECRET, MotoServer, s3_client

BUCKET = "killed"
CONNECT = "with sharkpy.connect(warehouse=warehouse) as context:"
KEYED = "with sharkpy.connect(warehouse=warehouse, **json.loads(keys)) as context:"
STAGED = "sharkpy.execution.queries.write_query:run_to_sink"
PUT = "sharkpy.sources.folders.remote_folder:put_manifest"
PLACED = "sharkpy.sources.folders.remote_folder:RemoteFolder.place"
ENDED = "sharkpy.sources.folders.remote_folder:RemoteFolder.discard_staging"
HIDDEN = "sharkpy.sources.folders.remote_removal:Removal.remove_files"
CASES = {
    "insert, staged": (STAGED, 1, "INSERT INTO plain SELECT id, -1 FROM base", False),
    "insert, counted": (PUT, 1, "INSERT INTO plain SELECT id, -1 FROM base", True),
    "overwrite, placed": (PLACED, 1, "INSERT OVERWRITE TABLE plain SELECT id, -1 FROM base", True),
    "overwrite, ended": (ENDED, 1, "INSERT OVERWRITE TABLE plain SELECT id, -1 FROM base", True),
    "parts, staged": (STAGED, 1, "INSERT OVERWRITE TABLE parts SELECT id, -1, id % 6 FROM base", False),
    "parts, some placed": (PUT, 4, "INSERT OVERWRITE TABLE parts SELECT id, -1, id % 6 FROM base", False),
    "parts, all placed": (PUT, 6, "INSERT OVERWRITE TABLE parts SELECT id, -1, id % 6 FROM base", False),
    "parts, hidden ones go": (HIDDEN, 2, "INSERT OVERWRITE TABLE parts SELECT id, -1, id % 6 FROM base", True),
    "create, staged": (STAGED, 1, "CREATE TABLE made LOCATION '{place}/made' AS SELECT id FROM base", False),
    "create, placed": (PLACED, 1, "CREATE TABLE made LOCATION '{place}/made' AS SELECT id FROM base", False),
    "create in parts": (
        *(PUT, 2),
        "CREATE TABLE made PARTITIONED BY (p) LOCATION '{place}/made' AS SELECT id, id % 3 AS p FROM base",
        False,
    ),
}
QUICK = ("insert, staged", "parts, some placed", "parts, hidden ones go", "create, placed")
"""Cases of a run that is to be short."""
ROWS = 50
WRITER = """
import json, sys, sharkpy
warehouse, keys, first = sys.argv[1:]
with sharkpy.connect("local[2]", warehouse, **json.loads(keys)) as context:
    print("ready", flush=True)
    number = int(first)
    while True:
        word = "OVERWRITE TABLE" if number % 7 == 0 else "INTO"
        context.sql(f"INSERT {word} t SELECT {number}, n FROM (SELECT explode(sequence(1, 50)) AS n) s").close()
        print(number, flush=True)
        number += 1
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MotoServer]:
    server = MotoServer(tmp_path_factory.mktemp("moto"))
    try:
        server.start()
        client = s3_client(server.address)
        client.create_bucket(Bucket=BUCKET)
        client.close()
        yield server
    finally:
        server.stop()


@pytest.fixture
def keys(server: MotoServer) -> dict[str, str]:
    values = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{server.address}"}
    return {**{f"fs.s3a.{name}": value for name, value in values.items()}, "shark.storage.keep.seconds": "0"}


@pytest.fixture
def place() -> str:
    return f"s3a://{BUCKET}/{uuid4().hex}"


@pytest.mark.parametrize("cases", [QUICK, pytest.param(tuple(CASES), marks=pytest.mark.slow)], ids=["some", "all"])
def test_old_or_new_and_nothing_else(
    server: MotoServer, keys: dict[str, str], place: str, tmp_path: Path, cases: tuple[str, ...]
) -> None:
    """One warehouse, whose writers are killed one after the other."""
    with sharkpy.connect("local[2]", tmp_path / "w", **keys) as context:
        for text in (
            "CREATE TABLE base AS SELECT explode(sequence(1, 60)) AS id",
            f"CREATE TABLE plain (id INT, v INT) LOCATION '{place}/plain'",
            f"CREATE TABLE parts (id INT, v INT) PARTITIONED BY (p INT) LOCATION '{place}/parts'",
            # The names of staged files do not tell the place of its manifests.
            f"ALTER TABLE parts ADD PARTITION (p = 0) LOCATION '{place}/parts/apart'",
        ):
            context.sql(text).close()
        reset(context)
    child = CHILD.replace("statement = sys.argv[1:]", "statement, keys = sys.argv[1:]; import json").replace(
        CONNECT, KEYED
    )
    for name in cases:
        point, times, statement, is_done = CASES[name]
        before = objects(server.address, place)
        arguments = (tmp_path / "w", point, times, statement.format(place=place), json.dumps(keys))
        assert status_of(child, *arguments) == -signal.SIGKILL, name
        with sharkpy.connect("local[2]", tmp_path / "w", **keys) as context:
            for table in ("plain", "parts"):
                rows = context.sql(f"SELECT count(*), sum(id), min(v), max(v) FROM {table}").fetchall()
                expected = (60, 1830, 1, 1)
                if is_done and f" {table} " in statement:
                    expected = (60, 1830, -1, -1) if "OVERWRITE" in statement else (120, 3660, -1, 1)
                assert rows == [expected], name
            assert not context.catalog.table_names("default", "made"), name
            wait_for_the_sweep(context)
            if not is_done:
                assert objects(server.address, place) == before, name
            else:
                reset(context)
            assert not unnamed(server.address, place), name


def reset(context: sharkpy.SharkContext) -> None:
    context.sql("INSERT OVERWRITE TABLE plain SELECT id, 1 FROM base").close()
    context.sql("INSERT OVERWRITE TABLE parts SELECT id, 1, id % 3 FROM base").close()
    context.sql("ALTER TABLE parts DROP IF EXISTS PARTITION (p > 2)").close()


@pytest.mark.parametrize("kills", [5, pytest.param(500, marks=pytest.mark.slow)])
def test_kills_at_any_time(
    server: MotoServer, keys: dict[str, str], place: str, tmp_path: Path, seed: int, kills: int
) -> None:
    chosen, told = random.Random(seed), {0}
    warehouse = tmp_path / "w"
    with sharkpy.connect("local[2]", warehouse, **keys) as context:
        context.sql(f"CREATE TABLE t (statement BIGINT, n BIGINT) STORED AS PARQUET LOCATION '{place}'").close()
    for _ in range(kills):
        writer = Child(WRITER, (warehouse, json.dumps(keys), max(told) + 1))
        try:
            assert writer.output.readline().strip() == "ready"
            time.sleep(chosen.uniform(0, 1.5))
            writer.kill()
            writer.wait()
            ended = {int(line) for line in writer.output.read().split()}
        finally:
            writer.close()
        with sharkpy.connect("local[2]", warehouse, **keys) as context:
            found = dict(context.sql("SELECT statement, count(*) FROM t GROUP BY statement").fetchall())
        told |= ended | found.keys()
        assert set(found.values()) <= {ROWS}
        # A statement whose end was not reported may have been carried out, and have replaced the earlier rows.
        replaced = max((one for one in told if one % 7 == 0), default=0)
        assert {one for one in ended if one >= replaced} <= found.keys()
    with sharkpy.connect("local[2]", warehouse, **keys) as context:
        wait_for_the_sweep(context)
        context.sql("INSERT OVERWRITE TABLE t SELECT 1, 1").close()
    assert not unnamed(server.address, place)
    assert len(objects(server.address, place)) == 2
