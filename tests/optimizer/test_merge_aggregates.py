from __future__ import annotations

import pytest

from sharkpy.optimizer.rules.merge_aggregates import merge_aggregates
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef
from sharkpy.plan.logical import Aggregate, LogicalPlan
from sharkpy.values.types import BIGINT, DOUBLE, INT
from tests.optimizer.builder import aggregate, call, context, count, group, gt, lit, nodes, scan, select, where

ROWS = scan("t1", 1)
A, B, S = ROWS.columns
TOTAL, NUMBER, MOST = aggregate("sum", B, 11, BIGINT), count(12), aggregate("max", B, 13)
INNER = group(ROWS, (A, S), TOTAL, NUMBER, MOST)


def merged(plan: LogicalPlan) -> LogicalPlan:
    return merge_aggregates(plan, context(plan))


def of(function: str, inner: Alias, column_id: int = 21) -> Alias:
    return aggregate(function, inner.ref, column_id, BIGINT if function == "sum" else None)


def test_totals_of_groups_are_those_of_rows() -> None:
    plan = group(INNER, (S,), of("sum", TOTAL), of("sum", NUMBER, 22), of("max", MOST, 23))
    result = merged(plan)
    assert isinstance(result, Aggregate)
    assert (result.child, result.groups, result.output) == (ROWS, (S,), plan.output)
    number = Alias(AggregateCall("sum", (lit(1, BIGINT),), BIGINT), 22, "sum")
    assert result.aggregates == (aggregate("sum", B, 21, BIGINT), number, aggregate("max", B, 23))


def test_through_a_projection_and_computed_groups() -> None:
    half = Alias(Call("divide", (B, lit(2)), DOUBLE), 14, "half")
    inner = group(ROWS, (half, A), TOTAL)
    named = select(inner, Alias(half.ref, 15, "h"), Alias(TOTAL.ref, 16, "t"))
    plan = group(named, (ColumnRef(15, "h", DOUBLE),), aggregate("sum", ColumnRef(16, "t", BIGINT), 21))
    result = merged(plan)
    assert isinstance(result, Aggregate)
    assert result.child == ROWS
    assert result.groups == (Alias(half.expr, 15, "h"),)
    assert result.output == plan.output


def test_without_groups_no_rows_have_no_sum() -> None:
    """The sum of no counts is NULL, and not 0."""
    counted = group(ROWS, (A,), count(12, S))
    result = merged(group(counted, (), of("sum", counted.aggregates[0])))
    assert isinstance(result, Aggregate)
    assert result.child == ROWS
    ((found,),) = [item.expr.args for item in result.aggregates if isinstance(item.expr, AggregateCall)]
    assert found == Call("case_when", (call("is_not_null", S), lit(1, BIGINT), lit(0, BIGINT)), BIGINT)


REAL = aggregate("sum", Cast(B, DOUBLE), 17, DOUBLE)
DISTINCT = count(18, S, distinct=True)
RANDOM = Alias(Call("rand", (), DOUBLE), 19, "r")


@pytest.mark.parametrize(
    "plan",
    [
        group(INNER, (S,), count(21)),
        group(INNER, (S,), of("min", MOST)),
        group(INNER, (S,), of("max", NUMBER)),
        group(INNER, (S,), aggregate("sum", Cast(A, BIGINT), 21)),
        group(INNER, (NUMBER.ref,), of("sum", TOTAL)),
        group(INNER, (S,), of("sum", TOTAL), count(22)),
        group(INNER, (S,), Alias(AggregateCall("sum", (TOTAL.ref,), BIGINT, distinct=True), 21, "s")),
        group(INNER, (S,), Alias(AggregateCall("sum", (TOTAL.ref,), BIGINT, filter=gt(A, 1)), 21, "s")),
        group(where(INNER, gt(NUMBER.ref, 1)), (S,), of("sum", TOTAL)),
        group(group(ROWS, (A,), REAL), (), aggregate("sum", REAL.ref, 21)),
        group(group(ROWS, (A,), DISTINCT), (), of("sum", DISTINCT)),
        group(group(ROWS, (RANDOM,), TOTAL), (RANDOM.ref,), of("sum", TOTAL)),
        group(group(ROWS, (), TOTAL), (), of("sum", TOTAL)),
        group(
            select(INNER, Alias(call("add", A, 1), 15, "b"), TOTAL.ref), (ColumnRef(15, "b", INT),), of("sum", TOTAL)
        ),
    ],
)
def test_what_depends_on_the_groups_stays(plan: LogicalPlan) -> None:
    assert merged(plan) == plan
    assert len(nodes(merged(plan), Aggregate)) == 2


def test_three_levels_are_one() -> None:
    middle = group(INNER, (A,), of("sum", TOTAL))
    result = merged(group(middle, (), aggregate("sum", middle.output[1], 31)))
    assert nodes(result, Aggregate) == [result]
    assert isinstance(result, Aggregate)
    assert result.child == ROWS
