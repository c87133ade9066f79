"""A join of events with Zipf(1.5)-distributed keys, on two task slots, with and without `shark.skew`.

`details` has a row for each key, and more for the keys that are hot (by Zipf's law with exponent 2.5): so the hottest
key makes most of the work. In both cases buckets are packed by measured bytes. Packing by itself evens out the rows
that a heavy key adds to a bucket, but not the rows that it makes. The timed query is the join, neither side broadcast,
under an aggregate; the tables are in memory. CPU seconds are counted in the tasks' processes, so other load of the
machine does not show.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sharkpy
from bench.figure import Figure, comparison
from sharkpy.execution.tasks.exchange_statistics import TASK_BYTES, TaskCollectors, Window

EVENTS = 3_000_000
KEYS = 400_000
HOT_DETAILS = 1200
"""Rows of `details`, in addition to one for each key."""
QUERY = "SELECT count(*), sum(e.amount), max(d.price) FROM events e JOIN details d ON e.k = d.k"
CONF: dict[str, Any] = {
    "shark.placement.driver": False,
    "shark.test.join": "shuffle",
    "shark.task.single.max.rows": 0,
    "shark.join.replicate.max.rows": 0,
    "shark.block.rows": 500_000,
}


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="sharkpy-skew-") as folder:
        context = sharkpy.connect("local[2]", f"{folder}/warehouse", **CONF)
        try:
            _load(context, Path(folder))
            without, before, answer = _timed(context, False, runs)
            with_it, after, same = _timed(context, True, runs)
        finally:
            context.stop()
    if answer != same:
        raise AssertionError(f"{answer} without and {same} with spread keys")
    aims = ("at least 1.6 times faster", without / with_it >= 1.6)
    return [
        comparison("a join on skewed keys, spread", "s", with_it, {"without spreading": without}, *aims, is_key=True),
        Figure("reduce tasks' CPU seconds, without", _listed(before)),
        Figure("reduce tasks' CPU seconds, with", _listed(after)),
        Figure("the busier slot's CPU seconds, times fewer", f"{_slot(before) / _slot(after):.2f}"),
        Figure("longest reduce task over the median, without", f"{_evenness(before):.2f}"),
        Figure(
            "longest reduce task over the median, with",
            f"{_evenness(after):.2f}",
            "at most 1.5",
            _evenness(after) <= 1.5,
        ),
        _collecting(),
    ]


def _load(context: Any, folder: Path) -> None:
    random = np.random.default_rng(7)
    keys = random.permutation(KEYS)
    hot = keys[_zipf(random, 2.5, HOT_DETAILS)]
    tables = {
        "events": {"k": keys[_zipf(random, 1.5, EVENTS)], "amount": random.integers(0, 1000, EVENTS)},
        "details": {"k": np.concatenate([keys, hot]), "price": random.integers(0, 1000, KEYS + HOT_DETAILS)},
    }
    for name, columns in tables.items():
        path = folder / f"{name}.parquet"
        pq.write_table(pa.table({column: pa.array(values, pa.int64()) for column, values in columns.items()}), path)
        listed = ", ".join(f"{column} BIGINT" for column in columns)
        stored = "STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')"
        context.sql(f"CREATE TABLE {name} ({listed}) {stored}").fetchall()
        context.sql(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE {name}").fetchall()


def _zipf(random: np.random.Generator, exponent: float, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Ranks from 0, by Zipf's law; ranks beyond the keys are drawn again."""
    drawn = random.zipf(exponent, 2 * count)
    return drawn[drawn <= KEYS][:count] - 1


def _timed(context: Any, is_on: bool, runs: int) -> tuple[float, list[float], list[tuple[object, ...]]]:
    """Median of the seconds, the reduce tasks' own of the median run, and the answer; the first run warms up."""
    context.sql(f"SET shark.skew={str(is_on).lower()}").fetchall()
    context.sql(QUERY).fetchall()
    found: list[tuple[float, list[float]]] = []
    for _ in range(runs):
        start = time.perf_counter()
        result = context.sql(QUERY)
        answer = result.fetchall()
        seconds = time.perf_counter() - start
        joins = (one for one in result.profile.stages if one.fragment and "HashJoin" in one.fragment.explain())
        found.append((seconds, list(next(joins).cpu_seconds_per_task)))
    found.sort(key=lambda one: one[0])
    return *found[len(found) // 2], answer


def _evenness(tasks: list[float]) -> float:
    return max(tasks) / statistics.median(tasks)


def _slot(tasks: list[float]) -> float:
    """Load of the busier of two slots, each taking the next task when it is free."""
    slots = [0.0, 0.0]
    for seconds in tasks:
        slots[slots.index(min(slots))] += seconds
    return max(slots)


def _listed(tasks: list[float]) -> str:
    return ", ".join(f"{seconds:.2f}" for seconds in sorted(tasks, reverse=True))


def _collecting() -> Figure:
    """Cost of collectors in a task that moves a million rows to 200 buckets in four windows."""
    rows = 250_000
    hashes = np.random.default_rng(3).integers(0, 1 << 63, rows).astype(np.uint64)
    counts = np.bincount((hashes % np.uint64(200)).astype(np.int64), minlength=200)
    start = time.perf_counter()
    collectors = TaskCollectors()
    for _ in range(4):
        collectors.observe(Window(counts, {}))
    size = len(collectors.encode())
    nanoseconds = (time.perf_counter() - start) / (4 * rows) * 1e9
    return Figure("collectors, a row", f"{nanoseconds:.1f} ns, {size} bytes a task", f"{TASK_BYTES} bytes at most")
