"""TPC-H lineitem ⋈ orders on the order key, both in memory, every stage an RDD job: tables in buckets of that key
(DISTRIBUTE BY, shark.copartition) against plain ones, whose rows the join shuffles.
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
from sharkpy.execution.stages.profile import QueryProfile
from sharkpy.physical.operators import HashJoin
from sharkpy.physical.operators.exchange import ExchangeRead
from sharkpy.values.types import from_arrow

CONF: dict[str, Any] = {
    "shark.placement.driver": False,
    "shark.test.join": "shuffle",
    "shark.task.single.max.rows": 0,
    "shark.join.replicate.max.rows": 0,
}
QUERY = """
SELECT o_orderpriority, count(*), sum(l_extendedprice * (1 - l_discount)), max(l_shipdate)
FROM {0}lineitem JOIN {0}orders ON l_orderkey = o_orderkey
GROUP BY o_orderpriority ORDER BY o_orderpriority
"""
GROUPS = "SELECT count(*), max(n) FROM (SELECT l_orderkey, sum(l_quantity) AS n FROM {0}lineitem GROUP BY l_orderkey) q"


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="copartition-", dir=CACHE) as folder:
        context = sharkpy.connect("local[2]", folder, **CONF)
        try:
            seconds = _load(context)
            return [Figure("making both tables in buckets", f"{seconds:.1f} s"), *_figures(context, runs)]
        finally:
            context.stop()


def _load(context: sharkpy.SharkContext) -> float:
    """Load the plain tables from files, then the tables in buckets from the plain ones. Return the seconds of the
    second load.
    """
    data = SUITES["tpch"].data(1)
    for table in ("lineitem", "orders"):
        schema = pq.read_schema(next((data / table).glob("*.parquet")))
        columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
        location = f"STORED AS PARQUET LOCATION '{data / table}'"
        context.sql(f"CREATE EXTERNAL TABLE plain_{table} ({columns}) {location}").close()
        context.sql(f"CACHE TABLE plain_{table}").close()
    start = time.perf_counter()
    made = "CREATE TABLE by_key_{} TBLPROPERTIES ({}) AS SELECT * FROM plain_{} DISTRIBUTE BY {}"
    memory, aligned = "'shark.cache'='MEMORY_ONLY'", "'shark.copartition'='by_key_lineitem'"
    context.sql(made.format("lineitem", memory, "lineitem", "l_orderkey")).close()
    context.sql(made.format("orders", f"{memory}, {aligned}", "orders", "o_orderkey")).close()
    return time.perf_counter() - start


def _figures(context: sharkpy.SharkContext, runs: int) -> list[Figure]:
    shuffled, moved, answer = _timed(context, QUERY.format("plain_"), runs)
    spared, not_moved, same = _timed(context, QUERY.format("by_key_"), runs)
    grouped, _, groups = _timed(context, GROUPS.format("plain_"), runs)
    spared_groups, _, same_groups = _timed(context, GROUPS.format("by_key_"), runs)
    if (answer, groups) != (same, same_groups):
        raise AssertionError(f"{answer}, {groups} of plain tables and {same}, {same_groups} of bucketed tables")
    aims = ("at least 2 times faster", shuffled >= 2 * spared)
    return [
        comparison(
            "a join of tables in buckets", "ms", spared * 1000, {"shuffled": shuffled * 1000}, *aims, is_key=True
        ),
        Figure("bytes moved for the join", f"{not_moved}; shuffled {moved / 1e6:.1f} MB", "0", not_moved == 0),
        comparison("GROUP BY of a table in buckets", "ms", spared_groups * 1000, {"shuffled": grouped * 1000}),
    ]


def _timed(context: sharkpy.SharkContext, sql: str, runs: int) -> tuple[float, int, list[Any]]:
    """Median seconds of warm runs, the bytes that were moved to the join's tasks, and the answer."""
    context.sql(sql).fetchall()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = context.sql(sql)
        answer = result.fetchall()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), _moved_bytes(result.profile), answer


def _moved_bytes(profile: QueryProfile) -> int:
    """Bytes of the exchanges that the stages with a join read."""
    fragments = [stage.fragment for stage in profile.stages if stage.fragment is not None]
    joins = [one for one in fragments if any(isinstance(node, HashJoin) for node in one.walk())]
    read = {node.exchange_id for one in joins for node in one.walk() if isinstance(node, ExchangeRead)}
    return sum(sum(stage.bytes_per_bucket) for stage in profile.stages if stage.exchange_id in read)
