"""Manifest of a backup: its files with their checksums, and the files left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from sharkpy.base.errors import ConfigurationError, CorruptionError, SourceError
from sharkpy.base.parse_limits import check_json_nesting
from sharkpy.base.version import __version__
from sharkpy.execution.backup.backup_folder import BackupFolder

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
