"""Hive partitions of Parquet files, many of them: one scan if their values are not read, footers read once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.execution.tasks import parquet_scan
from sharkpy.session.shark_context import SharkContext
from sharkpy.sources import parquet
from sharkpy.sources.layout import DataFile

NUM_PARTITIONS = parquet_scan.MOST_RUNS + 6


@pytest.fixture
def context(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    for number in range(NUM_PARTITIONS):
        folder = tmp_path / "data" / f"day={number:03d}" / f"part={number % 2}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"a": [number, None], "b": ["x", "y"]}), folder / "f.parquet")
    context.sql(
        "CREATE EXTERNAL TABLE t (a BIGINT, b STRING) PARTITIONED BY (day STRING, part INT) "
        f"STORED AS PARQUET LOCATION '{tmp_path}/data'"
    )
    context.sql("MSCK REPAIR TABLE t")
    return context


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Numbers of file reads in each scan; None: not DuckDB's."""
    found: list[int | None] = []
    original = parquet_scan.parquet_query

    def spy(*arguments: object) -> str | None:
        query = original(*arguments)  # type: ignore[arg-type]
        found.append(None if query is None else query.count("read_parquet"))
        return query

    monkeypatch.setattr(parquet_scan, "parquet_query", spy)
    return found


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("query", "answer", "reads"),
    [
        ("SELECT sum(a), count(a), count(*) FROM t", (2415, 70, 140), 1),
        ("SELECT part, sum(a) FROM t WHERE day < '060' GROUP BY part ORDER BY part", (0, 870), 60),
        ("SELECT max(day), min(part), sum(a) FROM t", ("069", 0, 2415), None),
        ("SELECT sum(a) FROM t WHERE part = 1", (1225,), 1),
    ],
)
def test_a_read_for_each_run_of_values(
    context: SharkContext, scans: list[int | None], query: str, answer: tuple[object, ...], reads: int | None
) -> None:
    assert context.sql(query).fetchall()[0] == answer
    assert scans == [reads]


def test_rows_keep_the_order_of_files(context: SharkContext) -> None:
    rows = context.sql("SELECT a FROM t").fetchall()
    assert [row[0] for row in rows[::2]] == list(range(NUM_PARTITIONS))


def test_footers_are_read_once(context: SharkContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context.sql("SELECT sum(a) FROM t").fetchall()
    opened: list[str] = []
    original = parquet.open_file

    def spy(file: DataFile, *arguments: Any) -> object:
        opened.append(file.path)
        return original(file, *arguments)

    monkeypatch.setattr(parquet, "open_file", spy)
    assert context.sql("SELECT sum(a + 1) FROM t").fetchall() == [(2485,)]
    assert opened == []
    changed = tmp_path / "data" / "day=000" / "part=0" / "f.parquet"
    pq.write_table(pa.table({"a": [1000], "b": ["z"]}), changed)
    os.utime(changed, ns=(1, 1))
    assert context.sql("SELECT sum(a + 2) FROM t").fetchall() == [(3555,)]
    assert opened == [str(changed)]


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("query", "count", "is_known"),
    [
        ("SELECT count(*) FROM t", 140, True),
        ("SELECT count(1) FROM t WHERE day < '010' AND part = 1", 10, True),
        ("SELECT count(*) FROM t WHERE day = 'none'", 0, True),
        ("SELECT count(*) FROM t WHERE a >= 0", 70, False),
        ("SELECT count(a) FROM t", 70, False),
        ("SELECT count(*) FROM t WHERE day IN ('000', '001', '002') OR part = 7", 6, True),
        ("SELECT count(*) FROM t WHERE substr(day, 3) = '1'", 14, False),
    ],
)
def test_footers_answer_counts(context: SharkContext, query: str, count: int, is_known: bool) -> None:
    plan = "\n".join(line for (line,) in context.sql(f"EXPLAIN {query}").fetchall())
    assert "Scan" not in plan or not is_known, plan
    assert "Scan" in plan or is_known, plan
    assert context.sql(query).fetchall() == [(count,)]


def test_counts_follow_the_files(context: SharkContext, tmp_path: Path) -> None:
    count = "SELECT count(*) FROM t WHERE part = 0"
    assert context.sql(count).fetchall() == [(70,)]
    pq.write_table(pa.table({"a": [1], "b": ["z"]}), tmp_path / "data" / "day=000" / "part=0" / "g.parquet")
    assert context.sql(count).fetchall() == [(71,)]
    context.sql("ALTER TABLE t DROP PARTITION (day='002')").close()
    assert context.sql(count).fetchall() == [(69,)]
