"""GetPrimaryKeys: a row for each column of a table's PRIMARY KEY."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sharkpy.thrift.metadata.named_tables import named_tables
from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.values.types import INT, STRING

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

SCHEMA = schema(
    columns(STRING, "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME"),
    columns(INT, "KEY_SEQ"),
    columns(STRING, "PK_NAME"),
)


def rows(request: Any, session: SharkContext) -> Iterator[tuple[str | int | None, ...]]:
    for table in named_tables(session, request.schemaName, request.tableName):
        for one in table.constraints:
            if one.kind == "PRIMARY KEY":
                for number, column in enumerate(one.columns, 1):
                    yield None, table.database, table.name, column, number, one.name
