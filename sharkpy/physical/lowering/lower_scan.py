"""Lowering of leaves: a task's inputs as relations.

String columns that only group rows are read as indexes into their few values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sharkpy.base.errors import UnsupportedError
from sharkpy.physical.column_bounds import ColumnRange
from sharkpy.physical.kernel_code import LOWEST, Code, column_code, real_code
from sharkpy.physical.lowering.aggregate_by_kernel import integer_key
from sharkpy.physical.lowering.lower_expr import lower, lower_logical
from sharkpy.physical.lowering.select import Builder, KernelRows, Select
from sharkpy.physical.lowering.value import Scope, Value
from sharkpy.physical.operators import (
    AggregateMode,
    BlockScan,
    ExchangeRead,
    FileScan,
    Filter,
    GivenScan,
    HashAggregate,
    HashJoin,
    NestedLoopJoin,
    Project,
    ValuesScan,
)
from sharkpy.physical.plan import BroadcastPartitioning, PhysicalPlan, column_name
from sharkpy.physical.stage_program import (
    BlockColumns,
    BroadcastColumns,
    ExchangeColumns,
    FileColumns,
    FirstRows,
    GivenColumns,
    RowFilter,
    StageInput,
)
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, SortKey, conjuncts
from sharkpy.plan.logical import JoinKind
from sharkpy.udf import registry
from sharkpy.udf.duckdb_sql import duckdb_type
from sharkpy.udf.user.function import MARK
from sharkpy.values.types import BOOLEAN, DATE, DOUBLE, INTEGER_TYPES, TIMESTAMP, DataType, DecimalType

_MAX_SCALE = 18


def lower_leaf(plan: PhysicalPlan, builder: Builder) -> Select:
    match plan:
        case BlockScan():
            return _blocks(plan, builder)
        case FileScan():
            return _files(plan, builder)
        case ValuesScan():
            return _values(plan, builder)
        case ExchangeRead():
            return _exchange(plan, builder)
        case GivenScan():
            return _given(plan, builder)
    raise UnsupportedError(f"{plan.label} cannot be read")


def _blocks(plan: BlockScan, builder: Builder) -> Select:
    relation = builder.relation()
    aliases = tuple(column_name(column.column_id) for column in plan.columns)
    schema = plan.table_schema.select(plan.names)
    ranges = dict(plan.bounds.ranges)
    strings = {name: (*values, None) for name, values in plan.bounds.distinct}
    scope = {
        column.column_id: _coded(alias, column.dtype, strings[name])
        if column.column_id in builder.coded
        else _stored(alias, column.dtype, ranges.get(name))
        for column, alias, name in zip(plan.columns, aliases, plan.names, strict=True)
    }
    forms = tuple(scope[column.column_id].integer_type or "" for column in plan.columns)
    values = tuple(scope[column.column_id].values for column in plan.columns)
    stage_input = BlockColumns(
        relation,
        plan.names,
        aliases,
        schema,
        forms if any(forms) else (),
        values if any(values) else (),
        plan.keys,
        plan.sample,
    )
    terms = [(term, lower(term, scope)) for term in conjuncts(plan.predicate)]
    if is_read_by_kernels(plan):
        least = 0 if plan.kernels == "always" else _REDUCED_ABOVE
        stage_input = replace(stage_input, filter=_filter(terms, aliases, plan.names, forms), reduced_above=least)
    builder.add_input(stage_input, plan)
    many_rows = plan.kernels == "always" or (plan.bounds.most_rows or 0) >= _LEAST_KERNEL_ROWS
    rows = None
    if is_read_by_kernels(plan):
        known = dict(plan.distinct)
        distinct = {alias: known.get(name, 0) for alias, name in zip(aliases, plan.names, strict=True)}
        most = None if plan.kernels == "always" else min(_MOST_PARTIAL, (plan.bounds.most_rows or 0) // 4)
        rows = KernelRows(
            stage_input, distinct=distinct, most_partial=most, most_rows=plan.bounds.most_rows, are_many=many_rows
        )
    select = Select(relation, scope, rows=rows)
    for _, value in terms:
        select = select.restricted(value)
    if rows is not None and all(value.code is not None or _is_constant(term) for term, value in terms):
        # The task applies terms without a code before the kernel.
        codes = tuple(value.code for _, value in terms if value.code is not None)
        select = replace(select, rows=replace(rows, conditions=codes))
    return select


_MOST_PARTIAL = 1 << 16
"""Largest expected number of partial groups of a kernel. Each has its place, and a block has far more rows."""
_LEAST_KERNEL_ROWS = 1 << 16
"""Rows below which a kernel saves less than a millisecond."""
_REDUCED_ABOVE = 10_000
"""Number of rows up to which it saves no time to leave out rows that are not needed."""
_MOST_FIRST = 1 << 22
"""Largest number of places in the heaps of all groups: 32 MB a thread."""
_ALIAS = re.compile("'[^']*'|\"([^\"]*)\"")


def is_read_by_kernels(scan: BlockScan) -> bool:
    return (scan.kernels == "always" or (scan.kernels == "driver" and scan.is_single)) and scan.sample is None


def may_be_reduced(scan: BlockScan) -> bool:
    """Whether a task may leave out rows that are not needed, by the largest number of rows."""
    return scan.kernels == "always" or (scan.bounds.most_rows or 0) > _REDUCED_ABOVE


def has_code(scan: BlockScan, column: ColumnRef) -> bool:
    """Whether kernels can read an integer column."""
    known = dict(scan.bounds.ranges).get(scan.names_by_id[column.column_id])
    return known is not None and known.sql_type is not None and known.low > LOWEST


def _filter(
    terms: Sequence[tuple[Expr, Value]], aliases: Sequence[str], names: Sequence[str], forms: Sequence[str]
) -> RowFilter | None:
    """Return the terms of a predicate that have the same value each time they are computed."""
    conditions = [value.code for _, value in terms if value.code is not None]
    texts = [value.logical() for term, value in terms if value.code is None and _is_constant(term)]
    if not conditions and not texts:
        return None
    stored = {alias: f"{name}:{form}" for alias, name, form in zip(aliases, names, forms, strict=True)}
    written = [value.logical() for term, value in terms if value.code is not None or _is_constant(term)]
    key = _ALIAS.sub(lambda found: f'"{stored.get(found[1], found[1])}"' if found[1] else found[0], "\n".join(written))
    return RowFilter(tuple(conditions), tuple(texts), key)


def _is_constant(term: Expr) -> bool:
    """Whether a term has one value for a row. Users' functions may give several, and belong to a program."""
    names = [node.function for node in term.walk() if isinstance(node, Call)]
    known = (registry.scalar(name) for name in names if MARK not in name)
    return not any(MARK in name for name in names) and all(row is not None and row.is_deterministic for row in known)


def mark_first_rows(
    rows: PhysicalPlan, order: SortKey, count: int, scope: Scope, builder: Builder, groups: Iterable[Expr] = ()
) -> None:
    """Let the task leave out those `rows` that cannot be among the first of their groups, if it can compute this.

    `scope` has the values of the rows.
    """
    scan = rows
    while isinstance(scan, Project):
        scan = scan.child
    if not isinstance(scan, BlockScan) or not may_be_reduced(scan) or count < 1:
        return
    relation = next(name for name, leaf in builder.leaves if leaf is scan)
    place = builder.place(relation)
    spec, code = builder.inputs[place], _order_code(lower(order.expr, scope))
    keys = tuple(integer_key(f"k{number}", lower(expr, scope)) for number, expr in enumerate(groups))
    known = tuple(key for key in keys if key is not None)
    if not isinstance(spec, BlockColumns) or spec.reduced_above is None or code is None or len(known) < len(keys):
        return
    num_places = math.prod(key.high - key.low + 2 for key in known) * count
    most_places = _MOST_FIRST if scan.kernels == "always" else min(_MOST_FIRST, scan.bounds.most_rows or 0)
    is_small = num_places <= most_places
    first = FirstRows(code, count, order.ascending, order.nulls_first, known)
    if is_small and first.columns.issubset(spec.aliases) and all(map(_is_constant, conjuncts(scan.predicate))):
        builder.inputs[place] = replace(spec, first=first)


def _order_code(value: Value) -> Code | None:
    """Return the code of an order in which kernels find the first rows."""
    if value.code is not None and value.dtype != BOOLEAN and not value.values:
        return value.code
    if not value.is_simple or value.constant is not None or value.integer_type is not None:
        return None
    name = value.sql.strip('"')
    return real_code(name) if value.dtype == DOUBLE else column_code(name) if value.dtype == TIMESTAMP else None


def _coded(alias: str, dtype: DataType, values: tuple[str | None, ...]) -> Value:
    known = ColumnRange(0, len(values) - 1)
    return Value(f'"{alias}"', dtype, known, known.sql_type, values=values, code=column_code(alias))


def _stored(alias: str, dtype: DataType, known: ColumnRange | None) -> Value:
    """Return a stored column: DECIMAL, DATE and integers in the narrowest integer type for the scan's bounds."""
    sql, code = f'"{alias}"', column_code(alias)
    if dtype == BOOLEAN:
        return Value(sql, dtype, code=code)
    if known is None or known.sql_type is None:
        return Value(sql, dtype)
    has_form = isinstance(dtype, DecimalType) and dtype.scale <= _MAX_SCALE
    if has_form or dtype == DATE or dtype in INTEGER_TYPES:
        # The lowest BIGINT stands for NULL in kernels.
        return Value(sql, dtype, known, known.sql_type, code=code if known.low > LOWEST else None)
    return Value(sql, dtype)


def _files(plan: FileScan, builder: Builder) -> Select:
    relation = builder.relation()
    aliases = tuple(column_name(column.column_id) for column in plan.columns)
    builder.add_input(FileColumns(relation, plan.table_schema, plan.names, aliases, plan.sample), plan)
    select = Select(relation, _columns(plan.columns))
    return select if plan.predicate is None else select.filtered(lower_logical(plan.predicate, select.scope))


def _given(plan: GivenScan, builder: Builder) -> Select:
    relation = builder.relation()
    builder.add_input(GivenColumns(relation, plan.schema, plan.rows.label, plan.rows.read), plan)
    return Select(relation, _columns(plan.columns))


def _exchange(plan: ExchangeRead, builder: Builder) -> Select:
    relation = builder.relation()
    spread = frozenset(key.key_hash for key in plan.observed.spread_keys) if plan.observed and plan.dealt else None
    stage_input: StageInput = ExchangeColumns(relation, plan.exchange_id, plan.schema, spread)
    if isinstance(plan.partitioning, BroadcastPartitioning):
        stage_input = BroadcastColumns(relation, plan.exchange_id, plan.schema)
    builder.add_input(stage_input, plan)
    return Select(relation, _columns(plan.columns))


def _columns(columns: tuple[ColumnRef, ...]) -> dict[int, Value]:
    return {column.column_id: Value(f'"{column_name(column.column_id)}"', column.dtype) for column in columns}


def _values(plan: ValuesScan, builder: Builder) -> Select:
    name = builder.name("v")
    columns = ", ".join(f'"{column_name(column.column_id)}"' for column in plan.columns)
    if not plan.rows:
        nulls = ", ".join(
            f'CAST(NULL AS {duckdb_type(column.dtype)}) AS "{column_name(column.column_id)}"' for column in plan.columns
        )
        return Select(f"(SELECT {nulls or 1} WHERE false) AS {name}", _columns(plan.columns))
    if not plan.columns:
        return Select(f"(SELECT 1 FROM range({len(plan.rows)})) AS {name}", {})
    types = [duckdb_type(column.dtype) for column in plan.columns]
    rows = []
    for index, row in enumerate(plan.rows):
        values = [lower_logical(expr, {}) for expr in row]
        if index == 0:
            values = [f"CAST({value} AS {dtype})" for value, dtype in zip(values, types, strict=True)]
        rows.append(f"({', '.join(values)})")
    return Select(f"(VALUES {', '.join(rows)}) AS {name}({columns})", _columns(plan.columns))


# String columns that only group rows


_LEFT_NOT_NULL = frozenset(JoinKind) - {JoinKind.RIGHT, JoinKind.FULL}
_RIGHT_NOT_NULL = frozenset({JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT})
_NONE: frozenset[int] = frozenset()


def coded_columns(plan: PhysicalPlan, wanted: frozenset[int] = _NONE) -> frozenset[int]:
    """Return the scans' columns that are only used for grouping. `wanted` are such columns of the output."""
    match plan:
        case HashAggregate(mode=AggregateMode.COMPLETE | AggregateMode.PARTIAL):
            groups = frozenset(item.column_id for item in map(_bare, plan.groups) if isinstance(item, ColumnRef))
            others = _used(
                (*(item for item in plan.groups if not isinstance(_bare(item), ColumnRef)), *plan.aggregates)
            )
            return coded_columns(plan.child, groups - others)
        case Project():
            return coded_columns(plan.child, _through_project(plan, wanted))
        case Filter():
            return coded_columns(plan.child, wanted - _used((plan.predicate,)))
        case HashJoin() | NestedLoopJoin():
            rest = wanted - _used(plan.expressions)
            left = coded_columns(plan.left, rest if plan.kind in _LEFT_NOT_NULL else _NONE)
            return left | coded_columns(plan.right, rest if plan.kind in _RIGHT_NOT_NULL else _NONE)
        case BlockScan():
            few = {name for name, _ in plan.bounds.distinct}
            known = {c.column_id for c, name in zip(plan.columns, plan.names, strict=True) if name in few}
            used = _used((plan.predicate,)) if plan.predicate is not None else _NONE
            return (wanted & known) - used
    return _NONE.union(*(coded_columns(child) for child in plan.children))


def _bare(item: Alias | ColumnRef) -> Expr:
    return item.expr if isinstance(item, Alias) else item


def _through_project(plan: Project, wanted: frozenset[int]) -> frozenset[int]:
    """Return the child's columns that the projection only renames, to columns in `wanted`."""
    passed: set[int] = set()
    others: list[Expr] = []
    for item in plan.items:
        bare = _bare(item)
        if item.column_id in wanted and isinstance(bare, ColumnRef):
            passed.add(bare.column_id)
        else:
            others.append(item)
    return frozenset(passed) - _used(others)


def _used(exprs: Iterable[Expr]) -> frozenset[int]:
    return frozenset(node.column_id for expr in exprs for node in expr.walk() if isinstance(node, ColumnRef))
