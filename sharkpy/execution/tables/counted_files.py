"""Files of continuous tables by their last committed generation, without listing their folders."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.json_rows import partition_format_to_text
from sharkpy.catalog.model import Table
from sharkpy.execution.tables.data_files import partition_files
from sharkpy.execution.tables.entry import Entry
from sharkpy.sources.folders.table_folder import Access, table_folder
from sharkpy.sources.layout import DataFile

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.hive_partition import CommittedFiles

_LIST_SECONDS = 10.0
"""Seconds after which a folder is listed anyway: another process may have folded files, which changes no row."""
_MOST_GENERATIONS = 1000


def counted_state(
    table: Table, catalog: Catalog, published: CommittedFiles | None
) -> tuple[int | None, tuple[HivePartition, ...] | None]:
    """Return the catalog's state that changes with each change of a continuous table's rows.

    It is the last generation, or the Hive partitions. Both are None for other tables: only the query of a continuous
    table writes its files.
    """
    if not table.continuous or table.as_of is not None:
        return None, None
    if table.is_partitioned:
        return None, catalog.partitions(table) if published is None else published.partitions
    return (catalog.newest_generation(table) if published is None else published.newest), None


def files_of_partitions(
    entry: Entry, partitions: Sequence[HivePartition], access: Access | None = None
) -> tuple[DataFile, ...] | None:
    """Return the files of Hive partitions, listing only changed ones, or None if all must be listed."""
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
    """Return the files added to Hive partitions since `entry` was loaded.

    Return None if anything else has changed, or if all must be listed to know.
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
    """Return the files added to a Hive partition, all of a new one, or None after other changes."""
    if old is None:
        return partition_files(table, [one], access)
    if old.newest is None or one.newest is None or replace(old, newest=one.newest) != one:
        return None
    if not 0 < one.newest - old.newest <= _MOST_GENERATIONS:
        return None
    generations = range(old.newest + 1, one.newest + 1)
    files, form = (
        table_folder(one.folder(table), access).deltas(generations),
        partition_format_to_text(one.storage, one.columns),
    )
    return None if files is None else [replace(file, partition=one.name, form=form) for file in files]


def added_files(entry: Entry, newest: int, access: Access | None = None) -> list[DataFile] | None:
    """Return the files added since `entry` was loaded, up to generation `newest`.

    Return None if only a listing can tell.
    """
    before = entry.newest
    if entry.version is None or entry.files is None or before is None:
        return None
    if not 0 <= newest - before <= _MOST_GENERATIONS or time.monotonic() - entry.listed >= _LIST_SECONDS:
        return None
    return table_folder(entry.table.location or "", access).deltas(range(before + 1, newest + 1))
