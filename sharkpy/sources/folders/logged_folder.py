"""Folder of a managed table whose files the catalog's log names, on a local disk or in storage."""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, checked
from sharkpy.base.records import dataclass
from sharkpy.catalog.file_log import LoggedFile
from sharkpy.catalog.folder_readers import WANTED
from sharkpy.sources import layout, staged_files
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.generations import Generation, Placed, fold_name
from sharkpy.sources.folders.local_folder import inode_mark
from sharkpy.sources.folders.manifests import FILES, root_of, write_of
from sharkpy.sources.folders.remote_folder import SKEW_NS, ObjectFolder
from sharkpy.sources.folders.staged_writes import STAGED
from sharkpy.sources.layout import DataFile

if TYPE_CHECKING:
    from sharkpy.catalog.file_log import FileLog
    from sharkpy.sources.storage.store import Store


@dataclass(frozen=True, slots=True)
class LoggedFolder(ABC):
    """`TableFolder` whose files are logged. A generation is a commit: its number is the commit's.

    1. A write stages its files in `_files/<id of the write>`, and they stay there. The catalog's commit makes them
       count. Files of an earlier format have other places (`sharkpy.catalog.listed_folders`).
    2. A version that is restored or cloned names the same files again (`second_names`).
    """

    path: str
    log: FileLog
    folder_id: int

    @abstractmethod
    def exists(self) -> bool: ...

    @abstractmethod
    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str: ...

    @abstractmethod
    def staged_subfolder(self, staging: str, name: str) -> str: ...

    @abstractmethod
    def sync_staged(self, staging: str) -> None:
        """Sync staged files, and this folder's entry of the folder that they will stay in.

        The catalog's transaction then does not wait for the disk.
        """

    @abstractmethod
    def discard_staging(self, staging: str) -> None:
        """See `TableFolder`. Files that count stay."""

    @abstractmethod
    def sync(self) -> None: ...

    @abstractmethod
    def remove_beyond(self, newest: int) -> None: ...

    @abstractmethod
    def remove_empty(self) -> None: ...

    @abstractmethod
    def remove_if_empty(self) -> bool: ...

    @abstractmethod
    def _files_below(self, staging: str) -> list[DataFile]: ...

    @abstractmethod
    def _data_file(self, file: LoggedFile) -> DataFile: ...

    @abstractmethod
    def _taken(self, staging: str) -> str:
        """Return the place of staged files, which may have to move into this folder."""

    @abstractmethod
    def _mark(self, place: str) -> str: ...

    @abstractmethod
    def _remove(self, paths: Sequence[str]) -> Collection[str]:
        """Remove files. Return the files that are gone: a stream may still need some."""

    @abstractmethod
    def _remove_empty(self, paths: Collection[str]) -> None:
        """Remove the folders of removed files that are empty now."""

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
        return uri.join(self.path, FILES, f"{name}{'-' if name else ''}{uuid4().hex}")

    def staged_files(self, staging: str) -> list[DataFile]:
        found = STAGED.reported(staging)
        return self._files_below(staging) if found is None else found

    def place(self, staging: str, overwrite: bool) -> Placed | None:
        """Log the staged files, instead of all earlier ones if `overwrite`; None if there is nothing to add."""
        if not overwrite and not self.staged_files(staging):
            return None
        placed = self.place_all(staging, overwrite)
        try:
            self.sync_moved(placed, staging)
        except BaseException:
            staged_files.take_back(placed)
            raise
        return placed

    def place_all(self, staging: str, overwrite: bool) -> Placed:
        """Log the staged files, even if there are none, in the caller's transaction."""
        placed, files = self._put(staging)
        try:
            number = self.log.commit(self.folder_id, files, overwrite=overwrite)
            return placed.named(f"{'base' if overwrite else 'delta'}_{number:07d}")
        except BaseException:
            staged_files.take_back(placed)
            raise

    def sync_moved(self, placed: Placed, staging: str) -> None:
        """Sync this folder if the staged files have moved into it. `sync_staged` has synced it for other files."""
        if placed.place != staging:
            self.sync()

    def place_fold(
        self, staging: str, folded: Sequence[tuple[Generation, Sequence[DataFile]]], newest: int | None
    ) -> Placed | None:
        """Replace files by the staged ones, which have the same rows; None if `visible` no longer has them one after
        the other. The caller keeps other writers out.
        """
        first, last = folded[0][0].first, folded[-1][0].last
        now = [(one, files) for one, files in self.visible(newest) if first <= one.first <= last]
        if now != [(one, list(files)) for one, files in folded]:
            return None
        placed, files = self._put(staging)
        try:
            self.sync_moved(placed, staging)
            self.log.fold(self.folder_id, first, last, files)
        except BaseException:
            staged_files.take_back(placed)
            raise
        return placed.named(_generation(first, last).name)

    def second_names(self, newest: int | None, staging: str) -> None:
        """Stage the files of the version `newest` once more. The folder's readers have to keep it meanwhile."""
        found = self.log.files(self.folder_id, newest)
        counts = {one.path: one.num_rows for one in found if one.num_rows is not None}
        STAGED.report(staging, self._data_files(found), counts)

    def files_of(self, placed: Placed) -> list[DataFile]:
        found = self.log.files_of(self.folder_id, placed.number)
        return self._data_files(one for one in found if one.path in placed.paths)

    def hidden(self, newest: int | None = None) -> frozenset[str]:
        return frozenset(self.log.removed(self.folder_id, newest))

    def remove_hidden(self, newest: int | None = None, among: Collection[str] | None = None) -> None:
        removed = self.log.removed(self.folder_id, newest)
        if gone := sorted(removed if among is None else removed.intersection(among)):
            # After a kill, the log still tells which files remain.
            removed_now = self._remove(self.log.release(self.folder_id, gone, newest))
            self.log.forget_removed(self.folder_id, removed_now)
            self._remove_empty(removed_now)

    def remove_abandoned(self) -> None:  # noqa: B027  nothing to override
        """Nothing to do: the files that dead processes have staged are found by their notes."""

    def _put(self, staging: str) -> tuple[Placed, list[LoggedFile]]:
        """Return a write with its files, before they count."""
        found, place = STAGED.reported(staging), ""
        counts = STAGED.counts(staging)
        if found is None:
            place = self._taken(staging)
            found = self._files_below(place)
        files = []
        for one in found:
            staged = f"{staging}{one.path[len(place) :]}" if place else one.path
            files.append(LoggedFile(one.path, one.size_bytes, one.modified_ns, counts.get(staged), one.tag))
        paths = frozenset(one.path for one in files)
        return Placed(self.path, "", self._mark(place) if place else "", place, paths), files

    def _data_files(self, files: Iterable[LoggedFile]) -> list[DataFile]:
        return [self._data_file(one) for one in files]


@dataclass(frozen=True, slots=True)
class LoggedFiles(LoggedFolder):
    """Logged folder in the local file system.

    Files that were staged for another folder, as for a table with Hive partitions, move into this one before they
    count. The mark of a generation is the inode of the folder of its files.
    """

    def exists(self) -> bool:
        return Path(self.path).is_dir()

    def make_staging(self, staging: str, *, in_new_folder: bool = True) -> str:
        try:
            if in_new_folder:
                Path(self.path).mkdir(parents=True, exist_ok=True)
            Path(staging).parent.mkdir(exist_ok=True)
        except OSError as error:
            raise io_error(error, self.path) from None
        return staged_files.make_staging(staging)

    def staged_subfolder(self, staging: str, name: str) -> str:
        return staged_files.staged_subfolder(staging, name)

    def sync_staged(self, staging: str) -> None:
        staged_files.sync_staged(staging)
        if self._stays(staging):
            self.sync()

    def discard_staging(self, staging: str) -> None:
        if not self.log.has_files(staging):
            staged_files.discard_staging(staging)

    def sync(self) -> None:
        if self._home.is_dir():
            staged_files.sync_folders([str(self._home)])

    def remove_beyond(self, newest: int) -> None:  # noqa: ARG002  the log has no such commits
        for name in layout.names_if_any(str(self._home)):
            self.discard_staging(str(self._home / name))

    def remove_empty(self) -> None:
        staged_files.remove_empty(self.path)

    def remove_if_empty(self) -> bool:
        staged_files.remove_empty_one(str(self._home))
        return staged_files.remove_empty_one(self.path)

    @property
    def _home(self) -> Path:
        return Path(self.path, FILES)

    def _files_below(self, staging: str) -> list[DataFile]:
        return layout.files_below(staging)

    def _data_file(self, file: LoggedFile) -> DataFile:
        return DataFile(file.path, file.size_bytes, file.modified_ns)

    def _taken(self, staging: str) -> str:
        if self._stays(staging):
            return staging
        target = self._home / uuid4().hex
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            Path(staging).rename(target)
        except OSError as error:
            raise io_error(error, self.path) from None
        return str(target)

    def _stays(self, staging: str) -> bool:
        """Return whether files that are staged there need not move."""
        return Path(staging).parent == self._home

    def _mark(self, place: str) -> str:
        return inode_mark(place)

    def _remove(self, paths: Sequence[str]) -> Collection[str]:
        for path in paths:
            self._owned(path).unlink(missing_ok=True)
        return paths

    def _remove_empty(self, paths: Collection[str]) -> None:
        for write in {root_of(path) for path in paths if write_of(path)}:
            if not staged_files.remove_empty_one(write) and not self.log.has_files(write):
                staged_files.discard_staging(write)
        for folder in {uri.parent(path) for path in paths if not write_of(path)}:
            staged_files.remove_empty_above(folder, self.path)

    def _owned(self, path: str) -> Path:
        """Place of a file, or of a link to a folder on its way: files in other folders are not the table's own."""
        below = None if write_of(path) else uri.below(path, self.path)
        above = [] if below is None else Path(path).parents[: below.count("/")]
        return next((folder for folder in reversed(above) if folder.is_symlink()), Path(path))


@dataclass(frozen=True, slots=True)
class LoggedObjects(ObjectFolder, LoggedFolder):
    """Logged folder at a URI, in a store that is reached by an access.

    Tasks put files there under their final names, so nothing has to be made first. The files that tasks report to
    `STAGED` are staged; if none were reported, all files there are.
    """

    store: Store
    access_id: str

    def discard_staging(self, staging: str) -> None:
        with Cancellation().active():
            if not STAGED.knows(staging):
                self.store.remove_uploads(staging, time.time_ns() + SKEW_NS)
            kept, found = self.log.named(staging), (one.path for one in checked(self.store.list(staging)))
            # The log has the common name of a scheme, such as s3 for s3a.
            self._removal.remove_files(path for path in found if uri.normalized(path) not in kept)
            # Only after success: if a request fails, the next try has to know the write.
            STAGED.end(staging)

    def sync(self) -> None:
        pass

    def remove_beyond(self, newest: int) -> None:
        """Nothing to do: the log has no such commits."""

    def _data_file(self, file: LoggedFile) -> DataFile:
        return DataFile(file.path, file.size_bytes, file.modified_ns, tag=file.tag, access=self.access_id)

    def _taken(self, staging: str) -> str:
        return staging

    def _mark(self, place: str) -> str:
        return write_of(place)

    def _remove(self, paths: Sequence[str]) -> Collection[str]:
        gone = sorted(set(paths) - WANTED.among(paths))
        self._removal.remove_files(gone)
        return gone

    def _remove_empty(self, paths: Collection[str]) -> None:
        """Nothing to do: the removal of files removes their folders."""


def files_in(path: str, log: FileLog) -> list[DataFile]:
    """Data files of a local folder, which may be logged."""
    folder_id = log.find(path)
    return layout.list_data_files(path) if folder_id is None else LoggedFiles(path, log, folder_id).files()


def _generation(first: int, last: int) -> Generation:
    return Generation.of(f"delta_{last:07d}" if first == last else fold_name(first, last))
