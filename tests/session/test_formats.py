"""Tables over files of many formats, as statements see them."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from tests.rows import rows


def test_files_of_text_are_loaded_into_tables_without_a_format(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Plain and compressed, with line ends of other systems, without any, and with bytes that are not UTF-8."""
    (tmp_path / "a.txt").write_bytes(b"1\x01one\r\n2\x01two")
    (tmp_path / "b.txt.deflate").write_bytes(zlib.compress(b"3\x01thr\xffee\n"))
    (tmp_path / "empty").touch()
    (tmp_path / "_SUCCESS").write_bytes(b"9\x01hidden\n")
    context.sql("CREATE TABLE loaded (k INT, v STRING)")
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}' INTO TABLE loaded")
    assert rows(context, "SELECT * FROM loaded ORDER BY k") == [(1, "one"), (2, "two"), (3, "thr\ufffdee")]
    names = rows(context, "SELECT DISTINCT regexp_extract(input__file__name, '[^/]*$', 0) FROM loaded ORDER BY 1")
    assert names == [("a.txt",), ("b.txt.deflate",)]
    with pytest.raises(SharkError, match="compressed file"):
        rows(context, "SELECT block__offset__inside__file FROM loaded")


def test_malformed_rows_and_fields_are_shown(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Refused rows: 1 line without a match, 1 field that is not a number; 1 line that is too short, 2 such fields."""
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "f").write_text("a=1\nb=x\nnothing\n")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "f").write_text("1,2\nx,y\n3\n")
    serde = "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.RegexSerDe' WITH SERDEPROPERTIES ('input.regex'='(.)=(.)')"
    context.sql(f"CREATE EXTERNAL TABLE matched (k STRING, v TINYINT) {serde} LOCATION '{tmp_path / 'r'}'")
    delimited = "ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"
    context.sql(f"CREATE EXTERNAL TABLE parted (k INT, v INT) {delimited} LOCATION '{tmp_path / 't'}'")
    assert rows(context, "SELECT * FROM matched ORDER BY k") == [(None, None), ("a", 1), ("b", None)]
    for table, counts in (("matched", "1 malformed line, 1 malformed field"), ("parted", "1 malformed line, 2 malf")):
        plan = "\n".join(str(row[0]) for row in rows(context, f"EXPLAIN ANALYZE SELECT * FROM {table}"))
        assert counts in plan


def test_nested_types_to_the_last_separator(context: sharkpy.SharkContext) -> None:
    dtype, value = "INT", "5"
    for _ in range(6):
        dtype, value = f"ARRAY<{dtype}>", f"array({value})"
    context.sql(f"CREATE TABLE nested (a {dtype}, s STRUCT<m:MAP<STRING,ARRAY<STRUCT<x:INT>>>>)")
    struct = "named_struct('m', map('k', array(named_struct('x', 1), named_struct('x', CAST(NULL AS INT)))))"
    context.sql(f"INSERT INTO nested SELECT {value}, {struct}")
    found = rows(context, "SELECT a[0][0][0][0][0][0], s.m['k'][0].x, size(s.m['k']) FROM nested")
    assert found == [(5, 1, 2)]


def test_more_separators_and_escapes(context: sharkpy.SharkContext) -> None:
    """Escaping all separators at once would take more bytes than UTF-8 leaves unused."""
    dtype, value = "STRING", r"'\u0001\u000b\u000e\\\n,'"
    for _ in range(9):
        dtype, value = f"ARRAY<{dtype}>", f"array({value})"
    serde = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    properties = r"'escape.delim'='\\', 'field.delim'=',', 'hive.serialization.extend.nesting.levels'='true'"
    context.sql(f"CREATE TABLE deep (a {dtype}) ROW FORMAT SERDE '{serde}' WITH SERDEPROPERTIES ({properties})")
    context.sql(f"INSERT INTO deep SELECT {value}")
    assert rows(context, f"SELECT a{'[0]' * 9} FROM deep") == [("\x01\x0b\x0e\\\n,",)]


@pytest.mark.parametrize("word", ["SEQUENCEFILE", "RCFILE", "AVRO"])
def test_blocks_of_other_formats_are_made_again(word: str, context: sharkpy.SharkContext) -> None:
    """Blocks are made again after an INSERT, and from nothing."""
    name = f"cached_{word.lower()}"
    context.sql(f"CREATE TABLE {name} (k INT, v STRING) STORED AS {word} TBLPROPERTIES ('shark.cache'='MEMORY')")
    context.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, NULL)")
    assert rows(context, f"SELECT * FROM {name} ORDER BY k") == [(1, "a"), (2, None)]
    context.sql(f"INSERT INTO {name} VALUES (3, 'c')")
    context.sql("CLEAR CACHE")
    assert rows(context, f"SELECT sum(k), max(v) FROM {name}") == [(6, "c")]


def test_show_create_table_makes_the_table_again(context: sharkpy.SharkContext) -> None:
    columnar = "org.apache.hadoop.hive.serde2.columnar.ColumnarSerDe"
    serde = f"ROW FORMAT SERDE '{columnar}' WITH SERDEPROPERTIES ('field.delim'='|')"
    for number, clauses in enumerate(("STORED AS AVRO", "STORED AS SEQUENCEFILE", f"{serde} STORED AS RCFILE")):
        context.sql(f"CREATE TABLE shown_{number} (a INT) {clauses}")
        text = "\n".join(str(row[0]) for row in rows(context, f"SHOW CREATE TABLE shown_{number}"))
        before = context.catalog.table("default", f"shown_{number}").storage
        context.sql(f"DROP TABLE shown_{number}")
        context.sql(text)
        assert context.catalog.table("default", f"shown_{number}").storage == before
