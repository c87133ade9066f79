"""Failures of storage: each cause has its error, what may be tried again is, and nothing outlives its statement."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from sharkpy.base.errors import (
    ConfigurationError,
    ExecutionError,
    ResourceError,
    SharkError,
    SourceError,
    StorageRefusedError,
)
from sharkpy.sources.storage.errors import StoreName, storage_failure
from sharkpy.sources.storage.store import ObjectFacts, Store, StoreLimits
from tests.ports import free_ports
from tests.storage.fault_proxy import FaultProxy, Rule, fault_proxy
from tests.storage.places import BUCKET, QUICK, ended, s3_store
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server
from tests.waiting import allowed, until

ROOT = Path(__file__).parent.parent.parent
PART = 5 << 20
REFUSALS = (
    (404, "NoSuchKey", SourceError, "58P01", "does not exist"),
    (404, "NoSuchBucket", SourceError, "58P01", f'there is no bucket "{BUCKET}" at http://'),
    (403, "AccessDenied", StorageRefusedError, "42501", "refuses access to .*made with keys of the tests"),
    (403, "", StorageRefusedError, "42501", "refuses access"),
    (403, "InvalidAccessKeyId", StorageRefusedError, "28000", "keys of the tests .*does not know the key"),
    (403, "SignatureDoesNotMatch", StorageRefusedError, "28000", "secret does not belong to the key"),
    (403, "RequestTimeTooSkewed", StorageRefusedError, "28000", "clock is wrong"),
    (400, "ExpiredToken", StorageRefusedError, "28000", "token has expired"),
    (401, "", StorageRefusedError, "28000", "does not accept"),
    (429, "", ExecutionError, "57P03", "too busy .*after 3 tries"),
    (503, "SlowDown", ExecutionError, "57P03", "too busy .*after 3 tries"),
    (500, "InternalError", ExecutionError, "08006", "not answered in full .*after 3 tries"),
    (301, "PermanentRedirect", ConfigurationError, "F0000", "not in the region .*fs.s3a.endpoint.region"),
    (400, "AuthorizationHeaderMalformed", ConfigurationError, "F0000", "fs.s3a.endpoint.region"),
    (412, "PreconditionFailed", SourceError, "58030", "was changed while it was being read"),
    (416, "InvalidRange", SourceError, "58030", "was changed while it was being read"),
    (507, "", ResourceError, "53100", "no room"),
    (400, "SomethingElse", SourceError, "58030", "cannot be read or written .*SomethingElse"),
    (405, "", SourceError, "58030", "cannot be read or written .*status 405"),
)


@pytest.fixture
def proxy(moto: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(moto.address) as proxy:
        yield proxy


@pytest.fixture
def store(proxy: FaultProxy) -> Store:
    return s3_store(proxy.address)


def put(store: Store, folder: str, content: bytes) -> ObjectFacts:
    facts = store.put(f"{folder}/x", content)
    assert facts.size_bytes == len(content)
    return facts


def read(store: Store, facts: ObjectFacts, start: int, end: int) -> bytes:
    (content,) = store.read(facts, [(start, end)])
    return bytes(content)


def uploads(s3: Any, folder: str) -> list[str]:
    prefix = folder.removeprefix(f"s3://{BUCKET}/")
    return [one["Key"] for one in s3.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix).get("Uploads", [])]


@pytest.mark.variants(3)
@pytest.mark.parametrize(("status", "code", "kind", "sqlstate", "message"), REFUSALS)
def test_a_refusal_has_its_error(
    proxy: FaultProxy,
    store: Store,
    folder: str,
    status: int,
    code: str,
    kind: type[SharkError],
    sqlstate: str,
    message: str,
) -> None:
    facts = put(store, folder, b"0123456789")
    proxy.rules.append(Rule("GET", status=status, code=code))
    with pytest.raises(SharkError, match=message) as caught:
        read(store, facts, 2, 4)
    assert (type(caught.value), caught.value.sqlstate) == (kind, sqlstate)
    assert folder in str(caught.value) or BUCKET in str(caught.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(proxy: FaultProxy, store: Store, folder: str, status: int) -> None:
    facts = put(store, folder, b"0123456789")
    proxy.rules.append(Rule("GET", times=2, status=status, headers={"Retry-After": "0"}))
    assert read(store, facts, 2, 4) == b"23"
    proxy.rules.append(Rule("PUT", times=2, status=status))
    assert put(store, f"{folder}/more", b"1").size_bytes == 1
    proxy.rules.append(Rule("GET", r"list-type", times=1, status=status))
    assert len(list(store.list(folder))) == 2


def test_a_cut_answer_is_continued(proxy: FaultProxy, store: Store, folder: str) -> None:
    content = os.urandom(2 << 20)
    facts = put(store, folder, content)
    proxy.rules.append(Rule("GET", times=1, cut_answer=1_500_000))
    before = proxy.sent
    assert read(store, facts, 0, len(content)) == content
    assert proxy.count("GET", "/x") == 2
    assert proxy.sent - before <= 1.1 * len(content)


def test_an_answer_that_is_always_cut(proxy: FaultProxy, store: Store, folder: str) -> None:
    facts = put(store, folder, bytes(1_000))
    proxy.rules.append(Rule("GET", cut_answer=10))
    with pytest.raises(ExecutionError, match="not answered in full") as caught:
        read(store, facts, 0, 500)
    assert caught.value.sqlstate == "08006"


def test_an_object_that_changes_while_an_answer_is_continued(
    proxy: FaultProxy, store: Store, s3: Any, folder: str
) -> None:
    facts = put(store, folder, bytes(1_000))
    key = facts.path.removeprefix(f"s3://{BUCKET}/")
    proxy.rules.append(Rule("GET", times=1, cut_answer=10))
    change = partial(s3.put_object, Bucket=BUCKET, Key=key, Body=b"1" * 1_000)
    proxy.rules.append(Rule("GET", skip=1, times=1, before=change))
    with pytest.raises(SourceError, match="was changed"):
        read(store, facts, 0, 1_000)


def test_an_object_that_changes_between_two_ranges(proxy: FaultProxy, store: Store, s3: Any, folder: str) -> None:
    facts = put(store, folder, bytes(1_000))
    key = facts.path.removeprefix(f"s3://{BUCKET}/")
    change = partial(s3.put_object, Bucket=BUCKET, Key=key, Body=b"1" * 1_000)
    proxy.rules.append(Rule("GET", "/x", skip=1, times=1, before=change))
    assert read(store, facts, 0, 10) == bytes(10)
    with pytest.raises(SourceError, match="was changed"):
        read(store, facts, 10, 20)


def test_an_answer_of_the_wrong_length(proxy: FaultProxy, store: Store, folder: str) -> None:
    facts = put(store, folder, bytes(1_000))
    proxy.rules.append(Rule("GET", shorter=3))
    with pytest.raises(SourceError, match=r"gave 97 bytes of .* instead of 100"):
        read(store, facts, 0, 100)


def test_pages_of_a_listing_in_another_order(proxy: FaultProxy, folder: str) -> None:
    store = s3_store(proxy.address, is_sorted=True)
    wanted = [f"{folder}/{number}" for number in range(9)]
    for path in wanted:
        store.put(path, b"1")
    by_three = Rule("GET", "list-type", change=lambda path: f"{path}&max-keys=3")
    proxy.rules.append(by_three)
    assert [facts.path for facts in store.list(folder)] == wanted
    assert by_three.met == 3
    first_again = Rule("GET", "continuation-token", skip=1, times=1)
    first_again.change = lambda path: re.sub(r"continuation-token=[^&]*&?", "", path)
    proxy.rules.append(first_again)
    with pytest.raises(SourceError, match="not in the order of names"):
        list(store.list(folder))


def test_nobody_listens(folder: str) -> None:
    (port,) = free_ports(1)
    with pytest.raises(ExecutionError, match=r"cannot be reached .*nobody listens there") as caught:
        s3_store(f"127.0.0.1:{port}").stat(f"{folder}/x")
    assert caught.value.sqlstate == "08001"


def test_a_host_that_is_not_known(folder: str) -> None:
    with pytest.raises(ExecutionError, match=r"cannot be reached .*host is not known") as caught:
        s3_store("storage.invalid:9000").stat(f"{folder}/x")
    assert caught.value.sqlstate == "08001"


def test_a_server_that_is_silent(proxy: FaultProxy, folder: str) -> None:
    store = s3_store(proxy.address, limits=StoreLimits(timeout_seconds=1, retries=0))
    proxy.rules.append(Rule(delay=60))
    began = time.monotonic()
    with pytest.raises(ExecutionError, match="not answered in full") as caught:
        store.stat(f"{folder}/x")
    assert caught.value.sqlstate == "08006"
    assert time.monotonic() - began < allowed(2)


def test_a_bucket_that_is_not_there(proxy: FaultProxy) -> None:
    store = s3_store(proxy.address, bucket="no-bucket")
    for call in (lambda: list(store.list("s3://no-bucket/t")), lambda: store.put("s3://no-bucket/x", b"1")):
        with pytest.raises(SourceError, match='there is no bucket "no-bucket"'):
            call()
    assert store.stat("s3://no-bucket/x") is None


def test_an_upload_that_is_cut_goes_on(proxy: FaultProxy, store: Store, folder: str) -> None:
    content = os.urandom(2 * PART + 100)
    proxy.rules.append(Rule("PUT", "partNumber=2", times=1, cut_upload=1_000_000))
    facts = store.put(f"{folder}/x", io.BytesIO(content))
    assert read(store, facts, 0, len(content)) == content


def test_an_upload_that_fails_leaves_nothing(proxy: FaultProxy, store: Store, s3: Any, folder: str) -> None:
    proxy.rules.append(Rule("PUT", "partNumber=2", status=500))
    with pytest.raises(ExecutionError) as caught:
        store.put(f"{folder}/x", io.BytesIO(bytes(3 * PART)))
    assert caught.value.sqlstate == "08006"
    assert uploads(s3, folder) == []
    assert store.stat(f"{folder}/x") is None


def test_a_file_that_cannot_be_read(store: Store, s3: Any, folder: str) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= PART:
                raise OSError(5, "Input/output error", "/disk/file")
            return super().read(size)

    with pytest.raises(SourceError, match='"/disk/file" cannot be read or written'):
        store.put(f"{folder}/x", Broken(bytes(3 * PART)))
    assert uploads(s3, folder) == []


def test_a_put_whose_answer_is_lost(proxy: FaultProxy, store: Store, folder: str) -> None:
    """The store may report the name as taken, by the first try itself."""
    proxy.rules.append(Rule("PUT", times=1, no_answer=True))
    with suppress(ExecutionError):
        assert not store.put_new(f"{folder}/x", b"mine")
    facts = store.stat(f"{folder}/x")
    assert facts is not None
    assert read(store, facts, 0, facts.size_bytes) == b"mine"


def test_what_a_server_quotes_is_not_told() -> None:
    body = f"<Error><Code>SignatureDoesNotMatch</Code><StringToSign>{SECRET} {ACCESS_KEY}</StringToSign></Error>"
    text = f"Error performing GET http://h/b/k - Server returned non-2xx status code: 403 Forbidden: {body}"
    name = StoreName("b", "h", "keys")
    error = storage_failure(PermissionError(f"{text}\n\nDebug source:\n{body}"), "s3://b/k", name)
    assert error.sqlstate == "28000"
    assert SECRET not in f"{error!r} {error} {error.hint}"


CALLS: dict[str, Callable[[Store, ObjectFacts], object]] = {
    "stat": lambda store, facts: store.stat(facts.path),
    "read": lambda store, facts: list(store.read(facts, [(0, 5), (5, 10)] * 20)),
    "list": lambda store, facts: list(store.list(facts.path.rpartition("/")[0])),
    "children": lambda store, facts: store.children(facts.path.rpartition("/")[0]),
    "put": lambda store, facts: store.put(facts.path, b"1"),
    "put in parts": lambda store, facts: store.put(facts.path, io.BytesIO(bytes(3 * PART))),
    "put_new": lambda store, facts: store.put_new(facts.path, b"1"),
    "copy": lambda store, facts: store.copy(facts, f"{facts.path}2"),
    "delete": lambda store, facts: store.delete([facts.path] * 5_000),
    "remove_uploads": lambda store, facts: store.remove_uploads(facts.path, 0),
}


@pytest.mark.variants(3)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_ends_with_its_statement(proxy: FaultProxy, folder: str, call: str) -> None:
    store = s3_store(proxy.address)
    facts = put(store, folder, b"0123456789")
    proxy.rules.append(Rule(delay=60))
    before = proxy.count()
    assert ended(lambda: CALLS[call](store, facts), lambda: proxy.count() > before) < allowed(0.3)


def test_a_call_ends_while_it_waits_for_its_next_try(proxy: FaultProxy, folder: str) -> None:
    store = s3_store(proxy.address, limits=StoreLimits(timeout_seconds=60, retries=50))
    proxy.rules.append(Rule(status=503))
    assert ended(lambda: store.stat(f"{folder}/x"), lambda: proxy.count() > 4) < allowed(0.3)
    time.sleep(allowed(0.3))  # a try that was under way reaches the proxy
    asked = proxy.count()
    time.sleep(1)
    assert proxy.count() == asked


def test_an_upload_that_is_given_up_leaves_nothing(proxy: FaultProxy, store: Store, s3: Any, folder: str) -> None:
    proxy.rules.append(Rule("PUT", "partNumber=[3-9]", delay=1))
    call = partial(store.put, f"{folder}/x", io.BytesIO(bytes(12 * PART)))
    assert ended(call, lambda: proxy.count("PUT", "partNumber=3")) < allowed(0.3)
    until(lambda: proxy.count("DELETE", "uploadId"))
    until(lambda: uploads(s3, folder) == [])
    assert store.stat(f"{folder}/x") is None


def test_one_silent_bucket_holds_up_no_other(proxy: FaultProxy, moto: S3Server, folder: str) -> None:
    silent, other = s3_store(proxy.address), s3_store(moto.address)
    facts = put(other, folder, b"0123456789")
    proxy.rules.append(Rule(delay=60))

    def reading() -> object:
        return list(silent.read(facts, [(0, 1)] * 100))

    def others_are_read() -> bool:
        return proxy.count("GET") > 0 and read(other, facts, 2, 4) == b"23"

    assert ended(reading, others_are_read) < allowed(0.3)
    assert proxy.count("GET") <= QUICK.requests


def run(program: str, address: str, folder: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, which has not asked for any object yet."""
    command = [sys.executable, "-c", program, address, folder]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=allowed(60), check=False)


_FORKED = """
import os, sys, threading
import sharkpy.sources.storage.stores
assert "obstore" not in sys.modules
assert threading.active_count() == len(os.listdir("/proc/self/task")) == 1
from tests.storage.places import s3_store
for _ in range(2):
    child = os.fork()
    if not child:
        store = s3_store(sys.argv[1])
        path = sys.argv[2] + "/from a worker"
        store.put(path, b"0123456789")
        (content,) = store.read(store.stat(path), [(2, 4)])
        os._exit(0 if bytes(content) == b"23" else 1)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_workers_ask_after_their_fork(moto: S3Server, folder: str) -> None:
    """Spark's daemon imports what tasks need, and forks. It has no threads then, nor obstore, which makes some."""
    done = run(_FORKED, moto.address, folder)
    assert done.returncode == 0, done.stderr


_FORKED_LATE = """
import os, sys
from sharkpy.base.errors import InternalError
from tests.storage.places import s3_store
store = s3_store(sys.argv[1])
assert store.stat(sys.argv[2]) is None
child = os.fork()
if not child:
    try:
        store.stat(sys.argv[2])
    except InternalError as error:
        os._exit(0 if "forked" in str(error) else 1)
    os._exit(2)
assert os.waitpid(child, 0)[1] == 0
assert store.stat(sys.argv[2]) is None
"""


def test_a_process_that_was_forked_too_late_does_not_wait_for_ever(moto: S3Server, folder: str) -> None:
    done = run(_FORKED_LATE, moto.address, folder)
    assert done.returncode == 0, done.stderr


_SHORT = """
import sys
from tests.storage.places import s3_store
assert s3_store(sys.argv[1]).stat(sys.argv[2]) is None
"""


@pytest.mark.slow
def test_processes_end_well_right_after_a_request(moto: S3Server, folder: str) -> None:
    """One in six was aborted by a thread of the library that asked for the interpreter's lock too late."""
    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(lambda number: run(_SHORT, moto.address, f"{folder}/{number}"), range(24)))
    assert [done.stderr for done in ended if done.returncode] == []


_ENDING = """
import sys, threading, time
from tests.storage.places import s3_store
store = s3_store(sys.argv[1])
threading.Thread(target=lambda: list(store.list(sys.argv[2])), daemon=True).start()
time.sleep(1)
print("ends", flush=True)
"""


def test_a_process_ends_though_a_request_is_under_way(proxy: FaultProxy, folder: str) -> None:
    proxy.rules.append(Rule(delay=60))
    began = time.monotonic()
    done = run(_ENDING, proxy.address, folder)
    assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr
    assert proxy.count("GET") == 1
    assert time.monotonic() - began < allowed(10)
