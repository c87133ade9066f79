"""GetCrossReference: a row for each column of the FOREIGN KEYs from one table to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sharkpy.catalog.model import Constraint, Table
from sharkpy.thrift.metadata.named_tables import named_tables
from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.values.types import INT, STRING

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

SCHEMA = schema(
    columns(STRING, "PKTABLE_CAT", "PKTABLE_SCHEM", "PKTABLE_NAME", "PKCOLUMN_NAME"),
    columns(STRING, "FKTABLE_CAT", "FKTABLE_SCHEM", "FKTABLE_NAME", "FKCOLUMN_NAME"),
    columns(INT, "KEY_SEQ", "UPDATE_RULE", "DELETE_RULE"),
    columns(STRING, "FK_NAME", "PK_NAME"),
    columns(INT, "DEFERRABILITY"),
)


def rows(request: Any, session: SharkContext) -> Iterator[tuple[str | int | None, ...]]:
    """Yield the foreign keys between the named tables. If only a parent is named, yield all keys that refer to it."""
    parent = ((request.parentSchemaName or "").lower(), (request.parentTableName or "").lower())
    for table in named_tables(session, request.foreignSchemaName, request.foreignTableName):
        for one in table.constraints:
            database, _, name = one.parent.partition(".")
            if one.kind == "FOREIGN KEY" and parent[0] in ("", database) and parent[1] in ("", name):
                yield from _columns(table, one, session.catalog.find_table(database, name))


def _columns(table: Table, key: Constraint, parent: Table | None) -> Iterator[tuple[str | int | None, ...]]:
    database, _, name = key.parent.partition(".")
    primary = [one for one in parent.constraints if one.kind == "PRIMARY KEY"] if parent is not None else []
    primary_name = primary[0].name if primary else None
    for number, (column, parent_column) in enumerate(zip(key.columns, key.parent_columns, strict=True), 1):
        names = (None, database, name, parent_column, None, table.database, table.name, column)
        yield *names, number, 0, 0, key.name, primary_name, 0
