"""Cost of a killed executor for a query with state: the epoch during the kill, and the first query after it, compared
with earlier ones, on a cluster of two executors.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

import sharkpy
from bench.figure import Figure
from bench.suites import CACHE

KEYS = 1_000_000
ROWS = 100_000
"""Rows of an epoch."""
MOST_SECONDS = 1.0
_EPOCHS, _KILLS = 10, 5
_WAIT_SECONDS = 60.0
_CONF: dict[str, object] = {
    # Everything runs on executors, however few rows it has.
    "shark.placement.driver": False,
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    # Spark gives an application up after ten executors that died.
    "spark.deploy.maxExecutorRetries": -1,
}
_STREAM = "CREATE STREAM incoming (k BIGINT, v BIGINT) FROM PROGRAM"
_TABLE = "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW"
_QUERY = "WITH UNBOUNDED STATE AS SELECT k, count(*) AS n, sum(v) AS s FROM incoming GROUP BY k"


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    del runs
    keys, rows = max(1_000, int(KEYS * scale)), max(1_000, int(ROWS * scale))
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as folder,
        sharkpy.connect("local-cluster[2,1,1024]", Path(folder, "w"), **_CONF) as context,
    ):
        context.sql(_STREAM).close()
        context.sql(f"{_TABLE} {_QUERY}").close()
        chance = np.random.default_rng(1)
        _epoch(context, chance.permutation(keys))
        _question(context)
        calm = [(_epoch(context, chance.integers(0, keys, rows)), _question(context)[0]) for _ in range(_EPOCHS)]
        hit = []
        for _ in range(_KILLS):
            _await_executors(context)
            _executors()[0].kill()
            hit.append((_epoch(context, chance.integers(0, keys, rows)), _question(context)[0]))
        found, wanted = _question(context)[1], keys + (_EPOCHS + _KILLS) * rows
    figures = []
    for place, what in enumerate((f"an epoch of {rows:,} rows, {keys:,} keys", "a question over the state")):
        median = statistics.median(seconds[place] for seconds in calm)
        more = max(seconds[place] for seconds in hit) - median
        text = f"{more:.2f} s more than {median:.2f} s, the slowest of {_KILLS}"
        aims = (f"{MOST_SECONDS:g} s more at most", more <= MOST_SECONDS)
        figures.append(Figure(f"{what}, after an executor was killed", text, *aims, is_key=True))
    return [*figures, Figure("rows that were lost or doubled", str(found - wanted), "0", found == wanted)]


def _epoch(context: sharkpy.SharkContext, keys: np.ndarray) -> float:
    """Seconds until a row of each key counts."""
    with context.push("incoming") as out:
        out.write(pa.table({"k": keys.astype(np.int64), "v": np.arange(len(keys))}))
    start = time.perf_counter()
    context.sql("RESUME CONTINUOUS TABLE t").close()
    return time.perf_counter() - start


def _question(context: sharkpy.SharkContext) -> tuple[float, int]:
    """Seconds of a query over all keys, and the rows that count."""
    start = time.perf_counter()
    ((found,),) = context.sql("SELECT sum(n) FROM t").fetchall()
    return time.perf_counter() - start, int(found)


def _executors() -> list[psutil.Process]:
    """Executors that have run tasks: each has started workers."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "CoarseGrainedExecutorBackend" in " ".join(process.cmdline()) and process.children():
                found.append(process)
    return found


def _await_executors(context: sharkpy.SharkContext) -> None:
    """Ask until both executors serve again."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while len(_executors()) < 2:
        if time.monotonic() > deadline:
            raise TimeoutError("an executor that was killed did not come back")
        _question(context)
    for _ in range(3):
        _question(context)
