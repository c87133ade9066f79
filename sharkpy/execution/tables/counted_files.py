"""Files of continuous tables by the number of the last generation that counts: their folders need not be listed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.serialize import form_to_text
from sharkpy.execution.tables.data_files import partition_files
from sharkpy.execution.tables.entry import Entry
from sharkpy.sources.folders.table_folder import Access, table_folder
from sharkpy.sources.layout import DataFile

if TYPE_CHECKING:
    from sharkpy.catalog.published import Published
    from sharkpy.catalog.store import Catalog

_LIST_SECONDS = 10.0
"""Time after which a folder is listed nevertheless: another process may have folded files, which changes no row."""
_MOST_GENERATIONS = 1000


def counted_state(
    table: Table, catalog: Catalog, published: Published | None
) -> tuple[int | None, tuple[HivePartition, ...] | None]:
    """What changes in the catalog with each change of a table's rows: a number, or the rows of its Hive partitions.
    Neither for a table that has nothing of the kind.

    A continuous table has it, since its query alone writes its files.
    """
    if not table.continuous or table.as_of is not None:
        return None, None
    if table.is_partitioned:
        return None, catalog.partitions(table) if published is None else published.partitions
    return (catalog.newest_generation(table) if published is None else published.newest), None


def files_of_partitions(
    entry: Entry, partitions: Sequence[HivePartition], access: Access | None = None
) -> tuple[DataFile, ...] | None:
    """Files of Hive partitions, of which those that have changed are listed; None where all have to be."""
    if entry.version is None or entry.files is None or entry.partitions is None:
        return None
    if time.monotonic() - entry.listed >= _LIST_SECONDS:
        return None
    if entry.partitions == partitions:
        return entry.files
    before, known = set(entry.partitions), dict[str, list[DataFile]]()
    for file in entry.files:
        known.setdefault(file.partition, []).append(file)
    found = list[DataFile]()
    for one in partitions:
        found += known.get(one.name, ()) if one in before else partition_files(entry.table, [one], access)
    return tuple(found)


def files_added_to(
    entry: Entry, partitions: Sequence[HivePartition], access: Access | None = None
) -> list[DataFile] | None:
    """Files of Hive partitions behind those that `entry` has blocks of; None where more has changed than that some were
    added, or where all have to be listed to know.
    """
    if entry.version is None or entry.files is None or entry.partitions is None:
        return None
    if time.monotonic() - entry.listed >= _LIST_SECONDS or len(partitions) < len(entry.partitions):
        return None
    before = {one.partition_id: one for one in entry.partitions}
    found, num_known = list[DataFile](), 0
    for one in partitions:
        old = before.get(one.partition_id)
        num_known += old is not None
        if old is one or old == one:
            continue
        files = _added_to(entry.table, old, one, access)
        if files is None:
            return None
        found += files
    return found if num_known == len(before) else None


def _added_to(
    table: Table, old: HivePartition | None, one: HivePartition, access: Access | None
) -> Sequence[DataFile] | None:
    """Files that were added to a Hive partition; all of a new one's."""
    if old is None:
        return partition_files(table, [one], access)
    if old.newest is None or one.newest is None or replace(old, newest=one.newest) != one:
        return None
    if not 0 < one.newest - old.newest <= _MOST_GENERATIONS:
        return None
    generations = range(old.newest + 1, one.newest + 1)
    files, form = table_folder(one.folder(table), access).deltas(generations), form_to_text(one.storage, one.columns)
    return None if files is None else [replace(file, partition=one.name, form=form) for file in files]


def added_files(entry: Entry, newest: int, access: Access | None = None) -> list[DataFile] | None:
    """Files of the generations up to `newest` behind those that `entry` has blocks of; None where the folder has to be
    listed to know.
    """
    before = entry.newest
    if entry.version is None or entry.files is None or before is None:
        return None
    if not 0 <= newest - before <= _MOST_GENERATIONS or time.monotonic() - entry.listed >= _LIST_SECONDS:
        return None
    return table_folder(entry.table.location or "", access).deltas(range(before + 1, newest + 1))
