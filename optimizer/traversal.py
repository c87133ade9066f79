"""Fast walks over plans and expressions for rules: no reflection where nothing changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from sharkpy.base.tree import map_nodes
from sharkpy.plan.expr import Alias, Call, Cast, ColumnRef, Expr, Literal
from sharkpy.plan.logical import (
    Aggregate,
    Distribute,
    Expand,
    Filter,
    Generate,
    Given,
    Join,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Step,
    Union,
    Values,
    Window,
)

PlanFunction = Callable[[LogicalPlan], LogicalPlan]
ExprFunction = Callable[[Expr], Expr]

EXPRESSION_FIELDS: dict[type[LogicalPlan], tuple[str, ...]] = {
    Scan: ("predicate",),
    Values: ("rows",),
    Project: ("items",),
    Filter: ("predicate",),
    Join: ("condition",),
    Aggregate: ("groups", "aggregates"),
    Expand: ("projections",),
    Window: ("windows",),
    Generate: ("generator",),
    Step: ("arguments",),
    Sort: ("keys",),
    Distribute: ("keys",),
}
"""The fields of each node that hold expressions which compute; bare outputs are not among them."""


def plan_children(plan: LogicalPlan) -> tuple[LogicalPlan, ...]:
    match plan:
        case Scan() | Values() | Given():
            return ()
        case Join():
            return (plan.left, plan.right)
        case Union():
            return plan.inputs
    return (plan.child,)  # type: ignore[attr-defined]


def map_inputs(plan: LogicalPlan, function: PlanFunction) -> LogicalPlan:
    """`plan` with `function` applied to each child; the same object where no child changed."""
    match plan:
        case Scan() | Values() | Given():
            return plan
        case Join():
            left, right = function(plan.left), function(plan.right)
            if left is plan.left and right is plan.right:
                return plan
            return Join(left, right, plan.kind, plan.condition, plan.hint)
        case Union():
            inputs = tuple(map(function, plan.inputs))
            changed = any(new is not old for new, old in zip(inputs, plan.inputs, strict=True))
            return Union(inputs, plan.columns) if changed else plan
    return with_child(plan, function(plan.child))  # type: ignore[attr-defined]


def with_child(plan: LogicalPlan, child: LogicalPlan) -> LogicalPlan:
    """A node with a single child over another one."""
    if child is plan.child:  # type: ignore[attr-defined]
        return plan
    return dataclasses.replace(plan, child=child)  # type: ignore[type-var]


def transform_plan(plan: LogicalPlan, function: PlanFunction) -> LogicalPlan:
    """Apply `function` to every node, children first."""
    return function(map_inputs(plan, lambda child: transform_plan(child, function)))


def walk_plan(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    stack = [plan]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(plan_children(node))


def node_expressions(plan: LogicalPlan) -> Iterator[Expr]:
    """The expressions that a node computes."""
    for name in EXPRESSION_FIELDS.get(type(plan), ()):
        stack: list[Any] = [getattr(plan, name)]
        while stack:
            value = stack.pop()
            if isinstance(value, tuple):
                stack.extend(reversed(value))
            elif value is not None:
                yield value


def map_node_expressions(plan: LogicalPlan, function: ExprFunction) -> LogicalPlan:
    """`plan` with `function` applied to each expression that it computes."""
    changed = {}
    for name in EXPRESSION_FIELDS.get(type(plan), ()):
        old = getattr(plan, name)
        new = map_nodes(old, Expr, function)
        if new is not old:
            changed[name] = new
    return dataclasses.replace(plan, **changed) if changed else plan  # type: ignore[type-var]


def map_arguments(expr: Expr, function: ExprFunction) -> Expr:
    """`expr` with `function` applied to each expression directly below it."""
    match expr:
        case ColumnRef() | Literal():
            return expr
        case Call():
            args = tuple(map(function, expr.args))
            for new, old in zip(args, expr.args, strict=True):
                if new is not old:
                    return Call(expr.function, args, expr.dtype)
            return expr
        case Cast():
            inner = function(expr.expr)
            return expr if inner is expr.expr else Cast(inner, expr.dtype)
        case Alias():
            inner = function(expr.expr)
            return expr if inner is expr.expr else Alias(inner, expr.column_id, expr.name)
    return expr.map_children(function)


def transform_expr(expr: Expr, function: ExprFunction) -> Expr:
    """Apply `function` to every expression, arguments first."""
    return function(map_arguments(expr, lambda child: transform_expr(child, function)))


def walk_expr(expr: Expr) -> Iterator[Expr]:
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        match node:
            case ColumnRef() | Literal():
                pass
            case Call():
                stack.extend(node.args)
            case Cast() | Alias():
                stack.append(node.expr)
            case _:
                stack.extend(node.children)


def replace_columns(expr: Expr, replacements: dict[int, Expr]) -> Expr:
    """`expr` without subqueries, each column whose id is in `replacements` replaced."""
    if isinstance(expr, ColumnRef):
        return replacements.get(expr.column_id, expr)
    return map_arguments(expr, lambda child: replace_columns(child, replacements))
