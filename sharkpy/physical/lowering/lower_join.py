"""Lowering of joins and of generators.

DuckDB has the ordinary joins. NULL-aware anti joins and single joins, which SQL lacks, are composed of them. A
generator (LATERAL VIEW) is a join with lists unnested together, or with a series of integers counted without a list.
"""

from __future__ import annotations

from dataclasses import replace

from sharkpy.base.errors import InternalError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.physical.lowering.join_by_kernel import looked_up_rows
from sharkpy.physical.lowering.lower_expr import lower, lower_logical
from sharkpy.physical.lowering.select import Builder, Select
from sharkpy.physical.lowering.value import Scope, Value
from sharkpy.physical.operators import Generate, HashJoin, NestedLoopJoin, ValuesScan
from sharkpy.plan.expr import Call, Expr, Literal
from sharkpy.plan.logical import LEFT_ONLY_JOINS, JoinKind
from sharkpy.udf import registry
from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.table_functions import or_nulls
from sharkpy.values.types import INTEGER_TYPES

AnyJoin = HashJoin | NestedLoopJoin

_SQL = {
    JoinKind.INNER: "JOIN",
    JoinKind.CROSS: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "SEMI JOIN",
    JoinKind.ANTI: "ANTI JOIN",
    JoinKind.SINGLE: "LEFT JOIN",
}
_MOVES_LEFT_FILTERS = frozenset(JoinKind) - {JoinKind.RIGHT, JoinKind.FULL}
_MOVES_RIGHT_FILTERS = frozenset({JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT})
_LEFT_MAY_BE_NULL = (JoinKind.RIGHT, JoinKind.FULL)
_RIGHT_MAY_BE_NULL = (JoinKind.LEFT, JoinKind.FULL, JoinKind.SINGLE)
_TOO_MANY = "error('a scalar subquery gives more than one row [SQLSTATE 21000]')"


def lower_join(plan: AnyJoin, left: Select, right: Select, builder: Builder) -> Select:
    left = _side(left, plan.kind in _MOVES_LEFT_FILTERS, builder)
    right = _side(right, plan.kind in _MOVES_RIGHT_FILTERS, builder)
    if plan.kind is JoinKind.NULL_AWARE_ANTI:
        return _null_aware_anti(plan, left, right)
    if plan.kind is JoinKind.SINGLE and plan.checks_single:
        return _single(plan, left, right, builder)
    joined = _joined(plan, left, right, plan.kind)
    if builder.looks_up and isinstance(plan, HashJoin):
        joined = replace(joined, rows=looked_up_rows(plan, left, right))
    return joined


def _side(select: Select, moves_filters: bool, builder: Builder) -> Select:
    """Return a side with the columns of its source. Its filters move above the join only if they may."""
    plain = select.is_open and select.is_simple and (moves_filters or not select.where)
    return select if plain else builder.wrapped(select)


def _joined(plan: AnyJoin, left: Select, right: Select, kind: JoinKind) -> Select:
    scope = _merged(left, right)
    condition = _condition(plan, scope)
    source = f"{left.source}\n  {_SQL[kind]} {_operand(right)} ON {condition or 'true'}"
    without_match = _merged(_or_null(left, kind in _LEFT_MAY_BE_NULL), _or_null(right, kind in _RIGHT_MAY_BE_NULL))
    visible = left.scope if kind in LEFT_ONLY_JOINS else without_match
    return Select(source, visible, (*left.where, *right.where), is_join=True)


def _or_null(side: Select, may_be_null: bool) -> Select:
    """Keep one index for NULL in columns given as indexes into their values."""
    return side.with_scope({key: value.or_null() if may_be_null else value for key, value in side.scope.items()})


def _operand(select: Select) -> str:
    return f"({select.source})" if select.is_join else select.source


def _merged(left: Select, right: Select) -> dict[int, Value]:
    if shared := left.scope.keys() & right.scope.keys():
        raise InternalError(f"both sides of a join produce column #{min(shared)}")
    return {**left.scope, **right.scope}


def _condition(plan: AnyJoin, scope: Scope) -> str:
    terms = [
        _equality(lower(one, scope), lower(other, scope), null_safe)
        for one, other, null_safe in zip(plan.left_keys, plan.right_keys, plan.null_safe, strict=True)
    ]
    if plan.residual is not None:
        terms.append(lower_logical(plan.residual, scope))
    return " AND ".join(terms)


def _equality(left: Value, right: Value, null_safe: bool) -> str:
    sign = "IS NOT DISTINCT FROM" if null_safe else "="
    if left.values and left.values == right.values:
        return f"{left.sql if null_safe else left.null_or_index()} {sign} {right.sql}"
    same_unit = left.integer() and right.integer() and left.scale == right.scale
    one, other = (left.sql, right.sql) if same_unit else (left.logical(), right.logical())
    return f"{one} {sign} {other}"


def _null_aware_anti(plan: AnyJoin, left: Select, right: Select) -> Select:
    """Return rows for which the condition is FALSE on each right row: neither TRUE nor unknown on any."""
    if len(plan.left_keys) == 1 and plan.residual is None and not plan.null_safe[0]:
        probe = lower_logical(plan.left_keys[0], left.scope)
        item = lower_logical(plan.right_keys[0], right.scope)
        return left.filtered(f"{probe} NOT IN ({right.text([item])})")
    condition = _condition(plan, _merged(left, right)) or "true"
    source = f"{left.source}\n  ANTI JOIN {_operand(right)} ON ({condition}) IS NOT FALSE"
    return Select(source, left.scope, left.where, is_join=True)


def _single(plan: AnyJoin, left: Select, right: Select, builder: Builder) -> Select:
    """Return a left join that fails if a left row has several matches."""
    number = builder.name("matches")
    if plan.residual is None:
        keys = ", ".join(lower_logical(key, right.scope) for key in plan.right_keys)
        counted = builder.wrapped(right, [f"count(*) OVER ({f'PARTITION BY {keys}' if keys else ''}) AS {number}"])
        joined = _joined(plan, left, counted, JoinKind.SINGLE)
        return joined.filtered(f"CASE WHEN {number} > 1 THEN CAST({_TOO_MANY} AS BOOLEAN) ELSE true END")
    row = builder.name("row")
    numbered = builder.wrapped(left, [f"row_number() OVER () AS {row}"])
    joined = _joined(plan, numbered, right, JoinKind.SINGLE)
    counted = builder.wrapped(joined, [f"count(*) OVER (PARTITION BY {row}) AS {number}"])
    return counted.filtered(f"CASE WHEN {number} > 1 THEN CAST({_TOO_MANY} AS BOOLEAN) ELSE true END")


# Generators


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
