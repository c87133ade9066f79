"""GetColumns: a row for each column of the requested tables and views."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sharkpy.thrift.metadata.found_tables import found_tables
from sharkpy.thrift.metadata.patterns import name_test
from sharkpy.thrift.metadata.result_schema import columns, schema
from sharkpy.thrift.metadata.type_codes import type_code
from sharkpy.values.types import INT, SMALLINT, STRING, TINYINT, DataType

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

SCHEMA = schema(
    columns(STRING, "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME"),
    columns(INT, "DATA_TYPE"),
    columns(STRING, "TYPE_NAME"),
    columns(INT, "COLUMN_SIZE"),
    columns(TINYINT, "BUFFER_LENGTH"),
    columns(INT, "DECIMAL_DIGITS", "NUM_PREC_RADIX", "NULLABLE"),
    columns(STRING, "REMARKS", "COLUMN_DEF"),
    columns(INT, "SQL_DATA_TYPE", "SQL_DATETIME_SUB", "CHAR_OCTET_LENGTH", "ORDINAL_POSITION"),
    columns(STRING, "IS_NULLABLE", "SCOPE_CATALOG", "SCOPE_SCHEMA", "SCOPE_TABLE"),
    columns(SMALLINT, "SOURCE_DATA_TYPE"),
    columns(STRING, "IS_AUTO_INCREMENT"),
)
_NO_NULLS, _NULLABLE = 0, 1


def rows(request: Any, session: SharkContext) -> Iterator[tuple[str | int | None, ...]]:
    takes = name_test(request.columnName)
    for table in found_tables(session, request.schemaName, request.tableName):
        enabled = [one for one in table.constraints if one.is_enabled]
        required = {name for one in enabled if one.kind == "NOT NULL" for name in one.columns}
        defaults = {one.columns[0]: one.text for one in enabled if one.kind == "DEFAULT"}
        for position, field in enumerate(table.shown_schema, 1):
            if takes(field.name):
                kind, type_name, size, digits, radix, octets = _type_columns(field.dtype)
                yield (
                    None,
                    table.database,
                    table.name,
                    field.name,
                    kind,
                    type_name,
                    size,
                    None,
                    digits,
                    radix,
                    _NO_NULLS if field.name in required else _NULLABLE,
                    field.comment or "",
                    defaults.get(field.name),
                    None,
                    None,
                    octets,
                    position,
                    "NO" if field.name in required else "YES",
                    None,
                    None,
                    None,
                    None,
                    "NO",
                )


@lru_cache(1024)
def _type_columns(dtype: DataType) -> tuple[int, str, int | None, int | None, int | None, int | None]:
    """Return DATA_TYPE, TYPE_NAME, COLUMN_SIZE, DECIMAL_DIGITS, NUM_PREC_RADIX and CHAR_OCTET_LENGTH of a type."""
    code = type_code(dtype)
    octets = code.precision if code.is_text else None
    return code.sql_type, str(dtype).upper(), code.precision, code.scale, code.radix, octets
