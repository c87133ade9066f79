from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sharkpy.optimizer.context import ColumnEstimate
from sharkpy.optimizer.join_graph import JoinGraph, KeyClass, build_graph
from sharkpy.optimizer.rules import reorder_joins as reorder_joins_module
from sharkpy.optimizer.rules.reorder_joins import Order, reorder_joins
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Filter, Join, JoinKind, LogicalPlan, Scan
from sharkpy.values.types import INT
from tests.examples import examples
from tests.optimizer.builder import Statistics, both, call, context, cross, eq, join, nodes, scan
from tests.waiting import allowed

SIZES = Statistics({"big": 1_000_000, "t1": 1_000, "t2": 100, "small": 10})
BIG, T1, T2, SMALL = scan("big", 1), scan("t1", 11), scan("t2", 21), scan("small", 31)


def a(plan: Scan) -> ColumnRef:
    return plan.columns[0]


def b(plan: Scan) -> ColumnRef:
    return plan.columns[1]


def reordered(plan: LogicalPlan, statistics: Statistics = SIZES) -> LogicalPlan:
    return reorder_joins(plan, context(plan, statistics))


def names(plan: LogicalPlan) -> object:
    """The order of a plan of joins as nested pairs of tables."""
    match plan:
        case Join():
            return (names(plan.left), names(plan.right))
        case Scan():
            return plan.table.name
    return names(plan.children[0])


def test_the_smaller_side_is_on_the_right() -> None:
    assert names(reordered(join(SMALL, BIG, eq(a(SMALL), a(BIG))))) == ("big", "small")
    plan = join(BIG, SMALL, eq(a(BIG), a(SMALL)))
    assert reordered(plan) is plan


def test_no_cross_product_where_conditions_connect() -> None:
    plan = join(cross(SMALL, T2), BIG, both(eq(a(SMALL), a(BIG)), eq(b(T2), b(BIG))))
    result = reordered(plan)
    assert all(node.kind is JoinKind.INNER for node in nodes(result, Join))  # type: ignore[attr-defined]


def test_equalities_pass_through_a_common_column() -> None:
    """big.a = t1.a and t1.a = small.a lets big meet small first."""
    plan = join(join(BIG, T1, eq(a(BIG), a(T1))), SMALL, eq(a(T1), a(SMALL)))
    result = reordered(plan)
    assert names(result) in ((("big", "small"), "t1"), ("big", ("t1", "small")))


def test_two_columns_of_one_relation_made_equal_are_compared_there() -> None:
    plan = join(T1, T2, both(eq(a(T1), a(T2)), eq(b(T1), a(T2))))
    assert Filter(T1, eq(a(T1), b(T1))) in nodes(reordered(plan), Filter)


def test_other_conditions_wait_for_their_relations() -> None:
    term = call("lt", b(BIG), b(SMALL))
    plan = join(join(BIG, T1, eq(a(BIG), a(T1))), SMALL, both(eq(a(T1), a(SMALL)), term))
    conditions = [str(node.condition) for node in nodes(reordered(plan), Join)]  # type: ignore[attr-defined]
    assert sum(str(term) in condition for condition in conditions) == 1


def test_hinted_joins_stay() -> None:
    plan = Join(SMALL, BIG, JoinKind.INNER, eq(a(SMALL), a(BIG)), "broadcast_left")
    assert reordered(plan) is plan


def test_distinct_values_decide() -> None:
    """A key with few values multiplies rows; one with many does not."""
    columns = {("t1", "a"): ColumnEstimate(ndv=2), ("t2", "a"): ColumnEstimate(ndv=2)}
    columns |= {("t1", "b"): ColumnEstimate(ndv=1000), ("small", "b"): ColumnEstimate(ndv=1000)}
    plan = join(join(T1, T2, eq(a(T1), a(T2))), SMALL, eq(b(T1), b(SMALL)))
    result = reordered(plan, Statistics(SIZES.rows, columns))
    assert names(result) in ((("t1", "small"), "t2"), ("t2", ("t1", "small")))


def test_twenty_relations_are_ordered_greedily() -> None:
    scans = [scan("t1" if i % 2 else "t2", 100 + 3 * i) for i in range(20)]
    plan: LogicalPlan = scans[0]
    for left, right in itertools.pairwise(scans):
        plan = join(plan, right, eq(b(left), a(right)))
    result = reordered(plan)
    assert len(nodes(result, Scan)) == 20
    assert all(node.kind is JoinKind.INNER for node in nodes(result, Join))  # type: ignore[attr-defined]


def _compared_anew(leaves: list[Order], graph: JoinGraph) -> Order:
    """All pairs compared before each join: as `_greedy`, in far more time."""
    orders = list(leaves)
    while len(orders) > 1:
        candidates = [
            reorder_joins_module._joined(one, other, graph)
            for one, other in itertools.combinations(orders, 2)
            if reorder_joins_module._neighbours(one.mask, graph) & other.mask
        ] or [reorder_joins_module._joined(orders[0], other, graph) for other in orders[1:]]
        chosen = min(candidates, key=lambda order: order.rows)
        orders = [order for order in orders if not order.mask & chosen.mask] + [chosen]
    return orders[0]


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(3, 9), st.data())
def test_pairs_need_not_be_compared_again(number: int, data: st.DataObject) -> None:
    tables = [scan(data.draw(st.sampled_from(["big", "t1", "t2", "small"])), 100 * at + 1) for at in range(number)]
    ends = st.tuples(st.integers(0, number - 1), st.integers(0, number - 1), st.booleans(), st.booleans())
    terms = [
        eq((a if first else b)(tables[one]), (a if second else b)(tables[other]))
        for one, other, first, second in data.draw(st.lists(ends, min_size=1, max_size=2 * number))
        if one != other
    ]
    graph = build_graph(tables, terms, context(tables[0], SIZES))
    leaves = [Order(1 << index, 0.0, rows) for index, rows in enumerate(graph.rows)]
    for component in reorder_joins_module._components(leaves, graph):
        assert reorder_joins_module._greedy(component, graph) == _compared_anew(component, graph)


@pytest.mark.slow
def test_many_relations_on_one_column_take_seconds() -> None:
    plan: LogicalPlan = SMALL
    for at in range(200):
        one = scan("t1", 1000 + 10 * at)
        plan = join(plan, one, eq(a(SMALL), a(one)))
    began = time.monotonic()
    reordered(plan)
    assert time.monotonic() - began < allowed(4)


class _Counted:
    """Items that count how often they are read."""

    def __init__(self, items: list[Any]) -> None:
        self.items, self.num_reads = items, 0

    def __iter__(self) -> Iterator[Any]:
        self.num_reads += 1
        return iter(self.items)


def test_the_search_looks_for_the_member_of_a_set_once() -> None:
    columns = [ColumnRef(number, f"k{number}", INT) for number in range(3)]
    members: Any = _Counted([(number, column, 10.0 - number) for number, column in enumerate(columns)])
    keys = KeyClass(members, 0b111)
    assert [keys.member(0b011) for _ in range(5)] == [(columns[1], 9.0)] * 5
    assert keys.member(0b101) == (columns[2], 8.0)
    assert members.num_reads == 2
