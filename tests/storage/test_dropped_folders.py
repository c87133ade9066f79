"""Folders in buckets that tables have left, or are about to leave. Files of other tables are not deleted with them, and
no rows of dropped tables come again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.execution.commands.writes.staged_write import folder_at
from sharkpy.sources.folders.logged_folder import LoggedObjects
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.storage.store import Store
from tests.rows import rows
from tests.storage.old_generations import put_generation
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server
from tests.storage.warehouses import open_warehouse
from tests.waiting import allowed


@pytest.fixture(scope="module")
def session(moto: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    keys = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{moto.address}"}
    settings = {f"fs.s3a.{name}": value for name, value in keys.items()}
    more = {"shark.table.retention": "0"}
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **settings, **more) as session:
        yield session


@pytest.fixture(scope="module")
def inside(moto: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    """A session over a warehouse in the bucket, whose tables are logged."""
    with open_warehouse(f"s3://{BUCKET}/{uuid4().hex}", moto.address, tmp_path_factory.mktemp("home")) as session:
        yield session


@pytest.fixture
def place() -> str:
    return f"s3a://{BUCKET}/{uuid4().hex}"


@pytest.fixture
def far(session: sharkpy.SharkContext, place: str) -> str:
    """A database in the bucket."""
    name = f"d{uuid4().hex}"
    run(session, f"CREATE DATABASE {name} LOCATION '{place}/far'")
    return name


def run(session: sharkpy.SharkContext, *statements: str) -> None:
    for one in statements:
        session.sql(one).close()


def parts(session: sharkpy.SharkContext, place: str) -> str:
    made = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {made} (k INT) PARTITIONED BY (p STRING) STORED AS PARQUET LOCATION '{place}'")
    return made


def test_a_partition_is_renamed_to_one_that_was_dropped_while_it_was_read(
    session: sharkpy.SharkContext, place: str
) -> None:
    table = parts(session, place)
    run(session, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    with session.catalog.readers.reading(place):
        run(session, f"ALTER TABLE {table} DROP PARTITION (p = 'b')")
        run(session, f"ALTER TABLE {table} PARTITION (p = 'a') RENAME TO PARTITION (p = 'b')")
    assert rows(session, f"SELECT k, p FROM {table}") == [(1, "b")]


def test_rows_are_added_to_a_partition_that_was_dropped_while_it_was_read(
    session: sharkpy.SharkContext, place: str
) -> None:
    table = parts(session, place)
    run(session, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    with session.catalog.readers.reading(place):
        run(session, f"ALTER TABLE {table} DROP PARTITION (p = 'b')", f"INSERT INTO {table} VALUES (3, 'b')")
    assert rows(session, f"SELECT k, p FROM {table} ORDER BY k") == [(1, "a"), (3, "b")]


def test_an_import_into_the_folder_of_a_table_that_was_dropped_while_it_was_read(
    session: sharkpy.SharkContext, far: str, place: str, tmp_path: Path
) -> None:
    run(session, f"CREATE TABLE {far}.x (k INT)", f"INSERT INTO {far}.x VALUES (7)")
    run(session, f"EXPORT TABLE {far}.x TO '{tmp_path}/export'")
    with session.catalog.readers.reading(f"{place}/far/x"):
        run(session, f"DROP TABLE {far}.x")
    run(session, f"IMPORT TABLE {far}.x FROM '{tmp_path}/export'")
    assert rows(session, f"SELECT k FROM {far}.x") == [(7,)]


def test_the_usual_place_of_a_renamed_table_is_its_own(session: sharkpy.SharkContext, far: str, tmp_path: Path) -> None:
    near = f"t{uuid4().hex}"
    run(
        session,
        f"CREATE TABLE {far}.x (k INT)",
        f"EXPORT TABLE {far}.x TO '{tmp_path}/export'",
        f"ALTER TABLE {far}.x RENAME TO {far}.y",
        f"IMPORT TABLE {far}.x FROM '{tmp_path}/export'",
        f"INSERT INTO {far}.y VALUES (1)",
    )
    assert rows(session, f"SELECT * FROM {far}.x") == []
    run(
        session,
        f"CREATE TABLE {near} (k INT)",
        f"INSERT INTO {near} VALUES (2)",
        f"ALTER TABLE {near} RENAME TO {far}.z",
        f"CREATE TABLE {near} (k INT)",
    )
    assert rows(session, f"SELECT * FROM {near}") == []
    assert rows(session, f"SELECT * FROM {far}.z") == [(2,)]


@pytest.mark.parametrize("statement", ["ADD PARTITION (p = 'x') LOCATION '{}'", "SET LOCATION '{}'"])
def test_rows_of_a_dropped_table_do_not_come_again(session: sharkpy.SharkContext, place: str, statement: str) -> None:
    old, new = f"t{uuid4().hex}", f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {old} (k INT) LOCATION '{place}/old'", f"INSERT INTO {old} VALUES (1)")
    partitioned = "PARTITIONED BY (p STRING)" if "PARTITION" in statement else ""
    run(session, f"CREATE EXTERNAL TABLE {new} (k INT) {partitioned} LOCATION '{place}'")
    with session.catalog.readers.reading(f"{place}/old"):
        run(session, f"DROP TABLE {old}")
    run(session, f"ALTER TABLE {new} {statement.format(f'{place}/old')}")
    values = "(2, 'x')" if partitioned else "(2)"
    run(session, f"INSERT INTO {new} VALUES {values}", f"CREATE TABLE {old} (k INT)", f"DROP TABLE {old}")
    assert rows(session, f"SELECT k FROM {new}") == [(2,)]


def stored(session: sharkpy.SharkContext, table: str) -> tuple[str, set[str]]:
    """Location of a logged table, and the files that its writes have put there."""
    location = session.catalog.table("default", table).location or ""
    folder = folder_at(location, session)
    assert isinstance(folder, LoggedObjects)
    return location, {facts.path for facts in folder.store.list(f"{location}/_files")}


def test_rows_that_are_put_into_a_dropped_folder_later_stay(inside: sharkpy.SharkContext) -> None:
    table = f"t{uuid4().hex}"
    run(inside, f"CREATE TABLE {table} (k INT)", f"INSERT INTO {table} VALUES (1)")
    location, first = stored(inside, table)
    remove = inside.catalog.surroundings.removal_of_data(location, ())
    run(inside, f"INSERT INTO {table} VALUES (2)")
    _, both = stored(inside, table)
    remove()
    assert stored(inside, table)[1] == both - first
    assert len(first) == 1 < len(both)


def test_an_old_generation_that_does_not_count(session: sharkpy.SharkContext, place: str) -> None:
    """A release before 0.3 was killed when it had put the manifest, and before the catalog's commit. The next INSERT
    removes the rows.
    """
    table = parts(session, place)
    home = folder_at(place, session)
    assert isinstance(home, RemoteFolder)
    for number in (1, 2):
        staging = home.make_staging(home.new_staging())
        content = pa.BufferOutputStream()
        pq.write_table(pa.table({"k": pa.array([number], pa.int32())}), content)
        facts = home.store.put(f"{staging}/p=a/part-0", content.getvalue().to_pybytes())
        put_generation(home.store, f"{place}/p=a", f"delta_000000{number}", [facts])
        STAGED.end(staging)
    made = session.catalog.table("default", table)
    with session.catalog.partition_changes(made) as changes:
        changes.add("p=a", newest=1)
    assert rows(session, f"SELECT k FROM {table}") == [(1,)]
    run(session, f"INSERT INTO {table} VALUES (3, 'a')")
    assert rows(session, f"SELECT k FROM {table} ORDER BY k") == [(1,), (3,)]


def test_others_change_the_catalog_while_a_tables_rows_are_removed(
    inside: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = f"t{uuid4().hex}"
    run(inside, f"CREATE TABLE {table} (k INT) PARTITIONED BY (p STRING)")
    run(inside, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')", f"INSERT INTO {table} VALUES (3, 'a')")
    location = inside.catalog.table("default", table).location or ""
    folder, other, removed = folder_at(location, inside), inside.new_session(), list[tuple[int, bool]]()
    assert isinstance(folder, LoggedObjects)
    store = type(folder.store)
    original = store.delete

    def delete(store: Store, paths: Iterable[str]) -> None:
        if gone := list(paths):
            change = pool.submit(run, other, f"CREATE DATABASE d{uuid4().hex}")
            removed.append((len(gone), not wait([change], timeout=allowed(5)).not_done))
            original(store, gone)

    monkeypatch.setattr(store, "delete", delete)
    with ThreadPoolExecutor(1) as pool:
        run(inside, f"DROP TABLE {table} PURGE")
    assert removed == [(3, True)], "once, while others change the catalog"
    assert list(folder.store.list(location)) == []
