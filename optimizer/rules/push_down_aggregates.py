"""Aggregate below joins, by the columns that joins and groups use, and merge the states above.

Fewer rows are then joined, and the rows are grouped by keys of a fact table, not by long columns of a dimension. See
Yan and Larson, "Eager Aggregation and Lazy Aggregation", VLDB 1995.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context, references
from sharkpy.optimizer.estimate import estimate_rows, group_rows
from sharkpy.plan.expr import AggregateCall, Alias, ColumnRef, Expr, conjuncts
from sharkpy.plan.logical import LEFT_ONLY_JOINS, Aggregate, Join, JoinKind, LogicalPlan, Project
from sharkpy.udf import registry
from sharkpy.udf.aggregate_states import AggregateForm, FormKind, state_types
from sharkpy.values.types import DOUBLE, FLOAT, is_nested, is_string

_FUNCTIONS = frozenset({"avg", "count", "max", "min", "sum"})
"""Aggregates whose states are as small as their results."""
_LEAST_ROWS = 10_000
"""Rows below which a second aggregation costs more than it saves."""
_ROWS_OF_A_GROUP = 2
"""Average rows per group of the lower aggregation from which it pays."""
_LEAST_GAIN = 1.5
"""Factor by which the estimated cost has to become smaller."""
_ROW_COST, _KEY_COST, _STRING_COST = 2.0, 1.0, 3.0
"""Costs of adding a row to a group, and of each of its keys, relative to a lookup in a join."""
_LEFT_SIDE = (*LEFT_ONLY_JOINS, JoinKind.LEFT)
_BOTH_SIDES = (JoinKind.INNER, JoinKind.CROSS)


def push_down_aggregates(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Divide each aggregation over joins in two, if the lower one is estimated to leave far fewer rows."""
    return plan.transform_up(lambda node: _divided(node, context) if isinstance(node, Aggregate) else node)


@dataclass(frozen=True, slots=True)
class _Place:
    """Input of a join that may be aggregated by `keys`, and the cost of the query then."""

    input: LogicalPlan
    keys: tuple[ColumnRef, ...]
    cost: float


def _divided(node: Aggregate, context: Context) -> Aggregate:
    if not isinstance(_without_projects(node.child), Join) or not all(map(_is_divisible, node.aggregates)):
        return node
    if not all(context.is_deterministic(expr) for expr in node.expressions):
        return node
    path = list(_path(node, context))
    cost = _grouping_cost(node.groups) * estimate_rows(node.child, context)
    cost += sum(estimate_rows(place, context) for place, _ in path)
    places = [place for place in _places(node, path, cost, context) if place.cost * _LEAST_GAIN <= cost]
    return _over_states(node, min(places, key=lambda place: place.cost), context) if places else node


def _is_divisible(item: Alias) -> bool:
    call = item.expr
    return isinstance(call, AggregateCall) and call.function in _FUNCTIONS and not call.distinct


def _grouping_cost(keys: Iterable[Expr]) -> float:
    return _ROW_COST + sum(_STRING_COST if is_string(key.dtype) else _KEY_COST for key in keys)


def _path(node: Aggregate, context: Context) -> Iterator[tuple[LogicalPlan, Expr | None]]:
    """Yield the joins' inputs that have all columns of the aggregates, and the joins' conditions, from the top down."""
    used = frozenset(references(node.aggregates))
    plan = _without_projects(node.child)
    while isinstance(plan, Join) and (plan.condition is None or context.is_deterministic(plan.condition)):
        sides = [plan.left] if plan.kind in _LEFT_SIDE else [plan.left, plan.right] if plan.kind in _BOTH_SIDES else []
        sides = [side for side in sides if used <= context.output_ids(side)]
        if not sides:
            return
        side = _without_projects(max(sides, key=lambda side: estimate_rows(side, context)))
        yield side, plan.condition
        plan = side


def _places(
    node: Aggregate, path: list[tuple[LogicalPlan, Expr | None]], cost: float, context: Context
) -> Iterator[_Place]:
    needed = references(node.groups)
    most, below = cost, cost - _grouping_cost(node.groups) * estimate_rows(node.child, context)
    for place, condition in path:
        needed.update(references(conjuncts(condition)))
        rows = estimate_rows(place, context)
        below -= rows
        ids = context.output_ids(place)
        keys = tuple(column for column_id, column in needed.items() if column_id in ids)
        groups = group_rows(keys, place, context)
        # Without keys, there would be a group even of no rows.
        if keys and rows >= _LEAST_ROWS and groups * _ROWS_OF_A_GROUP <= rows and all(map(_is_exact, keys)):
            above = (most - below) * groups / rows
            yield _Place(place, keys, below + _grouping_cost(keys) * rows + above)


def _is_exact(key: ColumnRef) -> bool:
    """Whether equal values of the key are the same value for each expression; -0.0 and 0.0 are not."""
    return not is_nested(key.dtype) and key.dtype not in (FLOAT, DOUBLE)


def _over_states(node: Aggregate, place: _Place, context: Context) -> Aggregate:
    states: list[Alias] = []
    merged: list[Alias] = []
    for item, call in ((item, item.expr) for item in node.aggregates if isinstance(item.expr, AggregateCall)):
        own = [Alias(state, context.fresh_id(), item.name) for state in _state_calls(call)]
        states += own
        merged.append(replace(item, expr=_merge_call(call, [state.ref for state in own])))
    made = Aggregate(place.input, place.keys, tuple(states))
    return Aggregate(_with_input(node.child, place.input, made), node.groups, tuple(merged))


def _state_calls(call: AggregateCall) -> Iterator[AggregateCall]:
    types = tuple(arg.dtype for arg in call.args)
    row = registry.aggregate_of(call.function, types)
    assert row is not None
    for part, dtype in enumerate(state_types(row, types, call.dtype)):
        form = AggregateForm(FormKind.STATE, call.function, types, call.dtype, part)
        yield replace(call, function=form.name, dtype=dtype, form=form)


def _merge_call(call: AggregateCall, states: list[ColumnRef]) -> AggregateCall:
    form = AggregateForm(FormKind.MERGE, call.function, tuple(arg.dtype for arg in call.args), call.dtype)
    return AggregateCall(form.name, tuple(states), call.dtype, form=form)


def _with_input(plan: LogicalPlan, old: LogicalPlan, new: LogicalPlan) -> LogicalPlan:
    """Replace an input of the joins in `plan`. Projections to columns, which would lack the new ones, are removed."""
    plan = _without_projects(plan)
    if plan is old:
        return new
    return plan.map_children(lambda child: _with_input(child, old, new)) if isinstance(plan, Join) else plan


def _without_projects(plan: LogicalPlan) -> LogicalPlan:
    """Return the plan below projections to columns of their own."""
    while isinstance(plan, Project) and all(isinstance(item, ColumnRef) for item in plan.items):
        plan = plan.child
    return plan
