"""Versions of MEMORY tables on disk, for later sessions."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from pathlib import Path

from sharkpy.base.errors import CorruptionError, ExecutionError
from sharkpy.base.uri import Locations
from sharkpy.catalog.model import CacheMode, Table
from sharkpy.columnar.block_folders import UNWRITABLE, FolderUse, storage_error
from sharkpy.columnar.version import TableVersion, VersionStore
from sharkpy.execution.tables.entry import Entry, is_blocks_alone
from sharkpy.execution.tasks.row_buckets import hash_id

_CONFLICT = "40001"


def durable_dir(state_dir: str, table: Table) -> str | None:
    """Return the folder of a table's durable blocks, or None if it has none.

    Its name depends on the table's form, so that blocks of another form are not found.
    """
    if table.cache_mode is not CacheMode.MEMORY or is_blocks_alone(table):
        return None
    parts: tuple[object, ...] = (table.schema, table.storage)
    if table.buckets is not None:
        parts = (*parts, table.buckets, hash_id())
    form = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    return str(Path(state_dir, table.table_id, form))


def publish_durably(version: TableVersion, store: VersionStore, is_synced: bool = True) -> TableVersion:
    """Publish a version under the next free number, as another process may publish the same table.

    If not `is_synced`, `sync_durably` must write it to the disk.
    """
    while True:
        try:
            store.publish(version, is_synced=is_synced)
        except ExecutionError as error:
            latest = store.latest_sequence()
            if error.sqlstate != _CONFLICT or latest is None or latest < version.sequence:
                raise
            version = dataclasses.replace(version, sequence=latest + 1)
        else:
            return version


def sync_durably(directory: str) -> None:
    """Sync the last published version to the disk. If that fails, a later session loads more."""
    with contextlib.suppress(ExecutionError, OSError):
        VersionStore(directory).sync()


def find_durable(entry: Entry, directory: str, locations: Locations) -> TableVersion | None:
    """Return the version that an earlier session stored in the folder, or None if none fits.

    The entry then uses the folder. Raise an error if the folder cannot be read.
    """
    versions = VersionStore(directory, locations)
    try:
        entry.use = entry.use or FolderUse(directory)
        version = versions.load()
        if entry.use.is_alone:
            with contextlib.suppress(ValueError):  # A damaged manifest may need any of them.
                versions.sweep()
    except CorruptionError:
        return None
    except OSError as error:
        if error.errno in UNWRITABLE and not Path(directory).is_dir():
            return None
        raise storage_error(directory, error) from None
    finally:
        if entry.use is not None:
            entry.use.share()
    if version is None or version.schema != entry.table.schema or () in version.origins:
        return None
    return version
