"""Making a consistent backup of a warehouse while other sessions read and write."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError, UnsupportedError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.columnar.block_folders import storage_error
from sharkpy.execution.backup.backup_folder import (
    WAREHOUSE,
    BackupFolder,
    Manifest,
    SavedFile,
    folder_at,
    new_manifest,
    write_manifest,
)
from sharkpy.execution.backup.catalog_relocation import relocate_catalog
from sharkpy.execution.backup.file_copies import copy_files, local_file
from sharkpy.execution.backup.saved_tables import SavedTables
from sharkpy.sources.layout import DataFile


def make_backup(catalog: Catalog, target: str | os.PathLike[str]) -> Manifest:
    """Back up the warehouse into the new or empty folder `target`, a path or a URI.

    1. One transaction, which makes writers wait, copies the catalog and lists the files of its tables. Local files are
       linked aside, so that later statements cannot remove them. For remote folders it notes the last generation; their
       files are listed after the transaction. The backup is a reader of them, so they stay.
    2. The files are copied and their checksums noted. A store copies files within a bucket by itself.
    3. The manifest is written last. `restore` refuses a folder without one.

    If the backup fails, its files are removed from `target`. Blocks of cached tables are not saved: they are rebuilt.
    """
    if catalog.is_shared:
        hint = "back up the metastore with its own tools, then the folders of its tables"
        raise UnsupportedError("a backup of the tables of a Hive metastore is not supported", hint=hint)
    folder = folder_at(target, catalog.named_access_id)
    for home in (catalog.warehouse_dir, catalog.home):
        if uri.below(uri.canonical(folder.location), uri.canonical(home)) is not None:
            raise BindError(f'the backup "{folder.shown}" would be inside the warehouse', sqlstate="42000")
    folder.require_free("name a new folder")
    links = Path(catalog.state_dir, f"backup-{uuid.uuid4().hex}")
    saved = SavedTables(catalog.warehouse_dir, catalog.state_dir)
    catalog.unfinished.begin(str(links))
    try:
        return _copied(catalog, saved, folder, links)
    finally:
        saved.leave(catalog)
        shutil.rmtree(links, ignore_errors=True)
        catalog.unfinished.end(str(links))


def _copied(catalog: Catalog, saved: SavedTables, folder: BackupFolder, links: Path) -> Manifest:
    copy = links / "catalog.sqlite"
    try:
        links.mkdir()
        with catalog.transaction():
            catalog.copy_file(str(copy))
            saved.add_all(catalog)
            linked = _linked(saved.files, links)
    except OSError as error:
        raise storage_error(str(links), error) from None
    saved.list_remote(catalog)
    relocate_catalog(str(copy), saved, str(links / WAREHOUSE))
    # Files that streams have still to read are removed once read, so the linked files are copied first.
    sources = {**linked, **{place: file for place, file in saved.files.items() if place not in linked}}
    sources[CATALOG_FILE] = local_file(str(copy))
    targets = {place: f"{WAREHOUSE}/{place}" for place in sources}
    try:
        copies = copy_files([(file, folder.at(targets[place])) for place, file in sources.items()], folder.access_id)
        folder.sync()
        files = [
            SavedFile(place, one.file.size_bytes, one.checksum, one.modified_ns, one.file.tag)
            for place, one in zip(sources, copies, strict=True)
        ]
        manifest = new_manifest(saved.num_tables, files, saved.left_out, folder.location, saved.folders)
        write_manifest(folder, manifest)
    except BaseException:
        folder.remove(targets.values())
        raise
    return manifest


def _linked(files: Mapping[str, DataFile], links: Path) -> dict[str, DataFile]:
    """Hard-link local files, so that they survive a rename or DROP of their table.

    Files on another file system, and remote files, are used in place.
    """
    linked = dict(files)
    for number, (place, source) in enumerate(files.items()):
        if not uri.is_remote(source.path):
            with suppress(OSError):
                _link(links / str(number), source.path)
                linked[place] = replace(source, path=str(links / str(number)))
    return linked


def _link(link: Path, source: str) -> None:
    link.hardlink_to(source)
