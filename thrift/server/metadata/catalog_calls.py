"""Calls about the catalog: GetCatalogs, GetSchemas, GetTables, GetColumns, GetFunctions, and the calls for keys.

Each call has a schema, and a function from a request to the rows of its answer. GetPrimaryKeys and GetCrossReference
name tables, the other calls take patterns of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import DatabaseNotFoundError
from sharkpy.base.wildcards import Wildcard, matches_wildcards
from sharkpy.catalog.model import Constraint, Table, TableKind
from sharkpy.thrift.metadata.type_info import fields_of, result_schema, type_code
from sharkpy.udf import registry
from sharkpy.values.types import INT, SMALLINT, STRING, TINYINT, DataType

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

CATALOG_SCHEMA = result_schema(fields_of(STRING, "TABLE_CAT"))


def catalog_rows(request: Any, session: Any) -> list[tuple[str]]:  # noqa: ARG001
    return []


DATABASE_SCHEMA = result_schema(fields_of(STRING, "TABLE_SCHEM", "TABLE_CATALOG"))


def database_rows(request: Any, session: SharkContext) -> list[tuple[str, str]]:
    takes = name_test(request.schemaName)
    return [(name, "") for name in session.catalog.database_names() if takes(name)]


TABLE_TYPE_SCHEMA = result_schema(fields_of(STRING, "TABLE_TYPE"))

TABLE_KINDS: dict[str, tuple[TableKind, ...]] = {
    "TABLE": (TableKind.MANAGED, TableKind.EXTERNAL, TableKind.TEMPORARY),
    "VIEW": (TableKind.VIEW, TableKind.TEMPORARY_VIEW),
    "STREAM": (TableKind.STREAM,),
}
"""Types for clients that do not ask for Hive's own types."""

HIVE_TABLE_KINDS: dict[str, tuple[TableKind, ...]] = {
    "MANAGED_TABLE": (TableKind.MANAGED, TableKind.TEMPORARY),
    "EXTERNAL_TABLE": (TableKind.EXTERNAL,),
    "VIRTUAL_VIEW": (TableKind.VIEW, TableKind.TEMPORARY_VIEW),
    "LOCAL TEMPORARY": (TableKind.TEMPORARY, TableKind.TEMPORARY_VIEW),
}
"""Further types that a client may ask for and then gets in the answer: Hive's own, and JDBC's for temporary tables."""


def table_type_names(asked: list[str] | None) -> dict[TableKind, str]:
    """Return each requested kind (None and []: all) with the name by which the client asked for it."""
    if not asked:
        return {kind: name for name, kinds in TABLE_KINDS.items() for kind in kinds}
    known = {**TABLE_KINDS, **HIVE_TABLE_KINDS}
    return {kind: name.upper() for name in reversed(asked) for kind in known.get(name.upper(), ())}


def table_type_rows(request: Any, session: Any) -> list[tuple[str]]:  # noqa: ARG001
    return [(name,) for name in TABLE_KINDS]


TABLE_SCHEMA = result_schema(
    fields_of(STRING, "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE", "REMARKS"),
    fields_of(STRING, "TYPE_CAT", "TYPE_SCHEM", "TYPE_NAME", "SELF_REFERENCING_COL_NAME", "REF_GENERATION"),
)


def table_rows(request: Any, session: SharkContext) -> Iterator[tuple[str | None, ...]]:
    names = table_type_names(request.tableTypes)
    for table in matching_tables(session, request.schemaName, request.tableName):
        if name := names.get(table.kind):
            yield "", table.database, table.name, name, table.comment or "", None, None, None, None, None


COLUMN_SCHEMA = result_schema(
    fields_of(STRING, "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME"),
    fields_of(INT, "DATA_TYPE"),
    fields_of(STRING, "TYPE_NAME"),
    fields_of(INT, "COLUMN_SIZE"),
    fields_of(TINYINT, "BUFFER_LENGTH"),
    fields_of(INT, "DECIMAL_DIGITS", "NUM_PREC_RADIX", "NULLABLE"),
    fields_of(STRING, "REMARKS", "COLUMN_DEF"),
    fields_of(INT, "SQL_DATA_TYPE", "SQL_DATETIME_SUB", "CHAR_OCTET_LENGTH", "ORDINAL_POSITION"),
    fields_of(STRING, "IS_NULLABLE", "SCOPE_CATALOG", "SCOPE_SCHEMA", "SCOPE_TABLE"),
    fields_of(SMALLINT, "SOURCE_DATA_TYPE"),
    fields_of(STRING, "IS_AUTO_INCREMENT"),
)
_NO_NULLS, _NULLABLE = 0, 1


def column_rows(request: Any, session: SharkContext) -> Iterator[tuple[str | int | None, ...]]:
    takes = name_test(request.columnName)
    for table in matching_tables(session, request.schemaName, request.tableName):
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


FUNCTION_SCHEMA = result_schema(
    fields_of(STRING, "FUNCTION_CAT", "FUNCTION_SCHEM", "FUNCTION_NAME", "REMARKS"),
    fields_of(INT, "FUNCTION_TYPE"),
    fields_of(STRING, "SPECIFIC_NAME"),
)
_SCALAR_FUNCTION, _TABLE_FUNCTION = 1, 2


def function_rows(request: Any, session: SharkContext) -> Iterator[tuple[str | int | None, ...]]:
    takes = name_test(request.functionName)
    for name in sorted({*registry.names(), *registry.relation_functions()}):
        row = registry.described(name)
        if row is not None and name.isidentifier() and takes(name):
            is_table = row in (registry.table_function(name), registry.relation_function(name))
            kind = _TABLE_FUNCTION if is_table else _SCALAR_FUNCTION
            yield None, None, name, row.doc, kind, f"sharkpy.{registry.canonical(name)}"
    functions = session.catalog.functions
    for name in sorted(functions.temporary()):
        if takes(name):
            yield None, None, name, "", _SCALAR_FUNCTION, name
    for entry in functions.entries():
        if takes(entry.name):
            yield None, entry.database, entry.name, "", _SCALAR_FUNCTION, entry.target


PRIMARY_KEY_SCHEMA = result_schema(
    fields_of(STRING, "TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME"),
    fields_of(INT, "KEY_SEQ"),
    fields_of(STRING, "PK_NAME"),
)


def primary_key_rows(request: Any, session: SharkContext) -> Iterator[tuple[str | int | None, ...]]:
    for table in named_tables(session, request.schemaName, request.tableName):
        for one in table.constraints:
            if one.kind == "PRIMARY KEY":
                for number, column in enumerate(one.columns, 1):
                    yield None, table.database, table.name, column, number, one.name


FOREIGN_KEY_SCHEMA = result_schema(
    fields_of(STRING, "PKTABLE_CAT", "PKTABLE_SCHEM", "PKTABLE_NAME", "PKCOLUMN_NAME"),
    fields_of(STRING, "FKTABLE_CAT", "FKTABLE_SCHEM", "FKTABLE_NAME", "FKCOLUMN_NAME"),
    fields_of(INT, "KEY_SEQ", "UPDATE_RULE", "DELETE_RULE"),
    fields_of(STRING, "FK_NAME", "PK_NAME"),
    fields_of(INT, "DEFERRABILITY"),
)


def foreign_key_rows(request: Any, session: SharkContext) -> Iterator[tuple[str | int | None, ...]]:
    """Yield the foreign keys between the named tables. If only a parent is named, yield all keys that refer to it."""
    parent = ((request.parentSchemaName or "").lower(), (request.parentTableName or "").lower())
    for table in named_tables(session, request.foreignSchemaName, request.foreignTableName):
        for one in table.constraints:
            database, _, name = one.parent.partition(".")
            if one.kind == "FOREIGN KEY" and parent[0] in ("", database) and parent[1] in ("", name):
                yield from _foreign_key_columns(table, one, session.catalog.find_table(database, name))


def _foreign_key_columns(table: Table, key: Constraint, parent: Table | None) -> Iterator[tuple[str | int | None, ...]]:
    database, _, name = key.parent.partition(".")
    primary = [one for one in parent.constraints if one.kind == "PRIMARY KEY"] if parent is not None else []
    primary_name = primary[0].name if primary else None
    for number, (column, parent_column) in enumerate(zip(key.columns, key.parent_columns, strict=True), 1):
        names = (None, database, name, parent_column, None, table.database, table.name, column)
        yield *names, number, 0, 0, key.name, primary_name, 0


def matching_tables(session: SharkContext, schema: str | None, table: str | None) -> Iterator[Table]:
    """Yield tables by database and name, including the session's temporary tables. Read the catalog once per database.

    Nothing is bound or planned: a view is listed as it was created, even if its query no longer works.
    """
    takes_schema, takes_table = name_test(schema), name_test(table)
    for database in session.catalog.database_names():
        if takes_schema(database):
            try:
                tables = session.catalog.tables(database)
            except DatabaseNotFoundError:
                continue  # dropped meanwhile
            yield from (one for one in tables if takes_table(one.name))


def named_tables(session: SharkContext, database: str | None, name: str | None) -> Iterator[Table]:
    catalog = session.catalog
    known = catalog.database_names()
    for one in [database.lower()] if database else known:
        if one not in known:
            continue
        if not name:
            yield from catalog.tables(one)
        elif (table := catalog.find_table(one, name)) is not None:
            yield table


_PATTERN_PARTS = re.compile(r"\\(?P<literal>.)|(?P<any>%|\.?\*)|(?P<one>_)|(?P<plain>.)", re.DOTALL)
NameTest = Callable[[str], object]
"""Test of a name; any true value means that the name matches."""


def name_test(pattern: str | None) -> NameTest:
    r"""Return a test of names that match `pattern`, ignoring case. None and "" match every name.

    `%`, `*` and `.*` match any characters, `_` matches one, `\` makes the next character an ordinary one, and `|`
    separates alternatives. impyla sends `.*`, the old Hive drivers `*`.
    """
    if not pattern:
        return lambda name: True  # noqa: ARG005
    alternatives = [[_pattern_part(part) for part in _PATTERN_PARTS.finditer(text)] for text in pattern.split("|")]
    return lambda name: any(matches_wildcards(name, parts) for parts in alternatives)


def _pattern_part(part: re.Match[str]) -> str | Wildcard:
    match part.lastgroup:
        case "any":
            return Wildcard.ANY
        case "one":
            return Wildcard.ONE
    return part[part.lastgroup or 0]
