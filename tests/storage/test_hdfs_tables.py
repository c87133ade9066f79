"""Tables and named files in HDFS, read by statements, in a real cluster."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")

from hdfs_native import Client

import sharkpy
from sharkpy.base.errors import NotAllowedError, SourceError, StorageRefusedError
from sharkpy.execution.restrictions import Restrictions
from sharkpy.sources import open_files
from sharkpy.sources.storage.fetched_files import FetchedFiles
from sharkpy.sources.storage.hdfs_store import HdfsStore
from sharkpy.sources.storage.store import ObjectFacts
from tests.hadoop import HadoopCluster
from tests.rows import rows
from tests.storage.places import Place, hdfs_place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as session:
        yield session


@pytest.fixture(autouse=True)
def holes_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "FETCHED", FetchedFiles(hole=b"\xff"))


@pytest.fixture
def place(hdfs: HadoopCluster) -> Place:
    return hdfs_place(hdfs.hdfs)


@pytest.fixture
def client(hdfs: HadoopCluster) -> Client:
    """Client for changes of files by another program."""
    return Client(hdfs.hdfs)


def key(location: str) -> str:
    return "/" + location.partition("://")[2].partition("/")[2]


def content_of(write: Callable[[pa.Table, Any], object], **columns: list[Any]) -> bytes:
    sink = pa.BufferOutputStream()
    write(pa.table(columns), sink)
    return bytes(sink.getvalue().to_pybytes())


def parquet(place: Place, name: str, rows_of_group: int = 1_000_000, **columns: list[Any]) -> None:
    content = content_of(lambda table, sink: pq.write_table(table, sink, row_group_size=rows_of_group), **columns)
    place.store.put(place.path(name), content)


def table(
    session: sharkpy.SharkContext, location: str, columns: str = "k BIGINT", rest: str = "STORED AS PARQUET"
) -> str:
    made = f"t{uuid4().hex}"
    session.sql(f"CREATE EXTERNAL TABLE {made} ({columns}) {rest} LOCATION '{location}'").close()
    return made


def test_named_files(session: sharkpy.SharkContext, place: Place) -> None:
    parquet(place, "a.parquet", k=[1, 2], s=["x", None])
    parquet(place, "b.parquet", k=[3], s=["y"])
    place.store.put(place.path("_SUCCESS"), b"")
    place.store.put(place.path("c.csv.gz"), gzip.compress(b"k,s\n4,z\n5,\n"))
    whole = [(1, "x"), (2, None), (3, "y")]
    for text in (f"parquet.`{place.folder}/?.parquet`", f"'{place.folder}/[ab].parquet'"):
        assert rows(session, f"SELECT * FROM {text} ORDER BY k") == whole
    assert rows(session, f"SELECT * FROM '{place.folder}/c.csv.gz'") == [(4, "z"), (5, None)]
    named = rows(session, f"SELECT input__file__name FROM '{place.folder}/a.parquet' LIMIT 1")
    assert named == [(f"{place.folder}/a.parquet",)]
    with pytest.raises(SourceError, match="does not exist") as caught:
        rows(session, f"SELECT * FROM '{place.folder}/z.parquet'")
    assert caught.value.sqlstate == "58P01"
    with pytest.raises(SourceError, match="no file matches"):
        rows(session, f"SELECT * FROM '{place.folder}/*.orc'")


def test_names_without_a_name_node(hdfs: HadoopCluster, place: Place, tmp_path: Path) -> None:
    """Such names mean the default file system of Hadoop's files."""
    parquet(place, "a b%20=é/x.parquet", k=[1])
    with sharkpy.connect("local[2]", tmp_path, **{"shark.hadoop.conf.dir": str(hdfs.conf)}) as session:
        for start in ("hdfs://", "hdfs:"):
            folder = f"{start}{key(place.folder)}"
            assert rows(session, f"SELECT k FROM parquet.`{folder}/a b%20=é`") == [(1,)]
            assert rows(session, f"SELECT k FROM {table(session, f'{folder}/a b%20=é')}") == [(1,)]


@pytest.mark.parametrize(
    ("rest", "content"),
    [
        ("STORED AS PARQUET", content_of(pq.write_table, k=[1, 2], s=["a", "b"])),
        ("STORED AS ORC", content_of(orc.write_table, k=[1, 2], s=["a", "b"])),
        ("ROW FORMAT DELIMITED FIELDS TERMINATED BY ','", b"1,a\n2,b\n"),
        ("STORED AS JSONFILE", b'{"k": 1, "s": "a"}\n{"k": 2, "s": "b"}\n'),
        ("USING csv OPTIONS (header 'true')", b"k,s\n1,a\n2,b\n"),
    ],
)
def test_tables(session: sharkpy.SharkContext, place: Place, client: Client, rest: str, content: bytes) -> None:
    far = table(session, f"{place.folder}/t/", "k BIGINT, s STRING", rest)
    with pytest.raises(SourceError, match="does not exist"):
        rows(session, f"SELECT * FROM {far}")
    client.mkdirs(key(f"{place.folder}/t"), create_parent=True)
    assert rows(session, f"SELECT * FROM {far}") == []
    place.store.put(place.path("t/x"), content)
    assert rows(session, f"SELECT * FROM {far} ORDER BY k") == [(1, "a"), (2, "b")]
    assert rows(session, f"SELECT count(*), max(s) FROM {far} WHERE k < 2") == [(1, "a")]
    session.sql(f"INSERT INTO {far} VALUES (3, 'c')").close()
    assert rows(session, f"SELECT * FROM {far} ORDER BY k") == [(1, "a"), (2, "b"), (3, "c")]
    session.sql(f"DROP TABLE {far}").close()
    assert place.store.stat(place.path("t/x")) is not None


def test_partitions(session: sharkpy.SharkContext, place: Place, client: Client) -> None:
    for day, value in (("2026-01-01", 1), ("2026-01-02", 2)):
        parquet(place, f"day={day}/x.parquet", k=[value])
    text = f"parquet.`{place.folder}`"
    assert rows(session, f"SELECT k FROM {text} WHERE day = '2026-01-02'") == [(2,)]
    parquet(place, "elsewhere/a", k=[3])
    client.mkdirs(key(f"{place.folder}/day=2026-01-04"))
    far = table(session, place.folder, rest="PARTITIONED BY (day DATE) STORED AS PARQUET")
    session.sql(
        f"ALTER TABLE {far} ADD PARTITION (day='2026-01-01') PARTITION (day='2026-01-03')"
        f" LOCATION '{place.folder}/elsewhere' PARTITION (day='2026-01-04') PARTITION (day='2026-01-05')"
    ).close()
    assert rows(session, f"SELECT k, cast(day AS STRING) FROM {far} ORDER BY k") == [
        (1, "2026-01-01"),
        (3, "2026-01-03"),
    ]


def test_tasks_read_them(session: sharkpy.SharkContext, place: Place) -> None:
    """Workers find the name node by the access that comes with their stage."""
    for part in range(3):
        parquet(place, f"t/{part}", 100, k=list(range(part * 1000, part * 1000 + 1000)))
    place.store.put(place.path("x/a.txt"), b"1\n2\n")
    far, lines = table(session, place.path("t")), table(session, place.path("x"), rest="STORED AS TEXTFILE")
    tasks = session.with_settings({"shark.placement.driver": "false"})
    assert rows(tasks, f"SELECT count(*), sum(k) FROM {far} WHERE k >= 500") == [(2500, sum(range(500, 3000)))]
    assert rows(tasks, f"SELECT sum(k) FROM {lines}") == [(3,)]


@pytest.mark.parametrize("kind", ["PARQUET", "ORC", "TEXTFILE", "JSONFILE", "AVRO", "RCFILE", "SEQUENCEFILE"])
def test_tables_are_written(session: sharkpy.SharkContext, place: Place, client: Client, kind: str) -> None:
    made, folder = f"t{uuid4().hex}", place.path("t")
    for text in (
        f"CREATE TABLE {made} (k INT, s STRING) STORED AS {kind} LOCATION '{folder}'",
        f"INSERT INTO {made} VALUES (1, 'a'), (2, NULL)",
        f"INSERT INTO {made} SELECT k + 2, s FROM {made}",
        f"DELETE FROM {made} WHERE k = 3",
    ):
        session.sql(text).close()
    assert rows(session, f"SELECT * FROM {made} ORDER BY k") == [(1, "a"), (2, None), (4, None)]
    session.sql(f"INSERT OVERWRITE TABLE {made} VALUES (5, 'e')").close()
    assert rows(session, f"SELECT * FROM {made}") == [(5, "e")]
    session.sql(f"DROP TABLE {made}").close()
    assert list(place.store.list(folder)) == []


def test_partitions_are_written(session: sharkpy.SharkContext, place: Place) -> None:
    made, folder = f"t{uuid4().hex}", place.path("t")
    count = f"SELECT p, count(*), sum(k) FROM {made} GROUP BY p ORDER BY p"
    tasks = session.with_settings({"shark.placement.driver": "false"})
    tasks.sql(
        f"CREATE TABLE {made} PARTITIONED BY (p) STORED AS PARQUET LOCATION '{folder}' "
        "AS SELECT k, cast(k % 3 AS STRING) p FROM (SELECT explode(sequence(1, 99)) k) x DISTRIBUTE BY p"
    ).close()
    assert rows(session, count) == [("0", 33, 1683), ("1", 33, 1617), ("2", 33, 1650)]
    for text in (
        f"INSERT OVERWRITE TABLE {made} PARTITION (p) SELECT 1, '1'",
        f"INSERT INTO {made} PARTITION (p = 'a:b/c') VALUES (7)",
        f"ALTER TABLE {made} DROP PARTITION (p = '0')",
        f"UPDATE {made} SET k = 0 WHERE p = '2'",
    ):
        session.sql(text).close()
    assert rows(session, count) == [("1", 1, 1), ("2", 33, 0), ("a:b/c", 1, 7)]
    session.sql(f"DROP TABLE {made}").close()
    assert list(place.store.list(folder)) == []


def test_tables_in_memory_follow_their_files(session: sharkpy.SharkContext, place: Place) -> None:
    for part in range(2):
        parquet(place, f"t/{part}", k=[part])
    far = table(session, place.path("t"))
    session.sql(f"ALTER TABLE {far} SET TBLPROPERTIES ('shark.cache'='MEMORY')").close()
    assert rows(session, f"SELECT k FROM {far} ORDER BY k") == [(0,), (1,)]
    parquet(place, "t/1", k=[7])
    parquet(place, "t/2", k=[8])
    assert rows(session, f"SELECT k FROM {far} ORDER BY k") == [(0,), (7,), (8,)]
    place.store.delete([place.path("t/0")])
    assert rows(session, f"SELECT k FROM {far} ORDER BY k") == [(7,), (8,)]


def test_a_file_that_is_replaced_while_it_is_read(
    session: sharkpy.SharkContext, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its footer is read before, its rows would be after."""
    parquet(place, "t/a", 10_000, k=list(range(100_000)))
    far = table(session, place.path("t"))
    read, asked = HdfsStore.read, list[str]()

    def replacing(store: HdfsStore, facts: ObjectFacts, ranges: Sequence[tuple[int, int]]) -> Iterator[memoryview]:
        asked.append(facts.path)
        if len(asked) == 2:
            parquet(place, "t/a", k=[1])
        return read(store, facts, ranges)

    monkeypatch.setattr(HdfsStore, "read", replacing)
    with pytest.raises(SourceError, match="was changed while it was being read") as caught:
        rows(session, f"SELECT sum(k) FROM {far}")
    assert caught.value.sqlstate == "58030"
    assert rows(session, f"SELECT sum(k) FROM {far}") == [(1,)]


def test_a_data_node_that_is_lost(session: sharkpy.SharkContext, hdfs: HadoopCluster, place: Place) -> None:
    parquet(place, "t/a", 1000, k=list(range(100_000)))
    far = table(session, place.path("t"))
    hdfs.kill("datanode-1")
    try:
        assert rows(session, f"SELECT sum(k) FROM {far}") == [(sum(range(100_000)),)]
    finally:
        hdfs.await_data_nodes(2)
        hdfs.start_data_node(1)
        hdfs.await_data_nodes(3)


def test_who_may_read(
    session: sharkpy.SharkContext, place: Place, client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parquet(place, "t/a.parquet", k=[1])
    far = table(session, place.path("t"))
    guest = session.new_session(shark_user="ann")
    guest.restrictions = Restrictions((tmp_path,), (), guards_settings=True)
    assert rows(guest, f"SELECT k FROM {far}") == [(1,)]
    for text in (
        f"SELECT k FROM '{place.folder}/t/a.parquet'",
        f"CREATE EXTERNAL TABLE u{far} (k INT) LOCATION '{place.folder}/t'",
    ):
        with pytest.raises(NotAllowedError, match="bounds"):
            rows(guest, text)
    client.set_permission(key(place.path("t")), 0o700)
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody-else")
    with sharkpy.connect("local[2]", tmp_path / "w", **{"fs.permissions.umask-mode": "027"}) as other:
        with pytest.raises(StorageRefusedError, match="nobody-else") as caught:
            rows(other, f"SELECT k FROM '{place.folder}/t/a.parquet'")
        assert caught.value.sqlstate == "42501"
