"""DISTINCT aggregates in two levels (SPEC P4): rows of a group that many rows share are counted by several tasks.

Rows that differ in group and arguments are brought together first, and meet their equals there, already in the map
stage; then only states move by group. With several sets of arguments each row is there once for each set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sharkpy.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal
from sharkpy.physical import enforce
from sharkpy.physical.aggregates import aggregate_call, aggregate_row, is_distinct, new_states
from sharkpy.physical.fresh_ids import FreshIds
from sharkpy.physical.operators import AggregateMode, Expand, HashAggregate
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.types import BOOLEAN, INT, ArrayType, DataType, MapType, StructType

Groups = tuple[Alias | ColumnRef, ...]


def has_two_levels(aggregates: tuple[Alias, ...]) -> bool:
    """Whether there are DISTINCT aggregates, and all aggregates have states; values with maps have no hash."""
    calls = list(map(aggregate_call, aggregates))
    distinct = [call for call in calls if is_distinct(call)]
    return (
        bool(distinct)
        and all(aggregate_row(call).partials for call in calls)
        and not any(_has_map(arg.dtype) for call in distinct for arg in call.args)
    )


def _has_map(dtype: DataType) -> bool:
    match dtype:
        case ArrayType(element):
            return _has_map(element)
        case StructType(types=types):
            return any(map(_has_map, types))
    return isinstance(dtype, MapType)


def plan_distinct(
    child: PhysicalPlan, groups: Groups, aggregates: tuple[Alias, ...], num_buckets: int, ids: FreshIds
) -> PhysicalPlan:
    first = _first_level(child, groups, aggregates, ids)
    states = tuple(new_states(item, ids) for item in aggregates)
    plain = tuple(index for index, item in enumerate(aggregates) if not is_distinct(aggregate_call(item)))
    plain_items = tuple(first.aggregates[index] for index in plain)
    plain_states = tuple(states[index] for index in plain)
    plan: PhysicalPlan = HashAggregate(first.child, first.groups, plain_items, AggregateMode.PARTIAL, plain_states)
    columns = tuple(map(_column, first.groups))
    if not enforce.is_clustered(plan, columns):
        moved = enforce.hashed(plan, columns, num_buckets, ids)
        plan = HashAggregate(moved, columns, plain_items, AggregateMode.MERGE, plain_states)
    keys = tuple(map(_column, groups))
    plan = HashAggregate(plan, keys, first.aggregates, AggregateMode.MERGE, states)
    together = enforce.hashed(plan, keys, num_buckets, ids) if keys else enforce.single(plan, ids)
    return HashAggregate(together, keys, aggregates, AggregateMode.FINAL, states)


@dataclass(frozen=True, slots=True)
class _FirstLevel:
    """What is grouped first: `groups` are the query's and the arguments of DISTINCT aggregates, which in
    `aggregates` are columns."""

    child: PhysicalPlan
    groups: Groups
    aggregates: tuple[Alias, ...]


def _first_level(child: PhysicalPlan, groups: Groups, aggregates: tuple[Alias, ...], ids: FreshIds) -> _FirstLevel:
    sets = dict.fromkeys(_arguments(call) for call in map(aggregate_call, aggregates) if is_distinct(call))
    if len(sets) > 1:
        return _expanded(child, groups, aggregates, tuple(sets), ids)
    (args,) = sets
    keys = {arg: arg if isinstance(arg, ColumnRef) else ids.alias(arg, "distinct") for arg in args}
    columns = {args: tuple(_column(keys[arg]) for arg in args)}
    items = tuple(_over_columns(item, columns) for item in aggregates)
    return _FirstLevel(child, tuple(dict.fromkeys((*groups, *keys.values()))), items)


def _expanded(
    child: PhysicalPlan,
    groups: Groups,
    aggregates: tuple[Alias, ...],
    sets: tuple[tuple[Expr, ...], ...],
    ids: FreshIds,
) -> _FirstLevel:
    """Each row once for each set of arguments, the others' being NULL, which aggregates ignore. Rows of the first
    set are those that the other aggregates take."""
    number = ids.column("set", INT)
    columns = {args: tuple(ids.column("distinct", arg.dtype) for arg in args) for args in sets}
    keys = tuple(column for of_set in columns.values() for column in of_set)
    values: dict[ColumnRef, Expr] = {_column(item): _bare(item) for item in groups}
    is_first = Call("eq", (number, Literal(0, INT)), BOOLEAN)
    items = []
    for item in aggregates:
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
            *(arg if one is args else Literal(None, arg.dtype) for one in sets for arg in one),
            Literal(index, INT),
        )
        for index, args in enumerate(sets)
    )
    expand = Expand(child, (*values, *keys, number), projections)
    return _FirstLevel(expand, (*map(_column, groups), *keys, number), tuple(items))


def _over_columns(item: Alias, columns: dict[tuple[Expr, ...], tuple[ColumnRef, ...]]) -> Alias:
    call = aggregate_call(item)
    if not is_distinct(call):
        return item
    return replace(item, expr=replace(call, args=columns[_arguments(call)], filter=None))


def _arguments(call: AggregateCall) -> tuple[Expr, ...]:
    """The call's arguments; NULL in rows that its filter leaves out."""
    if call.filter is None:
        return call.args
    return tuple(Call("if", (call.filter, arg, Literal(None, arg.dtype)), arg.dtype) for arg in call.args)


def _columns(call: AggregateCall) -> Iterable[ColumnRef]:
    return (part for part in call.walk() if isinstance(part, ColumnRef))


def _column(item: Alias | ColumnRef) -> ColumnRef:
    return item.ref if isinstance(item, Alias) else item


def _bare(item: Alias | ColumnRef) -> Expr:
    return item.expr if isinstance(item, Alias) else item
