"""TPC-H lineitem ⋈ supplier, every stage an RDD job, with a condition that no estimate sees through and that keeps 0.01
% of the suppliers: the join chosen when its small side has been measured, against the plan that its estimates make
(both sides shuffled). The broadcast limit is between the estimated and the real size of the side.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

import pyarrow.parquet as pq

import sharkpy
from bench.figure import Figure, comparison
from bench.suites import CACHE, SUITES
from sharkpy.values.types import from_arrow

OPAQUE = "pmod(s_suppkey * 7919, 10000) = 3"
"""Condition that keeps one supplier in 10,000; a Python function could take its place."""
QUERY = f"""
SELECT s_name, count(*), sum(l_extendedprice * (1 - l_discount)), max(l_shipdate)
FROM lineitem JOIN supplier ON l_suppkey = s_suppkey
WHERE {OPAQUE}
GROUP BY s_name
"""
CONF: dict[str, Any] = {
    "shark.placement.driver": False,
    "shark.task.single.max.rows": 0,
    "shark.join.replicate.max.rows": 0,
    "shark.join.broadcast.max.bytes": "8k",
}
STATIC = {"shark.test.join": "shuffle", "shark.pruning.learned": "false"}


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="join-choice-", dir=CACHE) as folder:
        context = sharkpy.connect("local[2]", folder, **CONF)
        try:
            for table in ("lineitem", "supplier"):
                load(context, table)
            chosen, answer, decisions = _timed(context, runs)
            for key, value in STATIC.items():
                context.sql(f"SET {key}={value}").close()
            fixed, same, _ = _timed(context, runs)
        finally:
            context.stop()
    if answer != same:
        raise AssertionError(f"{answer} of the chosen join and {same} of the static one")
    if "broadcast_small_side" not in decisions:
        raise AssertionError(f"the join was not chosen at run time: {decisions}")
    aims = ("at least 3 times faster", fixed >= 3 * chosen)
    return [
        comparison("a join chosen at run time", "ms", chosen * 1000, {"static plan": fixed * 1000}, *aims, is_key=True),
        Figure("rules that decided", ", ".join(decisions)),
    ]


def load(context: sharkpy.SharkContext, table: str) -> None:
    """Load a TPC-H table at scale 1 into memory."""
    data = SUITES["tpch"].data(1)
    schema = pq.read_schema(next((data / table).glob("*.parquet")))
    columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
    context.sql(
        f"CREATE EXTERNAL TABLE {table} ({columns}) STORED AS PARQUET LOCATION '{data / table}'"
        " TBLPROPERTIES ('shark.cache'='MEMORY_ONLY')"
    ).close()
    context.sql(f"CACHE TABLE {table}").close()


def _timed(context: sharkpy.SharkContext, runs: int) -> tuple[float, list[Any], list[str]]:
    """Median seconds of warm runs, the answer, and the rules that decided."""
    context.sql(QUERY).fetchall()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = context.sql(QUERY)
        answer = result.fetchall()
        seconds.append(time.perf_counter() - start)
    if any(stage.placement != "rdd" for stage in result.profile.stages):
        raise AssertionError("a stage ran in the driver")
    return statistics.median(seconds), answer, [one.rule for one in result.profile.decisions]
