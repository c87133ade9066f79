"""The catalog as clients ask for it: one file a call of HiveServer2, and the facts of GetInfo.

`answer(call, request, session)` gives the rows of a metadata call, `info(info_type, session)` one fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sharkpy.execution.commands.result import table_of
from sharkpy.thrift.metadata import (
    catalogs,
    columns,
    cross_reference,
    functions,
    primary_keys,
    schemas,
    table_types,
    tables,
    type_info,
)
from sharkpy.thrift.metadata.info import info
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

__all__ = ["CALLS", "answer", "info"]

Row = tuple[str | int | bool | None, ...]
CALLS: dict[str, tuple[Schema, Callable[[Any, SharkContext], Iterable[Row]]]] = {
    "GetTypeInfo": (type_info.SCHEMA, type_info.rows),
    "GetCatalogs": (catalogs.SCHEMA, catalogs.rows),
    "GetSchemas": (schemas.SCHEMA, schemas.rows),
    "GetTables": (tables.SCHEMA, tables.rows),
    "GetTableTypes": (table_types.SCHEMA, table_types.rows),
    "GetColumns": (columns.SCHEMA, columns.rows),
    "GetFunctions": (functions.SCHEMA, functions.rows),
    "GetPrimaryKeys": (primary_keys.SCHEMA, primary_keys.rows),
    "GetCrossReference": (cross_reference.SCHEMA, cross_reference.rows),
}
"""Each call's columns, and its rows for a request (the struct of that name) in a session."""


def answer(call: str, request: Any, session: SharkContext) -> tuple[Schema, pa.Table]:
    schema, rows = CALLS[call]
    return schema, table_of(schema, rows(request, session))
