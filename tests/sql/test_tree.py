from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator

from sharkpy.base.tree import TreeNode, node_fields
from sharkpy.physical import operators
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Filter, Given, Join, LogicalPlan, Project, Scan, Step, Union, Values
from sharkpy.plan.references import is_deep
from sharkpy.plan.subqueries import InSubquery, ScalarSubquery
from sharkpy.values.types import BOOLEAN, INT

A, B, C = (ColumnRef(number, name, INT) for number, name in enumerate("abc"))


def _sum(*args: Expr) -> Call:
    return Call("add", args, INT)


def test_children_are_in_the_order_of_fields_through_tuples() -> None:
    assert _sum(B, A, B).children == (B, A, B)
    assert A.children == ()


def test_held_nodes_are_those_of_the_family_alone() -> None:
    assert _sum(A, Literal(1, INT)).held(Expr) == (A, Literal(1, INT))
    assert _sum(A, Literal(1, INT)).held(LogicalPlan) == ()


def test_walk_gives_parents_before_children_and_left_before_right() -> None:
    inner, other = _sum(A, B), _sum(C)
    tree = _sum(inner, other)
    assert list(tree.walk()) == [tree, inner, A, B, other, C]


def test_walk_goes_deeper_than_the_stack() -> None:
    tree: Expr = A
    for _ in range(2 * sys.getrecursionlimit()):
        tree = _sum(tree)
    assert sum(1 for _ in tree.walk()) == 2 * sys.getrecursionlimit() + 1


def test_transformations_that_change_nothing_return_the_same_object() -> None:
    tree = _sum(_sum(A, Literal(1, INT)), B)
    assert tree.transform_up(lambda node: node) is tree
    assert tree.transform_down(lambda node: node) is tree
    rows = Values((A,), ((tree,), (B,)))
    assert rows.map_expressions(lambda expr: expr) is rows
    changed = rows.map_expressions(lambda expr: C if expr is B else expr)
    assert changed == Values((A,), ((tree,), (C,)))
    assert changed.rows[0] is rows.rows[0]


def test_computations_are_the_expressions_that_are_not_columns() -> None:
    plan = Project(Values((A, B), ()), (A, Alias(_sum(A, B), 7, "x"), B))
    assert plan.computations == (Alias(_sum(A, B), 7, "x"),)
    assert Values((A, B), ()).computations == ()


def test_depth_is_counted_in_levels() -> None:
    tree = _sum(_sum(A, Literal(1, INT)), B)
    assert [is_deep(tree, levels) for levels in range(4)] == [True, True, True, False]


def test_annotations_say_which_fields_hold_nodes() -> None:
    assert node_fields(Literal, Expr) == ()
    assert node_fields(Call, Expr) == ("args",)
    assert node_fields(Scan, Expr) == ("columns", "predicate")
    assert node_fields(Values, Expr) == ("columns", "rows")
    assert node_fields(Join, Expr) == ("condition",)
    assert node_fields(Join, LogicalPlan) == ("left", "right")
    assert node_fields(Union, LogicalPlan) == ("inputs",)
    assert node_fields(Step, Expr) == ("arguments", "columns", "passed")
    assert node_fields(Given, LogicalPlan) == ()
    assert node_fields(InSubquery, Expr) == ("values",)
    assert node_fields(InSubquery, LogicalPlan) == ("plan",)
    assert node_fields(ScalarSubquery, Expr) == ()
    assert node_fields(operators.HashJoin, Expr) == ("left_keys", "right_keys", "residual")
    assert node_fields(operators.HashJoin, PhysicalPlan) == ("left", "right")


def test_no_annotated_node_is_missed() -> None:
    families = {
        "Expr": Expr,
        "ColumnRef": Expr,
        "Alias": Expr,
        "LogicalPlan": LogicalPlan,
        "PhysicalPlan": PhysicalPlan,
    }
    seen = 0
    for node_type in _node_types(TreeNode):
        for field in dataclasses.fields(node_type):
            for family in {families[word] for word in re.findall(r"\w+", str(field.type)) if word in families}:
                assert field.name in node_fields(node_type, family), f"{node_type.__name__}.{field.name}"
                seen += 1
    assert seen > 60


def _node_types(base: type) -> Iterator[type]:
    for node_type in base.__subclasses__():
        if "__dataclass_fields__" in vars(node_type) and "__slots__" in vars(node_type):
            yield node_type
        yield from _node_types(node_type)


def test_a_change_deep_inside_leaves_the_rest_the_same_object() -> None:
    kept = _sum(A, B)
    tree = _sum(kept, _sum(B, C))
    changed = tree.transform_up(lambda node: A if node is C else node)
    assert changed == _sum(_sum(A, B), _sum(B, A))
    assert changed.children[0] is kept
    assert tree.transform_up(lambda node: node) is tree
    assert tree.transform_down(lambda node: node) is tree


def test_transform_down_visits_the_children_of_a_replacement() -> None:
    swapped: dict[Expr, Expr] = {B: _sum(C, A), C: A}
    assert _sum(B).transform_down(lambda node: swapped.get(node, node)) == _sum(_sum(A, A))


def test_with_children_keeps_the_node_over_its_own_children() -> None:
    one, other = Values((A,), ()), Values((B,), ())
    plan = Filter(one, Literal(True, BOOLEAN))
    assert plan.with_children(one) is plan
    assert plan.with_children(other) == Filter(other, Literal(True, BOOLEAN))
    assert Union((one, other), (C,)).with_children(other, one) == Union((other, one), (C,))


def test_transformations_of_deep_trees_need_two_frames_a_level() -> None:
    depth = 10_000
    tree: Expr = A
    for _ in range(depth):
        tree = Cast(tree, INT)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(2 * depth + limit)
    try:
        changed = tree.transform_up(lambda node: B if node is A else node)
    finally:
        sys.setrecursionlimit(limit)
    assert list(changed.walk())[-1] is B


def test_a_deep_plan_is_printed() -> None:
    plan: LogicalPlan = Values((A,), ())
    for _ in range(3000):
        plan = Filter(plan, Literal(True, BOOLEAN))
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    try:
        lines = plan.explain().splitlines()
    finally:
        sys.setrecursionlimit(usual)
    assert lines[1] == "  Filter True"
    assert lines[-1] == "  " * (len(lines) - 1) + "Values [a#0] 0 rows"
