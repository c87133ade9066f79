"""Continuous sinks into folders of buckets: a reader that takes each file once has each row once, in spite of failures
and kills.
"""

from __future__ import annotations

import io
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import BindError, NotAllowedError, UnsupportedError
from sharkpy.execution.restrictions import Restrictions
from sharkpy.streaming import kill_points
from tests.children import child
from tests.faults.test_killed_epochs import PER_FILE, put_file, runner
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server, s3_client
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, put_numbers, state_of
from tests.waiting import until

OFTEN = "TRIGGER EVERY 1 MILLISECONDS"


class Taker:
    """Program that takes whole objects of a folder, each once, by its name."""

    def __init__(self, client: Any, folder: str) -> None:
        self._client = client
        self._prefix = folder.partition(f"{BUCKET}/")[2] + "/"
        self._taken: dict[str, str] = {}
        self.numbers: list[int] = []

    def names(self) -> list[str]:
        """Names of all objects, the hidden ones too."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=self._prefix)
        keys = (one["Key"] for page in pages for one in page.get("Contents", ()))
        return [key.removeprefix(self._prefix) for key in keys]

    def hidden(self) -> list[str]:
        return [name for name in self.names() if name.startswith(".")]

    def content(self, name: str) -> bytes:
        return bytes(self._client.get_object(Bucket=BUCKET, Key=self._prefix + name)["Body"].read())

    def take(self) -> int:
        """Take what is new; return the number of numbers so far. Check that earlier files have not changed."""
        for name in sorted(self.names()):
            if name.startswith("."):
                continue
            content = self.content(name)
            rows = pq.read_table(io.BytesIO(content)).column("n").to_pylist()
            if name in self._taken:
                assert self._taken[name] == str(rows), name
            else:
                self._taken[name] = str(rows)
                self.numbers += rows
        return len(self.numbers)


@pytest.fixture
def taker(s3: Any, folder: str) -> Taker:
    return Taker(s3, folder)


def keys(address: str) -> dict[str, str]:
    return {"fs.s3a.access.key": ACCESS_KEY, "fs.s3a.secret.key": SECRET, "fs.s3a.endpoint": f"http://{address}"}


@pytest.fixture
def session(proxy: FaultProxy, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    proxy.rules.clear()
    proxy.seen.clear()
    with sharkpy.connect("local[2]", tmp_path / "w", **keys(proxy.address)) as session:
        make_stream(session, tmp_path / "in", "('max.files.per.epoch' = '1')")
        yield session
    proxy.rules.clear()


def test_each_row_is_in_one_file(
    session: sharkpy.SharkContext, proxy: FaultProxy, taker: Taker, folder: str, tmp_path: Path
) -> None:
    session.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{folder}/' {OFTEN} AS SELECT n, s FROM numbers").close()
    for number in range(4):
        put_numbers(tmp_path / "in", str(number), range(10 * number, 10 * number + 10))
        until(lambda wanted=10 * number + 10: taker.take() >= wanted)
    assert taker.numbers == list(range(40))
    until(lambda: not taker.hidden())
    assert state_of(session, "s") == ("RUNNING", None)
    query = session.stream("s").query_id[:8]
    assert all(name.startswith(f"{query}-00000000") for name in taker.names())
    before = len(proxy.seen)
    time.sleep(0.5)
    assert len(proxy.seen) == before, "a sink that has nothing to do asks nothing"
    assert rows(session, f"SELECT count(*), count(DISTINCT n) FROM parquet.`{folder}`") == [(40, 40)]
    session.sql("DROP CONTINUOUS SINK s").close()
    assert taker.take() == 40
    assert not taker.hidden()


def test_an_epoch_without_rows_asks_nothing(
    session: sharkpy.SharkContext, proxy: FaultProxy, taker: Taker, folder: str, tmp_path: Path
) -> None:
    put_numbers(tmp_path / "in", "a", [1])
    session.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{folder}' {NOW} AS SELECT n FROM numbers WHERE n > 5").close()
    assert [one.method for one in proxy.seen] == ["GET"]
    assert taker.names() == []


@pytest.mark.variants(3)
@pytest.mark.parametrize("method", ["PUT", "GET", "DELETE|POST"], ids=["copies", "lists", "deletes"])
def test_a_failure_behind_the_commit(
    session: sharkpy.SharkContext, proxy: FaultProxy, taker: Taker, folder: str, tmp_path: Path, method: str
) -> None:
    """Committed rows are shown later, without a further epoch."""
    rule = Rule(method, status=403, code="AccessDenied", times=0)
    proxy.rules.append(rule)

    def fail(step: str) -> None:
        if step == kill_points.COMMITTED:
            rule.times = 1_000_000

    put_numbers(tmp_path / "in", "a", [1, 2])
    session.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{folder}' {OFTEN} AS SELECT n FROM numbers").close()
    until(lambda: taker.take() == 2)
    kill_points.observer = fail
    try:
        put_numbers(tmp_path / "in", "b", [3])
        until(lambda: "refuses access" in (state_of(session, "s")[1] or ""))
        assert rows(session, "SHOW CONTINUOUS TABLES")[0][4] == 2, "it counts"
        assert taker.numbers == [1, 2]
    finally:
        kill_points.observer = None
    proxy.rules.clear()
    until(lambda: taker.take() == 3 and not taker.hidden())
    until(lambda: state_of(session, "s") == ("RUNNING", None))
    assert taker.numbers == [1, 2, 3]
    assert rows(session, "SHOW CONTINUOUS TABLES")[0][4] == 2


def test_uploads_that_fail_are_made_again(
    session: sharkpy.SharkContext, proxy: FaultProxy, taker: Taker, folder: str, tmp_path: Path
) -> None:
    rule = Rule("PUT", cut_upload=10)
    proxy.rules.append(rule)
    put_numbers(tmp_path / "in", "a", [1])
    session.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{folder}' {OFTEN} AS SELECT n FROM numbers").close()
    until(lambda: state_of(session, "s")[1] is not None)
    assert state_of(session, "s")[0] == "RUNNING"
    proxy.rules.clear()
    until(lambda: taker.take() == 1)
    until(lambda: not taker.hidden())
    assert rows(session, "SHOW CONTINUOUS TABLES")[0][4] == 1


def test_a_bucket_that_is_gone_does_not_keep_a_sink(
    session: sharkpy.SharkContext, proxy: FaultProxy, folder: str, tmp_path: Path
) -> None:
    put_numbers(tmp_path / "in", "a", [1])
    session.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{folder}' {NOW} AS SELECT n FROM numbers").close()
    proxy.rules.append(Rule(status=404, code="NoSuchBucket"))
    session.sql("DROP CONTINUOUS SINK s").close()
    assert rows(session, "SHOW CONTINUOUS TABLES") == []


def test_refused(session: sharkpy.SharkContext, folder: str, tmp_path: Path) -> None:
    session.sql(f"CREATE STREAM far (n BIGINT) STORED AS JSONFILE FROM FOLDER '{folder}'").close()
    for place, query, error in (
        (f"{folder}/out", "far", "is read by its stream default.far"),
        ("http://127.0.0.1:9/out", "numbers", "which takes no files"),
        ("ftp://host/out", "numbers", "which takes no files"),
        ("s3://user:key@bucket/out", "numbers", "a user, a key or a signature"),
    ):
        with pytest.raises((BindError, UnsupportedError), match=error):
            session.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{place}' AS SELECT n FROM {query}")
    other = session.new_session()
    other.restrictions = Restrictions(folders=(tmp_path / "mine",), remote=(f"s3://{BUCKET}/open",))
    for place, error in ((folder, "out of this session's bounds"), (f"s3://{BUCKET}/open", "name a folder below it")):
        with pytest.raises(NotAllowedError, match=error):
            other.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{place}' AS SELECT n FROM numbers")
    assert rows(session, "SHOW CONTINUOUS TABLES") == []


# Kills

HALF_MOVED = """
import os, signal, sys, sharkpy, time
from sharkpy.sources.storage.bucket_store import BucketStore
call, left = getattr(BucketStore, sys.argv[3]), [int(sys.argv[2])]

def call_and_die(store, source, target):
    called = call(store, source, target)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return called

setattr(BucketStore, sys.argv[3], call_and_die)
with sharkpy.connect("local[2]", sys.argv[1]) as context:
    context.streams.start()
    time.sleep(600)
"""


@pytest.fixture
def root(tmp_path: Path, moto: S3Server, folder: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A warehouse with a sink; processes find keys in their environment."""
    for name, value in (
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_ENDPOINT_URL_S3", f"http://{moto.address}"),
    ):
        monkeypatch.setenv(name, value)
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '2')")
        (tmp_path / "in").mkdir()
        context.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{folder}' {OFTEN} AS SELECT n FROM numbers").close()
    return tmp_path


def check_prefix(taker: Taker) -> int:
    """The rows of the first files, each once, were taken; returns how many files."""
    number = taker.take()
    assert taker.numbers == list(range(number))
    assert number % PER_FILE == 0
    return number // PER_FILE


def goes_on(root: Path, taker: Taker, put: int) -> None:
    with sharkpy.connect("local[2]", root / "w") as context:
        context.streams.start()
        until(lambda: taker.take() >= put * PER_FILE)
        assert check_prefix(taker) == put
        put_file(root, put)
        until(lambda: taker.take() >= (put + 1) * PER_FILE)
        assert check_prefix(taker) == put + 1
        until(lambda: not taker.hidden())


@pytest.mark.variants(3)
@pytest.mark.parametrize("step", [kill_points.STAGED, kill_points.PLACED, kill_points.COMMITTED])
def test_killed_between_two_steps(root: Path, taker: Taker, step: str) -> None:
    for number in range(3):
        put_file(root, number)
    with runner(root, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    assert check_prefix(taker) == 2
    goes_on(root, taker, 3)


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("call", "epochs"), [("copy", 1), ("copy", 2), ("move", 1)], ids=["copied", "second-copied", "moved"]
)
def test_killed_while_files_get_their_names(root: Path, taker: Taker, call: str, epochs: int) -> None:
    """Between a copy and the delete after it, and before the catalog knows of both."""
    for number in range(3):
        put_file(root, number)
    with child(HALF_MOVED, root / "w", epochs, call) as process:
        assert process.wait(120) == -signal.SIGKILL
    assert check_prefix(taker) == (2 if epochs == 1 else 3)
    assert len(taker.hidden()) == (call == "copy")
    goes_on(root, taker, 3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kills",
    [pytest.param(2, id="some"), pytest.param(40, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)])],
)
def test_killed_at_any_moment(root: Path, taker: Taker, kills: int) -> None:
    """`SHARKPY_SEED` replays a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance, put = random.Random(seed), 0
    for _ in range(kills):
        with runner(root) as process:
            for _ in range(chance.randrange(4)):
                put_file(root, put)
                put += 1
                time.sleep(chance.random() * 0.1)
            time.sleep(chance.random() * 0.6)
            process.kill()
            process.wait()
        assert check_prefix(taker) <= put
    goes_on(root, taker, put)


def test_seaweed(seaweed: S3Server, tmp_path: Path, folder: str) -> None:
    client = s3_client(seaweed.address)
    taker = Taker(client, folder)
    with sharkpy.connect("local[2]", tmp_path / "w", **keys(seaweed.address)) as session:
        make_stream(session, tmp_path / "in")
        session.sql(f"CREATE CONTINUOUS SINK s TO FOLDER '{folder}' {OFTEN} AS SELECT n FROM numbers").close()
        for number in range(3):
            put_numbers(tmp_path / "in", str(number), [number])
            until(lambda wanted=number + 1: taker.take() == wanted)
        until(lambda: not taker.hidden())
        session.sql("DROP CONTINUOUS SINK s").close()
    assert taker.numbers == [0, 1, 2]
    client.close()
