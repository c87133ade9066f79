"""Streams of the files in folders of buckets: what is found, when, by how many requests, and what failures do."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import NotAllowedError, SourceError, UnsupportedError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.model import StorageFormat, StreamSource, Table, TableKind
from sharkpy.execution.restrictions import Restrictions
from sharkpy.sources.storage.store import Store
from sharkpy.streaming import kill_points
from sharkpy.streaming.sources import remote_finder
from sharkpy.streaming.sources.folder_reader import FolderReader
from sharkpy.streaming.sources.remote_finder import RemoteLooks
from sharkpy.values.types import BIGINT, Field, Schema
from tests.faults.test_killed_epochs import runner
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.places import BUCKET, memory_store
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server, s3_client
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import numbers, state_of, until_numbers
from tests.waiting import until

Put = Callable[[str, list[int]], None]
QUICK = {"shark.stream.list.ms": 20, "shark.stream.list.most.ms": 100}


class Conf:
    """Settings of the engine, as a look reads them."""

    def __init__(self, **values: int) -> None:
        self.values = {"shark.stream.list.ms": 1, "shark.stream.list.most.ms": 1} | QUICK | values

    def value(self, setting: Any) -> Any:
        return self.values[setting.key]


class Listed:
    """A store, whose lists are counted. `before`: called before a list gives its first object."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.traits = store.traits
        self.afters: list[str] = []
        self.before: Callable[[], object] = lambda: None
        self.between: tuple[int, Callable[[], object]] = (0, lambda: None)

    def list(self, folder: str, *, after: str = "", until: str = "") -> Iterator[Any]:
        self.afters.append(after.removeprefix(f"{folder}/"))
        self.before()
        for number, facts in enumerate(self.store.list(folder, after=after, until=until)):
            if number == self.between[0]:
                self.between[1]()
            yield facts

    def stat(self, path: str) -> Any:
        return self.store.stat(path)


IN = "memory://memory/in"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path / "w")) as catalog:
        catalog.surroundings.access_id = Mock(return_value="access")  # type: ignore[method-assign]
        yield catalog


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Listed:
    made = Listed(memory_store())
    monkeypatch.setattr(remote_finder, "store_for_access", lambda *_: made)
    return made


class Given:
    def __init__(self) -> None:
        self.names: list[str] = []

    def give(self, _: Table, files: list[Any]) -> None:
        self.names = [file.path.removeprefix(f"{IN}/") for file in files]


def reader_of(
    catalog: Catalog, properties: tuple[tuple[str, str], ...] = (), options: tuple[tuple[str, str], ...] = ()
) -> FolderReader:
    facts = (TableKind.STREAM, Schema((Field("n", BIGINT),)), StorageFormat("json"), IN, properties)
    stream = Table("stream", "default", "numbers", *facts, stream=StreamSource("FOLDER", options))
    return FolderReader(stream, catalog, None, RemoteLooks(Conf()))  # type: ignore[arg-type]  # it has what looks need


def look(reader: FolderReader) -> int:
    """Look as the scheduler does, as soon as it is time."""
    until(lambda: reader._finder.is_due(time.monotonic()))
    return reader.look(1e-9)[0]


def given(reader: FolderReader, start: int, end: int) -> list[str]:
    snapshot = Given()
    reader.give(snapshot, (start,), (end,))  # type: ignore[arg-type]  # it has what a reader needs
    return snapshot.names


def many(listed: Listed, names: list[str]) -> None:
    for name in names:
        listed.store.put(f"{IN}/{name}", b'{"n": 1}\n')


# What is found


def test_names_are_numbered_once(catalog: Catalog, listed: Listed) -> None:
    """Hidden names, names of unfinished files, and marks of folders do not count as files."""
    many(listed, ["b", "a/x", "_hidden", "a/.h", "c._COPYING_", "d.tmp", "_temporary/0/part"])
    listed.store.put(f"{IN}/a", b"")
    reader = reader_of(catalog)
    assert look(reader) == 2
    assert sorted(given(reader, 0, 2)) == ["a/x", "b"]
    many(listed, ["0"])
    assert look(reader) == 3
    assert given(reader, 2, 3) == ["0"]
    again = reader_of(catalog)
    assert look(again) == 3
    assert given(again, 0, 3) == [*given(reader, 0, 2), "0"]


def test_files_found_together_come_by_time_and_name(catalog: Catalog, listed: Listed) -> None:
    many(listed, ["b", "c"])
    time.sleep(1.1)
    many(listed, ["a"])
    reader = reader_of(catalog)
    look(reader)
    assert given(reader, 0, 3) == ["b", "c", "a"]


def test_what_comes_while_pages_are_listed_keeps_its_order(catalog: Catalog, listed: Listed) -> None:
    """`0` comes before `z`, but after the list has passed its place. It does not get a number after `z`."""
    many(listed, [f"m{number:04}" for number in range(1001)])
    reader = reader_of(catalog)
    assert look(reader) == 1001

    def arrive() -> None:
        listed.between = (-1, arrive)
        many(listed, ["0"])
        time.sleep(1.1)
        many(listed, ["z"])

    listed.between = (1000, arrive)
    listed.traits = memory_store().traits
    reader._finder.list_again(SourceError("the list is whole"))
    until(lambda: reader.look()[0] == 1003)
    assert given(reader, 1001, 1003) == ["0", "z"]


def test_a_change_is_an_error(catalog: Catalog, listed: Listed) -> None:
    many(listed, ["a"])
    reader = reader_of(catalog)
    look(reader)
    listed.store.put(f"{IN}/a", b'{"n": 2}\n{"n": 3}\n')
    with pytest.raises(SourceError, match=r'"memory://memory/in/a" was changed after the stream numbers had found it'):
        look(reader)
    with pytest.raises(SourceError, match="was changed after"):
        reader.look(1e-9)
    lenient = reader_of(catalog, (("failOnDataLoss", "false"),))
    assert look(lenient) == 1
    assert given(lenient, 0, 1) == ["a"]
    listed.store.delete([f"{IN}/a"])
    assert given(lenient, 0, 1) == []


def test_the_same_content_again_is_no_change(catalog: Catalog, listed: Listed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tag says what an object holds, not its time."""
    from dataclasses import replace

    many(listed, ["a"])
    reader = reader_of(catalog)
    look(reader)
    facts = next(listed.store.list(IN))
    monkeypatch.setattr(
        listed.store, "list", lambda *_, **__: iter([replace(facts, modified_ns=facts.modified_ns + 10**9)])
    )
    assert facts.tag
    assert look(reader) == 1


def test_files_wait_until_nobody_writes_them(catalog: Catalog, listed: Listed) -> None:
    many(listed, ["a"])
    reader = reader_of(catalog, options=(("settle.ms", "1500"),))
    assert reader.look()[0] == 0
    assert 0 < reader.unsettled_seconds() <= 1.5
    until(lambda: look(reader) == 1)
    assert reader.unsettled_seconds() == 0


# Requests


def test_lists_begin_behind_the_last_name(catalog: Catalog, listed: Listed) -> None:
    """This holds if names ascend. The whole folder is listed again each time the later lists have cost as much."""
    many(listed, [f"{number:05}" for number in range(1500)])
    reader = reader_of(catalog)
    assert look(reader) == 1500
    many(listed, ["01500"])
    assert look(reader) == 1501
    many(listed, ["01501"])
    assert look(reader) == 1502
    # The first look has found files on several pages, and so has listed twice.
    assert listed.afters == ["", "", "01499", "01500"]
    many(listed, ["00000-late"])
    assert look(reader) == 1503
    assert listed.afters[4:] == ["", ""]
    many(listed, ["01502"])
    assert look(reader) == 1504
    assert listed.afters[6:] == ["", ""], "names did not ascend"
    figures = reader.figures
    assert figures is not None
    assert (figures.looks, figures.requests) == (5, 2 * 2 + 2 + 2 * 2 + 2 * 2)


def test_idle_folders_are_listed_seldom(catalog: Catalog, listed: Listed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the time for which nothing has come."""
    clock = [1000.0]
    monkeypatch.setattr(remote_finder.time, "monotonic", lambda: clock[0])
    conf = Conf(**{"shark.stream.list.ms": 1000, "shark.stream.list.most.ms": 30_000})
    reader = reader_of(catalog)
    finder = remote_finder.RemoteFinder(IN, None, lambda _: "access", RemoteLooks(conf))  # type: ignore[arg-type]
    reader._finder = finder
    many(listed, ["a"])

    def hour() -> int:
        before, end = len(listed.afters), clock[0] + 3600
        while clock[0] < end:
            reader.look(1e-9)
            clock[0] += 0.5
        return len(listed.afters) - before

    first, second = hour(), hour()
    assert second == pytest.approx(3600 / 30, rel=0.05)
    assert second < first < 200
    many(listed, ["b"])
    clock[0] += 30
    assert reader.look(1e-9) == (2,)
    before = len(listed.afters)
    for _ in range(20):
        clock[0] += 0.5
        reader.look(1e-9)
    assert len(listed.afters) - before == pytest.approx(10, abs=1)


def test_one_error_for_all_until_the_next_look(catalog: Catalog, listed: Listed) -> None:
    reader = reader_of(catalog)

    def fail() -> None:
        raise SourceError("the bucket is gone", sqlstate="58P01")

    listed.before = fail
    for _ in range(50):
        with pytest.raises(SourceError, match="the bucket is gone"):
            reader.look(1e-9)
    assert len(listed.afters) < 20
    listed.before = lambda: None
    many(listed, ["a"])
    assert reader.look() == (1,)


# Queries


@pytest.fixture
def session(proxy: FaultProxy, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    proxy.rules.clear()
    proxy.seen.clear()
    with sharkpy.connect("local[2]", tmp_path / "w", **QUICK, **keys(proxy.address)) as session:
        yield session


def keys(address: str) -> dict[str, str]:
    return {
        "fs.s3a.access.key": ACCESS_KEY,
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.endpoint": f"http://{address}",
    }


@pytest.fixture
def put(s3: Any, folder: str) -> Put:
    return putting(s3, folder)


def putting(client: Any, folder: str) -> Put:
    def put(name: str, of: list[int]) -> None:
        body = "".join(f"{json.dumps({'n': one, 's': f's{one}'})}\n" for one in of).encode()
        client.put_object(Bucket=BUCKET, Key=f"{key_of(folder)}/{name}", Body=body)

    return put


def key_of(folder: str) -> str:
    return folder.partition(f"{BUCKET}/")[2]


def make(session: sharkpy.SharkContext, folder: str, rest: str = "") -> None:
    session.sql(f"CREATE STREAM numbers (n BIGINT, s STRING) STORED AS JSONFILE FROM FOLDER '{folder}' {rest}").close()


def test_a_table_of_what_comes(session: sharkpy.SharkContext, put: Put, folder: str) -> None:
    make(session, folder.replace("s3://", "s3a://") + "/")
    assert rows(session, "SELECT * FROM numbers") == []
    session.sql("CREATE CONTINUOUS TABLE t AS SELECT n, s, input__file__name AS f FROM numbers").close()
    put("a.json", [1, 2])
    until_numbers(session, [1, 2])
    put("deep/b.json", [3])
    until_numbers(session, [1, 2, 3])
    place = folder.replace("s3://", "s3a://")
    assert rows(session, "SELECT DISTINCT f FROM t ORDER BY f") == [(f"{place}/a.json",), (f"{place}/deep/b.json",)]
    assert rows(session, "SELECT sum(n) FROM numbers") == [(6,)]
    assert rows(session, "SHOW STREAMS") == [("default", "numbers", "FOLDER", place, None)]
    status = session.stream("numbers").status()
    assert status.end == (2,)
    assert status.looks
    assert status.requests is not None
    assert status.requests >= status.looks


def test_available_now(session: sharkpy.SharkContext, put: Put, folder: str) -> None:
    """All that is there, with nothing waited for."""
    make(session, folder)
    put("a", [1])
    session.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers").close()
    assert numbers(session) == [1]
    put("b", [2])
    session.sql("RESUME CONTINUOUS TABLE t").close()
    assert numbers(session) == [1, 2]
    session.sql("REFRESH CONTINUOUS TABLE t").close()
    session.sql("RESUME CONTINUOUS TABLE t").close()
    assert numbers(session) == [1, 2]


def test_formats_bad_rows_and_new_columns(session: sharkpy.SharkContext, put: Put, s3: Any, folder: str) -> None:
    make(session, folder)
    session.sql("ALTER TABLE numbers SET TBLPROPERTIES ('stream.new.columns' = 'add')").close()
    put("a", [1])
    s3.put_object(Bucket=BUCKET, Key=f"{key_of(folder)}/b", Body=b'{"n": 2, "extra": true}\n{"n": \n')
    session.sql(f"CREATE CONTINUOUS TABLE t {NOW} ON BAD ROW SKIP TO bad AS SELECT n FROM numbers").close()
    assert numbers(session) == [1, 2]
    assert rows(session, "SELECT source, record FROM bad") == [(f"{folder}/b", '{"n": ')]
    assert [row[0] for row in rows(session, "DESCRIBE numbers")] == ["n", "s", "extra"]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": [7, 8]}), sink)
    s3.put_object(Bucket=BUCKET, Key=f"{key_of(folder)}-parquet/x", Body=sink.getvalue().to_pybytes())
    session.sql(f"CREATE STREAM p (n BIGINT) STORED AS PARQUET FROM FOLDER '{folder}-parquet'").close()
    session.sql(f"CREATE CONTINUOUS TABLE u {NOW} AS SELECT n FROM p").close()
    assert numbers(session, "u") == [7, 8]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("rule", "error"),
    [
        (Rule("GET", "list-type", status=503, code="SlowDown"), "is too busy for"),
        (Rule("GET", "list-type", cut_answer=40), "has not answered in full"),
        (Rule("GET", "list-type", status=403, code="AccessDenied"), "refuses access to"),
        (Rule("GET", "list-type", status=404, code="NoSuchBucket"), "there is no bucket"),
        (Rule("GET", "/b$", status=503, code="SlowDown"), "is too busy for"),
    ],
    ids=["busy", "cut", "denied", "gone", "file"],
)
def test_failures_pass(
    session: sharkpy.SharkContext, proxy: FaultProxy, put: Put, folder: str, rule: Rule, error: str
) -> None:
    """The query waits with the error, and goes on with nothing lost and nothing twice."""
    make(session, folder)
    put("a", [1])
    session.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers").close()
    until_numbers(session, [1])
    proxy.rules.append(rule)
    put("b", [2])
    put("c", [3])
    until(lambda: state_of(session)[1] is not None)
    state, fault = state_of(session)
    assert state == "RUNNING"
    assert fault is not None
    assert error in fault
    assert SECRET not in fault
    assert ("Fault", fault, "") in rows(session, "DESCRIBE EXTENDED t")
    assert numbers(session) == [1]
    proxy.rules.clear()
    until_numbers(session, [1, 2, 3])
    until(lambda: state_of(session) == ("RUNNING", None))


def test_an_object_that_changed_before_it_was_read(
    session: sharkpy.SharkContext, proxy: FaultProxy, put: Put, folder: str
) -> None:
    """Between the list and the read: rows of two versions are never mixed, and the query says so."""
    make(session, folder)
    put("a", [1])
    proxy.rules.append(Rule("GET", "/a$", times=1, before=lambda: put("a", [5, 6])))
    session.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers").close()
    until(lambda: "was changed" in (state_of(session)[1] or ""))
    assert numbers(session) == []
    session.sql("ALTER TABLE numbers SET TBLPROPERTIES ('failOnDataLoss' = 'false')").close()
    until_numbers(session, [5, 6])


def test_a_stop_waits_for_no_list(proxy: FaultProxy, tmp_path: Path, put: Put, folder: str) -> None:
    proxy.rules.clear()
    with sharkpy.connect("local[2]", tmp_path / "w", **QUICK, **keys(proxy.address)) as session:
        make(session, folder)
        session.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers").close()
        put("a", [1])
        until_numbers(session, [1])
        hung = Rule("GET", "list-type", delay=30)
        proxy.rules.append(hung)
        until(lambda: hung.met)
        began = time.monotonic()
    proxy.rules.clear()
    assert time.monotonic() - began < 15


def test_a_restart_goes_on(proxy: FaultProxy, tmp_path: Path, put: Put, folder: str) -> None:
    """Only the catalog is needed; the definition holds no key."""
    proxy.rules.clear()
    for round_number in range(3):
        with sharkpy.connect("local[2]", tmp_path / "w", **QUICK, **keys(proxy.address)) as session:
            session.start_streams()
            if not round_number:
                make(session, folder)
                session.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers").close()
            put(str(round_number), [round_number])
            until_numbers(session, list(range(round_number + 1)))
    for path in (tmp_path / "w").rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_keys_of_the_session_that_made_it_are_not_kept(
    proxy: FaultProxy, tmp_path: Path, put: Put, folder: str
) -> None:
    """The stream runs with the keys of the engine's owner, and waits if there are none."""
    proxy.rules.clear()
    put("a", [1])
    with sharkpy.connect("local[2]", tmp_path / "w", **QUICK) as owner:
        other = owner.new_session(**keys(proxy.address))
        make(other, folder)
        other.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers").close()
        until(lambda: state_of(owner)[1] is not None)
        assert state_of(owner)[0] == "RUNNING"
        for name, value in keys(proxy.address).items():
            owner.sql(f"SET {name}={value}").close()
        until_numbers(owner, [1])


def test_bounds_of_sessions(session: sharkpy.SharkContext, tmp_path: Path, folder: str) -> None:
    other = session.new_session()
    other.restrictions = Restrictions(folders=(tmp_path / "mine",), remote=(f"s3://{BUCKET}/open",))
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        make(other, folder)
    make(other, f"s3://{BUCKET}/open/in")
    for place in ("http://127.0.0.1:9/in", "ftp://host/in"):
        with pytest.raises(UnsupportedError, match="of whose files there is no list"):
            session.sql(f"CREATE STREAM other (n BIGINT) FROM FOLDER '{place}'")
    with pytest.raises(UnsupportedError, match="a user, a key or a signature"):
        session.sql("CREATE STREAM other (n BIGINT) FROM FOLDER 's3://user:key@bucket/in'")


def test_many_at_once(session: sharkpy.SharkContext, put: Put, folder: str) -> None:
    """Epochs have the size that an option says."""
    for number in range(50):
        put(f"{number % 7}/{number}", [number])
    make(session, folder, "('max.files.per.epoch' = '30')")
    session.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers").close()
    assert numbers(session) == list(range(50))
    assert [row[3] for row in rows(session, "SHOW EPOCHS t")] == [20, 30]


# Kills


@pytest.fixture
def root(tmp_path: Path, moto: S3Server, folder: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse with a table of a stream of the bucket; processes find keys and settings in their environment."""
    for name, value in (
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_ENDPOINT_URL_S3", f"http://{moto.address}"),
    ):
        monkeypatch.setenv(name, value)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make(context, folder, "('max.files.per.epoch' = '2')")
        context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers").close()
    return tmp_path


def goes_on(root: Path, put: Put, done: int) -> None:
    """All that is there comes to the table, each row once; so does what comes next."""
    with sharkpy.connect("local[2]", root / "w", **QUICK) as context:
        found = numbers(context)
        assert found == list(range(len(found)))
        context.streams.start()
        until_numbers(context, range(done))
        put(f"{done:05}", [done])
        until_numbers(context, range(done + 1))


@pytest.mark.variants(3)
@pytest.mark.parametrize("step", [kill_points.BEGUN, kill_points.STAGED, kill_points.COMMITTED])
def test_killed_between_two_steps(root: Path, put: Put, step: str) -> None:
    for number in range(5):
        put(f"{number:05}", [number])
    with runner(root, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    goes_on(root, put, 5)


@pytest.mark.parametrize(
    "kills",
    [pytest.param(2, id="some"), pytest.param(40, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(root: Path, put: Put, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance, done = random.Random(seed), 0
    for _ in range(kills):
        with runner(root) as process:
            for _ in range(chance.randrange(4)):
                put(f"{done:05}", [done])
                done += 1
                time.sleep(chance.random() * 0.1)
            time.sleep(chance.random() * 0.6)
            process.kill()
            process.wait()
    goes_on(root, put, done)


def test_seaweed(seaweed: S3Server, tmp_path: Path, folder: str) -> None:
    client = s3_client(seaweed.address)
    put = putting(client, folder)
    put("a", [1])
    with sharkpy.connect("local[2]", tmp_path / "w", **QUICK, **keys(seaweed.address)) as session:
        make(session, folder)
        session.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers").close()
        until_numbers(session, [1])
        put("0/b", [2])
        until_numbers(session, [1, 2])
        client.delete_object(Bucket=BUCKET, Key=f"{key_of(folder)}/a")
        put("c", [3])
        until_numbers(session, [1, 2, 3])
    client.close()
