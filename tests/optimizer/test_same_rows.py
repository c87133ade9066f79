"""Optimised plans give the rows of the plans that they were: random plans, run by DuckDB before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.optimizer.batches import RULES
from sharkpy.optimizer.context import NoStatistics, StatisticsProvider
from sharkpy.optimizer.function_traits import COMPARISONS
from sharkpy.optimizer.optimize import optimize
from sharkpy.plan.expr import Call, Expr
from sharkpy.plan.logical import LogicalPlan
from sharkpy.plan.subqueries import SUBQUERIES, InSubquery
from sharkpy.values.types import is_string
from tests.examples import examples
from tests.optimizer.builder import Statistics
from tests.optimizer.plan_sql import plan_sql, rows
from tests.optimizer.random_plans import make_plan

_TABLES = {
    "t1": "(1, 1, 'x'), (2, NULL, 'y'), (NULL, 2, 'x'), (3, 3, NULL), (1, 2, 'z'), (0, NULL, 'y')",
    "t2": "(1, 2, 'x'), (2, 2, NULL), (NULL, NULL, 'x'), (5, 1, 'q')",
    "t3": "(2, 1, 'x'), (1, 0, 'y'), (3, 2, 'y')",
}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        for name, values in _TABLES.items():
            opened.execute(f"CREATE TABLE {name} (a INT, b INT, s VARCHAR)")
            opened.execute(f"INSERT INTO {name} VALUES {values}")
        yield opened


def is_well_typed(plan: LogicalPlan) -> bool:
    """Whether sides that are compared have types of one kind, as the binder's casts see to it."""
    for node in plan.walk():
        for inner in (inner for expr in node.expressions for inner in expr.walk()):
            sides: tuple[Expr, ...] = ()
            if isinstance(inner, Call) and inner.function in (*COMPARISONS, "eq_null_safe", "in"):
                sides = inner.args
            elif isinstance(inner, InSubquery):
                sides = (*inner.values, *inner.plan.output)
            if len({is_string(side.dtype) for side in sides}) > 1:
                return False
            if isinstance(inner, SUBQUERIES) and not is_well_typed(inner.plan):
                return False
    return True


def check(
    connection: duckdb.DuckDBPyConnection,
    plan: LogicalPlan,
    statistics: StatisticsProvider,
    excluded: Sequence[str] = (),
) -> None:
    if not is_well_typed(plan):
        return
    try:
        expected = rows(connection, plan)
    except duckdb.Error:
        return
    try:
        optimized = optimize(plan, statistics, Conf({"shark.optimizer.excluded.rules": ",".join(excluded)}))
    except UnsupportedError:
        return
    assert rows(connection, optimized) == expected, f"{plan.explain()}\n\n{optimized.explain()}\n\n{plan_sql(plan)}"
    assert [c.column_id for c in optimized.output] == [c.column_id for c in plan.output]
    for node in optimized.walk():
        assert not any(isinstance(inner, SUBQUERIES) for expr in node.expressions for inner in expr.walk())


@settings(max_examples=examples(500), deadline=None)
@given(seed=st.integers(0, 10**9))
def test_random_plans(connection: duckdb.DuckDBPyConnection, seed: int) -> None:
    check(connection, make_plan(seed), NoStatistics())


@settings(max_examples=examples(120), deadline=None)
@given(seed=st.integers(0, 10**9), sizes=st.permutations((3, 1_000, 1_000_000)))
@example(seed=251, sizes=[3, 1_000, 1_000_000])
def test_random_deep_plans_under_any_statistics(
    connection: duckdb.DuckDBPyConnection, seed: int, sizes: list[int]
) -> None:
    check(connection, make_plan(seed, depth=4), Statistics(dict(zip(_TABLES, sizes, strict=True))))


_OPTIONAL = sorted(name for name, rule in RULES.items() if rule.needed_for is None)


@settings(max_examples=examples(120), deadline=None)
@given(seed=st.integers(0, 10**9), excluded=st.lists(st.sampled_from(_OPTIONAL), unique=True))
@example(seed=1, excluded=_OPTIONAL)
@example(seed=2, excluded=_OPTIONAL)
def test_without_some_rules(connection: duckdb.DuckDBPyConnection, seed: int, excluded: list[str]) -> None:
    check(connection, make_plan(seed), NoStatistics(), excluded)


def test_optimizing_twice_changes_no_rows(connection: duckdb.DuckDBPyConnection) -> None:
    for seed in range(40):
        try:
            once = optimize(make_plan(seed), NoStatistics(), Conf())
        except UnsupportedError:
            continue
        check(connection, once, NoStatistics())
