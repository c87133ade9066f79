"""Storage clauses of a statement: checks and defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError, ConfigurationError, UnsupportedError
from sharkpy.base.settings import (
    CACHE_CHECK_NAME,
    DEFAULT_FORMAT,
    RCFILE_SERDE,
    RETENTION,
    Conf,
    duration_seconds,
)
from sharkpy.catalog.avro_schema import schema_path, with_schema_text
from sharkpy.catalog.hive_formats import WORDS, format_of_word, with_default_serde, with_storage_properties
from sharkpy.catalog.model import (
    CACHE_PROPERTY,
    POLICY_KEY,
    POLICY_SIZE_KEY,
    CacheMode,
    CachePolicy,
    StorageFormat,
    TableKind,
)
from sharkpy.catalog.path_gate import local_path
from sharkpy.catalog.table_folders import TableFolders, holds_files
from sharkpy.catalog.trash import is_shared_folder, require_own_folder
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.expr import Alias, Cast
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sources.formats import source
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.remote_files import has_files
from sharkpy.values.types import NULL, STRING, ArrayType, DataType, MapType, Schema, StructType, is_interval

Properties = tuple[tuple[str, str], ...]
EXTERNAL = "EXTERNAL"
"""Property that makes a table external or managed. It sets the table's kind and is not stored."""


def check_properties(properties: Sequence[tuple[str, str]]) -> None:
    """Raise ConfigurationError if the value of a property for the cache or for the retention is invalid."""
    mode = dict(properties).get(CACHE_PROPERTY)
    known = [*CacheMode.__members__, "TRUE", "FALSE"]
    if mode is not None and mode.upper() not in known:
        hint = f"use one of {', '.join(known)}"
        raise ConfigurationError(f'"{mode}" is not a value of {CACHE_PROPERTY}', hint=hint, sqlstate="22023")
    _check_policy(dict(properties))
    duration_seconds(dict(properties).get(RETENTION.key, "0"))


def _check_policy(properties: dict[str, str]) -> None:
    size = properties.get(POLICY_SIZE_KEY)
    if size is not None and not (size.isdigit() and int(size) > 0):
        raise ConfigurationError(f'"{size}" is not a value of {POLICY_SIZE_KEY}', sqlstate="22023")
    policy = properties.get(POLICY_KEY, "All")
    try:
        CachePolicy.parse(policy, size)
    except ValueError:
        hint = "All, LRU(n) or FIFO(n) with n from 1"
        raise ConfigurationError(f'"{policy}" is not a value of {POLICY_KEY}', hint=hint, sqlstate="22023") from None


def kind_of_property(external: str) -> TableKind:
    """Return the kind of table for the value of property EXTERNAL. Raise ConfigurationError if it is invalid."""
    kinds = {"true": TableKind.EXTERNAL, "false": TableKind.MANAGED}
    if external.lower() not in kinds:
        raise ConfigurationError(f'"{external}" is not a value of {EXTERNAL}', hint="TRUE or FALSE", sqlstate="22023")
    return kinds[external.lower()]


def with_cache_property(name: str, properties: Properties, conf: Conf) -> Properties:
    """Return the properties, with caching switched on for a table named *_cached unless they set it."""
    if name.lower().endswith("_cached") and CACHE_PROPERTY not in dict(properties) and conf.value(CACHE_CHECK_NAME):
        return (*properties, (CACHE_PROPERTY, CacheMode.MEMORY.value))
    return properties


def storage_format(
    storage: StorageFormat | None, properties: Properties, session: EngineSession, *, is_from_query: bool = False
) -> StorageFormat:
    """Return the statement's storage format, or the default: text, as in Hive.

    A table made from a query is Parquet by default, so that strings with line breaks survive. Raise NotAllowedError if
    a property names a file out of the session's bounds.
    """
    conf = session.conf
    if storage is None:
        is_set = DEFAULT_FORMAT.key in dict(conf.changes())
        name = "parquet" if is_from_query and not is_set else conf.value(DEFAULT_FORMAT)
        storage = format_of_word(name)
        if storage is None:
            raise UnsupportedError(
                f'file format "{name}" of {DEFAULT_FORMAT.key} is not supported (known: {", ".join(WORDS)})'
            )
    storage = with_default_serde(storage, conf.value(RCFILE_SERDE))
    completed = with_storage_properties(storage, properties)
    check_named_files(completed.properties, session)
    return completed


def check_named_files(properties: Properties, session: EngineSession) -> None:
    """Raise NotAllowedError if properties of a format name a file out of the session's bounds.

    The session's own storage keys do not extend the bounds: later readers of the table have other keys.
    """
    if (path := schema_path(properties)) is not None:
        session.restrictions.check_location(path)


def epoch_format(
    storage: StorageFormat | None, properties: Properties, session: EngineSession, *, is_from_query: bool = False
) -> StorageFormat:
    """Return `storage_format` for a stream or sink, with the current text of a remote schema."""
    return with_remote_schema(storage_format(storage, properties, session, is_from_query=is_from_query), session)


def with_remote_schema(storage: StorageFormat, session: EngineSession) -> StorageFormat:
    """Return the format of a stream or sink with the text of a remote schema that it names.

    So readers and background epochs need no access to the storage.
    """
    check_named_files(storage.properties, session)
    properties = with_schema_text(storage.properties, session.catalog.named_schema_text)
    return dataclasses.replace(storage, properties=properties)


def kind_at(location: str, kind: TableKind, session: EngineSession) -> TableKind:
    """Return the kind of a table with a LOCATION: external if files exist there, which DROP then keeps.

    A folder that no managed table may have remains an error of `managed_folder`.
    """
    if uri.is_remote(location):
        if kind is not TableKind.MANAGED:
            return kind
        session.restrictions.check_location(location)
        return TableKind.EXTERNAL if has_files(location, session.catalog.named_access_id(location)) else kind
    path = local_path(location)
    is_refused = is_shared_folder(path) or _holds_warehouse(path, session)
    return TableKind.EXTERNAL if kind is TableKind.MANAGED and not is_refused and holds_files(location) else kind


def _holds_warehouse(path: str, session: EngineSession) -> bool:
    catalog = session.catalog
    if uri.is_remote(path):
        return uri.is_remote(catalog.warehouse_dir) and uri.below(catalog.warehouse_dir, path) is not None
    return Path(catalog.home).resolve().is_relative_to(Path(path).resolve())


def is_occupied(usual: str, session: EngineSession) -> bool:
    """True if a new table's default location has another table's files, whose table was renamed.

    Always False for a metastore, which is not asked for all its tables.
    """
    if session.catalog.is_shared or not (uri.is_remote(usual) or Path(usual).exists()):
        return False
    return TableFolders(session.catalog).folder_inside(usual) is not None


def managed_folder(location: str, kind: TableKind, session: EngineSession, besides: str | None = None) -> str:
    """Check a LOCATION and return its path or URI. `besides` is the id of the table itself, if it exists.

    Raise NotAllowedError if the session may not use it. Raise BindError if dropping a managed table there would delete
    the warehouse or another owner's files. Raise UnsupportedError if the storage cannot be written.
    """
    session.restrictions.check_location(location)
    path = _remote_folder(location, kind, session) if uri.is_remote(location) else local_path(location)
    if kind is not TableKind.EXTERNAL:
        session.restrictions.gate.require_below(path)
        require_own_folder(path, "dropping a table that is not external")
    if kind is not TableKind.EXTERNAL and _holds_warehouse(path, session):
        message = f'the folder "{path}" holds the warehouse: only an external table can be there'
        raise BindError(message, sqlstate="42000")
    if kind is TableKind.MANAGED and (other := TableFolders(session.catalog).folder_inside(path, besides)) is not None:
        message = f'the folder "{path}" holds the files of {other.owner}: only an external table can be there'
        raise BindError(message, sqlstate="42000")
    return path


def _remote_folder(location: str, kind: TableKind, session: EngineSession) -> str:
    """Return a remote LOCATION.

    Raise UnsupportedError if the table is not external and the storage cannot be written.
    """
    from sharkpy.sources.storage.stores import is_supported

    if not is_supported(location):
        return local_path(location)
    if kind is TableKind.EXTERNAL:
        return location.rstrip("/")
    traits = store_for_access(location, session.catalog.named_access_id(location)).traits
    if not (traits.writes and traits.lists):
        message = f'only an external table can be in "{uri.redacted(location)}": its server is read-only'
        raise UnsupportedError(message, hint="use CREATE EXTERNAL TABLE")
    return location.rstrip("/")


def check_storage(storage: StorageFormat, schema: Schema, session: EngineSession) -> None:
    """Check that the format accepts the properties and columns.

    Raise ConfigurationError or UnsupportedError if it does not, NotAllowedError if the properties name a file out of
    the session's bounds.
    """
    check_named_files(storage.properties, session)
    properties = with_schema_text(storage.properties, session.catalog.named_schema_text)
    source(storage.name).check(schema, properties)


def stored_schema(schema: Schema) -> Schema:
    """Return the schema with STRING for columns of type NULL.

    Raise UnsupportedError for types that cannot be stored.
    """
    for field in schema:
        if is_interval(field.dtype):
            raise UnsupportedError(f'column "{field.name}" of type {field.dtype} cannot be stored')
    return Schema(tuple(dataclasses.replace(field, dtype=stored_type(field.dtype)) for field in schema))


def stored_type(dtype: DataType) -> DataType:
    match dtype:
        case ArrayType(element):
            return ArrayType(stored_type(element))
        case MapType(key, value):
            return MapType(stored_type(key), stored_type(value))
        case StructType(names, types):
            return StructType(names, tuple(stored_type(t) for t in types))
    return STRING if dtype == NULL else dtype


def stored_query(query: LogicalPlan, schema: Schema) -> LogicalPlan:
    """Return the query with its columns cast to `schema` (its `stored_schema`) if they differ."""
    if all(column.dtype == field.dtype for column, field in zip(query.output, schema, strict=True)):
        return query
    top = max(used_ids(query), default=0)
    items = tuple(
        column if column.dtype == field.dtype else Alias(Cast(column, field.dtype), top + index, field.name)
        for index, (column, field) in enumerate(zip(query.output, schema, strict=True), start=1)
    )
    return Project(query, items)


def used_ids(plan: LogicalPlan) -> set[int]:
    """Return all column ids in `plan` and its subqueries."""
    from sharkpy.plan.subqueries import SUBQUERIES

    found: set[int] = set()
    for node in plan.walk():
        found |= node.output_ids
        for expr in node.expressions:
            for inner in expr.walk():
                found |= {getattr(inner, "column_id", 0)}
                if isinstance(inner, SUBQUERIES):
                    found |= used_ids(inner.plan)
    return found
