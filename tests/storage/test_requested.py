"""Figures of requests: of statements, their parts and tasks, as EXPLAIN ANALYZE tells them."""

from __future__ import annotations

import datetime
import gc
import random
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.cancellation import Cancellation
from sharkpy.sources import open_files
from sharkpy.sources.storage.fetched_files import FetchedFiles
from sharkpy.sources.storage.meter import METER, Meter, RequestCounts
from tests.storage.fault_proxy import FaultProxy
from tests.storage.places import BUCKET, memory_store
from tests.storage.s3_servers import ACCESS_KEY, SECRET

_REQUESTED = re.compile(r"(\d+) requests? to storage for ([\d.]+) (\w+)")


def test_parts_count_for_their_statement() -> None:
    meter, statement, part, other = Meter(), Cancellation(), Cancellation(), Cancellation()
    with statement.active(), part.following(statement), part.active():
        meter.add(RequestCounts(2, 10))
    meter.add(RequestCounts(1, 5), statement)
    meter.add(RequestCounts(4, 0), other)
    meter.add(RequestCounts(8, 0))
    assert meter.of(statement) == RequestCounts(3, 15)
    assert meter.of(part) == RequestCounts()
    assert meter.total == RequestCounts(15, 15)
    assert meter.of(None) == RequestCounts()
    assert part.whole is part


def test_a_statement_that_is_over_is_forgotten() -> None:
    meter, statement = Meter(), Cancellation()
    meter.add(RequestCounts(1), statement)
    del statement
    gc.collect()
    assert len(meter._known) == 0


def test_requests_to_a_store() -> None:
    store, statement = memory_store(), Cancellation()
    with statement.active():
        for number in range(3):
            store.put_new(f"s3://memory/t/{number}", b"0123456789")
        assert METER.of(statement).requests == 3
        (one, *_) = store.list("s3://memory/t")
        assert METER.of(statement).requests == 4
        assert [bytes(part) for part in store.read(one, [(0, 2), (5, 9)])] == [b"01", b"5678"]
        assert METER.of(statement) == RequestCounts(6, 6)
        assert list(store.list("s3://memory/none")) == []
        assert METER.of(statement).requests == 7


@pytest.fixture(scope="module")
def session(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    given = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{proxy.address}"}
    settings = {f"fs.s3a.{name}": value for name, value in given.items()}
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **settings) as session:
        yield session


@pytest.mark.variants(3)
@pytest.mark.parametrize("in_driver", ["true", "false"])
@pytest.mark.parametrize("form", ["parquet", "orc", "textfile"])
def test_explain_analyze(
    session: sharkpy.SharkContext,
    s3: Any,
    proxy: FaultProxy,
    in_driver: str,
    form: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_files, "FETCHED", FetchedFiles())
    key = uuid4().hex
    for part in range(2):
        sink = pa.BufferOutputStream()
        rows = pa.table({"k": list(range(100_000)), "s": [f"{number:09d}" for number in range(100_000)]})
        if form == "parquet":
            pq.write_table(rows, sink, compression="none", use_dictionary=False)
        elif form == "orc":
            pa.orc.write_table(rows, sink, compression="uncompressed")
        content = b"1\n" * 100_000 if form == "textfile" else sink.getvalue().to_pybytes()
        s3.put_object(Bucket=BUCKET, Key=f"{key}/{part}", Body=content)
    columns = "k BIGINT" if form == "textfile" else "k BIGINT, s STRING"
    session.sql(
        f"CREATE EXTERNAL TABLE {form}{key} ({columns}) STORED AS {form} LOCATION 's3a://{BUCKET}/{key}'"
    ).close()
    placed = session.with_settings({"shark.placement.driver": in_driver})
    proxy.seen.clear()
    lines = [str(row[0]) for row in placed.sql(f"EXPLAIN ANALYZE SELECT sum(k) FROM {form}{key}").fetchall()]
    (run,) = [line for line in lines if line.startswith("== Run")]
    found = [match for line in lines for match in _REQUESTED.finditer(line)]
    assert "planned in" in run
    assert _REQUESTED.search(run) is not None
    assert sum(int(match[1]) for match in found) == len(proxy.seen)
    # The bytes of files, without the bytes of lists.
    sent = sum(one.sent for one in proxy.seen if "list-type" not in one.path)
    units = {"B": 1, "kB": 1 << 10, "MB": 1 << 20}
    told = sum(float(match[2]) * units[match[3]] for match in found)
    assert told == pytest.approx(sent, rel=0.06)


def test_stripes_that_are_not_wanted(
    session: sharkpy.SharkContext, s3: Any, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "FETCHED", FetchedFiles(hole=b"\xff"))
    chosen, count, key = random.Random(1), 300_000, uuid4().hex
    rows = pa.table(
        {
            "i": pa.array([None if number % 1000 == 7 else number for number in range(count)], pa.int32()),
            "s": pa.array([f"{number:08d}" for number in range(count)]),
            "d": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(days=n // 1000) for n in range(count)]),
            "noise": pa.array([chosen.random() for _ in range(count)]),
        }
    )
    sink = pa.BufferOutputStream()
    pa.orc.write_table(rows, sink, stripe_size=1 << 20, compression="uncompressed")
    content = sink.getvalue().to_pybytes()
    s3.put_object(Bucket=BUCKET, Key=f"{key}/x", Body=content)
    columns = "(i INT, s STRING, d DATE, noise DOUBLE)"
    session.sql(f"CREATE EXTERNAL TABLE far{key} {columns} STORED AS ORC LOCATION 's3a://{BUCKET}/{key}'").close()
    session.sql(f"CREATE TABLE near{key} AS SELECT * FROM far{key}").close()
    for where in (
        *("i BETWEEN 150000 AND 151000", "i = 7", "i IS NULL AND s < '00001000'", "s > '00299990'", "d = '2020-03-01'"),
        *("i < 0", "NOT i < 299990", "i IS NULL", "i > 299000 OR s = '00000001'", "noise > 2", "noise < 0.0001"),
    ):
        monkeypatch.setattr(open_files, "FETCHED", FetchedFiles(hole=b"\xff"))
        proxy.seen.clear()
        query = f"SELECT count(*), min(noise), max(noise), max(s) FROM {{}}{key} WHERE {where}"
        found = session.sql(query.format("far")).fetchall()
        sent = proxy.sent
        assert found == session.sql(query.format("near")).fetchall(), where
        if "OR" not in where and "noise" not in where and where != "i IS NULL":
            assert sent < len(content) / 2, where
