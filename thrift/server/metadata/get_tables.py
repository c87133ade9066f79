"""GetTables: a row for each requested table and view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sharkpy.thrift.metadata.found_tables import found_tables
from sharkpy.thrift.metadata.get_table_types import type_names
from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.values.types import STRING

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

SCHEMA = schema(
    columns(STRING, "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS"),
    columns(STRING, "TYPE_CAT", "TYPE_SCHEM", "TYPE_NAME", "SELF_REFERENCING_COL_NAME", "REF_GENERATION"),
)


def rows(request: Any, session: SharkContext) -> Iterator[tuple[str | None, ...]]:
    names = type_names(request.tableTypes)
    for table in found_tables(session, request.schemaName, request.tableName):
        if name := names.get(table.kind):
            yield "", table.database, table.name, name, table.comment or "", None, None, None, None, None
