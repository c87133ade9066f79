"""ALTER TABLE ADD, DROP, RENAME and EXCHANGE PARTITION.

The files of a partition that moves from or to a remote folder are copied, and committed by the catalog.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import BindError, TableChangedError
from sharkpy.base.records import dataclass
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table, TableKind
from sharkpy.catalog.path_gate import check_local, local_path
from sharkpy.catalog.table_folders import drops_folder, holds_rows
from sharkpy.catalog.table_store import PartitionChanges
from sharkpy.execution.commands.command_result import NOTHING, CommandResult
from sharkpy.execution.commands.partition_spec import (
    PartitionIndex,
    matching_spec,
    no_such_partition,
    spec_name,
    the_partition,
)
from sharkpy.execution.commands.storage import managed_folder
from sharkpy.execution.commands.writes.staged_write import discard_staging, folder_at, new_staging
from sharkpy.execution.commands.writes.table_files import PlainWrite, load_new_blocks, plain_write
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.data_files import partition_files
from sharkpy.plan.commands import (
    AddPartitions,
    DropPartitions,
    ExchangePartition,
    RenamePartition,
)
from sharkpy.sources.copied_files import copy_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import Placed
from sharkpy.sources.folders.logged_folder import LoggedFolder
from sharkpy.sources.layout import numbered_name
from sharkpy.sources.remote_files import files_below
from sharkpy.sources.staged_files import take_back

_EXISTS = "42710"


def add_partitions(command: AddPartitions, session: EngineSession) -> CommandResult:
    """Add Hive partitions atomically; files already in their folders become their rows.

    Partitions of views are names only.
    """
    table = command.table
    named = [(spec, spec_name(table, spec, session)) for spec, _ in command.partitions]
    folders = [None if place is None else _folder(table, place, session) for _, place in command.partitions]
    is_logged = session.catalog.log.find(table.location or "") is not None
    with session.catalog.partition_changes(table) as changes:
        index = PartitionIndex(table, changes.before)
        for (spec, name), location in zip(named, folders, strict=True):
            # An empty text means the default value, like NULL.
            if name in changes.known or index.matching_spec(spec):
                if not command.if_not_exists:
                    raise _exists(table, name)
                continue
            if not table.is_view:
                folder = location or uri.join(table.location or "", name)
                session.catalog.clear_garbage(folder)
                if not uri.is_remote(folder):
                    session.restrictions.gate.check_folder(folder, table.location)
                    _make_folder(folder)
                if location is None and is_logged and not _holds_rows(folder, session):
                    session.catalog.log_new_partition(table, folder)
            index.add(changes.add(name, location))
    if not table.is_view:
        load_new_blocks(table, session)
    return NOTHING


def _holds_rows(folder: str, session: EngineSession) -> bool:
    """Return True if the folder of a new Hive partition has files that no log names."""
    if session.catalog.log.find(folder) is not None:
        return False
    if uri.is_remote(folder):
        return bool(files_below(folder, session.catalog.access_id(folder)))
    return holds_rows(folder)


def _folder(table: Table, place: str, session: EngineSession) -> str:
    """Return the folder of a LOCATION. A relative path starts at the table's folder, as in Hive."""
    is_relative = ":" not in place and not Path(place).expanduser().is_absolute()
    path = uri.join(table.location or "", place) if is_relative else place
    return managed_folder(path, table.kind, session, table.table_id)


def drop_partitions(command: DropPartitions, session: EngineSession) -> CommandResult:
    """Drop Hive partitions, with their data if it is in a managed table's own folder.

    Each PARTITION (…) must match a partition, unless IF EXISTS is given.
    """
    table = command.table
    with session.catalog.partition_changes(table) as changes:
        gone: dict[str, HivePartition] = {}
        index = PartitionIndex(table, changes.before)
        for terms in command.filters:
            found = index.matching(terms)
            if not found and not command.if_exists:
                raise no_such_partition(table, ", ".join(f"{name} {sign} '{text}'" for name, sign, text in terms))
            gone |= {one.name: one for one in found}
        warehouse = session.catalog.warehouse_dir
        owned = [one for one in gone.values() if table.owns_data and drops_folder(one, table, warehouse)]
        session.catalog.check_owned_folders(table, owned)
        changes.drop(owned, with_data=True)
        changes.drop([one for one in gone.values() if one.name in changes.known], with_data=False)
    session.catalog.collect_garbage()
    session.table_cache.hidden.sweep(table)
    for one in owned:
        if session.catalog.log.find(folder := one.folder(table)) is not None:
            session.table_cache.hidden.remove_empty(table, folder)
    if not table.is_view:
        load_new_blocks(table, session)
    return NOTHING


def rename_partition(command: RenamePartition, session: EngineSession) -> CommandResult:
    """Rename a Hive partition. Logged files stay in their places.

    Otherwise, its folder is renamed if a managed table's folder is named after it, or its files are copied into a new
    remote folder.
    """
    table = command.table
    name = spec_name(table, command.new, session)
    target = uri.join(table.location or "", name)
    known = the_partition(table, session.catalog.partitions(table), command.old)
    moved = [(known, target)] if _is_moved(known, table) else []
    with partition_copies(table, moved, table, session) as copies, session.catalog.partition_changes(table) as changes:
        old = the_partition(table, changes.before, command.old)
        _check_move(old, table, target, table, session)
        if matching_spec(table, changes.before, command.new):
            raise _exists(table, name)
        folder = old.folder(table)
        if old.name in copies:
            number = copies[old.name].place(old)
            changes.drop([old], with_data=True)
            changes.add(name, None, number, old.storage, old.columns)
        else:
            moves = _is_moved(old, table)
            place, target = _place(target, session) if moves else (folder, folder)
            changes.alter(old, dataclasses.replace(old, name=name, location=place))
            if moves:
                _move(folder, target, table, session)
    session.catalog.collect_garbage()
    load_new_blocks(table, session)
    return NOTHING


def _check_move(one: HivePartition, source: Table, target: str, table: Table, session: EngineSession) -> None:
    """Raise NotAllowedError if links lead out of the bounds from the partition's old or new folder."""
    session.catalog.check_folders(source, [one])
    session.restrictions.gate.check_folder(target, table.location)


def _is_moved(one: HivePartition, table: Table) -> bool:
    """Whether a rename also renames the partition's folder."""
    return one.location is None and table.kind is not TableKind.EXTERNAL


def _place(target: str, session: EngineSession) -> tuple[str | None, str]:
    """Return the location of a Hive partition that moves to `target`, and its folder. The location is None if the
    folder is `target`, which may have the files of a dropped Hive partition.
    """
    catalog = session.catalog
    catalog.clear_garbage(target)
    if catalog.log.owner(target) is None or catalog.log.forget_empty(target):
        return None, target
    other = f"{target}-{uuid.uuid4().hex[:8]}"
    return other, other


def _move(folder: str, target: str, table: Table, session: EngineSession) -> None:
    """Move a folder into a table's one inside a transaction. Logged files stay in their places."""
    log = session.catalog.log
    if log.find(folder) is None:
        _rename(folder, target)
    else:
        log.move(folder, target, table.location or "")


def _rename(folder: str, target: str) -> None:
    old, new = Path(local_path(folder)), Path(local_path(target))
    try:
        new.parent.mkdir(parents=True, exist_ok=True)
        if new.is_dir() and any(new.iterdir()):
            raise BindError(f'folder "{target}" of the new name exists and is not empty', sqlstate=_EXISTS)
        if old.is_dir():
            old.rename(new)
            with suppress(OSError):
                old.parent.rmdir()
    except OSError as error:
        raise io_error(error, target) from None


def exchange_partition(command: ExchangePartition, session: EngineSession) -> CommandResult:
    """Move the matching Hive partitions of the source, with their data. The table must not have them."""
    table, source = command.table, command.source
    wanted = matching_spec(source, session.catalog.partitions(source), command.partition)
    targets = [(one, uri.join(table.location or "", one.name)) for one in wanted if one.location is None]
    moved: list[tuple[str, str]] = []
    with partition_copies(source, targets, table, session) as copies:
        try:
            with session.catalog.partition_changes(source) as there, session.catalog.partition_changes(table) as here:
                found = matching_spec(source, there.before, command.partition)
                if not found:
                    raise no_such_partition(source, ", ".join(f"{name}='{value}'" for name, value in command.partition))
                if taken := next((one.name for one in found if one.name in here.known), None):
                    raise _exists(table, taken)
                for one in found:
                    _check_move(one, source, uri.join(table.location or "", one.name), table, session)
                    _exchange(one, there, here, copies.get(one.name), session, moved)
        except BaseException:
            for folder, target in moved:
                _rename(target, folder)
            raise
    session.catalog.collect_garbage()
    for changed in (source, table):
        load_new_blocks(changed, session)
    return NOTHING


def _exchange(
    one: HivePartition,
    there: PartitionChanges,
    here: PartitionChanges,
    copy: PartitionCopy | None,
    session: EngineSession,
    moved: list[tuple[str, str]],
) -> None:
    """Move one Hive partition. Add its old and new folder to `moved` if the folder is renamed."""
    source, table = there.table, here.table
    storage = None if one.storage_of(source) == table.storage else one.storage_of(source)
    folder, target = one.folder(source), uri.join(table.location or "", one.name)
    if copy is not None:
        number = copy.place(one)
        there.drop([one], with_data=True)
        here.add(one.name, None, number, storage, one.columns)
        return
    if one.location is None and needs_copy(folder, target, table, session):
        raise TableChangedError(f"the partition {one.name} was created while the other partitions were copied")
    there.drop([one], with_data=False)
    place, target = _place(target, session) if one.location is None else (one.location, target)
    here.add(one.name, place, one.newest, storage, one.columns)
    if one.location is None:
        is_renamed = session.catalog.log.find(folder) is None
        _move(folder, target, table, session)
        if is_renamed:
            moved.append((folder, target))


def _make_folder(folder: str) -> None:
    path = Path(local_path(folder))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise io_error(error, folder) from None


def _exists(table: Table, name: str) -> BindError:
    return BindError(f"{table.qualified_name} has the partition {name} already", sqlstate=_EXISTS)


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
    plain: PlainWrite | None = None

    def place(self, known: HivePartition) -> int | None:
        """Place the copy in the new folder and return its generation, which the catalog has to commit, or None for
        plain files.

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
            catalog.log_new_partition(self.table, self.target)
            folder = folder_at(self.target, self.session)
        catalog.unfinished.note_partitions(self.table.table_id, [self.target])
        if not isinstance(folder, LoggedFolder):
            self.plain = plain_write(self.staging, self.target, False, self.session)
            self.plain.place()
            return None
        self.placed = folder.place_all(self.staging, overwrite=True)
        folder.sync()
        return self.placed.number

    def take_back(self) -> None:
        if self.plain is not None:
            self.plain.take_back()
        if self.placed is not None:
            take_back(self.placed)


def needs_copy(folder: str, target: str, table: Table, session: EngineSession) -> bool:
    """True if neither a row of the log nor a rename can move the folder to `target`, in the folder of `table`."""
    log = session.catalog.log
    is_logged = log.find(folder) is not None
    if is_logged and log.find(table.location or "") is not None:
        return False
    return is_logged or uri.is_remote(folder) or uri.is_remote(target)


@contextmanager
def partition_copies(
    source: Table, moved: Sequence[tuple[HivePartition, str]], table: Table, session: EngineSession
) -> Iterator[Mapping[str, PartitionCopy]]:
    """Stage copies of the moved Hive partitions that `needs_copy`, by name, for folders of `table`.

    If the body fails, the copies are removed.
    """
    copies: dict[str, PartitionCopy] = {}
    try:
        for one, target in moved:
            if needs_copy(one.folder(source), target, table, session):
                copies[one.name] = _staged(one, source, table, target, session)
        yield copies
    except BaseException:
        # This also runs after a cancellation.
        with Cancellation().active():
            for copy in copies.values():
                copy.take_back()
        raise
    finally:
        with Cancellation().active():
            for copy in copies.values():
                discard_staging(copy.staging, session)


def _staged(one: HivePartition, source: Table, table: Table, target: str, session: EngineSession) -> PartitionCopy:
    if session.catalog.is_shared:
        check_local(target if uri.is_remote(target) else one.folder(source))
    with session.catalog.readers.reading(source.location or ""):
        files = partition_files(source, [one], session.catalog)
        copy = PartitionCopy(one, table, target, new_staging(table.location or "", session), session)
        try:
            access_id = session.catalog.access_id(target) if uri.is_remote(target) else ""
            named = [(file, uri.join(copy.staging, numbered_name(n, file.path))) for n, file in enumerate(files)]
            copy_files(named, access_id)
            folder_at(target, session).sync_staged(copy.staging)
        except BaseException:
            with Cancellation().active():
                discard_staging(copy.staging, session)
            raise
    return copy
