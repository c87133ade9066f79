"""Restrict inputs early by selective semi joins: below the inner joins of their left side, and below aggregates.

An aggregate that is joined on a group key computes only the groups that the join uses (magic sets).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sharkpy.optimizer.context import Context, fresh_copy
from sharkpy.optimizer.estimate import base_distinct, estimate_rows
from sharkpy.optimizer.join_graph import flatten_joins, is_reorderable
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, conjuncts
from sharkpy.plan.logical import Aggregate, Filter, Join, JoinKind, LogicalPlan, Project, Scan
from sharkpy.values.types import BOOLEAN

MAX_GROUP_SHARE = 0.15
"""Largest share of groups left for which the restriction is worth a second scan of the restricting table."""


def restrict_aggregates(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Put a semi join below an aggregate whose key equals a key of a filtered scan with few keys."""
    plan = plan.map_children(lambda child: restrict_aggregates(child, context))
    if not is_reorderable(plan):
        return plan
    relations, terms = flatten_joins(plan)
    if not any(_aggregate_below(relation) for relation in relations):
        return plan
    replaced = {id(relation): _restricted(relation, relations, terms, context) for relation in relations}
    return _replace(plan, replaced)


def _replace(plan: LogicalPlan, replaced: dict[int, LogicalPlan]) -> LogicalPlan:
    if id(plan) in replaced:
        return replaced[id(plan)]
    return plan.map_children(lambda child: _replace(child, replaced))


def _aggregate_below(plan: LogicalPlan) -> Aggregate | None:
    while isinstance(plan, (Project, Filter)):
        plan = plan.child
    return plan if isinstance(plan, Aggregate) and plan.groups else None


def _restricted(
    relation: LogicalPlan, relations: Sequence[LogicalPlan], terms: Sequence[Expr], context: Context
) -> LogicalPlan:
    aggregate = _aggregate_below(relation)
    if aggregate is None:
        return relation
    ids = context.output_ids(relation)
    others = [other for other in relations if other is not relation]
    for term in terms:
        match term:
            case Call("eq", (ColumnRef() as one, ColumnRef() as other)) if one.dtype == other.dtype:
                own, foreign = (one, other) if one.column_id in ids else (other, one)
                key = _group_key(own.column_id, relation)
                if key is None or foreign.column_id in ids:
                    continue
                child = _restricted_child(aggregate.child, key, foreign, others, context)
                if child is not None:
                    return _with_aggregate(relation, Aggregate(child, aggregate.groups, aggregate.aggregates))
    return relation


def _group_key(column_id: int, plan: LogicalPlan) -> ColumnRef | None:
    """Return the column below the aggregate for an output column of `plan`, if it is a group key."""
    while isinstance(plan, Filter):
        plan = plan.child
    items = plan.groups if isinstance(plan, Aggregate) else plan.items if isinstance(plan, Project) else ()
    for item in items:
        if item.column_id == column_id:
            expr = item.expr if isinstance(item, Alias) else item
            if not isinstance(expr, ColumnRef):
                return None
            return expr if isinstance(plan, Aggregate) else _group_key(expr.column_id, plan.child)  # type: ignore[attr-defined]
    return None


def _restricted_child(
    child: LogicalPlan, key: ColumnRef, foreign: ColumnRef, others: Sequence[LogicalPlan], context: Context
) -> LogicalPlan | None:
    """Return the aggregate's input, restricted to the keys of the smallest filtered scan that restricts them."""
    sources = [source for other in others for source in _sources(other, foreign, context)]
    if not sources:
        return None
    scan, column = min(sources, key=lambda source: estimate_rows(source[0], context))
    if estimate_rows(scan, context) > MAX_GROUP_SHARE * base_distinct(key, child, context):
        return None
    copy, mapping = fresh_copy(scan, context)
    copied = ColumnRef(mapping[column.column_id], column.name, column.dtype)
    return Join(child, Project(copy, (copied,)), JoinKind.SEMI, Call("eq", (key, copied), BOOLEAN))


def _sources(plan: LogicalPlan, column: ColumnRef, context: Context) -> Iterator[tuple[Scan, ColumnRef]]:
    """Yield the filtered scans in `plan` whose column contains every value of `column`."""
    if column.column_id not in context.output_ids(plan):
        return
    match plan:
        case Scan():
            if plan.predicate is not None and context.is_deterministic(plan.predicate):
                yield plan, column
        case Filter(child):
            yield from _sources(child, column, context)
        case Project(child, items):
            for item in items:
                expr = item.expr if isinstance(item, Alias) else item
                if item.column_id == column.column_id and isinstance(expr, ColumnRef):
                    yield from _sources(child, expr, context)
        case Join(left, right, JoinKind.SEMI | JoinKind.INNER):
            for side in (left, right):
                yield from _sources(side, column, context)
            for term in conjuncts(plan.condition):
                match term:
                    case Call("eq", (ColumnRef() as one, ColumnRef() as other)) if column in (one, other):
                        opposite = other if one == column else one
                        for side in (left, right):
                            if column.column_id not in context.output_ids(side):
                                yield from _sources(side, opposite, context)


def _with_aggregate(plan: LogicalPlan, aggregate: Aggregate) -> LogicalPlan:
    if isinstance(plan, (Project, Filter)):
        return plan.with_children(_with_aggregate(plan.child, aggregate))
    return aggregate


# Semi joins below inner joins


MAX_ROW_SHARE = 0.3
"""Largest share of a relation's rows that a semi join may keep to be moved down to it."""

_INNER = (JoinKind.INNER, JoinKind.CROSS)


def push_down_semi_joins(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Move semi joins through inner joins to the side that has all columns of their condition."""
    if isinstance(plan, Join) and plan.kind is JoinKind.SEMI and plan.condition is not None:
        moved = _push_semi_join(plan.left, plan, context)
        if moved is not None:
            plan = moved
    return plan.map_children(lambda child: push_down_semi_joins(child, context))


def _push_semi_join(target: LogicalPlan, semi: Join, context: Context) -> LogicalPlan | None:
    """Return `target` with the semi join inside, or None if that would not help."""
    if isinstance(target, Project):
        if not _left_columns(semi, context) <= context.output_ids(target.child):
            return None
        inner = _push_semi_join(target.child, semi, context)
        return None if inner is None else target.with_children(inner)
    if not isinstance(target, Join) or target.kind not in _INNER:
        return None
    used = _left_columns(semi, context)
    for is_left, side in ((True, target.left), (False, target.right)):
        if not used or not used <= context.output_ids(side):
            continue
        new = _push_semi_join(side, semi, context)
        if new is None:
            new = Join(side, semi.right, JoinKind.SEMI, semi.condition, semi.hint)
            if estimate_rows(new, context) > MAX_ROW_SHARE * estimate_rows(side, context):
                return None
        left, right = (new, target.right) if is_left else (target.left, new)
        return Join(left, right, target.kind, target.condition, target.hint)
    return None


def _left_columns(semi: Join, context: Context) -> frozenset[int]:
    used = frozenset().union(*(context.ids(term) for term in conjuncts(semi.condition)))
    return used - context.output_ids(semi.right)
