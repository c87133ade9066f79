"""HDFS without a cluster: what its client says as the engine's errors, its settings, and servers that do not answer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")

from sharkpy.base.errors import (
    ConfigurationError,
    ExecutionError,
    InternalError,
    ResourceError,
    SharkError,
    SourceError,
    StorageRefusedError,
    UnsupportedError,
)
from sharkpy.base.settings import Conf
from sharkpy.sources.storage.access import access_to
from sharkpy.sources.storage.errors import StoreName, storage_failure
from sharkpy.sources.storage.requests import CallThreads, in_parallel, result_of
from sharkpy.sources.storage.store import StoreLimits
from sharkpy.sources.storage.stores import store_of
from tests.ports import free_ports
from tests.storage.places import QUICK, ended
from tests.storage.places import access_to as access_with
from tests.waiting import allowed

NAME = StoreName("", "hdfs://nn:8020", 'the user name "alice"')
STACK = "\\n\\tat org.apache.hadoop.hdfs.server.namenode.FSPermissionChecker.check(FSPermissionChecker.java:663)"


def refusal(kind: str, text: str) -> RuntimeError:
    return RuntimeError(f'RPCError("{kind}", "{text}{STACK}")')


FAILURES = (
    (
        refusal("org.apache.hadoop.security.AccessControlException", "Permission denied: user=alice"),
        StorageRefusedError,
        "42501",
        r'refuses access to "hdfs://nn:8020/t/x".*the user name "alice"',
    ),
    (
        refusal("org.apache.hadoop.security.token.SecretManager$InvalidToken", "token can't be found in cache"),
        StorageRefusedError,
        "28000",
        "does not accept the user name",
    ),
    (RuntimeError('GSSAPIError(GSS_S_NO_CRED, 0, "no ticket")'), StorageRefusedError, "28000", "does not accept"),
    (RuntimeError("NoSASLMechanism"), StorageRefusedError, "28000", "does not accept"),
    (FileNotFoundError("/t/x"), SourceError, "58P01", "does not exist"),
    (
        refusal("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "Cannot create file"),
        ExecutionError,
        "57P03",
        "too busy",
    ),
    (
        refusal("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "The DiskSpace quota"),
        ResourceError,
        "53100",
        "no room",
    ),
    (
        refusal("java.io.IOException", "File /t/x could only be written to 0 of the 1 minReplication nodes."),
        ResourceError,
        "53100",
        "no room",
    ),
    (
        refusal("org.apache.hadoop.fs.InvalidPathException", "Invalid path name /a:b"),
        UnsupportedError,
        "0A000",
        "parts of dots or colons",
    ),
    (
        refusal("org.apache.hadoop.fs.ParentNotDirectoryException", "/t (is not a directory)"),
        SourceError,
        "58030",
        "cannot be read or written .*ParentNotDirectoryException",
    ),
    (RuntimeError('DataTransferError("All DataNodes failed: []")'), ExecutionError, "08006", "not answered in full"),
    (OSError("Connection refused (os error 111)"), ExecutionError, "08001", "cannot be reached .*nobody listens there"),
    (
        OSError("failed to lookup address information: Name or service not known"),
        ExecutionError,
        "08001",
        "cannot be reached .*host is not known",
    ),
    (OSError("Broken pipe (os error 32)"), ExecutionError, "08006", "not answered in full"),
)


@pytest.mark.parametrize(("error", "kind", "sqlstate", "message"), FAILURES)
def test_a_failure_has_its_error(error: Exception, kind: type[SharkError], sqlstate: str, message: str) -> None:
    told = storage_failure(error, "hdfs://nn:8020/t/x", NAME)
    with pytest.raises(SharkError, match=message) as caught:
        raise told
    assert (type(caught.value), caught.value.sqlstate) == (kind, sqlstate)
    assert "FSPermissionChecker" not in str(told)


def write_site(folder: Path, name: str, **values: str) -> None:
    rows = "".join(f"<property><name>{key}</name><value>{value}</value></property>" for key, value in values.items())
    (folder / f"{name}-site.xml").write_text(f"<configuration>{rows}</configuration>")


def test_settings_of_hadoop_are_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_site(
        tmp_path,
        "core",
        **{"fs.defaultFS": "hdfs://ns", "dfs.a": "core", "hadoop.tmp.dir": "/t"},
    )
    write_site(tmp_path, "hdfs", **{"dfs.a": "hdfs", "dfs.b": "hdfs", "dfs.c": "hdfs"})
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    owner = Conf({"spark.hadoop.dfs.b": "spark", "spark.hadoop.dfs.c": "spark", "shark.master": "yarn"})
    session = Conf({"dfs.c": "session", "fs.s3a.access.key": "k"})
    access = access_to("hdfs://ns/a", session, owner)
    found = {key: access.value(key) for key, _ in access.options}
    assert found == {"fs.defaultFS": "hdfs://ns", "dfs.a": "hdfs", "dfs.b": "spark", "dfs.c": "session"}
    assert access_to("viewfs://ns/a", session, owner) == access
    restricted = access_to("hdfs://ns/a", session, owner, is_restricted=True)
    assert restricted.value("dfs.c") == "spark"


def test_a_folder_of_settings_goes_with_the_access(tmp_path: Path) -> None:
    write_site(tmp_path, "hdfs", **{"dfs.ha.namenodes.ns": "a", "dfs.namenode.rpc-address.ns.a": "127.0.0.1:9"})
    owner = Conf({"shark.hadoop.conf.dir": str(tmp_path)})
    access = access_to("hdfs://ns", owner, owner)
    assert access.value("dfs.ha.namenodes.ns") == "a"
    assert access.value("shark.hadoop.conf.dir") == str(tmp_path)
    store_of("hdfs://ns", access)


def test_a_name_service_that_is_not_known() -> None:
    with pytest.raises(ConfigurationError, match=r"hdfs://nowhere.*No NameNode hosts found.*HADOOP_CONF_DIR"):
        store_of("hdfs://nowhere/a", access_with({}))


def test_a_file_of_settings_that_is_no_xml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core-site.xml").write_text("<conf")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError, match="cannot be used"):
        store_of("hdfs://127.0.0.1:9", access_with({}))


def test_a_mask_that_is_no_number() -> None:
    with pytest.raises(ConfigurationError, match="umask-mode"):
        store_of("hdfs://127.0.0.1:9", access_with({"fs.permissions.umask-mode": "u=rwx"}))


@pytest.mark.parametrize("names", ["", "ns"])
def test_nobody_listens(names: str) -> None:
    first, second = free_ports(2)
    service = {
        "dfs.ha.namenodes.ns": "a,b",
        "dfs.namenode.rpc-address.ns.a": f"127.0.0.1:{first}",
        "dfs.namenode.rpc-address.ns.b": f"127.0.0.1:{second}",
    }
    root = "hdfs://ns" if names else f"hdfs://127.0.0.1:{first}"
    with pytest.raises(ExecutionError, match=r"cannot be reached .*nobody listens there") as caught:
        store_of(root, access_with(service), QUICK).stat(f"{root}/x")
    assert caught.value.sqlstate == "08001"


@pytest.fixture
def silent() -> Iterator[str]:
    """URI of a server that takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"hdfs://127.0.0.1:{listener.getsockname()[1]}"


def test_a_server_that_is_silent(silent: str) -> None:
    store = store_of(silent, access_with({}), StoreLimits(timeout_seconds=1, retries=0, requests=2))
    began = time.monotonic()
    for _ in range(3):
        with pytest.raises(ExecutionError, match="not answered in full") as caught:
            store.stat(f"{silent}/x")
        assert caught.value.sqlstate == "08006"
    assert time.monotonic() - began < allowed(5)
    # A call that is not answered keeps its thread: of the third there was none.
    assert sum(thread.name == "sharkpy-storage-call" for thread in threading.enumerate()) <= 2


def test_a_call_ends_with_its_statement(silent: str) -> None:
    store = store_of(silent, access_with({}), StoreLimits(timeout_seconds=60))
    assert ended(lambda: store.stat(f"{silent}/x")) < allowed(0.3)
    assert ended(lambda: list(store.list(f"{silent}/x"))) < allowed(0.3)
    assert ended(lambda: store.put(f"{silent}/x", b"1")) < allowed(0.3)


def test_threads_for_calls() -> None:
    threads = CallThreads(2)
    lock, at_once, most = threading.Lock(), 0, 0

    def call(number: int) -> int:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.02)
        with lock:
            at_once -= 1
        return number

    def counted(number: int) -> int:
        return in_parallel([lambda: threads.run(lambda: call(number))], 1)[0]

    assert in_parallel([lambda n=n: threads.run(lambda: call(n)) for n in range(9)], 9) == list(range(9))
    assert most == 2
    assert counted(7) == 7


def test_a_panic_of_a_library() -> None:
    class Panic(BaseException):
        pass

    def fail() -> None:
        raise Panic("cannot read past the end")

    with pytest.raises(InternalError, match="cannot read past the end"):
        result_of(lambda: CallThreads(1).run(fail))
