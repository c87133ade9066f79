"""Append a million rows of an Arrow table to an Iceberg table on a local disk, compared with pyiceberg's append of the
same rows. Then read the table, compared with DuckDB over the files of its newest snapshot.

The sides take turns, each with a table of its own that grows. What a first append imports is not counted for either.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from bench.engines import CORES
from bench.figure import Figure, comparison, geometric_mean
from bench.lake.sides import session
from bench.suites import CACHE

ROWS, MOST_APPEND, MOST_SCAN = 1_000_000, 1.5, 1.1
SCANS = (
    "SELECT count(*), sum(k), max(v) FROM t",
    "SELECT g, count(*), avg(v) FROM t WHERE k % 3 = 0 GROUP BY g ORDER BY g",
    "SELECT count(*) FROM t WHERE s LIKE '%77%'",
)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    rows = max(int(ROWS * scale), 1000)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        given, place = _rows(rows), Path(folder)
        with session({}) as context:
            context.sql("CREATE TABLE t (k BIGINT, g INT, v DOUBLE, s STRING) STORED BY ICEBERG").close()
            table = _their_table(given, place)
            ours, theirs = _in_turns(
                lambda: context.save_as_table(given, "t", mode="append"), lambda: table.append(given), runs
            )
            files = [row[0] for row in context.sql("SELECT file_path FROM t.files").fetchall()]
            connection = duckdb.connect(config={"threads": CORES})
            connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet({[_path(one) for one in files]!r})")
            scans = [
                _in_turns(
                    functools.partial(_answer, context, sql),
                    functools.partial(_answer_of_duckdb, connection, sql),
                    runs,
                )
                for sql in SCANS
            ]
    mean, their_mean = (geometric_mean(seconds) for seconds in zip(*scans, strict=True))
    of_append = (f"at most {MOST_APPEND:g} times", ours <= MOST_APPEND * theirs)
    of_scans = (f"at most {MOST_SCAN:g} times", mean <= MOST_SCAN * their_mean)
    what = f"geometric mean of {len(SCANS)} scans of an Iceberg table"
    return [
        comparison(
            f"{rows:,} rows added to an Iceberg table", "s", ours, {"pyiceberg": theirs}, *of_append, is_key=True
        ),
        *(
            comparison(sql, "ms", one * 1000, {"DuckDB": other * 1000})
            for sql, (one, other) in zip(SCANS, scans, strict=True)
        ),
        comparison(what, "ms", mean * 1000, {"DuckDB": their_mean * 1000}, *of_scans, is_key=True),
    ]


def _rows(count: int) -> pa.Table:
    chosen = np.random.default_rng(1)
    return pa.table(
        {
            "k": np.arange(count),
            "g": pa.array(chosen.integers(0, 100, count), pa.int32()),
            "v": chosen.random(count),
            "s": [f"text {number}" for number in chosen.integers(0, 100_000, count).tolist()],
        }
    )


def _their_table(rows: pa.Table, folder: Path) -> Any:
    """An empty table of pyiceberg's, in a catalog of its own."""
    from pyiceberg.catalog import load_catalog

    place = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    catalog = load_catalog("bench", type="sql", **place)
    catalog.create_namespace("d")
    return catalog.create_table("d.t", schema=rows.schema)


def _answer(context: Any, sql: str) -> pa.Table:
    return context.sql(sql).to_arrow()


def _answer_of_duckdb(connection: duckdb.DuckDBPyConnection, sql: str) -> pa.Table:
    return connection.sql(sql).to_arrow_table()


def _path(location: str) -> str:
    return f"/{location.removeprefix('file:').lstrip('/')}"


def _in_turns(one: Callable[[], object], other: Callable[[], object], runs: int) -> tuple[float, float]:
    """Medians in seconds of two calls that take turns, after a first one of each."""
    sides, times = (one, other), (list[float](), list[float]())
    for call in sides:
        call()
    for _ in range(runs):
        for call, seconds in zip(sides, times, strict=True):
            seconds.append(_seconds(call))
    return statistics.median(times[0]), statistics.median(times[1])


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
