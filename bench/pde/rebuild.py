"""Half of the blocks of TPC-H lineitem made again while a query runs over them, compared with loading or making all:
from files, the table in memory with durable copies; and by the query that made it, only in memory, as RDD jobs.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import sharkpy
from bench.figure import Figure, comparison
from bench.suites import CACHE, SUITES
from sharkpy.columnar.handle import BlockHandle
from sharkpy.values.types import from_arrow

MOST = 0.6
BLOCKS = 500_000
"""Rows of a block: twelve blocks in all, so that half of them are several for each core."""
QUERY = "SELECT l_returnflag, count(*), sum(l_extendedprice), max(l_comment) FROM {} GROUP BY l_returnflag ORDER BY 1"
MADE = "CREATE TABLE made TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS SELECT * FROM kept WHERE l_orderkey > 0"


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="rebuild-", dir=CACHE) as folder:
        conf: dict[str, Any] = {"shark.block.rows": BLOCKS}
        context = sharkpy.connect("local[2]", folder, **conf)
        try:
            _create(context)
            loads = [_seconds(lambda: context.sql("CACHE TABLE kept")) for _ in _fresh(context, runs)]
            figures = _compare(context, "kept", "loading", statistics.median(loads), runs)
            context.sql("SET shark.placement.driver = false")
            makes = [_seconds(lambda: context.sql(MADE)) for _ in _dropped(context, runs)]
            return [*figures, *_compare(context, "made", "making", statistics.median(makes), runs)]
        finally:
            context.stop()


def _create(context: sharkpy.SharkContext) -> None:
    data = SUITES["tpch"].data(1) / "lineitem"
    schema = pq.read_schema(next(data.glob("*.parquet")))
    columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
    stored = f"STORED AS PARQUET LOCATION '{data}' TBLPROPERTIES ('shark.cache'='MEMORY')"
    context.sql(f"CREATE EXTERNAL TABLE kept ({columns}) {stored}")


def _fresh(context: sharkpy.SharkContext, runs: int) -> Any:
    """Run `runs` times with nothing of the table in memory or on disk; once before to warm up."""
    for number in range(runs + 1):
        context.table_cache.forget(context.catalog.table("default", "kept"))
        if number == 0:
            context.sql("CACHE TABLE kept")
        else:
            yield number


def _dropped(context: sharkpy.SharkContext, runs: int) -> Any:
    context.sql(MADE)
    for number in range(runs):
        context.sql("DROP TABLE made")
        yield number


def _compare(context: sharkpy.SharkContext, table: str, verb: str, whole: float, runs: int) -> list[Figure]:
    answer = context.sql(QUERY.format(table)).fetchall()
    alone = statistics.median(_seconds(lambda: context.sql(QUERY.format(table)).fetchall()) for _ in range(3))
    rebuilds, during, right = [], [], True
    for _ in range(runs):
        blocks = _blocks(context, table)
        # Adjacent blocks, as when an executor is lost: all blocks of a task are lost together.
        blocks = blocks[: len(blocks) // 2]
        _lose(blocks)
        rebuilds.append(_seconds(lambda lost=blocks: context.table_cache.repair(lost)))  # type: ignore[misc]
        _lose(blocks)
        found: list[object] = []
        query = threading.Thread(target=lambda into=found: into.append(context.sql(QUERY.format(table)).fetchall()))  # type: ignore[misc]
        seconds = _seconds(lambda thread=query, lost=blocks: _beside(context, thread, lost))  # type: ignore[misc]
        during.append(seconds)
        right = right and found == [answer] and context.sql(QUERY.format(table)).fetchall() == answer
    again = statistics.median(rebuilds)
    aims = (f"at most {MOST} of the time for all", again <= MOST * whole)
    what, during_query = "half of a table's blocks made again", f"{statistics.median(during):.2f} s"
    return [
        comparison(what, "s", again, {f"{verb} all": whole}, *aims, is_key=verb == "loading"),
        Figure(f"{what} during a query, {verb}", f"{during_query}; the query alone {alone:.2f} s"),
        Figure(f"that query is right, {verb}", "yes" if right else "no", "yes", right),
    ]


def _beside(context: sharkpy.SharkContext, query: threading.Thread, lost: list[BlockHandle]) -> None:
    query.start()
    context.table_cache.repair(lost)
    query.join()


def _blocks(context: sharkpy.SharkContext, table: str) -> list[BlockHandle]:
    version = context.table_cache.loaded_version(context.catalog.table("default", table))
    return list(version.blocks) if version is not None else []


def _lose(blocks: list[BlockHandle]) -> None:
    for block in blocks:
        for path in (block.memory_path, block.durable_path):
            if path:
                Path(path).unlink(missing_ok=True)


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
