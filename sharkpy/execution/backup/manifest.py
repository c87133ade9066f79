"""Manifest of a backup: its files with their checksums, and what is not in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from sharkpy.base.errors import ConfigurationError, CorruptionError, SourceError
from sharkpy.base.version import __version__
from sharkpy.columnar.store_folder import write_file

FORMAT = 1
WAREHOUSE = "warehouse"
"""Folder of a backup that holds the files of the warehouse."""
_NAME = "backup.json"


@dataclass(frozen=True, slots=True)
class SavedFile:
    """File of a backup; `path` is relative to the warehouse, `checksum` is XXH3's of 64 bits."""

    path: str
    size_bytes: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """State of a warehouse: `num_tables` and the files of their data. `left_out` names what lies elsewhere."""

    num_tables: int
    files: tuple[SavedFile, ...]
    left_out: tuple[str, ...]
    made_at: str

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def new_manifest(num_tables: int, files: Sequence[SavedFile], left_out: Sequence[str]) -> Manifest:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Manifest(num_tables, tuple(files), tuple(left_out), now)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, which makes a backup complete: last, and whole or not at all."""
    body = {"format": FORMAT, "written_by": __version__, **asdict(manifest)}
    write_file(str(folder / _NAME), memoryview(json.dumps(body, indent=1).encode()), sync=True)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the backup in `folder`.

    SourceError for a folder without one, ConfigurationError for one of a later version of sharkpy.
    """
    path = folder / _NAME
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body["format"] > FORMAT:
            raise ConfigurationError(
                f'the backup "{folder}" has format {body["format"]}, written by sharkpy {body["written_by"]}: '
                f"sharkpy {__version__} reads formats up to {FORMAT}",
                sqlstate="0A000",
            )
        files = tuple(SavedFile(**one) for one in body["files"])
        manifest = Manifest(body["num_tables"], files, tuple(body["left_out"]), body["made_at"])
    except (FileNotFoundError, NotADirectoryError):
        hint = "a backup that was not finished has no such file"
        raise SourceError(f'"{folder}" is no backup: "{path}" is missing', hint=hint, sqlstate="58P01") from None
    except OSError as error:
        raise SourceError(f'"{path}" cannot be read: {error.strerror}') from None
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptionError(f'"{path}" is damaged: {error}') from None
    if outside := [file.path for file in files if _leaves(file.path)]:
        raise CorruptionError(f'"{path}" is damaged: it names the file "{outside[0]}"')
    return manifest


def _leaves(path: str) -> bool:
    """True if the path does not lie in the warehouse."""
    return path.startswith("/") or ".." in PurePosixPath(path).parts
