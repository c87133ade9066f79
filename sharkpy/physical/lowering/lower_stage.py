"""Lowering of fragments of a physical plan to stages: the program, and the inputs of each task.

A fragment of literals or of answers from statistics needs no query: its rows are computed here.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from sharkpy.optimizer.decisions import Placement
from sharkpy.optimizer.evaluate import evaluate_quickly
from sharkpy.physical.lowering.lower_fragment import lower_fragment
from sharkpy.physical.operators import (
    BlockScan,
    Exchange,
    ExchangeRead,
    FileScan,
    Filter,
    GivenScan,
    LimitOperator,
    Project,
    SortOperator,
    TopN,
    UnionAll,
    ValuesScan,
)
from sharkpy.physical.placement import PlacedPlan
from sharkpy.physical.plan import BroadcastPartitioning, PhysicalPlan, Single, SinglePartitioning
from sharkpy.physical.stage import AS_TASKS, Stage, divide_among_tasks
from sharkpy.physical.stage_program import NO_INPUT, ResultSink, StageProgram, StageSink
from sharkpy.plan.expr import Alias, Cast, ColumnRef, Expr, Literal
from sharkpy.values import types as t

if TYPE_CHECKING:
    import pyarrow as pa


def lower_stage(
    fragment: PhysicalPlan,
    sink: StageSink,
    parallelism: int = 2,
    num_tasks: int | None = None,
    placement: Placement = AS_TASKS,
) -> Stage:
    """Return the stage of a fragment without Exchanges, with `num_tasks` or as many as it needs."""
    lowered = lower_fragment(fragment)
    program = lowered.program(fragment.schema, sink)
    scans = {name: leaf for name, leaf in lowered.leaves if isinstance(leaf, (BlockScan, FileScan))}
    tasks = divide_among_tasks(scans, num_tasks or _num_buckets(fragment), parallelism)
    reads = [node for node in fragment.walk() if isinstance(node, ExchangeRead)]
    singles = frozenset(read.exchange_id for read in reads if isinstance(read.partitioning, SinglePartitioning))
    dealt = tuple((read.exchange_id, read.dealt) for read in reads if read.dealt)
    return Stage(
        program, tasks, fragment.label, singles, dealt, placement, fragment, lowered.leaves, kernels=lowered.kernels
    )


def only_stage(plan: PlacedPlan, parallelism: int) -> Stage | None:
    """Return the only stage of a plan without exchanges, or None if it has any."""
    if any(isinstance(node, Exchange) for node in plan.root.walk()):
        return None
    return result_stage(plan.root, parallelism, plan.placement)


def result_stage(fragment: PhysicalPlan, parallelism: int, placement: Placement) -> Stage:
    """Return the stage that gives a query's rows to its reader.

    A few literals come from the driver without a query.
    """
    rows = constant_rows(fragment) if placement.is_driver else None
    if rows is None:
        return lower_stage(fragment, ResultSink(), parallelism, placement=placement)
    program = StageProgram("", (), fragment.schema, ResultSink())
    return Stage(program, (NO_INPUT,), fragment.label, placement=placement, fragment=fragment, rows=rows)


def _num_buckets(fragment: PhysicalPlan) -> int | None:
    """Return the number of tasks that the exchanges feeding a fragment require, or None if only its scans decide."""
    if isinstance(fragment.distribution, Single):
        return 1
    reads = [node for node in fragment.walk() if isinstance(node, ExchangeRead)]
    fed = [read.num_tasks for read in reads if not isinstance(read.partitioning, BroadcastPartitioning)]
    scans = [node for node in fragment.walk() if isinstance(node, (BlockScan, FileScan))]
    given = [node.rows.num_parts for node in fragment.walk() if isinstance(node, GivenScan)]
    if not fed:
        return max(given) if given else None if scans else 1
    by_bucket = [scan.buckets.num_buckets for scan in scans if isinstance(scan, BlockScan) and scan.buckets]
    return max(fed + by_bucket)


# Rows of plans without computation


MOST_VALUES = 1_000
"""Number of values up to which Python is faster than a query, without blocking other threads for long."""
MOST_BYTES = 64 << 10
"""Limit on the bytes of rows that a plan may store."""
_UNKNOWN = (KeyError, TypeError, ValueError, ArithmeticError, NotImplementedError)
"""Exceptions for values that do not fit their type unchanged. A query returns them, or its error."""
_Row = tuple[Literal, ...]


def constant_rows(plan: PhysicalPlan) -> pa.RecordBatch | None:
    """Return the rows of a plan without Exchanges, with its stage's names and Arrow types, if they are few literals.

    Return None if anything has to be computed. A query would return the same for literals.
    """
    rows, output = _literals(plan), plan.output
    if rows is None or not output or len(rows) * len(output) > MOST_VALUES:
        return None
    import pyarrow as pa

    try:
        columns = [_column([row[place] for row in rows], column.dtype) for place, column in enumerate(output)]
    except _UNKNOWN:
        return None
    batch = pa.RecordBatch.from_arrays(columns, schema=t.arrow_schema(plan.schema))
    return batch if batch.nbytes <= MOST_BYTES else None


def _literals(plan: PhysicalPlan) -> Sequence[_Row] | None:
    """Return the rows of `plan` as literals of its columns' types, or None if unknown or too many."""
    match plan:
        case ValuesScan(columns, rows):
            return _of_values(columns, rows)
        case Project(child, items):
            below = _literals(child)
            return None if below is None else _projected(below, child.output, items)
        case LimitOperator(child, count, offset):
            below = _literals(child)
            return None if below is None else below[offset : None if count is None else offset + count]
        case UnionAll(inputs, columns):
            return _united(inputs, columns)
        case Filter(child) | SortOperator(child) | TopN(child):
            below = _literals(child)
            return None if below is None or below else ()
    return None


def _of_values(columns: tuple[ColumnRef, ...], rows: tuple[tuple[Expr, ...], ...]) -> Sequence[_Row] | None:
    if len(rows) * len(columns) > MOST_VALUES or len(rows) > MOST_VALUES:
        return None
    found: list[_Row] = []
    for row in rows:
        literals = tuple(value for value in row if isinstance(value, Literal))
        if [one.dtype for one in literals] != [column.dtype for column in columns]:
            return None
        found.append(literals)
    return found


def _projected(
    rows: Sequence[_Row], columns: tuple[ColumnRef, ...], items: tuple[Alias | ColumnRef, ...]
) -> Sequence[_Row] | None:
    if len(rows) * len(items) > MOST_VALUES:
        return None
    ids = [column.column_id for column in columns]
    found: list[_Row] = []
    for row in rows:
        known = dict(zip(ids, row, strict=True))
        values = tuple(value for item in items if (value := _value(item, known)) is not None)
        if len(values) < len(items):
            return None
        found.append(values)
    return found


def _value(expr: Expr, row: Mapping[int, Literal]) -> Literal | None:
    match expr:
        case Literal():
            return expr
        case ColumnRef(column_id):
            return row.get(column_id)
        case Alias(inner):
            return _value(inner, row)
        case Cast(inner, dtype):
            value = _value(inner, row)
            return None if value is None else evaluate_quickly(Cast(value, dtype))
    return None


def _united(inputs: tuple[PhysicalPlan, ...], columns: tuple[ColumnRef, ...]) -> Sequence[_Row] | None:
    types = [column.dtype for column in columns]
    rows: list[_Row] = []
    for child in inputs:
        below = _literals(child)
        if below is None or len(rows) + len(below) > MOST_VALUES or [one.dtype for one in child.output] != types:
            return None
        rows += below
    return rows


def _column(literals: Sequence[Literal], dtype: t.DataType) -> pa.Array[Any]:
    from sharkpy.values.few_values import few_values

    values = [None if one.value is None else _PLAIN[type(dtype)](one.value) for one in literals]
    column: pa.Array[Any] = few_values(values, t.to_arrow(dtype))
    return column


# Conversions as in `sharkpy.udf.duckdb_sql.lower_literal`


def _decimal(value: object) -> Decimal:
    return Decimal(f"{Decimal(str(value)):f}")


def _float(value: Any) -> object:
    """Return the nearest 32-bit number; raise OverflowError if there is none."""
    return struct.unpack("<f", struct.pack("<f", float(value)))[0]


def _binary(value: object) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError


def _date(value: object) -> datetime.date:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    raise TypeError


def _timestamp(value: object) -> datetime.datetime:
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value
    raise TypeError


_PLAIN: Mapping[type[t.DataType], Callable[[Any], object]] = {
    t.BooleanType: bool,
    t.TinyIntType: int,
    t.SmallIntType: int,
    t.IntType: int,
    t.BigIntType: int,
    t.FloatType: _float,
    t.DoubleType: float,
    t.DecimalType: _decimal,
    t.StringType: str,
    t.VarcharType: str,
    t.CharType: str,
    t.BinaryType: _binary,
    t.DateType: _date,
    t.TimestampType: _timestamp,
    t.YearMonthIntervalType: int,
    t.DayTimeIntervalType: int,
}
"""Function by type that converts a literal's value, which is not NULL, for Arrow. Nested values need a query."""
