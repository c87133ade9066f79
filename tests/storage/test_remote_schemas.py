"""Avro tables whose schema is a remote file: read with the session's keys, once until it changes, and by no task."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import ConfigurationError, NotAllowedError, SourceError
from sharkpy.execution.restrictions import Restrictions
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


def rows(session: sharkpy.SharkContext, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.sql(sql).fetchall()]


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
    table, plain = f"t{uuid4().hex}", f"t{uuid4().hex}"
    session.sql(f"CREATE TABLE {plain} (a INT) STORED AS AVRO").close()
    session.sql(f"CREATE TABLE {table} STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}')").close()
    session.sql(f"INSERT INTO {table} SELECT 5").close()
    guest = session.new_session()
    guest.restrictions = Restrictions((Path(session.catalog.warehouse_dir),), guards_settings=True)
    # It reads what the owner has made, and names no such file itself.
    assert rows(guest, f"SELECT a FROM {table}") == [(5,)]
    proxy.seen.clear()
    for statement in (
        f"CREATE TABLE y STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}')",
        f"CREATE TABLE y (a INT) STORED AS AVRO TBLPROPERTIES ('avro.schema.url'='{place}')",
        f"ALTER TABLE {table} SET TBLPROPERTIES ('avro.schema.url'='{place}x')",
        f"ALTER TABLE {plain} SET SERDEPROPERTIES ('avro.schema.url'='{place}')",
    ):
        with pytest.raises(NotAllowedError):
            guest.sql(statement).close()
    assert proxy.seen == []
