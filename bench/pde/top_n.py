"""ORDER BY ... LIMIT 10 over TPC-H lineitem in the order of its ship date: blocks in order of promise, compared with
all blocks.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

import sharkpy
from bench.figure import Figure, comparison
from bench.pde.join_choice import load
from bench.suites import CACHE

QUERY = """
SELECT l_orderkey, l_partkey, l_quantity, l_extendedprice, l_shipdate, l_shipmode, l_comment FROM by_date
WHERE l_shipmode = 'AIR' AND l_quantity > 45 ORDER BY l_shipdate DESC, l_orderkey LIMIT 10
"""
MADE = """
CREATE TABLE by_date TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS SELECT * FROM lineitem ORDER BY l_shipdate
"""


def measure(runs: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="top-n-", dir=CACHE) as folder:
        context = sharkpy.connect("local[2]", folder, **{"shark.block.rows": 200_000})
        try:
            load(context, "lineitem")
            context.sql(MADE).close()
            figures = _figures(context, "in the driver", runs)
            context.sql("SET shark.placement.driver=false").close()
            return figures + _figures(context, "as RDD jobs", runs)
        finally:
            context.stop()


def _figures(context: sharkpy.SharkContext, place: str, runs: int) -> list[Figure]:
    promised, answer, blocks = _timed(context, runs)
    context.sql("SET shark.pruning=false").close()
    whole, same, _ = _timed(context, runs)
    context.sql("RESET shark.pruning").close()
    if answer != same:
        raise AssertionError(f"{answer} in order of promise and {same} of all blocks")
    opened, total = blocks["opened"], blocks["blocks"]
    return [
        comparison(
            f"top 10 {place}, blocks in order of promise",
            "ms",
            promised * 1000,
            {"all blocks": whole * 1000},
            is_key=place == "in the driver",
        ),
        Figure(f"blocks opened {place}", f"{opened} of {total}", "a fourth at most", opened * 4 <= total),
    ]


def _timed(context: sharkpy.SharkContext, runs: int) -> tuple[float, list[Any], dict[str, int]]:
    """Median seconds of warm runs, the answer, and the figures of the decision on blocks."""
    context.sql(QUERY).fetchall()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        result = context.sql(QUERY)
        answer = result.fetchall()
        seconds.append(time.perf_counter() - start)
    figures = [dict(one.figures) for one in result.profile.decisions if one.rule == "first_rows"]
    return statistics.median(seconds), answer, figures[0] if figures else {}
