"""Rules whose whole behaviour is a few pairs of plans."""

from __future__ import annotations

import pytest

from sharkpy.optimizer.batches import Rule
from sharkpy.optimizer.rules.convert_joins import widen_semi_joins
from sharkpy.optimizer.rules.fold_relations import merge_constant_rows, propagate_empty
from sharkpy.optimizer.rules.push_down import push_down_limits
from sharkpy.optimizer.rules.remove_needless_steps import (
    eliminate_distinct,
    merge_projects,
    remove_projects,
    remove_sorts,
)
from sharkpy.optimizer.rules.restrict_by_semi_joins import push_down_semi_joins
from sharkpy.plan.expr import FALSE, TRUE, Alias, Call, Literal, SortKey
from sharkpy.plan.logical import Aggregate, Join, JoinKind, Limit, LogicalPlan, Project, Sort, Step, Union, Values
from sharkpy.plan.row_steps import RowStep
from sharkpy.values.types import DOUBLE, INT, ArrayType
from tests.optimizer.builder import (
    Statistics,
    aggregate,
    call,
    context,
    count,
    eq,
    group,
    join,
    lit,
    scan,
    select,
    where,
)

T1, T2, T3 = scan("t1", 1), scan("t2", 11), scan("t3", 21)
A, B, S = T1.columns
C, D, _ = T2.columns
E = T3.columns[0]
PLUS = Alias(call("add", A, 1), 31, "plus")
TWICE = Alias(call("add", PLUS.ref, PLUS.ref), 32, "twice")
SORTED = Sort(T1, (SortKey(A),))
STEP = Step(SORTED, RowStep(), (B,), (E,), (A,))
KEYS = group(T2, (C,))
LEFT, SEMI = JoinKind.LEFT, JoinKind.SEMI
LISTED = Alias(aggregate("collect_list", A, 33, ArrayType(INT)).expr, 33, "l")
RANDOM = Alias(Call("rand", (), DOUBLE), 34, "r")
EMPTY = Values(T1.columns, ())
UNION = Union((select(T1, A), select(T2, C)), (E,))
ONE = Alias(lit(1), 35, "one")
ONE_ROW = select(Values((), ((),)), ONE)
ROWS = Values((B,), ((lit(2),), (lit(3),)))

PAIRS: list[tuple[Rule, LogicalPlan, LogicalPlan]] = [
    (merge_projects, select(select(T1, PLUS, B), B), select(T1, B)),
    (merge_projects, select(select(T1, PLUS), PLUS.ref), select(T1, PLUS)),
    (merge_projects, select(select(T1, PLUS), TWICE), select(select(T1, PLUS), TWICE)),
    (merge_projects, select(select(T1, RANDOM), RANDOM.ref), select(select(T1, RANDOM), RANDOM.ref)),
    (merge_constant_rows, Union((ONE_ROW, ROWS), (E,)), Values((E,), ((lit(1),), (lit(2),), (lit(3),)))),
    (merge_constant_rows, Union((ONE_ROW, select(T1, A)), (E,)), Union((ONE_ROW, select(T1, A)), (E,))),
    (remove_projects, select(T1, A, B, S), T1),
    (remove_projects, select(T1, B, A, S), select(T1, B, A, S)),
    (push_down_limits, Limit(select(T1, PLUS), 5), select(Limit(T1, 5), PLUS)),
    (push_down_limits, Limit(Limit(T1, 5, 2), 10, 1), Limit(T1, 4, 3)),
    (push_down_limits, Limit(Limit(T1, 3), 10), Limit(T1, 3)),
    (push_down_limits, Limit(T1, 0), EMPTY),
    (push_down_limits, Limit(select(SORTED, A), 5), select(Limit(SORTED, 5), A)),
    (
        push_down_limits,
        Limit(UNION, 5, 1),
        Limit(Union((select(Limit(T1, 6), A), select(Limit(T2, 6), C)), (E,)), 5, 1),
    ),
    (push_down_limits, Limit(join(T1, T2, eq(A, C), LEFT), 5), Limit(join(Limit(T1, 5), T2, eq(A, C), LEFT), 5)),
    (push_down_limits, Limit(join(T1, T2, eq(A, C)), 5), Limit(join(T1, T2, eq(A, C)), 5)),
    (eliminate_distinct, group(group(T1, (A,)), (A,)), select(group(T1, (A,)), A)),
    (eliminate_distinct, group(group(T1, (A, B)), (A,)), group(group(T1, (A, B)), (A,))),
    (eliminate_distinct, group(T1, (ONE, A)), select(group(T1, (A,)), ONE, A)),
    (eliminate_distinct, group(T1, (ONE,)), group(T1, (ONE,))),
    (
        eliminate_distinct,
        Aggregate(T1, (), (Alias(Call("x", (), INT), 36, "x"),)),
        Aggregate(T1, (), (Alias(Call("x", (), INT), 36, "x"),)),
    ),
    (remove_sorts, group(SORTED, (A,), count(36)), group(T1, (A,), count(36))),
    (remove_sorts, group(SORTED, (A,), LISTED), group(SORTED, (A,), LISTED)),
    (remove_sorts, join(SORTED, T2, eq(A, C)), join(T1, T2, eq(A, C))),
    (remove_sorts, join(Limit(SORTED, 5), T2, eq(A, C)), join(Limit(SORTED, 5), T2, eq(A, C))),
    (remove_sorts, Sort(select(SORTED, B), (SortKey(B),)), Sort(select(T1, B), (SortKey(B),))),
    (remove_sorts, select(SORTED, B), select(SORTED, B)),
    (remove_sorts, group(STEP, (A,), count(36)), group(STEP, (A,), count(36))),
    (propagate_empty, where(T1, FALSE), EMPTY),
    (propagate_empty, where(T1, TRUE), T1),
    (propagate_empty, scan("t1", 1, Literal(None, FALSE.dtype)), EMPTY),
    (propagate_empty, Sort(where(T1, FALSE), ()), EMPTY),
    (propagate_empty, join(T1, where(T2, FALSE), eq(A, C)), Values(T1.columns + T2.columns, ())),
    (propagate_empty, join(T1, where(T2, FALSE), eq(A, C), JoinKind.ANTI), T1),
    (propagate_empty, group(where(T1, FALSE), (), count(36)), group(EMPTY, (), count(36))),
    (propagate_empty, Union((where(T1, FALSE), where(T1, FALSE)), T1.columns), EMPTY),
    (widen_semi_joins, join(T1, KEYS, eq(A, C), SEMI), select(join(T1, KEYS, eq(A, C)), A, B, S)),
    (widen_semi_joins, join(T1, T2, eq(A, C), SEMI), join(T1, T2, eq(A, C), SEMI)),
    (widen_semi_joins, join(T1, group(T2, (C, D)), eq(A, C), SEMI), join(T1, group(T2, (C, D)), eq(A, C), SEMI)),
]


@pytest.mark.parametrize(("rule", "given", "expected"), PAIRS, ids=lambda value: getattr(value, "__name__", ""))
def test_pair(rule: Rule, given: LogicalPlan, expected: LogicalPlan) -> None:
    result = rule(given, context(given))
    assert result.explain() == expected.explain()
    assert result == expected
    if given == expected:
        assert result is given


def test_a_left_join_with_nothing_has_nulls() -> None:
    plan = join(T1, where(T2, FALSE), eq(A, C), LEFT)
    result = propagate_empty(plan, context(plan))
    assert isinstance(result, Project)
    assert result.child == T1
    assert result.output == plan.output


def test_a_union_with_one_input_left_is_a_projection() -> None:
    plan = Union((where(select(T1, A), FALSE), select(T2, C)), (E,))
    assert propagate_empty(plan, context(plan)) == select(select(T2, C), Alias(C, E.column_id, E.name))


@pytest.mark.parametrize(("rows", "moves"), [(10, True), (1_000_000, False)])
def test_a_selective_semi_join_runs_before_inner_joins(rows: int, moves: bool) -> None:
    plan = join(join(T1, T2, eq(A, C)), T3, eq(B, E), SEMI)
    statistics = Statistics({"t1": 1000, "t2": 1000, "t3": rows})
    result = push_down_semi_joins(plan, context(plan, statistics))
    assert isinstance(result, Join)
    assert (result.kind is JoinKind.INNER) is moves
