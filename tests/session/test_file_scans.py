"""Scans of Parquet files by DuckDB itself, as a session sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    made = []
    for name, rows in (("big", 1000), ("small", 10)):
        (tmp_path / name).mkdir()
        table = pa.table({"id": pa.array(range(rows), pa.int32()), "name": [f"{name} {n}" for n in range(rows)]})
        pq.write_table(table, tmp_path / name / "a.parquet", row_group_size=100)
        location = f"STORED AS PARQUET LOCATION '{tmp_path / name}'"
        made.append(f"CREATE EXTERNAL TABLE {name} (id INT, name STRING) {location}")
    with sharkpy.connect("local[2]", tmp_path / "warehouse") as context:
        for statement in made:
            context.sql(statement).close()
        yield context


def test_rows_of_each_scan_are_told(tables: sharkpy.SharkContext) -> None:
    query = "SELECT max(b.name) FROM big b JOIN small s ON b.id = s.id JOIN big c ON c.id = b.id WHERE c.name > 'big 5'"
    lines = [row[0] for row in tables.sql(f"EXPLAIN ANALYZE {query}").fetchall()]
    scans = [line for line in lines if "FileScan" in line]
    assert len(scans) == 3
    assert all(re.match(r"\s*[\d,]+\s+[\d.]+ \w+\s+[\d.]+ \w+\s+FileScan", line) for line in scans)


def test_files_know_their_rows(tables: sharkpy.SharkContext) -> None:
    plan = "\n".join(row[0] for row in tables.sql("EXPLAIN SELECT count(*), count(1) FROM big").fetchall())
    assert "FileScan" not in plan
    assert tables.sql("SELECT count(*), count(1), count(NULL) FROM big").fetchall() == [(1000, 1000, 0)]
    assert tables.sql("SELECT count(*) FROM big WHERE id < 10").fetchall() == [(10,)]
    assert tables.sql("SELECT count(name) FROM big").fetchall() == [(1000,)]


@pytest.mark.parametrize("placement", ["true", pytest.param("false", marks=pytest.mark.spark)])
def test_files_join_with_text(tables: sharkpy.SharkContext, placement: str) -> None:
    tables.sql("CREATE TABLE words (id INT, word STRING)").close()
    tables.sql("INSERT INTO words VALUES (1, 'one'), (2, 'two'), (2000, 'more')").close()
    tables.sql(f"SET shark.placement.driver={placement}").close()
    query = "SELECT w.word, b.name, s.name FROM big b JOIN words w ON b.id = w.id LEFT JOIN small s ON s.id = w.id * 5"
    rows = tables.sql(query).fetchall()
    assert sorted(rows) == [("one", "big 1", "small 5"), ("two", "big 2", None)]
