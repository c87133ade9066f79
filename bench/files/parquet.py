"""Scans of lineitem as Parquet, compared with DuckDB's own reader over the same files."""

from __future__ import annotations

import tempfile

import duckdb

import sharkpy
from bench.engines import CORES
from bench.figure import Figure
from bench.files import scans
from bench.suites import CACHE

MOST = 1.5


def measure(runs: int) -> list[Figure]:
    folder = scans.lineitem()
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as warehouse,
        sharkpy.connect(f"local[{CORES}]", warehouse) as context,
    ):
        made = f"CREATE EXTERNAL TABLE lineitem ({scans.columns()}) STORED AS PARQUET LOCATION '{folder}'"
        context.sql(made).close()
        ours, answers = scans.timed(lambda query: context.sql(query).to_arrow(), runs)
    connection = duckdb.connect(config={"threads": CORES})
    connection.execute(f"CREATE VIEW lineitem AS SELECT * FROM read_parquet('{folder}/*.parquet')")
    theirs, expected = scans.timed(lambda query: connection.execute(query).to_arrow_table(), runs)
    scans.check_equal(answers, expected, "DuckDB")
    return scans.against_duckdb("scans of Parquet files", ours, theirs, MOST)
