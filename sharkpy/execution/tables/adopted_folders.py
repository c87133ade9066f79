"""Folders that enter the catalog's log of files, or leave it: the engine lists them before or afterwards."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SourceError
from sharkpy.catalog.file_log import LoggedFile
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import TableKind
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.layout import numbered_name
from sharkpy.sources.staged_files import link_files, sync_folders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.hive_partition import HivePartition
    from sharkpy.catalog.model import Table
    from sharkpy.sources.layout import DataFile


def log_before_write(table: Table, catalog: Catalog) -> None:
    """Log the files of a table of an earlier release before it is written: of one in storage, in a warehouse at a URI,
    and of one that a continuous query writes.

    Other tables without a log get plain files.
    """
    location = table.location or ""
    is_own = table.kind is TableKind.MANAGED and location and not (catalog.is_shared or is_lake(table))
    if not is_own or catalog.log.find(location) is not None:
        return
    is_inside = uri.is_remote(location) and uri.below(location, catalog.warehouse_dir) is not None
    if is_inside or catalog.newest_generation(table) is not None:
        log_folders(table, catalog)


def log_folders(table: Table, catalog: Catalog) -> None:
    """Log the files of a managed table and of its Hive partitions that are below its folder. Generations keep their
    numbers, and files their places.
    """
    location = table.location or ""
    with catalog.transaction():
        if catalog.log.find(location) is not None or TableFolders(catalog).folder_inside(location, table.table_id):
            return
        has_history = not (table.continuous or table.is_state)
        owner = table.table_id if has_history else ""
        partitions = catalog.partitions(table)
        if not table.is_partitioned:
            _log_folder(location, catalog.newest_generation(table), owner, catalog)
        else:
            catalog.log.begin(location, owner)
        for one in partitions:
            if one.location is None:
                log_partition(table, one, catalog)
        if has_history:
            catalog.history.note(table.table_id)


def log_partition(table: Table, one: HivePartition, catalog: Catalog) -> None:
    """Log the files of a Hive partition, if a log names the files of the table. Call this inside a transaction."""
    owner = catalog.log.owner(table.location or "")
    if owner is not None and catalog.log.find(one.folder(table)) is None:
        _log_folder(one.folder(table), one.newest, owner, catalog)


def _log_folder(location: str, newest: int | None, owner: str, catalog: Catalog) -> None:
    try:
        visible = table_folder(location, catalog).visible(newest)
    except SourceError as error:
        if error.sqlstate != "58P01":
            raise
        visible = []
    files = [
        LoggedFile(file.path, file.size_bytes, file.modified_ns, tag=file.tag, position=one.first, added=one.last)
        for one, found in visible
        for file in found
    ]
    catalog.log.adopt(location, owner, files, newest)


def make_plain(table: Table, catalog: Catalog) -> None:
    """Put the current files of a table with a log directly into the folders of the table or of its Hive partitions, for
    other programs. The log forgets them. Call this inside a transaction.
    """
    location = table.location or ""
    folders = (
        [(location, None)]
        if not table.is_partitioned
        else [(one.folder(table), one) for one in catalog.partitions(table)]
    )
    for folder, one in folders:
        if catalog.log.find(folder) is not None:
            files = table_folder(folder, catalog).files(None if one is None else partial(_newest, one))
            _put(files, folder, catalog)
    if table.is_partitioned:
        with catalog.partition_changes(table) as changes:
            for one in list(changes.known.values()):
                changes.alter(one, replace(one, newest=None))
    catalog.unlog(table)


def _newest(partition: HivePartition) -> int | None:
    return partition.newest


def _put(files: Sequence[DataFile], folder: str, catalog: Catalog) -> None:
    if uri.is_remote(folder):
        copies = [(one, uri.join(folder, numbered_name(number, one.path))) for number, one in enumerate(files)]
        copy_files(copies, catalog.access_id(folder))
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise io_error(error, folder) from None
    link_files([file.path for file in files], folder)
    sync_folders([folder])
