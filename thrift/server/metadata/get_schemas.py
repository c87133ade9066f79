"""GetSchemas: the databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sharkpy.thrift.metadata.patterns import name_test
from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.values.types import STRING

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

SCHEMA = schema(columns(STRING, "TABLE_SCHEM", "TABLE_CATALOG"))


def rows(request: Any, session: SharkContext) -> list[tuple[str, str]]:
    takes = name_test(request.schemaName)
    return [(name, "") for name in session.catalog.database_names() if takes(name)]
