"""Data files of a table, by Hive partition if it has any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import CancelledError, ConfigurationError, ExecutionError, SourceError, UnsupportedError
from sharkpy.catalog.hive_partition import HivePartition, partition_values
from sharkpy.catalog.json_rows import partition_format_to_text
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.partition_list import CommittedFiles, PartitionList
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.lake.lake_table import LakeTable
from sharkpy.sources.layout import DataFile
from sharkpy.sources.named_files import FileTable
from sharkpy.sources.remote_files import files_below, remote_partition_files
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.readable_catalog import ReadableCatalog


def table_files(table: Table, catalog: Catalog, published: CommittedFiles | None = None) -> tuple[DataFile, ...]:
    """Return a table's current data files, or the files of `published`."""
    if isinstance(table, FileTable):
        return table.named.files
    if isinstance(table, LakeTable):
        return tuple(table.snapshot.files())
    if table.is_stream:
        return _stream_files(table.location or "", catalog)
    if table.is_partitioned:
        partitions = catalog.partitions(table) if published is None else published.partitions
        return partition_files(table, partitions, catalog)
    newest = partial(catalog.newest_generation, table) if published is None else lambda: published.newest
    try:
        folder = table_folder(table.location or "", catalog)
        if isinstance(folder, LoggedFolder) and (commit := _commit_of_rows(table)):
            return tuple(folder.added_files(commit))
        left_out = () if (other := _left_out(table)) is None else table_files(other, catalog)
        return _without(folder.files(newest), left_out)
    except SourceError as error:
        if not _is_empty(table, error):
            raise
        return ()


def _commit_of_rows(table: Table) -> int | None:
    """Return the commit of which only the added rows are read, or None for all rows of a table."""
    return table.as_of.number if table.as_of is not None and table.as_of.is_added else None


def _left_out(table: Table) -> Table | None:
    """Return the table at the version whose files are left out, or None if all files are read."""
    point = table.as_of
    return None if point is None or point.without is None else replace(table, as_of=VersionPoint(point.without))


def _without(files: Iterable[DataFile], others: Iterable[DataFile]) -> tuple[DataFile, ...]:
    """Return files without the files in `others`. A file of another Hive partition has other rows."""
    known = {(one.path, one.partition) for one in others}
    return tuple(one for one in files if (one.path, one.partition) not in known)


def _is_empty(table: Table, error: SourceError) -> bool:
    """True if a remote folder is missing because the table has no rows: a bucket has no empty folders."""
    is_missing = error.sqlstate == "58P01" and "there is no bucket" not in error.message
    return is_missing and table.kind is TableKind.MANAGED and uri.is_remote(table.location or "")


def _stream_files(folder: str, catalog: Catalog) -> tuple[DataFile, ...]:
    """Return the files of a stream's folder; empty if it does not exist yet."""
    return tuple(files_below(folder, catalog.access_id(folder))) if folder else ()


def files_if_listed(table: Table, one: HivePartition | None, catalog: Catalog) -> tuple[DataFile, ...] | None:
    """Return the data files of a table or Hive partition, or None if they cannot be listed now."""
    try:
        return table_files(table, catalog) if one is None else partition_files(table, [one], catalog)
    except CancelledError:
        raise
    except (ConfigurationError, ExecutionError, UnsupportedError):
        return None


def partitions_of(table: Table, catalog: Catalog) -> PartitionList:
    """Return the current Hive partitions of a partitioned table, by name."""
    return PartitionList(table.partitions) if isinstance(table, FileTable) else catalog.partitions(table)


def partition_files(
    table: Table, partitions: Iterable[HivePartition], catalog: ReadableCatalog | None = None
) -> tuple[DataFile, ...]:
    """Return the data files of Hive partitions.

    Raise UnsupportedError for remote folders without `catalog`.
    """
    if isinstance(table, FileTable):
        names = {one.name for one in partitions}
        return tuple(file for file in table.named.files if file.partition in names)
    chosen = tuple(partitions)
    if catalog is not None:
        catalog.log.require_logged(table, chosen)
    listed = {} if catalog is None else _listed_together(table, chosen, catalog)
    files = (file for one in chosen for file in _partition_files(table, one, listed.get(one.name), catalog))
    if catalog is None or (other := _left_out(table)) is None:
        return tuple(files)
    names = {one.name for one in chosen}
    known = [one for one in catalog.partitions(other) if one.name in names]
    return _without(files, partition_files(other, known, catalog))


def _listed_together(
    table: Table, partitions: Sequence[HivePartition], catalog: ReadableCatalog
) -> Mapping[str, list[DataFile]]:
    """Return the data files of the Hive partitions in remote folders that no log names, by name."""
    if uri.is_remote(table.location or "") and catalog.log.owner(table.location or "") is not None:
        partitions = [one for one in partitions if catalog.log.find(one.folder(table)) is None]
    return remote_partition_files(table, partitions, catalog.access_id)


def files_by_partition(
    table: Table, partitions: Iterable[HivePartition], catalog: ReadableCatalog | None = None
) -> dict[str, tuple[DataFile, ...]]:
    """Return the data files of each Hive partition by its name, listed like `partition_files`."""
    chosen = tuple(partitions)
    found = {one.name: list[DataFile]() for one in chosen}
    for file in partition_files(table, chosen, catalog):
        found[file.partition].append(file)
    return {name: tuple(files) for name, files in found.items()}


def columns_in_files(schema: Schema, files: Sequence[DataFile]) -> Schema:
    """Return the columns that a stream's files hold, without the columns in the names of its Hive partitions."""
    named = partition_values(files[0].partition) if files else {}
    return Schema(tuple(field for field in schema if field.name not in named)) if named else schema


def _partition_files(
    table: Table, one: HivePartition, listed: list[DataFile] | None, catalog: ReadableCatalog | None
) -> list[DataFile]:
    """Return the data files of a Hive partition. `listed` has the files of a remote folder."""
    form = partition_format_to_text(one.storage, one.columns)
    if listed is None:
        folder = table_folder(one.folder(table), catalog)
        if isinstance(folder, LoggedFolder) and (commit := _commit_of_rows(table)):
            files = folder.added_files(commit, one.name)
        else:
            files = folder.partition_files(one.newest, one.name)
        return [replace(file, form=form) for file in files] if form else files
    return [file.in_partition(one.name, form) for file in listed]
