"""Convert joins to inner joins, which can be reordered: outer joins whose NULL-extended rows are dropped, and semi
joins with unique keys.
"""

from __future__ import annotations

from sharkpy.optimizer.context import Context, keep_columns
from sharkpy.optimizer.function_traits import rejected_columns
from sharkpy.optimizer.rules.remove_needless_steps import unique_key
from sharkpy.plan.expr import Alias, Call, ColumnRef, conjuncts
from sharkpy.plan.logical import Aggregate, Distribute, Filter, Join, JoinKind, LogicalPlan, Project, Sort

_NONE: frozenset[int] = frozenset()


def eliminate_outer_joins(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """LEFT and RIGHT become INNER, and FULL becomes one of the three, if NULLs of the optional side are rejected."""
    return _visit(plan, _NONE, context)


def _visit(plan: LogicalPlan, rejected: frozenset[int], context: Context) -> LogicalPlan:
    """`rejected` are output columns for which a NULL drops the row above."""
    match plan:
        case Filter(child, predicate):
            below = rejected.union(*map(rejected_columns, conjuncts(predicate)))
            return plan.with_children(_visit(child, below, context))
        case Project(child, items) | Aggregate(child, items, _):
            return plan.with_children(_visit(child, _through(items, rejected), context))
        case Sort(child) | Distribute(child):
            return plan.with_children(_visit(child, rejected, context))
        case Join():
            return _visit_join(plan, rejected, context)
    return plan.map_children(lambda child: _visit(child, _NONE, context))


def _through(items: tuple[Alias | ColumnRef, ...], rejected: frozenset[int]) -> frozenset[int]:
    if not rejected:
        return rejected
    found = set()
    for item in items:
        if item.column_id in rejected:
            expr = item.expr if isinstance(item, Alias) else item
            if isinstance(expr, ColumnRef):
                found.add(expr.column_id)
    return frozenset(found)


def _visit_join(plan: Join, rejected: frozenset[int], context: Context) -> LogicalPlan:
    kind = plan.kind
    if rejected:
        keeps_left = bool(rejected & context.output_ids(plan.left))
        keeps_right = bool(rejected & context.output_ids(plan.right))
        kind = _narrowed(kind, keeps_left, keeps_right)
    matched = _NONE
    if plan.condition is not None:
        matched = _NONE.union(*map(rejected_columns, conjuncts(plan.condition)))
    match kind:
        case JoinKind.INNER | JoinKind.CROSS:
            below_left = below_right = rejected | matched
        case JoinKind.LEFT | JoinKind.SINGLE:
            below_left, below_right = rejected, matched
        case JoinKind.RIGHT:
            below_left, below_right = matched, rejected
        case JoinKind.SEMI:
            below_left, below_right = rejected | matched, matched
        case JoinKind.ANTI:
            below_left, below_right = rejected, matched
        case _:
            below_left = rejected if kind is JoinKind.NULL_AWARE_ANTI else _NONE
            below_right = _NONE
    left = _visit(plan.left, below_left, context)
    right = _visit(plan.right, below_right, context)
    if left is plan.left and right is plan.right and kind is plan.kind:
        return plan
    return Join(left, right, kind, plan.condition, plan.hint)


def _narrowed(kind: JoinKind, keeps_left: bool, keeps_right: bool) -> JoinKind:
    """`keeps_left`: only rows with a left row are kept above."""
    match kind:
        case JoinKind.LEFT if keeps_right:
            return JoinKind.INNER
        case JoinKind.RIGHT if keeps_left:
            return JoinKind.INNER
        case JoinKind.FULL if keeps_left and keeps_right:
            return JoinKind.INNER
        case JoinKind.FULL if keeps_left:
            return JoinKind.LEFT
        case JoinKind.FULL if keeps_right:
            return JoinKind.RIGHT
    return kind


# Semi joins


def widen_semi_joins(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Widen if the equalities determine a unique key of the right side: then no left row matches twice."""
    return plan.transform_up(lambda node: _widen(node, context))


def _widen(plan: LogicalPlan, context: Context) -> LogicalPlan:
    if not isinstance(plan, Join) or plan.kind is not JoinKind.SEMI or plan.hint is not None:
        return plan
    key = unique_key(plan.right)
    if key is None:
        return plan
    left_ids, right_ids = context.output_ids(plan.left), context.output_ids(plan.right)
    fixed: set[int] = set()
    for term in conjuncts(plan.condition):
        match term:
            case Call("eq", (ColumnRef(column_id), other)) if column_id in right_ids:
                fixed.update((column_id,) if context.ids(other) <= left_ids else ())
            case Call("eq", (other, ColumnRef(column_id))) if column_id in right_ids:
                fixed.update((column_id,) if context.ids(other) <= left_ids else ())
    if not key <= fixed:
        return plan
    joined = Join(plan.left, plan.right, JoinKind.INNER, plan.condition)
    return keep_columns(joined, plan.left.output)
