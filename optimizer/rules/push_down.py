"""Move filter terms and limits as far down as their meaning allows.

Terms go into join conditions and scans, and choose the keys of system tables. Limits go below projections, into unions,
and into the preserved side of outer joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sharkpy.catalog.system_tables import SystemTable
from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, InSet, Literal, conjunction, conjuncts, disjunction
from sharkpy.plan.logical import (
    Aggregate,
    Distribute,
    Expand,
    Filter,
    Generate,
    Given,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Union,
    Values,
    Window,
)
from sharkpy.plan.references import substitute

Terms = list[Expr]


def push_down_filters(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Move terms down. Terms with non-deterministic functions stay in place."""
    return _push(plan, [], context)


def _push(plan: LogicalPlan, terms: Terms, context: Context) -> LogicalPlan:
    """Return `plan` filtered by `terms`, which are deterministic."""
    match plan:
        case Filter():
            return _push_filter(plan, terms, context)
        case Scan():
            return _push_scan(plan, terms)
        case Project(child, items):
            down, kept = _split(terms, _definitions(items, context), context)
            return _filtered(plan.with_children(_push(child, down, context)), kept)
        case Aggregate(child, groups):
            down, kept = _split(terms, _definitions(groups, context), context) if groups else ([], terms)
            return _filtered(plan.with_children(_push(child, down, context)), kept)
        case Window():
            down, kept = _split(terms, _partition_columns(plan), context)
            return _filtered(plan.with_children(_push(plan.child, down, context)), kept)
        case Generate(child):
            down, kept = _split_by_ids(terms, context.output_ids(child), context)
            return _filtered(plan.with_children(_push(child, down, context)), kept)
        case Expand():
            down, kept = _split(terms, _unchanged_columns(plan), context)
            return _filtered(plan.with_children(_push(plan.child, down, context)), kept)
        case Sort(child) | Distribute(child):
            return plan.with_children(_push(child, terms, context))
        case Union():
            return _push_union(plan, terms, context)
        case Join():
            return _push_join(plan, terms, context)
        case Given():
            return _filtered(_of_keys(plan, terms), terms)
        case Limit() | Values():
            pass
    return _filtered(plan.map_children(lambda child: _push(child, [], context)), terms)


def _filtered(plan: LogicalPlan, terms: Sequence[Expr]) -> LogicalPlan:
    if not terms:
        return plan
    if isinstance(plan, Filter):
        return Filter(plan.child, conjunction(_merged(conjuncts(plan.predicate), terms)))  # type: ignore[arg-type]
    predicate = conjunction(_merged((), terms))
    return plan if predicate is None else Filter(plan, predicate)


def _merged(terms: Sequence[Expr], more: Sequence[Expr]) -> Terms:
    """Return the terms of both sequences in order, without duplicates."""
    return list(dict.fromkeys((*terms, *more)))


def _push_filter(plan: Filter, terms: Terms, context: Context) -> LogicalPlan:
    own = conjuncts(plan.predicate)
    down = [term for term in own if context.is_deterministic(term)]
    result = _push(plan.child, down + terms, context)
    if len(down) < len(own):
        stuck = [term for term in own if not context.is_deterministic(term)]
        result = _filtered(result, stuck)
    if isinstance(result, Filter) and result.child is plan.child and result.predicate == plan.predicate:
        return plan
    return result


def _of_keys(plan: Given, terms: Terms) -> Given:
    """Compute only those rows of a system table whose key has one of the constants in `terms`."""
    system = plan.rows.here
    if not isinstance(system, SystemTable) or system.rows_of is None:
        return plan
    fields = zip(plan.columns, plan.rows.schema, strict=True)
    key = next(column.column_id for column, field in fields if field.name == system.key)
    for term in terms:
        match term:
            case Call("eq", (ColumnRef(column_id), constant)) | Call("eq", (constant, ColumnRef(column_id))):
                keys = _texts((constant,))
            case Call("in", (ColumnRef(column_id), *constants)):
                keys = _texts(constants)
            case InSet(ColumnRef(column_id), constant_set):
                keys = frozenset(map(str, constant_set.values.to_pylist()))
            case _:
                continue
        if keys is not None and column_id == key:
            return replace(plan, rows=replace(plan.rows, here=system.of_keys(keys)))
    return plan


def _texts(constants: Sequence[Expr]) -> frozenset[str] | None:
    """Return constants if all are texts, else None."""
    texts = [one.value for one in constants if isinstance(one, Literal) and isinstance(one.value, str)]
    return frozenset(texts) if len(texts) == len(constants) else None


def _push_scan(plan: Scan, terms: Terms) -> LogicalPlan:
    if not terms:
        return plan
    own = conjuncts(plan.predicate)
    merged = _merged(own, terms)
    if len(merged) == len(own):
        return plan
    return replace(plan, predicate=conjunction(merged))


def _definitions(items: Sequence[Alias | ColumnRef], context: Context) -> dict[int, Expr]:
    """Map output column ids to expressions over the child, if these may be evaluated below."""
    return {
        item.column_id: item.expr if isinstance(item, Alias) else item
        for item in items
        if context.is_deterministic(item)
    }


def _split(terms: Terms, definitions: dict[int, Expr], context: Context) -> tuple[Terms, Terms]:
    """Split into terms over `definitions` only, rewritten for the child, and the remaining terms."""
    down: Terms = []
    kept: Terms = []
    for term in terms:
        if context.ids(term) <= definitions.keys():
            down.append(substitute(term, definitions))
        else:
            kept.append(term)
    return down, kept


def _split_by_ids(terms: Sequence[Expr], ids: frozenset[int], context: Context) -> tuple[Terms, Terms]:
    down = [term for term in terms if context.ids(term) <= ids]
    kept = [term for term in terms if not context.ids(term) <= ids]
    return down, kept


def _partition_columns(plan: Window) -> dict[int, Expr]:
    """Return the columns by which all windows are partitioned: a condition on them drops whole partitions."""
    common: set[int] | None = None
    columns: dict[int, Expr] = {}
    for item in plan.windows:
        keys = [key for key in item.expr.partition_by if isinstance(key, ColumnRef)]  # type: ignore[attr-defined]
        columns.update((key.column_id, key) for key in keys)
        ids = {key.column_id for key in keys}
        common = ids if common is None else common & ids
    return {column_id: columns[column_id] for column_id in common or ()}


def _unchanged_columns(plan: Expand) -> dict[int, Expr]:
    """Return the columns that are the same child column in every grouping set."""
    same: dict[int, Expr] = {}
    for column, *exprs in zip(plan.columns, *plan.projections, strict=True):
        first = exprs[0]
        if isinstance(first, ColumnRef) and all(expr == first for expr in exprs):
            same[column.column_id] = first
    return same


def _push_union(plan: Union, terms: Terms, context: Context) -> LogicalPlan:
    inputs = []
    for child in plan.inputs:
        mapping: dict[int, Expr] = {
            column.column_id: source for column, source in zip(plan.columns, child.output, strict=True)
        }
        inputs.append(_push(child, [substitute(term, mapping) for term in terms], context))
    if all(new is old for new, old in zip(inputs, plan.inputs, strict=True)):
        return plan
    return Union(tuple(inputs), plan.columns)


def _push_join(plan: Join, terms: Terms, context: Context) -> LogicalPlan:
    left_ids, right_ids = context.output_ids(plan.left), context.output_ids(plan.right)
    own = conjuncts(plan.condition)
    to_left: Terms = []
    to_right: Terms = []
    above: Terms = []
    condition: Terms = list(own)
    kind = plan.kind
    match kind:
        case JoinKind.INNER | JoinKind.CROSS:
            stuck = [term for term in own if not context.is_deterministic(term)]
            movable = _merged([term for term in own if context.is_deterministic(term)], terms)
            to_left, rest = _split_by_ids(movable, left_ids, context)
            to_right, both = _split_by_ids(rest, right_ids, context)
            condition = both + stuck
            to_left += _implied(both, left_ids, context)
            to_right += _implied(both, right_ids, context)
            kind = JoinKind.INNER if condition else JoinKind.CROSS
        case JoinKind.LEFT | JoinKind.SINGLE:
            to_left, above = _split_by_ids(terms, left_ids, context)
            to_right, condition = _split_condition(own, right_ids, context)
        case JoinKind.RIGHT:
            to_right, above = _split_by_ids(terms, right_ids, context)
            to_left, condition = _split_condition(own, left_ids, context)
        case JoinKind.FULL:
            above = terms
        case JoinKind.SEMI:
            to_left, rest = _split_condition(own, left_ids, context)
            to_left = terms + to_left
            to_right, condition = _split_condition(rest, right_ids, context)
        case JoinKind.ANTI:
            to_left = terms
            to_right, condition = _split_condition(own, right_ids, context)
        case JoinKind.NULL_AWARE_ANTI:
            to_left = terms
    left, right = _push(plan.left, to_left, context), _push(plan.right, to_right, context)
    changed = left is not plan.left or right is not plan.right or kind is not plan.kind
    if changed or len(condition) != len(own) or any(new is not old for new, old in zip(condition, own, strict=True)):
        plan = Join(left, right, kind, conjunction(condition), plan.hint)
    return _filtered(plan, above)


def _split_condition(own: Sequence[Expr], ids: frozenset[int], context: Context) -> tuple[Terms, Terms]:
    """Split a join condition into terms that may become a filter of the side with `ids`, and the remaining terms."""
    down = [term for term in own if context.ids(term) <= ids and context.is_deterministic(term)]
    kept = [term for term in own if not (context.ids(term) <= ids and context.is_deterministic(term))]
    return down, kept


def _implied(terms: Sequence[Expr], ids: frozenset[int], context: Context) -> Terms:
    """Return terms over one side that disjunctions over both imply: (a1 and b1) or (a2 and b2) implies a1 or a2."""
    found: Terms = []
    for term in terms:
        if not (isinstance(term, Call) and term.function == "or"):
            continue
        sides = [[c for c in conjuncts(part) if context.ids(c) <= ids] for part in disjuncts(term)]
        if all(sides):
            parts = dict.fromkeys(part for side in sides if (part := conjunction(side)) is not None)
            if (implied := disjunction(parts)) is not None:
                found.append(implied)
    return found


def disjuncts(expr: Expr) -> tuple[Expr, ...]:
    if isinstance(expr, Call) and expr.function == "or":
        return tuple(part for arg in expr.args for part in disjuncts(arg))
    return (expr,)


# Limits


def push_down_limits(plan: LogicalPlan, _context: Context) -> LogicalPlan:
    """Move limits down and merge adjacent ones. A limit stays directly above a Sort (top-N)."""
    if isinstance(plan, Limit):
        plan = _push_limit(plan)
    return plan.map_children(lambda child: push_down_limits(child, _context))


def _push_limit(plan: Limit) -> LogicalPlan:
    count, offset = plan.count, plan.offset
    if count is None and offset == 0:
        return plan.child
    if count == 0:
        return plan if isinstance(plan.child, Values) and not plan.child.rows else Values(plan.output, ())
    match plan.child:
        case Limit(child, inner_count, inner_offset):
            remaining = None if inner_count is None else max(inner_count - offset, 0)
            counts = [c for c in (count, remaining) if c is not None]
            return _push_limit(Limit(child, min(counts) if counts else None, inner_offset + offset))
        case Project(child):
            return plan.child.with_children(Limit(child, count, offset))
        case Union(inputs) as union if count is not None:
            limited = tuple(_bounded(child, count + offset) for child in inputs)
            if all(new is old for new, old in zip(limited, inputs, strict=True)):
                return plan
            return Limit(Union(limited, union.columns), count, offset)
        case Join(left, right, JoinKind.LEFT | JoinKind.SINGLE as kind) as join if count is not None:
            bounded = _bounded(left, count + offset)
            if bounded is left:
                return plan
            return Limit(Join(bounded, right, kind, join.condition, join.hint), count, offset)
    return plan


def _bounded(plan: LogicalPlan, count: int) -> LogicalPlan:
    """Return `plan` with at most `count` rows. Add a limit only if it may have more."""
    node = plan
    while isinstance(node, Project):
        node = node.child
    match node:
        case Limit(_, inner) if inner is not None and inner <= count:
            return plan
        case Values(_, rows) if len(rows) <= count:
            return plan
        case Aggregate(_, ()):
            return plan
    return Limit(plan, count)
