"""Leftovers of killed processes in data folders, which readers do not see and the next start removes."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from sharkpy.base import uri
from sharkpy.base.errors import SharkError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.unfinished_writes import Note
from sharkpy.sources.folders.table_folder import table_folder

_log = logging.getLogger(__name__)


def sweep_abandoned(catalog: Catalog) -> list[list[Note]]:
    """Remove local leftovers: staging folders, uncommitted generations, folders of unfinished tables.

    Return the notes about remote folders, grouped by the process that wrote them. They are adopted by this process,
    because storage may answer slowly.
    """
    remote = list[list[Note]]()
    for written in catalog.unfinished.abandoned():
        notes = [note for note in written if not uri.is_remote(note.folder)]
        try:
            if far := [note for note in written if uri.is_remote(note.folder)]:
                catalog.unfinished.adopt(far)
                remote.append(far)
            for note in notes:
                if not note.table_id:
                    table_folder(uri.parent(note.folder)).discard_staging(note.folder)
            if catalog.is_shared:
                continue
            with catalog.transaction():
                tables = {
                    table.table_id: table
                    for name in catalog.database_names()
                    for table in catalog.tables(name, with_states=True)
                }
                for note in notes:
                    _sweep(note, tables, catalog)
        except (OSError, SharkError) as error:
            _log.warning("what a killed process has left in the warehouse could not be deleted: %s", error)
    return remote


def _sweep(note: Note, tables: Mapping[str, Table], catalog: Catalog) -> None:
    if note.table_id:
        if (table := tables.get(note.table_id)) is not None:
            _sweep_partition(note.folder, table, catalog)
        return
    location = uri.parent(note.folder)
    if note.is_new and not any(table.location == location for table in tables.values()):
        table_folder(location).remove_first()


def _sweep_partition(folder: str, table: Table, catalog: Catalog) -> None:
    """Remove leftovers in a Hive partition. An unregistered folder of an unmanaged table may have another owner."""
    known = next((one for one in catalog.partitions(table) if one.folder(table) == folder), None)
    newest = 0 if known is None and table.kind is TableKind.MANAGED else None if known is None else known.newest
    if newest is not None:
        table_folder(folder).remove_beyond(newest)
    if known is None:
        table_folder(folder).remove_empty()
        above = uri.parent(folder)
        while above != table.location and table_folder(above).remove_if_empty():
            above = uri.parent(above)
