"""Lowering of a tree of operators without Exchanges to one query over its leaves.

An aggregation that occurs several times is computed once. The users' functions that the query calls are sent with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import replace

from sharkpy.base.errors import ResourceError, UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.optimizer.decisions import Decision
from sharkpy.physical import operators
from sharkpy.physical.aggregate_calls import aggregate_call, state_types
from sharkpy.physical.lowering.calls_over_scan import with_calls_over_scan
from sharkpy.physical.lowering.key_edges import key_edges
from sharkpy.physical.lowering.lower_aggregate import lower_aggregate, lower_window_operator
from sharkpy.physical.lowering.lower_expr import lower, lower_logical, order_by
from sharkpy.physical.lowering.lower_grouping_sets import lower_grouping_sets
from sharkpy.physical.lowering.lower_join import lower_generate, lower_join
from sharkpy.physical.lowering.lower_scan import coded_columns, lower_leaf, mark_first_rows
from sharkpy.physical.lowering.select import Builder, Select, united
from sharkpy.physical.lowering.value import Value
from sharkpy.physical.operators import StepOperator
from sharkpy.physical.plan import PhysicalPlan, column_name
from sharkpy.physical.plan_shape import plan_shape
from sharkpy.physical.stage_program import (
    BlockColumns,
    KernelColumns,
    KeyEdge,
    ResultSink,
    StageInput,
    StageProgram,
    StageSink,
    StepColumns,
)
from sharkpy.plan.expr import AggregateCall, Alias, Call, ColumnRef, Expr, Literal, SortKey, WindowCall, conjuncts
from sharkpy.plan.references import is_deep
from sharkpy.udf.duckdb_sql import lower_literal
from sharkpy.udf.user.function import MARK, FunctionUse, UserFunction, constant_values, find
from sharkpy.values.types import Schema

_FEW_STATES = 2
_MOST_LEVELS = 20
"""Depth up to which an expression is written inside another one."""
MOST_CALLS = 200_000


@dataclass(frozen=True, slots=True)
class LoweredFragment:
    """Fragment as `sql` over `inputs`, or "" as in StageProgram. `leaves` are scans and reads by relation name."""

    sql: str
    inputs: tuple[StageInput, ...]
    leaves: tuple[tuple[str, PhysicalPlan], ...]
    functions: tuple[FunctionUse, ...] = ()
    kernels: tuple[Decision, ...] = ()
    """Decisions between kernels and DuckDB."""
    edges: tuple[KeyEdge, ...] = ()
    keeps_order: bool = False
    otherwise: LoweredFragment | None = None
    """The same fragment without lookups, if it has any."""

    def program(self, output: Schema, sink: StageSink) -> StageProgram:
        otherwise = self.otherwise.program(output, sink) if self.otherwise is not None else None
        about = self.functions, self.edges, self.keeps_order
        return StageProgram(self.sql, self.inputs, output, sink, *about, otherwise)


_PASSED_ON = (
    *(operators.ExchangeRead, operators.BlockScan, operators.FileScan, operators.GivenScan),
    operators.StepOperator,
)
"""Operators whose rows need no query if nothing is computed."""


def lower_fragment(fragment: PhysicalPlan) -> LoweredFragment:
    """Lower the fragment, also without lookups if kernels look up rows of joins."""
    lowered = _lowered(fragment, looks_up=True)
    if not any(isinstance(one, KernelColumns) and one.lookups for one in lowered.inputs):
        return lowered
    return replace(lowered, otherwise=_lowered(fragment))


def _lowered(
    fragment: PhysicalPlan, relations: Iterator[int] | None = None, *, looks_up: bool = False
) -> LoweredFragment:
    shapes = shared_queries(fragment)
    builder = Builder(coded_columns(fragment), shapes, relations, looks_up=looks_up)
    select = _lower(fragment, builder)
    output = fragment.output
    is_input = isinstance(fragment, _PASSED_ON) and select.is_bare and not _is_read_by_query(fragment)
    logical = all(select.scope[column.column_id].integer_type is None for column in output)
    passes = is_input and logical and bool(output) and not builder.queries
    filtered = None if passes else _filtered_scan(select, output, builder)
    if filtered is not None:
        builder.inputs[0] = filtered
    sql = "" if passes or filtered is not None else builder.finished(select, output)
    _check_size(fragment, sql)
    functions = functions_used(fragment) if sql else ()
    edges, decisions = key_edges(fragment, builder.leaves, shapes)
    inputs, leaves = tuple(builder.inputs), tuple(builder.leaves)
    keeps_order = any(isinstance(node, operators.HashJoin) and node.multiplies for node in fragment.walk())
    return LoweredFragment(sql, inputs, leaves, functions, (*builder.kernels, *decisions), edges, keeps_order)


def _filtered_scan(select: Select, output: tuple[ColumnRef, ...], builder: Builder) -> BlockColumns | None:
    """Return the only input as one that is passed on, if the query only filters it, and kernels can do so."""
    spec = builder.inputs[0] if len(builder.inputs) == 1 else None
    if not isinstance(spec, BlockColumns) or spec.filter is None or spec.filter.texts or spec.keys or spec.called:
        return None
    is_filter = select.is_open and select.source == spec.relation and len(select.where) == len(spec.filter.conditions)
    if not is_filter or select.rows is None or not select.rows.are_many or not output:
        return None
    stored = {f'"{alias}"': (alias, field.dtype) for alias, field in zip(spec.aliases, spec.schema, strict=True)}
    values = [select.scope[column.column_id] for column in output]
    if not all(stored.get(value.sql, ("", None))[1] == value.dtype for value in values):
        return None
    passed = [(stored[value.sql][0], column_name(one.column_id)) for one, value in zip(output, values, strict=True)]
    return replace(spec, passed=tuple(passed))


def _is_read_by_query(fragment: PhysicalPlan) -> bool:
    """True for files that a query reads with more threads than the engine's own reader."""
    return isinstance(fragment, operators.FileScan) and fragment.is_plain


def _check_size(fragment: PhysicalPlan, sql: str) -> None:
    """Raise ResourceError 54000 for a query that DuckDB would plan for many seconds, without reacting to interrupts."""
    if sql.count("(") <= MOST_CALLS:
        return
    exprs = (expr for node in fragment.walk() for root in node.computations for expr in root.walk())
    if sum(not isinstance(expr, (ColumnRef, Literal)) for expr in exprs) > MOST_CALLS:
        message = f"the query computes more than {MOST_CALLS:,} expressions"
        raise ResourceError(message, hint="write it as several statements", sqlstate="54000")


def _lower(plan: PhysicalPlan, builder: Builder) -> Select:
    if not plan.children:
        return lower_leaf(plan, builder)
    handler = _OPERATORS.get(type(plan))
    if handler is None:
        raise UnsupportedError(f"{plan.label} cannot be carried out")
    shape = builder.shapes.get(id(plan))
    if shape is None:
        return handler(plan, builder)
    known = builder.shared.get(shape)
    if known is None:
        select = builder.kept(handler(plan, builder))
        builder.shared[shape] = (select, plan.output)
        return select
    select, columns = known
    renamed = {mine.column_id: select.scope[first.column_id] for mine, first in zip(plan.output, columns, strict=True)}
    return builder.wrapped(Select(select.source, renamed))


def _project(plan: operators.Project, builder: Builder) -> Select:
    select = builder.single_use(_computed(plan.items, _lower(plan.child, builder), builder), _uses(plan.items))
    projected = select.with_scope({_id(item): lower(item, select.scope) for item in plan.items})
    # An expression over it would be as deep as both together.
    return builder.wrapped(projected) if any(is_deep(item, _MOST_LEVELS) for item in plan.items) else projected


def _computed(exprs: tuple[Expr, ...], select: Select, builder: Builder) -> Select:
    """Return `select`, wrapped if `exprs` compute with its aggregates or windows, which TRY does not accept."""
    if select.group_by is None and not select.is_windowed:
        return select
    inner = (expr.expr if isinstance(expr, (Alias, SortKey)) else expr for expr in exprs)
    return select if all(isinstance(expr, ColumnRef) for expr in inner) else builder.wrapped(select)


def _uses(exprs: tuple[Expr, ...]) -> list[int]:
    return [node.column_id for expr in exprs for node in expr.walk() if isinstance(node, ColumnRef)]


def _id(item: Alias | ColumnRef) -> int:
    return item.column_id


def _filter(plan: operators.Filter, builder: Builder) -> Select:
    child = plan.child
    if isinstance(child, operators.WindowOperator) and id(child) not in builder.shapes:
        select = _window(child, builder, _first_numbers(plan.predicate, child))
    else:
        select = _lower(child, builder)
    costly = any(not select.scope[column].is_simple for column in _uses((plan.predicate,)) if column in select.scope)
    if not select.is_open or costly:
        select = builder.wrapped(select)
    return select.restricted(lower(plan.predicate, select.scope))


def _aggregate(plan: operators.HashAggregate, builder: Builder) -> Select:
    num_queries = len(builder.queries)
    select = builder.opened(_lower(plan.child, builder))
    plan, select = with_calls_over_scan(plan, select, builder)
    select = builder.single_use(select, _uses((*plan.groups, *plan.aggregates)))
    return lower_aggregate(*_with_arguments(plan, select, builder), builder, num_queries)


def _with_arguments(
    plan: operators.HashAggregate, select: Select, builder: Builder
) -> tuple[operators.HashAggregate, Select]:
    """Compute the arguments of aggregates with many states in an inner query, since each state's SQL has them."""
    if plan.mode not in (operators.AggregateMode.COMPLETE, operators.AggregateMode.PARTIAL):
        return plan, select
    bound: dict[Expr, ColumnRef] = {}
    aggregates = []
    for item in plan.aggregates:
        call = aggregate_call(item)
        if len(state_types(call)) > _FEW_STATES:
            for arg in call.args:
                if not isinstance(arg, (ColumnRef, Literal)):
                    bound.setdefault(arg, ColumnRef(builder.column_id(), "argument", arg.dtype))
            item = replace(item, expr=replace(call, args=tuple(bound.get(arg, arg) for arg in call.args)))
        aggregates.append(item)
    if not bound:
        return plan, select
    computed = {ref.column_id: lower(arg, select.scope) for arg, ref in bound.items()}
    inner = builder.wrapped(select.with_scope({**select.scope, **computed}))
    return replace(plan, aggregates=tuple(aggregates)), inner


def _join(plan: operators.HashJoin | operators.NestedLoopJoin, builder: Builder) -> Select:
    left, right = _lower(plan.left, builder), _lower(plan.right, builder)
    return lower_join(plan, left, right, builder)


def _window(plan: operators.WindowOperator, builder: Builder, most: int | None = None) -> Select:
    """Lower windows. If `most` is given, they number rows, and rows with a greater number are not needed."""
    select = builder.opened(_lower(plan.child, builder))
    call = plan.windows[0].expr
    if most is not None and isinstance(call, WindowCall):
        mark_first_rows(plan.child, call.order_by[0], most, select.scope, builder, call.partition_by)
    select = builder.single_use(select, [*select.scope, *_uses(plan.windows)])
    return lower_window_operator(plan, select)


def _first_numbers(predicate: Expr, plan: operators.WindowOperator) -> int | None:
    """Return the greatest number that the predicate lets a window give, if all windows number the same order."""
    calls = [item.expr for item in plan.windows if isinstance(item.expr, WindowCall)]
    places = {(call.partition_by, call.order_by) for call in calls}
    if len(places) > 1 or not all(call.function in _NUMBERS and call.order_by for call in calls):
        return None
    numbers = {item.column_id for item in plan.windows}
    bounds = [most for term in conjuncts(predicate) if (most := _most(term, numbers)) is not None]
    return min(bounds, default=None)


_NUMBERS = ("row_number", "rank")


def _most(term: Expr, columns: Collection[int]) -> int | None:
    """Return the greatest number of one of `columns` for which the term may be true."""
    match term:
        case Call("lt" | "le" | "eq" as function, (ColumnRef() as column, Literal(int() as number))):
            return number - (function == "lt") if column.column_id in columns else None
        case Call("gt" | "ge" | "eq" as function, (Literal(int() as number), ColumnRef() as column)):
            return number - (function == "gt") if column.column_id in columns else None
        case Call("between", (ColumnRef() as column, _, Literal(int() as number))):
            return number if column.column_id in columns else None
    return None


def _sort(plan: operators.SortOperator | operators.TopN, builder: Builder) -> Select:
    select = _computed(plan.keys, _lower(plan.child, builder), builder)
    if select.order_by or select.limit:
        select = builder.wrapped(select)
    ordered = replace(select, order_by=order_by(plan.keys, select.scope))
    if isinstance(plan, operators.TopN):
        mark_first_rows(plan.child, plan.keys[0], plan.count + plan.offset, select.scope, builder)
        return replace(ordered, limit=_limit_clause(plan.count, plan.offset))
    return ordered


def _limit(plan: operators.LimitOperator, builder: Builder) -> Select:
    select = _lower(plan.child, builder)
    if select.limit:
        select = builder.wrapped(select)
    return replace(select, limit=_limit_clause(plan.count, plan.offset))


def _limit_clause(count: int | None, offset: int) -> str:
    parts = [] if count is None else [f"LIMIT {count}"]
    return " ".join(parts + ([f"OFFSET {offset}"] if offset else []))


def _union(plan: operators.UnionAll, builder: Builder) -> Select:
    parts = []
    for child in plan.inputs:
        select = _lower(child, builder)
        items = [
            f"{select.scope[source.column_id].logical()} AS {_quoted(target)}"
            for source, target in zip(child.output, plan.columns, strict=True)
        ]
        text = select.text(items)
        parts.append(f"({text})" if select.order_by or select.limit else text)
    scope = {column.column_id: Value(_quoted(column), column.dtype) for column in plan.columns}
    return Select(builder.query(united(parts)), scope)


def _quoted(column: ColumnRef) -> str:
    return f'"{column_name(column.column_id)}"'


def _expand(plan: operators.Expand, builder: Builder) -> Select:
    """Return each row with the number of each set. A column is computed by the set's own expression."""
    select = builder.bare(_lower(plan.child, builder))
    number = builder.name("set")
    sets = ", ".join(f"({index})" for index in range(len(plan.projections)))
    scope = {}
    for position, column in enumerate(plan.columns):
        choices = [lower_logical(projection[position], select.scope) for projection in plan.projections]
        branches = " ".join(f"WHEN {index} THEN {choice}" for index, choice in enumerate(choices))
        shared = choices[0] if len(set(choices)) == 1 else f"CASE {number} {branches} END"
        scope[column.column_id] = Value(shared, column.dtype)
    source = f"{select.source} CROSS JOIN (VALUES {sets}) AS {number}_values({number})"
    return builder.wrapped(Select(source, scope, is_join=True))


def _grouping_sets(plan: operators.GroupingSets, builder: Builder) -> Select:
    groups, empty = _lower(plan.child, builder), [builder.opened(_lower(one, builder)) for one in plan.empty]
    return lower_grouping_sets(plan, groups, empty, builder)


def _generate(plan: operators.Generate, builder: Builder) -> Select:
    return lower_generate(plan, _lower(plan.child, builder), builder)


def _step(plan: operators.StepOperator, builder: Builder) -> Select:
    """Return the relation of a step, which is made from the rows of its own query."""
    below = _lowered(plan.child, builder.relations)
    program = below.program(plan.child.schema, ResultSink())
    builder.leaves += below.leaves
    builder.kernels += below.kernels
    relation = builder.relation()
    builder.add_input(StepColumns(relation, plan.step, program, len(plan.passed), plan.schema), plan)
    return Select(relation, {column.column_id: Value(_quoted(column), column.dtype) for column in plan.output})


_OPERATORS: dict[type[PhysicalPlan], Callable[..., Select]] = {
    operators.Project: _project,
    operators.Filter: _filter,
    operators.HashAggregate: _aggregate,
    operators.HashJoin: _join,
    operators.NestedLoopJoin: _join,
    operators.WindowOperator: _window,
    operators.SortOperator: _sort,
    operators.TopN: _sort,
    operators.LimitOperator: _limit,
    operators.UnionAll: _union,
    operators.Expand: _expand,
    operators.GroupingSets: _grouping_sets,
    operators.Generate: _generate,
    operators.StepOperator: _step,
}


# Aggregations that a fragment would compute several times


_SHARED = (operators.HashAggregate, operators.GroupingSets, operators.WindowOperator)


def shared_queries(fragment: PhysicalPlan) -> Mapping[int, Hashable]:
    """Return, by id(), the shapes of aggregates and windows that equal another one except for column numbers.

    Operators below a repeated one are computed with it and not examined again. Sharing pays because an aggregate has
    fewer rows than its input, and a window is sorted.
    """
    if sum(isinstance(node, _SHARED) for node in fragment.walk()) < 2:
        return {}
    places: dict[Hashable, list[int]] = {}
    _collect(fragment, places)
    return {place: shape for shape, found in places.items() if len(found) > 1 for place in found}


def _collect(plan: PhysicalPlan, places: dict[Hashable, list[int]]) -> None:
    if isinstance(plan, _SHARED) and (shape := plan_shape(plan)) is not None:
        places.setdefault(shape, []).append(id(plan))
        if len(places[shape]) > 1:
            return
    for child in plan.children:
        _collect(child, places)


# Users' functions that a fragment calls


def functions_used(fragment: PhysicalPlan) -> tuple[FunctionUse, ...]:
    """Return each function once, in order of first use, without those below a step, which has its own program."""
    return tuple(dict.fromkeys(_functions_of(fragment)))


def function_use(function: UserFunction, call: Call | AggregateCall | WindowCall) -> FunctionUse:
    texts = [lower_literal(arg.value, arg.dtype) if isinstance(arg, Literal) else "" for arg in call.args]
    if isinstance(call, AggregateCall) and call.form is not None:
        return FunctionUse(function, call.form.types, call.form.result)
    return FunctionUse(function, tuple(arg.dtype for arg in call.args), call.dtype, constant_values(texts))


def _functions_of(plan: PhysicalPlan) -> Iterator[FunctionUse]:
    for expr in plan.computations:
        for part in expr.walk():
            yield from _use(part)
    if not isinstance(plan, StepOperator):
        for child in plan.children:
            yield from _functions_of(child)


def _use(expr: Expr) -> Iterator[FunctionUse]:
    if not isinstance(expr, (Call, AggregateCall, WindowCall)):
        return
    key = expr.base if isinstance(expr, AggregateCall) else expr.function
    if MARK in key:
        function = find(key)
        if function is not None:
            yield function_use(function, expr)
