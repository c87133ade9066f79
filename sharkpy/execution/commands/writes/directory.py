"""Local folders that belong to no table, for INSERT OVERWRITE DIRECTORY and EXPORT."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base.errors import BindError, SourceError
from sharkpy.catalog.table_folders import TableFolders
from sharkpy.execution.commands.writes.publish import QuietWrite
from sharkpy.execution.commands.writes.staging import discard_staging, new_staging
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources import staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.plain_folders import swap

ACTION = "INSERT OVERWRITE DIRECTORY"


@dataclass(slots=True)
class Directory(QuietWrite):
    """Write that replaces the folder `target` by `staging`, by one exchange of names."""

    target: str
    staging: str
    was_there: bool
    session: EngineSession
    is_placed: bool = False

    @classmethod
    def begin(cls, path: str, session: EngineSession) -> Directory:
        target = Path(session.restrictions.check_path(path))
        session.restrictions.gate.require_below(path)
        _check_target(target, session)
        # Garbage goes first: a dropped table's folder is deleted after its readers leave, with anything written there.
        session.catalog.clear_garbage(str(target))
        return cls(str(target), new_staging(str(target.parent), session), target.is_dir(), session)

    def prepare(self) -> None:
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


def _check_target(target: Path, session: EngineSession) -> None:
    """Check that the target, whose content will be deleted, is not a file, and holds or belongs to no table."""
    folders = TableFolders(session.catalog)
    folders.require_no_others(str(target), ACTION)
    if (owner := folders.owner_at(str(target))) is not None:
        message = f'{ACTION} would delete files of {owner.owner}: "{target}" belongs to it'
        raise BindError(message, hint="name another folder, or INSERT OVERWRITE the table", sqlstate="42809")
    if target.exists() and not target.is_dir():
        raise SourceError(f'"{target}" is a file, not a folder', sqlstate="58030")
