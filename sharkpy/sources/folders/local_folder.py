"""Folder in the local file system whose files are listed: of plain files, of generations that earlier releases have put
there, and of temporary tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from sharkpy.base.records import dataclass
from sharkpy.sources import layout, staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import Generation, Placed
from sharkpy.sources.layout import DataFile


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """`TableFolder` whose files are listed.

    Writes of a temporary table put generations there, each by one rename of a folder. The mark of a generation is the
    inode of its folder, which a rename keeps.
    """

    path: str

    def exists(self) -> bool:
        return Path(self.path).is_dir()

    def files(self, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
        return layout.list_data_files(self.path, newest)

    def partition_files(self, newest: int | None, partition: str) -> list[DataFile]:
        return layout.list_partition_files(self.path, newest, partition)

    def visible(self, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
        return layout.visible_generations(self.path, newest)

    def newest(self) -> int:
        return layout.newest_generation(self.path)

    def new_staging(self, name: str = "") -> str:  # noqa: ARG002  the rename gives the name
        return staged_files.staging_path(self.path)

    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str:
        return staged_files.make_staging(staging, in_new_folder=in_new_folder)

    def staged_subfolder(self, staging: str, name: str) -> str:
        return staged_files.staged_subfolder(staging, name)

    def staged_files(self, staging: str) -> list[DataFile]:
        return layout.files_below(staging)

    def sync_staged(self, staging: str) -> None:
        staged_files.sync_staged(staging)

    def discard_staging(self, staging: str) -> None:
        staged_files.discard_staging(staging)

    def place(self, staging: str, overwrite: bool) -> Placed | None:
        """Make the staged files rows of a temporary table; None if there is nothing to add."""
        mark = inode_mark(staging)
        target = staged_files.place(staging, self.path, overwrite)
        return None if target is None else Placed(self.path, Path(target).name, mark, target)

    def files_of(self, placed: Placed) -> list[DataFile]:
        return layout.files_below(placed.place)

    def hidden(self, newest: int | None = None) -> frozenset[str]:
        return layout.hidden_names(self.path, newest)

    def remove_hidden(self, newest: int | None = None, among: Collection[str] | None = None) -> None:
        staged_files.remove_hidden(self.path, newest, among)

    def remove_beyond(self, newest: int) -> None:
        if self.exists():
            staged_files.remove_beyond(self.path, newest)

    def remove_abandoned(self) -> None:
        staged_files.remove_abandoned(self.path)

    def remove_empty(self) -> None:
        staged_files.remove_empty(self.path)

    def remove_if_empty(self) -> bool:
        return staged_files.remove_empty_one(self.path)


def inode_mark(folder: str) -> str:
    """Inode of a folder, which a rename keeps."""
    try:
        return str(Path(folder).stat().st_ino)
    except OSError as error:
        raise io_error(error, folder) from None
