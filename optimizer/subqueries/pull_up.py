"""Pull conditions on outer columns out of a subquery, so that they become a join condition."""

from __future__ import annotations

import dataclasses
from dataclasses import field

from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context, references
from sharkpy.optimizer.function_traits import empty_group_value
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, conjunction, conjuncts
from sharkpy.plan.logical import (
    Aggregate,
    Distribute,
    Filter,
    Join,
    JoinKind,
    LogicalPlan,
    Project,
    Sort,
)
from sharkpy.plan.references import substitute

_LEFT_KEEPING = (JoinKind.LEFT, JoinKind.SINGLE, JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI)


@dataclass(frozen=True, slots=True)
class Pulled:
    """A plan without outer references, and the parts that were pulled out of it.

    1. The subquery's rows for an outer row are the rows of `plan` for which all `conditions` hold.
    2. `deferred` has the columns that could not be computed inside, over columns of `plan` and outer ones.
    3. An aggregate without groups has a row even if no row of `plan` matches. For such a subquery, `empty` has the
       values of its columns in that row. Otherwise it is None.
    """

    plan: LogicalPlan
    conditions: tuple[Expr, ...] = ()
    deferred: dict[int, Expr] = field(default_factory=dict)
    empty: dict[int, Expr] | None = None


def pull_up(plan: LogicalPlan, free: frozenset[int], context: Context) -> Pulled | None:
    """Pull up the conditions on the outer columns `free`. Return None if they cannot leave the plan."""
    match plan:
        case Filter():
            return _pull_filter(plan, free, context)
        case Project():
            return _pull_project(plan, free, context)
        case Aggregate():
            return _pull_aggregate(plan, free, context)
        case Join():
            return _pull_join(plan, free, context)
        case Sort() | Distribute():
            inner = pull_up(plan.child, free, context)
            if inner is None or inner.deferred or _uses(plan, free, context):
                return None
            return dataclasses.replace(inner, plan=plan.with_children(inner.plan))
    if _uses(plan, free, context):
        return None
    for child in plan.children:
        inner = pull_up(child, free, context)
        if inner is None or inner.plan is not child:
            return None
    return Pulled(plan)


def _uses(plan: LogicalPlan, free: frozenset[int], context: Context) -> bool:
    return any(context.ids(expr) & free for expr in plan.expressions)


def _pull_filter(plan: Filter, free: frozenset[int], context: Context) -> Pulled | None:
    inner = pull_up(plan.child, free, context)
    if inner is None or (inner.empty is not None and inner.conditions):
        return None
    pulled, kept = list(inner.conditions), []
    for term in conjuncts(plan.predicate):
        replaced = substitute(term, inner.deferred)
        if not context.ids(replaced) & free:
            kept.append(replaced)
        elif context.is_deterministic(replaced) and inner.empty is None:
            pulled.append(replaced)
        else:
            return None
    if inner.plan is plan.child and len(pulled) == len(inner.conditions):
        return dataclasses.replace(inner, plan=plan)
    predicate = conjunction(kept)
    filtered = Filter(inner.plan, predicate) if predicate is not None else inner.plan
    return dataclasses.replace(inner, plan=filtered, conditions=tuple(pulled))


def _pull_project(plan: Project, free: frozenset[int], context: Context) -> Pulled | None:
    inner = pull_up(plan.child, free, context)
    if inner is None:
        return None
    items: list[Alias | ColumnRef] = []
    deferred: dict[int, Expr] = {}
    for item in plan.items:
        expr = substitute(item, inner.deferred)
        if isinstance(item, ColumnRef):
            if item.column_id in inner.deferred:
                deferred[item.column_id] = expr
            elif item.column_id not in free:
                items.append(item)
        elif context.ids(expr) & free:
            if not context.is_deterministic(expr) or inner.empty is not None:
                return None
            deferred[item.column_id] = expr.expr  # type: ignore[attr-defined]
        else:
            items.append(expr)  # type: ignore[arg-type]
    kept = {item.column_id for item in items}
    for column_id, ref in references((*inner.conditions, *deferred.values())).items():
        if column_id not in free and column_id not in kept:
            items.append(ref)
    empty = None
    if inner.empty is not None:
        empty = {**inner.empty, **_values(plan.items, inner.empty)}
    if tuple(items) == plan.items and inner.plan is plan.child:
        return Pulled(plan, inner.conditions, deferred, empty)
    return Pulled(Project(inner.plan, tuple(items)), inner.conditions, deferred, empty)


def _values(items: tuple[Alias | ColumnRef, ...], empty: dict[int, Expr]) -> dict[int, Expr]:
    return {item.column_id: substitute(item.expr if isinstance(item, Alias) else item, empty) for item in items}


def empty_value(call: Alias) -> Literal:
    """Return the value of an aggregate over no rows."""
    name = call.expr.function  # type: ignore[attr-defined]
    return Literal(empty_group_value(name), call.dtype)  # type: ignore[arg-type]


def _pull_aggregate(plan: Aggregate, free: frozenset[int], context: Context) -> Pulled | None:
    inner = pull_up(plan.child, free, context)
    if inner is None or inner.deferred or (inner.empty is not None and inner.conditions) or _uses(plan, free, context):
        return None
    if not inner.conditions:
        return Pulled(plan.with_children(inner.plan))
    groups = list(plan.groups)
    conditions: list[Expr] = []
    for condition in inner.conditions:
        sides = split_equality(condition, free, context)
        if sides is None:
            return None
        outer_side, inner_side = sides
        if not context.ids(inner_side):
            return None
        key = _group_key(inner_side, groups, context)
        conditions.append(Call("eq", (outer_side, key), condition.dtype))
    empty: dict[int, Expr] | None = None
    if not plan.groups:
        empty = {item.column_id: empty_value(item) for item in plan.aggregates}
    return Pulled(Aggregate(inner.plan, tuple(groups), plan.aggregates), tuple(conditions), {}, empty)


def split_equality(condition: Expr, free: frozenset[int], context: Context) -> tuple[Expr, Expr] | None:
    """Split `outer = inner` into (outer side, inner side), or return None if a side mixes both."""
    match condition:
        case Call("eq", (left, right)):
            for outer_side, inner_side in ((left, right), (right, left)):
                if context.ids(outer_side) <= free and not context.ids(inner_side) & free:
                    return outer_side, inner_side
    return None


def _group_key(expr: Expr, groups: list[Alias | ColumnRef], context: Context) -> ColumnRef:
    """Return the output column of the group key `expr`, adding it to `groups` if needed."""
    for item in groups:
        if item == expr:
            return item  # type: ignore[return-value]
        if isinstance(item, Alias) and item.expr == expr:
            return item.ref
    if isinstance(expr, ColumnRef):
        groups.append(expr)
        return expr
    alias = Alias(expr, context.fresh_id(), "key")
    groups.append(alias)
    return alias.ref


def _pull_join(plan: Join, free: frozenset[int], context: Context) -> Pulled | None:
    left = pull_up(plan.left, free, context)
    right = pull_up(plan.right, free, context)
    if left is None or right is None or left.deferred or right.deferred:
        return None
    if any(side.empty is not None and side.conditions for side in (left, right)):
        return None
    pulled: list[Expr] = []
    kept: list[Expr] = []
    for term in conjuncts(plan.condition):
        (pulled if context.ids(term) & free else kept).append(term)
    right_ids = context.output_ids(right.plan)
    if plan.kind in (JoinKind.INNER, JoinKind.CROSS):
        conditions = (*left.conditions, *right.conditions, *pulled)
    elif plan.kind not in _LEFT_KEEPING or right.conditions:
        if left.plan is not plan.left or right.plan is not plan.right or pulled:
            return None
        conditions = ()
    elif pulled and (plan.kind is not JoinKind.SEMI or any(context.ids(term) & right_ids for term in pulled)):
        return None
    else:
        conditions = (*left.conditions, *pulled)
    if not conditions and left.plan is plan.left and right.plan is plan.right:
        return Pulled(plan)
    return Pulled(Join(left.plan, right.plan, plan.kind, conjunction(kept), plan.hint), conditions)
