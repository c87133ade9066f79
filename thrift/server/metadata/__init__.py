"""The catalog for clients: a table of the metadata calls of HiveServer2, and the facts of GetInfo.

`answer(call, request, session)` returns the rows of a metadata call, `info(info_type, session)` one fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.execution.commands.command_result import table_of
from sharkpy.thrift.metadata import catalog_calls, type_info
from sharkpy.thrift.metadata.server_info import info
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

__all__ = ["CALLS", "answer", "info"]

Row = tuple[str | int | bool | None, ...]
CALLS: dict[str, tuple[Schema, Callable[[Any, SharkContext], Iterable[Row]]]] = {
    "GetTypeInfo": (type_info.TYPE_SCHEMA, type_info.type_rows),
    "GetCatalogs": (catalog_calls.CATALOG_SCHEMA, catalog_calls.catalog_rows),
    "GetSchemas": (catalog_calls.DATABASE_SCHEMA, catalog_calls.database_rows),
    "GetTables": (catalog_calls.TABLE_SCHEMA, catalog_calls.table_rows),
    "GetTableTypes": (catalog_calls.TABLE_TYPE_SCHEMA, catalog_calls.table_type_rows),
    "GetColumns": (catalog_calls.COLUMN_SCHEMA, catalog_calls.column_rows),
    "GetFunctions": (catalog_calls.FUNCTION_SCHEMA, catalog_calls.function_rows),
    "GetPrimaryKeys": (catalog_calls.PRIMARY_KEY_SCHEMA, catalog_calls.primary_key_rows),
    "GetCrossReference": (catalog_calls.FOREIGN_KEY_SCHEMA, catalog_calls.foreign_key_rows),
}
"""Columns of each call, and the function that returns its rows for a request (the struct of that name) in a session."""


def answer(call: str, request: Any, session: SharkContext) -> tuple[Schema, pa.Table]:
    schema, rows = CALLS[call]
    return schema, table_of(schema, rows(request, session))
