"""CREATE VIEW, DROP TABLE and VIEW, ALTER TABLE."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.avro_schema import LITERAL, URL
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.hive_formats import with_storage_properties
from sharkpy.catalog.model import CACHE_PROPERTY, PURGE_PROPERTY, StorageFormat, Table, TableKind
from sharkpy.catalog.path_gate import local_path, path_or_uri
from sharkpy.catalog.stream_kinds import KINDS, check_changed, check_new_columns
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.storage import (
    EXTERNAL,
    check_named_files,
    check_properties,
    kind_of_property,
    managed_folder,
    stored_schema,
    with_kept_schema,
)
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import CreateView, DropTable, RenameTable, SetTableProperties
from sharkpy.sources.file_errors import io_error

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.execution.tables.table_cache import TableCache

COMMENT = "comment"


def temporary_folder(catalog: Catalog, table_id: str) -> str:
    """Return the folder of a temporary table without LOCATION. It is deleted with the table."""
    return str(Path(catalog.state_dir, "temporary", table_id))


def create_view(command: CreateView, session: EngineSession) -> CommandResult:
    view = Table(
        new_table_id(),
        command.database,
        command.name,
        TableKind.TEMPORARY_VIEW if command.temporary else TableKind.VIEW,
        stored_schema(command.schema),
        properties=command.properties,
        comment=command.comment,
        view_text=command.text,
        partition_columns=command.partition_columns,
        owner=user_name(session.conf),
        written_text=None if command.written == command.text else command.written,
    )
    try:
        session.catalog.create_table(view, replace=command.or_replace)
    except TableExistsError:
        if not command.if_not_exists:
            raise
    return NOTHING


def drop_table(command: DropTable, session: EngineSession) -> CommandResult:
    """Drop a table. The data of a managed or temporary table is deleted, that of an external one stays."""
    table = command.table
    if table is None:
        return NOTHING
    if table.owns_data:
        session.catalog.check_owned_folders(table)
    _drop(table, session.catalog, session.table_cache)
    return NOTHING


def drop_temporary_tables(catalog: Catalog, cache: TableCache) -> None:
    """Drop temporary tables, at the end of their session."""
    for table in catalog.temporary_tables():
        _drop(table, catalog, cache)


def _drop(table: Table, catalog: Catalog, cache: TableCache) -> None:
    catalog.drop_table(table)
    release_dropped(table, catalog, cache)


def release_dropped(table: Table, catalog: Catalog, cache: TableCache) -> None:
    """Release the blocks and files of a table that is no longer in the catalog."""
    cache.drop(table)
    if table.owns_data:
        catalog.collect_garbage()
    elif table.kind is TableKind.TEMPORARY and table.location == temporary_folder(catalog, table.table_id):
        catalog.trash.discard(table.location)


def rename_table(command: RenameTable, session: EngineSession) -> CommandResult:
    """Rename a table.

    A managed table's folder is renamed too if it is at the default location and local; remote storage has no renames.
    """
    table, catalog = command.table, session.catalog
    renamed = dataclasses.replace(table, database=command.database, name=command.name)
    is_moved = table.kind is TableKind.MANAGED and not uri.is_remote(table.location or "")
    if not is_moved or table.location != catalog.managed_location(table.database, table.name):
        catalog.alter_table(renamed, was=table)
        return NOTHING
    source = local_path(table.location or "")
    target = path_or_uri(catalog.managed_location(command.database, command.name))
    if uri.is_remote(target):
        # The new database is remote, so the files stay.
        catalog.alter_table(renamed, was=table)
        return NOTHING
    for folder in (source, target):
        session.restrictions.gate.check_folder(folder)
    moved = dataclasses.replace(renamed, location=target)
    catalog.alter_table(moved, was=table, publish=lambda: _move_folder(source, target))
    return NOTHING


def _move_folder(source: str, target: str) -> None:
    """Move a folder by one rename: the data is either at the old or the new place."""
    try:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        if Path(target).is_dir() and any(Path(target).iterdir()):
            raise TableExistsError(f'folder "{target}" of the new name exists and is not empty')
        if Path(source).is_dir():
            Path(source).rename(target)
    except OSError as error:
        raise io_error(error, target) from None


def _kind(table: Table, external: str, session: EngineSession) -> TableKind:
    """Return the table's kind, managed or external, for the value of property EXTERNAL."""
    kind = kind_of_property(external)
    if table.kind not in (TableKind.MANAGED, TableKind.EXTERNAL):
        raise BindError(f'"{table.name}" can be neither external nor managed', sqlstate="42809")
    managed_folder(table.location or "", kind, session, table.table_id)
    return kind


def check_purge(table: Table, properties: dict[str, str], session: EngineSession) -> None:
    """Raise BindError if an external table is to be purged but its folder may not be deleted."""
    is_purged = properties.get(PURGE_PROPERTY, "").lower() == "true"
    if is_purged and table.kind is TableKind.EXTERNAL and not table.owns_data:
        managed_folder(table.location or "", TableKind.MANAGED, session, table.table_id)


def _stream_storage(
    stream: Table, given: dict[str, str], kept: tuple[tuple[str, str], ...], session: EngineSession
) -> StorageFormat:
    """Return a stream's format with the given properties.

    The text of a remote schema is replaced only when a statement names a schema.
    """
    storage = stream.storage
    if URL in given and LITERAL not in dict(kept):
        storage = dataclasses.replace(storage, properties=tuple(one for one in storage.properties if one[0] != LITERAL))
    storage = with_storage_properties(storage, tuple(given.items()))
    return with_kept_schema(storage, session) if URL in given else storage


def set_table_properties(command: SetTableProperties, session: EngineSession) -> CommandResult:
    """Set properties; `comment` and `EXTERNAL` set the table's comment and kind, as in Hive."""
    check_properties(command.properties)
    old, given = command.table, dict(command.properties)
    if old.stream is not None:
        check_changed(KINDS[old.stream.kind], [name for name in given if dict(old.properties).get(name) != given[name]])
    check_purge(old, given, session)
    kind = old.kind if EXTERNAL not in given else _kind(old, given.pop(EXTERNAL), session)
    comment = given.pop(COMMENT, old.comment)
    properties = dict(old.properties) | given
    kept = tuple((key, value) for key, value in properties.items() if key not in command.unset)
    storage = (
        _stream_storage(old, given, kept, session) if old.is_stream else with_storage_properties(old.storage, kept)
    )
    if storage != old.storage:
        check_named_files(storage.properties, session)
    altered = dataclasses.replace(old, kind=kind, properties=kept, storage=storage, comment=comment)
    check_new_columns(altered)
    if old.location is None and not old.is_view and altered.cache_mode is not old.cache_mode:
        raise UnsupportedError(f'"{old.name}" is in memory only: its shark.cache cannot be changed')
    session.catalog.alter_table(altered, was=old)
    session.table_cache.properties_changed(old, altered)
    state = session.catalog.state_table(altered)
    if state is not None and state.cache_mode is not altered.cache_mode:
        mode = (CACHE_PROPERTY, altered.cache_mode.value)
        return set_table_properties(dataclasses.replace(command, table=state, properties=(mode,), unset=()), session)
    return NOTHING
