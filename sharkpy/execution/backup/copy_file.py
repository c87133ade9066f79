"""Copy of a file with its checksum."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import xxhash

from sharkpy.columnar.store_folder import storage_error
from sharkpy.execution.backup.manifest import SavedFile
from sharkpy.sources.failures import io_error

COPIES_AT_ONCE = 8
"""Files that are copied side by side: each waits for the disk."""
_CHUNK = 4 << 20


def copy_file(source: str, target: Path, path: str) -> SavedFile:
    """Copy a file to the disk, with its mode and times; the record of it has `path`.

    SourceError if `source` cannot be read, ResourceError or ExecutionError if `target` cannot be written.
    """
    try:
        reading = open(source, "rb", buffering=0)  # noqa: SIM115 - its errors are others than the target's
    except OSError as error:
        raise io_error(error, source) from None
    with reading:
        try:
            return _copy(reading.fileno(), target, path, source)
        except OSError as error:
            raise storage_error(str(target), error) from None


def _copy(reading: int, target: Path, path: str, source: str) -> SavedFile:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = xxhash.xxh3_64(), 0
    with target.open("xb") as writing:
        while chunk := os.read(reading, _CHUNK):
            digest.update(chunk)
            size += len(chunk)
            writing.write(chunk)
        writing.flush()
        os.fsync(writing.fileno())
    shutil.copystat(source, target)
    return SavedFile(path, size, digest.hexdigest())
