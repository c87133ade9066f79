"""Grouping sets over states: rows are grouped once by all columns, and only the groups are repeated.

Otherwise each row is repeated for each set. It pays if the groups are far fewer than the rows. DISTINCT aggregates, and
others without states, need the rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.estimate import estimate_rows, group_rows
from sharkpy.physical import enforce, operators
from sharkpy.physical.aggregate_calls import aggregate_call, has_states, new_states
from sharkpy.physical.operators import AggregateMode, HashAggregate, ValuesScan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.plan_context import FreshIds, PlanContext
from sharkpy.plan.expr import TRUE, AggregateCall, Alias, ColumnRef, Expr, Literal
from sharkpy.plan.logical import Aggregate, Expand, Union, Values
from sharkpy.plan.references import substitute

_ROWS_OF_A_GROUP = 4
"""Average rows per group of all columns from which grouping them once pays."""
States = tuple[tuple[ColumnRef, ...], ...]
Unite = Callable[[tuple[PhysicalPlan, ...], tuple[ColumnRef, ...]], PhysicalPlan]


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
    return replace(sets, keys=tuple(dict.fromkeys(keys)))


def plan_grouping_sets(
    sets: GroupingSets, child: PhysicalPlan, unite: Unite, num_buckets: int, ids: FreshIds
) -> PhysicalPlan:
    """Plan the sets over `child`, which has the rows before repetition. `unite` plans a UNION ALL."""
    plan, states = _repeated_groups(sets, child, ids)
    if sets.summary is not None:
        plan, states = _with_summary(sets, sets.summary, plan, unite, ids)
    groups, aggregates = sets.node.groups, sets.node.aggregates
    bare = tuple(group for group in groups if not isinstance(group, Alias))
    if enforce.is_clustered(plan, bare):
        return HashAggregate(plan, groups, aggregates, AggregateMode.FINAL, states)
    merged = HashAggregate(plan, groups, aggregates, AggregateMode.MERGE, states)
    moved = enforce.hashed(merged, merged.group_columns, num_buckets, ids)
    return HashAggregate(moved, merged.group_columns, aggregates, AggregateMode.FINAL, states)


def _repeated_groups(sets: GroupingSets, child: PhysicalPlan, ids: FreshIds) -> tuple[PhysicalPlan, States]:
    """Return the groups by all keys, with their states, once for each set."""
    keys = {key: key if isinstance(key, ColumnRef) else ids.alias(key, "key") for key in sets.keys}
    columns = {key: item.ref if isinstance(item, Alias) else item for key, item in keys.items()}
    first = sets.expand.projections[0]
    aggregates = _over(sets, first)
    states = _new_states(sets, ids)
    grouped = HashAggregate(child, tuple(keys.values()), aggregates, AggregateMode.PARTIAL, states)
    kept = _flat(states)
    projections = tuple(
        (*(columns.get(projection[place], projection[place]) for place in sets.places), *kept)
        for projection in sets.expand.projections
    )
    output = tuple(sets.expand.columns[place] for place in sets.places)
    return operators.Expand(grouped, (*output, *kept), projections), states


def _with_summary(
    sets: GroupingSets, summary: Values, plan: PhysicalPlan, unite: Unite, ids: FreshIds
) -> tuple[PhysicalPlan, States]:
    groups = tuple(summary.columns[place] for place in sets.places)
    rows = ValuesScan(summary.columns, summary.rows)
    empty = HashAggregate(rows, groups, _over(sets, summary.columns), AggregateMode.PARTIAL, _new_states(sets, ids))
    united = _new_states(sets, ids)
    columns = tuple(sets.columns[place] for place in sets.places)
    return unite((plan, empty), (*columns, *_flat(united))), united


def _over(sets: GroupingSets, values: Sequence[Expr]) -> tuple[Alias, ...]:
    """Return the aggregates over `values` instead of the columns that they read."""
    renamed = {column.column_id: value for column, value in zip(sets.columns, values, strict=True)}
    return tuple(replace(item, expr=_unfiltered(substitute(item.expr, renamed))) for item in sets.node.aggregates)


def _unfiltered(call: Expr) -> Expr:
    """Remove a filter that is always TRUE."""
    return replace(call, filter=None) if isinstance(call, AggregateCall) and call.filter == TRUE else call


def _new_states(sets: GroupingSets, ids: FreshIds) -> States:
    return tuple(new_states(item, ids) for item in sets.node.aggregates)


def _flat(states: States) -> tuple[ColumnRef, ...]:
    return tuple(column for state in states for column in state)
