"""GetFunctions: each built-in function once, with its line of documentation, and each user function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sharkpy.thrift.metadata.patterns import name_test
from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.udf import registry
from sharkpy.values.types import INT, STRING

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

SCHEMA = schema(
    columns(STRING, "FUNCTION_CAT", "FUNCTION_SCHEM", "FUNCTION_NAME", "REMARKS"),
    columns(INT, "FUNCTION_TYPE"),
    columns(STRING, "SPECIFIC_NAME"),
)
_GIVES_A_VALUE, _GIVES_A_TABLE = 1, 2


def rows(request: Any, session: SharkContext) -> Iterator[tuple[str | int | None, ...]]:
    takes = name_test(request.functionName)
    for name in sorted({*registry.names(), *registry.relation_functions()}):
        row = registry.described(name)
        if row is not None and name.isidentifier() and takes(name):
            is_table = row in (registry.table_function(name), registry.relation_function(name))
            kind = _GIVES_A_TABLE if is_table else _GIVES_A_VALUE
            yield None, None, name, row.doc, kind, f"sharkpy.{registry.canonical(name)}"
    functions = session.catalog.functions
    for name in sorted(functions.temporary()):
        if takes(name):
            yield None, None, name, "", _GIVES_A_VALUE, name
    for entry in functions.entries():
        if takes(entry.name):
            yield None, entry.database, entry.name, "", _GIVES_A_VALUE, entry.target
