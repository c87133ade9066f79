"""Backups of warehouses in buckets, and in buckets: what is saved, what is checked, and what a failure leaves."""

from __future__ import annotations

import json
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import BindError, CancelledError, CorruptionError, SharkError, SourceError
from sharkpy.catalog.model import TableKind
from sharkpy.cli.main import main
from sharkpy.execution.backup import file_copies as copying
from sharkpy.execution.backup.file_copies import Copy
from sharkpy.execution.backup.make_backup import make_backup
from sharkpy.execution.backup.restore_backup import restore_backup
from sharkpy.sources.layout import DataFile
from sharkpy.sources.storage.bucket_store import BucketStore
from tests.children import status_of
from tests.storage.places import BUCKET
from tests.storage.s3_servers import S3Server, s3_client
from tests.storage.warehouses import keys, open_warehouse
from tests.streaming.clauses import NOW
from tests.waiting import until

Rows = list[tuple[Any, ...]]


@pytest.fixture
def client(seaweed: S3Server) -> Iterator[Any]:
    """Amazon's client of the server."""
    client = s3_client(seaweed.address)
    yield client
    client.close()


@pytest.fixture
def objects(client: Any) -> Callable[[str], list[str]]:
    """Lists the names of the objects below a URI, from there."""

    def names(place: str) -> list[str]:
        prefix = f"{place.partition(f'{BUCKET}/')[2]}/"
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [one["Key"].removeprefix(prefix) for page in pages for one in page.get("Contents", [])]

    return names


@pytest.fixture
def session(folder: str, seaweed: S3Server, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    """Session over the warehouse `folder`, whose catalog is in `home`."""
    with open_warehouse(folder, seaweed.address, tmp_path / "home") as session:
        yield session


def run(session: sharkpy.SharkContext, *statements: str) -> Rows:
    found: Rows = []
    for statement in statements:
        found = [tuple(row) for row in session.sql(statement).fetchall()]
    return found


AT_ONCE = {"shark.table.retention": "0"}


def warehouse_at(place: str, address: str, home: Path) -> sharkpy.SharkContext:
    """Session over a warehouse at a URI, or in a local folder."""
    if "://" in place:
        return open_warehouse(place, address, home, **AT_ONCE)
    return sharkpy.connect("local[2]", place, **AT_ONCE, **keys(address))


@contextmanager
def restored(
    session: sharkpy.SharkContext, source: str, place: str, address: str, home: Path
) -> Iterator[sharkpy.SharkContext]:
    """Session over the warehouse that is made of a backup; `session` has the keys."""
    restore_backup(source, place, home if "://" in place else None, session.catalog.named_access_id)
    with warehouse_at(place, address, home) as again:
        yield again


TABLES = (
    "CREATE TABLE t (a INT, b STRING)",
    "INSERT INTO t VALUES (1, 'one')",
    "INSERT INTO t VALUES (2, 'two'), (3, 'three')",
    "DELETE FROM t WHERE a = 1",
    "CREATE TABLE none (a INT)",
    "CREATE DATABASE shop",
    "CREATE TABLE shop.sales (a INT) PARTITIONED BY (d STRING)",
    "INSERT INTO shop.sales PARTITION (d='x') VALUES (1)",
    "INSERT OVERWRITE TABLE shop.sales PARTITION (d='x') VALUES (3)",
    "INSERT INTO shop.sales PARTITION (d='x') VALUES (4)",
    "INSERT INTO shop.sales PARTITION (d='y z') VALUES (5)",
    "CREATE VIEW v AS SELECT a FROM t",
    "CREATE TABLE kept (a INT) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "INSERT INTO kept VALUES (9)",
)
QUERIES = {
    "SELECT a, b FROM t": [(2, "two"), (3, "three")],
    "SELECT a FROM v": [(2,), (3,)],
    "SELECT count(*) FROM none": [(0,)],
    "SELECT a, d FROM shop.sales": [(3, "x"), (4, "x"), (5, "y z")],
    "SELECT a FROM kept": [(9,)],
}


@pytest.mark.variants
@pytest.mark.parametrize("target", ["bucket", "disk"])
@pytest.mark.parametrize("new", ["bucket", "disk"])
def test_a_warehouse_in_a_bucket_is_saved(
    session: sharkpy.SharkContext,
    folder: str,
    seaweed: S3Server,
    tmp_path: Path,
    objects: Callable[[str], list[str]],
    client: Any,
    target: str,
    new: str,
) -> None:
    """With what it owns elsewhere; the restored one owns all of that, and is written as any other."""
    (tmp_path / "numbers_of_mine.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    run(
        session,
        *TABLES,
        f"CREATE TABLE own (a INT) LOCATION '{folder}-own'",
        "INSERT INTO own VALUES (6)",
        f"ALTER TABLE shop.sales ADD PARTITION (d='far') LOCATION '{folder}-far'",
        f"CREATE DATABASE near LOCATION '{tmp_path}/near'",
        "CREATE TABLE near.t AS SELECT 8 AS a",
        f"CREATE EXTERNAL TABLE facts (a INT) LOCATION '{folder}-facts'",
        "INSERT INTO facts VALUES (10)",
        "CREATE EXTERNAL TABLE later (a INT) LOCATION '" + f"{folder}/later'",
        f"CREATE FUNCTION yours AS 'numbers_of_mine.twice' USING FILE '{tmp_path}/numbers_of_mine.py'",
    )
    client.put_object(Bucket=BUCKET, Key=f"{folder.partition(f'{BUCKET}/')[2]}-far/by_hand.txt", Body=b"7\n")
    place = f"{folder}-backup" if target == "bucket" else str(tmp_path / "backup")
    manifest = make_backup(session.catalog, place)
    assert list(manifest.left_out) == [
        f"files of table default.facts: {folder}-facts",
        f"file of function default.yours: {tmp_path}/numbers_of_mine.py",
    ]
    assert not list((tmp_path / "home" / ".sharkpy").glob("backup-*"))
    run(session, "DROP TABLE t PURGE", "DROP DATABASE shop CASCADE", "DROP TABLE own", "DROP DATABASE near CASCADE")
    until(lambda: not objects(f"{folder}/t") and not objects(f"{folder}-own"))
    there = f"{folder}-new" if new == "bucket" else str(tmp_path / "new")
    with restored(session, place, there, seaweed.address, tmp_path / "home2") as again:
        answers = {query: sorted(run(again, query)) for query in QUERIES}
        assert answers == QUERIES | {"SELECT a, d FROM shop.sales": [(3, "x"), (4, "x"), (5, "y z"), (7, "far")]}
        assert run(again, "SELECT a FROM own UNION ALL SELECT a FROM near.t UNION ALL SELECT a FROM facts") == [
            (6,),
            (8,),
            (10,),
        ]
        run(
            again,
            "INSERT INTO t VALUES (11, 'more')",
            "INSERT INTO shop.sales PARTITION (d='y z') VALUES (12)",
            "INSERT OVERWRITE TABLE shop.sales PARTITION (d='x') VALUES (13)",
            "UPDATE own SET a = 14",
        )
        assert sorted(run(again, "SELECT a FROM t")) == [(2,), (3,), (11,)]
        assert sorted(run(again, "SELECT a, d FROM shop.sales")) == [(5, "y z"), (7, "far"), (12, "y z"), (13, "x")]
        assert run(again, "SELECT a FROM own") == [(14,)]
        assert again.catalog.table("default", "own").kind is TableKind.MANAGED
        assert all(str(again.catalog.database(name).location).startswith(there) for name in ("shop", "near"))
        run(again, "DROP DATABASE shop CASCADE", "DROP DATABASE near CASCADE", "DROP TABLE t", "DROP TABLE own")
        run(again, "DROP TABLE kept", "DROP TABLE facts", "DROP TABLE later", "DROP TABLE none")
    if new == "bucket":
        left = objects(there)
    else:
        left = [str(one.relative_to(there)) for one in Path(there).rglob("*") if one.is_file()]
    assert [one for one in left if not one.startswith((".sharkpy/", ".blocks"))] == []
    assert objects(f"{folder}-facts")


@pytest.mark.slow
@pytest.mark.parametrize("new", ["bucket", "disk"])
def test_a_local_warehouse_is_saved_in_a_bucket(
    folder: str, seaweed: S3Server, tmp_path: Path, objects: Callable[[str], list[str]], new: str
) -> None:
    lib = tmp_path / "w" / "lib"
    lib.mkdir(parents=True)
    (lib / "numbers_of_mine.py").write_text("def twice(x: int) -> int:\n    return 2 * x\n")
    place = f"{folder}-new" if new == "bucket" else str(tmp_path / "new")
    with sharkpy.connect("local[2]", tmp_path / "w", **keys(seaweed.address)) as session:
        run(
            session,
            *TABLES,
            f"CREATE FUNCTION mine AS 'numbers_of_mine.twice' USING FILE '{lib}/numbers_of_mine.py'",
            f"CREATE TABLE own (a INT) LOCATION '{folder}-own'",
            "INSERT INTO own VALUES (6)",
            f"CREATE DATABASE far LOCATION '{folder}-far'",
            "CREATE TABLE far.t AS SELECT 7 AS a",
        )
        assert make_backup(session.catalog, f"{folder}-backup").left_out == ()
        run(session, "DROP TABLE own", "DROP DATABASE far CASCADE")
        shutil.rmtree(lib)
        with restored(session, f"{folder}-backup", place, seaweed.address, tmp_path / "home2") as again:
            assert {query: sorted(run(again, query)) for query in QUERIES} == QUERIES
            assert run(again, "SELECT mine(a), a FROM own UNION ALL SELECT mine(a), a FROM far.t") == [(12, 6), (14, 7)]
            run(again, "DROP FUNCTION mine", "DROP DATABASE far CASCADE")
    if new == "bucket":
        assert not objects(f"{place}/far.db")
        assert not list((tmp_path / "home2" / ".sharkpy" / "functions").rglob("*.py"))


@pytest.mark.slow
def test_a_backup_is_one_state_while_others_write(
    session: sharkpy.SharkContext, folder: str, seaweed: S3Server, tmp_path: Path
) -> None:
    """Each statement of the writer puts equal rows into two tables, one of them partitioned."""
    dynamic = "SET hive.exec.dynamic.partition.mode=nonstrict"
    run(
        session,
        "CREATE TABLE seed AS SELECT 1 AS a",
        "CREATE TABLE plain (a INT)",
        "CREATE TABLE parts (a INT) PARTITIONED BY (d INT)",
    )
    failures: list[SharkError] = []
    is_over, has_written = threading.Event(), threading.Semaphore(0)

    def write() -> None:
        with session.new_session() as other:
            run(other, dynamic)
            number = 0
            try:
                while not is_over.is_set():
                    number += 1
                    kind = "OVERWRITE TABLE" if number % 4 == 0 else "INTO TABLE"
                    what = (
                        f"INSERT {kind} plain SELECT {number} INSERT {kind} parts PARTITION (d) SELECT {number}, a % 2"
                    )
                    run(other, f"FROM seed {what}")
                    has_written.release()
            except SharkError as error:
                failures.append(error)
                has_written.release()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            for _ in range(3):
                has_written.acquire()
            make_backup(session.catalog, f"{folder}-backup{number}")
    finally:
        is_over.set()
        writer.join()
    assert failures == []
    for number in range(3):
        source, home = f"{folder}-backup{number}", tmp_path / f"home{number}"
        with restored(session, source, f"{folder}-new{number}", seaweed.address, home) as again:
            plain, parts = (sorted(run(again, f"SELECT a FROM {name}")) for name in ("plain", "parts"))
            assert plain == parts != []


@pytest.mark.slow
def test_tables_that_go_while_files_are_copied_are_saved(
    session: sharkpy.SharkContext, folder: str, seaweed: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process' sessions change them, which the backup is a reader for."""
    run(session, *(f"CREATE TABLE {name} AS SELECT 1 AS a" for name in ("dropped", "renamed", "replaced")))
    run(session, "CREATE TABLE p (a INT) PARTITIONED BY (d INT)", "INSERT INTO p PARTITION (d=1) VALUES (1)")
    copy, one = copying.copy_file, threading.Lock()
    changes = iter(
        [
            "DROP TABLE dropped",
            "ALTER TABLE renamed RENAME TO other",
            "INSERT OVERWRITE TABLE replaced SELECT 2",
            "INSERT OVERWRITE TABLE p PARTITION (d=1) SELECT 2",
            "CREATE TABLE dropped AS SELECT 3 AS a",
        ]
    )

    def copy_after_changes(source: DataFile, target: str, access_id: str) -> Copy:
        with one:
            run(session, *changes)
        return copy(source, target, access_id)

    monkeypatch.setattr(copying, "copy_file", copy_after_changes)
    make_backup(session.catalog, f"{folder}-backup")
    assert next(changes, None) is None
    assert run(session, "SELECT a FROM replaced UNION ALL SELECT a FROM dropped") == [(2,), (3,)]
    with restored(session, f"{folder}-backup", f"{folder}-new", seaweed.address, tmp_path / "home2") as again:
        for name in ("dropped", "renamed", "replaced", "p"):
            assert run(again, f"SELECT a FROM {name}") == [(1,)]


@pytest.mark.slow
@pytest.mark.parametrize("new", ["bucket", "disk"])
def test_rows_that_streams_have_not_read_are_saved(
    session: sharkpy.SharkContext, folder: str, seaweed: S3Server, tmp_path: Path, new: str
) -> None:
    """Also rows that their tables, or programs, have dropped."""
    run(
        session,
        "CREATE TABLE t (n INT)",
        "CREATE TABLE p (n INT) PARTITIONED BY (d STRING)",
        "CREATE STREAM added FROM TABLE t",
        "ALTER TABLE added SET TBLPROPERTIES ('failOnDataLoss' = 'false')",
        "CREATE STREAM parts FROM TABLE p",
        "CREATE STREAM pushed (n INT) FROM PROGRAM",
        f"CREATE CONTINUOUS TABLE a {NOW} AS SELECT n FROM added",
        f"CREATE CONTINUOUS TABLE b {NOW} AS SELECT n, d FROM parts",
        f"CREATE CONTINUOUS TABLE c {NOW} AS SELECT n FROM pushed",
        "INSERT INTO t VALUES (1)",
        "RESUME CONTINUOUS TABLE a",
        "INSERT INTO t VALUES (2)",
        "INSERT INTO p PARTITION (d='x') VALUES (3)",
    )
    with session.push("pushed") as out:
        out.write([(4,)])
    run(session, "DELETE FROM t WHERE n = 2")
    make_backup(session.catalog, f"{folder}-backup")
    run(session, "DROP CONTINUOUS TABLE a", "DROP STREAM added", "DROP TABLE t")
    place = f"{folder}-new" if new == "bucket" else str(tmp_path / "new")
    with restored(session, f"{folder}-backup", place, seaweed.address, tmp_path / "home2") as again:
        run(again, *(f"RESUME CONTINUOUS TABLE {name}" for name in "abc"))
        assert sorted(run(again, "SELECT n FROM a")) == [(1,), (2,)]
        assert run(again, "SELECT n, d FROM b") == [(3, "x")]
        assert run(again, "SELECT n FROM c") == [(4,)]
        run(again, "INSERT INTO t VALUES (5)", "RESUME CONTINUOUS TABLE a")
        assert sorted(run(again, "SELECT n FROM a")) == [(1,), (2,), (5,)]


KILLED = """
import os, signal, sys
from pathlib import Path
from sharkpy.execution.backup import file_copies as copying
from sharkpy.execution.backup.make_backup import make_backup
from sharkpy.execution.backup.restore_backup import restore_backup
from tests.storage.warehouses import open_warehouse

what, warehouse, address, home, backup = sys.argv[1:]
copy, left = copying.copy_file, [3]

def killed(*arguments):
    made = copy(*arguments)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return made

copying.copy_file = killed
session = open_warehouse(warehouse, address, Path(home))
if what == "backup":
    make_backup(session.catalog, backup)
else:
    restore_backup(backup, f"{warehouse}-new", f"{home}2", session.catalog.named_access_id)
"""


@pytest.mark.slow
def test_what_was_killed_is_no_backup_and_no_warehouse(
    folder: str, seaweed: S3Server, tmp_path: Path, objects: Callable[[str], list[str]]
) -> None:
    home, backup = tmp_path / "home", f"{folder}-backup"
    with open_warehouse(folder, seaweed.address, home) as session:
        run(session, *(f"CREATE TABLE t{number} AS SELECT {number} AS a" for number in range(4)))
    arguments = (folder, seaweed.address, home, backup)
    assert status_of(KILLED, "backup", *arguments) == -signal.SIGKILL
    assert objects(backup)
    assert list((home / ".sharkpy").glob("backup-*"))
    with open_warehouse(folder, seaweed.address, home) as session:
        assert not list((home / ".sharkpy").glob("backup-*"))
        with pytest.raises(SourceError, match=r"is not a backup.*backup\.json.* is missing"):
            restore_backup(backup, f"{folder}-new", tmp_path / "home2", session.catalog.named_access_id)
        with pytest.raises(SourceError, match="exists and is not empty"):
            make_backup(session.catalog, backup)
        make_backup(session.catalog, f"{backup}2")
    assert status_of(KILLED, "restore", *arguments[:3], f"{backup}2") == -signal.SIGKILL
    assert not (tmp_path / "home2").exists()
    with open_warehouse(folder, seaweed.address, home) as session:
        with pytest.raises(SourceError, match="exists and is not empty"):
            restore_backup(f"{backup}2", f"{folder}-new", tmp_path / "home2", session.catalog.named_access_id)
        with restored(session, f"{backup}2", f"{folder}-other", seaweed.address, tmp_path / "home3") as again:
            assert run(again, "SELECT a FROM t1 UNION ALL SELECT a FROM t3") == [(1,), (3,)]


def test_a_failure_leaves_nothing(
    session: sharkpy.SharkContext,
    folder: str,
    tmp_path: Path,
    objects: Callable[[str], list[str]],
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a backup, and of a warehouse that is made of a damaged one."""
    run(session, *(f"CREATE TABLE t{number} STORED AS PARQUET AS SELECT {number} AS a" for number in range(3)))
    backup, access = f"{folder}-backup", session.catalog.named_access_id
    with pytest.raises(BindError, match="inside the warehouse"):
        make_backup(session.catalog, f"{folder}/backup")
    copy = BucketStore.copy

    def refused(store: BucketStore, source: Any, target: str) -> Any:
        if "/t1/" in target:
            raise SourceError("the server is not there")
        return copy(store, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(BucketStore, "copy", refused)
        with pytest.raises(SourceError, match="is not there"):
            make_backup(session.catalog, backup)
    assert objects(backup) == []
    statement = Cancellation()

    def cancelled(store: BucketStore, source: Any, target: str) -> Any:
        statement.cancel()
        return copy(store, source, target)

    with monkeypatch.context() as patch, statement.active():
        patch.setattr(BucketStore, "copy", cancelled)
        with pytest.raises(CancelledError):
            make_backup(session.catalog, backup)
    assert objects(backup) == []
    make_backup(session.catalog, backup)
    (name,) = [one for one in objects(backup) if "/t2/" in one]
    key = f"{backup.partition(f'{BUCKET}/')[2]}/{name}"
    content = client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    for damaged in (content[:-1], bytes([content[0] ^ 1]) + content[1:], None):
        if damaged is None:
            client.delete_object(Bucket=BUCKET, Key=key)
        else:
            client.put_object(Bucket=BUCKET, Key=key, Body=damaged)
        for place in (f"{folder}-new", str(tmp_path / "new")):
            with pytest.raises(CorruptionError, match=r"the backup is damaged: .*/t2/"):
                restore_backup(backup, place, tmp_path / "home2" if "://" in place else None, access)
    client.put_object(Bucket=BUCKET, Key=key, Body=content)
    with monkeypatch.context() as patch:
        patch.setattr(BucketStore, "copy", refused)
        with pytest.raises(SourceError, match="is not there"):
            restore_backup(backup, f"{folder}-new", tmp_path / "home2", access)
    assert objects(f"{folder}-new") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


@pytest.mark.slow
def test_a_backup_that_was_moved_is_checked_by_what_is_known(
    session: sharkpy.SharkContext,
    folder: str,
    seaweed: S3Server,
    tmp_path: Path,
    objects: Callable[[str], list[str]],
    client: Any,
) -> None:
    """Tags belong to the place in which the backup was made."""
    run(session, "CREATE TABLE t AS SELECT 1 AS a")
    make_backup(session.catalog, f"{folder}-backup")
    prefix = f"{folder.partition(f'{BUCKET}/')[2]}-backup/"
    for name in objects(f"{folder}-backup"):
        content = client.get_object(Bucket=BUCKET, Key=f"{prefix}{name}")["Body"].read()
        target = tmp_path / "moved" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    with restored(session, str(tmp_path / "moved"), f"{folder}-new", seaweed.address, tmp_path / "home2") as again:
        assert run(again, "SELECT a FROM t") == [(1,)]
    path = tmp_path / "moved" / "backup.json"
    body = json.loads(path.read_text())
    assert body["place"] == f"{folder}-backup"
    for one in body["files"]:
        one["size_bytes"] += 1
    path.write_text(json.dumps(body))
    with pytest.raises(CorruptionError, match="differs from the saved file"):
        restore_backup(tmp_path / "moved", tmp_path / "new")


@pytest.mark.slow
def test_the_commands(
    folder: str, seaweed: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    given = [word for key, value in keys(seaweed.address).items() for word in ("--set", f"{key}={value}")]

    def command(warehouse: str, *words: str) -> tuple[int, str]:
        code = main([*given, "--warehouse", warehouse, *words])
        told = capsys.readouterr()
        return code, told.out + told.err

    assert command(folder, "backup", f"{folder}-b") == (1, f'error [58P01]: there is no warehouse at "{folder}"\n')
    assert command(folder, "-e", "CREATE TABLE t AS SELECT 1 AS a")[0] == 0
    code, text = command(folder, "backup", f"{folder}-b")
    assert (code, text.startswith("saved 1 tables and views, 2 files, ")) == (0, True), text
    assert "exists and is not empty" in command(folder, "backup", f"{folder}-b")[1]
    assert "[55006]" in command(f"{folder}/below", "restore", f"{folder}-b")[1]
    assert "exists and is not empty" in command(folder, "restore", f"{folder}-b")[1]
    code, text = command(f"{folder}-new", "restore", f"{folder}-b")
    assert (code, text.startswith("restored 1 tables and views, 2 files, ")) == (0, True), text
    assert command(f"{folder}-new", "--format", "csv", "-e", "SELECT a FROM t")[1].splitlines()[-1] == "1"
