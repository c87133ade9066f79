"""Grouping sets over states: rows are grouped once by all columns, and the groups of each set are made of these groups.

Otherwise each row is repeated for each set. It pays if a set has all columns, or if the groups are far fewer than the
rows. DISTINCT aggregates, and others without states, need the rows themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.estimate import estimate_rows, group_rows
from sharkpy.physical import enforce, operators
from sharkpy.physical.aggregate_calls import aggregate_call, has_states, new_states
from sharkpy.physical.operators import AggregateMode, HashAggregate, ValuesScan
from sharkpy.physical.plan import PhysicalPlan, Single
from sharkpy.physical.plan_context import FreshIds, PlanContext
from sharkpy.plan.expr import TRUE, AggregateCall, Alias, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Expand, Union, Values
from sharkpy.plan.references import substitute

_OF_NULLS = frozenset({"avg", "count", "max", "min", "sum"})
"""Aggregates whose result of no rows is made of NULLs as states."""
_ROWS_OF_A_GROUP = 4
"""Average rows per group of all columns from which grouping them once pays."""


@dataclass(frozen=True, slots=True)
class GroupingSets:
    """Aggregate over repeated rows.

    `keys` are the sets' group columns, `places` its groups among the `columns` that it reads. `summary` is the row of
    the empty set, which exists even without rows.
    """

    node: Aggregate
    expand: Expand
    summary: Values | None
    columns: tuple[ColumnRef, ...]
    places: tuple[int, ...]
    keys: tuple[Expr, ...]

    def projected(self, place: int) -> Iterable[Expr]:
        return (projection[place] for projection in self.expand.projections)


def find_grouping_sets(node: Aggregate, context: PlanContext) -> GroupingSets | None:
    """Return the sets of `node` if they are better computed over states, else None."""
    sets = _sets_of(node)
    if sets is None or not sets.keys or not all(has_states(aggregate_call(item)) for item in node.aggregates):
        return None
    if any(set(sets.keys) <= set(projection) for projection in sets.expand.projections):
        return sets
    estimates = Context(node, context.statistics, context.conf)
    groups = group_rows(sets.keys, sets.expand.child, estimates)
    return sets if groups * _ROWS_OF_A_GROUP <= estimate_rows(sets.expand.child, estimates) else None


def _sets_of(node: Aggregate) -> GroupingSets | None:
    match node.child:
        case Expand(_, columns, _) as expand:
            return _sets_over(node, expand, None, columns)
        case Union((Expand() as expand, Values() as summary), columns):
            return _sets_over(node, expand, summary, columns)
    return None


def _sets_over(
    node: Aggregate, expand: Expand, summary: Values | None, columns: tuple[ColumnRef, ...]
) -> GroupingSets | None:
    """Return the sets, or None if groups are not columns, or aggregates read columns that differ between the sets."""
    places = {column.column_id: place for place, column in enumerate(columns)}
    groups = [item.expr if isinstance(item, Alias) else item for item in node.groups]
    used = [part for item in node.aggregates for part in item.walk() if isinstance(part, ColumnRef)]
    if not all(isinstance(group, ColumnRef) for group in groups):
        return None
    of_groups = tuple(places[group.column_id] for group in groups if isinstance(group, ColumnRef))
    if any(len({projection[places[one.column_id]] for projection in expand.projections}) > 1 for one in used):
        return None
    sets = GroupingSets(node, expand, summary, columns, of_groups, ())
    keys = (expr for place in of_groups for expr in sets.projected(place) if not isinstance(expr, Literal))
    return replace(sets, keys=tuple(dict.fromkeys(keys))) if _have_rows(sets) else None


def _have_rows(sets: GroupingSets) -> bool:
    """Whether all sets differ, and without rows exactly one has a row: the set without columns, if there is one."""
    rows = [tuple(projection[place] for place in sets.places) for projection in sets.expand.projections]
    empty = [row for row in rows if all(isinstance(expr, Literal) for expr in row)]
    made = [] if sets.summary is None else [tuple(sets.summary.rows[0][place] for place in sets.places)]
    return empty == made and len(set(rows)) == len(rows)


def plan_grouping_sets(sets: GroupingSets, child: PhysicalPlan, num_buckets: int, ids: FreshIds) -> PhysicalPlan:
    """Plan the sets over `child`, which has the rows before repetition."""
    keys = {key: key if isinstance(key, ColumnRef) else ids.alias(key, "key") for key in sets.keys}
    columns = {key: item.ref if isinstance(item, Alias) else item for key, item in keys.items()}
    states = tuple(new_states(item, ids) for item in sets.node.aggregates)
    first = sets.expand.projections[0]
    grouped = HashAggregate(child, tuple(keys.values()), _over(sets, first), AggregateMode.PARTIAL, states)
    projections = tuple(
        tuple(columns.get(projection[place], projection[place]) for place in sets.places)
        for projection in sets.expand.projections
    )
    groups = tuple(item.ref if isinstance(item, Alias) else item for item in sets.node.groups)
    aggregates = sets.node.aggregates
    made = operators.GroupingSets(
        grouped, groups, projections, aggregates, AggregateMode.FINAL, states, _empty(sets, states)
    )
    if isinstance(made.distribution, Single):
        return made
    moved = enforce.hashed(replace(made, mode=AggregateMode.MERGE), groups, num_buckets, ids)
    return HashAggregate(moved, groups, aggregates, AggregateMode.FINAL, states)


def _empty(sets: GroupingSets, states: tuple[tuple[ColumnRef, ...], ...]) -> tuple[HashAggregate, ...]:
    """Return the states of no rows, if the set without columns needs them."""
    summary = sets.summary
    if summary is None or all(aggregate_call(item).base in _OF_NULLS for item in sets.node.aggregates):
        return ()
    rows, aggregates = ValuesScan(summary.columns, summary.rows), _over(sets, summary.columns)
    return (HashAggregate(rows, (), aggregates, AggregateMode.PARTIAL, states),)


def _over(sets: GroupingSets, values: Sequence[Expr]) -> tuple[Alias, ...]:
    """Return the aggregates over `values` instead of the columns that they read."""
    renamed = {column.column_id: value for column, value in zip(sets.columns, values, strict=True)}
    return tuple(replace(item, expr=_unfiltered(substitute(item.expr, renamed))) for item in sets.node.aggregates)


def _unfiltered(call: Expr) -> Expr:
    """Remove a filter that is always TRUE."""
    return replace(call, filter=None) if isinstance(call, AggregateCall) and call.filter == TRUE else call
