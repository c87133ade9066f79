"""UNION, INTERSECT and EXCEPT, and the ORDER BY and LIMIT after them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, WindowCall, conjunction
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Project, Union, Window
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.bind_subquery import cast_output
from sharkpy.sql.queries.bind_limit import bind_limit
from sharkpy.sql.queries.ordering import bind_ordering, order
from sharkpy.sql.scope import Scope, relation_scope
from sharkpy.values.common_types import common_type
from sharkpy.values.types import BOOLEAN, INT

_ORDERING = ("order", "sort", "cluster", "distribute", "limit", "offset")
_MAX_JOINS = 200
"""Maximum number of INTERSECTs and EXCEPTs in a chain. Each is a join over the previous ones."""
_WORDS: dict[type[exp.Expr], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


def bind_set_operation(node: exp.Expr, context: Context, parent: Scope | None) -> LogicalPlan:
    """Bind a chain of set operations, without recursion along its left side."""
    chain: list[exp.Expr] = []
    current = node
    while type(current) in _WORDS and (current is node or not _is_finished(current)):
        chain.append(current)
        current = current.this
    num_joins = sum(not isinstance(operation, exp.Union) for operation in chain)
    if num_joins > _MAX_JOINS:
        message = f"{num_joins} INTERSECTs and EXCEPTs are nested, more than {_MAX_JOINS}"
        raise context.error(message, current, sqlstate="54001")
    plan = context.bind_query(current, context, parent)
    # Inputs of the current union, and whether its rows are distinct. a UNION b UNION c is one union of three inputs.
    unions: list[LogicalPlan] = []
    is_distinct = False
    for operation in reversed(chain):
        # The outermost WITH is already bound. The chain has no other operation with WITH.
        context.only(operation, "this", "expression", "with_", "distinct", *_ORDERING)
        right = context.bind_query(operation.expression, context, parent)
        _check_count(context, operation, plan, right)
        if isinstance(operation, exp.Union):
            wants_distinct = bool(operation.args.get("distinct"))
            if is_distinct and not wants_distinct:
                plan, unions = _distinct(_union(context, node, unions)), []
            if not unions:
                unions.append(plan)
            unions.append(right)
            is_distinct = wants_distinct
            continue
        if unions:
            plan, unions = _united(context, node, unions, is_distinct), []
        plan, is_distinct = _combine(context, operation, plan, right), False
    if unions:
        plan = _united(context, node, unions, is_distinct)
    return _order_and_limit(node, context, plan)


def _is_finished(node: exp.Expr) -> bool:
    """Return whether an operand has its own ORDER BY, LIMIT or WITH, and so is bound separately."""
    return any(node.args.get(key) for key in ("with_", *_ORDERING))


def _check_count(context: Context, node: exp.Expr, left: LogicalPlan, right: LogicalPlan) -> None:
    if len(left.output) != len(right.output):
        message = f"{_WORDS[type(node)]} of {len(left.output)} and {len(right.output)} columns"
        raise context.error(message, node.expression, sqlstate="42826")


def _unified(context: Context, node: exp.Expr, plans: Sequence[LogicalPlan]) -> list[LogicalPlan]:
    """Cast the columns of the plans to common types."""
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


def _united(context: Context, node: exp.Expr, plans: Sequence[LogicalPlan], is_distinct: bool) -> LogicalPlan:
    union = _union(context, node, plans)
    return _distinct(union) if is_distinct else union


def _distinct(plan: LogicalPlan) -> Aggregate:
    return Aggregate(plan, plan.output, ())


def _combine(context: Context, node: exp.Expr, left: LogicalPlan, right: LogicalPlan) -> LogicalPlan:
    """Bind INTERSECT or EXCEPT. NULL equals NULL."""
    one, other = _unified(context, node, [left, right])
    kind = JoinKind.SEMI if isinstance(node, exp.Intersect) else JoinKind.ANTI
    if node.args.get("distinct"):
        return Join(_distinct(one), other, kind, _equal(one.output, other.output))
    # ALL: the n-th of equal rows matches the n-th one on the other side.
    numbered, other = _numbered(context, one), _numbered(context, other)
    return Project(Join(numbered, other, kind, _equal(numbered.output, other.output)), one.output)


def _equal(left: Sequence[ColumnRef], right: Sequence[ColumnRef]) -> Expr | None:
    return conjunction(Call("eq_null_safe", pair, BOOLEAN) for pair in zip(left, right, strict=True))


def _numbered(context: Context, plan: LogicalPlan) -> Window:
    """Add a column to `plan` that numbers equal rows."""
    number = WindowCall("row_number", (), plan.output, (), None, INT)
    return Window(plan, (Alias(number, next(context.ids), "number"),))


def _order_and_limit(node: exp.Expr, context: Context, plan: LogicalPlan) -> LogicalPlan:
    """Bind ORDER BY and similar clauses over the columns of the result, by name or position."""
    scope = relation_scope(None, None, plan.output, None)
    binder = expr_binder.ExprBinder(context, scope, expr_binder.Clause("ORDER BY"))
    ordering = bind_ordering(node, binder, plan.output)
    return bind_limit(node, context, order(plan, ordering, ordering.exprs))
