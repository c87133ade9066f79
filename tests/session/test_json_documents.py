"""JSON files that have no object a line: FROM 'x.json' and the option multiLine."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import duckdb
import pytest

import sharkpy
from sharkpy.base.errors import ConfigurationError, SourceError, UnsupportedError
from tests.rows import rows

OBJECTS = [{"k": 1, "s": 'a "}] \\'}, {"k": 2, "o": {"p": [1.50, {}]}}, {"k": 3, "s": "é\u2028\n"}, {}]
PRETTY = [json.dumps(one, indent=2, ensure_ascii=False) for one in OBJECTS]
ROWS = [(1, 'a "}] \\', None), (2, None, {"p": ["1.5", "{}"]}), (3, "é\u2028\n", None), (None, None, None)]
DOCUMENTS = {
    "array": json.dumps(OBJECTS, indent=4),
    "array in a line": json.dumps(OBJECTS),
    "array of lines": "[\n" + ",\n".join(map(json.dumps, OBJECTS)) + "\n]",
    "objects": "\n".join(PRETTY),
    "objects without blanks": "".join(PRETTY),
    "objects in a line": " ".join(map(json.dumps, OBJECTS)),
    "objects with commas": ",\n".join(PRETTY) + ",\n",
    "lines with commas": ",\n".join(map(json.dumps, OBJECTS)),
    "carriage returns": "\r".join(map(json.dumps, OBJECTS)),
    "an array a line": "\n".join(json.dumps([one]) for one in OBJECTS),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    text = DOCUMENTS[name]
    (tmp_path / "a.json").write_bytes(text.encode())
    (tmp_path / "b.json").write_bytes(b"\xef\xbb\xbf\n " + text.encode() + b" \n")
    (tmp_path / "c.json").write_bytes(text.encode("utf-16"))
    with gzip.open(tmp_path / "d.json.gz", "wb") as file:
        file.write(text.encode())
    for path in ("a.json", "b.json", "c.json", "d.json.gz"):
        assert rows(context, f"SELECT k, s, o FROM '{tmp_path}/{path}'") == ROWS, path
        assert rows(context, f"SELECT count(*) FROM '{tmp_path}/{path}'") == [(4,)]


def test_lines_stay_lines(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """A bad line is one row, and no other line is lost by it."""
    path = tmp_path / "a.json"
    for bad in ('{"k": 1, "s":', '{"k": 1, "s": "x', "no object", "}", '{"k" 1}'):
        path.write_text(f'{bad}\n{{"k": 2}}\n{{"k": 3}}\n')
        assert rows(context, f"SELECT k FROM '{path}'") == [(None,), (2,), (3,)], bad
        path.write_text(f'{{"k": 2}}\n{bad}\n{{"k": 3}}\n')
        assert rows(context, f"SELECT k FROM '{path}'") == [(2,), (None,), (3,)], bad


def test_tables(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(DOCUMENTS["array"] + '{"k": 4} {"k": "cut off')
    create = f"USING json OPTIONS (multiLine 'true') LOCATION '{tmp_path}'"
    context.sql(f"CREATE TABLE listed (k INT, o STRING) {create}").close()
    expected = [
        (1, None),
        (2, '{\n            "p": [\n                1.5,\n                {}\n            ]\n        }'),
    ]
    assert rows(context, "SELECT * FROM listed") == [*expected, (3, None), (None, None), (4, None), (None, None)]
    context.sql("INSERT INTO listed VALUES (5, 'x')").close()
    assert rows(context, "SELECT o FROM listed WHERE k = 5") == [("x",)]
    with pytest.raises(UnsupportedError, match="documents"):
        rows(context, "SELECT BLOCK__OFFSET__INSIDE__FILE FROM listed")
    context.sql(f"CREATE TABLE found {create}").close()
    assert rows(context, "SELECT sum(k), max(get_json_object(o, '$.p[0]')) FROM found") == [(15, "1.5")]
    with pytest.raises(ConfigurationError, match="not a value of multiLine"):
        context.sql("CREATE TABLE wrong (k INT) USING json OPTIONS (multiLine 'maybe')")


def test_values_that_are_no_objects(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n1, "a,b]", [{"k": 0}], null, {"k": 7}, true]\n{"k": 8}')
    assert rows(context, f"SELECT k FROM '{path}'") == [(None,), (None,), (None,), (None,), (7,), (None,), (8,)]
    path.write_text('[\n1, "a"]')
    with pytest.raises(SourceError, match="no object"):
        rows(context, f"SELECT * FROM '{path}'")


def test_documents_longer_than_a_piece(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Values begin and end anywhere in the pieces that are read."""
    source = random.Random(5)
    objects = [{"n": n, "s": source.choice(['"', "\\", "{", "é", "x"]) * source.randrange(60_000)} for n in range(400)]
    objects[200]["s"] = "y" * (9 << 20)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(objects, indent=1, ensure_ascii=False))
    text = f"SELECT count(*), sum(n), sum(length(s)), count(DISTINCT md5(s)) FROM '{path}'"
    expected = duckdb.sql(text.replace(f"'{path}'", f"read_json('{path}', maximum_object_size=20000000)")).fetchall()
    assert rows(context, text) == expected


def test_folders_that_are_not_there_yet(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for number, form in enumerate(("STORED AS PARQUET", "STORED AS JSONFILE", "USING csv", "STORED AS ORC")):
        folder = tmp_path / "none" / str(number)
        context.sql(f"CREATE EXTERNAL TABLE later{number} (k INT) {form} LOCATION '{folder}'").close()
        assert folder.is_dir()
        assert rows(context, f"SELECT * FROM later{number}") == []
        context.sql(f"INSERT INTO later{number} VALUES (1)").close()
        assert rows(context, f"SELECT * FROM later{number}") == [(1,)]
    (tmp_path / "file").write_text("")
    context.sql(f"CREATE EXTERNAL TABLE never (k INT) LOCATION '{tmp_path}/file/x'").close()
    with pytest.raises(SourceError, match="does not exist"):
        rows(context, "SELECT * FROM never")


@pytest.mark.parametrize("text", ["", " \n\n", "[]", "{}\n{}\n", "[\n\n]\n"])
def test_files_without_a_value(context: sharkpy.SharkContext, tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with gzip.open(tmp_path / "b.json.gz", "wt") as file:
        file.write(text)
    for name in ("a.json", "b.json.gz"):
        with context.sql(f"SELECT * FROM '{tmp_path}/{name}'") as result:
            assert [(field.name, str(field.dtype)) for field in result.schema] == [("json", "string")]
            assert result.fetchall() == [(None,)] * text.count("{}")
    (tmp_path / "c.json").write_text('{"k": 1}\n')
    assert rows(context, f"SELECT sum(k), count(*) FROM '{tmp_path}'") == [(1, 1 + 2 * text.count("{}"))]
