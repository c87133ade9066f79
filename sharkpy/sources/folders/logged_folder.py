"""Folder of a managed table in the local file system whose files the catalog's log names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from sharkpy.catalog.file_log import LoggedFile
from sharkpy.sources import layout, staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import Generation, Placed, fold_name
from sharkpy.sources.folders.local_folder import StagingFolder, inode_mark
from sharkpy.sources.folders.manifests import FILES
from sharkpy.sources.layout import DataFile
from sharkpy.sources.new_files import COUNTS

if TYPE_CHECKING:
    from sharkpy.catalog.file_log import FileLog


@dataclass(frozen=True, slots=True)
class LoggedFolder(StagingFolder):
    """`TableFolder` whose files are logged. A generation is a commit: its number is the commit's.

    1. A write stages its files in `_files/<id of the write>`, and they stay there. The catalog's commit makes them
       count. Files that were staged for another folder, as for a table with Hive partitions, move into this one first.
       Files of an earlier format have other places (`sharkpy.catalog.listed_folders`).
    2. The mark of a generation is the inode of the folder of its files.
    """

    log: FileLog
    folder_id: int

    def files(self, newest: Callable[[], int | None] | None = None) -> list[DataFile]:
        return self._data_files(self.log.files(self.folder_id, None if newest is None else newest()))

    def partition_files(self, newest: int | None, partition: str) -> list[DataFile]:
        return [file.in_partition(partition) for file in self.files(lambda: newest)]

    def added_files(self, commit: int, partition: str = "") -> list[DataFile]:
        """Return the files that a commit has added, even if they are folded or removed by now."""
        found = self._data_files(self.log.files_added(self.folder_id, commit))
        return [file.in_partition(partition) for file in found]

    def deltas(self, after: int, until: int) -> list[DataFile] | None:
        found = self.log.added(self.folder_id, after, until)
        return None if found is None else self._data_files(found)

    def visible(self, newest: int | None = None) -> list[tuple[Generation, list[DataFile]]]:
        found = itertools.groupby(self.log.files(self.folder_id, newest), lambda one: (one.position, one.added))
        return [(_generation(*numbers), self._data_files(files)) for numbers, files in found]

    def newest(self) -> int:
        return self.log.newest(self.folder_id)

    def new_staging(self, name: str = "") -> str:
        return f"{self.path}/{FILES}/{name}{'-' if name else ''}{uuid4().hex}"

    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str:
        try:
            if in_new_folder:
                Path(self.path).mkdir(parents=True, exist_ok=True)
            Path(staging).parent.mkdir(exist_ok=True)
        except OSError as error:
            raise io_error(error, self.path) from None
        return staged_files.make_staging(staging)

    def discard_staging(self, staging: str) -> None:
        """See `TableFolder`. Files that count stay."""
        if not self._has_files(Path(staging).name):
            staged_files.discard_staging(staging)

    def place(self, staging: str, overwrite: bool) -> Placed | None:
        if not overwrite and not layout.files_below(staging):
            return None
        placed = self.place_after(staging, None, overwrite)
        try:
            self.sync()
        except BaseException:
            self.take_back(placed)
            raise
        return placed

    def publish(self, staging: str, overwrite: bool) -> Placed | None:
        self.sync_staged(staging)
        return self.place(staging, overwrite)

    def place_after(self, staging: str, newest: int | None, overwrite: bool) -> Placed:  # noqa: ARG002  the log knows
        place = self._taken(staging)
        try:
            number = self.log.commit(self.folder_id, self._logged(place, staging), overwrite=overwrite)
            return self._placed(place, f"{'base' if overwrite else 'delta'}_{number:07d}")
        except BaseException:
            staged_files.discard_staging(place)
            raise

    def place_fold(
        self, staging: str, folded: Sequence[tuple[Generation, Sequence[DataFile]]], newest: int | None
    ) -> Placed | None:
        first, last = folded[0][0].first, folded[-1][0].last
        now = [(one, files) for one, files in self.visible(newest) if first <= one.first <= last]
        if now != [(one, list(files)) for one, files in folded]:
            return None
        place = self._taken(staging)
        self.sync()
        self.log.fold(self.folder_id, first, last, self._logged(place, staging))
        return self._placed(place, _generation(first, last).name)

    def second_names(self, newest: int | None, staging: str) -> None:
        files = self.log.files(self.folder_id, newest)
        links = staged_files.link_files([f"{self.path}/{one.path}" for one in files], staging)
        for one, link in zip(files, links, strict=True):
            if one.num_rows is not None:
                COUNTS.note(link, one.num_rows)

    def sync(self) -> None:
        with suppress(FileNotFoundError):
            staged_files.sync_folders([str(self._home)])

    def files_of(self, placed: Placed) -> list[DataFile]:
        start = f"{FILES}/{Path(placed.place).name}/"
        found = self.log.files_of(self.folder_id, placed.number)
        return self._data_files(one for one in found if one.path.startswith(start))

    def take_back(self, placed: Placed) -> None:
        """Remove the files of a write whose transaction has failed or will fail."""
        staged_files.take_back(placed.place, int(placed.mark))

    def hidden(self, newest: int | None = None) -> frozenset[str]:
        return frozenset(self.log.removed(self.folder_id, newest))

    def remove_hidden(
        self,
        newest: int | None = None,
        among: Collection[str] | None = None,
        keep_seconds: float = 0,  # noqa: ARG002  all readers are known
    ) -> None:
        removed = self.log.removed(self.folder_id, newest)
        gone = removed if among is None else removed.intersection(among)
        if not gone:
            return
        # After a kill, the log still tells which files remain.
        for path in gone:
            self._owned(path).unlink(missing_ok=True)
        self.log.forget_removed(self.folder_id, gone)
        for write in {path.split("/")[1] for path in gone if _is_of_write(path)}:
            if not self._has_files(write):
                staged_files.discard_staging(str(self._home / write))
        for name in {path.split("/")[0] for path in gone if not _is_of_write(path)}:
            staged_files.remove_empty(f"{self.path}/{name}")

    def remove_beyond(self, newest: int) -> None:  # noqa: ARG002  the log has no such commits
        for name in layout.names_if_any(str(self._home)):
            self.discard_staging(str(self._home / name))

    def remove_abandoned(self) -> None:
        """Nothing to do: the files that dead processes have staged are found by their notes."""

    def remove_first(self) -> None:
        staged_files.remove_empty(self.path)

    def remove_if_empty(self) -> bool:
        staged_files.remove_empty_one(str(self._home))
        return staged_files.remove_empty_one(self.path)

    @property
    def _home(self) -> Path:
        return Path(self.path, FILES)

    def _has_files(self, write: str) -> bool:
        return self.log.has_files(self.folder_id, f"{FILES}/{write}")

    def _owned(self, path: str) -> Path:
        """Place of a file, or of a link to a folder on its way: files in other folders are not the table's own."""
        place = Path(self.path, path)
        above = [] if _is_of_write(path) else place.parents[: path.count("/")]
        return next((folder for folder in reversed(above) if folder.is_symlink()), place)

    def _taken(self, staging: str) -> str:
        """Move staged files into this folder if they are elsewhere. Return the folder that they are in now."""
        staged, target = Path(staging), self._home / uuid4().hex
        if staged.parent == self._home:
            return staging
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            staged.rename(target)
        except OSError as error:
            raise io_error(error, self.path) from None
        return str(target)

    def _placed(self, place: str, name: str) -> Placed:
        return Placed(self.path, name, inode_mark(place), place)

    def _logged(self, place: str, staging: str) -> list[LoggedFile]:
        """Return the files in `place`, which were staged in `staging`."""
        start = len(self.path) + 1
        counts = [(one, COUNTS.of(f"{staging}{one.path[len(place) :]}")) for one in layout.files_below(place)]
        return [LoggedFile(one.path[start:], one.size_bytes, one.modified_ns, count) for one, count in counts]

    def _data_files(self, files: Iterable[LoggedFile]) -> list[DataFile]:
        return [DataFile(f"{self.path}/{one.path}", one.size_bytes, one.modified_ns) for one in files]


def _is_of_write(path: str) -> bool:
    """False for files that the folder had when its log began."""
    return path.startswith(f"{FILES}/")


def files_in(path: str, log: FileLog) -> list[DataFile]:
    """Data files of a local folder, which may be logged."""
    folder_id = log.find(path)
    return layout.list_data_files(path) if folder_id is None else LoggedFolder(path, log, folder_id).files()


def _generation(first: int, last: int) -> Generation:
    return Generation.of(f"delta_{last:07d}" if first == last else fold_name(first, last))
