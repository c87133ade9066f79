"""UNION, INTERSECT and EXCEPT, and the ORDER BY and LIMIT after them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sharkpy.errors import TypeMismatchError
from sharkpy.expr import Call, conjunction
from sharkpy.logical import Aggregate, Join, JoinKind, LogicalPlan, Union
from sharkpy.sql import expr_binder
from sharkpy.sql.bind_limit import bind_limit
from sharkpy.sql.bind_subquery import cast_output
from sharkpy.sql.context import Context
from sharkpy.sql.ordering import bind_ordering, order
from sharkpy.sql.scope import Scope, relation_scope
from sharkpy.types import BOOLEAN, MapType, common_type

_ORDERING = ("order", "sort", "cluster", "distribute", "limit", "offset")
_WORDS: dict[type[exp.Expr], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


def bind_set_operation(node: exp.Expr, context: Context, parent: Scope | None) -> LogicalPlan:
    """A chain of set operations, without recursion along its left side."""
    chain: list[exp.Expr] = []
    current = node
    while type(current) in _WORDS and (current is node or not _is_finished(current)):
        chain.append(current)
        current = current.this
    plan = context.bind_query(current, context, parent)
    unions: list[LogicalPlan] = []
    for operation in reversed(chain):
        # The WITH of the outermost one is bound already; others that have one are not in the chain.
        context.only(operation, "this", "expression", "with_", "distinct", *_ORDERING)
        right = context.bind_query(operation.expression, context, parent)
        is_union_all = isinstance(operation, exp.Union) and not operation.args.get("distinct")
        if is_union_all:
            unions = [*(unions or [plan]), right]
            _check_count(context, operation, plan, right)
            continue
        if unions:
            plan, unions = _union(context, node, unions), []
        plan = _combine(context, operation, plan, right)
    if unions:
        plan = _union(context, node, unions)
    return _order_and_limit(node, context, plan)


def _is_finished(node: exp.Expr) -> bool:
    """Whether an operand has ORDER BY, LIMIT or WITH of its own, and so is bound by itself."""
    return any(node.args.get(key) for key in ("with_", *_ORDERING))


def _check_count(context: Context, node: exp.Expr, left: LogicalPlan, right: LogicalPlan) -> None:
    if len(left.output) != len(right.output):
        message = f"{_WORDS[type(node)]} of {len(left.output)} and {len(right.output)} columns"
        raise context.error(message, node.expression, sqlstate="42826")


def _unified(context: Context, node: exp.Expr, plans: Sequence[LogicalPlan]) -> list[LogicalPlan]:
    """The plans with their columns cast to common types."""
    targets = []
    for index, columns in enumerate(zip(*(plan.output for plan in plans), strict=True), start=1):
        target = columns[0].dtype
        for column in columns[1:]:
            wider = common_type(target, column.dtype)
            if wider is None:
                message = f"column {index} of {_WORDS[type(node)]} has no common type: {target} and {column.dtype}"
                raise context.error(message, node, TypeMismatchError)
            target = wider
        targets.append(target)
    return [cast_output(context, plan, targets) for plan in plans]


def _union(context: Context, node: exp.Expr, plans: Sequence[LogicalPlan]) -> Union:
    unified = _unified(context, node, plans)
    columns = tuple(context.column(column.name, column.dtype) for column in unified[0].output)
    return Union(tuple(unified), columns)


def _distinct(context: Context, plan: LogicalPlan, node: exp.Expr) -> Aggregate:
    for column in plan.output:
        if isinstance(column.dtype, MapType):
            raise context.error(f"{_WORDS[type(node)]} cannot compare values of {column.dtype}", node)
    return Aggregate(plan, plan.output, ())


def _combine(context: Context, node: exp.Expr, left: LogicalPlan, right: LogicalPlan) -> LogicalPlan:
    """UNION, INTERSECT or EXCEPT of distinct rows; NULLs equal each other."""
    _check_count(context, node, left, right)
    if isinstance(node, exp.Union):
        return _distinct(context, _union(context, node, [left, right]), node)
    if not node.args.get("distinct"):
        raise context.unsupported(f"{_WORDS[type(node)]} ALL", node.expression)
    one, other = _unified(context, node, [left, right])
    terms = [Call("eq_null_safe", pair, BOOLEAN) for pair in zip(one.output, other.output, strict=True)]
    kind = JoinKind.SEMI if isinstance(node, exp.Intersect) else JoinKind.ANTI
    return Join(_distinct(context, one, node), other, kind, conjunction(terms))


def _order_and_limit(node: exp.Expr, context: Context, plan: LogicalPlan) -> LogicalPlan:
    """ORDER BY and its like over the columns of the result, by name or position."""
    scope = relation_scope(None, None, plan.output, None)
    binder = expr_binder.ExprBinder(context, scope, expr_binder.Clause("ORDER BY"))
    ordering = bind_ordering(node, binder, plan.output)
    return bind_limit(node, context, order(plan, ordering, ordering.exprs))
