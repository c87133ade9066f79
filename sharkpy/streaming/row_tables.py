"""Tables for rows that a continuous query leaves out: bad rows and late rows."""

from __future__ import annotations

from collections.abc import Collection

from sharkpy.base.errors import BindError
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.execution.commands.create_table import create_table
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateTable
from sharkpy.streaming.targets import check_target
from sharkpy.values.types import DataType, Schema

Types = dict[str, DataType]
_STORAGE = StorageFormat("parquet")
"""Format of these tables.

Rows that were left out may contain any byte, and a delimiter in a text table would stop the query.
"""


def found_or_made(database: str, name: str, schema: Schema, session: EngineSession) -> Table:
    """Return the table of that name. A missing table is created with the columns of `schema`."""
    catalog = session.catalog
    if catalog.find_table(database, name) is None:
        command = CreateTable(database, name, TableKind.MANAGED, schema, True, _STORAGE)
        create_table(command, session, session.snapshot())
    return catalog.table(database, name)


def types_of(schema: Schema) -> Types:
    return {field.name: field.dtype for field in schema}


def check_fits(
    table: Table, what: str, role: str, schema: Schema, others: Collection[Types] = (), note: str = ""
) -> None:
    """Raise BindError 42809 if a table cannot have rows with the columns of `schema` or of `others`, in any order.

    Raise UnsupportedError if the rows could not be written exactly once.
    """
    if table.is_view or table.streaming_kind:
        kind = table.streaming_kind or "view"
        raise BindError(f"{what} cannot go to {table.qualified_name}, a {kind}", sqlstate="42809")
    check_target(table, role)
    fits = types_of(table.schema) in (types_of(schema), *others)
    if not fits or table.is_partitioned or table.constraints:
        listed = ", ".join(f"{field.name} {str(field.dtype).upper()}" for field in schema)
        hint = f"such a table has the columns {listed}, in any order, no partitions and no constraints{note}"
        raise BindError(f"{table.qualified_name} does not fit {what}", hint=hint, sqlstate="42809")
