"""Warehouses in HDFS, in a real cluster: their tables, their owners, and the files that killed writers have left."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")
pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from hdfs_native import Client

import sharkpy
from sharkpy.cli.main import main
from tests.children import status_of
from tests.hadoop import HadoopCluster
from tests.storage import test_bucket_warehouse as contract
from tests.storage.places import hdfs_place
from tests.storage.test_bucket_warehouse import KILLED, run
from tests.storage.test_warehouse_claim import refused, wanted_by
from tests.storage.warehouses import open_warehouse
from tests.streaming.folder_input import numbers
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
NOBODY = "127.0.0.1:1"
"""Address of no server of S3."""
Listed = Callable[[str], list[str]]


def opened(home: Path, warehouse: str, **conf: str) -> sharkpy.SharkContext:
    return open_warehouse(warehouse, NOBODY, home, **conf)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(hdfs: HadoopCluster) -> str:
    """Place of a warehouse that no other test uses."""
    return hdfs_place(hdfs.hdfs).folder


@pytest.fixture
def session(folder: str, home: Path) -> Iterator[sharkpy.SharkContext]:
    with opened(home, folder) as session:
        yield session


@pytest.fixture
def objects(hdfs: HadoopCluster) -> Listed:
    """Lists the names of the files below a URI, from there."""
    client = Client(hdfs.hdfs)

    def names(place: str) -> list[str]:
        key = place.removeprefix(hdfs.hdfs)
        try:
            found = list(client.list_status(key, recursive=True))
        except FileNotFoundError:
            return []
        return [one.path.removeprefix(f"{key}/") for one in found if not one.isdir]

    return names


def test_tables_lie_there(session: sharkpy.SharkContext, folder: str, home: Path, objects: Listed) -> None:
    contract.test_tables_lie_in_the_bucket(session, folder, home, objects)


def test_what_is_temporary_stays_here(session: sharkpy.SharkContext, folder: str, home: Path, objects: Listed) -> None:
    contract.test_what_is_temporary_stays_here(session, folder, home, objects)


def test_continuous_tables(session: sharkpy.SharkContext, folder: str, tmp_path: Path, objects: Listed) -> None:
    contract.test_continuous_tables(session, folder, tmp_path, objects)


def test_names_come_again(session: sharkpy.SharkContext, folder: str) -> None:
    contract.test_a_table_that_was_renamed_keeps_its_folder(session, folder)


def test_lake_tables_lie_there(session: sharkpy.SharkContext, folder: str, objects: Listed) -> None:
    for form in ("ICEBERG", "DELTA"):
        run(
            session,
            f"CREATE TABLE t (k INT, s STRING) STORED BY {form}",
            "INSERT INTO t VALUES (1, 'a'), (2, NULL)",
            "INSERT OVERWRITE t SELECT k + 10, s FROM t",
            "DELETE FROM t WHERE k = 11",
        )
        assert session.catalog.table("default", "t").location == f"{folder}/t"
        assert run(session, "SELECT * FROM t") == [(12, None)]
        run(session, "DROP TABLE t")
        assert objects(folder) == [".sharkpy/owner-1.json"]


def test_a_warehouse_has_one_owner(folder: str, tmp_path: Path, hdfs: HadoopCluster, objects: Listed) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    with opened(first, folder) as session:
        run(session, "CREATE TABLE t AS SELECT 1 AS x")
        # Another process of the same catalog.
        opened(first, folder).stop()
        error = refused(opened, second, folder)
    owner = wanted_by(error)
    refused(opened, second, f"{folder}/below")
    refused(opened, second, folder, **{"shark.warehouse.take.over": "somebody"})
    with opened(first, folder) as session:
        assert run(session, "SELECT x FROM t") == [(1,)]
    with opened(second, folder, **{"shark.warehouse.take.over": owner}) as session:
        # A new table is not placed among the files of the former owner's table.
        run(session, "CREATE TABLE t AS SELECT 2 AS x")
        assert run(session, "SELECT x FROM t") == [(2,)]
        assert session.catalog.table("default", "t").location != f"{folder}/t"
    refused(opened, first, folder)
    assert [name for name in sorted(objects(folder)) if name.startswith(".sharkpy/")] == [
        ".sharkpy/owner-1.json",
        ".sharkpy/owner-2.json",
    ]
    place = hdfs_place(hdfs.hdfs)
    facts = place.store.stat(f"{folder}/.sharkpy/owner-1.json")
    assert facts is not None
    (content,) = place.store.read(facts, [(0, facts.size_bytes)])
    assert json.loads(bytes(content))["owner"] == owner


def test_the_default_file_system(
    folder: str, home: Path, hdfs: HadoopCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.conf))
    default = folder.replace(hdfs.hdfs, "hdfs://")
    with opened(home, default) as session:
        run(session, "CREATE TABLE t AS SELECT 1 AS x", "CREATE TABLE i STORED BY ICEBERG AS SELECT 2 AS x")
    # By the name of its host it is not a warehouse of this catalog, and it has an owner.
    with pytest.raises(sharkpy.SharkError, match="belongs to the warehouse"):
        opened(home, folder)
    refused(opened, home.with_name("other"), folder)
    with opened(home, default) as session:
        assert run(session, "SELECT t.x, i.x FROM t CROSS JOIN i") == [(1, 2)]
    assert main(["--set", f"shark.catalog.dir={home}", "--warehouse", default, "doctor"]) == 0
    assert "ok   claim            the warehouse is this catalog's since " in capsys.readouterr().out


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("statement", ["INSERT OVERWRITE TABLE t VALUES (2)", "CREATE TABLE made AS SELECT 2 AS n"])
def test_what_a_killed_writer_left_is_swept(
    folder: str, home: Path, objects: Listed, statement: str, when: str
) -> None:
    with opened(home, folder) as session:
        run(session, "CREATE TABLE t (n INT)", "INSERT INTO t VALUES (1)")
        kept = set(objects(folder))
    assert status_of(KILLED, folder, NOBODY, home, when, statement) == -signal.SIGKILL
    assert set(objects(folder)) > kept
    is_new, is_made = when == "after", "made" in statement
    with opened(home, folder) as session:
        assert numbers(session) == ([2] if is_new and not is_made else [1])
        until(lambda: is_new or set(objects(folder)) == kept)
        run(session, "CREATE TABLE IF NOT EXISTS made AS SELECT 3 AS n")
        assert numbers(session, "made") == ([2] if is_new and is_made else [3])
