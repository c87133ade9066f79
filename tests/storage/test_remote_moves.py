"""Statements that move files between buckets and local tables: rows, remaining files, and failures half way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from sharkpy.base.errors import BindError, CancelledError, SharkError, SourceError, UnsupportedError
from tests.files import files_of
from tests.rows import rows
from tests.storage.fault_proxy import FaultProxy, Rule
from tests.storage.files_server import FilesServer
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET
from tests.waiting import allowed, when

Put = Callable[[str, bytes], None]
Names = Callable[[str], list[str]]
MB = 1 << 20


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
def no_faults(proxy: FaultProxy) -> None:
    proxy.rules.clear()
    proxy.seen.clear()


@pytest.fixture
def place() -> str:
    """Folder of a test, as a statement writes it."""
    return f"s3a://{BUCKET}/{uuid4().hex}"


@pytest.fixture
def put(s3: Any) -> Put:
    return lambda location, content: s3.put_object(Bucket=BUCKET, Key=_key(location), Body=content)


@pytest.fixture
def names(s3: Any) -> Names:
    """Names of the objects below a location, relative to it."""

    def below(location: str) -> list[str]:
        prefix = f"{_key(location)}/"
        found = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", ())
        return sorted(one["Key"].removeprefix(prefix) for one in found)

    return below


@pytest.fixture
def table(session: sharkpy.SharkContext) -> str:
    """A table of text with a row."""
    made = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {made} (a INT) STORED AS TEXTFILE", f"INSERT INTO {made} VALUES (0)")
    return made


def _key(location: str) -> str:
    return location.partition(f"{BUCKET}/")[2]


def run(session: sharkpy.SharkContext, *statements: str) -> None:
    for one in statements:
        session.sql(one).close()


def values(session: sharkpy.SharkContext, table: str) -> list[int]:
    return [a for (a,) in rows(session, f"SELECT a FROM {table} ORDER BY a")]


def test_load_moves_files(session: sharkpy.SharkContext, table: str, place: str, put: Put, names: Names) -> None:
    for name in ("in/a.txt", "in/b.txt", "in/deep/a.txt", "in/_hidden", "other/a.txt"):
        put(f"{place}/{name}", b"1\n2\n")
    run(session, f"LOAD DATA INPATH '{place}/in' INTO TABLE {table}")
    assert values(session, table) == [0, *[1] * 3, *[2] * 3]
    assert names(place) == ["in/_hidden", "other/a.txt"]
    run(session, f"LOAD DATA INPATH '{place}/other/a.txt' OVERWRITE INTO TABLE {table}")
    assert values(session, table) == [1, 2]
    assert names(place) == ["in/_hidden"]
    run(session, f"LOAD DATA INPATH '{place}/in/_hidden' INTO TABLE {table}")
    assert values(session, table) == [1, 1, 2, 2]
    with pytest.raises(SourceError) as caught:
        run(session, f"LOAD DATA INPATH '{place}/in' INTO TABLE {table}")
    assert caught.value.sqlstate == "58P01"


def test_load_local_copies_files(session: sharkpy.SharkContext, table: str, place: str, put: Put, names: Names) -> None:
    for name in ("day=1/a.txt", "day=1/b.csv", "day=2/a.txt"):
        put(f"{place}/{name}", b"5\n")
    before = names(place)
    run(session, f"LOAD DATA LOCAL INPATH '{place}/day=*/*.txt' INTO TABLE {table}")
    assert values(session, table) == [0, 5, 5]
    assert names(place) == before


def test_load_into_partitions(session: sharkpy.SharkContext, place: str, put: Put, names: Names) -> None:
    table = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {table} (a INT) PARTITIONED BY (p STRING) STORED AS TEXTFILE")
    put(f"{place}/a", b"1\n")
    put(f"{place}/b", b"2\n")
    put(f"{place}/c", b"3\x01x\n4\x01y\n")
    run(
        session,
        f"LOAD DATA INPATH '{place}/a' INTO TABLE {table} PARTITION (p='x')",
        f"LOAD DATA INPATH '{place}/b' OVERWRITE INTO TABLE {table} PARTITION (p='x')",
        f"LOAD DATA INPATH '{place}/c' INTO TABLE {table} PARTITION (p)",
    )
    assert rows(session, f"SELECT a, p FROM {table} ORDER BY a") == [(2, "x"), (3, "x"), (4, "y")]
    assert names(place) == []


def test_a_copy_that_fails_changes_nothing(
    session: sharkpy.SharkContext, proxy: FaultProxy, table: str, place: str, put: Put, names: Names
) -> None:
    for name in "abc":
        put(f"{place}/{name}", b"1\n" * MB)
    before = names(place)
    proxy.rules.append(Rule("GET", "/b$", status=403, code="AccessDenied"))
    with pytest.raises(SharkError) as caught:
        run(session, f"LOAD DATA INPATH '{place}' INTO TABLE {table}")
    assert caught.value.sqlstate == "42501"
    assert values(session, table) == [0]
    assert names(place) == before
    assert _left(session, table) == []


def test_a_copy_that_is_cancelled_changes_nothing(
    session: sharkpy.SharkContext, proxy: FaultProxy, table: str, place: str, put: Put, names: Names
) -> None:
    put(f"{place}/a", b"1\n" * (8 * MB))
    proxy.rules.append(Rule("GET", "/a$", delay=30))
    thread = when(lambda: any(rule.met for rule in proxy.rules), session.cancel)
    start = time.monotonic()
    with pytest.raises(CancelledError):
        run(session, f"LOAD DATA INPATH '{place}' INTO TABLE {table}")
    assert time.monotonic() - start < allowed(15)
    thread.join()
    assert values(session, table) == [0]
    assert names(place) == ["a"]
    assert _left(session, table) == []


def test_files_that_stay_are_told(
    session: sharkpy.SharkContext, proxy: FaultProxy, table: str, place: str, put: Put, names: Names
) -> None:
    for name in "abc":
        put(f"{place}/{name}", b"1\n")
    proxy.rules.append(Rule("DELETE", "/b", status=403, code="AccessDenied"))
    proxy.rules.append(Rule("POST", "delete", times=1, status=403, code="AccessDenied"))
    with pytest.raises(SourceError, match=f"the files were loaded into default.{table}, but some could not be deleted"):
        run(session, f"LOAD DATA INPATH '{place}' INTO TABLE {table}")
    assert values(session, table) == [0, 1, 1, 1]
    assert len(names(place)) == 1


def test_a_file_that_was_changed_stays(
    session: sharkpy.SharkContext, proxy: FaultProxy, table: str, place: str, put: Put, names: Names
) -> None:
    for name in "ab":
        put(f"{place}/{name}", b"1\n")
    # Between the copy and what follows it, the file is asked for by HEAD.
    proxy.rules.append(Rule("HEAD", "/b$", times=1, before=lambda: put(f"{place}/b", b"22\n")))
    with pytest.raises(SourceError, match="changed after it was copied"):
        run(session, f"LOAD DATA INPATH '{place}/[ab]' INTO TABLE {table}")
    assert values(session, table) == [0, 1, 1]
    assert names(place) == ["b"]


def test_load_by_http(session: sharkpy.SharkContext, table: str, tmp_path: Path) -> None:
    server = FilesServer(tmp_path)
    server.put("a.txt", b"7\n")
    try:
        with pytest.raises(UnsupportedError, match="cannot be deleted there"):
            run(session, f"LOAD DATA INPATH 'http://{server.address}/a.txt' INTO TABLE {table}")
        run(session, f"LOAD DATA LOCAL INPATH 'http://{server.address}/a.txt' INTO TABLE {table}")
    finally:
        server.close()
    assert values(session, table) == [0, 7]


def _left(session: sharkpy.SharkContext, table: str) -> list[str]:
    """Files that a failed statement has left in a table's folder."""
    folder = Path(session.catalog.table("default", table).location or "")
    named = {file.path for file in files_of(session, table)}
    return [str(one) for one in folder.rglob("*") if one.is_file() and str(one) not in named]


@pytest.fixture
def parts(session: sharkpy.SharkContext) -> str:
    """A table with Hive partitions, one of which has two generations."""
    made = f"t{uuid4().hex}"
    run(
        session,
        f"CREATE TABLE {made} (a INT) PARTITIONED BY (d STRING) STORED AS PARQUET",
        f"INSERT INTO {made} VALUES (1, 'x'), (2, 'y z'), (3, NULL)",
        f"INSERT INTO {made} VALUES (4, 'x')",
    )
    return made


def test_export_and_import(session: sharkpy.SharkContext, parts: str, table: str, place: str, names: Names) -> None:
    run(session, f"EXPORT TABLE {parts} TO '{place}/p'", f"EXPORT TABLE {table} TO '{place}/t/'")
    assert not [name for name in names(place) if name.startswith("_") or "/_" in name.replace("/_metadata", "")]
    again, seen, one = (f"t{uuid4().hex}" for _ in range(3))
    run(
        session,
        f"IMPORT TABLE {again} FROM '{place}/p'",
        f"IMPORT EXTERNAL TABLE {seen} FROM '{place}/p'",
        f"IMPORT TABLE {one} FROM '{place}/t'",
    )
    expected = rows(session, f"SELECT * FROM {parts} ORDER BY a")
    for name in (again, seen):
        assert rows(session, f"SELECT * FROM {name} ORDER BY a") == expected
    assert values(session, one) == values(session, table)
    with pytest.raises(BindError, match="is not empty") as caught:
        run(session, f"EXPORT TABLE {table} TO '{place}/p'")
    assert caught.value.sqlstate == "42710"
    with pytest.raises(SourceError, match="is not an export"):
        run(session, f"IMPORT TABLE x FROM '{place}/none'")


def test_an_export_moves_on(session: sharkpy.SharkContext, parts: str, place: str, tmp_path: Path) -> None:
    """From a bucket to a folder, and within the bucket."""
    far = f"t{uuid4().hex}"
    run(
        session,
        f"EXPORT TABLE {parts} TO '{place}/p'",
        f"IMPORT EXTERNAL TABLE {far} FROM '{place}/p'",
        f"EXPORT TABLE {far} TO '{tmp_path}/here'",
        f"EXPORT TABLE {far} PARTITION (d='x') TO '{place}/x'",
    )
    back, one = f"t{uuid4().hex}", f"t{uuid4().hex}"
    run(session, f"IMPORT TABLE {back} FROM '{tmp_path}/here'", f"IMPORT TABLE {one} FROM '{place}/x'")
    assert values(session, back) == [1, 2, 3, 4]
    assert values(session, one) == [1, 4]


def test_what_others_have_put_for_an_export(session: sharkpy.SharkContext, place: str, put: Put, names: Names) -> None:
    for content, message in (
        (b"{", "is not an export of sharkpy"),
        (b"[" * 100_000, "is not an export of sharkpy"),
        (b"\xff", "is not UTF-8 text"),
        (b'{"table": {}, "name": "x", "partitions": []}', "is not an export of sharkpy"),
    ):
        put(f"{place}/_metadata", content)
        with pytest.raises(SourceError, match=message):
            run(session, f"IMPORT TABLE x FROM '{place}'")


@pytest.mark.parametrize("met", ["data/.*-part", "_metadata", "_placed"])
def test_an_export_that_fails_leaves_nothing(
    session: sharkpy.SharkContext, proxy: FaultProxy, table: str, place: str, names: Names, met: str
) -> None:
    proxy.rules.append(Rule("PUT", f"{_key(place)}/.*{met}", status=403, code="AccessDenied"))
    with pytest.raises(SharkError) as caught:
        run(session, f"EXPORT TABLE {table} TO '{place}'")
    if met == "_metadata":
        assert "the new files are in" in str(caught.value)
    else:
        assert caught.value.sqlstate == "42501"
        assert names(place) == []


def test_an_export_takes_no_managed_folder(session: sharkpy.SharkContext, table: str) -> None:
    with pytest.raises(BindError, match="replace all"):
        run(session, f"EXPORT TABLE {table} TO 's3://{BUCKET}/'")


FORMS = ("TEXTFILE", "PARQUET", "ORC", "AVRO", "JSONFILE", "SEQUENCEFILE", "RCFILE")


@pytest.mark.variants(3)
@pytest.mark.parametrize("form", FORMS)
def test_a_query_into_a_folder(
    session: sharkpy.SharkContext, parts: str, place: str, put: Put, names: Names, form: str
) -> None:
    """In all formats, in the place of all that was there."""
    for name in ("old", "deep/old", "_hidden"):
        put(f"{place}/{name}", b"9\n")
    for least in (1, 3):
        query = f"SELECT a, d FROM {parts} WHERE a >= {least}"
        run(session, f"INSERT OVERWRITE DIRECTORY '{place}/' STORED AS {form} {query}")
        assert not [name for name in names(place) if name.startswith("_") or "old" in name]
        back = f"t{uuid4().hex}"
        run(session, f"CREATE EXTERNAL TABLE {back} (a INT, d STRING) STORED AS {form} LOCATION '{place}'")
        expected = rows(session, f"{query} ORDER BY a")
        assert rows(session, f"SELECT a, d FROM {back} ORDER BY a") == expected
    run(session, f"INSERT OVERWRITE DIRECTORY '{place}' SELECT a FROM {parts} WHERE a > 9")
    assert names(place) == []


def test_several_folders_and_a_table(
    session: sharkpy.SharkContext, proxy: FaultProxy, parts: str, table: str, place: str, put: Put, names: Names
) -> None:
    put(f"{place}/x/old", b"9\n")
    statement = (
        f"FROM {parts} INSERT OVERWRITE DIRECTORY '{place}/x' SELECT a WHERE a < 3 "
        f"INSERT OVERWRITE DIRECTORY '{place}/y' SELECT a WHERE a >= 3 "
        f"INSERT OVERWRITE TABLE {table} SELECT a"
    )
    proxy.rules.append(Rule("PUT", "/y/.*_placed", status=403, code="AccessDenied"))
    with pytest.raises(SharkError):
        run(session, statement)
    assert names(place) == ["x/old"]
    assert values(session, table) == [0]
    proxy.rules.clear()
    run(session, statement)
    assert values(session, table) == [1, 2, 3, 4]
    assert sorted(name[:2] for name in names(place)) == ["x/", "y/"]
    # The second of two for one folder stays.
    run(
        session,
        f"FROM {parts} INSERT OVERWRITE DIRECTORY '{place}/x' SELECT a WHERE a < 3 "
        f"INSERT OVERWRITE DIRECTORY '{place}/x' SELECT a WHERE a >= 3",
    )
    assert [a for (a,) in rows(session, f"SELECT value FROM text.`{place}/x` ORDER BY value")] == ["3", "4"]


def test_old_files_that_stay_are_told(
    session: sharkpy.SharkContext, proxy: FaultProxy, table: str, place: str, put: Put, names: Names
) -> None:
    put(f"{place}/old", b"9\n")
    proxy.rules.append(Rule("(DELETE|POST)", "(/old$|delete)", times=1, status=403, code="AccessDenied"))
    with pytest.raises(SourceError, match="some of the old files could not be deleted"):
        run(session, f"INSERT OVERWRITE DIRECTORY '{place}' SELECT a FROM {table}")
    assert len(names(place)) == 2
    run(session, f"INSERT OVERWRITE DIRECTORY '{place}' SELECT a FROM {table}")
    assert len(names(place)) == 1


def test_folders_that_are_not_replaced(session: sharkpy.SharkContext, parts: str, place: str, put: Put) -> None:
    put(f"{place}/file", b"9\n")
    with pytest.raises(SourceError, match="is a file, not a folder"):
        run(session, f"INSERT OVERWRITE DIRECTORY '{place}/file' SELECT 1")
    with pytest.raises(BindError, match="replace all"):
        run(session, f"INSERT OVERWRITE DIRECTORY 's3a://{BUCKET}' SELECT 1")
    owned = f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {owned} (a INT) LOCATION '{place}/owned'")
    for below in ("owned", "owned/deep", ""):
        with pytest.raises(BindError) as caught:
            run(session, f"INSERT OVERWRITE DIRECTORY '{place}/{below}' SELECT 1")
        assert caught.value.sqlstate == "42809"
    with pytest.raises(UnsupportedError, match="read-only"):
        run(session, "INSERT OVERWRITE DIRECTORY 'http://127.0.0.1:1/x' SELECT 1")


def test_load_and_import_into_a_bucket(
    session: sharkpy.SharkContext, place: str, put: Put, names: Names, tmp_path: Path
) -> None:
    """Within the bucket, and from this machine."""
    table, again = f"t{uuid4().hex}", f"t{uuid4().hex}"
    run(session, f"CREATE TABLE {table} (a INT) PARTITIONED BY (p INT) STORED AS TEXTFILE LOCATION '{place}/t'")
    for name, text in (("in/a", b"1\n"), ("in/b", b"2\n"), ("more", b"3\n")):
        put(f"{place}/{name}", text)
    (tmp_path / "here").write_text("4\n")
    run(
        session,
        f"LOAD DATA INPATH '{place}/in' INTO TABLE {table} PARTITION (p=1)",
        f"LOAD DATA LOCAL INPATH '{place}/more' OVERWRITE INTO TABLE {table} PARTITION (p=2)",
        f"LOAD DATA INPATH '{tmp_path}/here' INTO TABLE {table} PARTITION (p=2)",
    )
    assert rows(session, f"SELECT a, p FROM {table} ORDER BY a") == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert not (tmp_path / "here").exists()
    assert names(f"{place}/in") == []
    put(f"{place}/t/p=9/x", b"9\n")
    with pytest.raises(BindError, match="would take files of"):
        run(session, f"LOAD DATA INPATH '{place}/t/p=9' INTO TABLE {table} PARTITION (p=3)")
    run(
        session,
        f"EXPORT TABLE {table} TO '{place}/out'",
        f"IMPORT TABLE {again} FROM '{place}/out' LOCATION '{place}/again'",
    )
    assert rows(session, f"SELECT a, p FROM {again} ORDER BY a") == [(1, 1), (2, 1), (3, 2), (4, 2)]


@pytest.fixture
def far_parts(session: sharkpy.SharkContext, place: str) -> str:
    """A managed table in the bucket, with Hive partitions of several files."""
    made = f"t{uuid4().hex}"
    run(
        session,
        f"CREATE TABLE {made} (a INT) PARTITIONED BY (p INT) STORED AS PARQUET LOCATION '{place}/table'",
        f"INSERT INTO {made} VALUES (1, 1), (2, 2)",
        f"INSERT INTO {made} VALUES (3, 1)",
        f"INSERT OVERWRITE TABLE {made} PARTITION (p=2) SELECT 4",
    )
    return made


def test_a_partition_is_renamed(session: sharkpy.SharkContext, far_parts: str, place: str, put: Put) -> None:
    run(session, f"ALTER TABLE {far_parts} PARTITION (p=1) RENAME TO PARTITION (p=7)")
    expected = [(1, 7), (3, 7), (4, 2)]
    assert rows(session, f"SELECT a, p FROM {far_parts} ORDER BY a") == expected
    # The old name is free, and the new one is used as any other name.
    run(session, f"INSERT INTO {far_parts} VALUES (5, 1), (6, 7)")
    assert rows(session, f"SELECT a, p FROM {far_parts} ORDER BY a") == [*expected, (5, 1), (6, 7)]
    put(f"{place}/table/p=8/others", b"x")
    for name, message in (("p=2", "has the partition p=2 already"), ("p=8", "is not empty")):
        with pytest.raises(BindError, match=message):
            run(session, f"ALTER TABLE {far_parts} PARTITION (p=7) RENAME TO PARTITION ({name})")
    assert rows(session, f"SELECT a, p FROM {far_parts} ORDER BY a") == [*expected, (5, 1), (6, 7)]


def test_partitions_are_exchanged(session: sharkpy.SharkContext, far_parts: str, place: str, names: Names) -> None:
    """From the bucket to this machine, back, and within the bucket."""
    near, other = f"t{uuid4().hex}", f"t{uuid4().hex}"
    run(
        session,
        f"CREATE TABLE {near} (a INT) PARTITIONED BY (p INT) STORED AS PARQUET",
        f"CREATE TABLE {other} (a INT) PARTITIONED BY (p INT) STORED AS PARQUET LOCATION '{place}/other'",
        f"ALTER TABLE {near} EXCHANGE PARTITION (p=1) WITH TABLE {far_parts}",
    )
    assert rows(session, f"SELECT a, p FROM {near} ORDER BY a") == [(1, 1), (3, 1)]
    assert rows(session, f"SELECT a, p FROM {far_parts}") == [(4, 2)]
    assert not [name for name in names(f"{place}/table/p=1") if "_files" in name or "part" in name]
    run(
        session,
        f"ALTER TABLE {other} EXCHANGE PARTITION (p=1) WITH TABLE {near}",
        f"ALTER TABLE {other} EXCHANGE PARTITION (p=2) WITH TABLE {far_parts}",
    )
    assert rows(session, f"SELECT a, p FROM {other} ORDER BY a") == [(1, 1), (3, 1), (4, 2)]
    assert rows(session, f"SELECT * FROM {far_parts} UNION ALL SELECT * FROM {near}") == []
    run(session, f"INSERT INTO {far_parts} VALUES (9, 2)")
    assert rows(session, f"SELECT a, p FROM {far_parts}") == [(9, 2)]
    assert rows(session, f"SELECT a, p FROM {other} ORDER BY a") == [(1, 1), (3, 1), (4, 2)]


@pytest.mark.variants(2)
@pytest.mark.parametrize("met", ["table/p(=|%3D)7/", "table/_files/"])
def test_a_rename_that_fails_changes_nothing(
    session: sharkpy.SharkContext, proxy: FaultProxy, far_parts: str, place: str, names: Names, met: str
) -> None:
    before = names(place)
    proxy.rules.append(Rule("PUT", met, status=403, code="AccessDenied"))
    with pytest.raises(SharkError) as caught:
        run(session, f"ALTER TABLE {far_parts} PARTITION (p=1) RENAME TO PARTITION (p=7)")
    assert caught.value.sqlstate == "42501"
    assert names(place) == before
    assert rows(session, f"SELECT a, p FROM {far_parts} ORDER BY a") == [(1, 1), (3, 1), (4, 2)]
