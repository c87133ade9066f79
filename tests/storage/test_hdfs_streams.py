"""Streams of the files in folders of HDFS, in a real cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")

from hdfs_native import Client, WriteOptions

import sharkpy
from tests.hadoop import HadoopCluster
from tests.rows import rows
from tests.storage.places import Place, hdfs_place
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, until_numbers
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
BLOCK = 4096


@pytest.fixture
def session(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    values = {"shark.stream.list.ms": 20, "shark.stream.list.most.ms": 100}
    with sharkpy.connect("local[2]", tmp_path / "w", **values) as session:
        yield session


@pytest.fixture
def place(hdfs: HadoopCluster) -> Place:
    return hdfs_place(hdfs.hdfs)


@pytest.fixture
def client(hdfs: HadoopCluster) -> Client:
    """Client for changes of files by another program."""
    return Client(hdfs.hdfs)


def key(location: str) -> str:
    return "/" + location.partition("://")[2].partition("/")[2]


def lines(of: Sequence[int]) -> bytes:
    return "".join(f"{json.dumps({'n': one})}\n" for one in of).encode()


def make(session: sharkpy.SharkContext, place: Place) -> None:
    session.sql(f"CREATE STREAM numbers (n BIGINT) STORED AS JSONFILE FROM FOLDER '{place.folder}'").close()
    session.sql("CREATE CONTINUOUS TABLE t AS SELECT n, input__file__name AS f FROM numbers").close()


def test_files_come_once(session: sharkpy.SharkContext, place: Place, client: Client) -> None:
    """The folder comes later. Files with hidden names, or with temporary names of `hdfs dfs -put`, are not read."""
    make(session, place)
    place.store.put(place.path("a"), lines([1, 2]))
    until_numbers(session, [1, 2])
    for name in ("_SUCCESS", ".hidden", "b._COPYING_", "_temporary/0/c"):
        place.store.put(place.path(name), lines([99]))
    place.store.put(place.path("deep/down/d"), lines([3]))
    until_numbers(session, [1, 2, 3])
    client.rename(key(place.path("b._COPYING_")), key(place.path("b")))
    until_numbers(session, [1, 2, 3, 99])
    found = rows(session, "SELECT DISTINCT f FROM t ORDER BY f")
    assert found == [(place.path(name),) for name in ("a", "b", "deep/down/d")]


def test_an_open_file_is_read_when_it_is_closed(session: sharkpy.SharkContext, place: Place, client: Client) -> None:
    """Whole blocks of it can be seen before."""
    make(session, place)
    content = lines(range(1000))
    assert len(content) > 2 * BLOCK
    client.mkdirs(key(place.folder), 0o755, True)
    writer = client.create(key(place.path("open")), WriteOptions(block_size=BLOCK))
    writer.write(content[: 2 * BLOCK + 10])
    place.store.put(place.path("whole"), lines([5000]))
    until_numbers(session, [5000])
    (shown,) = [one for one in client.list_status(key(place.folder)) if one.path.endswith("/open")]
    assert shown.length >= BLOCK, "its first blocks can be seen"
    session.sql(f"CREATE CONTINUOUS TABLE now {NOW} AS SELECT n FROM numbers").close()
    assert numbers(session, "now") == [5000]
    writer.write(content[2 * BLOCK + 10 :])
    writer.close()
    until_numbers(session, [*range(1000), 5000])


def test_a_change_is_told(session: sharkpy.SharkContext, place: Place) -> None:
    make(session, place)
    place.store.put(place.path("a"), lines([1]))
    until_numbers(session, [1])
    place.store.put(place.path("a"), lines([7, 8]))
    session.sql("PAUSE CONTINUOUS TABLE t").close()
    with pytest.raises(sharkpy.SharkError, match=r"/a\" was changed after the stream numbers had found it"):
        session.sql(f"CREATE CONTINUOUS TABLE other {NOW} AS SELECT n FROM numbers").close()


def test_a_sink(session: sharkpy.SharkContext, place: Place, client: Client, tmp_path: Path) -> None:
    """Its files get their names by renames; nothing of what was hidden stays."""
    make_stream(session, tmp_path / "in", "('max.files.per.epoch' = '1')")
    text = f"TO FOLDER '{place.folder}' STORED AS JSONFILE TRIGGER EVERY 1 MILLISECONDS AS SELECT n FROM numbers"
    session.sql(f"CREATE CONTINUOUS SINK s {text}").close()
    found = f"SELECT count(*), count(DISTINCT n) FROM json.`{place.folder}`"
    for number in range(3):
        put_numbers(tmp_path / "in", str(number), range(10 * number, 10 * number + 10))
        until(
            lambda wanted=10 * number + 10: (
                len(list(place.store.list(place.folder))) and rows(session, found) == [(wanted, wanted)]
            )
        )
    query = session.stream("s").query_id
    session.sql("DROP CONTINUOUS SINK s").close()
    names = sorted(one.path.rpartition("/")[2] for one in client.list_status(key(place.folder)))
    assert names == [f"{query[:8]}-{number:010}-00000.json" for number in (1, 2, 3)]


def test_a_continuous_table_and_a_stream_of_its_rows(
    session: sharkpy.SharkContext, place: Place, client: Client, tmp_path: Path
) -> None:
    make_stream(session, tmp_path / "in")
    put_numbers(tmp_path / "in", "a", [1, 2])
    text = f"PARTITIONED BY (s) LOCATION '{place.folder}' {NOW} AS SELECT n, s FROM numbers"
    session.sql(f"CREATE CONTINUOUS TABLE t {text}").close()
    session.sql("CREATE STREAM added FROM TABLE t WITH HISTORY").close()
    put_numbers(tmp_path / "in", "b", [3])
    session.sql("RESUME CONTINUOUS TABLE t").close()
    assert numbers(session) == [1, 2, 3]
    assert rows(session, "SELECT count(*) FROM t FOR SYSTEM_VERSION AS OF 1") == [(2,)]
    session.sql("ROLLBACK CONTINUOUS TABLE t TO EPOCH 1").close()
    assert numbers(session) == [1, 2]
    session.sql("ALTER TABLE added SET TBLPROPERTIES ('failOnDataLoss' = 'false')").close()
    session.sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT n, s FROM added").close()
    assert rows(session, "SELECT n, s FROM u ORDER BY n") == [(1, "s1"), (2, "s2"), (3, "s3")]
    session.sql("RESUME CONTINUOUS TABLE t").close()
    assert numbers(session) == [1, 2, 3]
    session.sql("DROP CONTINUOUS TABLE t").close()
    with pytest.raises(FileNotFoundError):
        client.get_file_info(key(place.folder))
