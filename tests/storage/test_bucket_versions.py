"""Versions of tables of a warehouse in a bucket: what statements ask the storage for, and a storage that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.catalog.file_log import FileLog
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.remains import objects, unnamed, wait_for_the_sweep
from tests.storage.s3_servers import S3Server
from tests.storage.warehouses import open_warehouse
from tests.waiting import until


@pytest.fixture(autouse=True)
def no_faults(proxy: FaultProxy) -> None:
    proxy.rules.clear()
    proxy.seen.clear()


@pytest.fixture
def session(folder: str, proxy: FaultProxy, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with open_warehouse(folder, proxy.address, tmp_path) as session:
        yield session


def run(session: sharkpy.SharkContext, *statements: str) -> None:
    for one in statements:
        session.sql(one).close()


def numbers(session: sharkpy.SharkContext, table: str = "t") -> list[Any]:
    return [row[0] for row in rows(session, f"SELECT a FROM {table} ORDER BY a")]


def versions(session: sharkpy.SharkContext, table: str = "t") -> list[int]:
    """Versions of a table, the oldest first."""
    return [row[0] for row in reversed(rows(session, f"DESCRIBE HISTORY {table}"))]


def make(session: sharkpy.SharkContext) -> list[int]:
    """Make a table, and return the versions that have 1, then 1 and 2, then 3."""
    run(session, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    run(session, "INSERT OVERWRITE TABLE t VALUES (3)")
    return versions(session)[1:]


def test_earlier_versions(session: sharkpy.SharkContext, proxy: FaultProxy) -> None:
    """Restored and cloned versions name the same files: nothing is put or copied."""
    first, second, last = make(session)
    assert [numbers(session, f"t VERSION AS OF {one}") for one in (first, second, last)] == [[1], [1, 2], [3]]
    proxy.seen.clear()
    run(session, f"RESTORE TABLE t TO VERSION AS OF {second}", f"CREATE TABLE u CLONE t VERSION AS OF {first}")
    assert proxy.count("PUT|POST") == 0
    assert numbers(session) == [1, 2]
    run(session, "INSERT INTO u VALUES (9)", "DROP TABLE t PURGE")
    assert numbers(session, "u") == [1, 9]


def test_dropped_tables_come_back(session: sharkpy.SharkContext, proxy: FaultProxy) -> None:
    first, *_ = make(session)
    proxy.seen.clear()
    run(session, "DROP TABLE t", "UNDROP TABLE t")
    assert proxy.count("PUT|POST|DELETE") == 0
    assert numbers(session) == [3]
    assert numbers(session, f"t VERSION AS OF {first}") == [1]


def test_vacuum(session: sharkpy.SharkContext, moto: S3Server) -> None:
    first, *_ = make(session)
    location = session.catalog.table("default", "t").location or ""
    assert len(objects(moto.address, location)) == 3
    run(session, "VACUUM t RETAIN 0 HOURS")
    assert len(objects(moto.address, location)) == 1
    assert numbers(session) == [3]
    with pytest.raises(SharkError, match="is not available"):
        numbers(session, f"t VERSION AS OF {first}")


def test_no_retention(folder: str, moto: S3Server, tmp_path: Path) -> None:
    """Replaced files are deleted when their readers have left."""
    with open_warehouse(folder, moto.address, tmp_path, **{"shark.table.retention": "0"}) as session:
        run(session, "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
        location = session.catalog.table("default", "t").location or ""
        old = objects(moto.address, location)
        with session.catalog.readers.reading(location):
            run(session, "INSERT OVERWRITE TABLE t VALUES (2)")
            assert old < objects(moto.address, location)
        run(session, "INSERT OVERWRITE TABLE t VALUES (3)")
        assert len(objects(moto.address, location)) == 1
        assert numbers(session) == [3]
        run(session, "DROP TABLE t")
        assert objects(moto.address, location) == set()


def test_the_start_deletes_expired_versions(folder: str, moto: S3Server, tmp_path: Path) -> None:
    with open_warehouse(folder, moto.address, tmp_path) as session:
        make(session)
        assert len(objects(moto.address, f"{folder}/t")) == 3
    with open_warehouse(folder, moto.address, tmp_path, **{"shark.table.retention": "0"}) as session:
        until(lambda: len(objects(moto.address, f"{folder}/t")) == 1)
        assert numbers(session) == [3]


@pytest.mark.parametrize("parts", ["", "PARTITIONED BY (p STRING)"])
def test_a_table_becomes_external(session: sharkpy.SharkContext, folder: str, moto: S3Server, parts: str) -> None:
    into = "PARTITION (p = 'x') " if parts else ""
    run(
        session, f"CREATE TABLE t (a INT) {parts}", f"INSERT INTO t {into}VALUES (1)", f"INSERT INTO t {into}VALUES (2)"
    )
    run(session, "CREATE TABLE u CLONE t", "ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL' = 'TRUE')")
    run(session, f"INSERT INTO t {into}VALUES (3)")
    assert (numbers(session), numbers(session, "u")) == ([1, 2, 3], [1, 2])
    home = f"{folder}/t/p=x" if parts else f"{folder}/t"
    plain = [one for one in objects(moto.address, home) if "/_files/" not in one]
    assert len(plain) == 3
    run(session, "DROP TABLE t")
    assert numbers(session, "u") == [1, 2]
    assert set(plain) <= objects(moto.address, home)


def test_partitions_move_without_copies(session: sharkpy.SharkContext, proxy: FaultProxy) -> None:
    for name in ("t", "u"):
        run(session, f"CREATE TABLE {name} (a INT) PARTITIONED BY (p STRING)")
    run(session, "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    before = versions(session)[-1]
    proxy.seen.clear()
    run(session, "ALTER TABLE t PARTITION (p='x') RENAME TO PARTITION (p='z')")
    run(session, "ALTER TABLE u EXCHANGE PARTITION (p='y') WITH TABLE t")
    assert proxy.count("PUT|POST|DELETE") == 0
    assert rows(session, "SELECT a, p FROM t") == [(1, "z")]
    assert rows(session, "SELECT a, p FROM u") == [(2, "y")]
    run(session, "INSERT INTO t VALUES (3, 'x'), (4, 'y')", "INSERT INTO u VALUES (5, 'y')")
    assert rows(session, "SELECT a, p FROM t ORDER BY a") == [(1, "z"), (3, "x"), (4, "y")]
    assert rows(session, "SELECT a, p FROM u ORDER BY a") == [(2, "y"), (5, "y")]
    assert rows(session, f"SELECT a FROM t VERSION AS OF {before} WHERE p = 'x'") == [(1,)]


@pytest.mark.parametrize(
    "statement", ["INSERT INTO t VALUES (4)", "INSERT OVERWRITE TABLE t VALUES (4)", "CREATE TABLE u AS SELECT 4 AS a"]
)
def test_a_commit_that_fails_leaves_nothing(
    session: sharkpy.SharkContext, moto: S3Server, folder: str, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(session)
    before, known, commit = objects(moto.address, folder), versions(session), FileLog.commit

    def failing(*arguments: Any, **named: Any) -> int:
        commit(*arguments, **named)
        raise SharkError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(FileLog, "commit", failing)
        with pytest.raises(SharkError, match="the disk is full"):
            run(session, statement)
    assert objects(moto.address, folder) == before
    assert versions(session) == known
    assert numbers(session) == [3]
    run(session, statement)


def test_two_processes_write_a_table(
    session: sharkpy.SharkContext, folder: str, proxy: FaultProxy, tmp_path: Path
) -> None:
    make(session)
    with open_warehouse(folder, proxy.address, tmp_path) as other:
        for number in (4, 6):
            run(session, f"INSERT INTO t VALUES ({number})")
            run(other, f"INSERT INTO t VALUES ({number + 1})")
        assert numbers(session) == numbers(other) == [3, 4, 5, 6, 7]
        run(other, "INSERT OVERWRITE TABLE t VALUES (8)")
    assert numbers(session) == [8]
    assert len(versions(session)) == 9


def succeeds(session: sharkpy.SharkContext, statement: str) -> bool:
    try:
        run(session, statement)
    except SharkError:
        return False
    return True


def test_a_storage_that_fails_at_the_nth_request(
    folder: str, proxy: FaultProxy, moto: S3Server, tmp_path: Path
) -> None:
    """The rows are the old or the new ones, and the next start removes what could not be removed."""
    with open_warehouse(folder, proxy.address, tmp_path, **{"shark.table.retention": "0"}) as session:
        run(session, "CREATE TABLE t (a INT) PARTITIONED BY (p INT)", "INSERT INTO t VALUES (0, 0), (0, 1)")
        for words in ("INTO", "OVERWRITE TABLE"):
            for nth in range(12):
                old = rows(session, "SELECT a, p FROM t ORDER BY a, p")
                new = [(nth + 1, 0), (nth + 1, 1)]
                rule = Rule(skip=nth, status=403, code="AccessDenied")
                proxy.rules[:] = [rule]
                is_done = succeeds(session, f"INSERT {words} t VALUES ({nth + 1}, 0), ({nth + 1}, 1)")
                assert is_done or rule.met > nth
                proxy.rules.clear()
                expected = sorted([*(old if words == "INTO" else []), *new]) if is_done else old
                assert rows(session, "SELECT a, p FROM t ORDER BY a, p") == expected, (words, nth)
                if rule.met <= nth:
                    break
            else:
                pytest.fail("each of the statements asked for more")
    with open_warehouse(folder, moto.address, tmp_path, **{"shark.table.retention": "0"}) as session:
        wait_for_the_sweep(session)
        run(session, "INSERT OVERWRITE TABLE t SELECT 1, 0")
        assert not unnamed(session, moto.address)
