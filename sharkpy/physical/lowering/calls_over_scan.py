"""Users' functions of columns, below an aggregation of a whole scan: the task computes them before DuckDB's query.

It passes them many rows at once, while DuckDB would pass 2,048. Functions of single rows stay in the query, and so do
calls that it may not make for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sharkpy.physical.lowering.select import Builder, Select
from sharkpy.physical.lowering.value import Scope, Value
from sharkpy.physical.operators import AggregateMode, BlockScan, HashAggregate
from sharkpy.physical.stage_program import BlockColumns, CalledFunction
from sharkpy.plan.expr import AggregateCall, Alias, Call, Cast, ColumnRef, Expr
from sharkpy.udf.user.function import FunctionUse, find
from sharkpy.udf.user.scalar import PythonScalar
from sharkpy.values.types import BIGINT, DOUBLE, INTEGER_TYPES

_FROM_ROWS = (AggregateMode.COMPLETE, AggregateMode.PARTIAL)


def with_calls_over_scan(plan: HashAggregate, select: Select, builder: Builder) -> tuple[HashAggregate, Select]:
    """Return the aggregation of `select` over columns that the task adds to its scan for the calls in `plan`."""
    scan = plan.child
    is_whole = isinstance(scan, BlockScan) and scan.predicate is None and scan.sample is None and not scan.keys
    if not is_whole or plan.mode not in _FROM_ROWS or not select.is_open or select.where:
        return plan, select
    found: dict[Call, CalledFunction] = {}
    for call in _calls(plan):
        if call not in found and (called := _called(call, select.scope, builder)) is not None:
            found[call] = called
    if not found:
        return plan, select
    place = builder.place(select.source)
    spec = builder.inputs[place]
    assert isinstance(spec, BlockColumns)
    builder.inputs[place] = replace(spec, called=tuple(found.values()))
    refs = {call: ColumnRef(builder.column_id(), called.alias, call.dtype) for call, called in found.items()}
    scope = {refs[call].column_id: Value(f'"{called.alias}"', call.dtype) for call, called in found.items()}
    # A kernel would read the scan without these columns.
    return _replaced(plan, lambda expr: refs.get(expr, expr) if isinstance(expr, Call) else expr), replace(
        select, scope={**select.scope, **scope}, rows=None
    )


def _calls(plan: HashAggregate) -> Iterator[Call]:
    """Yield the calls that are made for each row: group keys, and arguments of aggregates without a filter."""
    for item in (*plan.groups, *plan.aggregates):
        expr = item.expr if isinstance(item, Alias) else item
        exprs = expr.args if isinstance(expr, AggregateCall) and expr.filter is None else (expr,)
        yield from (one for one in exprs if isinstance(one, Call))


def _replaced(plan: HashAggregate, change: Callable[[Expr], Expr]) -> HashAggregate:
    def item(known: Alias) -> Alias:
        expr = known.expr
        if isinstance(expr, AggregateCall) and expr.filter is None:
            return replace(known, expr=replace(expr, args=tuple(map(change, expr.args))))
        return replace(known, expr=change(expr))

    groups = tuple(item(one) if isinstance(one, Alias) else one for one in plan.groups)
    return replace(plan, groups=groups, aggregates=tuple(map(item, plan.aggregates)))


def _called(call: Call, scope: Scope, builder: Builder) -> CalledFunction | None:
    """Return the call over columns of the scan, or None if the query has to make it."""
    function = find(call.function)
    if not isinstance(function, PythonScalar) or function.form == "row" or not function.is_deterministic:
        return None
    args = [_column(arg, scope) for arg in call.args]
    names = tuple(name for name in args if name is not None)
    if not names or len(names) < len(args):
        return None
    use = FunctionUse(function, tuple(arg.dtype for arg in call.args), call.dtype)
    return CalledFunction(builder.name("call"), use, names)


def _column(arg: Expr, scope: Scope) -> str | None:
    """Return the name of the scanned column whose values, cast, are the argument; None if there is no such column."""
    column = arg.expr if isinstance(arg, Cast) and arg.dtype in (BIGINT, DOUBLE) else arg
    if not isinstance(column, ColumnRef) or column.column_id not in scope:
        return None
    value, is_integer = scope[column.column_id], column.dtype in INTEGER_TYPES
    has_values = value.is_simple and not value.values and (value.integer_type is None or is_integer)
    return value.sql.strip('"') if has_values and (column is arg or is_integer) else None
