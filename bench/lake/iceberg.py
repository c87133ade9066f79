"""A table of Iceberg on a local disk: a million rows added by INSERT, beside pyiceberg's own append; then read, beside
DuckDB over the files of its newest snapshot.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.engines import CORES
from bench.lake.sides import session
from bench.pde import Figure
from bench.suites import CACHE

ROWS, MOST_APPEND, MOST_SCAN = 1_000_000, 1.5, 1.5
SCANS = (
    "SELECT count(*), sum(k), max(v) FROM t",
    "SELECT g, count(*), avg(v) FROM t WHERE k % 3 = 0 GROUP BY g ORDER BY g",
    "SELECT count(*) FROM t WHERE s LIKE '%77%'",
)


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    rows = max(int(ROWS * scale), 1000)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        given = _rows(rows)
        pq.write_table(given, Path(folder) / "rows.parquet")
        theirs = statistics.median(_appended(given, Path(folder) / f"their{run}") for run in range(runs))
        with session({}) as context:
            context.sql("CREATE TABLE t (k BIGINT, g INT, v DOUBLE, s STRING) STORED BY ICEBERG").close()
            insert = f"INSERT INTO t SELECT * FROM parquet.`{folder}/rows.parquet`"
            ours = statistics.median(_seconds(lambda: context.sql(insert).close()) for _ in range(runs))
            files = [row[0] for row in context.sql("SELECT file_path FROM t.files").fetchall()]
            scans = [_timed(lambda sql: context.sql(sql).to_arrow(), sql, runs) for sql in SCANS]
            connection = duckdb.connect(config={"threads": CORES})
            connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet({[_path(one) for one in files]!r})")
            duck = [_timed(lambda sql: connection.sql(sql).to_arrow_table(), sql, runs) for sql in SCANS]
    ratio, mean = ours / theirs, float(np.exp(np.mean(np.log(np.array(scans) / np.array(duck)))))
    text = f"{ratio:.2f} times: {ours:.2f} s, pyiceberg {theirs:.2f} s"
    return [
        Figure(f"{rows:,} rows added", text, f"at most {MOST_APPEND:g} times", ratio <= MOST_APPEND),
        *(
            Figure(sql, f"{one * 1000:.0f} ms, DuckDB {other * 1000:.0f} ms")
            for sql, one, other in zip(SCANS, scans, duck, strict=True)
        ),
        Figure("scans, geometric mean", f"{mean:.2f} times", f"at most {MOST_SCAN:g} times", mean <= MOST_SCAN),
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


def _appended(rows: pa.Table, folder: Path) -> float:
    """Seconds of an append by pyiceberg to an empty table with a catalog of its own."""
    from pyiceberg.catalog import load_catalog

    folder.mkdir()
    place = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    catalog = load_catalog("bench", type="sql", **place)
    catalog.create_namespace("d")
    table = catalog.create_table("d.t", schema=rows.schema)
    return _seconds(lambda: table.append(rows))


def _path(location: str) -> str:
    return f"/{location.removeprefix('file:').lstrip('/')}"


def _timed(run: Callable[[str], object], sql: str, runs: int) -> float:
    run(sql)
    return statistics.median(_seconds(lambda: run(sql)) for _ in range(runs))


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
