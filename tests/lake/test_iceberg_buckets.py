"""Tables of Iceberg in buckets: other programs write them, and statements read current and earlier versions."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")
pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFileContent, FileFormat
from pyroaring import BitMap64

import sharkpy
from sharkpy.base.errors import CancelledError, NotAllowedError, ResourceError, SourceError, UnsupportedError
from sharkpy.execution.restrictions import Restrictions
from tests.lake.buckets import keys_of, know_catalog, known_as, new_place, others_catalog
from tests.lake.tables import run
from tests.lake.test_iceberg_files import add_deletes, puffin
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, s3_client
from tests.waiting import allowed, when

_SCHEMA = pa.schema([("id", pa.int64()), ("word", pa.string())])


@pytest.fixture(scope="module")
def context(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("warehouse")) as opened:
        run(opened, *keys_of(proxy.address))
        yield opened


@pytest.fixture(autouse=True)
def no_faults(proxy: FaultProxy) -> None:
    proxy.rules.clear()
    proxy.seen.clear()


@pytest.fixture
def place() -> str:
    return new_place()


@pytest.fixture
def other(context: sharkpy.SharkContext, proxy: FaultProxy, place: str, tmp_path: Path) -> Iterator[Any]:
    know_catalog(context, tmp_path)
    run(context, "DROP TABLE IF EXISTS t")
    yield from others_catalog(tmp_path, place, proxy.upstream)


@pytest.fixture
def client(proxy: FaultProxy) -> Iterator[Any]:
    made = s3_client(proxy.upstream)
    yield made
    made.close()


def words(start: int, stop: int) -> pa.Table:
    return pa.table({"id": list(range(start, stop)), "word": [f"w{n}" for n in range(start, stop)]}, _SCHEMA)


def key_of(location: str) -> str:
    return location.partition(f"{BUCKET}/")[2]


@pytest.mark.slow
def test_tables_of_others(context: sharkpy.SharkContext, other: Any) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 100))
    run(context, known_as("t", "ns.t"))
    assert rows(context, "SELECT count(*), sum(id), max(word) FROM t") == [(100, 4950, "w99")]
    first = table.current_snapshot().snapshot_id
    table.append(words(100, 200))
    assert rows(context, "SELECT count(*) FROM t") == [(200,)]
    assert rows(context, f"SELECT count(*) FROM t VERSION AS OF {first}") == [(100,)]
    with table.update_schema() as update:
        update.rename_column("word", "text")
        update.add_column("more", pa_long())
    assert rows(context, "SELECT text, more FROM t WHERE id = 150") == [("w150", None)]
    assert rows(context, f"SELECT word FROM t VERSION AS OF {first} WHERE id = 7") == [("w7",)]
    assert rows(context, "SELECT operation FROM t.snapshots") == [("append",)] * 2
    assert rows(context, "SELECT count(*), sum(record_count) FROM t.files") == [(2, 200)]
    plan = "\n".join(row[0] for row in rows(context, "EXPLAIN SELECT * FROM t WHERE id < 50"))
    assert "1 of 2 files" in plan


def pa_long() -> Any:
    from pyiceberg.types import LongType

    return LongType()


def test_tables_where_they_lie(context: sharkpy.SharkContext, other: Any) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 10))
    place = table.location()
    assert rows(context, f"SELECT count(*) FROM iceberg.`{place}`") == [(10,)]
    run(context, f"CREATE EXTERNAL TABLE t STORED BY ICEBERG LOCATION '{place.replace('s3:', 's3a:')}'")
    table.append(words(10, 20))
    assert rows(context, "SELECT count(*) FROM t") == [(20,)]
    assert rows(context, f"SELECT sum(id) FROM iceberg.`{table.metadata_location}`") == [(190,)]
    with pytest.raises(UnsupportedError, match="in no catalog here"):
        run(context, "INSERT INTO t SELECT 1, 'x'")
    with pytest.raises(SourceError, match="no table of Iceberg is in"):
        rows(context, f"SELECT * FROM iceberg.`{place}/nothing`")


@pytest.mark.slow
def test_tasks_read_them(context: sharkpy.SharkContext, other: Any) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    for start in range(0, 500, 100):
        table.append(words(start, start + 100))
    run(context, known_as("t", "ns.t"))
    tasks = context.with_settings({"shark.placement.driver": "false"})
    found = rows(tasks, "SELECT id % 5, count(*), min(word) FROM t GROUP BY id % 5 ORDER BY 1")
    assert found == [(rest, 100, min(f"w{one}" for one in range(rest, 500, 5))) for rest in range(5)]


def test_tables_in_memory_follow_snapshots(context: sharkpy.SharkContext, other: Any, proxy: FaultProxy) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 100))
    run(context, known_as("t", "ns.t"), "CACHE TABLE t")
    assert rows(context, "SELECT sum(id) FROM t") == [(4950,)]
    proxy.seen.clear()
    assert rows(context, "SELECT sum(id) FROM t") == [(4950,)]
    assert proxy.count("GET", r"\.parquet") == 0
    table.append(words(100, 101))
    assert rows(context, "SELECT sum(id) FROM t") == [(5050,)]
    run(context, "UNCACHE TABLE t")


def put_deletes(client: Any, table: Any, place: str, name: str, content: bytes, tmp_path: Path, *rest: Any) -> None:
    client.put_object(Bucket=BUCKET, Key=key_of(f"{place}/{name}"), Body=content)
    (tmp_path / name).write_bytes(content)
    add_deletes(table, tmp_path / name, *rest, place=f"{place}/{name}")


def parquet(tmp_path: Path, **columns: Any) -> bytes:
    pq.write_table(pa.table(columns), tmp_path / "made.parquet")
    return (tmp_path / "made.parquet").read_bytes()


def test_deletes(context: sharkpy.SharkContext, other: Any, client: Any, place: str, tmp_path: Path) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 100))
    run(context, known_as("t", "ns.t"))
    path = next(iter(table.scan().plan_files())).file.file_path
    content = parquet(tmp_path, file_path=pa.array([path] * 2), pos=pa.array([0, 1], pa.int64()))
    put_deletes(
        client, table, place, "p.parquet", content, tmp_path, FileFormat.PARQUET, 2, DataFileContent.POSITION_DELETES
    )
    assert rows(context, "SELECT count(*), min(id) FROM t") == [(98, 2)]
    vector = puffin(BitMap64([2, 3]).serialize(), path)
    put_deletes(
        client, table, place, "v.puffin", vector, tmp_path, FileFormat.PUFFIN, 2, DataFileContent.POSITION_DELETES
    )
    assert rows(context, "SELECT count(*), min(id) FROM t") == [(96, 4)]
    equal = parquet(tmp_path, word=pa.array(["w4", "w50", None]))
    put_deletes(
        client, table, place, "e.parquet", equal, tmp_path, FileFormat.PARQUET, 3, DataFileContent.EQUALITY_DELETES, [2]
    )
    assert rows(context, "SELECT count(*), min(id) FROM t") == [(94, 5)]
    # What is added later is not deleted by what came before.
    table.refresh().append(words(4, 5))
    assert rows(context, "SELECT count(*), min(id) FROM t") == [(95, 4)]
    assert rows(context, "SELECT content FROM t.files ORDER BY content") == [(0,), (0,), (1,), (1,), (2,)]


def test_a_file_that_is_gone_or_another(context: sharkpy.SharkContext, other: Any, client: Any) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 10))
    run(context, known_as("t", "ns.t"))
    path = next(iter(table.scan().plan_files())).file.file_path
    client.put_object(Bucket=BUCKET, Key=key_of(path), Body=b"another")
    with pytest.raises(SourceError, match="where its table says"):
        rows(context, "SELECT * FROM t")
    client.delete_object(Bucket=BUCKET, Key=key_of(path))
    with pytest.raises(SourceError, match="does not exist"):
        rows(context, "SELECT * FROM t")


def with_metadata(client: Any, table: Any, place: str, change: Any) -> str:
    """A table like another one, with changed metadata."""
    body = client.get_object(Bucket=BUCKET, Key=key_of(table.metadata_location))["Body"].read()
    made = json.loads(body)
    change(made)
    client.put_object(Bucket=BUCKET, Key=key_of(f"{place}/metadata/v1.metadata.json"), Body=json.dumps(made).encode())
    return place


@pytest.mark.slow
def test_packed_metadata(context: sharkpy.SharkContext, other: Any, client: Any) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 10))
    body = client.get_object(Bucket=BUCKET, Key=key_of(table.metadata_location))["Body"].read()
    place = new_place()
    key = key_of(f"{place}/metadata/v1.gz.metadata.json")
    client.put_object(Bucket=BUCKET, Key=key, Body=gzip.compress(body))
    assert rows(context, f"SELECT count(*) FROM iceberg.`{place}`") == [(10,)]
    client.put_object(Bucket=BUCKET, Key=key, Body=gzip.compress(bytes(300 << 20)))
    with pytest.raises(ResourceError, match="more than 256 MB") as told:
        rows(context, f"SELECT count(*) FROM iceberg.`{place}`")
    assert told.value.sqlstate == "54000"


@pytest.mark.slow
def test_too_much_metadata(context: sharkpy.SharkContext, other: Any, client: Any) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 10))
    location = table.current_snapshot().manifest_list
    content = client.get_object(Bucket=BUCKET, Key=key_of(location))["Body"].read()
    packed = zlib.compressobj(9, wbits=-15)
    block = packed.compress(bytes(300 << 20)) + packed.flush()
    end = content.index(content[-16:]) + 16
    made = content[:end] + b"\x02" + number(len(block)) + block + content[-16:]
    client.put_object(Bucket=BUCKET, Key=key_of(location), Body=made.replace(b"\x08null", b"\x0edeflate"))
    run(context, known_as("t", "ns.t"))
    with pytest.raises(ResourceError, match="more than 256 MB"):
        rows(context, "SELECT * FROM t")


def number(value: int) -> bytes:
    rest, made = value << 1, bytearray()
    while rest > 127:
        made.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*made, rest])


@pytest.mark.variants(3)
@pytest.mark.parametrize("path", ["metadata.json", r"snap-.*\.avro", r"-m0\.avro", r"\.parquet"])
def test_requests_hear_the_end(context: sharkpy.SharkContext, other: Any, proxy: FaultProxy, path: str) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 10))
    run(context, known_as("t", "ns.t"))
    rule = Rule("GET", path, delay=30)
    proxy.rules.append(rule)
    thread = when(lambda: bool(rule.met), context.cancel)
    start = time.monotonic()
    with pytest.raises(CancelledError):
        rows(context, "SELECT * FROM t")
    thread.join()
    assert time.monotonic() - start < allowed(15)


def test_what_passes_is_tried_again(context: sharkpy.SharkContext, other: Any, proxy: FaultProxy) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 10))
    run(context, known_as("t", "ns.t"))
    proxy.rules.append(Rule("GET", r"\.avro", times=2, status=503, code="SlowDown"))
    assert rows(context, "SELECT count(*) FROM t") == [(10,)]
    assert proxy.rules[0].met > 2


@pytest.fixture
def guest(context: sharkpy.SharkContext, tmp_path: Path, place: str) -> sharkpy.SharkContext:
    """A session of the server that may name the files in one folder."""
    session = context.new_session(shark_user="ann")
    folders = (tmp_path / "open",)
    session.restrictions = Restrictions(
        folders, (Path(context.catalog.state_dir),), guards_settings=True, remote=(f"{place}/open",)
    )
    return session


def test_restricted_sessions(
    context: sharkpy.SharkContext, guest: sharkpy.SharkContext, other: Any, client: Any, place: str, proxy: FaultProxy
) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 10))
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        rows(guest, f"SELECT * FROM iceberg.`{table.location()}`")
    inside = with_metadata(client, table, f"{place}/open/t", lambda _: None)
    assert rows(context, f"SELECT count(*) FROM iceberg.`{inside}`") == [(10,)]
    proxy.seen.clear()
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        rows(guest, f"SELECT * FROM iceberg.`{inside}`")
    assert proxy.count("GET", "avro") == 0

    # What the owner has made a table of is read.
    run(context, known_as("t", "ns.t"))
    assert rows(guest, "SELECT count(*) FROM t") == [(10,)]
    # Keys of the session's own open what they open.
    run(guest, f"SET fs.s3a.access.key={ACCESS_KEY}", f"SET fs.s3a.secret.key={SECRET}")
    run(guest, f"SET fs.s3a.endpoint=http://{proxy.address}")
    assert rows(guest, f"SELECT count(*) FROM iceberg.`{inside}`") == [(10,)]


@pytest.mark.parametrize(
    "list_at", ["file:///etc/hosts", "/etc/hosts", "http://127.0.0.1:1/x.avro"], ids=["file", "path", "http"]
)
def test_metadata_lead_nowhere_else(
    context: sharkpy.SharkContext, other: Any, client: Any, place: str, list_at: str
) -> None:
    table = other.create_table("ns.t", _SCHEMA)
    table.append(words(0, 10))

    def change(body: Any) -> None:
        body["properties"] = {"s3.endpoint": "http://127.0.0.1:1", "py-io-impl": "subprocess.Popen"}
        body["snapshots"][-1]["manifest-list"] = list_at

    made = with_metadata(client, table, f"{place}/changed", change)
    with pytest.raises(UnsupportedError, match=r"file .* of a table in|storage of the scheme"):
        rows(context, f"SELECT * FROM iceberg.`{made}`")
