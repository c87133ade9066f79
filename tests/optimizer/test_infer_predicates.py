from __future__ import annotations

import pytest

from sharkpy.base.settings import Conf
from sharkpy.optimizer.context import NoStatistics
from sharkpy.optimizer.optimize import optimize
from sharkpy.optimizer.rules.infer_predicates import infer_predicates
from sharkpy.plan.expr import Alias
from sharkpy.plan.logical import Filter, JoinKind, Scan
from tests.optimizer.builder import call, context, either, eq, gt, join, lt, nodes, scan, select, where

T1, T2, T3 = scan("t1", 1), scan("t2", 11), scan("t3", 21)
A, B, S = T1.columns
C, D, _ = T2.columns


@pytest.mark.parametrize("term", [eq(A, 5), gt(A, 5), call("in", A, 1, 2)], ids=str)
def test_a_condition_holds_for_the_equal_column(term: object) -> None:
    plan = join(scan("t1", 1, term), T2, eq(A, C))  # type: ignore[arg-type]
    result = infer_predicates(plan, context(plan))
    carried = call(term.function, C, *term.args[1:])  # type: ignore[attr-defined]
    assert result.right == Filter(T2, carried)  # type: ignore[attr-defined]
    assert infer_predicates(result, context(result)) is result


DIRECTIONS = [
    (JoinKind.INNER, True, True),
    (JoinKind.SEMI, True, True),
    (JoinKind.LEFT, True, False),
    (JoinKind.ANTI, True, False),
    (JoinKind.RIGHT, False, True),
    (JoinKind.FULL, False, False),
    (JoinKind.NULL_AWARE_ANTI, False, False),
]


@pytest.mark.parametrize(("kind", "to_right", "to_left"), DIRECTIONS)
def test_directions(kind: JoinKind, to_right: bool, to_left: bool) -> None:
    rightward = join(scan("t1", 1, eq(A, 5)), T2, eq(A, C), kind)
    leftward = join(T1, scan("t2", 11, eq(C, 5)), eq(A, C), kind)
    assert (infer_predicates(rightward, context(rightward)) is not rightward) is to_right
    assert (infer_predicates(leftward, context(leftward)) is not leftward) is to_left


def test_along_a_chain_of_joins() -> None:
    plan = join(join(scan("t1", 1, eq(A, 5)), T2, eq(A, C)), T3, eq(C, T3.columns[0]))
    result = infer_predicates(plan, context(plan))
    assert result.right == Filter(T3, eq(T3.columns[0], 5))  # type: ignore[attr-defined]


def test_nothing_from_a_disjunction_of_columns_or_other_types() -> None:
    for plan in (
        join(scan("t1", 1, either(eq(A, 5), eq(B, 5))), T2, eq(A, C)),
        join(scan("t1", 1, eq(S, "x")), T2, eq(S, D)),
    ):
        assert infer_predicates(plan, context(plan)) is plan


def test_a_term_moved_below_a_projection_is_not_inferred_again() -> None:
    item = Alias(call("add", C, 1), 20, "i")
    plan = where(join(T1, select(T2, item), eq(A, item.ref)), lt(A, 3))
    optimized = optimize(plan, NoStatistics(), Conf())
    assert not nodes(optimized, Filter)
    predicates = [str(node.predicate) for node in optimized.walk() if isinstance(node, Scan)]
    assert predicates == ["(a#1 < 3)", "((a#11 + 1) < 3)"]
