"""Folder of a backup, on this machine or in storage, and its manifest.

The manifest lists the files with their checksums, and the files left out. It is written last and makes the backup
complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from sharkpy.base import uri
from sharkpy.base.cancellation import Cancellation, checked
from sharkpy.base.errors import ConfigurationError, CorruptionError, SharkError, SourceError, UnsupportedError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.records import dataclass
from sharkpy.base.version import __version__
from sharkpy.sources.copied_files import require_writable
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.layout import DataFile
from sharkpy.sources.named_files import Access
from sharkpy.sources.open_files import data_file_of, store_for_access
from sharkpy.sources.storage.store import Store, content_of

WAREHOUSE = "warehouse"
"""Folder of a backup that holds the files of the warehouse."""
_MOST_BYTES = 1 << 30
"""Largest manifest that is read, in bytes."""


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

    Names of files are relative to it. The store makes the folders that files need.
    """

    location: str
    access_id: str = ""

    @property
    def store(self) -> Store:
        return store_for_access(self.location, self.access_id)

    @property
    def is_remote(self) -> bool:
        return not self.store.traits.is_local

    @property
    def shown(self) -> str:
        return uri.redacted(self.location)

    def at(self, *names: str) -> str:
        return uri.join(self.location, *names)

    def require_free(self, hint: str) -> None:
        """Raise SourceError 58030 if the folder is not empty, UnsupportedError if its store cannot write or list."""
        require_writable(self.location, self.access_id)
        store, place = self.store, self.location
        # Some servers of buckets list folders of which all objects are deleted.
        has_folders = store.traits.has_folders and store.children(place)[1]
        if has_folders or next(iter(store.list(place)), None) is not None or store.stat(place) is not None:
            raise SourceError(f'"{self.shown}" exists and is not empty', hint=hint, sqlstate="58030")

    def sync(self) -> None:
        """Sync all files and directories of a local folder to the disk."""
        if not self.is_remote:
            found = os.walk(self.location)
            self.store.sync(str(Path(folder, name)) for folder, _, names in found for name in ("", *names))

    def files(self) -> dict[str, DataFile]:
        """Return all files in the folder by their relative names."""
        found = checked(self.store.list(self.location))
        return {uri.below(one.path, self.location) or "": data_file_of(one, self.access_id) for one in found}

    def folders(self) -> list[str]:
        """Return the relative paths of all folders in a local folder."""
        return [os.path.relpath(folder, self.location) for folder, _, _ in os.walk(self.location)]

    def put(self, name: str, content: bytes) -> None:
        """Write a small file atomically."""
        self.store.put(self.at(name), content)
        self.store.sync([self.location])

    def content(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist."""
        facts = self.store.stat(self.at(name))
        if facts is None:
            return None
        if facts.size_bytes > _MOST_BYTES:
            raise SourceError(f'"{uri.redacted(facts.path)}" has more than {_MOST_BYTES >> 20} MB')
        return content_of(facts, self.store)

    def remove(self, names: Iterable[str]) -> None:
        """Remove the files of a failed backup or restore, even if the statement was cancelled.

        Errors of the storage are ignored.
        """
        removal = Removal(self.location, self.store, self.access_id)
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
