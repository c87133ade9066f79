from __future__ import annotations

import datetime

import pytest

from sharkpy.optimizer.context import ColumnEstimate
from sharkpy.optimizer.estimate import DEFAULT_ROWS, estimate_rows, known_distinct, repeats
from sharkpy.plan.expr import Expr, Literal
from sharkpy.plan.logical import JoinKind, Limit, LogicalPlan
from sharkpy.values.types import DATE
from tests.optimizer.builder import (
    Statistics,
    both,
    call,
    context,
    count,
    eq,
    group,
    gt,
    join,
    lt,
    negated,
    scan,
    where,
)

T1, T2 = scan("t1", 1), scan("t2", 11)
A, B, S = T1.columns
C = T2.columns[0]
KNOWN = Statistics(
    {"t1": 1000, "t2": 100},
    {
        ("t1", "a"): ColumnEstimate(100, 0, 100),
        ("t1", "b"): ColumnEstimate(10, 0, 10, null_fraction=0.5),
        ("t1", "s"): ColumnEstimate(4),
        ("t2", "a"): ColumnEstimate(100, 0, 100),
    },
)

CASES: list[tuple[Expr, float]] = [
    (eq(A, 5), 10),
    (call("ne", A, 5), 990),
    (gt(A, 75), 250),
    (both(gt(A, 25), lt(A, 75)), 500),
    (gt(A, 1000), 0.01),
    (call("in", S, "x", "y"), 500),
    (both(call("in", S, "x", "y"), eq(S, "x")), 250),
    (call("is_null", B), 500),
    (call("is_not_null", B), 500),
    (negated(eq(A, 5)), 990),
    (call("or", eq(S, "x"), eq(S, "y")), 437.5),
    (eq(A, Literal(datetime.date(2020, 1, 1), DATE)), 10),
]


def rows(plan: LogicalPlan, statistics: Statistics = KNOWN) -> float:
    return estimate_rows(plan, context(plan, statistics))


@pytest.mark.parametrize(("predicate", "expected"), CASES, ids=str)
def test_filters(predicate: Expr, expected: float) -> None:
    assert rows(where(T1, predicate)) == pytest.approx(expected)
    assert rows(scan("t1", 1, predicate)) == pytest.approx(expected)


def test_other_nodes() -> None:
    assert rows(join(T1, T2, eq(A, C))) == pytest.approx(1000)
    assert rows(join(T1, where(T2, eq(C, 1)), eq(A, C), JoinKind.LEFT)) == pytest.approx(1000)
    assert rows(join(T1, scan("t2", 11, eq(C, 1)), eq(A, C), JoinKind.SEMI)) == pytest.approx(10)
    assert rows(group(T1, (A,), count(21))) == pytest.approx(100)
    assert rows(group(T1, (A, B), count(21))) == pytest.approx(1000)
    assert rows(group(T1, (), count(21))) == 1
    assert rows(Limit(T1, 7)) == 7


def test_keys_of_one_table_count_together() -> None:
    """No more pairs of keys than the smaller table has rows: not 100 times 100."""
    known = Statistics(
        {"t1": 1000, "t2": 150},
        {(table, name): ColumnEstimate(100, 0, 100) for table in ("t1", "t2") for name in ("a", "b")},
    )
    keys = both(eq(A, C), eq(B, T2.columns[1]))
    assert rows(join(T1, T2, keys), known) == pytest.approx(1000)


def test_the_spread_of_values_is_asked_for() -> None:
    spread = ColumnEstimate(100, 0, 100, 0.0, lambda limits: 0.9 if len(limits) == 1 else 0.2, lambda _: 0.3)
    known = Statistics({"t1": 1000}, {("t1", "a"): spread, ("t1", "s"): spread})
    assert rows(where(T1, gt(A, 75)), known) == pytest.approx(900)
    assert rows(where(T1, both(gt(A, 25), lt(A, 75))), known) == pytest.approx(200)
    assert rows(where(T1, call("like", S, "x%")), known) == pytest.approx(300)
    assert rows(where(T1, call("like", S, "x%y")), known) == pytest.approx(30)


def test_without_statistics() -> None:
    unknown = Statistics({})
    assert rows(T1, unknown) == DEFAULT_ROWS
    assert 0 < rows(where(T1, eq(A, 5)), unknown) < DEFAULT_ROWS
    assert rows(join(T1, T2, eq(A, C)), unknown) == pytest.approx(DEFAULT_ROWS)


def test_distinct_values_are_known_by_a_columns_figures_or_not() -> None:
    ctx = context(T1, KNOWN)
    few = where(T1, eq(A, 7))
    assert known_distinct(A, T1, ctx) == 100
    assert known_distinct(A, few, ctx) == 10
    assert known_distinct(Literal(datetime.date(2024, 1, 1), DATE), T1, ctx) == 1
    assert known_distinct(C, T2, context(T2, Statistics({}, {}))) is None
    assert known_distinct(call("add", A, B), T1, ctx) is None


def test_a_filtered_calendar_meets_the_facts_that_there_are() -> None:
    """A filter leaves a fiftieth of a calendar, of which facts have a tenth: it leaves a fifth of the facts."""
    known = Statistics(
        {"t1": 1000, "t2": 1000},
        {
            ("t1", "a"): ColumnEstimate(100, 400, 499),
            ("t2", "a"): ColumnEstimate(1000, 0, 999),
            ("t2", "b"): ColumnEstimate(50, 0, 49),
        },
    )
    year = where(T2, eq(T2.columns[1], 7))
    assert rows(join(T1, year, eq(A, C)), known) == pytest.approx(200)
    assert rows(join(year, T1, eq(C, A)), known) == pytest.approx(200)
    assert rows(join(T1, T2, eq(A, C)), known) == pytest.approx(1000)


def test_groups_by_columns_of_one_table_are_no_more_than_its_rows() -> None:
    known = Statistics(
        {"t1": 100_000, "t2": 150},
        {
            ("t1", "a"): ColumnEstimate(100, 0, 99),
            ("t2", "a"): ColumnEstimate(100, 0, 99),
            ("t2", "b"): ColumnEstimate(50),
        },
    )
    joined = join(T1, T2, eq(A, C))
    assert rows(group(joined, (C, T2.columns[1]), count(21)), known) == pytest.approx(150)
    assert rows(group(joined, (A, C, T2.columns[1]), count(21)), known) == pytest.approx(15_000)


def test_a_filter_on_a_group_key_leaves_few_groups() -> None:
    chosen = scan("t1", 1, call("in", A, 1, 2))
    assert rows(group(chosen, (A, S), count(21))) == pytest.approx(8)


def test_keys_repeat_in_a_table_and_not_among_its_groups() -> None:
    joined = join(T1, T2, eq(A, C))
    ctx = context(joined, KNOWN)
    assert repeats((A,), joined, ctx)
    assert repeats((A,), where(T1, eq(A, 7)), context(T1, KNOWN))
    assert not repeats((C,), joined, ctx), "each value of 100 occurs once"
    assert not repeats((A, B), joined, ctx), "there are 1,000 combinations of 1,000 rows"
    assert not repeats((A, C), joined, ctx), "they come from two tables"
    grouped = group(T1, (A,), count(21))
    assert not repeats((A,), grouped, context(grouped, KNOWN))
