"""Tables of `information_schema`, as the SQL standard names them: databases, tables, views and columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sharkpy.base.cancellation import check_cancelled
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.system_tables import INFORMATION_SCHEMA, SystemTable
from sharkpy.execution.commands.command_result import table_of
from sharkpy.values.types import INT, STRING, Field, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.catalog import Catalog

Row: TypeAlias = tuple[str | int | None, ...]
CATALOG = "default"
"""Name of the only catalog; the standard's names have three parts."""
_TYPES = {
    TableKind.MANAGED: "BASE TABLE",
    TableKind.EXTERNAL: "EXTERNAL",
    TableKind.TEMPORARY: "LOCAL TEMPORARY",
    TableKind.TEMPORARY_VIEW: "VIEW",
    TableKind.VIEW: "VIEW",
}


def information_tables(catalog: Catalog) -> Mapping[str, SystemTable]:
    """Return the tables of `information_schema` by qualified name."""
    made: dict[str, tuple[str, Callable[[Catalog], Iterable[Row]]]] = {
        "schemata": ("catalog_name schema_name schema_owner comment", _schemata),
        "tables": ("table_catalog table_schema table_name table_type table_owner comment", _tables),
        "views": ("table_catalog table_schema table_name view_definition", _views),
        "columns": (
            "table_catalog table_schema table_name column_name ordinal_position column_default is_nullable data_type"
            " comment",
            _columns,
        ),
    }
    found = (
        SystemTable(INFORMATION_SCHEMA, name, _schema(names), partial(_made, _schema(names), rows, catalog))
        for name, (names, rows) in made.items()
    )
    return {f"{INFORMATION_SCHEMA}.{one.name}": one for one in found}


def _schema(names: str) -> Schema:
    return Schema(tuple(Field(name, INT if name == "ordinal_position" else STRING) for name in names.split()))


def _made(schema: Schema, rows: Callable[[Catalog], Iterable[Row]], catalog: Catalog) -> list[pa.Table]:
    return [table_of(schema, rows(catalog))]


def _schemata(catalog: Catalog) -> Iterator[Row]:
    for name in catalog.database_names():
        found = catalog.database(name)
        yield CATALOG, name, found.owner or None, found.comment


def _shown(catalog: Catalog) -> Iterator[Table]:
    """Tables and views of all databases, without streams, continuous inserts and sinks, which have no rows."""
    for database in catalog.database_names():
        for table in catalog.tables(database):
            check_cancelled()
            if not table.is_stream and not table.has_no_rows:
                yield table


def _tables(catalog: Catalog) -> Iterator[Row]:
    for table in _shown(catalog):
        kind = _TYPES.get(table.kind, "BASE TABLE")
        yield CATALOG, table.database, table.name, kind, table.owner or None, table.comment


def _views(catalog: Catalog) -> Iterator[Row]:
    for table in _shown(catalog):
        if table.is_view:
            yield CATALOG, table.database, table.name, table.view_text


def _columns(catalog: Catalog) -> Iterator[Row]:
    for table in _shown(catalog):
        required = {one.columns[0] for one in table.constraints if one.kind == "NOT NULL" and one.is_enabled}
        defaults = {one.columns[0]: one.text for one in table.constraints if one.kind == "DEFAULT" and one.is_enabled}
        for position, field in enumerate(table.schema, start=1):
            is_nullable = "NO" if field.name in required else "YES"
            facts = (defaults.get(field.name), is_nullable, str(field.dtype), field.comment)
            yield CATALOG, table.database, table.name, field.name, position, *facts
