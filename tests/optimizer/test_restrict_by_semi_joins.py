from __future__ import annotations

from sharkpy.optimizer.rules.restrict_by_semi_joins import restrict_aggregates
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Project, Scan
from tests.optimizer.builder import Statistics, aggregate, context, eq, group, join, nodes, scan, select, where

SIZES = Statistics({"big": 1_000_000, "small": 100})
BIG = scan("big", 1)
A, B, _ = BIG.columns
MAXIMA = group(BIG, (A,), aggregate("max", B, 31))


def restricted(plan: LogicalPlan) -> LogicalPlan:
    return restrict_aggregates(plan, context(plan, SIZES))


def small(*, is_filtered: bool) -> Scan:
    plain = scan("small", 11)
    return scan("small", 11, eq(plain.columns[1], 5)) if is_filtered else plain


def test_a_filtered_table_restricts_the_groups_that_it_joins() -> None:
    keys = small(is_filtered=True)
    plan = join(keys, MAXIMA, eq(A, keys.columns[0]))
    result = restricted(plan)
    assert isinstance(result, Join)
    assert isinstance(result.right, Aggregate)
    semi = result.right.child
    assert isinstance(semi, Join)
    assert semi.kind is JoinKind.SEMI
    assert semi.left == BIG
    assert isinstance(semi.right, Project)
    assert not semi.right.output_ids & (keys.output_ids | BIG.output_ids)
    assert result.output == plan.output


def test_not_by_a_whole_table_nor_by_other_columns() -> None:
    keys = small(is_filtered=False)
    whole = join(keys, MAXIMA, eq(A, keys.columns[0]))
    assert restricted(whole) is whole
    keys = small(is_filtered=True)
    by_value = join(keys, MAXIMA, eq(keys.columns[0], MAXIMA.output[1]))
    assert restricted(by_value) is by_value


def test_not_where_the_unmatched_groups_count() -> None:
    keys = small(is_filtered=True)
    plan = join(keys, MAXIMA, eq(A, keys.columns[0]), JoinKind.RIGHT)
    assert restricted(plan) is plan


def test_through_projections_and_filters_above_the_aggregate() -> None:
    keys = small(is_filtered=True)
    having = where(select(MAXIMA, A), eq(A, 3))
    plan = join(having, keys, eq(A, keys.columns[0]))
    assert any(node.kind is JoinKind.SEMI for node in nodes(restricted(plan), Join))  # type: ignore[attr-defined]
