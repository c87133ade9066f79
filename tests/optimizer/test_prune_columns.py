from __future__ import annotations

from sharkpy.optimizer.rules.prune_columns import prune_columns
from sharkpy.plan.expr import Alias, Call, ColumnRef, Literal, WindowCall
from sharkpy.plan.logical import Join, JoinKind, Project, Scan, Step, Union, Window
from sharkpy.plan.row_steps import RowStep
from sharkpy.values.types import BIGINT
from tests.optimizer.builder import aggregate, call, context, count, eq, group, join, nodes, scan, select, where

T1, T2 = scan("t1", 1), scan("t2", 11)
A, B, S = T1.columns
C, D, _ = T2.columns


def scans(plan: object) -> list[tuple[str, ...]]:
    return [node.names for node in nodes(prune_columns(plan, context(plan)), Scan)]  # type: ignore[arg-type, attr-defined]


def test_a_scan_reads_what_is_used() -> None:
    assert scans(select(where(T1, eq(B, 1)), A)) == [("a", "b")]


def test_the_root_keeps_its_columns() -> None:
    assert prune_columns(T1, context(T1)) is T1


def test_counting_rows_reads_one_narrow_column() -> None:
    assert scans(group(T1, (), count(21))) == [("a",)]


def test_unused_aggregates_go() -> None:
    plan = select(group(T1, (A,), count(21), aggregate("max", S, 22)), A, count(21).ref)
    assert scans(plan) == [("a",)]


def test_join_keys_are_dropped_after_the_join() -> None:
    plan = select(join(join(T1, T2, eq(A, C)), scan("t3", 21), eq(B, scan("t3", 21).columns[0])), D)
    result = prune_columns(plan, context(plan))
    top = result.child  # type: ignore[attr-defined]
    assert isinstance(top, Join)
    assert isinstance(top.left, Project)
    assert [c.column_id for c in top.left.output] == [B.column_id, D.column_id]
    assert prune_columns(result, context(result)) is result


def test_a_semi_join_needs_only_its_keys_on_the_right() -> None:
    assert scans(select(join(T1, T2, eq(A, C), JoinKind.SEMI), B)) == [("a", "b"), ("a",)]


def test_a_side_without_used_columns_keeps_one() -> None:
    assert scans(select(join(T1, T2, None, JoinKind.CROSS), A)) == [("a",), ("a",)]


def test_unions_are_cut_by_position() -> None:
    columns = scan("t3", 21).columns[:2]
    plan = select(Union((select(T1, A, S), select(T2, C, D)), columns), columns[1])
    result = prune_columns(plan, context(plan))
    assert [child.output for child in result.child.inputs] == [(S,), (D,)]  # type: ignore[attr-defined]


def test_unused_windows_go() -> None:
    item = Alias(WindowCall("count", (), (B,), (), None, BIGINT), 21, "n")
    plan = select(Window(T1, (item,)), A)
    assert prune_columns(plan, context(plan)) == select(Scan(T1.table, (A,), ("a",)), A)


def test_columns_of_the_predicate_stay_in_the_scan() -> None:
    plan = select(scan("t1", 1, call("like", S, "x%")), A)
    assert scans(plan) == [("a", "s")]
    constant = select(T1, Alias(Call("add", (A, Literal(1, A.dtype)), A.dtype), 21, "x"))
    assert scans(constant) == [("a",)]


def test_a_step_reads_its_arguments_and_hands_on_what_is_used() -> None:
    made = ColumnRef(41, "x", BIGINT)
    step = Step(T1, RowStep(), (A,), (made,), (B, S))
    assert scans(select(step, made, B)) == [("a", "b")]
    assert scans(select(step, made)) == [("a",)]
    result = prune_columns(select(step, B), context(step))
    (kept,) = nodes(result, Step)
    assert (kept.passed, kept.columns) == ((B,), (made,))  # type: ignore[attr-defined]
