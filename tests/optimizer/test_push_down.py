from __future__ import annotations

import pytest

from sharkpy.optimizer.rules.push_down import push_down_filters
from sharkpy.plan.expr import Alias, Call, Expr, WindowCall
from sharkpy.plan.logical import Filter, Generate, Join, JoinKind, Limit, LogicalPlan, Scan, Sort, Step, Union, Window
from sharkpy.plan.row_steps import RowStep
from sharkpy.values.types import BIGINT, DOUBLE
from tests.optimizer.builder import both, context, count, cross, either, eq, group, gt, join, lit, scan, select, where

T1, T2 = scan("t1", 1), scan("t2", 11)
A, B, S = T1.columns
C, D, _ = T2.columns


def pushed(plan: LogicalPlan) -> LogicalPlan:
    return push_down_filters(plan, context(plan))


def test_into_a_scan() -> None:
    assert pushed(where(T1, eq(A, 1), gt(B, 2))) == scan("t1", 1, both(eq(A, 1), gt(B, 2)))


def test_through_a_projection() -> None:
    plan = where(select(T1, Alias(Call("add", (A, lit(1)), A.dtype), 7, "x")), eq(scan("t1", 7).columns[0], 5))
    assert pushed(plan).child.predicate == eq(Call("add", (A, lit(1)), A.dtype), 5)  # type: ignore[attr-defined]


def test_group_conditions_go_below_and_others_stay() -> None:
    n = count(7)
    plan = where(group(T1, (A,), n), eq(A, 1), gt(n.ref, 2))
    assert pushed(plan) == Filter(group(scan("t1", 1, eq(A, 1)), (A,), n), gt(n.ref, 2))


def test_an_aggregate_without_groups_keeps_conditions_above() -> None:
    plan = where(group(T1, (), count(7)), lit(False))
    assert pushed(plan) is plan


def test_cross_join_becomes_inner() -> None:
    plan = where(cross(T1, T2), eq(A, C), eq(B, 1), gt(D, 2))
    assert pushed(plan) == join(scan("t1", 1, eq(B, 1)), scan("t2", 11, gt(D, 2)), eq(A, C))


def test_a_disjunction_over_both_sides_gives_one_for_each() -> None:
    term = either(both(eq(A, 1), eq(C, 2)), both(eq(A, 3), eq(C, 4)))
    result = pushed(where(cross(T1, T2), term))
    assert result == join(scan("t1", 1, either(eq(A, 1), eq(A, 3))), scan("t2", 11, either(eq(C, 2), eq(C, 4))), term)
    assert pushed(result) is result


OUTER = [
    # kind, left filter above stays above, right filter above stays above
    (JoinKind.LEFT, False, True),
    (JoinKind.RIGHT, True, False),
    (JoinKind.FULL, True, True),
    (JoinKind.SINGLE, False, True),
]


@pytest.mark.parametrize(("kind", "left_stays", "right_stays"), OUTER)
def test_outer_joins_let_through_what_filters_the_kept_side(
    kind: JoinKind, left_stays: bool, right_stays: bool
) -> None:
    plan = join(T1, T2, eq(A, C), kind)
    assert isinstance(pushed(where(plan, eq(B, 1))), Filter) is left_stays
    assert isinstance(pushed(where(plan, eq(D, 1))), Filter) is right_stays


CONDITIONS = [
    # kind, a left term of the condition leaves it, a right term of the condition leaves it
    (JoinKind.INNER, True, True),
    (JoinKind.LEFT, False, True),
    (JoinKind.RIGHT, True, False),
    (JoinKind.FULL, False, False),
    (JoinKind.SEMI, True, True),
    (JoinKind.ANTI, False, True),
]


@pytest.mark.parametrize(("kind", "left_moves", "right_moves"), CONDITIONS)
def test_terms_of_conditions_move_to_the_optional_side(kind: JoinKind, left_moves: bool, right_moves: bool) -> None:
    result = pushed(join(T1, T2, both(eq(A, C), eq(B, 1), eq(D, 2)), kind))
    assert isinstance(result, Join)
    assert isinstance(result.left, Scan)
    assert isinstance(result.right, Scan)
    assert (result.left.predicate is not None) is left_moves
    assert (result.right.predicate is not None) is right_moves


def test_the_condition_of_a_null_aware_anti_join_stays() -> None:
    plan = where(join(T1, T2, eq(A, C), JoinKind.NULL_AWARE_ANTI), eq(B, 1))
    assert pushed(plan) == join(scan("t1", 1, eq(B, 1)), T2, eq(A, C), JoinKind.NULL_AWARE_ANTI)


def test_through_union_by_position() -> None:
    union = Union((select(T1, A), select(T2, D)), (scan("t1", 21).columns[0],))
    result = pushed(where(union, eq(union.columns[0], 5)))
    assert result.inputs[0].child == scan("t1", 1, eq(A, 5))  # type: ignore[attr-defined]
    assert result.inputs[1].child == scan("t2", 11, eq(D, 5))  # type: ignore[attr-defined]


def test_through_sort_but_not_limit() -> None:
    assert isinstance(pushed(where(Sort(T1, ()), eq(A, 1))), Sort)
    plan = where(Limit(T1, 5), eq(A, 1))
    assert pushed(plan) is plan


def test_only_partition_columns_pass_a_window() -> None:
    item = Alias(WindowCall("count", (), (A,), (), None, BIGINT), 7, "n")
    plan = where(Window(T1, (item,)), eq(A, 1), eq(B, 2))
    assert pushed(plan) == Filter(Window(scan("t1", 1, eq(A, 1)), (item,)), eq(B, 2))


def test_generated_columns_stay_above_their_generator() -> None:
    column = scan("t2", 21).columns[0]
    plan = where(Generate(T1, Call("explode", (S,), A.dtype), (column,), False), eq(A, 1), eq(column, 2))
    result = pushed(plan)
    assert isinstance(result, Filter)
    assert result.predicate == eq(column, 2)
    assert result.child.child == scan("t1", 1, eq(A, 1))  # type: ignore[attr-defined]


def test_non_deterministic_terms_stay() -> None:
    random: Expr = Call("lt", (Call("rand", (), DOUBLE), lit(0.5, DOUBLE)), eq(A, 1).dtype)
    assert pushed(where(T1, random, eq(A, 1))) == Filter(scan("t1", 1, eq(A, 1)), random)
    item = Alias(Call("rand", (), DOUBLE), 7, "r")
    plan = where(select(T1, item), gt(item.ref, 0))
    assert pushed(plan) is plan


def test_a_step_sees_all_rows() -> None:
    column = scan("t2", 21).columns[0]
    plan = where(Step(T1, RowStep(), (A,), (column,), (B,)), eq(B, 1), eq(column, 2))
    assert pushed(plan) is plan
    below = Step(where(T1, eq(A, 1)), RowStep(), (A,), (column,))
    assert pushed(below) == Step(scan("t1", 1, eq(A, 1)), RowStep(), (A,), (column,))
