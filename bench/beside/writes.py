"""Writes and what reads them: appends to a table of files, a table of many files, and epochs of a continuous table."""

from __future__ import annotations

from pathlib import Path

from bench.beside.pairs import program_figures
from bench.figure import Figure

_PROGRAM = """
import json, pathlib, statistics, tempfile, time
import sharkpy

def median_us(statement, number, before=lambda n: None):
    times = []
    for n in range(number):
        before(n)
        start = time.perf_counter()
        context.sql(statement).fetchall()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)

def put(n):
    (stream / f".{n:05}").write_text('{"n": %d}' % n)
    (stream / f".{n:05}").rename(stream / f"{n:05}.json")

with tempfile.TemporaryDirectory() as folder, sharkpy.connect("local[2]", f"{folder}/w") as context:
    stream = pathlib.Path(folder, "in")
    stream.mkdir()
    context.sql("SET shark.compaction=false")
    context.sql("CREATE TABLE t (a BIGINT, b BIGINT) STORED AS PARQUET")
    context.sql("CREATE TABLE p (a INT) PARTITIONED BY (d INT) STORED AS PARQUET")
    context.sql("CREATE STREAM s (n BIGINT) STORED AS JSONFILE FROM FOLDER '%s'" % stream)
    context.sql("CREATE CONTINUOUS TABLE c TRIGGER AVAILABLE NOW AS SELECT n FROM s")
    append = "INSERT INTO t SELECT id, id FROM (SELECT explode(sequence(1, 1000)) AS id) x"
    figures = {
        "INSERT of 1,000 rows into files": median_us(append, 100),
        "`SELECT count(*)` over 100 files": median_us("SELECT count(*), max(a) FROM t", 50),
        "INSERT OVERWRITE of 50 Hive partitions": median_us(
            "INSERT OVERWRITE TABLE p SELECT id, id FROM (SELECT explode(sequence(1, 50)) AS id) x", 10
        ),
        "an epoch of one file": median_us("RESUME CONTINUOUS TABLE c", 60, put),
    }
    print(json.dumps(figures))
"""
_LEAST_RUNS = 3


def measure(runs: int, scale: float, checkout: Path) -> list[Figure]:  # noqa: ARG001 - the tables are small
    return program_figures(_PROGRAM, max(runs, _LEAST_RUNS), checkout)
