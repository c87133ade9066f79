"""Values of the keys of a build side, computed from its rows in the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.columnar.value_sets import key_bits
from sharkpy.physical.distribution import SinglePartitioning
from sharkpy.physical.learned_filters import KeyValues
from sharkpy.physical.lowering.lower_stage import lower_stage
from sharkpy.physical.operators import ExchangeRead, Project
from sharkpy.physical.plan import column_name
from sharkpy.physical.sinks import ResultSink
from sharkpy.plan.expr import Alias, ColumnRef, Expr, PythonValue
from sharkpy.values.types import NULL, is_nested

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_VALUES = 5000
"""Number of distinct keys up to which all are kept; above, only the least and the greatest."""


def key_values(read: ExchangeRead, key: Expr, rows: pa.Table, connection: DuckDBPyConnection) -> KeyValues | None:
    """Return the values of `key` in the `rows` of `read`, or None without order or Python values."""
    if is_nested(key.dtype) or key.dtype == NULL:
        return None
    bits = key_bits(rows.column(column_name(key.column_id))) if isinstance(key, ColumnRef) else None
    if isinstance(key, ColumnRef) and (few := _few_values(rows.column(column_name(key.column_id)))) is not None:
        return replace(few, bits=bits)
    number = max(column.column_id for column in read.columns) + 1
    single = replace(read, partitioning=SinglePartitioning())
    program = lower_stage(Project(single, (Alias(key, number, "key"),)), ResultSink()).program
    relation, name = program.inputs[0].relation, f'"{column_name(number)}"'
    source = f"({program.sql or f'SELECT * FROM {relation}'}) AS keys"
    connection.register(relation, rows)
    try:
        return replace(_read(source, name, connection), bits=bits)
    except (ValueError, OverflowError):
        # Python cannot represent the date or timestamp.
        return None
    finally:
        connection.unregister(relation)


def first_keys(batches: Sequence[pa.RecordBatch], key: ColumnRef | None) -> list[PythonValue] | None:
    """Return the values of a column, or None if some have no Python value."""
    if key is None:
        return None
    name = column_name(key.column_id)
    try:
        return [value for batch in batches for value in batch.column(name).to_pylist()]
    except (ValueError, OverflowError):
        return None


def _few_values(column: pa.ChunkedArray[Any]) -> KeyValues | None:
    """Return the values if they are few, without a query."""
    import pyarrow.compute as pc

    try:
        if column.num_chunks and len(pc.unique(column.chunk(0))) > MOST_VALUES + 1:
            return None
        distinct = pc.unique(column)
        if len(distinct) > MOST_VALUES + 1:
            return None
        found = distinct.to_pylist()
    except (pa.ArrowNotImplementedError, ValueError, OverflowError):
        return None
    values = sorted(value for value in found if value is not None)
    low, high = (values[0], values[-1]) if values else (None, None)
    return KeyValues(tuple(values), low, high, None in found)


def _read(source: str, name: str, connection: DuckDBPyConnection) -> KeyValues:
    totals = f"SELECT min({name}), max({name}), count(*) > count({name}) FROM {source}"
    low, high, has_null = _columns(totals, connection)
    if low[0] is None:
        return KeyValues((), None, None, bool(has_null[0]))
    distinct = f"SELECT DISTINCT {name} FROM {source} WHERE {name} IS NOT NULL LIMIT {MOST_VALUES + 1}"
    (values,) = _columns(distinct, connection)
    known = None if len(values) > MOST_VALUES else tuple(sorted(values))
    return KeyValues(known, low[0], high[0], bool(has_null[0]))


def _columns(sql: str, connection: DuckDBPyConnection) -> list[list[Any]]:
    return [column.to_pylist() for column in connection.sql(sql).to_arrow_table().columns]
