"""Metadata tables of a lake table in any format: its snapshots, its files."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from sharkpy.catalog.system_tables import SystemTable
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.values.types import Schema, arrow_schema

Row = tuple[Any, ...]
Rows = Callable[[LakeTable], Iterable[Row]]
"""Makes the rows of a metadata table."""


def fact_table(table: LakeTable, what: str, schema: Schema, rows: Rows) -> SystemTable:
    """Metadata table `what` of a table; its rows are made when it is read."""

    def made() -> pa.Table:
        values = list(zip(*rows(table), strict=True)) or [()] * len(schema)
        target = arrow_schema(schema)
        return pa.table(
            [pa.array(list(column), field.type) for column, field in zip(values, target, strict=True)], schema=target
        )

    return SystemTable(table.database, f"{table.name}.{what}", schema, made)


def moment_of(milliseconds: int) -> datetime.datetime:
    """Time in UTC, from milliseconds since 1970."""
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=milliseconds)
