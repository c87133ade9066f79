"""Parts of new tables that several statements use: format, Hive partitions, and caching by name."""

from __future__ import annotations

from sharkpy.base import uri
from sharkpy.base.errors import ColumnNotFoundError, did_you_mean
from sharkpy.base.settings import CACHE_CHECK_NAME
from sharkpy.catalog.avro_schema import schema_path, with_schema_text
from sharkpy.catalog.hive_formats import columns_of_format
from sharkpy.catalog.model import StorageFormat, TableKind
from sharkpy.plan.commands import Properties
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sql.statements.bind_columns import check_column
from sharkpy.sql.statements.bind_partition import check_partition_fields
from sharkpy.sql.statements.bind_storage import combined, with_options
from sharkpy.sql.statements.bind_table_clauses import TableClauses
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.values.types import Field


def storage_of_clauses(binder: CommandBinder, clauses: TableClauses) -> StorageFormat | None:
    storage = combined(binder.reader, clauses.row, clauses.file)
    if not clauses.options:
        return storage
    if storage is None:
        raise binder.reader.error("USING and a format expected, whose OPTIONS these are")
    return with_options(binder.reader, storage, clauses.options)


def columns_by_format(
    binder: CommandBinder, storage: StorageFormat, properties: Properties, fields: list[Field] | None
) -> list[Field] | None:
    """Return the columns of a new table or stream, which its format may decide.

    Raise NotAllowedError if the schema is in a file that the session may not read.
    """
    given = (*properties, *storage.properties)
    if (path := schema_path(given)) is not None and not uri.is_remote(path):
        binder.context.catalog.check_path(path)
    return columns_of_format(storage, with_schema_text(given, binder.context.catalog.named_schema_text), fields)


def partitioned_columns(
    binder: CommandBinder,
    kind: TableKind,
    fields: list[Field],
    query: LogicalPlan | None,
    partitions: list[Field] | list[str],
) -> tuple[list[Field], LogicalPlan | None, tuple[str, ...]]:
    """Return all columns and the query's columns, with partition columns last, and the names of the latter."""
    reader = binder.reader
    if not partitions:
        return fields, query, ()
    if kind is TableKind.TEMPORARY:
        raise reader.unsupported("PARTITIONED BY in CREATE TEMPORARY TABLE")
    given = [one for one in partitions if isinstance(one, Field)]
    names = tuple(one if isinstance(one, str) else one.name for one in partitions)
    if query is not None and given:
        raise reader.error("in CREATE TABLE AS SELECT, PARTITIONED BY takes only names of the query's columns")
    stored = {field.name for field in fields}
    for field in given:
        check_column(binder, stored, field, None)
    by_name = {field.name: field for field in [*fields, *given]}
    if query is None and not given and not by_name.keys() >= set(names):
        raise reader.error("a type for each column in PARTITIONED BY expected, or names of listed columns")
    if unknown := next((name for name in names if name not in by_name), None):
        hint = did_you_mean(unknown, by_name)
        raise binder.error(f'no column "{unknown}" to be partitioned by', None, ColumnNotFoundError, hint)
    if len(names) == len(by_name):
        raise binder.error("a table needs a column that is not in PARTITIONED BY", None)
    check_partition_fields(binder, [by_name[name] for name in names], None)
    order = [name for name in by_name if name not in names] + list(names)
    if query is not None:
        columns = {column.name: column for column in query.output}
        query = Project(query, tuple(columns[name] for name in order))
    return [by_name[name] for name in order], query, names


def cached_by_name(binder: CommandBinder, name: str, properties: Properties) -> Properties:
    """Return the properties of a new table.

    As in Shark, a table named *_cached is cached unless the properties say otherwise.
    """
    if not name.endswith("_cached") or not binder.context.conf.value(CACHE_CHECK_NAME):
        return properties
    return properties if "shark.cache" in dict(properties) else (*properties, ("shark.cache", "MEMORY"))
