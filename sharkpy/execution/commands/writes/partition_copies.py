"""Hive partitions that move from or to a remote folder: the files are copied and committed by the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import BindError, TableChangedError
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import check_local
from sharkpy.execution.commands.writes.staging import discard_staging, folder_at, new_staging
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.data_files import partition_files
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.folders.generations import Placed

_EXISTS = "42710"


@dataclass(slots=True)
class PartitionCopy:
    """Copy of the committed files of Hive partition `one`, for the folder `target` in `table`.

    The copy is staged in the table's folder: garbage in `target` is removed until the copy is placed.
    """

    one: HivePartition
    table: Table
    target: str
    staging: str
    session: EngineSession
    placed: Placed | None = None

    def place(self, known: HivePartition) -> int:
        """Place the copy in the new folder and return its generation, which the catalog has to commit.

        Call it inside a transaction in which the partition is `known`. Raise TableChangedError if the partition has
        changed since it was copied, BindError 42710 if the folder has other files.
        """
        if known != self.one:
            raise TableChangedError(f"the partition {self.one.name} was changed while its files were copied")
        catalog, folder = self.session.catalog, folder_at(self.target, self.session)
        if not catalog.keep_garbage(self.target):
            catalog.clear_garbage(self.target)
            if folder.exists() and any(files for _, files in folder.visible()):
                place = uri.redacted(self.target)
                raise BindError(f'folder "{place}" of the new partition exists and is not empty', sqlstate=_EXISTS)
        catalog.unfinished.note_partitions(self.table.table_id, [self.target])
        self.placed = folder.place_after(self.staging, None, overwrite=True)
        folder.sync()
        return self.placed.number


def moves_far(folder: str, target: str) -> bool:
    """True if a rename cannot move the folder, because one of the two is remote."""
    return uri.is_remote(folder) or uri.is_remote(target)


@contextmanager
def partition_copies(
    source: Table, moved: Sequence[tuple[HivePartition, str]], table: Table, session: EngineSession
) -> Iterator[Mapping[str, PartitionCopy]]:
    """Stage copies of the moved Hive partitions that `moves_far`, by name, for folders of `table`.

    If the body fails, the copies are removed.
    """
    copies: dict[str, PartitionCopy] = {}
    try:
        for one, target in moved:
            if moves_far(one.folder(source), target):
                copies[one.name] = _staged(one, source, table, target, session)
        yield copies
    except BaseException:
        # This also runs after a cancellation.
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
