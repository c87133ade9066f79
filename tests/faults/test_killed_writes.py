"""Processes killed while they write: tables are old or new afterwards, and the next start removes the remains."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.uri import Locations
from sharkpy.catalog.unfinished_writes import Note, UnfinishedWrites
from tests.children import status_of

CHILD = """
import os, signal, sys, importlib, sharkpy
warehouse, place, times, statement = sys.argv[1:]
module, _, name = place.rpartition(":")
holder = importlib.import_module(module)
*owners, name = name.split(".")
for owner in owners:
    holder = getattr(holder, owner)
original, left = getattr(holder, name), [int(times)]

def killed(*arguments, **named):
    result = original(*arguments, **named)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

with sharkpy.connect(warehouse=warehouse) as context:
    setattr(holder, name, killed)
    context.sql(statement)
"""
STAGED = "sharkpy.execution.queries.write_query:run_to_sink"
SYNCED = "sharkpy.sources.staged_files:sync_staged"
PLACED = "sharkpy.sources.folders.logged_folder:LoggedFolder.place"
PLACED_PART = "sharkpy.sources.folders.logged_folder:LoggedFolder.place_all"
COMMITTED = "sharkpy.execution.tables.hidden_files:HiddenFiles.note"
OVERWRITE = "INSERT OVERWRITE TABLE {} SELECT id, -1 FROM base"
PARTS = "INSERT OVERWRITE TABLE {} SELECT id, -1, id % 6 FROM base"
MERGE = "MERGE INTO {} AS t USING base AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = -1"
CTAS = "CREATE TABLE made STORED AS PARQUET AS SELECT id, -1 AS v FROM base"
CTAS_PARTS = "CREATE TABLE made PARTITIONED BY (p) STORED AS PARQUET AS SELECT id, -1 AS v, id % 3 AS p FROM base"
DIRECTORY = "INSERT OVERWRITE DIRECTORY '{folder}/warehouse/out' SELECT id FROM base"
CASES = {
    "overwrite, staged": (STAGED, 1, OVERWRITE.format("plain"), False),
    "overwrite, synced": (SYNCED, 1, OVERWRITE.format("cached"), False),
    "overwrite, placed": (PLACED, 1, OVERWRITE.format("cached"), False),
    "overwrite, committed": (COMMITTED, 1, OVERWRITE.format("cached"), True),
    "insert, staged": (STAGED, 1, "INSERT INTO parts SELECT id, -1, id FROM base", False),
    "parts, some placed": (PLACED_PART, 4, PARTS.format("parts"), False),
    "parts, all placed": (PLACED_PART, 6, PARTS.format("cached_parts"), False),
    "merge, synced": (SYNCED, 1, MERGE.format("plain"), False),
    "merge in parts": (PLACED_PART, 2, MERGE.format("cached_parts"), False),
    "create, staged": (STAGED, 1, CTAS, False),
    "create, placed": (PLACED, 1, CTAS, False),
    "create in parts": (PLACED_PART, 2, CTAS_PARTS, False),
    "directory": (STAGED, 1, DIRECTORY, False),
}


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("killed") / "warehouse"
    with sharkpy.connect(warehouse=made) as context:
        context.sql("CREATE TABLE base STORED AS PARQUET AS SELECT explode(sequence(1, 60)) AS id")
        for prefix, properties in (("plain", ""), ("cached", "TBLPROPERTIES ('shark.cache'='MEMORY')")):
            context.sql(f"CREATE TABLE {prefix} (id INT, v INT) STORED AS PARQUET {properties}")
            parts = "parts" if prefix == "plain" else "cached_parts"
            context.sql(f"CREATE TABLE {parts} (id INT, v INT) PARTITIONED BY (p INT) STORED AS PARQUET {properties}")
            reset(context, prefix, parts)
    return made


def reset(context: sharkpy.SharkContext, table: str, parts: str) -> None:
    context.sql(f"INSERT OVERWRITE TABLE {table} SELECT id, 1 FROM base")
    context.sql(f"INSERT OVERWRITE TABLE {parts} SELECT id, 1, id % 3 FROM base")


def tree(warehouse: Path) -> set[str]:
    found = {str(path.relative_to(warehouse)) for path in warehouse.rglob("*")}
    return {path for path in found if not path.startswith(".")}


@pytest.mark.variants(3)
@pytest.mark.parametrize("case", CASES)
def test_old_or_new_and_nothing_else(warehouse: Path, case: str) -> None:
    place, times, statement, is_done = CASES[case]
    before = tree(warehouse)
    arguments = (warehouse, place, times, statement.format(folder=warehouse.parent))
    assert status_of(CHILD, *arguments) == -signal.SIGKILL
    with sharkpy.connect(warehouse=warehouse) as context:
        assert not [path for path in tree(warehouse) if ".staging" in path]
        if not is_done:
            assert tree(warehouse) == before
        for table in ("plain", "cached", "parts", "cached_parts"):
            rows = context.sql(f"SELECT count(*), sum(id), min(v), max(v) FROM {table}").fetchall()
            value = -1 if is_done and f" {table} " in statement else 1
            assert rows == [(60, 1830, value, value)], table
        for table in ("parts", "cached_parts"):
            context.sql(f"MSCK REPAIR TABLE {table}")
            assert len(context.sql(f"SHOW PARTITIONS {table}").fetchall()) == 3
        assert not context.catalog.table_names("default", "made")
        if is_done:
            reset(context, "cached", "cached_parts")
    assert not list((warehouse / ".sharkpy" / "unfinished").rglob("*/*"))


def test_notes_do_not_pile_up(tmp_path: Path) -> None:
    with sharkpy.connect(warehouse=tmp_path) as context:
        unfinished = context.catalog.unfinished
        for number in range(3_000):
            unfinished.begin(f"{tmp_path}/t/.staging-{number}")
            unfinished.end(f"{tmp_path}/t/.staging-{number}")
        (file,) = (tmp_path / ".sharkpy" / "unfinished" / "catalog").iterdir()
        assert file.stat().st_size < 100_000


def test_notes_of_ended_writes_are_not_swept(tmp_path: Path) -> None:
    notes, locations = str(tmp_path / "notes"), Locations.below(str(tmp_path))
    killed = UnfinishedWrites(notes, locations)
    for name in "ab":
        killed.begin(f"{tmp_path}/{name}")
    killed.note_partitions("1", [f"{tmp_path}/p"])
    killed.end(f"{tmp_path}/a")
    os.close(killed._file)
    assert list(UnfinishedWrites(notes, locations).abandoned()) == [[Note(f"{tmp_path}/b"), Note(f"{tmp_path}/p", "1")]]


def test_those_who_live_are_left_alone(tmp_path: Path) -> None:
    with sharkpy.connect(warehouse=tmp_path) as context:
        context.sql("CREATE TABLE t (a INT)")
        staging = tmp_path / "t" / ".staging-1"
        context.catalog.unfinished.begin(str(staging))
        staging.mkdir()
        with sharkpy.connect(warehouse=tmp_path):
            assert staging.is_dir()
