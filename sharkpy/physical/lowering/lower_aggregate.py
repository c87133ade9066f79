"""Lowering of aggregates and window functions, by the registry's rows or on integers.

Sums of scaled integers are converted to decimals once per group. Group keys of few values are packed into one small
integer, so that one key is hashed instead of several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.physical.aggregate_calls import (
    aggregate_call,
    aggregate_row,
    has_states,
    is_distinct,
    state_types,
    without_state_form,
)
from sharkpy.physical.column_bounds import ColumnRange
from sharkpy.physical.kernel_code import NULL_CODE, Code, code_of, codes_code, constant_code, real_code
from sharkpy.physical.lowering.aggregate_by_kernel import aggregate_by_kernel
from sharkpy.physical.lowering.lower_expr import lower, lower_logical, order_by
from sharkpy.physical.lowering.select import Builder, Select
from sharkpy.physical.lowering.value import HUGE, Scope, Value
from sharkpy.physical.operators import (
    AggregateMode,
    BlockScan,
    Filter,
    HashAggregate,
    HashJoin,
    Project,
    SortOperator,
    WindowOperator,
)
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import (
    AggregateCall,
    Alias,
    Cast,
    ColumnRef,
    FrameBound,
    FrameInterval,
    SortKey,
    WindowCall,
    WindowFrame,
)
from sharkpy.plan.logical import LEFT_ONLY_JOINS
from sharkpy.udf import registry
from sharkpy.udf.aggregate_states import FormKind
from sharkpy.udf.decimals import fits_small_sum
from sharkpy.udf.duckdb_sql import lower_literal
from sharkpy.udf.lower import lower_complete, lower_finish, lower_merges, lower_partials, lower_window
from sharkpy.values.types import BIGINT, DATE, DOUBLE, FLOAT, INTEGER_TYPES, DataType, DecimalType, is_nested


def lower_aggregate(plan: HashAggregate, select: Select, builder: Builder, num_queries: int) -> Select:
    """Lower groups and aggregates. Merged states are finished in an outer query over their columns.

    If a kernel makes the groups, it replaces the scan and the queries over it, after the first `num_queries`.
    """
    keys = {item.column_id: _group(lower(item, select.scope)) for item in plan.groups}
    if select.rows is not None and select.rows.are_many:
        # Each row of a kernel is of one row of its scan, also after lookups.
        lowering = _lowered(plan, select.scope, select.rows.most_rows, builder)
        made = aggregate_by_kernel(plan, select.rows, keys, lowering.values, lowering.columns, builder, num_queries)
        if made is not None:
            return made.with_scope({**made.scope, **lowering.finished})
    if select.rows is None or not select.rows.are_many or select.rows.lookups:
        lowering = _lowered(plan, select.scope, most_rows(plan.child), builder)
    columns = [f'{value.sql} AS "{name}"' for name, value in lowering.columns.items()]
    packed = pack_keys(keys)
    if packed is None:
        lowering.values.update(keys)
        group_by = [value.sql for value in keys.values()]
    else:
        name = builder.name("k")
        columns.append(f'{packed.sql} AS "{name}"')
        lowering.finished.update(packed.unpacked(f'"{name}"'))
        group_by = [packed.sql]
    grouped = replace(select, scope=lowering.values, group_by=tuple(group_by))
    if not lowering.finished:
        return grouped
    inner = builder.wrapped(grouped, columns)
    return inner.with_scope({**inner.scope, **lowering.finished})


def _lowered(plan: HashAggregate, scope: Scope, num_rows: int | None, builder: Builder) -> _Lowering:
    lowering = _Lowering(scope, num_rows, builder)
    for index, item in enumerate(plan.aggregates):
        lowering.add(plan.mode, item, plan.states[index] if plan.states else ())
    return lowering


def _group(value: Value) -> Value:
    """Return a group key; -0.0 and 0.0 are one key, written 0.0. A bare number would mean a position in the list."""
    if value.dtype in (FLOAT, DOUBLE) or (value.constant is not None and value.dtype in INTEGER_TYPES):
        return Value(f"({value.sql} + 0)", value.dtype, value.range)
    return value


def most_rows(plan: PhysicalPlan) -> int | None:
    """Return the largest possible number of rows of `plan`, or None if unknown."""
    match plan:
        case BlockScan():
            return plan.bounds.most_rows
        case Filter() | Project() | SortOperator():
            return most_rows(plan.child)
        case HashJoin(kind=kind) if kind in LEFT_ONLY_JOINS:
            return most_rows(plan.left)
    return None


class _Lowering:
    """Aggregates of one operator.

    `values` are the values of the grouped query, `columns` its further columns, and `finished` are computed over these.
    """

    def __init__(self, scope: Scope, num_rows: int | None, builder: Builder) -> None:
        self.values: dict[int, Value] = {}
        self.columns: dict[str, Value] = {}
        self.finished: dict[int, Value] = {}
        self._scope = scope
        self._num_rows = num_rows
        self._builder = builder

    def add(self, mode: AggregateMode, item: Alias, states: tuple[ColumnRef, ...]) -> None:
        call = aggregate_call(item)
        match mode:
            case AggregateMode.COMPLETE:
                self._complete(call, item.column_id)
            case AggregateMode.PARTIAL | AggregateMode.MERGE:
                is_partial = mode is AggregateMode.PARTIAL or is_distinct(call)
                values = self._states(call) if is_partial else self._merged(call, states)
                for state, value in zip(states, values, strict=True):
                    self.values[state.column_id] = value
            case AggregateMode.FINAL:
                self._finish(call, self._merged(call, states), item.column_id)

    def _complete(self, call: AggregateCall, column_id: int) -> None:
        if call.form is not None and call.form.kind is FormKind.STATE:
            self.values[column_id] = self._states(call)[call.form.part]
            return
        args, over = [lower(arg, self._scope) for arg in call.args], self._over(call)
        if call.form is not None and call.form.kind is FormKind.MERGE:
            self._finish(call, merged_states(call, args), column_id)
            return
        if not is_distinct(call):
            value = integer_complete(call, args, over, self._num_rows)
            if value is not None:
                self.values[column_id] = value
                return
            if has_states(call) and aggregate_row(call).finish != "{0}":
                self._finish(call, self._states(call), column_id)
                return
        sql = lower_complete(
            aggregate_row(call),
            [arg.logical() for arg in args],
            [arg.dtype for arg in call.args],
            call.dtype,
            distinct=is_distinct(call),
            over=over.sql,
        )
        code = _distinct_count(call, args) if is_distinct(call) else _row_count(call, over)
        codes = _real_codes(call, args, over)
        self.values[column_id] = Value(sql, call.dtype, code=codes[0] if len(codes) == 1 else code)

    def _states(self, call: AggregateCall) -> list[Value]:
        call = without_state_form(call)
        args = [lower(arg, self._scope) for arg in call.args]
        over, distinct = self._over(call), is_distinct(call)
        if not distinct and (values := integer_partials(call, args, over, self._num_rows)) is not None:
            return values
        row, types = aggregate_row(call), [arg.dtype for arg in call.args]
        logical = [arg.logical() for arg in args]
        texts = lower_partials(row, logical, types, call.dtype, distinct=distinct, over=over.sql)
        states = state_types(call)
        codes: Sequence[Code | None] = _real_codes(call, args, over)
        if len(codes) != len(states):
            codes = [_row_count(call, over)] * len(states)
        return [Value(text, dtype, code=code) for text, dtype, code in zip(texts, states, codes, strict=True)]

    def _merged(self, call: AggregateCall, states: tuple[ColumnRef, ...]) -> list[Value]:
        return merged_states(call, [self._scope[state.column_id] for state in states])

    def _finish(self, call: AggregateCall, states: list[Value], column_id: int) -> None:
        row = aggregate_row(call)
        if row.finish == "{0}":
            self.values[column_id] = replace(states[0], dtype=call.dtype)
            return
        named = []
        for state in states:
            name = self._builder.name("m")
            self.columns[name] = state
            named.append(state.renamed(name).logical())
        sql = lower_finish(row, named, [arg.dtype for arg in call.args], call.dtype)
        self.finished[column_id] = Value(sql, call.dtype)

    def _over(self, call: AggregateCall) -> Over:
        if call.filter is None:
            return Over()
        condition = lower(call.filter, self._scope)
        return Over(f" FILTER (WHERE {condition.logical()})", condition.code, is_all=False)


def merged_states(call: AggregateCall, states: Sequence[Value], most: int | None = None) -> list[Value]:
    """Return the merged states of an aggregate. Sums of integers stay integers.

    `most` limits how many of the sums together may be as large as their range; 1 for sums of parts of the same rows.
    """
    types = state_types(call)
    merged = lower_merges(aggregate_row(call), [state.logical() for state in states], types)
    values = [Value(sql, dtype) for sql, dtype in zip(merged, types, strict=True)]
    first = states[0]
    if call.base in ("sum", "avg") and first.integer_type is not None and isinstance(first.dtype, DecimalType):
        values[0] = _sum(first, types[0], Over(), most) or values[0]
    return values


def finished_aggregate(call: AggregateCall, states: Sequence[Value]) -> Value:
    """Return the result over merged states, which are columns."""
    first, row = states[0], aggregate_row(call)
    if row.finish == "{0}" or (call.base == "sum" and _has_room(first, call.dtype)):
        return replace(first, dtype=call.dtype)
    logical = [state.logical() for state in states]
    return Value(lower_finish(row, logical, [arg.dtype for arg in call.args], call.dtype), call.dtype)


def _has_room(total: Value, dtype: DataType) -> bool:
    """Whether a sum of integers needs no check for its result's type."""
    if total.range is None or total.integer_type is None:
        return False
    if isinstance(dtype, DecimalType):
        return dtype.scale == total.scale and total.range.magnitude < 10**dtype.precision
    return dtype == BIGINT and total.scale == 0 and total.range.sql_type is not None


@dataclass(frozen=True, slots=True)
class Over:
    """Rows over which an aggregate is: all, or those for which `condition` is true; `sql` is the clause."""

    sql: str = ""
    condition: Code | None = None
    is_all: bool = True

    def code(self, function: str, arg: Code | None) -> Code | None:
        """Return the code of an aggregate."""
        if not self.is_all:
            arg = code_of("choose", self.condition, arg, NULL_CODE)
        return code_of(function, arg)


_EACH_ROW = constant_code(1)


def _row_count(call: AggregateCall, over: Over) -> Code | None:
    """Return the code of count(*), or None for another aggregate."""
    return over.code("count", _EACH_ROW) if call.function == "count" and not call.args else None


def _real_codes(call: AggregateCall, args: Sequence[Value], over: Over) -> list[Code | None]:
    """Return the codes of the states of an aggregate over a column of DOUBLE, as far as there are any."""
    if is_distinct(call) or len(args) != 1 or args[0].dtype != DOUBLE or not args[0].is_simple:
        return []
    real = real_code(args[0].sql.strip('"')) if args[0].constant is None and args[0].integer_type is None else None
    functions = {"sum": ("sum_real",), "avg": ("sum_real", "count"), "count": ("count",)}.get(call.function, ())
    return [over.code(function, real) for function in functions]


def _distinct_count(call: AggregateCall, args: Sequence[Value]) -> Code | None:
    """Return the code of count(DISTINCT column), or None for another aggregate."""
    if call.function != "count" or call.filter is not None or len(args) != 1 or not isinstance(call.args[0], ColumnRef):
        return None
    is_plain = args[0].is_simple and not args[0].values and call.args[0].dtype not in (FLOAT, DOUBLE)
    is_plain = is_plain and not is_nested(call.args[0].dtype)
    return Code("distinct", (codes_code(args[0].sql.strip('"')),)) if is_plain else None


# Aggregates over integer forms


_MOST_ROWS = 10**12
"""Assumed limit on a task's rows if their number is unknown."""


def integer_complete(call: AggregateCall, args: list[Value], over: Over, num_rows: int | None) -> Value | None:
    """Return the aggregate over an integer form, or None if it has none. `num_rows` bounds the input's rows."""
    arg = args[0].integer() if len(args) == 1 and args[0].constant is None else None
    if arg is None or arg.range is None:
        return None
    match call.function:
        case "min" | "max" if args[0].integer_type is not None:
            code = over.code(call.function, arg.code)
            return Value(f"{call.function}({arg.sql}){over.sql}", call.dtype, arg.range, arg.integer_type, code=code)
        case "count":
            return Value(f"count({arg.sql}){over.sql}", call.dtype, code=over.code("count", arg.code))
        case "sum":
            return _sum(arg, call.dtype, over, num_rows)
    return None


def integer_partials(call: AggregateCall, args: list[Value], over: Over, num_rows: int | None) -> list[Value] | None:
    """Return the aggregate's state columns over an integer form, or None."""
    arg = args[0].integer() if len(args) == 1 and args[0].constant is None else None
    if call.function == "avg":
        return None if arg is None else _average_states(call, arg, over, num_rows)
    types = state_types(call)
    if call.function == "sum":
        total = None if arg is None else _sum(arg, types[0], over, num_rows)
        return None if total is None else _with_no_large_parts([total], types)
    value = integer_complete(call, args, over, num_rows)
    return [value] if value is not None and list(types) == [value.dtype] else None


def _average_states(call: AggregateCall, arg: Value, over: Over, num_rows: int | None) -> list[Value] | None:
    types = list(state_types(call))
    if arg.range is None:
        return None
    count = Value(f"count({arg.sql}){over.sql}", types[-1], code=over.code("count", arg.code))
    if isinstance(types[0], DecimalType):
        total = _sum(arg, types[0], over, num_rows)
        return None if total is None else _with_no_large_parts([total, count], types)
    if types[0] == DOUBLE and arg.scale == 0:
        known = _times(arg.range, num_rows or _MOST_ROWS)
        sql, code = _sum_sql(arg.sql, arg.range, over, num_rows), _sum_code(arg, over, num_rows)
        return [Value(sql, DOUBLE, known, HUGE, code=code), count]
    return None


def _with_no_large_parts(values: list[Value], types: Sequence[DataType]) -> list[Value] | None:
    """Return the states of a sum and others, with NULL in the states for large values of wide DECIMALs.

    Return None if the sum may need the states for large values.
    """
    missing = types[1 : 1 + len(types) - len(values)]
    total = values[0].range
    if missing and (total is None or not fits_small_sum(total.magnitude)):
        return None
    return [values[0], *(Value(lower_literal(None, dtype), dtype) for dtype in missing), *values[1:]]


def _sum(arg: Value, dtype: DataType, over: Over, num_rows: int | None) -> Value | None:
    if arg.range is None:
        return None
    total = _times(arg.range, num_rows or _MOST_ROWS)
    sql, code = _sum_sql(arg.sql, arg.range, over, num_rows), _sum_code(arg, over, num_rows)
    if isinstance(dtype, DecimalType):
        fits = dtype.scale == arg.scale and len(str(total.magnitude)) + dtype.scale <= 38
        return Value(sql, dtype, total, HUGE, code=code) if fits else None
    if dtype in INTEGER_TYPES and num_rows is not None and total.sql_type is not None:
        return Value(sql, dtype, total, HUGE, code=code)
    return None


def _sum_code(arg: Value, over: Over, num_rows: int | None) -> Code | None:
    """Return the code of a sum that fits 64 bits, or None."""
    fits = arg.range is not None and num_rows is not None and _times(arg.range, num_rows).sql_type is not None
    return over.code("sum", arg.code) if fits else None


def _sum_sql(sql: str, known: ColumnRange, over: Over, num_rows: int | None) -> str:
    """Return the SQL of a sum, without overflow checks if the sum of all rows fits 64 bits."""
    unchecked = num_rows is not None and _times(known, num_rows).sql_type is not None
    return f"{'sum_no_overflow' if unchecked else 'sum'}({sql}){over.sql}"


def _times(known: ColumnRange, num_rows: int) -> ColumnRange:
    return ColumnRange(min(known.low, 0) * num_rows, max(known.high, 0) * num_rows)


# Group keys packed into one integer


_MOST_KEYS = 1 << 15


@dataclass(frozen=True, slots=True)
class PackedKeys:
    """Keys packed into a SMALLINT `sql`: the sum of each key's index times its stride."""

    sql: str
    keys: tuple[tuple[int, Value, int], ...]
    """Column id, value and stride of each key."""

    def unpacked(self, name: str) -> dict[int, Value]:
        """Return the keys by column id, over the packed column `name`."""
        return {
            column_id: Value(
                f"({name} // {stride} % {len(key.values)})", key.dtype, key.range, "SMALLINT", None, key.values
            )
            for column_id, key, stride in self.keys
        }


def pack_keys(keys: Mapping[int, Value]) -> PackedKeys | None:
    """Return the packed keys; None for a single key, one that is not an index, or too many values."""
    if len(keys) < 2 or not all(key.values for key in keys.values()):
        return None
    terms, packed, stride = [], [], 1
    for column_id, key in keys.items():
        terms.append(f"CAST({key.sql} AS SMALLINT)" + (f" * CAST({stride} AS SMALLINT)" if stride > 1 else ""))
        packed.append((column_id, key, stride))
        stride *= len(key.values)
    if stride > _MOST_KEYS:
        return None
    return PackedKeys(f"({' + '.join(terms)})", tuple(packed))


# Window functions


_ROOMY = DecimalType(20, 0)


def lower_window_operator(plan: WindowOperator, select: Select) -> Select:
    scope = dict(select.scope)
    for item in plan.windows:
        if not isinstance(item.expr, WindowCall):
            raise UnsupportedError(f"{item} is not a window function")
        scope[item.column_id] = _window(item.expr, select.scope)
    return replace(select, scope=scope, is_windowed=True)


def _window(call: WindowCall, scope: Scope) -> Value:
    args = [lower_logical(arg, scope) for arg in call.args]
    types = [arg.dtype for arg in call.args]
    window = registry.window(call.function)
    if window is not None:
        over = _over(call, scope, with_frame=window.takes_frame)
        nulls = " IGNORE NULLS" if call.ignore_nulls else ""
        return Value(lower_window(window, args, types, call.dtype, over=over, nulls=nulls), call.dtype)
    aggregate = registry.aggregate_of(call.function, types)
    if aggregate is None:
        raise UnsupportedError(f"window function {call.function} cannot be computed")
    over = _over(call, scope, with_frame=True)
    return Value(lower_complete(aggregate, args, types, call.dtype, distinct=call.distinct, over=over), call.dtype)


def _over(call: WindowCall, scope: Scope, *, with_frame: bool) -> str:
    parts = []
    if call.partition_by:
        # As for groups, equal values have equal integer forms and indexes.
        parts.append("PARTITION BY " + ", ".join(_group(lower(expr, scope)).sql for expr in call.partition_by))
    if call.order_by:
        has_distance = with_frame and call.frame is not None and call.frame.has_distance
        keys = _with_room(call.order_by) if has_distance else call.order_by
        parts.append("ORDER BY " + order_by(keys, scope, is_added_to=has_distance))
    if call.frame is not None and with_frame:
        parts.append(_frame(call.frame, call.order_by[0].dtype if call.order_by else None))
    return f" OVER ({' '.join(parts)})"


def _with_room(keys: tuple[SortKey, ...]) -> tuple[SortKey, ...]:
    """Widen the keys so that the frame's distances can be added. An integer near its type's limit has no room."""
    return tuple(replace(key, expr=Cast(key.expr, _ROOMY)) if key.dtype in INTEGER_TYPES else key for key in keys)


def _frame(frame: WindowFrame, key: DataType | None) -> str:
    in_days = frame.unit == "RANGE" and key == DATE
    start, end = _bound(frame.start, "PRECEDING", in_days), _bound(frame.end, "FOLLOWING", in_days)
    return f"{frame.unit} BETWEEN {start} AND {end}"


def _bound(offset: FrameBound, unbounded: str, in_days: bool) -> str:
    if offset is None:
        return f"UNBOUNDED {unbounded}"
    if offset == 0:
        return "CURRENT ROW"
    size = f"INTERVAL {abs(offset)} DAY" if in_days and not isinstance(offset, FrameInterval) else str(abs(offset))
    return f"{size} {'PRECEDING' if offset < 0 else 'FOLLOWING'}"
