"""CREATE VIEW, DROP, ALTER, CACHE and UNCACHE of tables.

ALTER changes properties in the catalog: names, columns, formats, locations, buckets, constraints. Data does not
change.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import BindError, TableExistsError, UnsupportedError
from sharkpy.base.settings import RCFILE_SERDE
from sharkpy.base.users import user_name
from sharkpy.catalog.avro_schema import LITERAL, URL
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.hive_formats import with_default_serde, with_serde_properties, with_storage_properties
from sharkpy.catalog.model import CACHE_PROPERTY, PURGE_PROPERTY, CacheMode, StorageFormat, Table, TableKind
from sharkpy.catalog.path_gate import local_path, path_or_uri
from sharkpy.catalog.stream_kinds import KINDS, check_changed, check_new_columns
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.partition_spec import matching_spec, no_such_partition
from sharkpy.execution.commands.storage import (
    EXTERNAL,
    check_named_files,
    check_properties,
    check_storage,
    kind_at,
    kind_of_property,
    managed_folder,
    stored_schema,
    with_remote_schema,
)
from sharkpy.execution.commands.writes.staged_write import folder_at
from sharkpy.execution.commands.writes.table_files import load_new_blocks
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.adopted_folders import make_plain
from sharkpy.plan.commands import (
    AlterPartition,
    AlterTable,
    CacheTable,
    ClearCache,
    CreateView,
    DropTable,
    RenameTable,
    SetTableProperties,
    TouchTable,
    UncacheTable,
)
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
    session.catalog.drop_table(table, is_purged=command.is_purged)
    release_dropped(table, session.catalog, session.table_cache)
    return NOTHING


def drop_temporary_tables(catalog: Catalog, cache: TableCache) -> None:
    """Drop temporary tables, at the end of their session."""
    for table in catalog.temporary_tables():
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

    A managed table's folder is renamed too if it is at the default location, local, and listed. Logged files stay in
    their places, and remote storage has no renames.
    """
    table, catalog = command.table, session.catalog
    renamed = dataclasses.replace(table, database=command.database, name=command.name)
    location = table.location or ""
    is_default = table.kind is TableKind.MANAGED and location == catalog.managed_location(table.database, table.name)
    if not is_default or uri.is_remote(location) or catalog.log.find(location) is not None:
        catalog.alter_table(renamed, was=table)
        return NOTHING
    source = local_path(location)
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
    return with_remote_schema(storage, session) if URL in given else storage


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
    becomes_plain = kind is TableKind.EXTERNAL and session.catalog.log.find(old.location or "") is not None
    publish = partial(make_plain, old, session.catalog) if becomes_plain else None
    with session.catalog.readers.reading(old.location or ""):
        session.catalog.alter_table(altered, was=old, publish=publish)
    if becomes_plain:
        session.catalog.collect_garbage()
    session.table_cache.properties_changed(old, altered)
    state = session.catalog.state_table(altered)
    if state is not None and state.cache_mode is not altered.cache_mode:
        mode = (CACHE_PROPERTY, altered.cache_mode.value)
        return set_table_properties(dataclasses.replace(command, table=state, properties=(mode,), unset=()), session)
    return NOTHING


def alter_table(command: AlterTable, session: EngineSession) -> CommandResult:
    """Alter a table. Its files are read in the new form from now on, and blocks of the old form are dropped.

    Existing Hive partitions keep their locations.
    """
    old, altered = command.table, command.altered
    if not old.is_view:
        altered = _checked(old, altered, session)
    if old.is_partitioned and altered.location != old.location:
        with session.catalog.partition_changes(old) as changes:
            for one in list(changes.known.values()):
                changes.alter(one, dataclasses.replace(one, location=one.folder(old)))
            session.catalog.alter_table(altered, was=old, cascade=command.is_cascading)
    else:
        with session.catalog.transaction():
            session.catalog.alter_table(altered, was=old, cascade=command.is_cascading)
            if altered.location != old.location and session.catalog.newest_generation(altered) is not None:
                # A generation's number is valid only in its folder, so it is read from the new one.
                newest = folder_at(altered.location or "", session).newest()
                session.catalog.streams.set_newest(altered.table_id, newest)
    session.table_cache.properties_changed(old, altered)
    return NOTHING


def _checked(old: Table, altered: Table, session: EngineSession) -> Table:
    if old.location is None and (old.schema != altered.schema or old.storage != altered.storage):
        raise UnsupportedError(f'"{old.name}" has no files: changing its columns or format is not supported')
    if altered.location != old.location:
        place = altered.location or ""
        session.restrictions.check_location(place)
        # Remove files that a dropped table left there before this table writes rows.
        session.catalog.clear_garbage(path_or_uri(place))
        kind = kind_at(place, old.kind, session)
        altered = dataclasses.replace(altered, kind=kind, location=managed_folder(place, kind, session, old.table_id))
    check_properties(altered.properties)
    storage = altered.storage
    if storage != old.storage:
        storage = with_default_serde(storage, session.conf.value(RCFILE_SERDE))
        storage = with_storage_properties(storage, altered.properties)
    schema = stored_schema(altered.schema)
    altered = dataclasses.replace(altered, storage=storage, schema=schema)
    if storage != old.storage or schema != old.schema:
        check_storage(storage, altered.data_schema, session)
    return altered


def alter_partition(command: AlterPartition, session: EngineSession) -> CommandResult:
    """Alter all Hive partitions that match the given values. Files in an old folder stay there."""
    table = command.table
    location = command.location
    if location is not None:
        location = managed_folder(location, table.kind, session, table.table_id)
        session.catalog.clear_garbage(location)
    with session.catalog.partition_changes(table) as changes:
        found = matching_spec(table, changes.before, command.partition)
        if not found:
            raise no_such_partition(table, ", ".join(f"{name}='{value}'" for name, value in command.partition))
        for one in found:
            new = one if location is None else dataclasses.replace(one, location=location, newest=None)
            storage = _partition_storage(command, one.storage_of(table), session)
            if storage != one.storage_of(table):
                check_storage(storage, one.columns_of(table), session)
                new = dataclasses.replace(new, storage=storage)
            if command.columns is not None:
                check_storage(storage, command.columns, session)
                new = dataclasses.replace(new, columns=stored_schema(command.columns))
            changes.alter(one, new)
    load_new_blocks(table, session)
    return NOTHING


def _partition_storage(command: AlterPartition, old: StorageFormat, session: EngineSession) -> StorageFormat:
    storage = with_serde_properties(command.storage or old, command.serde_properties)
    return with_default_serde(storage, session.conf.value(RCFILE_SERDE))


def touch_table(command: TouchTable, session: EngineSession) -> CommandResult:
    if command.partition is not None:
        found = matching_spec(command.table, session.catalog.partitions(command.table), command.partition)
        if not found:
            text = ", ".join(f"{name}='{value}'" for name, value in command.partition)
            raise no_such_partition(command.table, text)
    return NOTHING


def cache_table(command: CacheTable, session: EngineSession) -> CommandResult:
    table = session.catalog.state_table(command.table) or command.table
    if table.is_view:
        raise UnsupportedError(f'"{table.name}" is a view: CACHE TABLE needs a table')
    session.table_cache.cache(table, lazy=command.lazy)
    return NOTHING


def uncache_table(command: UncacheTable, session: EngineSession) -> CommandResult:
    """Stop caching a table, and reset its cache property.

    Raise UnsupportedError for a table that is only in memory.
    """
    if command.table is None:
        return NOTHING
    if command.table.location is None and not command.table.is_view:
        raise UnsupportedError(f'"{command.table.name}" is in memory only: drop it instead of UNCACHE TABLE')
    for table in filter(None, (command.table, session.catalog.state_table(command.table))):
        if table.cache_mode is not CacheMode.NONE:
            properties = dict(table.properties) | {CACHE_PROPERTY: CacheMode.NONE.value}
            session.catalog.alter_table(dataclasses.replace(table, properties=tuple(properties.items())))
        session.table_cache.uncache(table)
    return NOTHING


def clear_cache(_: ClearCache, session: EngineSession) -> CommandResult:
    session.table_cache.clear()
    return NOTHING
