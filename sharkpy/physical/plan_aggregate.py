"""Planning of aggregates: one step if groups are together, else partial states, an exchange, and their merge.

Aggregates without states take one step, after an exchange of all rows. DISTINCT aggregates of many rows take two
levels, so that several tasks share the rows of a large group: rows are first exchanged by group and arguments, so that
equal rows meet. If that leaves few rows, equal rows meet already in the map stage. Of the states made there, only one
per task and group moves, by group. With several sets of arguments, each row is repeated for each set.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from sharkpy.base import settings
from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.estimate import estimate_rows, known_distinct
from sharkpy.physical import enforce
from sharkpy.physical.aggregate_calls import aggregate_call, aggregate_row, has_states, is_distinct, new_states
from sharkpy.physical.operators import AggregateMode, Expand, HashAggregate, Project
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.plan_context import FreshIds, PlanContext
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate
from sharkpy.values.types import BOOLEAN, INT, has_map


def plan_aggregate(
    node: Aggregate, child: PhysicalPlan, num_buckets: int, context: PlanContext, ids: FreshIds
) -> PhysicalPlan:
    if enforce.is_clustered(child, tuple(group for group in node.groups if not isinstance(group, Alias))):
        return HashAggregate(child, node.groups, node.aggregates, AggregateMode.COMPLETE)
    if all(has_states(aggregate_call(item)) for item in node.aggregates):
        return _two_steps(node, child, num_buckets, ids)
    if (levels := choose_levels(node, context)) is not None:
        return plan_distinct(node, child, levels, num_buckets, ids)
    return _one_step(node, child, num_buckets, ids)


def _two_steps(node: Aggregate, child: PhysicalPlan, num_buckets: int, ids: FreshIds) -> PhysicalPlan:
    states = tuple(new_states(item, ids) for item in node.aggregates)
    partial = HashAggregate(child, node.groups, node.aggregates, AggregateMode.PARTIAL, states)
    groups = partial.group_columns
    moved = enforce.hashed(partial, groups, num_buckets, ids) if groups else enforce.single(partial, ids)
    return HashAggregate(moved, groups, node.aggregates, AggregateMode.FINAL, states)


def _one_step(node: Aggregate, child: PhysicalPlan, num_buckets: int, ids: FreshIds) -> PhysicalPlan:
    if not node.groups:
        return HashAggregate(enforce.single(child, ids), (), node.aggregates, AggregateMode.COMPLETE)
    exprs = tuple(group.expr if isinstance(group, Alias) else group for group in node.groups)
    keyed, keys = enforce.with_columns(child, exprs, ids)
    groups = tuple(
        Alias(key, group.column_id, group.name) if isinstance(group, Alias) else group
        for key, group in zip(keys, node.groups, strict=True)
    )
    moved = enforce.hashed(keyed, keys, num_buckets, ids)
    return HashAggregate(moved, groups, node.aggregates, AggregateMode.COMPLETE)


# DISTINCT aggregates in two levels


_ROWS_OF_A_PAIR = 2
"""Average rows per group and argument from which removing duplicates in the map stage pays."""
_ROWS_OF_A_GROUP = 100
"""Average rows per group from which moving the groups' states too is cheap compared to moving the rows."""


class Levels(Enum):
    """Choice of the rows that move by group and arguments."""

    PAIRS = "pairs"
    """Distinct rows of a map task, with the states of the other aggregates; suits any skew."""
    ROWS = "rows"
    """All rows; cheaper if nearly all differ."""


def choose_levels(node: Aggregate, context: PlanContext) -> Levels | None:
    """Return the levels, or None for one step.

    One step is chosen if there is no other way, for few rows, and for many small groups.
    """
    values = context.conf
    if not values.value(settings.SKEW) or not _has_two_levels(node.aggregates):
        return None
    estimates, is_forced = Context(node, context.statistics, values), values.value(settings.FORCE_SKEW)
    rows = estimate_rows(node.child, estimates)
    if rows < values.value(settings.SKEW_ROWS) and not is_forced:
        return None
    groups = _most_groups(map(_bare, node.groups), node, estimates)
    sets = _argument_sets(node.aggregates).values()
    pairs = [_most_groups((*map(_bare, node.groups), *args), node, estimates) for args in sets]
    if _ROWS_OF_A_PAIR * sum(pairs) <= rows:
        return Levels.PAIRS
    if groups < math.inf and _ROWS_OF_A_GROUP * groups > rows and not is_forced:
        return None
    if math.inf in pairs or _ROWS_OF_A_PAIR * min(pairs) <= rows:
        return Levels.PAIRS
    # Moving each row once per set on all cores should be cheaper than one core reading all rows.
    return Levels.ROWS if len(sets) < max(context.default_parallelism, 2) or is_forced else None


def _most_groups(keys: Iterable[Expr], node: Aggregate, estimates: Context) -> float:
    """Return the largest possible number of groups; infinite if a key has no statistics."""
    counts = [known_distinct(key, node.child, estimates) for key in keys]
    found = math.prod(math.inf if count is None else count for count in counts)
    return found if found == math.inf else min(found, estimate_rows(node.child, estimates))


def _has_two_levels(aggregates: tuple[Alias, ...]) -> bool:
    """Whether there are DISTINCT aggregates, and all aggregates have states. Values with maps have no hash."""
    calls = list(map(aggregate_call, aggregates))
    distinct = [call for call in calls if is_distinct(call)]
    return (
        bool(distinct)
        and all(aggregate_row(call).partials for call in calls)
        and not any(has_map(arg.dtype) for call in distinct for arg in call.args)
    )


def plan_distinct(
    node: Aggregate, child: PhysicalPlan, levels: Levels, num_buckets: int, ids: FreshIds
) -> PhysicalPlan:
    first = _first_level(node, child, ids)
    states = tuple(new_states(item, ids) for item in node.aggregates)
    groups = tuple(map(_column, node.groups))
    moved, mode = _rows(first), AggregateMode.PARTIAL
    if not enforce.is_clustered(moved, first.columns):
        if levels is Levels.PAIRS:
            moved, mode = _pairs(first, states), AggregateMode.MERGE
        moved = enforce.hashed(moved, first.columns, num_buckets, ids)
    made = HashAggregate(moved, groups, first.aggregates, mode, states)
    together = enforce.hashed(made, groups, num_buckets, ids) if groups else enforce.single(made, ids)
    return HashAggregate(together, groups, node.aggregates, AggregateMode.FINAL, states)


@dataclass(frozen=True, slots=True)
class _FirstLevel:
    """First grouping: `groups` are the query's groups and the arguments of DISTINCT aggregates.

    In `aggregates` these arguments are columns.
    """

    child: PhysicalPlan
    groups: tuple[Alias | ColumnRef, ...]
    aggregates: tuple[Alias, ...]

    @property
    def columns(self) -> tuple[ColumnRef, ...]:
        return tuple(map(_column, self.groups))


def _pairs(first: _FirstLevel, states: tuple[tuple[ColumnRef, ...], ...]) -> PhysicalPlan:
    plain = [at for at, item in enumerate(first.aggregates) if not is_distinct(aggregate_call(item))]
    items, made = tuple(first.aggregates[at] for at in plain), tuple(states[at] for at in plain)
    return HashAggregate(first.child, first.groups, items, AggregateMode.PARTIAL, made)


def _rows(first: _FirstLevel) -> PhysicalPlan:
    """Return the first level's rows with its groups and the columns that its aggregates use."""
    known = {column.column_id for column in first.columns}
    used = (part for item in first.aggregates for part in item.walk() if isinstance(part, ColumnRef))
    others = {column.column_id: column for column in used if column.column_id not in known}
    items = (*first.groups, *others.values())
    return first.child if items == first.child.output else Project(first.child, items)


def _first_level(node: Aggregate, child: PhysicalPlan, ids: FreshIds) -> _FirstLevel:
    groups, aggregates, sets = node.groups, node.aggregates, _argument_sets(node.aggregates)
    if len(sets) > 1:
        return _expanded(node, child, tuple(sets), ids)
    (args,) = sets
    keys = {arg: arg if isinstance(arg, ColumnRef) else ids.alias(arg, "distinct") for arg in _varying(args)}
    columns = {args: tuple(_column(keys[arg]) if arg in keys else arg for arg in args)}
    items = tuple(_over_columns(item, columns) for item in aggregates)
    return _FirstLevel(child, tuple(dict.fromkeys((*groups, *keys.values()))), items)


def _expanded(node: Aggregate, child: PhysicalPlan, sets: tuple[tuple[Expr, ...], ...], ids: FreshIds) -> _FirstLevel:
    """Repeat each row for each set of arguments. The other sets are NULL, which aggregates ignore.

    The other aggregates take the rows of the first set.
    """
    number = ids.column("set", INT)
    varying = {args: _varying(args) for args in sets}
    columns: dict[tuple[Expr, ...], tuple[Expr, ...]] = {
        args: tuple(ids.column("distinct", arg.dtype) if arg in varying[args] else arg for arg in args) for args in sets
    }
    keys = tuple(key for of_set in columns.values() for key in of_set if isinstance(key, ColumnRef))
    values: dict[ColumnRef, Expr] = {_column(item): _bare(item) for item in node.groups}
    is_first = Call("eq", (number, Literal(0, INT)), BOOLEAN)
    items = []
    for item in node.aggregates:
        call = aggregate_call(item)
        if is_distinct(call):
            items.append(_over_columns(item, columns))
            continue
        where = is_first if call.filter is None else Call("and", (is_first, call.filter), BOOLEAN)
        values.update((column, column) for column in _columns(call))
        items.append(replace(item, expr=replace(call, filter=where)))
    projections = tuple(
        (
            *values.values(),
            *(arg if one is args else Literal(None, arg.dtype) for one in sets for arg in one if arg in varying[one]),
            Literal(index, INT),
        )
        for index, args in enumerate(sets)
    )
    expand = Expand(child, (*values, *keys, number), projections)
    return _FirstLevel(expand, (*map(_column, node.groups), *keys, number), tuple(items))


def _over_columns(item: Alias, columns: Mapping[tuple[Expr, ...], tuple[Expr, ...]]) -> Alias:
    call = aggregate_call(item)
    if not is_distinct(call):
        return item
    return replace(item, expr=replace(call, args=columns[_arguments(call)], filter=None))


def _argument_sets(aggregates: tuple[Alias, ...]) -> dict[tuple[Expr, ...], tuple[Expr, ...]]:
    """Return the arguments of DISTINCT aggregates, by their form under the aggregates' filters."""
    calls = map(aggregate_call, aggregates)
    return {_arguments(call): call.args for call in calls if is_distinct(call)}


def _arguments(call: AggregateCall) -> tuple[Expr, ...]:
    """Return the call's arguments, NULL in rows that its filter excludes."""
    if call.filter is None:
        return call.args
    varying = _varying(call.args)
    return tuple(
        Call("if", (call.filter, arg, Literal(None, arg.dtype)), arg.dtype) if arg in varying else arg
        for arg in call.args
    )


def _varying(args: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the arguments that vary between rows. Other arguments stay constants, which some aggregates require."""
    return tuple(arg for arg in args if not isinstance(arg, Literal)) or tuple(args)


def _columns(call: AggregateCall) -> Iterable[ColumnRef]:
    return (part for part in call.walk() if isinstance(part, ColumnRef))


def _column(item: Alias | ColumnRef) -> ColumnRef:
    return item.ref if isinstance(item, Alias) else item


def _bare(item: Alias | ColumnRef) -> Expr:
    return item.expr if isinstance(item, Alias) else item
