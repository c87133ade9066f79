"""Calls about names: databases, tables, columns and functions, for lists and for completion in an editor."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import Response

from sharkpy.base.errors import DatabaseNotFoundError, TableNotFoundError
from sharkpy.base.records import dataclass
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.udf import registry
from sharkpy.udf.function import AggregateFunction, Function, RelationFunction, TableFunction, WindowFunction
from sharkpy.web.errors import RefusedError
from sharkpy.web.listings import check_parameters, number, page_of, tagged
from sharkpy.web.requests import ApiRequest, Parameter

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.system_tables import SystemTable
    from sharkpy.values.types import Field

_MOST_TABLES = 10_000
_MOST_COLUMNS = 2_000
_SYSTEM = "system table"
_KINDS = {
    TableKind.MANAGED: "table",
    TableKind.EXTERNAL: "external table",
    TableKind.TEMPORARY: "temporary table",
    TableKind.VIEW: "view",
    TableKind.TEMPORARY_VIEW: "temporary view",
}

CATALOG_PARAMETERS = (
    Parameter("database", "The tables of this database"),
    Parameter("text", "A part of the name, in any case of letters"),
    Parameter("limit", f"Most tables, at most {_MOST_TABLES}", int),
    Parameter("cursor", "`next` of the page before"),
)


@dataclass(frozen=True, slots=True)
class CatalogDatabase:
    """A database. `is_system`: its tables are the engine's own."""

    name: str
    comment: str | None
    num_tables: int
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of a list. `kind`: table, view, stream, continuous table, system table and so on."""

    database: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class CatalogAnswer:
    """Page of tables by database and name. `databases` has all databases, each with its number of tables."""

    databases: list[CatalogDatabase]
    tables: list[CatalogTable]
    next: str | None


def kind_of(table: Table) -> str:
    return table.streaming_kind or _KINDS.get(table.kind, "table")


def catalog(request: ApiRequest) -> Response:
    """List the tables that queries of the API can read: the engine's own session may also have temporary ones."""
    check_parameters(request, CATALOG_PARAMETERS)
    given, known = request.http.query_params, request.parts.engine_session.catalog
    limit = number(request, "limit", _MOST_TABLES, 1, _MOST_TABLES)
    systems = _system_databases(known)
    by_database = {name: list(_tables(known, name)) for name in known.database_names()} | systems
    databases = [
        CatalogDatabase(name, _comment(known, name), len(tables), name in systems)
        for name, tables in by_database.items()
    ]
    wanted, part = given.get("database"), given.get("text", "").lower()
    tables = [
        one
        for name, found in by_database.items()
        if not wanted or name == wanted.lower()
        for one in found
        if not part or part in f"{one.database}.{one.name}"
    ]
    tables.sort(key=_place)
    start = bisect_right(tables, (given["cursor"]), key=_place) if given.get("cursor") else 0
    page = tables[start : start + limit]
    following = _place(page[-1]) if page and start + limit < len(tables) else None
    return tagged(request, CatalogAnswer(databases, page, following))


def _place(table: CatalogTable) -> str:
    # No name has a full stop.
    return f"{table.database}.{table.name}"


def _tables(known: Catalog, database: str) -> Iterator[CatalogTable]:
    try:
        tables = known.tables(database)
    except DatabaseNotFoundError:  # It was dropped meanwhile.
        return
    yield from (CatalogTable(database, one.name, kind_of(one)) for one in tables if one.kind not in TEMPORARY_KINDS)


def _system_databases(known: Catalog) -> dict[str, list[CatalogTable]]:
    """Return the engine's own databases that no user's database hides, with their tables."""
    found: dict[str, list[CatalogTable]] = {}
    for one in known.surroundings.system_tables().values():
        found.setdefault(one.database, []).append(CatalogTable(one.database, one.name, _SYSTEM))
    return {name: tables for name, tables in found.items() if known.find_database(name) is None}


def _comment(known: Catalog, name: str) -> str | None:
    found = known.find_database(name)
    return None if found is None else found.comment


COLUMN_PARAMETERS = (
    Parameter("offset", "Columns that are left out at the beginning", int),
    Parameter("limit", f"Most columns, at most {_MOST_COLUMNS}", int),
)


@dataclass(frozen=True, slots=True)
class TableColumn:
    """Column of a table. `is_partition`: its values are in the names of Hive partitions."""

    name: str
    type: str
    comment: str | None
    is_partition: bool
    is_required: bool
    """Whether NOT NULL is enforced."""
    default: str | None


@dataclass(frozen=True, slots=True)
class ColumnsAnswer:
    """Page of columns, in the table's order, and their number."""

    columns: list[TableColumn]
    num_columns: int


def columns(request: ApiRequest) -> ColumnsAnswer:
    shown = page_of(request, COLUMN_PARAMETERS, _MOST_COLUMNS, _MOST_COLUMNS)
    if (system := system_table(request)) is not None:
        fields = list(system.schema)
        return ColumnsAnswer([_column(one) for one in fields[shown]], len(fields))
    table = table_of(request)
    fields, partitions = list(table.shown_schema), frozenset(table.partition_columns)
    enabled = [one for one in table.constraints if one.is_enabled]
    required = {name for one in enabled if one.kind == "NOT NULL" for name in one.columns}
    defaults = {one.columns[0]: one.text for one in enabled if one.kind == "DEFAULT"}
    page = [
        TableColumn(
            one.name,
            str(one.dtype),
            one.comment,
            one.name in partitions,
            one.name in required,
            defaults.get(one.name),
        )
        for one in fields[shown]
    ]
    return ColumnsAnswer(page, len(fields))


def _column(field: Field) -> TableColumn:
    return TableColumn(field.name, str(field.dtype), field.comment, False, False, None)


def table_of(request: ApiRequest) -> Table:
    """Return the table of the path. Raise RefusedError 404 if there is none."""
    database, name = (str(request.http.path_params[one]) for one in ("database", "name"))
    try:
        return request.parts.engine_session.catalog.table(database, name)
    except (TableNotFoundError, DatabaseNotFoundError) as error:
        raise RefusedError(HTTPStatus.NOT_FOUND, error.message, error.sqlstate, error.hint) from None


def system_table(request: ApiRequest) -> SystemTable | None:
    """Return the engine's own table of the path, or None if its database is not one of the engine's."""
    database, name = (str(request.http.path_params[one]).lower() for one in ("database", "name"))
    try:
        return request.parts.engine_session.catalog.system_table(database, name)
    except TableNotFoundError as error:
        raise RefusedError(HTTPStatus.NOT_FOUND, error.message, error.sqlstate, error.hint) from None


@dataclass(frozen=True, slots=True)
class FunctionPage:
    """A function that queries can call. `usage` is the call, with optional parts in brackets.

    `kind`: function, aggregate, window function, table function, function of whole tables, or user's function.
    """

    name: str
    kind: str
    usage: str
    doc: str


@dataclass(frozen=True, slots=True)
class FunctionsAnswer:
    functions: list[FunctionPage]


def functions(request: ApiRequest) -> Response:
    """List the functions of SHOW FUNCTIONS that can be called, without operators, as DESCRIBE FUNCTION shows them."""
    known = request.parts.engine_session.catalog.functions
    users = []
    for entry in known.entries():
        # Only the code of a function knows its arguments, and listing must not load code.
        usage = f"{entry.qualified_name}(…)" if entry.macro is None else f"{entry.database}.{entry.macro.signature}"
        users.append(FunctionPage(entry.qualified_name, "user's function", usage, ""))
    return tagged(request, FunctionsAnswer([*_built_in(), *users]))


@cache
def _built_in() -> tuple[FunctionPage, ...]:
    rows = ((name, registry.described(name) or registry.special_form(name)) for name in sorted(registry.listed()))
    return tuple(
        FunctionPage(name, _kind(row), row.usage_as(name), row.doc)
        for name, row in rows
        if row is not None and name.isidentifier() and "(" in row.usage
    )


def _kind(row: Function) -> str:
    match row:
        case AggregateFunction():
            return "aggregate"
        case WindowFunction():
            return "window function"
        case TableFunction():
            return "table function"
        case RelationFunction():
            return "function of whole tables"
    return "function"
