"""Tables of a warehouse in a bucket: the places of their files, and the files that stay on this machine."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.sources.folders.logged_folder import LoggedObjects
from sharkpy.sources.folders.remote_folder import RemoteFolder
from tests.children import status_of
from tests.storage.places import BUCKET
from tests.storage.s3_servers import S3Server, s3_client
from tests.storage.warehouses import open_warehouse
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers
from tests.waiting import until


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def session(folder: str, seaweed: S3Server, home: Path) -> Iterator[sharkpy.SharkContext]:
    with open_warehouse(folder, seaweed.address, home) as session:
        yield session


@pytest.fixture
def objects(seaweed: S3Server) -> Iterator[Callable[[str], list[str]]]:
    """Lists the names of the objects below a URI, from there."""
    client = s3_client(seaweed.address)

    def names(place: str) -> list[str]:
        prefix = f"{place.partition(f'{BUCKET}/')[2]}/"
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [one["Key"].removeprefix(prefix) for page in pages for one in page.get("Contents", [])]

    yield names
    client.close()


def run(session: sharkpy.SharkContext, *statements: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for statement in statements:
        found = [tuple(row) for row in session.sql(statement).fetchall()]
    return found


def data_in(home: Path) -> list[str]:
    """Files of a local folder that may hold rows."""
    return [str(path.relative_to(home)) for path in home.rglob("*") if path.name.startswith("part-")]


def test_tables_lie_in_the_bucket(
    session: sharkpy.SharkContext, folder: str, home: Path, objects: Callable[[str], list[str]]
) -> None:
    run(
        session,
        "CREATE TABLE t (a INT, s STRING) STORED AS PARQUET",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
        "INSERT INTO t VALUES (3, 'z')",
        "CREATE DATABASE shop",
        "CREATE TABLE shop.sales (a INT) PARTITIONED BY (day STRING) STORED AS ORC",
        "INSERT INTO shop.sales PARTITION (day) SELECT a, s FROM t",
        "CREATE TABLE made AS SELECT a * 10 AS b FROM t",
    )
    assert session.catalog.table("default", "t").location == f"{folder}/t"
    assert session.catalog.table("shop", "sales").location == f"{folder}/shop.db/sales"
    assert run(session, "SELECT sum(a) FROM t") == [(6,)]
    assert run(session, "SELECT day, a FROM shop.sales ORDER BY a") == [("x", 1), ("y", 2), ("z", 3)]
    assert run(session, "SELECT sum(b) FROM made") == [(60,)]
    assert all(objects(f"{folder}/{place}") for place in ("t", "shop.db/sales", "made"))
    assert data_in(home) == []
    run(
        session,
        "INSERT OVERWRITE TABLE t SELECT a + 1, s FROM t WHERE a > 1",
        "UPDATE made SET b = 0 WHERE b = 10",
        "DELETE FROM made WHERE b = 20",
        "INSERT OVERWRITE TABLE shop.sales PARTITION (day = 'x') VALUES (7)",
    )
    assert run(session, "SELECT a, s FROM t ORDER BY a") == [(3, "y"), (4, "z")]
    assert run(session, "SELECT b FROM made ORDER BY b") == [(0,), (30,)]
    assert run(session, "SELECT day, a FROM shop.sales ORDER BY day") == [("x", 7), ("y", 2), ("z", 3)]
    run(session, "TRUNCATE TABLE t")
    assert run(session, "SELECT count(*) FROM t") == [(0,)]
    run(session, "DROP TABLE t PURGE", "DROP TABLE shop.sales PURGE", "DROP TABLE made PURGE")
    assert objects(folder) == [".sharkpy/owner-1.json"]


def test_what_is_temporary_stays_here(
    session: sharkpy.SharkContext, folder: str, home: Path, objects: Callable[[str], list[str]]
) -> None:
    run(
        session,
        "CREATE TEMPORARY TABLE t (a INT)",
        "INSERT INTO t VALUES (1), (2)",
        "CREATE TABLE kept STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT a FROM t",
        "CREATE TABLE blocks TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT a FROM t",
    )
    for name in ("t", "kept", "blocks"):
        assert run(session, f"SELECT sum(a) FROM {name}") == [(3,)]
    run(session, "INSERT INTO kept VALUES (10)")
    assert run(session, "SELECT sum(a) FROM kept") == [(13,)]
    assert all("temporary" in place for place in data_in(home))
    assert data_in(home)
    assert {name.partition("/")[0] for name in objects(folder)} == {".sharkpy", "kept"}


def test_blocks_that_this_machine_has_lost_are_made_again(
    folder: str, seaweed: S3Server, home: Path, objects: Callable[[str], list[str]]
) -> None:
    """The rows of a table in memory are the objects, and nothing else of it is in the bucket."""
    with open_warehouse(folder, seaweed.address, home) as session:
        run(
            session,
            "CREATE TABLE kept STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT 1 AS a",
            "INSERT INTO kept VALUES (2)",
        )
        assert run(session, "SELECT sum(a) FROM kept") == [(3,)]
    assert [path for path in (home / ".sharkpy" / "blocks").rglob("*") if path.is_file()]
    assert {name.partition("/")[0] for name in objects(f"{folder}/kept")} == {"_files"}
    shutil.rmtree(home / ".sharkpy" / "blocks")
    with open_warehouse(folder, seaweed.address, home) as session:
        assert run(session, "SELECT sum(a) FROM kept") == [(3,)]
        run(session, "INSERT INTO kept VALUES (4)")
        assert run(session, "SELECT sum(a) FROM kept") == [(7,)]


def test_a_table_that_was_renamed_keeps_its_folder(session: sharkpy.SharkContext, folder: str) -> None:
    run(
        session,
        "CREATE TABLE a AS SELECT 1 AS x",
        "ALTER TABLE a RENAME TO b",
        "CREATE TABLE a (x INT)",
        "INSERT INTO a VALUES (2)",
    )
    assert session.catalog.table("default", "b").location == f"{folder}/a"
    assert session.catalog.table("default", "a").location != f"{folder}/a"
    assert run(session, "SELECT x FROM b") == [(1,)]
    assert run(session, "SELECT x FROM a") == [(2,)]
    run(session, "DROP TABLE b")
    assert run(session, "SELECT x FROM a") == [(2,)]
    run(session, "CREATE TABLE b AS SELECT 3 AS x")
    assert run(session, "SELECT x FROM b") == [(3,)]


def test_what_others_have_in_the_bucket_is_theirs(
    session: sharkpy.SharkContext, folder: str, seaweed: S3Server, objects: Callable[[str], list[str]]
) -> None:
    client = s3_client(seaweed.address)
    client.put_object(Bucket=BUCKET, Key=f"{folder.partition(f'{BUCKET}/')[2]}/logs/x.csv", Body=b"1\n")
    client.close()
    for text in ("CREATE TABLE logs (a INT)", "CREATE TABLE logs AS SELECT 2 AS a"):
        run(session, text, "INSERT INTO logs VALUES (3)")
        assert (1,) not in run(session, "SELECT a FROM logs")
        run(session, "DROP TABLE logs")
        assert objects(f"{folder}/logs") == ["x.csv"]


def test_databases_have_places(
    session: sharkpy.SharkContext, folder: str, tmp_path: Path, objects: Callable[[str], list[str]]
) -> None:
    run(
        session,
        f"CREATE DATABASE far LOCATION '{folder}-far'",
        f"CREATE DATABASE near LOCATION '{tmp_path}/near'",
        "CREATE TABLE far.t AS SELECT 1 AS x",
        "CREATE TABLE near.t AS SELECT 2 AS x",
        "CREATE TABLE near.u (x INT)",
        "INSERT INTO near.u SELECT x FROM far.t",
    )
    assert run(session, "SELECT x FROM far.t UNION ALL SELECT x FROM near.t UNION ALL SELECT x FROM near.u") == [
        (1,),
        (2,),
        (1,),
    ]
    assert objects(f"{folder}-far/t")
    assert (tmp_path / "near" / "t").is_dir()
    with pytest.raises(UnsupportedError, match="read-only"):
        run(session, "CREATE DATABASE web LOCATION 'http://127.0.0.1:1/x'")


def test_the_next_process_has_the_tables(
    session: sharkpy.SharkContext, folder: str, seaweed: S3Server, home: Path
) -> None:
    run(session, "CREATE TABLE t AS SELECT 1 AS x", "CREATE VIEW v AS SELECT x + 1 AS y FROM t")
    with open_warehouse(folder, seaweed.address, home) as other:
        assert run(other, "SELECT y FROM v") == [(2,)]
        run(other, "INSERT INTO t VALUES (5)")
    assert run(session, "SELECT x FROM t ORDER BY x") == [(1,), (5,)]


@pytest.mark.slow
def test_continuous_tables(
    session: sharkpy.SharkContext, folder: str, tmp_path: Path, objects: Callable[[str], list[str]]
) -> None:
    """Their rows and states are in the bucket; their progress is in the catalog."""
    source = tmp_path / "source"
    make_stream(session, source)
    put_numbers(source, "a", [1, 2])
    run(
        session,
        f"CREATE CONTINUOUS TABLE plain {NOW} AS SELECT n FROM numbers",
        f"CREATE CONTINUOUS TABLE parts PARTITIONED BY (s) {NOW} AS SELECT n, s FROM numbers",
        f"CREATE CONTINUOUS TABLE sums {NOW} WITH UNBOUNDED STATE AS SELECT s, sum(n) AS n FROM numbers GROUP BY s",
    )
    names = ("plain", "parts", "sums")
    put_numbers(source, "b", [2, 3])
    run(session, *(f"RESUME CONTINUOUS TABLE {name}" for name in names))
    assert numbers(session, "plain") == numbers(session, "parts") == [1, 2, 2, 3]
    assert numbers(session, "sums") == [1, 3, 4]
    run(session, *(f"ROLLBACK CONTINUOUS TABLE {name} TO EPOCH 1" for name in names[:2]))
    assert numbers(session, "plain") == numbers(session, "parts") == [1, 2]
    run(session, *(f"RESUME CONTINUOUS TABLE {name}" for name in names[:2]))
    assert numbers(session, "plain") == numbers(session, "parts") == [1, 2, 2, 3]
    state = session.catalog.state_table(session.catalog.table("default", "sums"))
    assert state is not None
    assert all(objects(place) for place in (f"{folder}/plain", f"{folder}/parts", str(state.location)))
    run(session, *(f"DROP CONTINUOUS TABLE {name}" for name in names))
    assert objects(folder) == [".sharkpy/owner-1.json"]


def test_streams_of_programs_and_of_tables(
    session: sharkpy.SharkContext, folder: str, objects: Callable[[str], list[str]]
) -> None:
    run(
        session,
        "CREATE TABLE t (n INT)",
        "CREATE STREAM added FROM TABLE t",
        "CREATE STREAM pushed (n INT) FROM PROGRAM",
        f"CREATE CONTINUOUS TABLE doubled {NOW} AS SELECT n * 2 AS n FROM added",
        f"CREATE CONTINUOUS INSERT fill {NOW} AS INSERT INTO t SELECT n FROM pushed",
        "INSERT INTO t VALUES (1)",
    )
    with session.push("pushed") as out:
        out.write([(2,), (3,)])
    run(session, "RESUME CONTINUOUS INSERT fill", "RESUME CONTINUOUS TABLE doubled")
    assert numbers(session) == [1, 2, 3]
    assert numbers(session, "doubled") == [2, 4, 6]
    # The snapshot keeps its rows, whatever happens to the table.
    run(session, "INSERT INTO t VALUES (4)", "DELETE FROM t WHERE n = 3")
    assert numbers(session) == [1, 2, 4]
    assert objects(f"{folder}/t")


KILLED = """
import os, signal, sys
from pathlib import Path
from sharkpy.catalog.file_log import FileLog
from sharkpy.sources.folders.logged_folder import LoggedObjects
from tests.storage.warehouses import open_warehouse

warehouse, address, home, when, statement = sys.argv[1:]

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if when == "before":
    FileLog.commit = killed
else:
    LoggedObjects.discard_staging = killed
open_warehouse(warehouse, address, Path(home)).sql(statement)
"""


@pytest.mark.variants(3)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO t VALUES (2)",
        "INSERT OVERWRITE TABLE t VALUES (2)",
        "INSERT INTO p PARTITION (s) VALUES (2, 'b')",
        "CREATE TABLE made AS SELECT 2 AS n",
    ],
)
def test_what_a_killed_writer_left_is_swept(
    folder: str,
    seaweed: S3Server,
    home: Path,
    objects: Callable[[str], list[str]],
    statement: str,
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def opened() -> sharkpy.SharkContext:
        return open_warehouse(folder, seaweed.address, home)

    with opened() as session:
        run(session, "CREATE TABLE t (n INT)", "INSERT INTO t VALUES (1)")
        run(session, "CREATE TABLE p (n INT) PARTITIONED BY (s STRING)", "INSERT INTO p PARTITION (s = 'a') VALUES (1)")
        kept = set(objects(folder))
    assert status_of(KILLED, folder, seaweed.address, home, when, statement) == -signal.SIGKILL
    assert set(objects(folder)) > kept

    def refused(*_: object) -> None:
        raise SourceError("the server is not there")

    with monkeypatch.context() as patch:
        # A start that cannot remove it leaves it to the next one.
        for kind in (LoggedObjects, RemoteFolder):
            patch.setattr(kind, "discard_staging", refused)
        opened().stop()
    with opened() as session:
        is_new = when == "after"
        expected = {"t": [2] if "OVERWRITE" in statement else [1, 2], "p": [1, 2], "made": [2]}
        until(lambda: is_new or set(objects(folder)) == kept)
        for table in ("t", "p", "made"):
            if is_new and f" {table} " in statement:
                assert numbers(session, table) == expected[table]
            elif table == "made":
                assert run(session, "SHOW TABLES LIKE 'made'") == []
            else:
                assert numbers(session, table) == [1]
        run(session, "INSERT INTO p PARTITION (s = 'c') VALUES (7)", "CREATE TABLE IF NOT EXISTS made AS SELECT 3 AS n")
        assert numbers(session, "p")[-1] == 7
        run(session, "DROP TABLE made PURGE", "ALTER TABLE p DROP PARTITION (s = 'c')", "VACUUM p RETAIN 0 HOURS")
        left = set(objects(folder))
    if not is_new:
        assert left == kept
    assert not list((home / ".sharkpy" / "unfinished").rglob("*/*"))


def test_a_stream_of_changes(session: sharkpy.SharkContext) -> None:
    run(
        session,
        "CREATE TABLE t (a INT, s STRING) STORED AS PARQUET",
        "CREATE TABLE p (a INT) PARTITIONED BY (s STRING) STORED AS PARQUET",
    )
    for table in "tp":
        found = run(
            session,
            f"INSERT INTO {table} VALUES (1, 'x'), (2, 'y')",
            f"CREATE STREAM s{table} FROM TABLE {table} WITH HISTORY WITH CHANGES",
            f"INSERT INTO {table} VALUES (3, 'x')",
            f"UPDATE {table} SET a = 4 WHERE a = 1",
            f"DELETE FROM {table} WHERE a = 2",
            f"CREATE CONTINUOUS TABLE c{table} {NOW} AS SELECT a, s, _change_type, _commit FROM s{table}",
            f"SELECT a, s, _change_type FROM c{table} ORDER BY _commit, _change_type, a",
        )
        history = [(1, "x", "insert"), (2, "y", "insert"), (3, "x", "insert")]
        assert found == [*history, (1, "x", "delete"), (4, "x", "insert"), (2, "y", "delete")]
