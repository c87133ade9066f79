"""Folder of a backup, on this machine or in storage."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, checked
from sharkpy.base.errors import SharkError, SourceError, UnsupportedError
from sharkpy.columnar.block_folders import storage_error, sync_directory, write_file
from sharkpy.execution.backup.copy_file import local_file
from sharkpy.sources.file_errors import io_error
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.layout import DataFile
from sharkpy.sources.named_files import Access
from sharkpy.sources.open_files import data_file_of, opened, store_for_access

WAREHOUSE = "warehouse"
"""Folder of a backup that holds the files of the warehouse."""
_MOST_BYTES = 1 << 30
"""Largest remote manifest that is read, in bytes."""


def folder_at(location: str | os.PathLike[str], access: Access | None) -> BackupFolder:
    """Return the folder at a path or URI.

    `access` returns the access id for a remote location. Raise UnsupportedError for a remote location without `access`.
    """
    place = os.fspath(location)
    if not uri.is_remote(place):
        return BackupFolder(str(Path(place.removeprefix("file:")).expanduser().resolve()))
    uri.check_no_secrets(place)
    if access is None:
        raise UnsupportedError(f'a backup at "{uri.redacted(place)}" needs access to its storage')
    return BackupFolder(uri.normalized(place), access(place))


@dataclass(frozen=True, slots=True)
class BackupFolder:
    """Folder of a backup, or of a warehouse restored from one.

    Names of files are relative to it. A remote folder exists as soon as it has a file, so it is never created.
    """

    location: str
    access_id: str = ""

    @property
    def is_remote(self) -> bool:
        return bool(self.access_id)

    @property
    def shown(self) -> str:
        return uri.redacted(self.location)

    def at(self, *names: str) -> str:
        return uri.join(self.location, *names)

    def require_free(self, hint: str) -> None:
        """Raise SourceError 58030 if the folder is not empty, UnsupportedError if its store cannot write or list."""
        if self.is_remote:
            store = store_for_access(self.location, self.access_id)
            if not (store.traits.writes and store.traits.lists):
                raise UnsupportedError(f'"{self.shown}" cannot be written: its server is read-only')
            is_free = next(iter(store.list(self.location)), None) is None and store.stat(self.location) is None
        else:
            folder = Path(self.location)
            try:
                is_free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
            except OSError as error:
                raise storage_error(self.location, error) from None
        if not is_free:
            raise SourceError(f'"{self.shown}" exists and is not empty', hint=hint, sqlstate="58030")

    def make(self, folders: Iterable[str]) -> None:
        """Create folders on this machine; do nothing for a remote folder."""
        if self.is_remote:
            return
        try:
            for name in folders:
                Path(self.location, name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise storage_error(self.location, error) from None

    def sync(self) -> None:
        """Sync all directories to the disk; do nothing for a remote folder."""
        if self.is_remote:
            return
        try:
            for folder, _, _ in os.walk(self.location):
                sync_directory(folder)
        except OSError as error:
            raise storage_error(self.location, error) from None

    def files(self) -> dict[str, DataFile]:
        """Return all files in the folder by their relative names."""
        if self.is_remote:
            found = checked(store_for_access(self.location, self.access_id).list(self.location))
            return {uri.below(one.path, self.location) or "": data_file_of(one, self.access_id) for one in found}
        paths = (Path(folder, name) for folder, _, names in os.walk(self.location) for name in names)
        return {str(path.relative_to(self.location)): local_file(str(path)) for path in paths if path.is_file()}

    def folders(self) -> list[str]:
        """Return the relative paths of all folders in a local folder."""
        return [os.path.relpath(folder, self.location) for folder, _, _ in os.walk(self.location)]

    def put(self, name: str, content: bytes) -> None:
        """Write a small file atomically."""
        if self.is_remote:
            store_for_access(self.location, self.access_id).put(self.at(name), content)
        else:
            write_file(self.at(name), memoryview(content), sync=True)

    def content(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist."""
        path = self.at(name)
        if not self.is_remote:
            try:
                return Path(path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None
            except OSError as error:
                raise io_error(error, path) from None
        facts = store_for_access(path, self.access_id).stat(path)
        if facts is None:
            return None
        if facts.size_bytes > _MOST_BYTES:
            raise SourceError(f'"{uri.redacted(path)}" has more than {_MOST_BYTES >> 20} MB')
        with opened(data_file_of(facts, self.access_id)) as file:
            return file.read()

    def remove(self, names: Iterable[str]) -> None:
        """Remove the remote files of a failed backup or restore, even if the statement was cancelled.

        Errors of the storage are ignored.
        """
        if not self.is_remote:
            return
        removal = Removal(self.location, store_for_access(self.location, self.access_id), self.access_id)
        try:
            with Cancellation().active():
                removal.store.delete([self.at(name) for name in names])
                removal.remove_empty()
        except SharkError:
            # The original error says more. Without its manifest or catalog, the folder is neither a backup nor a
            # warehouse.
            return
