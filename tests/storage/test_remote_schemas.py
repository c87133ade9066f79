"""Avro tables whose schema is a remote file: read with the session's keys, once until it changes, and by no task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import fastavro
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import ConfigurationError, NotAllowedError, SourceError
from sharkpy.execution.restrictions import Restrictions
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET

Put = Callable[[str, bytes], None]
A, B = {"name": "a", "type": "int"}, {"name": "b", "type": "string", "default": "none"}


@pytest.fixture(scope="module")
def session(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as session:
        for name, value in (
            ("access.key", ACCESS_KEY),
            ("secret.key", SECRET),
            ("endpoint", f"http://{proxy.address}"),
        ):
            session.sql(f"SET fs.s3a.{name}={value}").close()
        yield session


@pytest.fixture
def place() -> str:
    return f"s3a://{BUCKET}/{uuid4().hex}.avsc"


@pytest.fixture
def put(s3: Any) -> Put:
    return lambda location, content: s3.put_object(Bucket=BUCKET, Key=location.partition(f"{BUCKET}/")[2], Body=content)


def schema(*fields: dict[str, Any]) -> bytes:
    return json.dumps({"type": "record", "name": "r", "fields": fields}).encode()


@pytest.mark.parametrize("kind", ["", "PARTITIONED BY (p INT)", "cached"])
def test_a_table(session: sharkpy.SharkContext, proxy: FaultProxy, place: str, put: Put, kind: str) -> None:
    table = f"t{uuid4().hex}"
    put(place, schema(A))
    is_cached, parts = kind == "cached", "" if kind == "cached" else kind
    cache = ", 'shark.cache'='MEMORY'" if is_cached else ""
    columns = f"CREATE TABLE {table} {parts} STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}'{cache})"
    session.sql(columns).close()
    partition = "PARTITION (p=1)" if parts else ""
    session.sql(f"INSERT INTO {table} {partition} SELECT 1").close()
    proxy.seen.clear()
    assert rows(session, f"SELECT a FROM {table}") == [(1,)]
    assert proxy.count("GET", place[-37:]) == 0
    # As in Hive, the reader's schema has its defaults; the table's columns change by ALTER TABLE.
    put(place, schema(A, B))
    session.sql(f"ALTER TABLE {table} ADD COLUMNS (b STRING)").close()
    session.sql(f"INSERT INTO {table} {partition} SELECT 2, 'x'").close()
    assert rows(session, f"SELECT a, b FROM {table} ORDER BY a") == [(1, "none"), (2, "x")]
    assert (place,) in {(value,) for _, value in rows(session, f"SHOW TBLPROPERTIES {table}")}


def test_what_is_no_schema(session: sharkpy.SharkContext, place: str, put: Put) -> None:
    made = f"CREATE TABLE x STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}')"
    with pytest.raises(SourceError) as caught:
        session.sql(made).close()
    assert caught.value.sqlstate == "58P01"
    for content, error in ((b"{", ConfigurationError), (b"[]", ConfigurationError), (b"\xff", SourceError)):
        put(place, content)
        with pytest.raises(error):
            session.sql(made).close()


def test_a_session_with_bounds(session: sharkpy.SharkContext, proxy: FaultProxy, place: str, put: Put) -> None:
    put(place, schema(A))
    table, plain, stream = (f"t{uuid4().hex}" for _ in range(3))
    session.sql(f"CREATE STREAM {stream} (a INT) STORED AS AVRO FROM FOLDER '/tmp/none'").close()
    session.sql(f"CREATE TABLE {plain} (a INT) STORED AS AVRO").close()
    session.sql(f"CREATE TABLE {table} STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}')").close()
    session.sql(f"INSERT INTO {table} SELECT 5").close()
    guest = session.new_session()
    guest.restrictions = Restrictions((Path(session.catalog.warehouse_dir),), guards_settings=True)
    # It reads what the owner has made, and names no such file itself.
    assert rows(guest, f"SELECT a FROM {table}") == [(5,)]
    proxy.seen.clear()
    statements = (
        f"CREATE TABLE y STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}')",
        f"CREATE TABLE y (a INT) STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}')",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('avro.schema.url'='{place}x')",
        f"ALTER TABLE {plain} SET SERDEPROPERTIES ('avro.schema.url'='{place}')",
        f"CREATE STREAM y (a INT) STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}') FROM PROGRAM",
        f"ALTER TABLE {stream} SET TBLPROPERTIES ('avro.schema.url'='{place}')",
    )
    for statement in statements:
        with pytest.raises(NotAllowedError):
            guest.sql(statement).close()
    assert proxy.seen == []
    # The session's own keys open it for its queries, but not for a table: other sessions read a table with the owner's
    # keys.
    guest.sql(f"SET fs.s3a.access.key={ACCESS_KEY}; SET fs.s3a.secret.key={SECRET}").close()
    for statement in statements:
        with pytest.raises(NotAllowedError, match="out of this session's bounds"):
            guest.sql(statement).close()
    guest.sql("RESET fs.s3a.access.key; RESET fs.s3a.secret.key").close()
    guest.restrictions = Restrictions((Path(session.catalog.warehouse_dir),), guards_settings=True, remote=(place,))
    guest.sql(statements[0]).close()
    guest.sql("DROP TABLE y").close()


def test_a_stream_keeps_the_schema_of_its_making(
    session: sharkpy.SharkContext, tmp_path: Path, place: str, put: Put, s3: Any
) -> None:
    put(place, schema(A, B))
    url = f"STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}')"
    session.sql(f"CREATE STREAM s (a INT, b STRING) {url} FROM FOLDER '{tmp_path}/in'").close()
    nobody = "('bootstrap.servers'='127.0.0.1:1', 'topic'='t')"
    session.sql(f"CREATE STREAM k (a INT, b STRING) {url} FROM KAFKA {nobody}").close()
    serde = "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.avro.AvroSerDe' WITH SERDEPROPERTIES"
    form = f"{serde} ('avro.schema.url'='{place}') STORED AS AVRO"
    (tmp_path / "in").mkdir()
    out = f"CREATE CONTINUOUS SINK out TO FOLDER '{tmp_path}/out' {form} TRIGGER AVAILABLE NOW AS SELECT a, b FROM s"
    session.sql(out).close()
    s3.delete_object(Bucket=BUCKET, Key=place.rpartition("/")[2])
    with (tmp_path / "in" / "x.avro").open("wb") as file:
        fastavro.writer(file, json.loads(schema(A)), [{"a": 1}])
    session.sql("CREATE CONTINUOUS TABLE c TRIGGER AVAILABLE NOW AS SELECT a, b FROM s").close()
    assert rows(session, "SELECT a, b FROM c") == [(1, "none")]
    session.sql("RESUME CONTINUOUS SINK out").close()
    (written,) = (tmp_path / "out").glob("*.avro")
    with written.open("rb") as file:
        assert fastavro.reader(file).writer_schema["name"] == "r"
    shown = "\n".join(row[0] for row in rows(session, "SHOW CREATE TABLE k"))
    assert json.loads(shown.partition("'avro.schema.literal'='")[2].partition("'")[0]) == json.loads(schema(A, B))
    session.sql("ALTER TABLE s SET TBLPROPERTIES ('comment'='x')").close()
    with pytest.raises(SourceError, match="does not exist"):
        session.sql(f"ALTER TABLE s SET TBLPROPERTIES ('avro.schema.url'='{place}')").close()
    put(place, schema(A, {**B, "default": "other"}))
    session.sql(f"ALTER TABLE s SET TBLPROPERTIES ('avro.schema.url'='{place}')").close()
    session.sql("REFRESH CONTINUOUS TABLE c").close()
    assert rows(session, "SELECT a, b FROM c") == [(1, "other")]
    for statement in ("DROP CONTINUOUS TABLE c", "DROP CONTINUOUS SINK out", "DROP STREAM s", "DROP STREAM k"):
        session.sql(statement).close()
