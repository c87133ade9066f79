"""Tables and named files in buckets, read by statements: rows, figures of what is fetched, changes, and failures."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import (
    CancelledError,
    ExecutionError,
    NotAllowedError,
    SharkError,
    SourceError,
    StatementTimeoutError,
    StorageRefusedError,
)
from sharkpy.execution.restrictions import Restrictions
from sharkpy.sources import open_files
from sharkpy.sources.storage.fetched_files import FetchedFiles
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.files_server import FilesServer
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET
from tests.waiting import allowed, when

Put = Callable[[str, bytes], None]


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


@pytest.fixture(autouse=True)
def nothing_fetched(proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Holes in copies show; what the proxy has seen is forgotten."""
    monkeypatch.setattr(open_files, "FETCHED", FetchedFiles(hole=b"\xff"))
    proxy.rules.clear()
    proxy.seen.clear()


@pytest.fixture
def place() -> str:
    """Folder of a test, as a statement writes it."""
    return f"s3a://{BUCKET}/{uuid4().hex}"


@pytest.fixture
def put(s3: Any) -> Callable[[str, bytes], None]:
    def put_object(location: str, content: bytes) -> None:
        key = location.partition(f"{BUCKET}/")[2]
        s3.put_object(Bucket=BUCKET, Key=key, Body=content)

    return put_object


def parquet(put: Put, location: str, rows_of_group: int = 1_000_000, **columns: list[Any]) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, row_group_size=rows_of_group, compression="none", use_dictionary=False)
    content = sink.getvalue().to_pybytes()
    put(location, content)
    return len(content)


def name() -> str:
    return f"t{uuid4().hex}"


def table(
    session: sharkpy.SharkContext, location: str, columns: str = "k BIGINT", rest: str = "STORED AS PARQUET"
) -> str:
    made = name()
    session.sql(f"CREATE EXTERNAL TABLE {made} ({columns}) {rest} LOCATION '{location}'").close()
    return made


# Rows


def test_named_files(session: sharkpy.SharkContext, put: Put, place: str) -> None:
    parquet(put, f"{place}/a.parquet", k=[1, 2], s=["x", None])
    parquet(put, f"{place}/b.parquet", k=[3], s=["y"])
    put(f"{place}/_SUCCESS", b"")
    put(f"{place}/c.csv", b"k,s\n4,z\n5,\n")
    put(f"{place}/d.json", b'{"k": 6}\n')
    whole = [(1, "x"), (2, None), (3, "y")]
    for text in (
        f"parquet.`{place}/?.parquet`",
        f"'{place}/[ab].parquet'",
        f"parquet.`{place.replace('s3a', 's3')}/**/*.parquet`",
    ):
        assert rows(session, f"SELECT * FROM {text} ORDER BY k") == whole
    assert rows(session, f"SELECT k + 1 FROM '{place}/a.parquet' WHERE s = 'x'") == [(2,)]
    assert rows(session, f"SELECT * FROM '{place}/c.csv'") == [(4, "z"), (5, None)]
    assert rows(session, f"SELECT k FROM '{place}/d.json'") == [(6,)]
    assert rows(session, f"SELECT input__file__name FROM '{place}/a.parquet' LIMIT 1") == [(f"{place}/a.parquet",)]
    session.sql(f"CREATE TABLE copied{place[-8:]} AS SELECT * FROM '{place}/a.parquet'").close()
    assert rows(session, f"SELECT count(*) FROM copied{place[-8:]}") == [(2,)]


def test_files_in_folders_of_partitions(session: sharkpy.SharkContext, put: Put, place: str) -> None:
    for day, value in (("2026-01-01", 1), ("2026-01-02", 2)):
        parquet(put, f"{place}/day={day}/x.parquet", k=[value])
    text = f"parquet.`{place}`"
    assert rows(session, f"SELECT k, cast(day AS STRING) FROM {text} ORDER BY k") == [
        (1, "2026-01-01"),
        (2, "2026-01-02"),
    ]
    assert rows(session, f"SELECT k FROM {text} WHERE day = '2026-01-02'") == [(2,)]
    assert rows(session, f"SELECT k FROM parquet.`{place}/day=*2/*`") == [(2,)]
    put(f"{place}/other.parquet", b"x")
    with pytest.raises(SourceError, match="beside the folders of Hive partitions"):
        rows(session, f"SELECT * FROM {text}")


def test_tables(session: sharkpy.SharkContext, put: Put, place: str) -> None:
    parquet(put, f"{place}/a", k=list(range(1000)))
    far = table(session, f"{place}/")
    assert rows(session, f"SELECT count(*), sum(k), max(k) FROM {far}") == [(1000, 499_500, 999)]
    assert rows(session, f"SELECT a.k FROM {far} a JOIN {far} b ON a.k = b.k + 998") == [(998,), (999,)]
    parquet(put, f"{place}/b", k=[5000])
    assert rows(session, f"SELECT max(k) FROM {far}") == [(5000,)]
    assert place in str(rows(session, f"DESCRIBE FORMATTED {far}"))
    session.sql(f"ANALYZE TABLE {far} COMPUTE STATISTICS").close()
    session.sql(f"DROP TABLE {far}").close()
    assert rows(session, f"SELECT count(*) FROM parquet.`{place}`") == [(1001,)]


def test_tables_without_columns_and_kinds(session: sharkpy.SharkContext, put: Put, place: str) -> None:
    parquet(put, f"{place}/a", K=[1])
    made = name()
    session.sql(f"CREATE TABLE {made} USING parquet LOCATION '{place}'").close()
    assert rows(session, f"SELECT k FROM {made}") == [(1,)]
    assert "EXTERNAL" in str(rows(session, f"DESCRIBE FORMATTED {made}"))
    new = name()
    session.sql(f"CREATE TABLE {new} (k INT) LOCATION '{place}/nothing'").close()
    assert "MANAGED" in str(rows(session, f"DESCRIBE FORMATTED {new}"))
    assert rows(session, f"SELECT * FROM {new}") == []
    session.sql(f"CREATE TABLE {name()} LIKE PARQUET '{place}/a'").close()


def test_partitions_of_tables(session: sharkpy.SharkContext, put: Put, place: str) -> None:
    parquet(put, f"{place}/p=1/a", k=[1])
    parquet(put, f"{place}/elsewhere/a", k=[2])
    far = table(session, place, rest="PARTITIONED BY (p INT) STORED AS PARQUET")
    session.sql(f"ALTER TABLE {far} ADD PARTITION (p=1) PARTITION (p=2) LOCATION '{place}/elsewhere'").close()
    session.sql(f"ALTER TABLE {far} ADD PARTITION (p=3)").close()
    assert rows(session, f"SELECT p, k FROM {far} ORDER BY p") == [(1, 1), (2, 2)]
    assert rows(session, f"SELECT k FROM {far} WHERE p = 2") == [(2,)]


@pytest.mark.parametrize(
    ("rest", "content"),
    [
        ("ROW FORMAT DELIMITED FIELDS TERMINATED BY ','", b"1,a\n2,b\n"),
        ("STORED AS JSONFILE", b'{"k": 1, "s": "a"}\n{"k": 2, "s": "b"}\n'),
        ("USING csv OPTIONS (header 'true')", b"k,s\n1,a\n2,b\n"),
    ],
)
def test_tables_of_lines(session: sharkpy.SharkContext, put: Put, place: str, rest: str, content: bytes) -> None:
    put(f"{place}/x", content)
    far = table(session, place, "k INT, s STRING", rest)
    assert rows(session, f"SELECT * FROM {far}") == [(1, "a"), (2, "b")]
    session.sql(f"INSERT INTO {far} VALUES (3, 'c')").close()
    assert rows(session, f"SELECT * FROM {far} ORDER BY k") == [(1, "a"), (2, "b"), (3, "c")]


def test_tasks_read_them(session: sharkpy.SharkContext, put: Put, place: str) -> None:
    """Workers get the access with their stage."""
    for part in range(3):
        parquet(put, f"{place}/{part}", k=list(range(part * 1000, part * 1000 + 1000)))
    put(f"{place}x/a.txt", b"1\n2\n")
    far, lines = table(session, place), table(session, f"{place}x", rest="STORED AS TEXTFILE")
    tasks = session.with_settings({"shark.placement.driver": "false"})
    assert rows(tasks, f"SELECT count(*), sum(k) FROM {far} WHERE k >= 500") == [(2500, sum(range(500, 3000)))]
    assert rows(tasks, f"SELECT sum(k) FROM {lines}") == [(3,)]


# Requests


def test_columns_and_row_groups_that_are_not_wanted(
    session: sharkpy.SharkContext, put: Put, proxy: FaultProxy, place: str
) -> None:
    chosen = random.Random(1)
    size = parquet(
        put,
        f"{place}/a",
        50_000,
        k=list(range(400_000)),
        s=[chosen.random() for _ in range(400_000)],
        t=[f"{number:07d}" for number in range(400_000)],
    )
    far = table(session, place, "k BIGINT, s DOUBLE, t STRING")
    proxy.seen.clear()
    assert rows(session, f"SELECT sum(k) FROM {far}") == [(sum(range(400_000)),)]
    assert 3_200_000 <= proxy.sent <= 3_200_000 * 1.1 + (64 << 10)
    proxy.seen.clear()
    assert rows(session, f"SELECT count(s) FROM {far} WHERE k BETWEEN 120000 AND 130000") == [(10_001,)]
    # One row group of eight, and its k is here already.
    assert proxy.sent <= 400_000 * 1.1 + (64 << 10)
    proxy.seen.clear()
    assert rows(session, f"SELECT count(s) FROM {far} WHERE t < '0010000'") == [(10_000,)]
    assert proxy.sent <= (50_000 * (8 + 11)) * 1.1
    assert rows(session, f"SELECT k FROM {far} WHERE k > 1000000") == []
    proxy.seen.clear()
    assert rows(session, f"SELECT sum(length(t)), sum(s) > 0 FROM {far}") == [(2_800_000, True)]
    assert proxy.sent <= size * 1.1


def test_statistics_leave_out_no_row(session: sharkpy.SharkContext, put: Put, place: str) -> None:
    """NULL and NaN are in no bounds."""
    nan = float("nan")
    parquet(
        put,
        f"{place}/a",
        2,
        d=[1.0, nan, 2.0, 3.0, None, None, -0.0, 5.0],
        s=["a", "b", None, "é", "", None, "z", "zz"],
    )
    far, here = table(session, place, "d DOUBLE, s STRING"), name()
    session.sql(f"CREATE TABLE {here} AS SELECT * FROM {far}").close()
    for where in (
        *("d > 4", "d >= 3", "d < 0", "d = 0", "d IS NULL", "d IS NOT NULL", "NOT d > 2", "d = 'NaN'", "d IN (2, 5)"),
        *("s = 'é'", "s > 'z'", "s IS NULL", "s < 'a'", "s LIKE 'z%'", "s <=> NULL", "d > 4 OR s = 'a'"),
    ):
        wanted = rows(session, f"SELECT s, d IS NULL FROM {here} WHERE {where}")
        assert sorted(map(str, rows(session, f"SELECT s, d IS NULL FROM {far} WHERE {where}"))) == sorted(
            map(str, wanted)
        ), where


def test_lines_take_their_bytes(session: sharkpy.SharkContext, put: Put, proxy: FaultProxy, place: str) -> None:
    content = b"".join(b"%d\n" % number for number in range(2_000_000))
    put(f"{place}/a", content)
    far = table(session, place, rest="STORED AS TEXTFILE")
    proxy.seen.clear()
    assert rows(session, f"SELECT sum(k) FROM {far}") == [(sum(range(2_000_000)),)]
    assert proxy.sent <= len(content) * 1.1
    proxy.seen.clear()
    assert rows(session, f"SELECT k FROM {far} LIMIT 1") == [(0,)]
    assert proxy.sent <= len(content)


# Changes


def test_tables_in_memory_follow_their_files(session: sharkpy.SharkContext, put: Put, s3: Any, place: str) -> None:
    for part in range(2):
        parquet(put, f"{place}/{part}", k=[part])
    far = table(session, place)
    session.sql(f"ALTER TABLE {far} SET TBLPROPERTIES ('shark.cache'='MEMORY')").close()
    assert rows(session, f"SELECT k FROM {far} ORDER BY k") == [(0,), (1,)]
    parquet(put, f"{place}/1", k=[7])
    assert rows(session, f"SELECT k FROM {far} ORDER BY k") == [(0,), (7,)]
    parquet(put, f"{place}/2", k=[8])
    assert rows(session, f"SELECT k FROM {far} ORDER BY k") == [(0,), (7,), (8,)]
    s3.delete_object(Bucket=BUCKET, Key=f"{place.partition(f'{BUCKET}/')[2]}/0")
    assert rows(session, f"SELECT k FROM {far} ORDER BY k") == [(7,), (8,)]


def test_a_file_that_changes_between_two_requests(
    session: sharkpy.SharkContext, put: Put, proxy: FaultProxy, place: str
) -> None:
    parquet(put, f"{place}/a", k=list(range(100_000)))
    far = table(session, place)
    done: list[int] = []

    def change() -> None:
        if not done:
            done.append(parquet(put, f"{place}/a", k=[1]))

    proxy.rules.append(Rule("GET", f"{place[-8:]}/a", skip=1, before=change))
    with pytest.raises(SourceError, match="was changed while it was being read"):
        rows(session, f"SELECT sum(k) FROM {far}")
    assert done
    proxy.rules.clear()
    assert rows(session, f"SELECT sum(k) FROM {far}") == [(1,)]


# Failures


@pytest.mark.parametrize(
    ("rule", "kind", "sqlstate", "message"),
    [
        (Rule("GET", "/data", status=403, code="AccessDenied"), StorageRefusedError, "42501", "refuses access to"),
        (Rule("GET", "list-type", status=403, code="AccessDenied"), StorageRefusedError, "42501", "refuses access to"),
        (Rule("GET", "/data", status=404, code="NoSuchKey"), SourceError, "58P01", "does not exist"),
        (Rule("GET", "/data", status=403, code="InvalidAccessKeyId"), StorageRefusedError, "28000", "does not accept"),
    ],
)
def test_refusals(
    session: sharkpy.SharkContext,
    put: Put,
    proxy: FaultProxy,
    place: str,
    rule: Rule,
    kind: type[SharkError],
    sqlstate: str,
    message: str,
) -> None:
    parquet(put, f"{place}/data", k=[1])
    far = table(session, place)
    proxy.rules.append(rule)
    with pytest.raises(kind, match=message) as caught:
        rows(session, f"SELECT * FROM {far}")
    assert caught.value.sqlstate == sqlstate
    assert SECRET not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize("form", ["STORED AS PARQUET", "STORED AS TEXTFILE"])
def test_what_passes_is_tried_again(
    session: sharkpy.SharkContext, put: Put, proxy: FaultProxy, place: str, form: str
) -> None:
    if "PARQUET" in form:
        parquet(put, f"{place}/data", k=list(range(100_000)))
    else:
        put(f"{place}/data", b"".join(b"%d\n" % number for number in range(100_000)))
    far = table(session, place, rest=form)
    proxy.rules += [
        Rule("GET", "/data", times=1, status=503, code="SlowDown"),
        Rule("GET", "/data", skip=2, times=1, cut_answer=1000),
    ]
    assert rows(session, f"SELECT count(k), sum(k) FROM {far}") == [(100_000, sum(range(100_000)))]
    assert any(rule.met > rule.skip for rule in proxy.rules)


@pytest.mark.parametrize("form", ["STORED AS PARQUET", "STORED AS TEXTFILE"])
def test_half_a_file_is_none(session: sharkpy.SharkContext, put: Put, proxy: FaultProxy, place: str, form: str) -> None:
    if "PARQUET" in form:
        parquet(put, f"{place}/data", k=list(range(100_000)))
    else:
        put(f"{place}/data", b"".join(b"%d\n" % number for number in range(100_000)))
    far = table(session, place, rest=form)
    proxy.rules.append(Rule("GET", "/data", cut_answer=100))
    with pytest.raises(ExecutionError) as caught:
        rows(session, f"SELECT count(k) FROM {far}")
    assert caught.value.sqlstate in ("08006", "58030")


def test_what_is_not_there(session: sharkpy.SharkContext, place: str) -> None:
    with pytest.raises(SourceError, match="does not exist") as caught:
        rows(session, f"SELECT * FROM '{place}/no.parquet'")
    assert (caught.value.sqlstate, caught.value.line) == ("58P01", 1)
    with pytest.raises(SourceError, match="no file matches"):
        rows(session, f"SELECT * FROM csv.`{place}/*.csv`")
    with pytest.raises(SourceError, match="does not exist"):
        rows(session, f"SELECT * FROM {table(session, place)}")
    with pytest.raises(SourceError, match="there is no bucket"):
        rows(session, "SELECT * FROM parquet.`s3://nosuchbucket/x`")


def test_without_keys(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path) as session:
        far = table(session, "s3://bucket/x")
        for text in (f"SELECT * FROM {far}", "SELECT * FROM 's3://bucket/x.parquet'"):
            with pytest.raises(StorageRefusedError, match="there are no keys") as caught:
                rows(session, text)
            assert caught.value.sqlstate == "28000"
        assert "s3://bucket/x" in str(rows(session, f"DESCRIBE FORMATTED {far}"))


# Ends


@pytest.mark.variants(2)
@pytest.mark.parametrize("skip", [0, 1], ids=["footer", "rows"])
def test_a_request_that_waits_hears_the_end(
    session: sharkpy.SharkContext, put: Put, proxy: FaultProxy, place: str, skip: int
) -> None:
    parquet(put, f"{place}/data", k=list(range(100_000)))
    far = table(session, place)
    proxy.rules.append(Rule("GET", "/data", skip=skip, delay=30))
    thread = when(lambda: any(rule.met > skip for rule in proxy.rules), session.cancel)
    start = time.monotonic()
    with pytest.raises(CancelledError):
        rows(session, f"SELECT sum(k) FROM {far}")
    thread.join()
    assert time.monotonic() - start < allowed(15)
    limited = session.with_settings({"shark.query.timeout": "2"})
    with pytest.raises(StatementTimeoutError):
        rows(limited, f"SELECT max(k) FROM {far}")


# Sessions


def test_restricted_sessions(
    session: sharkpy.SharkContext, put: Put, proxy: FaultProxy, place: str, tmp_path: Path
) -> None:
    parquet(put, f"{place}/a.parquet", k=[1])
    far = table(session, place)
    guest = session.new_session(shark_user="ann")
    guest.restrictions = Restrictions((tmp_path,), (), guards_settings=True)
    assert rows(session, f"SELECT k FROM '{place}/a.parquet'") == [(1,)]
    # The owner's keys open only the tables of the catalog.
    assert rows(guest, f"SELECT k FROM {far}") == [(1,)]
    for text in (
        f"SELECT k FROM '{place}/a.parquet'",
        f"CREATE EXTERNAL TABLE {name()} (k INT) LOCATION '{place}'",
        f"ALTER TABLE {far} SET LOCATION '{place}x'",
        f"SELECT * FROM csv.`http://{proxy.address}/x`",
    ):
        with pytest.raises(NotAllowedError, match="bounds"):
            rows(guest, text)
    keys = {"access.key": "another", "secret.key": "another", "endpoint": f"http://{proxy.address}"}
    for key, value in keys.items():
        guest.sql(f"SET fs.s3a.{key}={value}").close()
    proxy.seen.clear()
    assert rows(guest, f"SELECT k FROM '{place}/a.parquet'") == [(1,)]
    assert proxy.seen
    assert all("another/" in one.headers["authorization"] for one in proxy.seen)
    with pytest.raises(NotAllowedError, match="bounds"):
        rows(guest, f"CREATE EXTERNAL TABLE {name()} (k INT) LOCATION '{place}'")


@pytest.mark.parametrize("has_tags", [True, False])
def test_files_of_http_servers(session: sharkpy.SharkContext, tmp_path: Path, has_tags: bool) -> None:
    """Each is named as it is; there are no lists."""
    server = FilesServer(tmp_path)
    server.has_tags = has_tags
    try:
        server.put("x.csv", b"k,s\n1,a\n")
        pq.write_table(pa.table({"k": [1, 2]}), tmp_path / "y.parquet")
        url = f"http://{server.address}"
        assert rows(session, f"SELECT * FROM '{url}/x.csv'") == [(1, "a")]
        assert rows(session, f"SELECT sum(k) FROM '{url}/y.parquet'") == [(3,)]
        assert rows(session, f"SELECT * FROM {table(session, f'{url}/y.parquet')}") == [(1,), (2,)]
        with pytest.raises(SourceError, match="does not exist"):
            rows(session, f"SELECT * FROM '{url}/z.csv'")
    finally:
        server.close()


def test_the_package_is_named_where_it_is_missing(
    session: sharkpy.SharkContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sharkpy.sources.storage import stores

    monkeypatch.setattr(stores.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(SharkError, match=r"needs obstore.*") as caught:
        rows(session, "SELECT * FROM 's3://somebucket/x.parquet'")
    assert "lake-s3" in str(caught.value.hint)
