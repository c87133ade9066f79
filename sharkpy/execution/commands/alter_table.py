"""ALTER TABLE for properties in the catalog: columns, formats, locations, buckets, constraints.

Data does not change.
"""

from __future__ import annotations

import dataclasses

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.settings import RCFILE_SERDE
from sharkpy.catalog.hive_formats import with_default_serde, with_serde_properties, with_storage_properties
from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.catalog.path_gate import path_or_uri
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.partition_spec import matching_spec, no_such_partition
from sharkpy.execution.commands.storage import (
    check_properties,
    check_storage,
    kind_at,
    managed_folder,
    stored_schema,
)
from sharkpy.execution.commands.writes.new_blocks import load_new_blocks
from sharkpy.execution.commands.writes.staging import folder_at
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import AlterPartition, AlterTable, TouchTable


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
        found = matching_spec(table, list(changes.known.values()), command.partition)
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
