"""Options next to the paths of files, in OPTIONS (…) and in functions such as read_csv; lists, patterns and folders."""

from __future__ import annotations

import datetime
import json
import os
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import NotAllowedError, SharkError, SourceError, TableNotFoundError
from sharkpy.execution.restrictions import Restrictions
from tests.rows import rows

Rows = list[tuple[object, ...]]


def columns(context: sharkpy.SharkContext, relation: str) -> list[str]:
    with context.sql(f"SELECT * FROM {relation} LIMIT 0") as result:
        return [f"{field.name} {field.dtype}" for field in result.schema]


CSV = "1;x;NA\n2;y, z;01/02/2026\n"
CALLS = {
    "read_csv('{}')": ["_c0 int", "_c1 string", "_c2 string"],
    "csv.`{}`": ["_c0 int", "_c1 string", "_c2 string"],
    "csv.`{}` OPTIONS (header=true)": ["1 int", "x string", "na string"],
    "'{}' OPTIONS ('header' 'true', sep ';')": ["1 int", "x string", "na string"],
    "read_csv('{}', header = false, delim = ';', quote = '')": ["_c0 int", "_c1 string", "_c2 string"],
    "read_csv_auto('{}', header := false, nullstr = 'NA', dateformat = '%d/%m/%Y')": [
        "_c0 int",
        "_c1 string",
        "_c2 date",
    ],
    "csv.`{}` OPTIONS (nullValue = 'NA', dateFormat = 'dd/MM/yyyy') AS t(a, b, c)": ["a int", "b string", "c date"],
    "read_csv('{}', all_varchar = true, auto_detect = true, sample_size = -1)": [
        "_c0 string",
        "_c1 string",
        "_c2 string",
    ],
    "read_csv('{}', skip = 1, header = false) t": ["_c0 int", "_c1 string", "_c2 string"],
    "read_csv(['{}', '{}'])": ["_c0 int", "_c1 string", "_c2 string"],
}


@pytest.mark.parametrize("call", CALLS)
def test_csv(context: sharkpy.SharkContext, tmp_path: Path, call: str) -> None:
    (tmp_path / "x.csv").write_text(CSV)
    relation = call.replace("{}", f"{tmp_path}/x.csv")
    assert columns(context, relation) == CALLS[call]
    count = 1 if "skip" in call or "header=true" in call or "'header' 'true'" in call else 2
    assert rows(context, f"SELECT count(*) FROM {relation}") == [(count,)]


GIVEN = {
    "columns = {'p': 'BIGINT', 'Q': 'VARCHAR', 'r': 'DECIMAL(4,1)'}": ["p bigint", "q string", "r decimal(4,1)"],
    "columns = map('p', 'INT', 'q', 'VARCHAR(2)', 'r', 'date')": ["p int", "q varchar(2)", "r date"],
    "columns = {p: 'INT', q: 'STRING', r: 'INT'}": ["p int", "q string", "r int"],
    "names = ['P']": ["p int", "b string", "c int"],
    "column_names = ('p', 'q', 'r')": ["p int", "q string", "r int"],
    "types = {'A': 'DOUBLE'}": ["a double", "b string", "c int"],
    "types = MAP{'a': 'DOUBLE'}": ["a double", "b string", "c int"],
    "dtypes = named_struct('a', 'SMALLINT', 'c', 'TEXT')": ["a smallint", "b string", "c string"],
    "column_types := ['DOUBLE', 'STRING']": ["a double", "b string", "c int"],
    "types = array('string')": ["a string", "b string", "c int"],
    "names = ['p', 'q'], types = {'q': 'INT', 'c': 'HUGEINT'}": ["p int", "q int", "c decimal(38,0)"],
    "all_varchar = true, types = {'c': 'BOOL'}": ["a string", "b string", "c boolean"],
}


@pytest.mark.parametrize("options", GIVEN)
def test_given_columns(context: sharkpy.SharkContext, tmp_path: Path, options: str) -> None:
    (tmp_path / "x.csv").write_text("a,b,c\n1,x,2\n3,y,4\n")
    relation = f"read_csv('{tmp_path}/x.csv', {options})"
    assert columns(context, relation) == GIVEN[options]
    first, *_ = GIVEN[options]
    assert rows(context, f"SELECT count(*), sum({first.split()[0]}) FROM {relation}") == [(2, 4)]


def test_values_of_given_types(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """A value that does not fit is NULL. With `columns`, types are not found out, and an empty file has columns."""
    (tmp_path / "x.csv").write_text("007,01/02/2026\nx,2026\n")
    options = "columns = {'a': 'INT', 'b': 'DATE'}, dateformat = '%d/%m/%Y', header = false"
    assert rows(context, f"SELECT * FROM read_csv('{tmp_path}/x.csv', {options})") == [
        (7, datetime.date(2026, 2, 1)),
        (None, None),
    ]
    (tmp_path / "empty.csv").write_text("")
    assert columns(context, f"read_csv('{tmp_path}/empty.csv', columns = {{'a': 'INT'}})") == ["a int"]
    (tmp_path / "x.json").write_text('{"a": 1, "B": "x", "z": 1.5}\n{"a": 2}\n')
    relation = f"read_json('{tmp_path}/x.json', columns = {{'b': 'STRING', 'a': 'DOUBLE', 'y': 'ARRAY<INT>'}})"
    assert rows(context, f"SELECT * FROM {relation}") == [("x", 1.0, None), (None, 2.0, None)]


def test_given_columns_of_partitions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "k=1").mkdir()
    (tmp_path / "k=1" / "x.csv").write_text("1,x\n")
    relation = f"read_csv('{tmp_path}/*/*.csv', columns = {{'a': 'INT', 'b': 'VARCHAR'}})"
    assert rows(context, f"SELECT b, a, k FROM {relation}") == [("x", 1, 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("columns = {'a': 'INT'}", r"option columns: 1; columns of the files: 3 \(a, b, c\)"),
        ("names = ['a', 'b', 'c', 'd']", "option names: 4"),
        ("names = ['c']", "several columns have one name: c, b, c"),
        ("types = ['INT', 'INT', 'INT', 'INT']", "option types: 4"),
        ("types = {'bb': 'INT'}", 'the files have no column "bb".*did you mean "b"'),
        ("types = {'b': 'foo'}", 'unknown type "foo"'),
        ("types = {'b': 'ARRAY<INT>'}", 'column "b" of type array<int>'),
    ],
)
def test_given_columns_that_the_files_do_not_have(
    context: sharkpy.SharkContext, tmp_path: Path, options: str, message: str
) -> None:
    (tmp_path / "x.csv").write_text("a,b,c\n1,x,2\n")
    with pytest.raises(SharkError, match=f"{message}.*line 1, column 24" if "mean" not in message else message):
        context.sql(f"SELECT * FROM read_csv('{tmp_path}/x.csv', {options})")


def test_columns_of_other_formats_are_not_given(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "x.parquet")
    with pytest.raises(SharkError, match="names and types of columns for parquet files"):
        context.sql(f"SELECT * FROM read_parquet('{tmp_path}/x.parquet', columns = {{'a': 'INT'}})")


def test_encodings(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("name,n\nJosé,1\n".encode("latin-1"))
    expected = [("José", 1)]
    for encoding in ("ISO-8859-1", "latin-1", "windows-1252"):
        assert rows(context, f"SELECT * FROM read_csv('{tmp_path}/x.csv', encoding = '{encoding}')") == expected
    assert rows(context, f"SELECT * FROM csv.`{tmp_path}/x.csv` OPTIONS (charset='ISO-8859-1')") == expected
    (tmp_path / "x.json").write_bytes('[{"name": "José"},\n{"name": "é"}]'.encode("utf-16-le"))
    text = f"SELECT * FROM read_json('{tmp_path}/x.json', encoding = 'UTF-16LE')"
    assert rows(context, text) == [("José",), ("é",)]


def test_json(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"k": 1}\n{"k": 2}\n')
    for call in (
        *("read_json('{}')", "read_json_auto('{}', format = 'auto')", "read_ndjson('{}')"),
        *("json.`{}` OPTIONS (multiLine true)", "read_json('{}', format = 'newline_delimited', ignore_errors = true)"),
    ):
        assert rows(context, f"SELECT sum(k) FROM {call.replace('{}', str(path))}") == [(3,)], call
    path.write_text(json.dumps([{"k": 1}, {"k": 2}], indent=1))
    assert rows(context, f"SELECT sum(k) FROM read_json('{path}', format = 'array')") == [(3,)]
    with pytest.raises(SourceError, match="no object"):
        rows(context, f"SELECT * FROM read_ndjson('{path}')")


def test_columnar_formats(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    table = pa.table({"k": [1, 2]})
    for name in ("a", "b"):
        pq.write_table(table, tmp_path / f"{name}.parquet")
        pyarrow.orc.write_table(table, tmp_path / f"{name}.orc")
    pq.write_table(table, tmp_path / "odd name")
    for call, total in (
        ("read_parquet('{}/a.parquet')", 3),
        ("parquet_scan('{}/*.parquet', hive_partitioning = true)", 6),
        ("read_parquet(['{}/a.parquet', '{}/b.parquet', '{}/a.parquet'], union_by_name = true)", 6),
        ("read_parquet('{}/odd name')", 3),
        ("read_orc('{}/{a,b}.orc')", 6),
    ):
        assert rows(context, f"SELECT sum(k) FROM {call.replace('{}', str(tmp_path))} t") == [(total,)], call


def test_joins_views_and_tables(context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path)
    call = "read_csv('x.csv', header = false)"
    joined = f"SELECT count(*) FROM {call} a JOIN csv.`x.csv` OPTIONS (header = false) AS b ON a._c0 = b._c0"
    assert rows(context, joined) == [(2,)]
    context.sql(f"CREATE TABLE of_call AS SELECT * FROM {call}").close()
    context.sql(f"CREATE VIEW view_of_call AS SELECT _c0 AS k FROM {call} WHERE _c1 <> 'read_csv'").close()
    context.sql("CREATE VIEW view_of_path AS SELECT _c0 AS k FROM csv.`x.csv` OPTIONS (header = false)").close()
    monkeypatch.chdir("/")
    assert rows(context, "SELECT sum(_c0) FROM of_call") == [(3,)]
    assert rows(context, "SELECT sum(k) FROM view_of_call") == [(3,)]
    assert rows(context, "SELECT sum(k) FROM view_of_path") == [(3,)]


ERRORS = {
    "read_csv()": "takes a path",
    "read_csv('{}', 3)": "options of read_csv are name = value",
    "read_csv('{}', nosuch = 3)": 'no option "nosuch"',
    "read_csv('{}', columns = 'a')": r"columns = \{'a': 'INT'\} expected",
    "csv.`{}` OPTIONS (columns = 'a')": r"the option columns .*read_csv\('path', columns",
    "read_csv('{}', filename = true)": "the option filename",
    "read_csv('{}', header = 'maybe')": "not a value of header",
    "read_csv('{}', dateformat = '%Q')": "not a known pattern of times",
    "read_json('{}', format = 'maybe')": "the option format 'maybe'",
    "csv.`{}` OPTIONS (header true": '"," or',
    "csv.`{}` OPTIONS (header = )": "a value of header",
    "`nosuch` OPTIONS (header = true)": "does not tell a file format",
    "read_parquet('{}', sep = ';')": 'no option "sep"',
}


@pytest.mark.parametrize("call", ERRORS)
def test_errors(context: sharkpy.SharkContext, tmp_path: Path, call: str) -> None:
    (tmp_path / "x.csv").write_text(CSV)
    with pytest.raises(SharkError, match=ERRORS[call]):
        rows(context, f"SELECT * FROM {call.replace('{}', str(tmp_path / 'x.csv'))}")


def test_an_alias_called_options(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("1,2\n3,4\n")
    assert rows(context, f"SELECT options.a FROM '{tmp_path}/x.csv' options (a, b)") == [(1,), (3,)]
    context.sql("CREATE TABLE `options` AS SELECT 7 AS k").close()
    assert rows(context, "SELECT k FROM `options`") == [(7,)]


def test_patterns_and_folders(context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate(("a1.csv", "a2.csv", "b1.csv", "c{1,2}.csv", "d/e/f.csv", "_h.csv", ".i.csv")):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"k\n{10**number}\n")
    for pattern, total in (
        ("{a,b}*.csv", 111),
        ("a[0-9].csv", 11),
        ("a[!1].csv", 10),
        ("{a{1,2},b1,zz}.csv", 111),
        ("c{1,2}.csv", 1000),
        ("{a1,d/e/f}.csv", 10001),
        ("**/f.csv", 10000),
        ("**", 11111),
        ("_h.csv", 100000),
        ("_*.csv", 100000),
    ):
        assert rows(context, f"SELECT sum(k) FROM '{tmp_path}/in/{pattern}'") == [(total,)], pattern
    monkeypatch.chdir(tmp_path)
    for place in ("'in'", "'in/'", "csv.`in`", "read_csv('in')", "read_csv(['in/d', 'in/a1.csv', 'in/a?.csv'])"):
        assert rows(context, f"SELECT sum(k) FROM {place}") == [(10011 if "?" in place else 11111,)], place
    with pytest.raises(SourceError, match="no file matches"):
        rows(context, f"SELECT * FROM '{tmp_path}/in/{{x,y}}.csv'")
    with pytest.raises(TableNotFoundError):
        rows(context, "SELECT * FROM 'inn'")


def test_bounds(context: sharkpy.SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = context.new_session(shark_user="ann")
    (tmp_path / "open").mkdir()
    (tmp_path / "secret").mkdir()
    for folder in ("open", "secret"):
        (tmp_path / folder / "x.csv").write_text("k\n1\n")
    guest.restrictions = Restrictions((tmp_path / "open",), (), guards_settings=True)
    assert rows(guest, f"SELECT k FROM read_csv('{tmp_path}/open/x.csv')") == [(1,)]
    for call in (
        f"read_csv('{tmp_path}/secret/x.csv')",
        f"read_csv(['{tmp_path}/open/x.csv', '{tmp_path}/secret/x.csv'])",
        f"csv.`{tmp_path}/{{open,secret}}/x.csv`",
        f"csv.`{tmp_path}/{{secret/x,secret/y}}.csv`",
    ):
        with pytest.raises(NotAllowedError, match="bounds"):
            rows(guest, f"SELECT k FROM {call}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableNotFoundError):
        rows(guest, "SELECT * FROM 'secret'")


def test_answers_are_duckdb_s(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("".join(f"{n}|'a|{n}'|{n / 4}\n" for n in range(500)))
    call = "read_csv('{1}', header = false, delim = '|', quote = {2})"
    text = f"SELECT count(*), sum({{0}}0), min({{0}}1), sum({{0}}2) FROM {call}"
    with duckdb.connect() as connection:
        expected = connection.execute(text.format("column", f"{tmp_path}/x.csv", "''''")).fetchall()
    assert rows(context, text.format("_c", f"{tmp_path}/x.csv", '"\'"')) == expected
    assert sorted(os.listdir(tmp_path)) == ["w", "x.csv"]
