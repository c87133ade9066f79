"""Check of the query that ARCHITECTURE.md shows at every step. UPDATE_PLANS=1 writes the text anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.execution.queries.bind_text import bind_text
from sharkpy.execution.queries.plan_query import plan_steps
from sharkpy.optimizer.replan.place_stage import Place
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.split_stages import next_exchange, read_of, replace_exchange, sink_of
from sharkpy.plan.logical import LogicalPlan

DOCUMENT = Path(__file__).parents[1] / "ARCHITECTURE.md"
BEGIN, END = "<!-- walk: begin -->\n", "<!-- walk: end -->\n"

TABLES = """
CREATE TABLE airlines (carrier STRING, name STRING) TBLPROPERTIES ('shark.cache' = 'MEMORY');
CREATE TABLE flights (month INT, carrier STRING, delay INT) TBLPROPERTIES ('shark.cache' = 'MEMORY');
INSERT INTO airlines VALUES ('AA', 'American'), ('UA', 'United'), ('DL', 'Delta');
INSERT INTO flights VALUES (1, 'AA', 3), (1, 'UA', NULL), (2, 'DL', 12), (3, 'AA', 30);
INSERT INTO flights VALUES (6, 'UA', 4), (7, 'UA', 50), (7, 'DL', -5), (12, 'AA', 7)
"""
QUERY = """SELECT name, count(*) AS flights, sum(delay) AS delay
FROM flights JOIN airlines ON flights.carrier = airlines.carrier
WHERE month >= 6
GROUP BY name
ORDER BY delay DESC"""


def _block(title: str, text: str, language: str = "") -> Iterator[str]:
    yield f"{title}\n\n```{language}\n{text.rstrip()}\n```\n"


def _walk(context: sharkpy.SharkContext) -> Iterator[str]:
    """Text of the query, its plans, the program of every stage and the answer."""
    yield from _block("**HiveQL**", QUERY, "sql")
    bound = bind_text(context, QUERY)
    assert isinstance(bound, LogicalPlan)
    yield from _block("**bind**: names are ids, types are known, casts explicit", bound.explain())
    optimized, placed = plan_steps(context, bound, placement=Place.RDD)
    plan = placed.root
    yield from _block("**optimize**: the filter is in the scan, unused columns are gone", optimized.explain())
    yield from _block("**plan**: one block of two is pruned; exchanges where a distribution is needed", plan.explain())
    number = 1
    while (exchange := next_exchange(plan)) is not None:
        sql = lower_stage(exchange.child, sink_of(exchange)).program.sql
        yield from _block(f"**stage {number}**, into `{exchange.label}`", sql, "sql")
        plan = replace_exchange(plan, exchange.exchange_id, read_of(exchange, None))
        number += 1
    yield from _block(f"**stage {number}**, the result", lower_stage(plan, sink_of(_result(plan))).program.sql, "sql")
    answer = "\n".join("\t".join(map(str, row)) for row in context.sql(QUERY).fetchall())
    yield from _block("**Result**", answer)


def _result(plan: object) -> object:
    from sharkpy.physical.distribution import SinglePartitioning
    from sharkpy.physical.operators import Exchange

    return Exchange(0, plan, SinglePartitioning())  # type: ignore[arg-type]


@pytest.mark.spark
def test_the_walk_through_one_query_is_true(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path, shark_placement_driver=False, shark_task_single_max_bytes=0) as context:
        context.sql(TABLES).close()
        walk = "\n".join(_walk(context))
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    written, after = rest.split(END)
    if os.environ.get("UPDATE_PLANS"):
        DOCUMENT.write_text(before + BEGIN + walk + END + after)
    else:
        assert written == walk, "run the test with UPDATE_PLANS=1 and read the difference"
