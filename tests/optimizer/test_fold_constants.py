from __future__ import annotations

import datetime
import threading
from decimal import Decimal

import pytest

from sharkpy.base.errors import ExecutionError
from sharkpy.optimizer.evaluate import evaluate
from sharkpy.optimizer.rules.fold_constants import fold_constants
from sharkpy.plan.expr import Call, Cast, Expr, Literal
from sharkpy.plan.logical import Filter
from sharkpy.plan.subqueries import Exists
from sharkpy.udf.java_regex.python_engine import Matcher
from sharkpy.values.types import BOOLEAN, DATE, DOUBLE, INT, INTERVAL_YEAR_MONTH, STRING, TINYINT, DecimalType
from tests.optimizer.builder import call, context, eq, gt, lit, scan, where

T1 = scan("t1", 1)
A = T1.columns[0]
DAY = Literal(datetime.date(1998, 12, 1), DATE)

CASES: list[tuple[Expr, object]] = [
    (Cast(lit("1998-12-01"), DATE), datetime.date(1998, 12, 1)),
    (Cast(lit("nonsense"), DATE), None),
    (Cast(lit("12"), INT), 12),
    (Cast(lit(300), TINYINT), 44),
    (Cast(lit(7), DecimalType(5, 2)), Decimal("7.00")),
    (Call("date_sub", (DAY, lit(90)), DATE), datetime.date(1998, 9, 2)),
    (Call("add", (DAY, Literal(2, INTERVAL_YEAR_MONTH)), DATE), datetime.date(1999, 2, 1)),
    (Call("add", (lit(2), lit(3)), INT), 5),
    (Call("subtract", (lit(2), lit(3)), INT), -1),
    (Call("multiply", (lit(-2), lit(3)), INT), -6),
    (Call("add", (lit(2_147_483_647), lit(1)), INT), -2_147_483_648),
    (Call("multiply", (lit(65_536), lit(65_536)), INT), 0),
    (Call("divide", (lit(1.0, DOUBLE), lit(0.0, DOUBLE)), DOUBLE), None),
    (Call("add", (lit(2), Literal(None, INT)), INT), None),
    (Call("upper", (lit("it's"),), STRING), "IT'S"),
    (gt(lit(3), lit(2)), True),
    (call("and", lit(True), Literal(None, BOOLEAN)), None),
]


@pytest.mark.parametrize(("given", "expected"), CASES, ids=str)
def test_folded(given: Expr, expected: object) -> None:
    plan = where(T1, call("eq_null_safe", Cast(A, given.dtype), given))
    result = fold_constants(plan, context(plan))
    assert isinstance(result, Filter)
    assert result.predicate.args[1] == Literal(expected, given.dtype)  # type: ignore[attr-defined, arg-type]


def test_whole_numbers_are_computed_without_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sharkpy.optimizer.evaluate._run", lambda items: pytest.fail(f"a query for {items}"))
    plan = where(T1, gt(A, Call("add", (lit(1_234_567), Call("multiply", (lit(7), lit(911)), INT)), INT)))
    assert fold_constants(plan, context(plan)) == where(T1, gt(A, 1_240_944))


def test_only_the_constant_part_is_folded() -> None:
    plan = where(T1, gt(Call("add", (A, Call("multiply", (lit(2), lit(3)), INT)), INT), 1))
    assert fold_constants(plan, context(plan)) == where(T1, gt(Call("add", (A, lit(6)), INT), 1))


def test_not_what_differs_from_call_to_call() -> None:
    plan = where(T1, Call("lt", (Call("rand", (), DOUBLE), Literal(0.5, DOUBLE)), BOOLEAN))
    assert fold_constants(plan, context(plan)) is plan


def test_inside_subqueries() -> None:
    inner = where(scan("t2", 11), eq(scan("t2", 11).columns[0], Call("add", (lit(2), lit(3)), INT)))
    plan = where(T1, Exists(inner))
    result = fold_constants(plan, context(plan))
    assert result.predicate.plan.predicate.args[1] == lit(5)  # type: ignore[attr-defined]


def test_the_same_plan_where_nothing_is_constant() -> None:
    plan = where(T1, gt(A, 1))
    assert fold_constants(plan, context(plan)) is plan


def test_a_constant_that_fails_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's optimizer would compute it after each of its rules."""
    tried: list[str] = []

    def search(self: Matcher, text: str) -> None:
        tried.append(text)
        raise ExecutionError("takes too long")

    monkeypatch.setattr(Matcher, "search", search)
    found = Call("and", (Call("rlike", (lit("never"), lit("(?=n)nope")), BOOLEAN), lit(True)), BOOLEAN)
    assert evaluate([found]) == [None]
    assert evaluate([found]) == [None]
    assert tried == ["never"]


def test_a_constant_that_takes_long_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def search(self: Matcher, text: str) -> bool:
        begun.set()
        return go_on.wait(60)

    monkeypatch.setattr(Matcher, "search", search)
    slow = threading.Thread(target=evaluate, args=([Call("rlike", (lit("slow"), lit("(?=s)low")), BOOLEAN)],))
    slow.start()
    try:
        assert begun.wait(60)
        assert evaluate([Call("upper", (lit("meanwhile"),), STRING)]) == [Literal("MEANWHILE", STRING)]
    finally:
        go_on.set()
        slow.join()
