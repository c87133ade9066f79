"""Replace relations whose rows are known: empty ones, and unions of constant rows."""

from __future__ import annotations

import itertools
from dataclasses import replace

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import Alias, ColumnRef, Expr, Literal, conjunction, conjuncts
from sharkpy.plan.logical import (
    LEFT_ONLY_JOINS,
    Aggregate,
    Filter,
    Join,
    JoinKind,
    LogicalPlan,
    Project,
    Scan,
    Union,
    Values,
)


def propagate_empty(plan: LogicalPlan, _context: Context) -> LogicalPlan:
    """Replace relations without rows by empty Values; drop filters that are always true."""
    return plan.transform_up(_simplify)


def _simplify(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Filter(child, predicate):
            return _filter(plan, child, predicate)
        case Scan(_, _, _, Literal(value)):
            if value is not True:
                return _empty(plan)
            return replace(plan, predicate=None)
        case Scan() | Values():
            return plan
        case Aggregate(_, ()):
            return plan
        case Join():
            return _join(plan)
        case Union(inputs):
            kept = tuple(child for child in inputs if not _is_empty(child))
            if len(kept) == len(inputs):
                return plan
            if len(kept) > 1:
                return Union(kept, plan.columns)
            return _renamed(kept[0], plan) if kept else _empty(plan)
    children = plan.children
    return _empty(plan) if len(children) == 1 and _is_empty(children[0]) else plan


def _is_empty(plan: LogicalPlan) -> bool:
    return isinstance(plan, Values) and not plan.rows


def _empty(plan: LogicalPlan) -> Values:
    return Values(plan.output, ())


def _filter(plan: Filter, child: LogicalPlan, predicate: Expr) -> LogicalPlan:
    if _is_empty(child):
        return _empty(plan)
    terms = conjuncts(predicate)
    if any(isinstance(term, Literal) and term.value is not True for term in terms):
        return _empty(plan)
    rest = conjunction(terms)
    return child if rest is None else plan


def _renamed(child: LogicalPlan, union: Union) -> Project:
    pairs = zip(child.output, union.columns, strict=True)
    return Project(child, tuple(Alias(source, column.column_id, column.name) for source, column in pairs))


def _join(plan: Join) -> LogicalPlan:
    no_left, no_right = _is_empty(plan.left), _is_empty(plan.right)
    never = any(isinstance(term, Literal) and term.value is not True for term in conjuncts(plan.condition))
    match plan.kind:
        case JoinKind.INNER | JoinKind.CROSS | JoinKind.SEMI if no_left or no_right or never:
            return _empty(plan)
        case JoinKind.LEFT | JoinKind.SINGLE if no_left:
            return _empty(plan)
        case JoinKind.RIGHT if no_right:
            return _empty(plan)
        case JoinKind.FULL if no_left and no_right:
            return _empty(plan)
        case JoinKind.LEFT | JoinKind.SINGLE if no_right or never:
            return _extended(plan, plan.left)
        case JoinKind.RIGHT if no_left or never:
            return _extended(plan, plan.right)
        case JoinKind.ANTI | JoinKind.NULL_AWARE_ANTI if no_right:
            return plan.left
    return _empty(plan) if no_left and plan.kind in LEFT_ONLY_JOINS else plan


def _extended(plan: Join, kept: LogicalPlan) -> LogicalPlan:
    """Return `kept` with NULL for the columns of the other side."""
    own = {column.column_id for column in kept.output}
    items = tuple(
        column if column.column_id in own else Alias(Literal(None, column.dtype), column.column_id, column.name)
        for column in plan.output
    )
    return Project(kept, items)


# Constant rows


def merge_constant_rows(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Merge constant inputs of unions: `SELECT 1 UNION ALL SELECT 2` becomes VALUES 1, 2."""
    return plan.transform_up(lambda node: _merged(node, context) if isinstance(node, Union) else node)


def _merged(union: Union, context: Context) -> LogicalPlan:
    inputs: list[LogicalPlan] = []
    for is_constant, group in itertools.groupby(union.inputs, lambda child: _constants(child) is not None):
        members = list(group)
        rows = tuple(row for member in members for row in _constants(member) or ())
        if not is_constant or len(members) == 1:
            inputs += members
        elif len(members) == len(union.inputs):
            return Values(union.columns, rows)
        else:
            columns = tuple(ColumnRef(context.fresh_id(), c.name, c.dtype) for c in members[0].output)
            inputs.append(Values(columns, rows))
    return union if len(inputs) == len(union.inputs) else Union(tuple(inputs), union.columns)


def _constants(plan: LogicalPlan) -> tuple[tuple[Expr, ...], ...] | None:
    """Return the rows of `plan` if it has only constants, in at least one column."""
    match plan:
        case Values(columns, rows) if columns:
            return rows if all(isinstance(value, Literal) for row in rows for value in row) else None
        case Project(Values((), rows), items):
            values = tuple(item.expr if isinstance(item, Alias) else item for item in items)
            return (values,) * len(rows) if all(isinstance(value, Literal) for value in values) else None
    return None
