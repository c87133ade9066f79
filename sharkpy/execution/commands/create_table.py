"""CREATE TABLE and CREATE TABLE AS SELECT."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError, SourceError, TableExistsError, UnsupportedError
from sharkpy.base.settings import BLOCK_ROWS
from sharkpy.base.users import user_name
from sharkpy.catalog.avro_schema import with_schema_text
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.hive_formats import columns_of_format
from sharkpy.catalog.lake_tables import LAKES
from sharkpy.catalog.model import CacheMode, Table, TableKind
from sharkpy.catalog.path_gate import local_path, path_or_uri
from sharkpy.catalog.readable_catalog import TEMPORARY_KINDS
from sharkpy.catalog.table_folders import holds_files
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.insert import write_partitions
from sharkpy.execution.commands.lake_tables import create_lake_table
from sharkpy.execution.commands.storage import (
    EXTERNAL,
    check_properties,
    check_storage,
    is_occupied,
    kind_at,
    kind_of_property,
    managed_folder,
    storage_format,
    stored_query,
    stored_schema,
    with_cache_property,
)
from sharkpy.execution.commands.table_versions import Definition, link_files, link_partitions
from sharkpy.execution.commands.tables import release_dropped, temporary_folder
from sharkpy.execution.commands.writes.staged_write import (
    StagedWrite,
    discard_staging,
    folder_at,
    new_staging,
    publish,
)
from sharkpy.execution.commands.writes.table_files import TableFiles, load_new_blocks
from sharkpy.execution.commands.writes.table_partitions import TablePartitions
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.queries.write_query import bucketed_query, chosen_buckets, stage_files, write_blocks
from sharkpy.execution.tables.data_files import table_files
from sharkpy.execution.tables.snapshot import QuerySnapshot
from sharkpy.execution.tasks.buckets import bucketing
from sharkpy.physical.stage_program import BlockSink, FileSink
from sharkpy.plan.commands import CreateTable
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.local_folder import LocalFolder
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import home_of
from sharkpy.sources.layout import numbered_name
from sharkpy.sources.named_files import files_at
from sharkpy.sources.remote_files import has_files
from sharkpy.sources.staged_files import take_back
from sharkpy.values.types import Schema


def create_table(command: CreateTable, session: EngineSession, snapshot: QuerySnapshot) -> CommandResult:
    """Create a table atomically: it is in the catalog exactly when its data is in place.

    A table that is replaced stays whole until the new one, in a folder of its own, is complete.
    """
    if command.storage is not None and command.storage.name in LAKES:
        return create_lake_table(command, session, snapshot)
    old = _existing_table(command, session)
    if old is not None and (not command.or_replace or old.is_view or old.streaming_kind):
        if command.if_not_exists:
            return NOTHING
        raise TableExistsError(f'table "{command.name}" already exists')
    command = with_inferred_columns(command, session)
    table = new_table(command, session, snapshot, old)
    session.catalog.check_folders(table)
    try:
        if command.clone is not None:
            clone_table(table, command.clone, session, replace=command.or_replace)
        elif command.query is None:
            session.catalog.create_table(table, publish=lambda: make_folder(table, command), replace=command.or_replace)
        elif table.location is None:
            _create_in_memory(table, _rows(command.query, table), session, snapshot, command.or_replace)
        else:
            _create_from_query(table, command.query, session, snapshot, command.or_replace)
    except TableExistsError:
        if not command.if_not_exists:
            raise
    snapshot.release()
    if old is not None:
        release_dropped(old, session.catalog, session.table_cache)
    return NOTHING


def _existing_table(command: CreateTable, session: EngineSession) -> Table | None:
    """Return the table that already has the name. A temporary table may shadow a permanent one."""
    found = session.catalog.find_table(command.database, command.name)
    if found is None or command.kind is not TableKind.TEMPORARY:
        return found
    return found if found.kind in TEMPORARY_KINDS else None


def new_table(command: CreateTable, session: EngineSession, snapshot: QuerySnapshot, old: Table | None) -> Table:
    properties = with_cache_property(command.name, command.properties, session.conf)
    check_properties(properties)
    storage = storage_format(command.storage, properties, session, is_from_query=command.query is not None)
    fields = stored_schema(command.schema).fields
    num_stored = len(fields) - len(command.partition_columns)
    given = with_schema_text((*properties, *storage.properties), session.catalog.named_schema_text)
    columns = columns_of_format(storage, given, list(fields[:num_stored])) or []
    schema = Schema((*columns, *fields[num_stored:]))
    check_storage(storage, schema.select([column.name for column in columns]), session)
    table_id, (kind, location) = new_table_id(), _given_place(command, dict(properties), session)
    properties = tuple(pair for pair in properties if pair[0] != EXTERNAL)
    mode = dict(properties).get("shark.cache", "").upper()
    is_blocks = mode == CacheMode.MEMORY_ONLY.value and not command.partition_columns
    if command.query is not None and is_blocks and location is None:
        kind = TableKind.TEMPORARY
    elif location is None and kind is TableKind.TEMPORARY:
        location = temporary_folder(session.catalog, table_id)
    elif location is None:
        usual = path_or_uri(session.catalog.managed_location(command.database, command.name))
        is_free = old is None and _is_free(usual, command, session)
        location = usual if is_free else f"{usual}-{table_id[:8]}"
        kind = kind if _is_engines(location, command, session) else kind_at(location, kind, session)
    if old is not None and (old.kind in TEMPORARY_KINDS) != (kind is TableKind.TEMPORARY):
        other = "temporary" if kind is TableKind.TEMPORARY else "not temporary"
        raise UnsupportedError(f'"{old.name}" cannot be replaced by a table that is {other}')
    if old is not None and old.location is not None and old.location == location:
        raise UnsupportedError(f'table "{old.name}" cannot be replaced by a table in the same folder "{location}"')
    return Table(
        table_id,
        session.catalog.database(command.database).name,
        command.name.lower(),
        kind,
        schema,
        storage,
        location,
        properties,
        command.comment,
        partition_columns=command.partition_columns,
        buckets=chosen_buckets(command.buckets, command.query, session, snapshot),
        owner=user_name(session.conf),
        skew=command.skew,
        constraints=command.constraints,
    )


def _given_place(
    command: CreateTable, properties: dict[str, str], session: EngineSession
) -> tuple[TableKind, str | None]:
    """Return the kind of the new table, and the folder that its statement names, if any."""
    kind, location = command.kind, command.location
    if kind is TableKind.MANAGED and EXTERNAL in properties:
        kind = kind_of_property(properties[EXTERNAL])
    elif location is not None and kind is TableKind.MANAGED:
        session.restrictions.check_location(location)
        kind = TableKind.EXTERNAL if command.keeps_location else kind_at(location, kind, session)
    if location is None:
        return kind, None
    if command.query is not None:
        _require_empty(location, session)
    return kind, managed_folder(location, kind, session)


def _require_empty(location: str, session: EngineSession) -> None:
    """Raise BindError if the folder of CREATE TABLE AS SELECT has files, which its rows would hide."""
    session.restrictions.check_location(location)
    is_far = uri.is_remote(location)
    session.catalog.clear_garbage(location if is_far else local_path(location))
    if has_files(location, session.catalog.access_id(location)) if is_far else holds_files(location):
        hint = "name an empty folder, or create the table first and then INSERT OVERWRITE it"
        raise BindError(f'folder "{location}" is not empty', hint=hint, sqlstate="42710")


def _is_engines(location: str, command: CreateTable, session: EngineSession) -> bool:
    """True if the engine owns the default location: in the warehouse, or by property EXTERNAL.

    The folder of a database elsewhere may hold other files.
    """
    is_said = EXTERNAL in dict(command.properties)
    return is_said or uri.below(location, session.catalog.warehouse_dir) is not None


def _is_free(location: str, command: CreateTable, session: EngineSession) -> bool:
    """True if a new table may use its default location.

    The location is not free if a reader or another table uses it, also a dropped one that is retained. A folder with
    files is not free either if a query's rows would hide them or a later DROP would delete them, as in a bucket that is
    the warehouse.
    """
    catalog, is_far = session.catalog, uri.is_remote(location)
    if catalog.readers.is_read(location):
        return False
    if catalog.log.owner(location) is not None:
        catalog.clear_garbage(location)
        if catalog.log.owner(location) is not None:
            return False
    if is_occupied(location, session):
        return False
    if command.query is None and not _is_in_remote_warehouse(location, session):
        return True
    catalog.clear_garbage(location)
    return not (has_files(location, catalog.access_id(location)) if is_far else holds_files(location))


def _is_in_remote_warehouse(location: str, session: EngineSession) -> bool:
    """True for a remote folder in the warehouse, whose tables are always managed and deleted by DROP."""
    catalog = session.catalog
    is_own = uri.is_remote(location) and not catalog.is_shared
    return is_own and uri.below(location, catalog.warehouse_dir) is not None


def _rows(query: LogicalPlan, table: Table) -> LogicalPlan:
    return stored_query(bucketed_query(query, table.schema, table.buckets), table.schema)


def make_folder(table: Table, command: CreateTable) -> None:
    """Create the folder of a table, unless its location is a file or remote.

    For CREATE EXTERNAL TABLE, a folder that cannot be created is not an error: its queries raise it.
    """
    if table.location is None:
        return
    if uri.is_remote(table.location) or Path(table.location).is_file():
        return
    try:
        Path(table.location).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if table.kind is TableKind.EXTERNAL and not command.keeps_location:
            return
        raise io_error(error, table.location) from None


def _create_in_memory(
    table: Table, query: LogicalPlan, session: EngineSession, snapshot: QuerySnapshot, replace: bool
) -> None:
    sink = BlockSink(table.schema, session.conf.value(BLOCK_ROWS), None, bucketing(table.buckets, table.schema))
    blocks = write_blocks(session, query, sink, snapshot)
    try:
        session.table_cache.put(table, blocks)
        session.catalog.create_table(table, replace=replace)
    except BaseException:
        session.table_cache.forget(table)
        raise


def _create_from_query(
    table: Table, query: LogicalPlan, session: EngineSession, snapshot: QuerySnapshot, replace: bool
) -> None:
    """Create a table with the rows of a query. Each Hive partition has a folder of its own."""

    def stage(staging: str) -> Sequence[str]:
        if table.is_partitioned:
            spec = tuple((name, None) for name in table.partition_columns)
            return write_partitions(table, stored_query(query, table.schema), spec, staging, session, snapshot)
        buckets = bucketing(table.buckets, table.schema)
        sink = FileSink(table.schema, table.storage.name, table.storage.properties, staging, buckets=buckets)
        stage_files(session, _rows(query, table), sink, snapshot)
        return ()

    create_with_files(table, stage, session, replace=replace)


def create_with_files(
    table: Table,
    stage: Callable[[str], Sequence[str]],
    session: EngineSession,
    *,
    replace: bool = False,
    also: Sequence[StagedWrite] = (),
) -> None:
    """Create a table with the files that `stage` puts into a staging folder, and carry out `also` with it.

    `stage` returns the names of the Hive partitions whose subfolders it has filled.
    """
    location = table.location or ""
    session.catalog.clear_garbage(location)
    folder = folder_at(location, session)
    was_there = folder.exists()
    staging = new_staging(location, session, is_new=not was_there)
    published: list[Placed] = []

    def put_in_place() -> None:
        if table.is_partitioned:
            publish([TablePartitions(table, staging, names, True, session), *also], session.catalog)
            return
        target = folder_at(location, session)
        if table.kind is not TableKind.TEMPORARY and not isinstance(target, LoggedFolder):
            publish([TableFiles(table, location, staging, True, session)], session.catalog)
            return
        counted = target if isinstance(target, LoggedFolder) else LocalFolder(location)
        counted.sync_staged(staging)
        if (placed := counted.place(staging, overwrite=True)) is not None:
            published.append(placed)

    try:
        names = stage(staging)
        created = session.catalog.create_table(table, publish=put_in_place, replace=replace)
    except BaseException:
        discard_staging(staging, session)
        for placed in published:
            take_back(placed)
        if not was_there and table.is_partitioned:
            folder.remove_empty()
        elif not was_there:
            folder.remove_if_empty()
        raise
    discard_staging(staging, session)
    load_new_blocks(created, session)


def clone_table(table: Table, source: Table, session: EngineSession, *, replace: bool) -> None:
    """Create a table with the files of another one, perhaps at an earlier version, or with copies of them."""
    session.catalog.require_history(source, "CLONE")
    with session.catalog.readers.reading(source.location or ""):
        partitions = {one.name: one for one in session.catalog.partitions(source)}
        session.catalog.log.require_logged(source, partitions.values())

        def stage(staging: str) -> Sequence[str]:
            if not session.catalog.can_log(table):
                _copy_files(source, staging, session)
            elif table.is_partitioned:
                link_partitions(source, partitions, staging, session)
            else:
                link_files(source, staging, session)
            return list(partitions)

        create_with_files(table, stage, session, replace=replace, also=[Definition(table, table, partitions, session)])


def _copy_files(source: Table, staging: str, session: EngineSession) -> None:
    """Stage copies of the files of a table, perhaps at an earlier version, for a table with plain files."""
    folder = folder_at(home_of(staging), session)
    copies = [
        (one, uri.join(folder.staged_subfolder(staging, one.partition), numbered_name(number, one.path)))
        for number, one in enumerate(table_files(source, session.catalog))
    ]
    access_id = session.catalog.access_id(staging) if uri.is_remote(staging) else ""
    copy_files(copies, access_id)


def with_inferred_columns(command: CreateTable, session: EngineSession) -> CreateTable:
    """Return `command` with the columns of its files if it declares none.

    Raise SourceError if the files do not define columns, or are in folders of Hive partitions.
    """
    if len(command.schema) or command.storage is None or command.location is None:
        return command
    # It imports the readers of all formats.
    from sharkpy.sources.undeclared_columns import columns_of_files

    found = files_at(command.location, session.restrictions.check_path, session.catalog.named_access_id)
    if found.partitions:
        message = f'"{uri.redacted(command.location)}" has folders of Hive partitions, as "{found.partitions[0][0]}"'
        raise SourceError(message, hint="declare the columns and PARTITIONED BY", sqlstate="42000")
    return dataclasses.replace(command, schema=columns_of_files(found.files, command.storage))
