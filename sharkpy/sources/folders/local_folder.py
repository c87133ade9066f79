"""Folder of a table in the local file system: each generation is a subfolder, which one rename puts in place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from sharkpy.sources import layout, staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import Generation, Placed, generations_between
from sharkpy.sources.layout import DataFile


@dataclass(frozen=True, slots=True)
class LocalFolder:
    """`TableFolder` whose files are listed. The mark of a generation is the inode of its folder: a rename keeps it."""

    path: str

    def exists(self) -> bool:
        return Path(self.path).is_dir()

    def staged_subfolder(self, staging: str, name: str) -> str:
        return staged_files.staged_subfolder(staging, name)

    def staged_files(self, staging: str) -> list[DataFile]:
        return layout.files_below(staging)

    def sync_staged(self, staging: str) -> None:
        staged_files.sync_staged(staging)

    def remove_empty(self) -> None:
        staged_files.remove_empty(self.path)

    def files(self, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
        return layout.list_data_files(self.path, newest)

    def partition_files(self, newest: int | None, partition: str) -> list[DataFile]:
        return layout.list_partition_files(self.path, newest, partition)

    def deltas(self, after: int, until: int) -> list[DataFile] | None:
        numbers = generations_between(after, until)
        return None if numbers is None else layout.delta_files(self.path, numbers)

    def visible(self, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
        return layout.visible_generations(self.path, newest)

    def newest(self) -> int:
        return layout.newest_generation(self.path)

    def new_staging(self, name: str = "") -> str:  # noqa: ARG002  the rename gives the name
        return staged_files.staging_path(self.path)

    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str:
        return staged_files.make_staging(staging, in_new_folder=in_new_folder)

    def discard_staging(self, staging: str) -> None:
        staged_files.discard_staging(staging)

    def place(self, staging: str, overwrite: bool) -> Placed | None:
        mark = inode_mark(staging)
        return self._placed(staged_files.place(staging, self.path, overwrite), mark)

    def publish(self, staging: str, overwrite: bool) -> Placed | None:
        mark = inode_mark(staging)
        return self._placed(staged_files.publish(staging, self.path, overwrite), mark)

    def place_after(self, staging: str, newest: int | None, overwrite: bool) -> Placed:
        mark = inode_mark(staging)
        target = staged_files.place_generation(staging, self.path, newest, overwrite)
        return Placed(self.path, Path(target).name, mark)

    def place_fold(
        self, staging: str, folded: Sequence[tuple[Generation, Sequence[DataFile]]], newest: int | None
    ) -> Placed | None:
        mark = inode_mark(staging)
        return self._placed(staged_files.place_fold(staging, self.path, folded, newest), mark)

    def _placed(self, target: str | None, mark: str) -> Placed | None:
        return None if target is None else Placed(self.path, Path(target).name, mark)

    def second_names(self, newest: int | None, staging: str) -> None:
        files = [file.path for _, files in self.visible(newest) for file in files]
        staged_files.link_files(files, staging)

    def sync(self) -> None:
        staged_files.sync_folders([self.path])

    def files_of(self, placed: Placed) -> list[DataFile]:
        return layout.files_below(str(Path(self.path, placed.name)))

    def take_back(self, placed: Placed) -> None:
        staged_files.take_back(str(Path(self.path, placed.name)), int(placed.mark))

    def hidden(self, newest: int | None = None) -> frozenset[str]:
        return layout.hidden_names(self.path, newest)

    def remove_hidden(
        self,
        newest: int | None = None,
        among: Collection[str] | None = None,
        keep_seconds: float = 0,  # noqa: ARG002  all readers are known
    ) -> None:
        staged_files.remove_hidden(self.path, newest, among)

    def remove_beyond(self, newest: int) -> None:
        if self.exists():
            staged_files.remove_beyond(self.path, newest)

    def remove_abandoned(self) -> None:
        staged_files.remove_abandoned(self.path)

    def remove_first(self) -> None:
        staged_files.remove_first_generations(self.path)

    def remove_if_empty(self) -> bool:
        return staged_files.remove_empty_one(self.path)


def inode_mark(folder: str) -> str:
    """Inode of a folder, which a rename keeps."""
    try:
        return str(Path(folder).stat().st_ino)
    except OSError as error:
        raise io_error(error, folder) from None
