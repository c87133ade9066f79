"""Engines of the random queries: sharkpy under given settings, DuckDB, and Spark SQL."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import sharkpy
from tests.differential.expressions import DUCK_MACROS
from tests.differential.tables import TABLES

RELATIVE, ABSOLUTE = 1e-9, 2e-6
_EXACT_FROM = 10**15
"""Bound above which DECIMALs have digits that a float cannot tell apart."""


@contextmanager
def shark_session(
    folder: Path, conf: Mapping[str, object] | None = None, *, cached: bool = False
) -> Iterator[sharkpy.SharkContext]:
    context = sharkpy.connect(master="local[2]", warehouse=folder / "warehouse", **dict(conf or {}))
    try:
        for table in TABLES:
            data = folder / f"{table.name}.parquet"
            pq.write_table(table.arrow(), data)
            context.sql(table.ddl).close()
            context.sql(f"LOAD DATA LOCAL INPATH '{data}' INTO TABLE {table.name}").close()
            if cached:
                context.sql(f"CACHE TABLE {table.name}").close()
        yield context
    finally:
        context.stop()


def duck_session() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET threads = 1; SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for macro in DUCK_MACROS:
        connection.execute(f"CREATE MACRO {macro}")
    for table in TABLES:
        connection.register("given", table.arrow())
        connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM given")
        connection.unregister("given")
    return connection


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows as a bag in a fixed order; -0.0 is 0.0."""
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True), key=lambda row: tuple(map(_sort_key, row)))


def _plain(value: Any) -> Any:
    match value:
        case float():
            return value + 0.0
        case datetime.datetime():
            return value.replace(tzinfo=None)
    return value


def _sort_key(value: Any) -> tuple[int, float, str]:
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, int):
        return (1, value, "")
    if isinstance(value, (float, Decimal)):
        number = float(value)
        exact = str(value) if isinstance(value, Decimal) and abs(value) > _EXACT_FROM else ""
        return (2, 0.0, "") if math.isnan(number) else (1, float(f"{number:.11g}"), exact)
    return (3, 0.0, str(value))


def same_rows(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> bool:
    return len(left) == len(right) and all(
        len(one) == len(other) and all(map(_same, one, other)) for one, other in zip(left, right, strict=True)
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, (float, Decimal)):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return math.isclose(one, float(other), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(one == other)
