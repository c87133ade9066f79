"""CHAR from files: blanks at the end are not part of a value, in every format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy

SERDE = "ROW FORMAT SERDE 'org.apache.hadoop.hive."
FORMATS = {
    "parquet": "STORED AS PARQUET",
    "orc": "STORED AS ORC",
    "avro": "STORED AS AVRO",
    "text": "STORED AS TEXTFILE",
    "json": "STORED AS JSONFILE",
    "rcfile": "STORED AS RCFILE",
    "columnar": f"{SERDE}serde2.columnar.ColumnarSerDe' STORED AS RCFILE",
    "sequence": "STORED AS SEQUENCEFILE",
    "lazy": f"{SERDE}serde2.lazybinary.LazyBinarySerDe' STORED AS SEQUENCEFILE",
    "csv": "USING csv",
}


@pytest.mark.parametrize("name", FORMATS)
def test_blanks_at_the_end(context: sharkpy.SharkContext, tmp_path: Path, name: str) -> None:
    clause = f"{FORMATS[name]} LOCATION '{tmp_path}/data'"
    context.sql(f"CREATE EXTERNAL TABLE {name}_texts (c STRING) {clause}")
    context.sql(f"INSERT INTO {name}_texts VALUES ('ab'), ('ab   '), ('abcdefgh')")
    context.sql(f"CREATE EXTERNAL TABLE {name}_chars (c CHAR(5)) {clause}")
    assert context.sql(f"SELECT c FROM {name}_chars ORDER BY c").fetchall() == [("ab",), ("ab",), ("abcde",)]
    query = f"SELECT count(*), count(DISTINCT c) FROM {name}_chars WHERE c = 'ab'"
    assert context.sql(query).fetchall() == [(2, 1)]
    assert context.sql(f"SELECT count(*) FROM {name}_chars a JOIN {name}_chars b ON a.c = b.c").fetchall() == [(5,)]


def test_nested_values_and_partitions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "p=ab ").mkdir()
    maps = pa.array([[("ab ", "abcd")]], pa.map_(pa.string(), pa.string()))
    rows = pa.table({"a": [["ab  "]], "r": [{"x": "ab  "}], "m": maps})
    pq.write_table(rows, tmp_path / "p=ab " / "f.parquet")
    columns = "a ARRAY<CHAR(4)>, r STRUCT<x: CHAR(4)>, m MAP<CHAR(4), VARCHAR(3)>"
    context.sql(
        f"CREATE EXTERNAL TABLE nested ({columns}) PARTITIONED BY (p CHAR(4)) STORED AS PARQUET LOCATION '{tmp_path}'"
    )
    context.sql("MSCK REPAIR TABLE nested")
    assert context.sql("SELECT * FROM nested WHERE p = 'ab'").fetchall() == [(["ab"], {"x": "ab"}, {"ab": "abc"}, "ab")]
