"""Keys of objects that other programs write: characters that URLs encode, signs of patterns, marks of folders."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from uuid import uuid4

import pyarrow as pa
import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from tests.rows import rows
from tests.storage.places import BUCKET, s3_store
from tests.storage.s3_servers import S3Server, s3_client
from tests.storage.warehouses import keys

NAMES = (
    *("a+b.csv", "a%20b.csv", "a b.csv", "a#b.csv", "a?b.csv", "a&b;c=d.csv", "a:b@c.csv", "%41.csv", "%ZZ.csv"),
    *("käse/日本.csv", "e\u0301.csv", "😀.csv", "~.csv", "q'u\"ote.csv", "b[1].csv", "c*d.csv", "e{f,g}.csv"),
)
VALUES = (
    *("a+b", "a%20b", "a b", "a/b", "a//b", "a#b", "a?b", "ü日", "%", "%2F", "a=b", "a:b", "a\\b", "'q", '"d', "[x]"),
    *("{y}", "*", "a&b", ";", "\t", "\n", "\x01", "\x7f", "~", ".", "..", ".hidden", "_hidden", "é", "e\u0301", "😀"),
    *("<>", "^", "`", "|", "a ", " a"),
)


@pytest.fixture(scope="module", params=["moto", "seaweed"])
def server(request: pytest.FixtureRequest) -> S3Server:
    found: S3Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def session(server: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w"), **keys(server.address)) as session:
        yield session


@pytest.fixture
def prefix() -> str:
    return uuid4().hex


def put(server: S3Server, prefix: str, names: Sequence[str]) -> None:
    """Put objects, each with a row: its place among the names."""
    client = s3_client(server.address)
    for number, name in enumerate(names):
        client.put_object(Bucket=BUCKET, Key=f"{prefix}/{name}", Body=b"%d\n" % number)
    client.close()


def quoted(text: str) -> str:
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def test_names_are_read_as_they_are(session: sharkpy.SharkContext, server: S3Server, prefix: str) -> None:
    put(server, prefix, NAMES)
    place = f"s3://{BUCKET}/{prefix}"
    wanted = [(number, f"{place}/{name}") for number, name in enumerate(NAMES)]
    options = "OPTIONS (header = false)"
    assert rows(session, f"SELECT _c0, INPUT__FILE__NAME FROM '{place}' {options} ORDER BY _c0") == wanted
    for number, name in wanted:
        assert rows(session, f"SELECT * FROM {quoted(name)} {options}") == [(number,)]
    session.sql(f"CREATE EXTERNAL TABLE t{prefix} (k INT) LOCATION '{place}'").close()
    assert rows(session, f"SELECT k, INPUT__FILE__NAME FROM t{prefix} ORDER BY k") == wanted


def test_values_of_partitions_come_back(session: sharkpy.SharkContext, prefix: str) -> None:
    session.save_as_table(pa.table({"k": range(len(VALUES)), "v": VALUES}), f"v{prefix}")
    columns = "(k INT) PARTITIONED BY (p STRING, q STRING) STORED AS PARQUET"
    session.sql(f"CREATE TABLE t{prefix} {columns} LOCATION 's3://{BUCKET}/{prefix}'").close()
    session.sql(f"INSERT INTO t{prefix} PARTITION (p, q) SELECT k, v, reverse(v) FROM v{prefix}").close()
    wanted = [(number, value, value[::-1]) for number, value in enumerate(VALUES)]
    assert rows(session, f"SELECT * FROM t{prefix} ORDER BY k") == wanted
    for row in wanted[::3]:
        assert rows(session, f"SELECT * FROM t{prefix} WHERE p = {quoted(row[1])}") == [row]
    session.sql(f"CREATE EXTERNAL TABLE u{prefix} {columns} LOCATION 's3://{BUCKET}/{prefix}'").close()
    session.sql(f"MSCK REPAIR TABLE u{prefix}").close()
    assert rows(session, f"SELECT * FROM u{prefix} ORDER BY k") == wanted


def test_partitions_of_other_programs(session: sharkpy.SharkContext, server: S3Server, prefix: str) -> None:
    values = ["a+b", "a b", "a#b", "a?b", "ü日", "a&b", "%ZZ", "100%"]
    put(server, prefix, [f"p={value}/x.csv" for value in (*values, "a%3Ab", "a%2Fb")])
    found = rows(session, f"SELECT * FROM csv.`s3://{BUCKET}/{prefix}` OPTIONS (header = false) ORDER BY _c0")
    assert found == list(enumerate([*values, "a:b", "a/b"]))


def test_marks_that_have_bytes_hold_no_rows(session: sharkpy.SharkContext, server: S3Server, prefix: str) -> None:
    names = ["a/", "a/x.csv", "sub/", "sub-b.csv", "sub.csv", "sub/x.csv", "sub/y/", "sub/y/z.csv", "sub0.csv"]
    put(server, prefix, names)
    wanted = [(number,) for number, name in enumerate(names) if not name.endswith("/")]
    place = f"s3://{BUCKET}/{prefix}"
    assert rows(session, f"SELECT * FROM '{place}' OPTIONS (header = false) ORDER BY 1") == wanted
    session.sql(f"CREATE EXTERNAL TABLE t{prefix} (k INT) LOCATION '{place}'").close()
    assert rows(session, f"SELECT * FROM t{prefix} ORDER BY k") == wanted


@pytest.mark.parametrize("is_sorted", [False, True])
def test_an_object_that_has_the_name_of_a_folder(moto: S3Server, prefix: str, is_sorted: bool) -> None:
    """`b` and the mark `b/` are two objects, and so are `d` and `d/`, with a name between them."""
    put(moto, prefix, ["a", "a/x", "b", "b/", "b/x", "c/", "c/x", "d", "d-", "d/", "d/x", "e/", "e0"])
    store = s3_store(moto.address, is_sorted=is_sorted)
    found = [one.path.rpartition(f"{prefix}/")[2] for one in store.list(f"s3://{BUCKET}/{prefix}") if one.size_bytes]
    # The mark of the empty folder `e` looks the same as an object.
    assert found == ["a", "a/x", "b", "b/x", "c/x", "d", "d-", "d/x", "e", "e0"]
