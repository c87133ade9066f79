"""Tables that are written in HDFS: the contract of their folders, and statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")

from hdfs_native import Client

import sharkpy
from sharkpy.sources.folders.remote_folder import RemoteFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.storage.store import UPLOAD
from tests.hadoop import HadoopCluster
from tests.rows import rows
from tests.sources import test_table_folder as contract
from tests.storage.places import Place, hdfs_place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
CONTRACT: tuple[Callable[[contract.Listed], None], ...] = (
    contract.test_a_folder_that_is_not_there,
    contract.test_bases_hide_what_is_older,
    contract.test_the_catalog_tells_what_counts,
    contract.test_folds_take_the_place_of_generations,
    contract.test_staged_files_are_not_seen,
)


@pytest.fixture
def place(hdfs: HadoopCluster) -> Place:
    return hdfs_place(hdfs.hdfs)


@pytest.fixture
def folder(place: Place) -> RemoteFolder:
    return RemoteFolder(place.path("t"), place.store, uuid4().hex)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as session:
        session.sql("CREATE TABLE numbers AS SELECT explode(sequence(1, 100)) AS k").close()
        yield session


def tree(client: Client, location: str) -> list[str]:
    """Names of all files and folders below a location."""
    key = "/" + location.partition("://")[2].partition("/")[2]
    return sorted(status.path.removeprefix(f"{key}/") for status in client.list_status(key, recursive=True))


@pytest.mark.parametrize("check", CONTRACT)
def test_folders(check: Callable[[contract.Listed], None], folder: RemoteFolder) -> None:
    check(folder)


def test_what_a_killed_writer_has_left_goes(hdfs: HadoopCluster, folder: RemoteFolder) -> None:
    contract.add(folder, "delta_0000001", "a")
    staging = folder.make_staging(folder.new_staging())
    folder.store.put(f"{staging}/day=1/part-0", b"x")
    folder.store.put(f"{staging}/day=1/{UPLOAD}1", b"half of")
    STAGED.end(staging)
    folder.discard_staging(staging)
    assert len(tree(Client(hdfs.hdfs), folder.path)) == 5
    assert contract.texts(folder, folder.files()) == ["a"]


def test_statements(session: sharkpy.SharkContext, hdfs: HadoopCluster, place: Place) -> None:
    for text in (
        f"CREATE TABLE t (k INT) STORED AS PARQUET LOCATION '{place.path('t')}'",
        "INSERT INTO t SELECT k FROM numbers",
        "INSERT OVERWRITE TABLE t SELECT k FROM t WHERE k <= 10",
        "INSERT INTO t VALUES (11)",
        f"CREATE TABLE p (k INT) PARTITIONED BY (d INT) STORED AS ORC LOCATION '{place.path('p')}'",
        "INSERT INTO p SELECT k, k % 3 FROM numbers",
        "INSERT OVERWRITE TABLE p PARTITION (d) SELECT k + 1000, d FROM p WHERE d = 1",
        f"CREATE TABLE c LOCATION '{place.path('c')}' AS SELECT k FROM numbers",
    ):
        session.sql(text).close()
    assert rows(session, "SELECT count(*), sum(k) FROM t") == [(11, 66)]
    assert rows(session, "SELECT d, count(*), max(k) FROM p GROUP BY d ORDER BY d") == [
        (0, 33, 99),
        (1, 34, 1100),
        (2, 33, 98),
    ]
    assert rows(session, "SELECT count(*) FROM c") == [(100,)]
    client = Client(hdfs.hdfs)
    assert not [name for name in tree(client, place.path("t")) if name.rpartition("/")[2].startswith(UPLOAD)]
    assert len(tree(client, place.path("t"))) == 2, "a file of each of two writes"
    for table in "tpc":
        session.sql(f"DROP TABLE {table}").close()
    assert tree(client, place.folder) == []
