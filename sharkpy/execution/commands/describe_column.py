"""DESCRIBE of one column, or of a part of a nested one. FORMATTED adds the figures of ANALYZE TABLE … FOR COLUMNS."""

from __future__ import annotations

from collections.abc import Iterator

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.table_statistics import ColumnStatistics
from sharkpy.execution.commands.current_statistics import current_statistics
from sharkpy.execution.commands.describe_details import Row
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import DescribeTable
from sharkpy.sql.statements.bind_describe import type_at
from sharkpy.values.types import DataType, StructType

_DESERIALIZED = "from deserializer"


def column_rows(command: DescribeTable, one: HivePartition | None, session: EngineSession) -> Iterator[Row]:
    """Rows that describe the column; for a nested struct, one row per field."""
    name, *rest = command.column
    field = command.table.shown_schema[name]
    if not rest and command.style == "formatted":
        statistics = current_statistics(command.table, one, session)
        found = None if statistics is None else statistics.column(name)
        yield from _formatted(name, field.dtype, field.comment, found)
        return
    dtype: DataType | None = field.dtype
    for part in rest:
        dtype = None if dtype is None else type_at(dtype, part)
    if rest and isinstance(dtype, StructType):
        for inner, inner_type in zip(dtype.names, dtype.types, strict=True):
            yield inner, str(inner_type), _DESERIALIZED
        return
    yield (rest[-1] if rest else name), str(dtype), _DESERIALIZED if rest else field.comment or ""


def _formatted(name: str, dtype: DataType, comment: str | None, found: ColumnStatistics | None) -> Iterator[Row]:
    yield "col_name", name, ""
    yield "data_type", str(dtype), ""
    figures = {
        "min": found and found.low,
        "max": found and found.high,
        "num_nulls": found and found.num_nulls,
        "distinct_count": found and found.num_distinct,
        "avg_col_len": found and found.average_length,
        "max_col_len": found and found.max_length,
        "num_trues": found and found.num_true,
        "num_falses": found and found.num_false,
    }
    for title, value in figures.items():
        yield title, "" if value is None else str(value), ""
    yield "comment", comment or "", ""
    if found is not None:
        yield "COLUMN_STATS_ACCURATE", f'{{"COLUMN_STATS":{{"{name}":"true"}}}}', ""
