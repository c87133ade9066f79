"""HDFS in a real cluster, in addition to the tests of all stores: renames, lost nodes, other users, Hadoop's client."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")

from hdfs_native import Client, WriteOptions

from sharkpy.base.errors import ExecutionError, SourceError, StorageRefusedError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.sources.storage.access import access_to
from sharkpy.sources.storage.store import UPLOAD, StoreLimits
from sharkpy.sources.storage.stores import store_of
from tests.hadoop import HadoopCluster
from tests.ports import free_ports
from tests.storage.places import QUICK, Place, ended, hdfs_place
from tests.storage.places import access_to as access_with
from tests.storage.test_store import content_of
from tests.waiting import allowed, until

ROOT = Path(__file__).parent.parent.parent
PART = QUICK.part_bytes
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def place(hdfs: HadoopCluster) -> Place:
    return hdfs_place(hdfs.hdfs)


@pytest.fixture
def client(hdfs: HadoopCluster) -> Client:
    """Client for changes of files by another program."""
    return Client(hdfs.hdfs)


@contextmanager
def without_data_node(hdfs: HadoopCluster, number: int) -> Iterator[None]:
    """One of three data nodes is killed, which the name node does not know at first."""
    hdfs.kill(f"datanode-{number}")
    try:
        yield
    finally:
        hdfs.await_data_nodes(2)
        hdfs.start_data_node(number)
        hdfs.await_data_nodes(3)


def key(place: Place, name: str = "") -> str:
    return "/" + place.path(name).partition("://")[2].partition("/")[2].rstrip("/")


def names(client: Client, place: Place) -> list[str]:
    """Names of all that is in the folder, the unfinished too."""
    return sorted(status.path.rpartition("/")[2] for status in client.list_status(key(place)))


def test_of_many_writers_one_takes_a_name(place: Place, client: Client) -> None:
    for turn in range(8):
        path = place.path(str(turn))
        with ThreadPoolExecutor(16) as writers:
            taken = list(writers.map(lambda number, path=path: place.store.put_new(path, b"%d" % number), range(16)))
        assert taken.count(True) == 1
        facts = place.store.stat(path)
        assert facts is not None
        assert taken[int(content_of(place.store, facts))]
    assert names(client, place) == [str(turn) for turn in range(8)]


def test_unfinished_files_are_hidden_and_removed(place: Place, client: Client) -> None:
    place.store.put(place.path("t/x"), b"1")
    for name in ("t", "t/deep", "t2"):
        with client.create(key(place, f"{name}/{UPLOAD}1"), WriteOptions(create_parent=True)) as file:
            file.write(b"1")
    left = client.create(key(place, f"t/{UPLOAD}open"), WriteOptions())
    left.write(b"1")
    assert [facts.path for facts in place.store.list(place.path("t"))] == [place.path("t/x")]
    objects, folders = place.store.children(place.path("t"))
    assert ([facts.path for facts in objects], list(folders)) == ([place.path("t/x")], [place.path("t/deep")])
    assert place.store.remove_uploads(place.path("t"), 0) == 0
    assert place.store.remove_uploads(place.path("t"), time.time_ns() + 10**12) == 3
    assert place.store.remove_uploads(place.path("t"), time.time_ns() + 10**12) == 0
    assert place.store.remove_uploads(place.folder, time.time_ns() + 10**12) == 1
    assert place.store.stat(place.path("t/x")) is not None


def test_a_put_that_fails_leaves_nothing(place: Place, client: Client) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= PART:
                raise OSError(5, "Input/output error", "/disk/file")
            return super().read(size)

    place.store.put(place.path("x"), b"old")
    with pytest.raises(SourceError, match='"/disk/file" cannot be read or written'):
        place.store.put(place.path("x"), Broken(bytes(3 * PART)))
    assert names(client, place) == ["x"]
    facts = place.store.stat(place.path("x"))
    assert facts is not None
    assert content_of(place.store, facts) == b"old"


def test_a_put_that_is_given_up_leaves_nothing(place: Place, client: Client) -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            time.sleep(0.3)
            return super().read(size)

    place.store.put(place.path("y"), b"1")
    call = ended(lambda: place.store.put(place.path("x"), Slow(bytes(9 * PART))), lambda: len(names(client, place)) > 1)
    assert call < allowed(0.3)
    until(lambda: names(client, place) == ["y"])


def test_names_that_hdfs_does_not_have(place: Place) -> None:
    for name in ("a:b", "a/../b", "a//b"):
        with pytest.raises(UnsupportedError, match="parts of dots or colons"):
            place.store.put(place.path(name), b"1")


def test_another_user_is_refused(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = place.store.put(place.path("t/x"), b"1")
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody-else")
    other = store_of(place.folder, access_with({}), StoreLimits(retries=3))
    assert content_of(other, facts) == b"1"
    with pytest.raises(StorageRefusedError, match=r'refuses access .*the user name "nobody-else"') as caught:
        other.put(place.path("t/y"), b"1")
    assert caught.value.sqlstate == "42501"
    with pytest.raises(StorageRefusedError):
        other.delete([facts.path])


def test_permissions_of_new_files(hdfs: HadoopCluster, place: Place, client: Client) -> None:
    place.store.put(place.path("x"), b"1")
    assert client.get_file_info(key(place, "x")).permission == 0o644
    private = store_of(hdfs.hdfs, access_with({"fs.permissions.umask-mode": "077"}))
    private.put(place.path("y"), b"1")
    assert client.get_file_info(key(place, "y")).permission == 0o600


def test_the_name_service_and_the_default_file_system(hdfs: HadoopCluster, place: Place) -> None:
    """The first name node of the service is not there."""
    facts = place.store.put(place.path("x"), b"0123456789")
    service = {
        "dfs.ha.namenodes.ns": "a,b",
        "dfs.namenode.rpc-address.ns.a": f"127.0.0.1:{free_ports(1)[0]}",
        "dfs.namenode.rpc-address.ns.b": hdfs.hdfs.removeprefix("hdfs://"),
    }
    path = key(place, "x")
    named = store_of("hdfs://ns", access_with(service), QUICK)
    found = named.stat(f"hdfs://ns{path}")
    assert found is not None
    assert (found.path, found.size_bytes, found.modified_ns) == (f"hdfs://ns{path}", 10, facts.modified_ns)
    assert content_of(named, found) == b"0123456789"
    owner = Conf({"shark.hadoop.conf.dir": str(hdfs.conf)})
    default = store_of("hdfs:///", access_to("hdfs:///", owner, owner), QUICK)
    assert [one.path for one in default.list(f"hdfs://{path.rpartition('/')[0]}")] == [f"hdfs://{path}"]


def test_a_data_node_is_lost_while_a_file_is_read(hdfs: HadoopCluster, place: Place) -> None:
    content = os.urandom(8 << 20)
    facts = place.store.put(place.path("x"), content)
    pieces = place.store.read(facts, [(start, start + (1 << 20)) for start in range(0, len(content), 1 << 20)])
    found = [bytes(next(pieces))]
    with without_data_node(hdfs, 0):
        found += [bytes(piece) for piece in pieces]
        assert b"".join(found) == content


def test_a_data_node_is_lost_before_a_file_is_written(hdfs: HadoopCluster, place: Place, client: Client) -> None:
    """Until the name node misses it, new blocks are given to it, and puts are tried again."""
    patient = store_of(hdfs.hdfs, access_with({}), StoreLimits(retries=40))
    content = os.urandom(1 << 20)
    with without_data_node(hdfs, 1):
        for number in range(3):
            facts = patient.put(place.path(f"x{number}"), content)
            assert content_of(patient, facts) == content
        assert patient.put_new(place.path("new"), content)
        assert content_of(patient, patient.copy(facts, place.path("copy"))) == content
    assert names(client, place) == ["copy", "new", "x0", "x1", "x2"]


def test_a_file_that_is_replaced_while_it_is_read(place: Place) -> None:
    content = os.urandom(4 << 20)
    facts = place.store.put(place.path("x"), content)
    pieces = place.store.read(facts, [(start, start + 1024) for start in range(0, len(content), 1024)])
    found = [bytes(next(pieces))]
    place.store.put(place.path("x"), bytes(len(content)))
    # The old blocks exist until the data nodes hear of the change: either all blocks are read, or the change is an
    # error.
    try:
        found += [bytes(piece) for piece in pieces]
    except SourceError as error:
        assert "was changed" in str(error)  # noqa: PT017  either is right
    assert b"".join(found) == content[: len(found) * 1024]
    with pytest.raises(SourceError, match="was changed"):
        list(place.store.read(facts, [(0, 1)]))


@contextmanager
def stopped(hdfs: HadoopCluster) -> Iterator[None]:
    hdfs.processes["namenode"].suspend()
    try:
        yield
    finally:
        hdfs.processes["namenode"].resume()


def test_a_name_node_that_stands_still(hdfs: HadoopCluster, place: Place) -> None:
    facts = place.store.put(place.path("x"), b"0123456789")
    hasty = store_of(hdfs.hdfs, access_with({}), StoreLimits(timeout_seconds=1, retries=1))
    with stopped(hdfs):
        assert ended(lambda: place.store.stat(facts.path)) < allowed(0.3)
        assert ended(lambda: list(place.store.list(place.folder))) < allowed(0.3)
        assert ended(lambda: place.store.put(facts.path, b"1")) < allowed(0.3)
        with pytest.raises(ExecutionError, match="not answered in full") as caught:
            hasty.stat(facts.path)
        assert caught.value.sqlstate == "08006"
    assert place.store.stat(place.path("none")) is None


def test_a_table_of_parquet_files(place: Place) -> None:
    """Footer and column chunks by ranges, as readers of tables ask for them."""
    table = pa.table({"k": pa.array(range(100_000)), "v": pa.array([f"value {n % 97}" for n in range(100_000)])})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=10_000)
    buffer.seek(0)
    written = place.store.put(place.path("t/ds=1/part-0.parquet"), buffer)
    (facts,) = place.store.list(place.path("t"))
    assert facts == written
    (tail,) = place.store.read(facts, [(facts.size_bytes - 8, facts.size_bytes)])
    length = int.from_bytes(tail[:4], "little") + 8
    (footer,) = place.store.read(facts, [(facts.size_bytes - length, facts.size_bytes)])
    chunks = [pq.read_metadata(io.BytesIO(b"PAR1" + bytes(footer))).row_group(n).column(0) for n in range(10)]
    spans = [
        (min(c.dictionary_page_offset or c.data_page_offset, c.data_page_offset), c.total_compressed_size)
        for c in chunks
    ]
    sparse = bytearray(facts.size_bytes)
    sparse[-length:] = footer
    ranges = [(start, start + size) for start, size in spans]
    for (start, end), piece in zip(ranges, place.store.read(facts, ranges), strict=True):
        sparse[start:end] = piece
    assert pq.read_table(io.BytesIO(bytes(sparse)), columns=["k"]).equals(table.select(["k"]))


def test_hadoops_own_client_beside_ours(hdfs: HadoopCluster, place: Place, tmp_path: Path) -> None:
    def shell(*arguments: str) -> str:
        command = hdfs.command("org.apache.hadoop.fs.FsShell", *arguments)
        done = subprocess.run(command, env=hdfs.environ(), capture_output=True, timeout=allowed(60), check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    place.store.put(place.path("a b/ours"), "käse".encode())
    assert shell("-cat", place.path("a b/ours")) == "käse"
    (tmp_path / "theirs").write_bytes(b"0123456789")
    shell("-put", str(tmp_path / "theirs"), place.path("a b/theirs"))
    found = {facts.path: facts for facts in place.store.list(place.folder)}
    assert sorted(found) == [place.path("a b/ours"), place.path("a b/theirs")]
    assert content_of(place.store, found[place.path("a b/theirs")]) == b"0123456789"


_FORKED = """
import os, sys, threading
import sharkpy.sources.storage.stores
assert "hdfs_native" not in sys.modules
assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1
from tests.storage.places import hdfs_place
for _ in range(2):
    child = os.fork()
    if not child:
        place = hdfs_place(sys.argv[1])
        facts = place.store.put(place.path("from a worker"), b"0123456789")
        (content,) = place.store.read(facts, [(2, 4)])
        os._exit(0 if bytes(content) == b"23" else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_workers_ask_after_their_fork(hdfs: HadoopCluster) -> None:
    command = [sys.executable, "-c", _FORKED, hdfs.hdfs]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=allowed(60), check=False)
    assert done.returncode == 0, done.stderr
