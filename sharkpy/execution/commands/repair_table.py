"""MSCK REPAIR TABLE: updates the catalog's Hive partitions to the folders that exist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import NotAllowedError
from sharkpy.catalog.hive_partition import DEFAULT_VALUE, partition_name, unescape
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import PathGate
from sharkpy.catalog.table_folders import holds_rows
from sharkpy.catalog.table_store import PartitionChanges
from sharkpy.execution.commands.command_result import CommandResult, text_rows
from sharkpy.execution.commands.writes.table_files import load_new_blocks
from sharkpy.execution.engine_session import EngineSession
from sharkpy.plan.commands import RepairTable
from sharkpy.sources.folders.manifests import FILES
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.lenient_conversion import single_value
from sharkpy.sources.named_files import Access
from sharkpy.sources.parallel_requests import AT_ONCE, parallel_map
from sharkpy.sources.remote_files import has_files, subfolders

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog

Values = tuple[str, ...]
Subfolders = Callable[[Sequence[str]], Sequence[Sequence[str]]]
"""Function from folders to the subfolders of each that may hold data, sorted by name."""


def repair_table(command: RepairTable, session: EngineSession) -> CommandResult:
    """Repair a table. Return a line for each difference between folders and Hive partitions, in Hive's words.

    Three kinds of folders are listed but not added: a name that does not fit the column's type, several folders with
    the same values, and a link out of the session's bounds.
    """
    table = command.table
    session.catalog.check_folders(table)
    with session.catalog.partition_changes(table) as changes:
        lines = list(_changes(command, table, changes, session.catalog))
    if not command.is_dry:
        load_new_blocks(table, session)
    return text_rows(("result",), [(line,) for line in lines])


def _changes(command: RepairTable, table: Table, changes: PartitionChanges, catalog: Catalog) -> Iterator[str]:
    done, home, access = not command.is_dry, table.location or "", catalog.access_id
    known = {one.folder(table) for one in changes.known.values()}
    named, bad, there = dict[str, list[str]](), [], set[str]()
    for folder, values in _folders(home, table.partition_columns, _subfolders_of(home, access), catalog.gate):
        there.add(folder)
        if values is None or not (_is_text(folder) and _fits(table, values)):
            bad.append(folder)
        elif folder not in known and catalog.log.owner(folder) is None and not _is_left(folder):
            named.setdefault(partition_name(table.partition_columns, values), []).append(folder)
    found = [(name, folder) for name, (folder, *others) in named.items() if not others and name not in changes.known]
    absent = [one for one in changes.known.values() if one.folder(table) not in there]
    are_there = parallel_map(lambda one: _exists(one.folder(table), catalog), absent)
    gone = [one for one, is_there in zip(absent, are_there, strict=True) if not is_there]
    if found:
        yield "Partitions not in metastore:\t" + "\t".join(f"{table.name}:{name}" for name, _ in found)
    if gone:
        yield "Partitions missing from filesystem:\t" + "\t".join(f"{table.name}:{one.name}" for one in gone)
    for folder in sorted(bad):
        yield f"Skipped folder: {_shown(folder)} is not the name of a partition of {table.name}"
    yield from _duplicates(table, named, changes)
    if done and command.drops:
        for one in gone:
            changes.drop([one], with_data=False)
            yield f"Repair: Dropped partition from metastore {table.database}.{table.name}:{one.name}"
    if done and command.adds:
        for name, folder in found:
            changes.add(name, None if folder == uri.join(table.location or "", name) else folder)
            yield f"Repair: Added partition to metastore {table.name}:{name}"


def _duplicates(table: Table, named: dict[str, list[str]], changes: PartitionChanges) -> Iterator[str]:
    """Lines for folders that cannot be used: several have the same values, or a partition elsewhere has them."""
    for name, folders in sorted(named.items()):
        if (one := changes.known.get(name)) is not None:
            for folder in folders:
                yield f"Skipped folder: {folder} stands for {table.name}:{name}, which lies in {one.folder(table)}"
        elif len(folders) > 1:
            yield f"Skipped folders: {' and '.join(folders)} stand for the same partition, {table.name}:{name}"


def _is_text(folder: str) -> bool:
    """False for a path that is not UTF-8: neither a statement nor the catalog can name it."""
    return _shown(folder) == folder


def _shown(folder: str) -> str:
    return folder.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _exists(folder: str, catalog: Catalog) -> bool:
    """True if a folder of a Hive partition exists. A remote one exists if it holds a file, a logged one if its first
    file exists.
    """
    files = table_folder(folder, catalog).files() if catalog.log.find(folder) is not None else ()
    place = files[0].path if files else folder
    return has_files(place, catalog.access_id(place)) if uri.is_remote(place) else Path(place).exists()


def _is_left(folder: str) -> bool:
    """True if a local folder has only files of writes, which belong to other Hive partitions by now."""
    return not uri.is_remote(folder) and Path(folder, FILES).exists() and not holds_rows(folder)


def _fits(table: Table, values: Values) -> bool:
    """True if each value has its column's type."""
    pairs = zip(table.partition_schema, values, strict=True)
    return all(text == DEFAULT_VALUE or single_value(text, field.dtype).null_count == 0 for field, text in pairs)


def _folders(
    home: str, columns: tuple[str, ...], subfolders_of: Subfolders, gate: PathGate
) -> Iterator[tuple[str, Values | None]]:
    """Yield folders named column=value, one level per column, with their values.

    The values are None for a folder with another name or out of bounds.
    """
    level = list[tuple[str, Values]]([(home, ())])
    for column in columns:
        above, level = level, []
        found = subfolders_of([folder for folder, _ in above])
        for (_, values), folders in zip(above, found, strict=True):
            for folder in folders:
                name, separator, value = folder.rpartition("/")[2].partition("=")
                if separator and unescape(name).lower() == column and _is_open(folder, home, gate):
                    level.append((folder, (*values, unescape(value))))
                else:
                    yield folder, None
    yield from level


def _is_open(folder: str, home: str, gate: PathGate) -> bool:
    try:
        gate.check_folder(folder, home)
    except NotAllowedError:
        return False
    return True


def _subfolders_of(home: str, access: Access) -> Subfolders:
    """Return the function that lists subfolders. Each remote folder takes a request, several at once."""
    access_id = access(home)
    at_once = AT_ONCE if access_id else 1
    return lambda folders: parallel_map(partial(subfolders, access_id=access_id), folders, at_once)
