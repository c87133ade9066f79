"""Restoring of a backup into a new warehouse."""

from __future__ import annotations

import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sharkpy.base.errors import CorruptionError, SourceError
from sharkpy.columnar.store_folder import storage_error, sync_directory
from sharkpy.execution.backup.copy_file import COPIES_AT_ONCE, copy_file
from sharkpy.execution.backup.manifest import WAREHOUSE, Manifest, SavedFile, read_manifest


def restore_backup(source: Path, warehouse: Path) -> Manifest:
    """Make the warehouse, a new or empty folder, from the backup in `source`.

    The files are copied and checked beside it, and get its name together. CorruptionError names a file that is missing,
    or is not the one that was saved.
    """
    folder, target = source.expanduser().resolve(), warehouse.expanduser().resolve()
    manifest = read_manifest(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        hint = "move what is there away, or name another folder with --warehouse"
        raise SourceError(f'"{target}" exists and is not empty', hint=hint, sqlstate="58030")
    staging = target.with_name(f"{target.name}.restoring-{uuid.uuid4().hex[:8]}")
    try:
        staging.mkdir(parents=True)
        for place in _folders(folder / WAREHOUSE):
            (staging / place).mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(COPIES_AT_ONCE) as pool:
            list(pool.map(lambda file: _restore(folder / WAREHOUSE, file, staging), manifest.files))
        for place in (".", *_folders(staging)):
            sync_directory(str(staging / place))
        staging.rename(target)
        sync_directory(str(target.parent))
    except OSError as error:
        raise storage_error(str(target / "catalog"), error) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return manifest


def _folders(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_dir()]


def _restore(saved: Path, file: SavedFile, staging: Path) -> None:
    source = saved / file.path
    if not source.is_file():
        raise CorruptionError(f'the backup is damaged: "{source}" is missing')
    if copy_file(str(source), staging / file.path, file.path) != file:
        raise CorruptionError(f'the backup is damaged: "{source}" is not the file that was saved')
