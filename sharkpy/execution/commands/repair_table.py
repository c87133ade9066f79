"""MSCK REPAIR TABLE: the catalog's Hive partitions brought in line with the folders on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sharkpy.base import uri
from sharkpy.catalog.hive_partition import DEFAULT_VALUE, partition_name, unescape
from sharkpy.catalog.local_path import check_local
from sharkpy.catalog.model import Table
from sharkpy.catalog.partition_changes import PartitionChanges
from sharkpy.execution.commands.command_result import CommandResult, text_rows
from sharkpy.execution.commands.writes.new_blocks import load_new_blocks
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import RepairTable
from sharkpy.sources.failures import io_error
from sharkpy.sources.partition_values import single_value

Values = tuple[str, ...]


def repair_table(command: RepairTable, session: EngineSession) -> CommandResult:
    """Repair a table; returns a line for each folder and Hive partition that was out of line, as Hive writes them.

    A folder whose name is no value of the partition column's type is left alone, and listed.
    """
    table = command.table
    with session.catalog.partition_changes(table) as changes:
        lines = list(_changes(command, table, changes))
    if not command.is_dry:
        load_new_blocks(table, session)
    return text_rows(("result",), [(line,) for line in lines])


def _changes(command: RepairTable, table: Table, changes: PartitionChanges) -> Iterator[str]:
    check_local(table.location or "")
    done = not command.is_dry
    known = {one.folder(table) for one in changes.known.values()}
    found, bad = [], []
    for folder, values in _folders(table.location or "", table.partition_columns):
        if values is None or not _fits(table, values):
            bad.append(folder)
        elif folder not in known and partition_name(table.partition_columns, values) not in changes.known:
            found.append((partition_name(table.partition_columns, values), folder))
    gone = [one for one in changes.known.values() if _is_gone(one.folder(table))]
    if found:
        yield "Partitions not in metastore:\t" + "\t".join(f"{table.name}:{name}" for name, _ in found)
    if gone:
        yield "Partitions missing from filesystem:\t" + "\t".join(f"{table.name}:{one.name}" for one in gone)
    for folder in bad:
        yield f"Skipped folder: {folder} is no name of a partition of {table.name}"
    if done and command.drops:
        for one in gone:
            changes.drop([one], with_data=False)
            yield f"Repair: Dropped partition from metastore {table.database}.{table.name}:{one.name}"
    if done and command.adds:
        for name, folder in found:
            changes.add(name, None if folder == uri.join(table.location or "", name) else folder)
            yield f"Repair: Added partition to metastore {table.name}:{name}"


def _is_gone(folder: str) -> bool:
    """True for a missing folder; a remote one is not looked for, and counts as being there."""
    return not (uri.is_remote(folder) or Path(folder).is_dir())


def _fits(table: Table, values: Values) -> bool:
    """True if each value is one of its column's type."""
    pairs = zip(table.partition_schema, values, strict=True)
    return all(text == DEFAULT_VALUE or single_value(text, field.dtype).null_count == 0 for field, text in pairs)


def _folders(path: str, columns: tuple[str, ...]) -> Iterator[tuple[str, Values | None]]:
    """Folders column=value, one level a column, with their values; None for a folder with another name."""
    if not columns:
        yield path, ()
        return
    try:
        with os.scandir(path) as scan:
            entries = sorted((entry for entry in scan if _is_open(entry)), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise io_error(error, path) from None
    for entry in entries:
        column, separator, value = entry.name.partition("=")
        if not separator or unescape(column).lower() != columns[0]:
            yield entry.path, None
            continue
        for folder, values in _folders(entry.path, columns[1:]):
            yield folder, None if values is None else (unescape(value), *values)


def _is_open(entry: os.DirEntry[str]) -> bool:
    """True for entries that may be data: names that begin with `_` or `.` never are."""
    return entry.is_dir() and not entry.name.startswith(("_", "."))
