"""Folders in buckets that tables have left, or are about to leave. Files of other tables are not deleted with them, and
no rows of dropped tables come again.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.catalog.unfinished_writes import Note
from sharkpy.execution.commands.writes.leftover_files import RemoteLeftovers
from sharkpy.execution.commands.writes.staged_write import folder_at
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.remote_listing import RemoteListing
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.folders.staged_writes import STAGED
from tests.rows import rows
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server
from tests.waiting import allowed


@pytest.fixture(scope="module")
def session(moto: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    keys = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{moto.address}"}
    settings = {f"fs.s3a.{name}": value for name, value in keys.items()}
    more = {"shark.storage.keep.seconds": 0}
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **settings, **more) as session:
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


def test_rows_that_are_put_into_a_dropped_folder_later_stay(session: sharkpy.SharkContext, place: str) -> None:
    table = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {table} (k INT) LOCATION '{place}'", f"INSERT INTO {table} VALUES (1)")
    folder = folder_at(place, session)
    (first,) = folder.files()
    remove = session.catalog.removal_of_data(place, ())
    run(session, f"INSERT INTO {table} VALUES (2)")
    remove()
    assert isinstance(folder, RemoteFolder)
    left = {facts.path for facts in folder.store.list(f"{place}/_files")}
    assert left == {file.path for file in folder.files()} - {first.path}


def test_a_sweep_leaves_a_new_generation_of_an_old_number(
    session: sharkpy.SharkContext, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement waits with the number of what is swept, until that is gone."""
    table = parts(session, place)
    run(session, f"INSERT INTO {table} VALUES (1, 'a')")
    home, partition = folder_at(place, session), folder_at(f"{place}/p=a", session)
    assert isinstance(home, RemoteFolder)
    staging = home.make_staging(home.new_staging())
    home.store.put(f"{staging}/p=a/part-0", b"left by a process that was killed")
    partition.place_after(f"{staging}/p=a", 1, overwrite=False)
    STAGED.end(staging)
    table_id = session.catalog.table("default", table).table_id
    remains = RemoteLeftovers(session.catalog, session.conf, [[Note(staging), Note(f"{place}/p=a", table_id)]])
    original, sweeper = Removal._remove, threading.current_thread()
    insert = threading.Thread(target=lambda: run(session, f"INSERT INTO {table} VALUES (2, 'a')"))

    def remove(removal: Removal, found: RemoteListing, names: Collection[str]) -> None:
        if threading.current_thread() is sweeper:
            insert.start()
            insert.join(3)
        original(removal, found, names)

    monkeypatch.setattr(Removal, "_remove", remove)
    remains._run()
    insert.join()
    assert rows(session, f"SELECT k FROM {table} ORDER BY k") == [(1,), (2,)]


def test_others_change_the_catalog_while_a_partitions_rows_are_removed(
    session: sharkpy.SharkContext, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A partition's files are in its table's folder; files that a stream needs stay until it has read them."""
    table, stream = parts(session, place), f"s{uuid4().hex}"
    run(session, f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')", f"CREATE STREAM {stream} FROM TABLE {table}")
    run(session, f"INSERT INTO {table} VALUES (3, 'a')")
    original, other, removed = Removal.remove_files, session.new_session(), list[tuple[int, bool]]()

    def remove(removal: Removal, paths: Iterable[str]) -> None:
        if gone := list(paths):
            change = pool.submit(run, other, f"CREATE DATABASE d{uuid4().hex}")
            removed.append((len(gone), not wait([change], timeout=allowed(5)).not_done))
            original(removal, gone)

    monkeypatch.setattr(Removal, "remove_files", remove)
    with ThreadPoolExecutor(1) as pool:
        run(session, f"ALTER TABLE {table} DROP PARTITION (p = 'a')")
    assert removed == [(1, True)], "once, while others change the catalog"
    monkeypatch.undo()
    run(session, f"CREATE CONTINUOUS TABLE c{table} TRIGGER AVAILABLE NOW AS SELECT k FROM {stream}")
    assert rows(session, f"SELECT k FROM c{table}") == [(3,)]
    folder = folder_at(place, session)
    assert isinstance(folder, RemoteFolder)
    assert len(list(folder.store.list(f"{place}/_files"))) == 1
    assert rows(session, f"SELECT k FROM {table}") == [(2,)]
