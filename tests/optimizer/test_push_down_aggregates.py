"""Aggregations below joins: two steps if the lower one is estimated to leave few rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sharkpy.optimizer.context import ColumnEstimate
from sharkpy.optimizer.rules.push_down_aggregates import push_down_aggregates
from sharkpy.plan.expr import AggregateCall, Alias, Call, Expr
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan
from sharkpy.values.types import BIGINT, DOUBLE
from tests.optimizer.builder import Statistics, aggregate, call, context, count, eq, group, join, scan, select

BIG, T1, T2 = scan("big", 1), scan("t1", 11), scan("t2", 21)
KEY, VALUE, TEXT = BIG.columns
SUM = aggregate("sum", VALUE, 31, BIGINT)
JOINED = join(BIG, T1, eq(KEY, T1.columns[0]))
NAMED = group(JOINED, (T1.columns[2],), SUM)


def statistics(rows: int = 1_000_000, keys: int = 1_000) -> Statistics:
    return Statistics(
        {"big": rows, "t1": 1_000, "t2": 100},
        {("big", "a"): ColumnEstimate(keys), ("big", "b"): ColumnEstimate(10), ("t1", "a"): ColumnEstimate(1_000)},
    )


def pushed(plan: LogicalPlan, figures: Statistics | None = None) -> LogicalPlan:
    return push_down_aggregates(plan, context(plan, figures or statistics()))


def lower(plan: LogicalPlan) -> Aggregate:
    (found,) = (node for node in plan.walk() if isinstance(node, Aggregate) and node is not plan)
    return found


def test_states_by_the_join_key_are_merged_above() -> None:
    plan = pushed(NAMED)
    assert isinstance(plan, Aggregate)
    assert plan.output == NAMED.output
    assert str(plan.aggregates[0].expr) == "merge of sum(sum#32)"
    below = lower(plan)
    assert below.child is BIG
    assert below.groups == (KEY,)
    assert [str(item.expr) for item in below.aggregates] == ["state of sum 0(b#2)"]


def test_the_groups_of_its_side_and_all_columns_of_conditions_are_keys() -> None:
    plan = group(join(BIG, T1, call("lt", VALUE, T1.columns[1])), (KEY, T1.columns[2]), count(31))
    assert lower(pushed(plan)).groups == (KEY, VALUE)
    more = Alias(call("add", VALUE, 1), 33, "more")
    figures = statistics(keys=100)
    assert lower(pushed(group(JOINED, (T1.columns[2], more), count(31)), figures)).groups == (VALUE, KEY)


def test_a_projection_to_columns_is_no_barrier() -> None:
    plan = group(select(select(JOINED, KEY, VALUE, T1.columns[2]), VALUE, T1.columns[2]), (T1.columns[2],), SUM)
    assert lower(pushed(plan)).child is BIG


@pytest.mark.parametrize(
    ("kind", "is_pushed"),
    [(JoinKind.INNER, True), (JoinKind.LEFT, True), (JoinKind.RIGHT, False), (JoinKind.FULL, False)],
)
def test_a_side_with_added_rows_is_not_aggregated(kind: JoinKind, is_pushed: bool) -> None:
    plan = group(join(BIG, T1, eq(KEY, T1.columns[0]), kind), (T1.columns[2],), SUM)
    assert (pushed(plan) is not plan) == is_pushed


def test_it_moves_below_semi_joins_too() -> None:
    kept = join(BIG, T2, eq(KEY, T2.columns[0]), JoinKind.SEMI)
    figures = statistics()
    figures.rows["t2"] = 1_000
    plan = pushed(group(join(kept, T1, eq(KEY, T1.columns[0])), T1.columns, SUM), figures)
    assert lower(plan).child is BIG


def _distinct(call: Expr) -> Expr:
    assert isinstance(call, AggregateCall)
    return replace(call, distinct=True)


@pytest.mark.parametrize(
    ("plan", "figures"),
    [
        (NAMED, statistics(rows=5_000, keys=10)),
        (NAMED, statistics(keys=900_000)),
        (group(JOINED, (T1.columns[2],), replace(SUM, expr=_distinct(SUM.expr))), statistics()),
        (group(JOINED, (T1.columns[2],), aggregate("collect_list", VALUE, 31)), statistics()),
        (group(JOINED, (T1.columns[2],), aggregate("sum", call("add", VALUE, T1.columns[1]), 31)), statistics()),
        (group(BIG, (KEY,), SUM), statistics()),
        (group(join(BIG, T1, None, JoinKind.CROSS), (T1.columns[2],), SUM), statistics()),
        (group(JOINED, (Alias(Call("rand", (), DOUBLE), 33, "r"),), SUM), statistics()),
    ],
    ids=[
        *("few rows", "as many groups as rows", "DISTINCT", "large states", "columns of both sides", "no join"),
        *("no keys", "random groups"),
    ],
)
def test_other_aggregations_take_one_step(plan: LogicalPlan, figures: Statistics) -> None:
    assert pushed(plan, figures) is plan


def test_keys_whose_equal_values_differ_are_not_grouped() -> None:
    real = replace(KEY, dtype=DOUBLE)
    plan = group(
        join(replace(BIG, columns=(real, *BIG.columns[1:])), T1, eq(real, T1.columns[0])), (T1.columns[2],), SUM
    )
    assert pushed(plan) is plan


def test_joins_below_the_chosen_input_stay() -> None:
    filtered = join(BIG, T2, eq(VALUE, T2.columns[0]), JoinKind.SEMI)
    plan = pushed(group(join(filtered, T1, eq(KEY, T1.columns[0])), (T1.columns[2],), count(31)))
    assert isinstance(lower(plan).child, Join)
