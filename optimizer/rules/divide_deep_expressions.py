"""Compute a deep expression in several projections: DuckDB recurses per level, and its planning time is quadratic."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Lambda, conjunction, conjuncts
from sharkpy.plan.logical import Filter, Join, LogicalPlan, Project, Scan
from sharkpy.plan.references import column_ids, is_deep

MOST_LEVELS = 40
"""Levels of an expression that one DuckDB query computes. Each may become several levels there."""
_MOVED = frozenset(
    ("add", "subtract", "multiply", "divide", "mod", "div", "negate", "bit_and", "bit_or", "bit_xor", "bit_not")
)
"""Functions that cannot fail: they may be computed for rows whose value is not needed."""


def divide_deep_expressions(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Move the lower levels of deep arithmetic into projections below, until no expression is too deep."""
    return _shallow(plan.map_children(lambda child: divide_deep_expressions(child, context)), context)


def _shallow(plan: LogicalPlan, context: Context) -> LogicalPlan:
    if not any(is_deep(expr, MOST_LEVELS) for expr in plan.computations):
        return plan
    if isinstance(plan, Scan):
        return _above_scan(plan, context)
    if isinstance(plan, Join):
        return _beside_join(plan, context)
    return _divided(plan, context)


def _above_scan(scan: Scan, context: Context) -> LogicalPlan:
    """Move the deep terms of a scan's predicate into a filter above it."""
    terms = conjuncts(scan.predicate)
    deep = conjunction(term for term in terms if is_deep(term, MOST_LEVELS))
    if deep is None:
        return scan
    kept = conjunction(term for term in terms if not is_deep(term, MOST_LEVELS))
    return _divided(Filter(replace(scan, predicate=kept), deep), context)


def _divided(plan: LogicalPlan, context: Context) -> LogicalPlan:
    (child,) = plan.children
    parts: list[Alias] = []
    upper = plan.map_expressions(lambda expr: _upper(expr, MOST_LEVELS, parts, context))
    if not parts:
        return plan
    used = frozenset[int]().union(*map(column_ids, upper.expressions))
    is_all_used = not isinstance(upper, Project)
    passed = [column for column in child.output if is_all_used or column.column_id in used]
    below = _shallow(Project(child, (*passed, *parts)), context)
    made = upper.with_children(below)
    return made if made.output == plan.output else Project(made, plan.output)


def _beside_join(join: Join, context: Context) -> LogicalPlan:
    """Move deep arithmetic over one side of a join into a column of that side."""
    condition, left = _for_side(join.condition, join.left, context)
    condition, right = _for_side(condition, join.right, context)
    made = replace(join, left=left, right=right, condition=condition)
    return made if made.output == join.output else Project(made, join.output)


def _for_side(condition: Expr | None, side: LogicalPlan, context: Context) -> tuple[Expr | None, LogicalPlan]:
    if condition is None:
        return None, side
    parts: list[Alias] = []
    changed = _of_side(condition, context.output_ids(side), parts, context)
    return changed, _shallow(Project(side, (*side.output, *parts)), context) if parts else side


def _of_side(expr: Expr, side: frozenset[int], parts: list[Alias], context: Context) -> Expr:
    if not is_deep(expr, MOST_LEVELS // 2):
        return expr
    used = column_ids(expr)
    if used and used <= side and _is_moved(expr):
        return _part(expr, parts, context)
    return expr.map_children(lambda child: _of_side(child, side, parts, context))


def _upper(expr: Expr, levels: int, parts: list[Alias], context: Context) -> Expr:
    """Return the upper levels of `expr`. Columns replace the arithmetic below them, which is added to `parts`."""
    if isinstance(expr, Lambda):
        return expr
    if levels <= 0 and _is_moved(expr):
        return _part(expr, parts, context)
    return expr.map_children(lambda child: _upper(child, levels - 1, parts, context))


def _is_moved(expr: Expr) -> bool:
    return isinstance(expr, Call) and expr.function in _MOVED


def _part(expr: Expr, parts: list[Alias], context: Context) -> ColumnRef:
    number = context.fresh_id()
    parts.append(Alias(expr, number, f"part{number}"))
    return parts[-1].ref
