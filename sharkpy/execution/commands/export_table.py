"""EXPORT TABLE and IMPORT: a folder with a table's files and its catalog entry in `_metadata`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from sharkpy.base import uri
from sharkpy.base.errors import BindError, SourceError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.hive_partition import HivePartition, partition_name, partition_values
from sharkpy.catalog.json_rows import table_from_json, table_to_json
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.names import check_name
from sharkpy.catalog.partition_list import PartitionList
from sharkpy.catalog.path_gate import local_path, path_or_uri
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.partition_spec import matching_spec, no_such_partition
from sharkpy.execution.commands.storage import check_named_files, is_occupied, managed_folder
from sharkpy.execution.commands.writes.directory import begin_directory
from sharkpy.execution.commands.writes.staged_write import (
    StagedWrite,
    discarding,
    folder_at,
    new_staging,
    publish,
    reporting_dropped_table,
    table_staging,
)
from sharkpy.execution.commands.writes.table_files import TableFiles
from sharkpy.execution.commands.writes.table_partitions import TablePartitions
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.data_files import partition_files, table_files
from sharkpy.plan.commands import ExportTable, ImportTable
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import cached_text
from sharkpy.sources.remote_files import files_below, has_files, visible_files

METADATA = "_metadata"
DATA = "data"
"""Folder of the data of a table without Hive partitions. The folders of Hive partitions have their names."""
_EXISTS = "42710"


def export_table(command: ExportTable, session: EngineSession) -> CommandResult:
    """Export the table's current version into an empty or new folder."""
    table = command.table
    if table.location is None:
        raise UnsupportedError(f'"{table.name}" is in memory only: EXPORT is not supported')
    chosen = _chosen(command, session)
    facts = {"table": json.loads(table_to_json(table)), "name": table.name, "partitions": [p.name for p in chosen]}
    write = begin_directory(command.path, "EXPORT", session, replaces=False)
    with discarding([write]), session.catalog.readers.reading(table.location):
        session.catalog.check_links(table, chosen)
        write.copies, write.last = list(_copies(table, chosen, session)), (METADATA, json.dumps(facts, indent=1))
        publish([write], session.catalog)
    return NOTHING


def _copies(table: Table, chosen: Sequence[HivePartition], session: EngineSession) -> Iterator[tuple[DataFile, str]]:
    """Files of the table and the chosen Hive partitions, each with its name in the export."""
    if not table.is_partitioned:
        yield from _named(table_files(table, session.catalog), DATA)
    for one in chosen:
        yield from _named(partition_files(table, [one], session.catalog), one.name)


def _chosen(command: ExportTable, session: EngineSession) -> Sequence[HivePartition]:
    partitions = session.catalog.partitions(command.table)
    chosen = matching_spec(command.table, partitions, command.partition) if command.partition else partitions
    if command.partition and not chosen:
        text = ", ".join(f"{name}='{value}'" for name, value in command.partition)
        raise no_such_partition(command.table, text)
    if other := next((one for one in chosen if one.storage or one.columns), None):
        raise UnsupportedError(
            f"the partition {other.name} has another format or other columns than its table: EXPORT is not supported"
        )
    return chosen


@dataclass(frozen=True, slots=True)
class _Export:
    """Export in a folder: the exported table and the names of its Hive partitions.

    `access_id` is "" for a local folder.
    """

    folder: str
    access_id: str
    table: Table
    partitions: tuple[str, ...]

    def files(self, name: str) -> list[DataFile]:
        place = uri.join(self.folder, name)
        return visible_files(files_below(place, self.access_id), place)


def import_table(command: ImportTable, session: EngineSession) -> CommandResult:
    """Import a new table, or rows into an existing table with the same columns, atomically.

    The existing table must have no rows, or other Hive partitions. An external table without LOCATION reads the
    exported folder.
    """
    if command.location is not None:
        session.restrictions.check_location(command.location)
    export = _read(command, session)
    check_named_files(export.table.storage.properties, session)
    old = session.catalog.find_table(command.database, command.name or export.table.name)
    if old is None:
        _import_new(export, _new_table(export, command, session), command, session)
        return NOTHING
    _check_same(old, export, command)
    if not old.is_partitioned and table_files(old, session.catalog):
        raise BindError(f"{old.qualified_name} has rows already", sqlstate=_EXISTS)
    known = {one.name for one in session.catalog.partitions(old)}
    if there := known.intersection(export.partitions):
        raise BindError(f"{old.qualified_name} has the partition {min(there)} already", sqlstate=_EXISTS)
    with reporting_dropped_table(old, session):
        write = _staged(export, old, table_staging(old, old.location or "", session), session)
    with discarding([write]):
        publish([write], session.catalog)
    return NOTHING


def _read(command: ImportTable, session: EngineSession) -> _Export:
    access_id, folder = session.catalog.named_access_id(command.path), path_or_uri(command.path)
    place = uri.join(folder, METADATA)
    try:
        text = cached_text(place, access_id) if access_id else session.restrictions.gate.read_text(place)
        check_json_nesting(text)
        facts = json.loads(text)
        name = command.name or str(facts["name"])
        check_name(name)
        table = table_from_json(new_table_id(), command.database, name, json.dumps(facts["table"]))
        names = tuple(_checked(str(one), table) for one in facts["partitions"])
    except SourceError as error:
        if error.sqlstate != "58P01":
            raise
        message = f'"{uri.redacted(folder)}" is not an export: it has no {METADATA}'
        raise SourceError(message, sqlstate="58P01") from None
    except (ValueError, KeyError, TypeError):
        raise SourceError(f'{METADATA} of "{uri.redacted(folder)}" is not an export of sharkpy') from None
    if is_lake(table):
        raise UnsupportedError(f"IMPORT of {table.qualified_name}, a table of {table.storage.name}, is not supported")
    if command.partition:
        listed = PartitionList([HivePartition(number, one) for number, one in enumerate(sorted(names))])
        names = tuple(one.name for one in matching_spec(table, listed, command.partition))
        if not names:
            raise no_such_partition(table, ", ".join(f"{key}='{value}'" for key, value in command.partition))
    return _Export(folder, access_id, table, names)


def _checked(name: str, table: Table) -> str:
    """Check and return the name of a Hive partition, which becomes a path. Raise ValueError for any other text."""
    values = partition_values(name)
    if (
        tuple(values) != table.partition_columns
        or partition_name(table.partition_columns, list(values.values())) != name
    ):
        raise ValueError(name)
    return name


def _new_table(export: _Export, command: ImportTable, session: EngineSession) -> Table:
    kind = TableKind.EXTERNAL if command.is_external else TableKind.MANAGED
    if command.location is not None:
        location = managed_folder(command.location, kind, session)
    elif command.is_external:
        location = export.folder if export.table.is_partitioned else uri.join(export.folder, DATA)
        session.restrictions.check_location(location)
    else:
        location = _normal(session.catalog.managed_location(command.database, export.table.name))
        is_logged = session.catalog.log.owner(location) is not None
        if is_logged or session.catalog.readers.is_read(location) or is_occupied(location, session):
            location = f"{location}-{export.table.table_id[:8]}"
    table = dataclasses.replace(export.table, kind=kind, location=location, created_at=0.0)
    # The export has the rows, not the stream or continuous query that computed them.
    return dataclasses.replace(table, continuous="", state_of="", stream=None, sink=None, watermark=None)


def _import_new(export: _Export, table: Table, command: ImportTable, session: EngineSession) -> None:
    if command.is_external and command.location is None:
        with session.catalog.transaction():
            created = session.catalog.create_table(table)
            with session.catalog.partition_changes(created) as changes:
                for name in export.partitions:
                    changes.add(name)
        return
    # Garbage goes before files are staged: the staged files would be removed with it.
    session.catalog.clear_garbage(table.location or "")
    if has_files(table.location or "", session.catalog.access_id(table.location or "")):
        raise BindError(f'folder "{table.location}" is not empty', sqlstate=_EXISTS)
    write = _staged(export, table, new_staging(table.location or "", session), session)
    with discarding([write]):
        session.catalog.create_table(table, publish=lambda: publish([write], session.catalog))


def _staged(export: _Export, table: Table, staging: str, session: EngineSession) -> StagedWrite:
    """Stage the exported files in `staging`, which is not recreated if it was dropped with the table."""
    location = table.location or ""
    write: StagedWrite
    if table.is_partitioned:
        write = TablePartitions(table, staging, export.partitions, False, session)
    else:
        write = TableFiles(table, location, staging, False, session)
    try:
        home = folder_at(location, session)
        copies = list[tuple[DataFile, str]]()
        for name in export.partitions if table.is_partitioned else (DATA,):
            folder = home.staged_subfolder(staging, name if table.is_partitioned else "")
            copies += [(file, uri.join(folder, given)) for file, given in _named(export.files(name), "")]
        if not export.access_id:
            for file, _ in copies:
                session.restrictions.check_path(file.path)
        copy_files(copies, session.catalog.access_id(location))
    except BaseException:
        write.discard()
        raise
    return write


def _check_same(old: Table, export: _Export, command: ImportTable) -> None:
    if old.is_view or old.location is None:
        raise BindError(f"IMPORT into {old.qualified_name}, which has no files", sqlstate="42809")
    given = command.location
    if given is not None and _normal(given) != uri.normalized(old.location):
        raise BindError(f'{old.qualified_name} is in "{uri.redacted(old.location)}"', sqlstate="42809")
    mine = [(field.name, field.dtype) for field in old.schema]
    theirs = [(field.name, field.dtype) for field in export.table.schema]
    same_form = old.storage == export.table.storage and old.partition_columns == export.table.partition_columns
    if mine != theirs or not same_form:
        message = f"{old.qualified_name} and the exported table differ in columns, partition columns or format"
        raise BindError(message, sqlstate="42804")


def _normal(location: str) -> str:
    return uri.normalized(location) if uri.is_remote(location) else local_path(location)


def _named(files: Sequence[DataFile], folder: str) -> Iterator[tuple[DataFile, str]]:
    """Files with numbered names, which keep the order of the files and so of the rows."""
    for number, file in enumerate(files):
        yield file, str(PurePosixPath(folder, f"{number:05d}-{uri.name_of(file.path).lstrip('_.')}"))
