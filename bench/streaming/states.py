"""Cost of state: small epochs by the size of the state, windows by their length, many queries of one stream, and a
session that begins with a large state.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import sharkpy
from bench.engines import CORES
from bench.figure import Figure
from bench.suites import CACHE

KEYS = (100_000, 10_000_000)
ROWS = 1_000
"""Rows of a small epoch."""
LARGE_KEYS = 10_000_000
"""Keys of the large state: texts of some 80 bytes, with two sums."""
MOST_BY_KEYS, MOST_BY_LENGTH, MOST_RECOVERY = 3.0, 2.0, 2.0
QUERIES = 50
_EPOCHS = 30
_STREAM = "CREATE STREAM incoming (k BIGINT, v BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts) FROM PROGRAM"
_TABLE = "TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW WITH UNBOUNDED STATE"
_BEGIN = np.datetime64("2026-05-01T10:00:00", "us")


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    del runs
    return [*_by_keys(scale), *_by_length(scale), *_by_queries(), *_hot_keys(scale), *_recovery(scale)]


@contextlib.contextmanager
def _session(*statements: str) -> Iterator[sharkpy.SharkContext]:
    with (
        tempfile.TemporaryDirectory(dir=CACHE) as folder,
        sharkpy.connect(f"local[{CORES}]", Path(folder, "w")) as context,
    ):
        for statement in statements:
            context.sql(statement).close()
        yield context


def _rows(keys: np.ndarray, seconds: np.ndarray) -> pa.Table:
    times = _BEGIN + (seconds * 1e6).astype("timedelta64[us]")
    return pa.table({"k": keys.astype(np.int64), "v": np.arange(len(keys)), "ts": times})


def _epoch(context: sharkpy.SharkContext, rows: pa.Table, *tables: str) -> float:
    """Seconds until some rows count in tables."""
    with context.push("incoming") as out:
        out.write(rows)
    start = time.perf_counter()
    for table in tables or ("t",):
        context.sql(f"RESUME CONTINUOUS TABLE {table}").close()
    return time.perf_counter() - start


def _small_epochs(context: sharkpy.SharkContext, keys: int, first_second: float = 0.0) -> float:
    """Median of the seconds of small epochs of random keys, a second of rows each."""
    chance = np.random.default_rng(1)
    found = []
    for number in range(_EPOCHS):
        seconds = first_second + number + np.sort(chance.random(ROWS))
        found.append(_epoch(context, _rows(chance.integers(0, keys, ROWS), seconds)))
    return statistics.median(found[5:])


def _by_keys(scale: float) -> list[Figure]:
    figures, medians = [], []
    for wanted in KEYS:
        keys = max(ROWS, int(wanted * scale))
        query = "SELECT k, count(*) AS n, sum(v) AS s FROM incoming GROUP BY k"
        with _session(_STREAM, f"CREATE CONTINUOUS TABLE t {_TABLE} AS {query}") as context:
            loaded = _epoch(context, _rows(np.random.default_rng(0).permutation(keys), np.zeros(keys)))
            medians.append(_small_epochs(context, keys, 1.0))
            start = time.perf_counter()
            ((number,),) = context.sql("SELECT count(*) FROM t").fetchall()
            asked = time.perf_counter() - start
            if number != keys:
                raise AssertionError(f"{keys} keys have come, the table has {number}")
        text = f"{medians[-1] * 1000:.1f} ms; {loaded:.1f} s for the first one of all keys, {asked:.2f} s to count them"
        figures.append(Figure(f"an epoch of {ROWS:,} rows, {keys:,} keys", text))
    ratio = medians[1] / medians[0]
    is_whole = ratio <= MOST_BY_KEYS if scale >= 1 else None
    what = "an epoch with the larger number of keys over one with the smaller"
    return [*figures, Figure(what, f"{ratio:.2f}", f"{MOST_BY_KEYS:g} at most", is_whole, is_key=True)]


def _by_length(scale: float) -> list[Figure]:
    figures, medians = [], []
    for length in ("60 SECONDS", "1 HOUR"):
        windows = f"window(ts, '{length}', '1 second')"
        query = f"SELECT v % 10 AS g, window, count(*) AS n FROM incoming GROUP BY v % 10, {windows}"
        with _session(_STREAM, f"CREATE CONTINUOUS TABLE t {_TABLE} AS {query}") as context:
            number = max(ROWS, int(1_000_000 * scale))
            _epoch(context, _rows(np.zeros(number), np.sort(np.random.default_rng(0).random(number)) * 7200))
            medians.append(_small_epochs(context, 1000, 7200.0))
            start = time.perf_counter()
            latest = "SELECT max(n) FROM t WHERE window.start = '2026-05-01 11:00:00'"
            context.sql(latest).fetchall()
            asked = time.perf_counter() - start
        text = f"{medians[-1] * 1000:.1f} ms; {asked * 1000:.0f} ms to ask for one window"
        figures.append(Figure(f"an epoch of {ROWS:,} rows, windows of {length.lower()} every second", text))
    ratio = medians[1] / medians[0]
    what = "an epoch with windows of an hour over one with windows of a minute"
    return [*figures, Figure(what, f"{ratio:.2f}", f"{MOST_BY_LENGTH:g} at most", ratio <= MOST_BY_LENGTH, is_key=True)]


def _by_queries() -> list[Figure]:
    tables = [f"t{number}" for number in range(QUERIES)]
    makes = [
        f"CREATE CONTINUOUS TABLE {table} {_TABLE} AS SELECT k % {place + 2} AS g, sum(v) AS s FROM incoming "
        f"GROUP BY k % {place + 2}"
        for place, table in enumerate(tables)
    ]
    with _session(_STREAM, *makes) as context:
        chance = np.random.default_rng(2)
        found = [_epoch(context, _rows(chance.integers(0, 1000, ROWS), np.zeros(ROWS)), *tables) for _ in range(8)]
    each = statistics.median(found[2:]) / QUERIES
    return [Figure(f"{QUERIES} queries over one stream, an epoch of {ROWS:,} rows", f"{each * 1000:.1f} ms each")]


def _hot_keys(scale: float) -> list[Figure]:
    """Each task aggregates the rows that it reads, so no task has all rows of a key."""
    number, rates = max(ROWS, int(10_000_000 * scale)), []
    chance = np.random.default_rng(3)
    for keys in (chance.integers(0, 1_000_000, number), np.minimum(chance.zipf(1.5, number), 1_000_000)):
        query = "SELECT k, count(*) AS n, sum(v) AS s FROM incoming GROUP BY k"
        with _session(_STREAM, f"CREATE CONTINUOUS TABLE t {_TABLE} AS {query}") as context:
            _epoch(context, _rows(keys[:ROWS], np.zeros(ROWS)))
            rates.append(number / _epoch(context, _rows(keys, np.zeros(number))) / 1e6)
    text = f"{rates[1]:.2f} M rows/s, of a million keys alike {rates[0]:.2f}"
    return [Figure("keys by Zipf's law with 1.5, totals", text)]


def _recovery(scale: float) -> list[Figure]:
    keys = int(LARGE_KEYS * scale)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        with sharkpy.connect(f"local[{CORES}]", Path(folder, "w")) as context:
            context.sql("CREATE STREAM incoming (k STRING, v BIGINT) FROM PROGRAM").close()
            query = "SELECT k, count(*) AS n, sum(v) AS s FROM incoming GROUP BY k"
            context.sql(f"CREATE CONTINUOUS TABLE t {_TABLE} AS {query}").close()
            for first in range(0, keys, 1_000_000):
                numbers = np.arange(first, min(keys, first + 1_000_000))
                texts = pa.array(
                    [f"{number * 2654435761 % (1 << 61):064d}-{number:015d}" for number in numbers.tolist()]
                )
                _epoch(context, pa.table({"k": texts, "v": numbers}))
        size = sum(path.stat().st_size for path in Path(folder, "w").rglob("*") if path.is_file())
        key = f"{7 * 2654435761 % (1 << 61):064d}-{7:015d}"
        start = time.perf_counter()
        with sharkpy.connect(f"local[{CORES}]", Path(folder, "w")) as context:
            _epoch(context, pa.table({"k": [key], "v": [1]}))
            seconds = time.perf_counter() - start
            if context.sql(f"SELECT n FROM t WHERE k = '{key}'").fetchall() != [(2,)]:
                raise AssertionError("the state of a key is not there")
            asked = time.perf_counter() - start
    text = (
        f"{seconds:.2f} s until an epoch counts, {asked:.2f} s until a key was asked for; {size / 1e9:.2f} GB on disk"
    )
    is_met = asked <= MOST_RECOVERY if scale >= 1 else None
    name = f"a session begins with a state of {keys:,} texts of 80 bytes"
    return [Figure(name, text, f"at most {MOST_RECOVERY:g} s", is_met, is_key=True)]
