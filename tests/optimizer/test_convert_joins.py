from __future__ import annotations

import pytest

from sharkpy.optimizer.rules.convert_joins import eliminate_outer_joins
from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan
from tests.optimizer.builder import both, call, context, either, eq, gt, join, negated, scan, select, where

T1, T2, T3 = scan("t1", 1), scan("t2", 11), scan("t3", 21)
A, B, _ = T1.columns
C, D, _ = T2.columns
INNER, LEFT, RIGHT, FULL = JoinKind.INNER, JoinKind.LEFT, JoinKind.RIGHT, JoinKind.FULL


def kind_below(plan: LogicalPlan) -> JoinKind:
    result = eliminate_outer_joins(plan, context(plan))
    return next(node.kind for node in result.walk() if isinstance(node, Join))


CASES: list[tuple[JoinKind, Expr, JoinKind]] = [
    (LEFT, eq(D, 1), INNER),
    (LEFT, eq(B, 1), LEFT),
    (LEFT, call("is_null", D), LEFT),
    (LEFT, call("is_not_null", D), INNER),
    (LEFT, negated(call("is_null", D)), INNER),
    (LEFT, either(eq(D, 1), call("is_null", D)), LEFT),
    (LEFT, either(eq(D, 1), eq(C, 2)), LEFT),
    (LEFT, either(eq(D, 1), eq(D, 2)), INNER),
    (LEFT, either(eq(D, 1), gt(call("add", D, C), 2)), INNER),
    (LEFT, call("in", D, 1, 2), INNER),
    (LEFT, call("coalesce", eq(D, 1), True), LEFT),
    (LEFT, call("eq_null_safe", D, 1), LEFT),
    (RIGHT, eq(B, 1), INNER),
    (RIGHT, eq(D, 1), RIGHT),
    (FULL, eq(B, 1), LEFT),
    (FULL, eq(D, 1), RIGHT),
    (FULL, both(eq(B, 1), eq(D, 1)), INNER),
    (FULL, eq(B, D), INNER),
]


@pytest.mark.parametrize(("kind", "predicate", "expected"), CASES, ids=lambda value: str(value))
def test_by_the_filter_above(kind: JoinKind, predicate: Expr, expected: JoinKind) -> None:
    assert kind_below(where(join(T1, T2, eq(A, C), kind), predicate)) is expected


def test_by_an_inner_join_above() -> None:
    plan = join(join(T1, T2, eq(A, C), LEFT), T3, eq(D, T3.columns[0]))
    assert eliminate_outer_joins(plan, context(plan)).left.kind is INNER  # type: ignore[attr-defined]


def test_not_by_a_left_join_above() -> None:
    plan = join(join(T1, T2, eq(A, C), LEFT), T3, eq(D, T3.columns[0]), LEFT)
    assert eliminate_outer_joins(plan, context(plan)) is plan


def test_through_a_projection() -> None:
    plan = where(select(join(T1, T2, eq(A, C), LEFT), A, D), eq(D, 1))
    assert kind_below(plan) is INNER
