"""Files that queries name: FROM parquet.`/data/x`, FROM 'x.csv', and tables that are made like files."""

from __future__ import annotations

import datetime
import gzip
import json
import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import (
    BindError,
    NotAllowedError,
    ParseError,
    SharkError,
    SourceError,
    TableNotFoundError,
    UnsupportedError,
)
from sharkpy.execution.restrictions import Restrictions
from sharkpy.session import prepared_statement
from sharkpy.sources.named_files import named_files, partition_columns
from sharkpy.values.types import BIGINT, DATE, INT, STRING
from tests.rows import rows

Rows = list[tuple[object, ...]]


def columns(context: sharkpy.SharkContext, relation: str) -> list[tuple[str, str]]:
    with context.sql(f"SELECT * FROM {relation} LIMIT 0") as result:
        return [(field.name, str(field.dtype)) for field in result.schema]


def parquet(path: Path, **values: list[object]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(values), path)
    return str(path)


# Formats


def test_parquet(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = parquet(tmp_path / "Flights.parquet", Id=[1, 2, 3], name=["a", None, "c"])
    for relation in (f"parquet.`{path}`", f"PARQUET.`{path}`", f"'{path}'", f"`{path}`", f"parquet.`file:{path}`"):
        assert columns(context, relation) == [("id", "bigint"), ("name", "string")]
        assert rows(context, f"SELECT * FROM {relation} ORDER BY id") == [(1, "a"), (2, None), (3, "c")]
        assert rows(context, f"SELECT flights.name FROM {relation} WHERE flights.id = 3") == [("c",)]
    joined = f"SELECT f.id, count(*) FROM '{path}' f JOIN parquet.`{path}` AS g ON f.id >= g.id GROUP BY f.id"
    assert sorted(rows(context, joined)) == [(1, 1), (2, 2), (3, 3)]
    named = rows(context, f"SELECT DISTINCT INPUT__FILE__NAME FROM '{path}'")
    assert named == [(f"file:{path}",)]


@pytest.mark.spark
def test_tasks_read_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", k=list(range(10)))
    other = context.new_session()
    other.sql("SET shark.placement.driver=false").close()
    assert rows(other, f"SELECT sum(k) FROM '{path}'") == [(45,)]


@pytest.mark.parametrize("word", ["orc", "avro", "json", "parquet"])
def test_formats_that_tell_their_columns(context: sharkpy.SharkContext, tmp_path: Path, word: str) -> None:
    stored = {"json": "JSONFILE"}.get(word, word.upper())
    context.sql(
        f"CREATE EXTERNAL TABLE {word}_rows (n BIGINT, s STRING, p STRUCT<x:BIGINT,y:ARRAY<STRING>>) STORED AS {stored}"
        f" LOCATION '{tmp_path}'"
    ).close()
    context.sql(
        f"INSERT INTO {word}_rows SELECT 1, 'a', named_struct('x', 2L, 'y', array('u', 'v')) UNION ALL "
        "SELECT 2, 'b', named_struct('x', 3L, 'y', array('w'))"
    ).close()
    relation = f"{word}.`{tmp_path}`"
    assert [name for name, _ in columns(context, relation)] == ["n", "s", "p"]
    text = f"SELECT n, s, p.x, p.y[0] FROM {relation} ORDER BY n"
    assert rows(context, text) == [(1, "a", 2, "u"), (2, "b", 3, "w")]
    assert rows(context, text.replace(relation, f"{word}_rows")) == rows(context, text)


def test_text(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes(b"a\x01b,c\n\n\\N\n  d \n")
    assert columns(context, f"text.`{path}`") == [("value", "string")]
    assert rows(context, f"SELECT value FROM text.`{path}`") == [("a\x01b,c",), ("",), ("\\N",), ("  d ",)]


def test_csv(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "Sales.csv"
    path.write_text(
        'Id;Note;Day;Price\n1;"a ""b""\nof two lines";2026-01-02;1.5\n2;;2026-01-03;2\n3;plain;2026-01-04;-3.25\n'
    )
    assert columns(context, f"'{path}'") == [("id", "int"), ("note", "string"), ("day", "date"), ("price", "double")]
    assert rows(context, f"SELECT * FROM csv.`{path}` ORDER BY sales.id") == [
        (1, 'a "b"\nof two lines', datetime.date(2026, 1, 2), 1.5),
        (2, None, datetime.date(2026, 1, 3), 2.0),
        (3, "plain", datetime.date(2026, 1, 4), -3.25),
    ]


def test_types_of_csv_are_those_of_all_values(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Also of values that a sample would not have."""
    path = tmp_path / "late.csv"
    path.write_text("k,v\n" + "".join(f"{n},{n}\n" for n in range(50_000)) + "50000,x\n")
    assert columns(context, f"'{path}'") == [("k", "int"), ("v", "string")]
    assert rows(context, f"SELECT count(*), max(k), min(v) FROM '{path}'") == [(50_001, 50_000, "0")]


def test_csv_without_a_header(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "plain.tsv"
    path.write_text("1\t2.5\n2\t3.5\n")
    assert columns(context, f"'{path}'") == [("_c0", "int"), ("_c1", "double")]
    assert rows(context, f"SELECT sum(_c0), sum(_c1) FROM '{path}'") == [(3, 6.0)]


def test_compressed(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for name, content in (("a.csv.gz", "k,v\n1,x\n2,y\n"), ("b.json.gz", '{"k": 1, "v": "x"}\n{"k": 2, "v": "y"}\n')):
        with gzip.open(tmp_path / name, "wt") as file:
            file.write(content)
        assert rows(context, f"SELECT * FROM '{tmp_path}/{name}' ORDER BY k") == [(1, "x"), (2, "y")]


def test_json(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    objects = [
        {"id": 1, "at": "2026-01-02", "tags": ["a"], "user": {"Name": "ada", "age": 3}, "big": 2**63, "r": 1},
        {"id": 2, "at": "2026-01-03 10:00:00", "tags": [], "user": {"age": None}, "big": 1, "r": 1.5},
        {"id": -3, "other": True, "mixed": [1, "x"], "n": [{"N": 2**64 - 1}]},
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in objects) + "no object\n")
    found = dict(columns(context, f"'{path}'"))
    assert found["id"] == "bigint"
    assert found["at"] == "string"
    assert found["tags"] == "array<string>"
    assert found["user"] == "struct<name:string,age:bigint>"
    assert found["big"] == "decimal(20,0)"
    assert found["r"] == "double"
    assert found["other"] == "boolean"
    assert found["mixed"] == "array<string>"
    assert found["n"] == "array<struct<n:decimal(20,0)>>"
    text = f"SELECT id, at, user.name, user.age, big, r, size(tags) FROM '{path}' WHERE id IS NOT NULL ORDER BY id"
    assert [tuple(map(str, row)) for row in rows(context, text)] == [
        ("-3", "None", "None", "None", "None", "None", "-1"),
        ("1", "2026-01-02", "ada", "3", str(2**63), "1.0", "1"),
        ("2", "2026-01-03 10:00:00", "None", "None", "1", "1.5", "0"),
    ]


def test_keys_that_differ_by_case_are_one(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1, "x": {"A": 1}}\n[1]\n{"Id": 2.5, "X": {"a": "v"}}\n')
    assert columns(context, f"'{tmp_path}/a.json'") == [("id", "double"), ("x", "struct<a:string>")]
    assert rows(context, f"SELECT id FROM '{tmp_path}/a.json'") == [(1.0,), (None,), (2.5,)]


def test_keys_of_all_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "0.json").write_text("{}\n")
    (tmp_path / "a.json").write_text('{"k": 1}\n')
    (tmp_path / "b.json").write_text('{"k": 2.5, "v": "x"}\n')
    assert columns(context, f"'{tmp_path}'") == [("k", "double"), ("v", "string")]
    assert rows(context, f"SELECT k FROM '{tmp_path}' ORDER BY k") == [(None,), (1.0,), (2.5,)]


# Places


@pytest.fixture
def parted(tmp_path: Path) -> Path:
    for day, hour, k in (("2026-01-01", 1, 1), ("2026-01-01", 2, 2), ("2026-01-02", 1, 3)):
        parquet(tmp_path / "t" / f"day={day}" / f"Hour={hour}" / "a.parquet", k=[k, 10 * k])
    parquet(tmp_path / "t" / "day=2026-01-02" / "Hour=__HIVE_DEFAULT_PARTITION__" / "a.parquet", k=[4])
    return tmp_path / "t"


def test_hive_partitions(context: sharkpy.SharkContext, parted: Path) -> None:
    relation = f"parquet.`{parted}`"
    assert columns(context, relation) == [("k", "bigint"), ("day", "date"), ("hour", "int")]
    text = f"SELECT sum(k) FROM {relation}"
    assert rows(context, text) == [(70,)]
    assert rows(context, f"{text} WHERE day = '2026-01-01' AND hour = 2") == [(22,)]
    assert rows(context, f"{text} WHERE hour IS NULL") == [(4,)]
    plan = [line for (line,) in rows(context, f"EXPLAIN {text} WHERE day = '2026-01-02'")]
    assert any("2 of 4 partitions" in str(line) for line in plan)
    (inputs,) = rows(context, f"EXPLAIN DEPENDENCY {text} WHERE hour = 2")
    assert str(inputs[0]).count("hour=2") + str(inputs[0]).count("Hour=2") == 1
    parquet(parted / "day=2026-01-03" / "Hour=7" / "a.parquet", k=[100])
    assert rows(context, text) == [(170,)]


def test_patterns(context: sharkpy.SharkContext, parted: Path) -> None:
    for pattern, expected in (
        (f"{parted}/day=2026-01-01/*/a.parquet", 33),
        (f"{parted}/day=2026-01-0[12]/Hour=1", 44),
        (f"{parted}/**/*.parquet", 70),
        (f"{parted}/**", 70),
        (f"{parted}/day=2026-01-0?", 70),
    ):
        assert rows(context, f"SELECT sum(k) FROM parquet.`{pattern}`") == [(expected,)], pattern
    assert rows(context, f"SELECT DISTINCT hour FROM parquet.`{parted}/day=2026-01-01/*/a.parquet`") in (
        [(1,), (2,)],
        [(2,), (1,)],
    )
    (parted / "_SUCCESS").write_text("")
    (parted / ".hidden.parquet").write_text("")
    assert rows(context, f"SELECT sum(k) FROM parquet.`{parted}/**`") == [(70,)]


def test_any_folders_several_times(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    names = ["a/x", "b/a/x", "b/a/c/x", "b/a/c/a/x", "a/a/a/x", "b/x", "b/_a/a/x", "b/a/.c/x", "b/aa/x"]
    for number, name in enumerate(names):
        parquet(tmp_path / f"{name}.parquet", k=[1 << number])
    (tmp_path / "b" / "loop").symlink_to(tmp_path)
    (tmp_path / "b" / "link").symlink_to(tmp_path / "a")
    wanted = {
        "**/a/**/*.parquet": ["a/x", "b/a/x", "b/a/c/x", "b/a/c/a/x", "a/a/a/x"],
        "**/a/**/a/*.parquet": ["b/a/c/a/x", "a/a/a/x"],
        "**/a/**/c/**": ["b/a/c/x", "b/a/c/a/x"],
        "**/_a/**/*.parquet": ["b/_a/a/x"],
        f"{'**/' * 40}x.parquet": [name for name in names if "/_" not in name and "/." not in name],
    }
    for pattern, found in wanted.items():
        files = {f"file:{tmp_path}/{name}.parquet" for name in found}
        # Files of `a` are found by their link as well.
        text = f"SELECT DISTINCT INPUT__FILE__NAME, count(*) OVER () FROM parquet.`{tmp_path}/{pattern}`"
        given = rows(context, text)
        assert len(given) == given[0][1]
        assert {name for name, _ in given if "/link/" not in name} == files, pattern
    (tmp_path / "b" / "link").unlink()
    context.sql("CREATE TABLE loaded_deep (k BIGINT) STORED AS PARQUET").close()
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}/**/a/**' INTO TABLE loaded_deep").close()
    assert rows(context, "SELECT sum(k) FROM loaded_deep") == [(0b11111,)]


def test_names_with_signs_of_patterns(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    parquet(tmp_path / "a[1]*.parquet", k=[1])
    parquet(tmp_path / "a1x.parquet", k=[2])
    (tmp_path / "j[1].json").write_text('{"k": 3}\n')
    (tmp_path / "j1.json").write_text('{"k": 4}\n')
    assert rows(context, f"SELECT k FROM '{tmp_path}/a[1]*.parquet'") == [(1,)]
    assert rows(context, f"SELECT k FROM '{tmp_path}/j[1].json'") == [(3,)]


def test_a_table_of_the_warehouse_by_its_folder(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE kept STORED AS PARQUET AS SELECT 1 AS k").close()
    context.sql("INSERT OVERWRITE TABLE kept SELECT 2").close()
    context.sql("INSERT INTO kept VALUES (3)").close()
    folder = Path(context.catalog.warehouse_dir, "kept")
    assert sorted(rows(context, f"SELECT * FROM parquet.`{folder}`")) == [(2,), (3,)]


@pytest.mark.parametrize("name", ["day", "k"])
def test_types_of_partition_columns(tmp_path: Path, name: str) -> None:
    def told(*values: str) -> object:
        for value in values:
            (tmp_path / f"{name}={value}").mkdir(exist_ok=True)
            (tmp_path / f"{name}={value}" / "f").write_text("")
        found = partition_columns(named_files([str(tmp_path)], str, str).files)
        assert found.names == (name,)
        return found[name].dtype

    assert told("1", "-2") == INT
    assert told("3000000000") == BIGINT
    assert told("2026-01-01") == STRING
    for folder in tmp_path.iterdir():
        (folder / "f").unlink()
        folder.rmdir()
    assert told("2026-01-01", "__HIVE_DEFAULT_PARTITION__") == DATE
    assert told("2026-W01-1") == STRING


def test_partitions_of_several_kinds(tmp_path: Path) -> None:
    for folder in ("a=1", "b=1"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f").write_text("")
    with pytest.raises(SourceError, match="other partition columns"):
        partition_columns(named_files([str(tmp_path)], str, str).files)
    (tmp_path / "f").write_text("")
    with pytest.raises(SourceError, match='has "f" beside'):
        named_files([str(tmp_path)], str, str)


def test_folders_within_themselves(tmp_path: Path) -> None:
    (tmp_path / "a=1").symlink_to(tmp_path)
    with pytest.raises(SourceError, match="more than 32 partition columns"):
        named_files([str(tmp_path)], str, str)


# Changes


def test_files_that_change(context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[str] = []
    original = prepared_statement.bind

    def bind(text: str, *rest: object) -> object:
        bound.append(text)
        return original(text, *rest)

    monkeypatch.setattr(prepared_statement, "bind", bind)
    path = parquet(tmp_path / "x.parquet", k=[1])
    text = f"SELECT * FROM '{path}'"
    rows(context, f"SELECT count(*) FROM '{path}'")  # the first query of an engine may be planned twice
    bound.clear()
    assert rows(context, text) == [(1,)]
    assert rows(context, text) == [(1,)]
    assert bound == [text]
    os.utime(path, (0, 0))
    parquet(tmp_path / "x.parquet", v=["a"], k=[2])
    assert rows(context, text) == [("a", 2)]
    Path(path).unlink()
    with pytest.raises(SourceError) as caught:
        rows(context, text)
    assert caught.value.sqlstate == "58P01"
    parquet(tmp_path / "x.parquet", k=[7])
    assert rows(context, text) == [(7,)]


def test_views_and_tables_of_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", k=[1, 2])
    context.sql(f"CREATE VIEW of_files AS SELECT k + 1 AS k FROM '{path}'").close()
    context.sql(f"CREATE TABLE from_files AS SELECT * FROM parquet.`{path}`").close()
    context.sql(f"INSERT INTO from_files SELECT * FROM '{path}'").close()
    parquet(tmp_path / "x.parquet", k=[10, 20, 30])
    assert rows(context, "SELECT sum(k) FROM of_files") == [(63,)]
    assert rows(context, "SELECT sum(k) FROM from_files") == [(6,)]
    with pytest.raises(SharkError, match="not found"):
        context.sql(f"INSERT INTO parquet.`{path}` VALUES (1)")
    assert rows(context, f"SELECT sum(k) FROM '{path}'") == [(60,)]


def test_files_are_described(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", k=[1, 3], s=["a", None])
    expected = [("k", "bigint", None), ("s", "string", None)]
    for relation in (f"'{path}'", f"parquet.`{path}`", f"TABLE '{path}'"):
        assert rows(context, f"DESCRIBE {relation}") == expected
    found = rows(context, f"SUMMARIZE parquet.`{path}`")
    assert [row[:4] for row in found] == [("k", "bigint", "1", "3"), ("s", "string", "a", "a")]
    error = refused(context, f"DESCRIBE\n'{tmp_path}/y.parquet'", SourceError, "does not exist")
    assert (error.line, error.column) == (2, 1)


def test_names_of_the_catalog_come_first(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", k=[1])
    context.sql("CREATE DATABASE json").close()
    context.sql("CREATE TABLE json.t AS SELECT 5 AS k").close()
    try:
        assert rows(context, "SELECT k FROM json.t") == [(5,)]
        assert rows(context, "SELECT k FROM json.`t`") == [(5,)]
        with pytest.raises(TableNotFoundError):
            context.sql("SELECT * FROM json.u")
    finally:
        context.sql("DROP DATABASE json CASCADE").close()
    assert rows(context, f"WITH x AS (SELECT 3 AS k) SELECT x.k, f.k FROM x, '{path}' f") == [(3, 1)]


# Errors


def refused(context: sharkpy.SharkContext, text: str, kind: type[SharkError], message: str) -> SharkError:
    with pytest.raises(kind, match=message) as caught:
        rows(context, text)
    return caught.value


def test_errors(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", k=[1])
    missing = refused(context, f"SELECT *\nFROM '{tmp_path}/y.parquet'", SourceError, "does not exist")
    assert (missing.sqlstate, missing.line, missing.column) == ("58P01", 2, 6)
    refused(context, f"SELECT * FROM csv.`{tmp_path}/*.csv`", SourceError, "no file matches")
    refused(context, f"SELECT * FROM orc.`{path}`", SourceError, "ORC|orc")
    refused(context, f"SELECT * FROM avro.`{path}`", SourceError, "Avro")
    refused(context, f"SELECT * FROM nosuch.`{path}`", BindError, "not found")
    refused(context, "SELECT * FROM 'flights'", TableNotFoundError, "Table not found flights")
    refused(context, f"SELECT * FROM hudi.`{tmp_path}`", UnsupportedError, "format hudi")
    (tmp_path / "y.csv").write_text("a,b\n1,2\n")
    hint = refused(context, f"SELECT * FROM '{tmp_path}'", SourceError, "do not tell a single format").hint
    assert hint is not None
    assert "parquet.`" in hint
    (tmp_path / "empty").mkdir()
    refused(context, f"SELECT * FROM parquet.`{tmp_path}/empty`", SourceError, "not known")
    refused(context, f"SELECT * FROM json.`{tmp_path}/empty`", SourceError, "not known")
    refused(context, f"SELECT * FROM csv.`{tmp_path}/empty`", SourceError, "not known")
    os.mkfifo(tmp_path / "pipe.csv")
    refused(context, f"SELECT * FROM '{tmp_path}/pipe.csv'", SourceError, "device or a pipe")
    refused(context, "SELECT * FROM text.`/dev/zero`", SourceError, "device or a pipe")
    (tmp_path / "values.json").write_text("[1]\n2\n")
    refused(context, f"SELECT * FROM '{tmp_path}/values.json'", SourceError, "no object")
    (tmp_path / "deep.json").write_text(f'{{"a": {"[" * 2000}{"]" * 2000}}}\n')
    refused(context, f"SELECT * FROM '{tmp_path}/deep.json'", SourceError, "1,000 levels deep")
    refused(context, "SELECT * FROM 'oss://host/x.parquet'", UnsupportedError, "storage of the scheme")
    refused(context, f"SELECT * FROM '{path}' FOR SYSTEM_VERSION AS OF 1", UnsupportedError, "version")
    pq.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "case.parquet")
    refused(context, f"SELECT * FROM '{tmp_path}/case.parquet'", SourceError, "differ only by case")


def test_bounds(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    guest = context.new_session(shark_user="ann")
    (tmp_path / "open").mkdir()
    guest.restrictions = Restrictions((tmp_path / "open",), (), guards_settings=True)
    secret = parquet(tmp_path / "secret" / "x.parquet", k=[1])
    inside = parquet(tmp_path / "open" / "in" / "x.parquet", k=[2])
    assert rows(context, f"SELECT k FROM '{secret}'") == [(1,)]
    refused(guest, f"SELECT k FROM '{secret}'", NotAllowedError, "bounds")
    assert rows(guest, f"SELECT k FROM '{inside}'") == [(2,)]
    for place in (tmp_path / "open" / "in", f"{tmp_path}/open/in/*.parquet", f"{tmp_path}/open/**"):
        assert rows(guest, f"SELECT k FROM parquet.`{place}`") == [(2,)]
    # Rows that other sessions have read are not shown either.
    (tmp_path / "open" / "in" / "link.parquet").symlink_to(secret)
    for place in (tmp_path / "open" / "in", f"{tmp_path}/open/in/*.parquet", f"{tmp_path}/open/**"):
        refused(guest, f"SELECT k FROM parquet.`{place}`", NotAllowedError, "bounds")


# Tables like files


def test_create_table_like_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = parquet(tmp_path / "x.parquet", Id=[1], day=[datetime.date(2026, 1, 1)])
    context.sql(f"CREATE TABLE like_parquet LIKE PARQUET '{path}'").close()
    context.sql(f"CREATE TABLE like_file LIKE FILE PARQUET '{path}' STORED AS ORC").close()
    for name in ("like_parquet", "like_file"):
        assert columns(context, name) == [("id", "bigint"), ("day", "date")]
        assert rows(context, f"SELECT * FROM {name}") == []
    assert ("STORED AS ORC",) in rows(context, "SHOW CREATE TABLE like_file")
    assert ("STORED AS ORC",) not in rows(context, "SHOW CREATE TABLE like_parquet")
    refused(context, f"CREATE TABLE x LIKE NOSUCH '{path}'", ParseError, "not a file format")
    refused(context, f"CREATE TABLE x LIKE PARQUET '{path}.no'", SourceError, "does not exist")
    # A table of that name does not hide the format.
    context.sql("CREATE TABLE parquet (k INT)").close()
    context.sql("CREATE TABLE like_table LIKE parquet").close()
    assert columns(context, "like_table") == [("k", "int")]


@pytest.mark.parametrize("word", ["PARQUET", "ORC", "AVRO", "JSONFILE"])
def test_external_tables_without_columns(context: sharkpy.SharkContext, tmp_path: Path, word: str) -> None:
    context.sql(f"CREATE EXTERNAL TABLE w_{word} (n BIGINT, s STRING) STORED AS {word} LOCATION '{tmp_path}'").close()
    context.sql(f"INSERT INTO w_{word} VALUES (1, 'a')").close()
    context.sql(f"CREATE EXTERNAL TABLE r_{word} STORED AS {word} LOCATION '{tmp_path}'").close()
    assert columns(context, f"r_{word}") == [("n", "bigint"), ("s", "string")]
    assert rows(context, f"SELECT * FROM r_{word}") == [(1, "a")]
    context.sql(f"CREATE TABLE u_{word} USING {word.removesuffix('FILE')} LOCATION '{tmp_path}'").close()
    assert rows(context, f"SELECT s FROM u_{word}") == [("a",)]


def test_tables_without_columns_whose_files_tell_none(context: sharkpy.SharkContext, parted: Path) -> None:
    create = "CREATE EXTERNAL TABLE x STORED AS"
    refused(context, f"{create} PARQUET LOCATION '{parted}'", SourceError, "Hive partitions")
    refused(context, f"{create} TEXTFILE LOCATION '{parted}'", ParseError, "a list of columns")
    refused(context, f"{create} PARQUET", ParseError, "a list of columns")
    (parted / "none").mkdir()
    refused(context, f"{create} PARQUET LOCATION '{parted}/none'", SourceError, "not known")
    assert rows(context, "SHOW TABLES LIKE 'x'") == []


# Compared with DuckDB


def test_answers_are_duckdb_s(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS n, i % 7 AS g, 'name ' || (i % 11) AS s, i / 4.0 AS r, "
            "DATE '2026-01-01' + (i % 90)::INT AS d FROM range(5000) x(i)"
        )
        connection.execute(f"COPY t TO '{tmp_path}/t.parquet'")
        connection.execute(f"COPY t TO '{tmp_path}/t.csv'")
        connection.execute(f"COPY t TO '{tmp_path}/t.json'")
        connection.execute(f"COPY t TO '{tmp_path}/parts' (FORMAT parquet, PARTITION_BY (g))")
        for place in ("t.parquet", "t.csv", "t.json", "parts/**/*.parquet"):
            relation = f"'{tmp_path}/{place}'"
            text = "SELECT g, count(*), sum(n), max(s), sum(r), max(d) FROM {} GROUP BY g ORDER BY g"
            found = [tuple(map(str, row)) for row in rows(context, text.format(relation))]
            expected = connection.execute(text.format("t")).fetchall()
            assert found == [tuple(map(str, row)) for row in expected], place
