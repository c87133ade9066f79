"""SQLAlchemy dialect: URLs, connections, and reflection straight from the catalog."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import schema as schema_items
from sqlalchemy.engine import reflection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.exc import ArgumentError, NoSuchTableError

from sharkpy.catalog.model import Table, TableKind
from sharkpy.sqlalchemy.compiler import SharkCompiler, SharkDDLCompiler, SharkIdentifierPreparer, SharkTypeCompiler
from sharkpy.sqlalchemy.types import to_sqlalchemy

if TYPE_CHECKING:
    from types import ModuleType

    from sqlalchemy.engine import URL, Connection
    from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedPrimaryKeyConstraint, ReflectedTableComment

    from sharkpy.dbapi import Error
    from sharkpy.session.shark_context import SharkContext

_TABLES = (TableKind.MANAGED, TableKind.EXTERNAL)


class SharkDialect(DefaultDialect):
    name = "sharkpy"
    driver = "dbapi"
    supports_statement_cache = True
    statement_compiler = SharkCompiler
    ddl_compiler = SharkDDLCompiler
    type_compiler_cls = SharkTypeCompiler
    preparer = SharkIdentifierPreparer  # type: ignore[assignment]
    construct_arguments = [
        (schema_items.Column, {"partition": False}),
        (schema_items.Table, {"stored_as": "PARQUET", "location": None, "properties": None}),
    ]
    max_identifier_length = 255
    supports_alter = False
    supports_comments = True
    inline_comments = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_multivalues_insert = True
    supports_empty_insert = False
    supports_sane_rowcount = True
    supports_sane_multi_rowcount = True
    postfetch_lastrowid = False
    div_is_floordiv = False
    cte_follows_insert = False

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        from sharkpy import dbapi

        return dbapi

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        if url.host or url.username:
            raise ArgumentError("sharkpy:// is an engine in this process; a server is reached with hive://host:port")
        arguments: dict[str, Any] = {key: _single(key, value) for key, value in url.query.items()}
        if url.database:
            arguments["warehouse"] = f"/{url.database.lstrip('/')}"
        return [], arguments

    # Transactions and errors

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing: SQLAlchemy also calls this for connections that return to the pool."""

    def do_execute(self, cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        """Run a statement. Skip an empty one, such as a compiled CREATE INDEX."""
        if statement:
            super().do_execute(cursor, statement, parameters, context)  # type: ignore[no-untyped-call]

    def get_isolation_level(self, dbapi_connection: Any) -> Any:  # noqa: ARG002 - as overridden, here and below
        return "AUTOCOMMIT"

    def get_isolation_level_values(self, dbapi_conn: Any) -> Sequence[Any]:  # noqa: ARG002
        return ["AUTOCOMMIT"]

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Do nothing: there is only one isolation level."""

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:  # noqa: ARG002
        error: Error = e
        return getattr(error, "sqlstate", "").startswith("08") or bool(connection and connection.is_closed)

    # Reflection

    def _get_server_version_info(self, connection: Connection) -> tuple[int, ...]:  # noqa: ARG002
        from sharkpy.base.version import __version__

        return tuple(int(part) for part in __version__.split("."))

    def _get_default_schema_name(self, connection: Connection) -> str:
        return _session(connection).current_database

    @reflection.cache
    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:  # noqa: ARG002
        return _session(connection).catalog.database_names()

    @reflection.cache
    def get_table_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:  # noqa: ARG002
        return _names(connection, schema, _TABLES)

    @reflection.cache
    def get_view_names(self, connection: Connection, schema: str | None = None, **kw: Any) -> list[str]:  # noqa: ARG002
        return _names(connection, schema, (TableKind.VIEW,))

    @reflection.cache
    def get_temp_table_names(
        self,
        connection: Connection,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> list[str]:
        return _names(connection, schema, (TableKind.TEMPORARY,))

    @reflection.cache
    def get_temp_view_names(
        self,
        connection: Connection,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> list[str]:
        return _names(connection, schema, (TableKind.TEMPORARY_VIEW,))

    def has_table(self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any) -> bool:  # noqa: ARG002
        return _find(connection, table_name, schema) is not None

    @reflection.cache
    def get_columns(
        self,
        connection: Connection,
        table_name: str,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> list[ReflectedColumn]:
        table = _table(connection, table_name, schema)
        return [
            {
                "name": field.name,
                "type": to_sqlalchemy(field.dtype),
                "nullable": True,
                "default": None,
                "autoincrement": False,
                "comment": field.comment,
                "dialect_options": {"sharkpy_partition": field.name in table.partition_columns},
            }
            for field in table.shown_schema
        ]

    @reflection.cache
    def get_table_comment(
        self,
        connection: Connection,
        table_name: str,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> ReflectedTableComment:
        return {"text": _table(connection, table_name, schema).comment}

    @reflection.cache
    def get_view_definition(
        self,
        connection: Connection,
        view_name: str,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> str:
        table = _table(connection, view_name, schema)
        if table.view_text is None:
            raise NoSuchTableError(view_name)
        return table.view_text

    @reflection.cache
    def get_pk_constraint(
        self,
        connection: Connection,
        table_name: str,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> ReflectedPrimaryKeyConstraint:
        _table(connection, table_name, schema)
        return {"name": None, "constrained_columns": []}

    def _nothing(self, connection: Connection, table_name: str, schema: str | None = None, **_: Any) -> list[Any]:
        """Return an empty list: no table has such objects."""
        _table(connection, table_name, schema)
        return []

    get_foreign_keys = get_indexes = get_unique_constraints = get_check_constraints = _nothing


def _single(key: str, value: str | Sequence[str]) -> str:
    if not isinstance(value, str):
        raise ArgumentError(f'"{key}" is given {len(value)} times in the URL')
    return value


def _session(connection: Connection) -> SharkContext:
    session: SharkContext = connection.connection.driver_connection.session  # type: ignore[union-attr]
    return session


def _find(connection: Connection, name: str, schema: str | None) -> Table | None:
    session = _session(connection)
    return session.catalog.find_table(schema or session.current_database, name)


def _table(connection: Connection, name: str, schema: str | None) -> Table:
    found = _find(connection, name, schema)
    if found is None:
        raise NoSuchTableError(f"{schema}.{name}" if schema else name)
    return found


def _names(connection: Connection, schema: str | None, kinds: Collection[TableKind]) -> list[str]:
    """Return the names in a database; an empty list if the database is missing."""
    session = _session(connection)
    database = schema or session.current_database
    if session.catalog.find_database(database) is None:
        return []
    return [table.name for table in session.catalog.tables(database) if table.kind in kinds]
