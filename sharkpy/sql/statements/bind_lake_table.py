"""CREATE TABLE … STORED BY ICEBERG, as in Hive 4, and USING iceberg: the statement, from its clauses."""

from __future__ import annotations

import dataclasses

from sharkpy.base.errors import ColumnNotFoundError, did_you_mean
from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.catalog.model import Constraint, StorageFormat, TableKind
from sharkpy.plan.commands import CreateTable
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.statements.bind_columns import check_column
from sharkpy.sql.statements.bind_table_clauses import TableClauses
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.table_parts import cached_by_name
from sharkpy.values.types import Field, Schema

_NOT_TAKEN = ("row", "options", "buckets", "skew", "handler")


def lake_table(
    binder: CommandBinder,
    command: CreateTable,
    clauses: TableClauses,
    constraints: list[Constraint],
    query: LogicalPlan | None,
) -> CreateTable:
    """Return the statement that creates a lake table, after all clauses were read.

    `command` has the table's name, kind and columns.
    """
    reader, lake = binder.reader, clauses.lake or ""
    for other in _NOT_TAKEN:
        if getattr(clauses, other) is not None:
            raise reader.unsupported(f"the {other} of a table of {lake}")
    if clauses.file is not None and clauses.file.name not in ("parquet", lake):
        raise reader.unsupported(f"files that are {clauses.file.name} in a table of {lake}")
    if constraints:
        raise reader.unsupported(f"a constraint of a table of {lake}")
    if command.kind is TableKind.TEMPORARY:
        raise reader.unsupported(f"a temporary table of {lake}")
    fields = list(command.schema.fields)
    divided = list(clauses.divided or [])
    for one in clauses.partitions or []:
        if isinstance(one, Field):
            check_column(binder, {field.name for field in fields}, one, None)
            fields.append(one)
        divided.append(PartitionField("identity", one.name if isinstance(one, Field) else one))
    names = [field.name for field in fields]
    if unknown := next((one.column for one in divided if one.column not in names), None):
        hint = did_you_mean(unknown, names)
        raise binder.error(f'no column "{unknown}" to be partitioned by', None, ColumnNotFoundError, hint)
    return dataclasses.replace(
        command,
        schema=Schema(tuple(fields)),
        storage=StorageFormat(lake),
        location=clauses.location,
        properties=cached_by_name(binder, command.name, clauses.properties or ()),
        comment=clauses.comment,
        query=query,
        keeps_location=clauses.is_sparks,
        divided_by=tuple(divided),
    )
