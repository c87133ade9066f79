"""Grouping sets over the states of a grouping by all columns: the same as over repeated rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sharkpy
from sharkpy.execution.queries.plan_query import bind_text, plan_steps
from sharkpy.physical.operators import AggregateMode, Expand, GroupingSets, HashAggregate
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.logical import LogicalPlan


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path_factory.mktemp("w")) as opened:
        opened.sql(
            "CREATE TABLE t TBLPROPERTIES ('shark.cache'='MEMORY_ONLY') AS "
            "SELECT n % 3 AS a, n % 5 AS b, n AS x FROM (SELECT explode(sequence(1, 300)) AS n) q"
        ).close()
        yield opened


def planned(session: sharkpy.SharkContext, sql: str) -> PhysicalPlan:
    bound = bind_text(session, sql)
    assert isinstance(bound, LogicalPlan)
    return plan_steps(session, bound)[1].root


def below_sets(plan: PhysicalPlan) -> PhysicalPlan:
    (sets,) = (node for node in plan.walk() if isinstance(node, (Expand, GroupingSets)))
    return sets.child


@pytest.mark.parametrize("keys", ["a, b", "a, x"], ids=["few groups", "as many groups as rows"])
@pytest.mark.parametrize("placement", ["true", "false"])
def test_the_groups_of_all_columns_make_the_sets(session: sharkpy.SharkContext, placement: str, keys: str) -> None:
    session.sql(f"SET shark.placement.driver={placement}").close()
    grouped = below_sets(planned(session, f"SELECT {keys}, sum(x), count(*) FROM t GROUP BY ROLLUP ({keys})"))
    assert isinstance(grouped, HashAggregate)
    assert grouped.mode is AggregateMode.PARTIAL
    assert [column.name for column in grouped.group_columns] == keys.split(", ")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, x, sum(b) FROM t GROUP BY a, x GROUPING SETS (a, x)",
        "SELECT 1 + 1, a, sum(b) FROM t GROUP BY ROLLUP (1 + 1, a)",
        "SELECT a, b, count(DISTINCT x) FROM t GROUP BY ROLLUP (a, b)",
        "SELECT a, b, first(x) FROM t GROUP BY ROLLUP (a, b)",
    ],
    ids=["as many groups as rows", "a constant in a set", "DISTINCT", "no states"],
)
def test_rows_are_repeated_where_states_spare_nothing_or_there_are_none(
    session: sharkpy.SharkContext, sql: str
) -> None:
    session.sql("SET shark.placement.driver=true").close()
    assert not isinstance(below_sets(planned(session, sql)), HashAggregate)
