from __future__ import annotations

import pytest

from sharkpy.optimizer.rules.unnest_subqueries import unnest_subqueries
from sharkpy.plan.expr import Alias, Call, Expr, Literal
from sharkpy.plan.logical import Aggregate, Filter, Join, JoinKind, Limit, LogicalPlan, Project, Window
from sharkpy.plan.subqueries import Exists, InSubquery, ScalarSubquery
from sharkpy.values.types import BIGINT, BOOLEAN
from tests.optimizer.builder import (
    aggregate,
    both,
    call,
    context,
    count,
    either,
    eq,
    group,
    join,
    negated,
    nodes,
    scan,
    select,
    where,
)

T1, T2, T3 = scan("t1", 1), scan("t2", 11), scan("t3", 21)
A, B, _ = T1.columns
C, D, _ = T2.columns
E, F, _ = T3.columns
ITEMS = select(T2, C)


def unnested(plan: LogicalPlan) -> LogicalPlan:
    return unnest_subqueries(plan, context(plan))


def kinds(plan: LogicalPlan) -> list[JoinKind]:
    return [node.kind for node in unnested(plan).walk() if isinstance(node, Join)]


def test_in_is_a_semi_join() -> None:
    assert unnested(where(T1, InSubquery((A,), ITEMS))) == join(T1, ITEMS, eq(A, C), JoinKind.SEMI)


def test_not_in_is_a_null_aware_anti_join() -> None:
    plan = where(T1, negated(InSubquery((A,), ITEMS)))
    assert unnested(plan) == join(T1, ITEMS, eq(A, C), JoinKind.NULL_AWARE_ANTI)


def test_correlated_not_in_takes_unknown_for_a_match() -> None:
    plan = where(T1, negated(InSubquery((A,), select(where(T2, eq(D, B)), C))))
    result = unnested(plan)
    assert isinstance(result, Join)
    assert result.kind is JoinKind.ANTI
    unknown = either(eq(A, C), call("is_null", eq(A, C)))
    assert result.condition == both(eq(D, B), unknown)


@pytest.mark.parametrize(("term", "kind"), [(True, JoinKind.SEMI), (False, JoinKind.ANTI)])
def test_correlated_exists_with_inequality(term: bool, kind: JoinKind) -> None:
    exists: Expr = Exists(where(T2, both(eq(C, A), call("ne", D, B), eq(D, 1))))
    result = unnested(where(T1, exists if term else negated(exists)))
    assert result == join(T1, where(T2, eq(D, 1)), both(eq(C, A), call("ne", D, B)), kind)


def test_uncorrelated_scalar_aggregate_is_a_cross_join_with_one_row() -> None:
    assert kinds(where(T1, eq(A, ScalarSubquery(group(T2, (), aggregate("max", C, 31)))))) == [JoinKind.CROSS]


def test_uncorrelated_scalar_of_many_rows_is_checked() -> None:
    assert kinds(where(T1, eq(A, ScalarSubquery(ITEMS)))) == [JoinKind.SINGLE]


def test_correlated_aggregate_is_grouped_by_the_correlation() -> None:
    subquery = ScalarSubquery(group(where(T2, eq(C, A)), (), aggregate("max", D, 31)))
    result = unnested(where(T1, eq(B, subquery)))
    (joined,) = nodes(result, Join)
    assert joined == join(T1, group(T2, (C,), aggregate("max", D, 31)), eq(A, C), JoinKind.LEFT)
    assert result.output == T1.columns


def test_a_count_without_rows_is_zero() -> None:
    subquery = ScalarSubquery(group(where(T2, eq(C, A)), (), count(31)))
    result = unnested(select(T1, Alias(subquery, 41, "n")))
    assert isinstance(result, Project)
    zero = Literal(0, BIGINT)
    expected = Call("case_when", (call("is_null", C), zero, count(31).ref), BIGINT)
    assert result.items[0].expr == expected  # type: ignore[union-attr]


def test_inside_or_a_flag_tells() -> None:
    plan = where(T1, either(eq(B, 1), InSubquery((A,), ITEMS)))
    result = unnested(plan)
    (joined,) = nodes(result, Join)
    assert joined.kind is JoinKind.LEFT
    assert isinstance(joined.right, Project)
    assert isinstance(joined.right.child, Aggregate)  # type: ignore[attr-defined]


def test_in_a_select_list_null_and_false_differ() -> None:
    plan = select(T1, Alias(InSubquery((A,), ITEMS), 41, "x"))
    assert sorted(kind.value for kind in kinds(plan)) == ["cross", "left"]


def test_limit_below_a_correlation_is_counted_for_each_outer_row() -> None:
    plan = where(T1, eq(A, ScalarSubquery(select(Limit(where(T2, eq(C, A)), 1), D))))
    result = unnested(plan)
    assert nodes(result, Window)
    assert not nodes(result, Limit)


def test_references_two_levels_up() -> None:
    inner = Exists(where(T3, both(eq(E, C), eq(F, A))))
    plan = where(T1, Exists(where(T2, both(eq(D, B), inner))))
    result = unnested(plan)
    assert result.output == T1.columns
    assert all(not isinstance(e, Exists) for node in result.walk() for x in node.expressions for e in x.walk())


def test_in_the_condition_of_an_inner_join() -> None:
    plan = join(T1, T3, both(eq(A, E), InSubquery((B,), ITEMS)))
    assert kinds(plan) == [JoinKind.SEMI, JoinKind.INNER]


def test_in_the_condition_of_a_left_join_on_its_right_side() -> None:
    plan = join(T1, T3, both(eq(A, E), InSubquery((F,), ITEMS)), JoinKind.LEFT)
    result = unnested(plan)
    assert isinstance(result, Join)
    assert result.kind is JoinKind.LEFT
    assert isinstance(result.right, Join)
    assert result.right.kind is JoinKind.SEMI


def test_filters_without_subqueries_stay() -> None:
    plan = Filter(T1, Call("or", (eq(A, 1), eq(B, 2)), BOOLEAN))
    assert unnested(plan) is plan
