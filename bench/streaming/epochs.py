"""Many small epochs, one after the other: time, memory, open files, log and catalog on the way. At the end, a scan is
compared with a scan of a table that was loaded at once.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

import psutil

import sharkpy
from bench.engines import CORES
from bench.figure import Figure
from bench.streaming.scan import scan_figure
from bench.suites import CACHE

EPOCHS = int(os.environ.get("SHARKPY_EPOCHS", "5000"))
"""5,000 take minutes; 864,000 are a day's epochs of 100 ms."""
ROWS = 20
_POINTS = 5
_BATCH = 50
"""Pushes that wait at a time, an epoch each."""
_STREAM = "CREATE STREAM incoming (k BIGINT, g BIGINT, s STRING) FROM PROGRAM ('max.files.per.epoch' = '1')"
_TABLE = "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW"


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    epochs = max(_POINTS * _BATCH, int(EPOCHS * scale))
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as folder,
        sharkpy.connect(f"local[{CORES}]", folder) as context,
    ):
        context.sql(_STREAM).close()
        context.sql(f"{_TABLE} AS SELECT k, g, s FROM incoming").close()
        figures = []
        for point in range(_POINTS):
            first, end = epochs * point // _POINTS, epochs * (point + 1) // _POINTS
            seconds = [_epochs(context, number, min(_BATCH, end - number)) for number in range(first, end, _BATCH)]
            figures.append(Figure(f"after {end:,} epochs", _sizes(context, statistics.median(seconds))))
        ((count, total),) = context.sql("SELECT count(*), sum(k) FROM t").fetchall()
        rows = epochs * ROWS
        if (count, total) != (rows, rows * (rows - 1) // 2):
            raise AssertionError(f"{rows} rows were pushed, the table has {count} with the sum {total}")
        return [*figures, scan_figure(context, "t", f"{epochs:,} epochs", runs)]


def _epochs(context: sharkpy.SharkContext, first: int, number: int) -> float:
    """Seconds of each of `number` epochs."""
    with context.push("incoming") as out:
        for epoch in range(first, first + number):
            out.write([(k, k % 7, f"text {k % 100}") for k in range(epoch * ROWS, (epoch + 1) * ROWS)])
    start = time.perf_counter()
    context.sql("RESUME CONTINUOUS TABLE t").close()
    return (time.perf_counter() - start) / number


def _sizes(context: sharkpy.SharkContext, seconds: float) -> str:
    process = psutil.Process()
    state = Path(context.catalog.state_dir)
    location = Path(context.catalog.table("default", "t").location or "")
    log = sum(path.stat().st_size for path in (state / "streams").rglob("*.jsonl"))
    catalog = sum(path.stat().st_size for path in state.glob("catalog*") if path.is_file())
    files = sum(path.is_file() for path in location.rglob("*"))
    return (
        f"{seconds * 1000:.1f} ms each, {process.memory_info().rss / 1e6:.0f} MB of memory, "
        f"{process.num_fds()} open files, log {log / 1e3:.0f} KB, catalog {catalog / 1e3:.0f} KB, {files} files"
    )
