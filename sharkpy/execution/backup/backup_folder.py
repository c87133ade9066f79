"""Folder of a backup, on this machine or in storage, and its manifest.

The manifest lists the files with their checksums, and the files left out. It is written last and makes the backup
complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, checked
from sharkpy.base.errors import ConfigurationError, CorruptionError, SharkError, SourceError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.version import __version__
from sharkpy.columnar.block_folders import storage_error, sync_directory, write_file
from sharkpy.execution.backup.file_copies import local_file
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


FORMAT = 2
_NAME = "backup.json"


@dataclass(frozen=True, slots=True)
class SavedFile:
    """File of a backup; `path` is relative to the warehouse.

    `checksum` is XXH3-64, or empty if a store copied the file. `modified_ns` is the source's modification time, 0 if
    unknown. `tag` is the object tag of the backup's own file in storage.
    """

    path: str
    size_bytes: int
    checksum: str
    modified_ns: int = 0
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """State of a warehouse: the number of its tables and the files of their data.

    `left_out` names files outside the warehouse that are not saved. `place` is the backup's original location; tags of
    its files are valid only there. `folders` must exist even without files; None in format 1, whose backups contain
    them.
    """

    num_tables: int
    files: tuple[SavedFile, ...]
    left_out: tuple[str, ...]
    made_at: str
    place: str = ""
    folders: tuple[str, ...] | None = None

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def new_manifest(
    num_tables: int, files: Sequence[SavedFile], left_out: Sequence[str], place: str, folders: Sequence[str]
) -> Manifest:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Manifest(num_tables, tuple(files), tuple(left_out), now, place, tuple(folders))


def write_manifest(folder: BackupFolder, manifest: Manifest) -> None:
    """Write the manifest atomically; it comes last and makes the backup complete."""
    body = {"format": FORMAT, "written_by": __version__, **asdict(manifest)}
    folder.put(_NAME, json.dumps(body, indent=1).encode())


def read_manifest(folder: BackupFolder) -> Manifest:
    """Read the manifest of the backup in `folder`.

    Raise SourceError if there is none, ConfigurationError if a later version of sharkpy wrote it, and CorruptionError
    if it is damaged.
    """
    content = folder.content(_NAME)
    path = f"{folder.shown}/{_NAME}"
    if content is None:
        hint = "an unfinished backup has no such file"
        raise SourceError(f'"{folder.shown}" is not a backup: "{path}" is missing', hint=hint, sqlstate="58P01")
    try:
        text = content.decode()
        check_json_nesting(text)
        body = json.loads(text)
        if body["format"] > FORMAT:
            raise ConfigurationError(
                f'the backup "{folder.shown}" has format {body["format"]}, written by sharkpy {body["written_by"]}: '
                f"sharkpy {__version__} reads formats up to {FORMAT}",
                sqlstate="0A000",
            )
        files = tuple(SavedFile(**one) for one in body["files"])
        folders = None if body.get("folders") is None else tuple(map(str, body["folders"]))
        known = body["num_tables"], files, tuple(body["left_out"]), body["made_at"], body.get("place", ""), folders
        manifest = Manifest(*known)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptionError(f'"{path}" is damaged: {error}') from None
    if outside := [one for one in (*(file.path for file in files), *(folders or ())) if _leaves(one)]:
        raise CorruptionError(f'"{path}" is damaged: it names the file "{outside[0]}"')
    return manifest


def _leaves(path: str) -> bool:
    """True if the path leads out of the warehouse."""
    return path.startswith("/") or ".." in PurePosixPath(path).parts
