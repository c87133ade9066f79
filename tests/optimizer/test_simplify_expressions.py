from __future__ import annotations

import pytest

from sharkpy.optimizer.rules.simplify_conditions import connect
from sharkpy.optimizer.rules.simplify_expressions import simplify_expr, simplify_expressions
from sharkpy.plan.expr import FALSE, TRUE, Call, Cast, Expr, Literal
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, INT, SMALLINT, DecimalType
from tests.optimizer.builder import both, call, context, either, eq, gt, lit, lt, negated, scan, where

T1 = scan("t1", 1)
A, B, S = T1.columns
NULL = Literal(None, BOOLEAN)
X, Y, Z = eq(A, 1), gt(B, 2), call("like", S, "%z%")
RANDOM = Call("lt", (Call("rand", (), DOUBLE), Literal(0.5, DOUBLE)), BOOLEAN)

CASES: list[tuple[Expr, Expr]] = [
    (both(X, TRUE), X),
    (both(X, FALSE), FALSE),
    (both(X, NULL), both(X, NULL)),
    (both(X, X), X),
    (either(X, FALSE), X),
    (either(X, TRUE), TRUE),
    (both(RANDOM, RANDOM), both(RANDOM, RANDOM)),
    (negated(negated(X)), X),
    (negated(Y), call("le", B, 2)),
    (negated(both(X, Y)), either(call("ne", A, 1), call("le", B, 2))),
    (negated(either(X, Z)), both(call("ne", A, 1), negated(Z))),
    (negated(NULL), NULL),
    (negated(call("is_null", A)), call("is_not_null", A)),
    (negated(call("in", A, 1, 2)), negated(call("in", A, 1, 2))),
    (either(both(X, Y), both(X, Z)), both(X, either(Y, Z))),
    (either(both(X, Y), X), X),
    (either(eq(A, 1), eq(A, 2)), call("in", A, 1, 2)),
    (either(eq(A, 1), eq(B, 2)), either(eq(A, 1), eq(B, 2))),
    (lt(5, A), gt(A, 5)),
    (eq(A, Literal(None, INT)), NULL),
    (call("eq_null_safe", A, Literal(None, INT)), call("is_null", A)),
    (eq(X, True), X),
    (eq(X, False), call("ne", A, 1)),
    (call("in", A, 1), eq(A, 1)),
    (call("in", A, 1, 1, 2), call("in", A, 1, 2)),
    (call("between", A, 1, 5), both(call("ge", A, 1), call("le", A, 5))),
    (call("is_null", lit(1)), FALSE),
    (call("is_not_null", Literal(None, INT)), FALSE),
    (call("like", S, "abc"), eq(S, "abc")),
    (call("like", S, "a_c"), call("like", S, "a_c")),
    (call("like", S, "a\\%"), call("like", S, "a\\%")),
    (Call("case_when", (FALSE, A, TRUE, B, A), INT), B),
    (Call("case_when", (X, A, NULL, A, B), INT), Call("case_when", (X, A, B), INT)),
    (Call("coalesce", (Literal(None, INT), A, lit(1), B), INT), Call("coalesce", (A, lit(1)), INT)),
    (Call("coalesce", (lit(3), B), INT), lit(3)),
    (Cast(A, INT), A),
    (gt(Cast(A, BIGINT), Literal(7, BIGINT)), gt(A, 7)),
    (gt(Cast(A, BIGINT), Literal(1 << 40, BIGINT)), gt(Cast(A, BIGINT), Literal(1 << 40, BIGINT))),
    (gt(Cast(A, SMALLINT), Literal(7, SMALLINT)), gt(Cast(A, SMALLINT), Literal(7, SMALLINT))),
    (eq(Cast(A, DOUBLE), Literal(7.0, DOUBLE)), eq(Cast(A, DOUBLE), Literal(7.0, DOUBLE))),
    (
        gt(Cast(A, DecimalType(5, 0)), Literal(7, DecimalType(5, 0))),
        gt(Cast(A, DecimalType(5, 0)), Literal(7, DecimalType(5, 0))),
    ),
]


@pytest.mark.parametrize(("given", "expected"), CASES, ids=lambda value: str(value))
def test_simplified(given: Expr, expected: Expr) -> None:
    assert simplify_expr(given, context(T1)) == expected


def test_what_is_simple_stays_the_same_object() -> None:
    plan = where(T1, both(X, either(Y, Z)))
    assert simplify_expressions(plan, context(plan)) is plan


def test_long_disjunctions_do_not_grow_deep() -> None:
    terms: list[Expr] = [gt(call("add", A, i), i) for i in range(400)]
    result = simplify_expr(negated(connect("or", terms)), context(T1))

    def depth(expr: Expr) -> int:
        return 1 + max((depth(child) for child in expr.children), default=0)

    assert depth(result) < 20
