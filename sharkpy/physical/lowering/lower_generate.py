"""Lowering of generators: lists unnested together, or a series of integers counted without a list."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.base.errors import UnsupportedError
from sharkpy.physical.lowering.lower_expr import lower_logical
from sharkpy.physical.lowering.select import Builder, Select
from sharkpy.physical.lowering.value import Value
from sharkpy.physical.operators import Generate, ValuesScan
from sharkpy.plan.expr import Call, Expr, Literal
from sharkpy.udf import registry
from sharkpy.udf.table_functions import or_nulls
from sharkpy.udf.types_duckdb import duckdb_type
from sharkpy.values.types import INTEGER_TYPES


def lower_generate(plan: Generate, child: Select, builder: Builder) -> Select:
    series = _series(plan)
    select, items = _unnested(plan, child, builder) if series is None else _counted(series, child, builder)
    columns = {
        column.column_id: Value(f"CAST({item} AS {duckdb_type(column.dtype)})", column.dtype)
        for column, item in zip(plan.columns, items, strict=True)
    }
    return select.with_scope({**select.scope, **columns})


def _unnested(plan: Generate, child: Select, builder: Builder) -> tuple[Select, list[str]]:
    row, types = registry.table_function(plan.generator.function), [arg.dtype for arg in plan.generator.args]
    if row is None or row.lists is None:
        raise UnsupportedError(f"table function {plan.generator.function} cannot be computed")
    select = builder.opened(child)
    args, computed = [], []
    for arg in plan.generator.args:
        sql = lower_logical(arg, select.scope)
        args.append(sql if isinstance(arg, Literal) else builder.name("arg"))
        if not isinstance(arg, Literal):
            computed.append(f"{sql} AS {args[-1]}")
    lists = row.lists(args, types)
    items = [builder.name("item") for _ in lists]
    unnests = zip(or_nulls(lists) if plan.outer else lists, items, strict=True)
    with_args = builder.wrapped(select, computed)
    return builder.wrapped(with_args, [f"unnest({one}) AS {item}" for one, item in unnests]), items


@dataclass(frozen=True, slots=True)
class _Series:
    """Series of integers from `first` to `end`, which may be included, with their positions if needed."""

    first: int
    end: int
    step: int
    is_closed: bool
    has_places: bool = False


def _counted(series: _Series, child: Select, builder: Builder) -> tuple[Select, list[str]]:
    """Return the integers on demand: a long series takes no memory, and ends with its statement."""
    name = builder.name("series")
    function = "generate_series" if series.is_closed else "range"
    source = f"{function}({series.first}, {series.end}, {series.step}) AS {name}_rows({name})"
    select = builder.bare(child)
    crossed = Select(f"{select.source} CROSS JOIN {source}", select.scope, is_join=True)
    places = [f"({name} - {series.first}) // {series.step}"] if series.has_places else []
    return crossed, [*places, name]


def _series(plan: Generate) -> _Series | None:
    """Return the constant series made from a single row, or None. Its list would be computed during planning."""
    if plan.outer or not isinstance(plan.child, ValuesScan) or len(plan.child.rows) != 1:
        return None
    match plan.generator:
        case Call("range", args):
            numbers = _integers(args[:3])
            if not numbers:
                return None
            first, end, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
            return _Series(first, end, step, False) if step else None
        case Call("explode" | "posexplode" as function, (Call("sequence", args),)):
            numbers = _integers(args)
            if not numbers:
                return None
            first, end, step = (*numbers, 1 if numbers[0] <= numbers[1] else -1)[:3]
            leads = step != 0 and (end - first) * step >= 0 and abs(end - first) < 2**63
            return _Series(first, end, step, True, function == "posexplode") if leads else None
    return None


def _integers(args: tuple[Expr, ...]) -> tuple[int, ...]:
    """Return the values of integer literals; empty if an argument is anything else."""
    values = tuple(
        arg.value
        for arg in args
        if isinstance(arg, Literal) and arg.dtype in INTEGER_TYPES and isinstance(arg.value, int)
    )
    return values if len(values) == len(args) else ()
