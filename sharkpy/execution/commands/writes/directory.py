"""Folders that belong to no table, local or remote, for INSERT OVERWRITE DIRECTORY and EXPORT."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import BindError, SharkError, SourceError
from sharkpy.base.records import dataclass
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.execution.commands.writes.staged_write import QuietWrite, StagedWrite, discard_staging, new_staging
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources import staged_files
from sharkpy.sources.copied_files import FolderWrite, PlacedFiles, copy_files, require_writable
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.table_folder import TableFolder, table_folder
from sharkpy.sources.layout import DataFile
from sharkpy.sources.open_files import store_for_access
from sharkpy.sources.plain_folders import swap
from sharkpy.sources.remote_files import has_files, is_file
from sharkpy.sources.storage.local_store import LOCAL

ACTION = "INSERT OVERWRITE DIRECTORY"
_EXISTS = "42710"
_log = logging.getLogger(__name__)


class DirectoryWrite(StagedWrite, Protocol):
    """Write of files into a folder that belongs to no table.

    `copies` are files to be copied, with their names in the folder. `last` is the name and text of a file that is
    written after the others.
    """

    copies: Sequence[tuple[DataFile, str]]
    last: tuple[str, str] | None

    def stage_rows(self) -> str:
        """Return the folder in which tasks stage files."""


def begin_directory(path: str, action: str, session: EngineSession, *, replaces: bool) -> DirectoryWrite:
    """Check a folder and begin a write. If `replaces`, files that were there are removed.

    Raise NotAllowedError if the session's statements may not name the folder, BindError 42809 if files of tables, a
    whole bucket or a whole disk would be deleted, BindError 42710 if it has files and `replaces` is False.
    """
    target = path.rstrip("/") if uri.is_remote(path) else session.restrictions.check_path(path)
    access_id = session.catalog.named_access_id(target)
    session.restrictions.gate.require_below(path)
    _check_target(target, action, session)
    require_writable(target, access_id)
    if is_file(target, access_id):
        raise SourceError(f'"{target}" is a file, not a folder', sqlstate="58030")
    # Garbage goes first: a dropped table's folder is deleted after its readers leave, with anything written there.
    session.catalog.clear_garbage(target)
    if not replaces and has_files(target, access_id):
        raise BindError(f'folder "{target}" is not empty', sqlstate=_EXISTS)
    if store_for_access(target, access_id).traits.is_local:
        return Directory(target, new_staging(uri.parent(target), session), Path(target).is_dir(), session)
    write = FolderWrite.begin(target, access_id)
    if _is_settled(target, session):
        session.catalog.unfinished.begin(write.staging)
    return RemoteDirectory(write, session, replaces)


def _check_target(target: str, action: str, session: EngineSession) -> None:
    """Check a target to be emptied: it is not a whole bucket or disk, and it neither holds nor belongs to a table."""
    if not uri.name_of(target):
        raise BindError(f'{action} would replace all of "{target}"', hint="name a folder in it", sqlstate="42809")
    folders = TableFolders(session.catalog)
    folders.require_no_others(target, action)
    if (owner := folders.owner_at(target)) is not None:
        message = f'{action} would delete files of {owner.owner}: "{target}" belongs to it'
        raise BindError(message, hint="name another folder, or INSERT OVERWRITE the table", sqlstate="42809")


@dataclass(slots=True)
class Directory(QuietWrite):
    """Write that replaces the local folder `target` by `staging`, by one exchange of names."""

    target: str
    staging: str
    was_there: bool
    session: EngineSession
    copies: Sequence[tuple[DataFile, str]] = ()
    last: tuple[str, str] | None = None
    is_placed: bool = False

    def stage_rows(self) -> str:
        return self.staging

    def prepare(self) -> None:
        for folder in dict.fromkeys(uri.parent(name) for _, name in self.copies):
            staged_files.staged_subfolder(self.staging, folder)
        copy_files([(file, uri.join(self.staging, name)) for file, name in self.copies])
        if self.last is not None:
            name, text = self.last
            LOCAL.put(uri.join(self.staging, name), text.encode())
        staged_files.sync_staged(self.staging)

    def place(self) -> None:
        try:
            if self.was_there:
                shutil.copymode(self.target, self.staging)
                swap(self.staging, self.target)
            else:
                Path(self.staging).rename(self.target)
            self.is_placed = True
            staged_files.sync_folders([str(Path(self.target).parent)])
        except OSError as error:
            raise io_error(error, self.target) from None

    def take_back(self) -> None:
        if not self.is_placed:
            return
        self.is_placed = False
        with suppress(OSError):
            if self.was_there:
                swap(self.staging, self.target)
            else:
                Path(self.target).rename(self.staging)

    def clean(self) -> None:
        with suppress(OSError):
            staged_files.remove_abandoned(str(Path(self.target).parent))

    def discard(self) -> None:
        discard_staging(self.staging, self.session)


@dataclass(slots=True)
class RemoteDirectory(QuietWrite):
    """Write that copies files into a remote folder (see `FolderWrite`). If `replaces`, other files are removed."""

    write: FolderWrite
    session: EngineSession
    replaces: bool
    copies: Sequence[tuple[DataFile, str]] = ()
    last: tuple[str, str] | None = None
    rows: str = ""
    """Folder in which tasks stage their files."""
    placed: PlacedFiles | None = None
    is_copied: bool = False
    is_discarded: bool = False

    def stage_rows(self) -> str:
        home = self._home
        self.rows = home.new_staging()
        return home.make_staging(self.rows)

    @property
    def _home(self) -> TableFolder:
        return table_folder(self.write.staging, access=self.session.catalog.named_access_id)

    def prepare(self) -> None:
        self.is_copied = True
        rows = self._home.staged_files(self.rows) if self.rows else ()
        self.write.copy([*((file, uri.name_of(file.path)) for file in rows), *self.copies])

    def place(self) -> None:
        self.placed = self.write.place(replaces=self.replaces, last=self.last)

    def take_back(self) -> None:
        self.placed = None

    def clean(self) -> None:
        if self.placed is None:
            return
        try:
            self.write.finish(self.placed)
        except SharkError as error:
            what = "the last file is not" if self.last is not None else "some of the old files could not be deleted"
            message = f'the new files are in "{self.write.target}", and {what}: {error.message}'
            raise SourceError(message, hint="run the statement again") from error

    def discard(self) -> None:
        if self.is_discarded:
            return
        self.is_discarded = True
        try:
            # This also runs after a cancellation.
            with Cancellation().active():
                if self.placed is None and self.is_copied:
                    self.write.undo()
                if self.rows:
                    self._home.discard_staging(self.rows)
                self.write.remove_staged()
        except SharkError as error:
            # The write stays noted. If this process is killed, the next start tries again.
            _log.warning(
                'what was to be written in "%s" could not be removed: %s', uri.redacted(self.write.target), error
            )
            return
        self.session.catalog.unfinished.end(self.write.staging)


def _is_settled(target: str, session: EngineSession) -> bool:
    """Whether the next start cleans up after a kill.

    It uses the keys of the engine's owner, which are not used for locations that a restricted session chose with its
    own keys.
    """
    restrictions = session.restrictions
    is_restricted = restrictions.folders is not None or restrictions.guards_settings
    return not is_restricted or restrictions.opens(target)
