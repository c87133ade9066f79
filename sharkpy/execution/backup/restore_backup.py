"""Restoring a backup into a new warehouse."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import CorruptionError
from sharkpy.base.records import dataclass
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.columnar.block_folders import storage_error, sync_directory
from sharkpy.execution.backup.backup_folder import (
    WAREHOUSE,
    BackupFolder,
    Manifest,
    SavedFile,
    folder_at,
    read_manifest,
)
from sharkpy.execution.backup.catalog_relocation import is_in_state_folder, log_files, relocate_streams, relocate_to_uri
from sharkpy.execution.backup.file_copies import Copy, copy_file, copy_files
from sharkpy.sources.layout import DataFile
from sharkpy.sources.named_files import Access


def restore_backup(
    source: str | os.PathLike[str],
    warehouse: str | os.PathLike[str],
    home: str | os.PathLike[str] | None = None,
    access: Access | None = None,
) -> Manifest:
    """Restore the backup in `source` into `warehouse`, a new or empty folder. Both are paths or URIs.

    `home` is the local catalog folder of a warehouse at a URI, also new or empty. `access` returns access ids for
    storage.

    Files of a local warehouse are copied and checked in a staging folder, which is then renamed. At a URI, the
    warehouse exists only when its catalog is in place, which comes last. Raise CorruptionError, naming the file, if a
    file is missing or differs from the saved one. After a failure, the copied files are removed as far as storage
    allows.
    """
    folder = folder_at(source, access)
    manifest = read_manifest(folder)
    data, target = folder_at(warehouse, access), folder_at(warehouse if home is None else home, access)
    hint = "move its content away, or name another folder with --warehouse"
    for one in (target, data):
        one.require_free(hint)
    staging = folder_at(f"{target.location}.restoring-{uuid.uuid4().hex[:8]}", None)
    try:
        Path(staging.location).mkdir(parents=True)
        restoring = _Restoring(folder, manifest, data, target, staging)
        restoring.run()
        staging.sync()
        try:
            Path(staging.location).rename(target.location)
        except BaseException:
            restoring.take_back()
            raise
        sync_directory(str(Path(target.location).parent))
    except OSError as error:
        raise storage_error(target.at("catalog"), error) from None
    finally:
        shutil.rmtree(staging.location, ignore_errors=True)
    return manifest


@dataclass(slots=True)
class _Restoring:
    """Restore of the backup in `folder` into the warehouse `data`.

    The local folder `home` is `staging` until the end.
    """

    folder: BackupFolder
    manifest: Manifest
    data: BackupFolder
    home: BackupFolder
    staging: BackupFolder

    def run(self) -> None:
        saved = BackupFolder(self.folder.at(WAREHOUSE), self.folder.access_id)
        known = saved.files()
        for one in self.manifest.files:
            self._check_source(one, known.get(one.path), saved)
        if not self.data.is_remote:
            for name in saved.folders() if self.manifest.folders is None else self.manifest.folders:
                Path(self.staging.at(name)).mkdir(parents=True, exist_ok=True)
        catalog = next((one for one in self.manifest.files if one.path == CATALOG_FILE), None)
        if catalog is None:
            raise CorruptionError(f'the backup is damaged: it has no "{CATALOG_FILE}"')
        path = self.staging.at(CATALOG_FILE)
        self._check_copy(catalog, known[CATALOG_FILE], copy_file(known[CATALOG_FILE], path))
        moved = relocate_to_uri(path, self.data.location, self.home.location) if self.data.is_remote else {}
        others = [one for one in self.manifest.files if one.path != CATALOG_FILE]
        try:
            restored = self._restored(others, known, moved)
            if self.folder.is_remote or self.data.is_remote:
                relocate_streams(path, self.data.location, self.home.location, restored)
            if not self.data.is_remote:
                log_files(path, self.staging.location)
        except BaseException:
            self.take_back()
            raise

    def take_back(self) -> None:
        """Remove the files copied to a URI."""
        self.data.remove(one.path for one in self.manifest.files if not is_in_state_folder(one.path))

    def _restored(
        self, files: Sequence[SavedFile], known: Mapping[str, DataFile], moved: Mapping[str, str]
    ) -> dict[str, DataFile]:
        """Copy and check `files`; return the copies by their places in the backup."""
        targets = [self._target(one.path, moved) for one in files]
        copies = copy_files(
            [(known[one.path], target) for one, target in zip(files, targets, strict=True)],
            self.data.access_id,
        )
        for one, copy in zip(files, copies, strict=True):
            self._check_copy(one, known[one.path], copy)
        return {one.path: copy.file for one, copy in zip(files, copies, strict=True)}

    def _target(self, place: str, moved: Mapping[str, str]) -> str:
        if place in moved:
            return self.staging.at(moved[place])
        return (self.data if self.data.is_remote and not is_in_state_folder(place) else self.staging).at(place)

    def _check_source(self, one: SavedFile, found: DataFile | None, saved: BackupFolder) -> None:
        if found is None:
            raise CorruptionError(f'the backup is damaged: "{uri.redacted(saved.at(one.path))}" is missing')
        is_in_place = bool(one.tag) and self.manifest.place == self.folder.location
        if found.size_bytes != one.size_bytes or (is_in_place and found.tag != one.tag):
            raise _damaged(found)

    @staticmethod
    def _check_copy(one: SavedFile, source: DataFile, copy: Copy) -> None:
        is_other = one.checksum and copy.checksum and one.checksum != copy.checksum
        if is_other or copy.file.size_bytes != one.size_bytes:
            raise _damaged(source)


def _damaged(file: DataFile) -> CorruptionError:
    return CorruptionError(f'the backup is damaged: "{uri.redacted(file.path)}" differs from the saved file')
