"""Hive partitions whose files move between folders of which one is remote: copied, and counted by the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import BindError, TableChangedError
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.local_path import check_local
from sharkpy.catalog.model import Table
from sharkpy.execution.commands.writes.staging import discard_staging, folder_at, new_staging
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.data_files import partition_files
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.folders.generations import Placed

_EXISTS = "42710"


@dataclass(slots=True)
class PartitionCopy:
    """Copy of what counts of the Hive partition `one` for the folder `target` of a Hive partition of `table`. It is
    staged in the table's folder: what a dropped one has left in `target` goes until then, with all that is there.
    """

    one: HivePartition
    table: Table
    target: str
    staging: str
    session: EngineSession
    placed: Placed | None = None

    def place(self, known: HivePartition) -> int:
        """Number of the generation that the copy is in the new folder; it counts once the catalog has that. Called
        inside a transaction, in which the partition is as `known`: TableChangedError if that is no more what was
        copied, BindError 42710 for a folder that has files of others.
        """
        if known != self.one:
            raise TableChangedError(f"the partition {self.one.name} was changed while its files were copied")
        catalog, folder = self.session.catalog, folder_at(self.target, self.session)
        if not catalog.keep_garbage(self.target):
            catalog.clear_garbage(self.target)
            if folder.exists() and any(files for _, files in folder.visible()):
                place = uri.shown(self.target)
                raise BindError(f'folder "{place}" of the new partition exists and is not empty', sqlstate=_EXISTS)
        catalog.unfinished.note_partitions(self.table.table_id, [self.target])
        self.placed = folder.place_behind(self.staging, None, overwrite=True)
        folder.sync()
        return self.placed.number


def moves_far(folder: str, target: str) -> bool:
    """True where a rename cannot move a folder."""
    return uri.is_remote(folder) or uri.is_remote(target)


@contextmanager
def partition_copies(
    source: Table, moved: Sequence[tuple[HivePartition, str]], table: Table, session: EngineSession
) -> Iterator[Mapping[str, PartitionCopy]]:
    """Copies of Hive partitions of a table for folders of `table`, by name: of those that `moves_far`. A body that
    fails leaves nothing of them.
    """
    copies: dict[str, PartitionCopy] = {}
    try:
        for one, target in moved:
            if moves_far(one.folder(source), target):
                copies[one.name] = _staged(one, source, table, target, session)
        yield copies
    except BaseException:
        # Also where the statement was ended.
        with Cancellation().active():
            for copy in copies.values():
                if copy.placed is not None:
                    folder_at(copy.target, session).take_back(copy.placed)
        raise
    finally:
        with Cancellation().active():
            for copy in copies.values():
                discard_staging(copy.staging, session)


def _staged(one: HivePartition, source: Table, table: Table, target: str, session: EngineSession) -> PartitionCopy:
    for other in (source, table):
        if other.is_plain:
            check_local(target if uri.is_remote(target) else one.folder(source))
    with session.catalog.readers.reading(source.location or ""):
        files = partition_files(source, [one], session.catalog.access_id)
        copy = PartitionCopy(one, table, target, new_staging(table.location or "", session), session)
        try:
            access_id = session.catalog.access_id(target) if uri.is_remote(target) else ""
            names = (f"{number:07d}-{uri.name_of(file.path).lstrip('_.')}" for number, file in enumerate(files))
            copy_files(
                [(file, uri.join(copy.staging, name)) for file, name in zip(files, names, strict=True)], access_id
            )
            folder_at(target, session).sync_staged(copy.staging)
        except BaseException:
            with Cancellation().active():
                discard_staging(copy.staging, session)
            raise
    return copy
