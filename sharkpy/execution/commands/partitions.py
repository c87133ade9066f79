"""ALTER TABLE ADD, DROP, RENAME PARTITION and SET LOCATION; MSCK REPAIR TABLE; SHOW PARTITIONS."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sharkpy.catalog.hive_partition import HivePartition, partition_name, unescape
from sharkpy.catalog.model import Table, TableKind
from sharkpy.commands import (
    AddPartitions,
    DropPartitions,
    RenamePartition,
    RepairTable,
    SetPartitionLocation,
    ShowPartitions,
)
from sharkpy.errors import BindError
from sharkpy.execution.commands.insert import load_new_blocks
from sharkpy.execution.commands.partition_spec import (
    matching_filter,
    matching_spec,
    no_such_partition,
    spec_name,
    the_partition,
)
from sharkpy.execution.commands.result import NOTHING, CommandResult, text_rows
from sharkpy.execution.commands.session import CommandSession
from sharkpy.sources import layout
from sharkpy.sources.failures import io_error

_EXISTS = "42710"


def add_partitions(command: AddPartitions, session: CommandSession) -> CommandResult:
    """All of them or none; what lies in their folders already are their rows."""
    table = command.table
    named = [(spec, spec_name(table, spec, session), place) for spec, place in command.partitions]
    for _, _, place in named:
        if place is not None:
            session.restrictions.check_path(place)
    with session.catalog.partition_changes(table) as changes:
        for spec, name, place in named:
            if matching_spec(table, list(changes.known.values()), spec):
                if not command.if_not_exists:
                    raise _exists(table, name)
                continue
            location = None if place is None else layout.local_path(place)
            folder = location or str(Path(table.location or "", name))
            if location is None:
                session.catalog.clear_garbage(folder)
            _make_folder(folder)
            changes.add(name, location)
    load_new_blocks(table, session)
    return NOTHING


def drop_partitions(command: DropPartitions, session: CommandSession) -> CommandResult:
    """The data of a managed table's goes too. Each PARTITION (…) has to take one, unless IF EXISTS."""
    table = command.table
    with session.catalog.partition_changes(table) as changes:
        gone: dict[str, HivePartition] = {}
        for terms in command.filters:
            found = matching_filter(table, list(changes.known.values()), terms)
            if not found and not command.if_exists:
                raise no_such_partition(table, ", ".join(f"{name} {sign} '{text}'" for name, sign, text in terms))
            gone |= {one.name: one for one in found}
        changes.drop(gone.values(), with_data=table.kind is TableKind.MANAGED)
    session.catalog.collect_garbage()
    load_new_blocks(table, session)
    return NOTHING


def rename_partition(command: RenamePartition, session: CommandSession) -> CommandResult:
    """A folder that is named after its Hive partition in a managed table is renamed with it, others stay."""
    table = command.table
    name = spec_name(table, command.new, session)
    with session.catalog.partition_changes(table) as changes:
        old = the_partition(table, list(changes.known.values()), command.old)
        if matching_spec(table, list(changes.known.values()), command.new):
            raise _exists(table, name)
        folder, target = old.folder(table), str(Path(table.location or "", name))
        moves = old.location is None and table.kind is not TableKind.EXTERNAL
        changes.alter(old, dataclasses.replace(old, name=name, location=None if moves else folder))
        if moves:
            session.catalog.clear_garbage(target)
            _move(folder, target)
    load_new_blocks(table, session)
    return NOTHING


def _move(folder: str, target: str) -> None:
    try:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        if Path(target).is_dir() and any(Path(target).iterdir()):
            raise BindError(f'folder "{target}" of the new name exists and is not empty', sqlstate=_EXISTS)
        if Path(folder).is_dir():
            Path(folder).rename(target)
            with suppress(OSError):
                Path(folder).parent.rmdir()
    except OSError as error:
        raise io_error(error, target) from None


def set_partition_location(command: SetPartitionLocation, session: CommandSession) -> CommandResult:
    """The rows are those of the new folder; what is in the old one stays there."""
    table = command.table
    session.restrictions.check_path(command.location)
    with session.catalog.partition_changes(table) as changes:
        old = the_partition(table, list(changes.known.values()), command.partition)
        location = layout.local_path(command.location)
        changes.alter(old, dataclasses.replace(old, location=location, newest=None))
    load_new_blocks(table, session)
    return NOTHING


def repair_table(command: RepairTable, session: CommandSession) -> CommandResult:
    """Folders by the names of Hive partitions are registered; those that have none any more are forgotten."""
    table = command.table
    root = table.location or ""
    with session.catalog.partition_changes(table) as changes:
        if command.drops:
            gone = [one for one in changes.known.values() if not Path(one.folder(table)).is_dir()]
            changes.drop(gone, with_data=False)
        if command.adds:
            known = {one.folder(table) for one in changes.known.values()}
            for folder, values in _folders(root, table.partition_columns):
                name = partition_name(table.partition_columns, values)
                if folder in known or name in changes.known:
                    continue
                changes.add(name, None if folder == str(Path(root, name)) else folder)
    load_new_blocks(table, session)
    return NOTHING


def _folders(path: str, columns: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The folders column=value, one level a column, with their values."""
    if not columns:
        yield path, ()
        return
    try:
        with os.scandir(path) as scan:
            entries = sorted((entry for entry in scan if entry.is_dir()), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise io_error(error, path) from None
    for entry in entries:
        column, separator, value = entry.name.partition("=")
        if separator and unescape(column).lower() == columns[0]:
            for folder, values in _folders(entry.path, columns[1:]):
                yield folder, (unescape(value), *values)


def show_partitions(command: ShowPartitions, session: CommandSession) -> CommandResult:
    found = list(session.catalog.partitions(command.table))
    if command.partition is not None:
        found = matching_spec(command.table, found, command.partition)
    return text_rows(("partition",), [(one.name,) for one in found])


def _make_folder(folder: str) -> None:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise io_error(error, folder) from None


def _exists(table: Table, name: str) -> BindError:
    return BindError(f"{table.qualified_name} has the partition {name} already", sqlstate=_EXISTS)
