"""ADD FILE, JAR and ARCHIVE, and files of functions, by URIs: copies of the session, each fetched once."""

from __future__ import annotations

import gc
import io
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import BindError, NotAllowedError, ResourceError, SourceError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.unfinished_writes import UnfinishedWrites
from sharkpy.execution.backup.make_backup import make_backup
from sharkpy.execution.backup.restore_backup import restore_backup
from sharkpy.execution.commands import session_commands
from sharkpy.execution.commands.writes.leftover_files import remove_local_leftovers
from sharkpy.execution.restrictions import Restrictions
from tests.storage.fault_proxy import FaultProxy
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server

Put = Callable[[str, bytes], None]
DOUBLE = b"#!/bin/bash\nwhile read n; do echo $((2 * n)); done\n"


@pytest.fixture(scope="module")
def owner(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as owner:
        for name, value in (
            ("access.key", ACCESS_KEY),
            ("secret.key", SECRET),
            ("endpoint", f"http://{proxy.address}"),
        ):
            owner.sql(f"SET fs.s3a.{name}={value}").close()
        owner.sql("CREATE TABLE t AS SELECT 1 AS a UNION ALL SELECT 2").close()
        yield owner


@pytest.fixture
def session(owner: sharkpy.SharkContext, proxy: FaultProxy) -> sharkpy.SharkContext:
    proxy.rules.clear()
    proxy.seen.clear()
    return owner.new_session()


@pytest.fixture
def place() -> str:
    return f"s3a://{BUCKET}/{uuid4().hex}"


@pytest.fixture
def put(s3: Any) -> Put:
    return lambda location, content: s3.put_object(Bucket=BUCKET, Key=location.partition(f"{BUCKET}/")[2], Body=content)


def column(session: sharkpy.SharkContext, query: str) -> list[Any]:
    return sorted(row[0] for row in session.sql(query).fetchall())


def test_a_file_is_fetched_once(session: sharkpy.SharkContext, proxy: FaultProxy, place: str, put: Put) -> None:
    put(f"{place}/double.sh", DOUBLE)
    query = "SELECT TRANSFORM(a) USING 'double.sh' AS (x INT) FROM t"
    for _ in range(2):
        session.sql(f"ADD FILE {place}/double.sh").close()
    assert proxy.count("GET", "double.sh") == 1
    assert column(session, query) == [2, 4]
    (copy,) = column(session, "LIST FILES")
    assert Path(copy).name == "double.sh"
    assert column(session, f"LIST FILES {place}/double.sh") == [copy]
    put(f"{place}/double.sh", DOUBLE.replace(b"2", b"20"))
    session.sql(f"DELETE FILE {place}/double.sh").close()
    assert column(session, "LIST FILES") == []
    session.sql(f"ADD FILE {place}/double.sh").close()
    assert column(session, query) == [20, 40]
    assert Path(copy).read_bytes() == DOUBLE


def test_copies_go_with_their_session(owner: sharkpy.SharkContext, place: str, put: Put) -> None:
    put(f"{place}/x", b"x")
    session = owner.new_session()
    session.sql(f"ADD FILE {place}/x").close()
    (copy,) = column(session, "LIST FILES")
    assert Path(copy).exists()
    session.stop()
    del session
    gc.collect()
    assert not Path(copy).parent.exists()


def test_an_archive(session: sharkpy.SharkContext, place: str, put: Put) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        entry = tarfile.TarInfo("names.txt")
        entry.size = 4
        archive.addfile(entry, io.BytesIO(b"six\n"))
    put(f"{place}/words.tar.gz", content.getvalue())
    session.sql(f"ADD ARCHIVE {place}/words.tar.gz").close()
    query = "SELECT TRANSFORM(a) USING 'cat words.tar.gz/names.txt' AS (x STRING) FROM t WHERE a = 1"
    session.sql("SET hive.exec.script.allow.partial.consumption=true").close()
    assert column(session, query) == ["six"]


def test_the_file_of_a_function(session: sharkpy.SharkContext, place: str, put: Put) -> None:
    put(f"{place}/far_geometry.py", b"def area(a: float, b: float) -> float:\n    return a * b\n")
    using = f"AS 'far_geometry.area' USING FILE '{place}/far_geometry.py'"
    session.sql(f"CREATE TEMPORARY FUNCTION area {using}").close()
    assert column(session, "SELECT area(3, 2)") == [6.0]


def copies(catalog: Catalog) -> list[Path]:
    """Files of functions, without Python's compiled files next to them."""
    paths = Path(catalog.state_dir, "functions").rglob("*")
    return sorted(path for path in paths if path.is_file() and path.parent.name != "__pycache__")


def test_files_of_a_permanent_function_are_kept(tmp_path: Path, moto: S3Server, place: str, put: Put, s3: Any) -> None:
    """Other sessions call it without the storage, also in a restored warehouse. DROP deletes its copies."""
    body = "def area(a: float, b: float) -> float:\n    return a * b"
    put(f"{place}/far_geometry.py", f"{body}\n".encode())
    put(f"{place}/more.txt", b"")
    using = f"AS 'far_geometry.area' USING FILE '{place}/far_geometry.py', FILE '{place}/more.txt'"
    with sharkpy.connect("local[2]", tmp_path / "w") as owner:
        session = owner.new_session()
        for name, value in (("access.key", ACCESS_KEY), ("secret.key", SECRET), ("endpoint", f"http://{moto.address}")):
            session.sql(f"SET fs.s3a.{name}={value}").close()
        session.sql(f"CREATE FUNCTION area {using}").close()
        s3.delete_object(Bucket=BUCKET, Key=f"{place.rpartition('/')[2]}/far_geometry.py")
        assert column(owner, "SELECT area(3, 2)") == [6.0]
        with pytest.raises(SourceError):
            session.sql(f"CREATE FUNCTION other {using}").close()
        put(f"{place}/far_geometry.py", f"{body} * 10\n".encode())
        with pytest.raises(BindError, match="already exists"):
            session.sql(f"CREATE FUNCTION area {using}").close()
        assert len(copies(owner.catalog)) == 2, "those of statements that failed are gone"
        make_backup(owner.catalog, tmp_path / "backup")
    restore_backup(tmp_path / "backup", tmp_path / "restored")
    shutil.rmtree(tmp_path / "w")
    with sharkpy.connect("local[2]", tmp_path / "restored", **{"fs.s3a.endpoint": f"http://{moto.address}"}) as owner:
        assert column(owner, "SELECT area(3, 2)") == [6.0]
        for key, value in (("access.key", ACCESS_KEY), ("secret.key", SECRET)):
            owner.sql(f"SET fs.s3a.{key}={value}").close()
        before = copies(owner.catalog)
        owner.sql(f"CREATE OR REPLACE FUNCTION area {using}").close()
        assert column(owner, "SELECT area(3, 2)") == [60.0]
        assert not set(before).intersection(copies(owner.catalog))
        for statement in ("CREATE DATABASE d", f"CREATE FUNCTION d.area {using}", "DROP DATABASE d CASCADE"):
            owner.sql(statement).close()
        assert len(copies(owner.catalog)) == 2
        owner.sql("DROP FUNCTION area").close()
        assert copies(owner.catalog) == []


def test_copies_of_a_killed_process_are_removed(owner: sharkpy.SharkContext) -> None:
    """Copies that the process has committed stay."""
    catalog = owner.catalog
    dead = UnfinishedWrites(str(Path(catalog.state_dir, "unfinished", "catalog")), catalog.locations)
    left, kept = (Path(catalog.state_dir, "functions", name) for name in ("left", "kept"))
    for folder in (left, kept):
        dead.begin(str(folder))
        (folder / "0").mkdir(parents=True)
        (folder / "0" / "x.py").write_bytes(b"x")
    dead.keep(str(kept))
    dead.close()
    remove_local_leftovers(catalog)
    assert (left.exists(), kept.exists()) == (False, True)


def test_what_cannot_be_fetched(
    session: sharkpy.SharkContext, place: str, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, refused, state in ((f"{place}/none", SourceError, "58P01"), (f"{place}/..", BindError, "42602")):
        with pytest.raises(refused) as caught:
            session.sql(f"ADD FILE {name}").close()
        assert caught.value.sqlstate == state
    monkeypatch.setattr(session_commands, "MOST_RESOURCE_BYTES", 10)
    put(f"{place}/six", b"123456")
    put(f"{place}/seven", b"1234567")
    session.sql(f"ADD FILE {place}/six").close()
    with pytest.raises(ResourceError, match="7 bytes, and 6 are fetched already"):
        session.sql(f"ADD FILE {place}/seven").close()
    assert [Path(one).name for one in column(session, "LIST FILES")] == ["six"]
    with pytest.raises(ResourceError, match="7 bytes, and 6 are fetched already"):
        session.sql(f"CREATE FUNCTION f AS 'x.y' USING FILE '{place}/six', FILE '{place}/seven'").close()


def test_a_session_without_code_fetches_nothing(
    session: sharkpy.SharkContext, proxy: FaultProxy, place: str, put: Put
) -> None:
    put(f"{place}/x.jar", b"x")
    session.restrictions = Restrictions((), refuses_code=True, remote=(place,))
    with pytest.raises(NotAllowedError, match="CREATE FUNCTION"):
        session.sql(f"CREATE FUNCTION f AS 'x.y' USING JAR '{place}/x.jar'").close()
    with pytest.raises(NotAllowedError, match="ADD JAR"):
        session.sql(f"ADD JAR {place}/x.jar").close()
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        session.sql(f"ADD FILE s3a://{BUCKET}/other").close()
    session.restrictions = Restrictions((), remote=(place,))
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        session.sql(f"CREATE FUNCTION f AS 'x.y' USING JAR 's3a://{BUCKET}/other.jar'").close()
    assert proxy.seen == []
    session.sql(f"ADD FILE {place}/x.jar").close()
