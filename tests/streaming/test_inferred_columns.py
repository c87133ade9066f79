"""Streams of folders that list no columns: they get the columns of the existing files."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import NotAllowedError, ParseError, SharkError, SourceError
from sharkpy.execution.restrictions import Restrictions
from tests.rows import rows
from tests.streaming.clauses import NOW

ROWS = pa.table({"n": [1, 2], "s": ["a", "b"]})
SCHEMA = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": "string"}]}


def write_avro(table: pa.Table, path: Path) -> None:
    with open(path, "wb") as file:
        fastavro.writer(file, SCHEMA, table.to_pylist())


WRITERS: dict[str, Callable[[Any, Path], object]] = {
    "PARQUET": pq.write_table,
    "ORC": lambda table, path: pa.orc.write_table(table, str(path)),
    "AVRO": write_avro,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_columns_are_those_of_the_files(context: sharkpy.SharkContext, tmp_path: Path, kind: str) -> None:
    (tmp_path / "in").mkdir()
    WRITERS[kind](ROWS, tmp_path / "in" / "1")
    context.sql(f"CREATE STREAM s STORED AS {kind} FROM FOLDER '{tmp_path}/in'").close()
    assert [row[:2] for row in rows(context, "DESCRIBE s")] == [("n", "bigint"), ("s", "string")]
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n, s FROM s")
    assert sorted(rows(context, "SELECT * FROM t")) == [(1, "a"), (2, "b")]


def test_a_watermark_over_columns_of_the_files(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    begin = datetime.datetime(2026, 5, 1, 10)
    times = [begin, begin + datetime.timedelta(seconds=90)]
    pq.write_table(pa.table({"n": [1, 2], "at": times}), tmp_path / "in" / "1.parquet")
    columns = "(m AS (n * 10), WATERMARK FOR at AS at - INTERVAL 10 SECONDS)"
    context.sql(f"CREATE STREAM s {columns} STORED AS PARQUET FROM FOLDER '{tmp_path}/in'").close()
    text = "SELECT window.start AS w, sum(m) AS m FROM s GROUP BY window(at, '1 minute')"
    context.sql(f"CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW EMIT APPEND AS {text}")
    assert rows(context, "SELECT * FROM t") == [(begin, 10)]


def test_columns_of_partitions(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for number in (1, 2):
        folder = tmp_path / "in" / f"day=2026-05-0{number}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"n": [number]}), folder / "x.parquet")
    place = f"STORED AS PARQUET FROM FOLDER '{tmp_path}/in'"
    with pytest.raises(SharkError, match='partitions of "day"'):
        context.sql(f"CREATE STREAM s {place}")
    for clause, name in (("day", "a"), ("day DATE", "b")):
        context.sql(f"CREATE STREAM {name} PARTITIONED BY ({clause}) {place}").close()
        found = rows(context, f"SELECT n, day FROM {name} ORDER BY n")
        assert found == [(1, datetime.date(2026, 5, 1)), (2, datetime.date(2026, 5, 2))]


def test_folders_that_tell_no_columns(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(SourceError, match="no parquet files") as caught:
        context.sql(f"CREATE STREAM s STORED AS PARQUET FROM FOLDER '{tmp_path}/in'")
    assert caught.value.hint == "declare them"
    with pytest.raises(SourceError, match="does not exist"):
        context.sql(f"CREATE STREAM s STORED AS PARQUET FROM FOLDER '{tmp_path}/none'")
    for clauses in ("STORED AS TEXTFILE", "STORED AS JSONFILE", ""):
        with pytest.raises(ParseError, match="a list of columns expected"):
            context.sql(f"CREATE STREAM s {clauses} FROM FOLDER '{tmp_path}/in'")
    pq.write_table(ROWS, tmp_path / "in" / "1.parquet")
    guest = context.new_session(shark_user="ann")
    guest.restrictions = Restrictions((tmp_path / "open",), (), guards_settings=True)
    with pytest.raises(NotAllowedError):
        guest.sql(f"CREATE STREAM s STORED AS PARQUET FROM FOLDER '{tmp_path}/in'")
