"""Tables of a plan: each once, however often the plan's parts read one another."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.execution.queries.plan_query import bind_text
from sharkpy.plan.logical import LogicalPlan
from sharkpy.plan.subqueries import read_tables

DOUBLED = [f"c{n} AS (SELECT x.a FROM c{n - 1} x JOIN c{n - 1} y ON x.a = y.a)" for n in range(1, 100)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t", {"t"}),
        ("SELECT 1", set()),
        ("SELECT t.a FROM t JOIN u ON t.a = u.a UNION ALL SELECT a FROM t", {"t", "u"}),
        ("SELECT a FROM t WHERE a IN (SELECT a FROM u) AND a > (SELECT max(a) FROM v)", {"t", "u", "v"}),
        (f"WITH c0 AS (SELECT t.a FROM t, u), {', '.join(DOUBLED)} SELECT count(*) FROM c99", {"t", "u"}),
    ],
)
def test_each_is_there_once(tmp_path: Path, text: str, expected: set[str]) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        for name in "tuv":
            context.sql(f"CREATE TABLE {name} (a INT)")
        plan = bind_text(context, text)
        assert isinstance(plan, LogicalPlan)
        found = [table.name for table in read_tables(plan)]
        assert sorted(found) == sorted(expected)
