"""The catalog for clients: one file per metadata call of HiveServer2, and the facts of GetInfo.

`answer(call, request, session)` returns the rows of a metadata call, `info(info_type, session)` one fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.execution.commands.command_result import table_of
from sharkpy.thrift.metadata import (
    get_catalogs,
    get_columns,
    get_cross_reference,
    get_functions,
    get_primary_keys,
    get_schemas,
    get_table_types,
    get_tables,
    get_type_info,
)
from sharkpy.thrift.metadata.get_info import info
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

__all__ = ["CALLS", "answer", "info"]

Row = tuple[str | int | bool | None, ...]
CALLS: dict[str, tuple[Schema, Callable[[Any, SharkContext], Iterable[Row]]]] = {
    "GetTypeInfo": (get_type_info.SCHEMA, get_type_info.rows),
    "GetCatalogs": (get_catalogs.SCHEMA, get_catalogs.rows),
    "GetSchemas": (get_schemas.SCHEMA, get_schemas.rows),
    "GetTables": (get_tables.SCHEMA, get_tables.rows),
    "GetTableTypes": (get_table_types.SCHEMA, get_table_types.rows),
    "GetColumns": (get_columns.SCHEMA, get_columns.rows),
    "GetFunctions": (get_functions.SCHEMA, get_functions.rows),
    "GetPrimaryKeys": (get_primary_keys.SCHEMA, get_primary_keys.rows),
    "GetCrossReference": (get_cross_reference.SCHEMA, get_cross_reference.rows),
}
"""Columns of each call, and the function that returns its rows for a request (the struct of that name) in a session."""


def answer(call: str, request: Any, session: SharkContext) -> tuple[Schema, pa.Table]:
    schema, rows = CALLS[call]
    return schema, table_of(schema, rows(request, session))
