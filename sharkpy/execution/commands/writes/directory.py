"""Files of a folder that belongs to no table: INSERT OVERWRITE DIRECTORY."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base.errors import BindError, SourceError
from sharkpy.catalog.shared_folders import require_own_folder
from sharkpy.execution.commands.writes.staging import discard_staging, new_staging
from sharkpy.execution.engine_session import EngineSession
from sharkpy.sources import layout
from sharkpy.sources.failures import io_error
from sharkpy.sources.folder_swap import swap


@dataclass(slots=True)
class Directory:
    """Write that puts the content of `staging` in the place of the folder `target`, by one exchange of names."""

    target: str
    staging: str
    was_there: bool
    session: EngineSession
    is_placed: bool = False

    @classmethod
    def begin(cls, path: str, session: EngineSession) -> Directory:
        session.restrictions.check_path(path)
        target = Path(layout.local_path(path)).resolve()
        _check_target(target, session)
        return cls(str(target), new_staging(str(target.parent), session), target.is_dir(), session)

    def prepare(self) -> None:
        layout.sync_staged(self.staging)

    def place(self) -> None:
        try:
            if self.was_there:
                shutil.copymode(self.target, self.staging)
                swap(self.staging, self.target)
            else:
                Path(self.staging).rename(self.target)
            self.is_placed = True
            layout.sync_folders([str(Path(self.target).parent)])
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

    def show(self) -> None:
        pass

    def clean(self) -> None:
        with suppress(OSError):
            layout.remove_abandoned(str(Path(self.target).parent))

    def discard(self) -> None:
        discard_staging(self.staging, self.session)


def _check_target(target: Path, session: EngineSession) -> None:
    """Check the folder, whose content will be deleted: it must not be the warehouse, nor a file."""
    warehouse, state = (Path(path).resolve() for path in (session.catalog.warehouse_dir, session.catalog.state_dir))
    if warehouse.is_relative_to(target) or target.is_relative_to(state):
        raise BindError(f'INSERT OVERWRITE DIRECTORY would delete the warehouse "{warehouse}"', sqlstate="42809")
    require_own_folder(str(target), "INSERT OVERWRITE DIRECTORY")
    if target.exists() and not target.is_dir():
        raise SourceError(f'"{target}" is a file, not a folder', sqlstate="58030")
