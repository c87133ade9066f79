"""count(DISTINCT …) over events, nine in ten of which are in one group, on two task slots, with and without
`shark.skew`.

Without it all rows of a group are moved to one task. `kind` has few values and `visitor` nearly as many as there are
rows: equal values of `kind` meet in the map stage already, equal values of `visitor` only after the exchange. The
table is in memory. Tasks are compared by the rows that they read and by the CPU seconds of their processes.
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
from sharkpy.execution.stages.profile import StageProfile

EVENTS = 4_000_000
GROUPS = 1000
KINDS = 1000
QUERIES = {
    "few values": "SELECT g, count(DISTINCT kind), sum(amount) FROM events GROUP BY g",
    "many values": "SELECT g, count(DISTINCT visitor) FROM events GROUP BY g",
    "few values, no groups": "SELECT count(DISTINCT kind) FROM events",
    "many values, no groups": "SELECT count(DISTINCT visitor) FROM events",
}
_ONE_STEP = "in one step"
CONF: dict[str, Any] = {
    "shark.placement.driver": False,
    "shark.task.single.max.bytes": 0,
    "shark.task.single.max.rows": 0,
    "shark.block.rows": 500_000,
}


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="sharkpy-skewed-distinct-") as folder:
        context = sharkpy.connect("local[2]", f"{folder}/warehouse", **CONF)
        try:
            _load(context, Path(folder))
            return [figure for name, query in QUERIES.items() for figure in _compared(context, name, query, runs)]
        finally:
            context.stop()


def _load(context: Any, folder: Path) -> None:
    random = np.random.default_rng(7)
    columns = {
        "g": np.where(random.random(EVENTS) < 0.9, 7, random.integers(0, GROUPS, EVENTS)),
        "kind": random.integers(0, KINDS, EVENTS),
        "visitor": random.integers(0, 1_000_000_000, EVENTS),
        "amount": random.integers(0, 1000, EVENTS),
    }
    path = folder / "events.parquet"
    pq.write_table(pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()}), path)
    listed = ", ".join(f"{name} BIGINT" for name in columns)
    context.sql(f"CREATE TABLE events ({listed}) STORED AS PARQUET TBLPROPERTIES ('shark.cache' = 'MEMORY')").fetchall()
    context.sql(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE events").fetchall()


def _compared(context: Any, name: str, query: str, runs: int) -> list[Figure]:
    without, one, answer = _timed(context, query, False, runs)
    with_it, several, same = _timed(context, query, True, runs)
    if answer != same:
        raise AssertionError(f"{name}: the answers differ")
    rows = several.rows_per_task
    evenness = max(rows) / statistics.median(rows)
    distinct, aims = f"count(DISTINCT …) of {name}", ("at most 1.5", evenness <= 1.5)
    return [
        comparison(f"{distinct} in two levels", "s", with_it, {_ONE_STEP: without}, is_key=name == "few values"),
        comparison(f"{distinct}: largest reduce task", "rows", max(rows), {_ONE_STEP: max(one.rows_per_task)}),
        Figure(f"{distinct}: rows of the largest reduce task over the median", f"{evenness:.2f}", *aims),
        comparison(
            f"{distinct}: CPU time of the longest reduce task",
            "s",
            max(several.cpu_seconds_per_task),
            {_ONE_STEP: max(one.cpu_seconds_per_task)},
        ),
    ]


def _timed(context: Any, query: str, is_on: bool, runs: int) -> tuple[float, StageProfile, list[tuple[object, ...]]]:
    """Median of the seconds, the stage after the first exchange, and the answer; the first run warms up."""
    context.sql(f"SET shark.skew={str(is_on).lower()}").fetchall()
    seconds = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        result = context.sql(query)
        answer = sorted(result.fetchall())
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:]), result.profile.stages[1], answer
