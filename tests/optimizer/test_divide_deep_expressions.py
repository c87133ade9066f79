"""Deep expressions are computed in several projections, whatever operator holds them."""

from __future__ import annotations

import pytest

from sharkpy.optimizer.rules.divide_deep_expressions import MOST_LEVELS, divide_deep_expressions
from sharkpy.plan.expr import Alias, Call, Expr, SortKey
from sharkpy.plan.logical import JoinKind, LogicalPlan, Project, Scan, Sort
from sharkpy.plan.references import is_deep
from sharkpy.values.types import BOOLEAN
from tests.optimizer.builder import call, context, eq, group, join, scan, select, where
from tests.optimizer.test_optimize import applied

T1, T2 = scan("t1", 1), scan("t2", 11)
A, B, _ = T1.columns
C, D, _ = T2.columns


def chain(first: Expr, other: Expr, levels: int) -> Expr:
    for _ in range(levels):
        first = call("subtract", first, other)
    return first


DEEP = chain(A, B, 10 * MOST_LEVELS)
PLANS: dict[str, LogicalPlan] = {
    "project": select(T1, Alias(DEEP, 31, "x"), B),
    "filter": where(T1, eq(DEEP, B)),
    "scan": Scan(T1.table, T1.columns, T1.names, Call("and", (eq(A, 1), eq(DEEP, B)), BOOLEAN)),
    "group": group(T1, (Alias(DEEP, 31, "x"),)),
    "sort": Sort(T1, (SortKey(DEEP),)),
    "join": join(T1, T2, eq(DEEP, chain(C, D, 5 * MOST_LEVELS)), JoinKind.LEFT),
    "semi join": join(T1, T2, eq(DEEP, C), JoinKind.SEMI),
    "branches": select(T1, Alias(Call("if", (eq(A, 1), DEEP, call("add", 1, DEEP)), A.dtype), 31, "x")),
}


@pytest.mark.parametrize("name", PLANS)
def test_no_expression_stays_deep(name: str) -> None:
    plan = PLANS[name]
    divided = applied(plan, divide_deep_expressions)
    assert not any(is_deep(expr, 2 * MOST_LEVELS) for node in divided.walk() for expr in node.expressions)
    assert divided.output == plan.output
    assert sum(isinstance(node, Project) for node in divided.walk()) >= 5


def test_what_is_not_deep_stays() -> None:
    plan = select(T1, Alias(chain(A, B, MOST_LEVELS - 1), 31, "x"))
    assert divide_deep_expressions(plan, context(plan)) is plan
