"""Making of a backup: one state of a warehouse, while others go on reading and writing."""

from __future__ import annotations

import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from sharkpy.base import uri
from sharkpy.base.errors import BindError, SourceError, UnsupportedError
from sharkpy.catalog.store import Catalog
from sharkpy.columnar.store_folder import storage_error, sync_directory
from sharkpy.execution.backup.copy_file import COPIES_AT_ONCE, copy_file
from sharkpy.execution.backup.manifest import WAREHOUSE, Manifest, new_manifest, write_manifest
from sharkpy.execution.backup.saved_tables import SavedTables, settle_catalog


def make_backup(catalog: Catalog, target: Path) -> Manifest:
    """Make a backup of the warehouse in the new or empty folder `target`.

    1. In one transaction, which holds writers off: the catalog is copied, the files of its tables are listed, and
       linked aside, so that nothing that happens later can take them away.
    2. The files are copied, their checksums noted.
    3. The manifest is written last: without it `restore` takes the folder for no backup.

    What a failure leaves in `target` can be deleted. Blocks of cached tables are not saved: they are made again.
    """
    if catalog.is_shared:
        hint = "save the metastore by its own means, then the folders of its tables"
        raise UnsupportedError("a backup of the tables of a Hive metastore", hint=hint)
    if uri.is_remote(catalog.warehouse_dir):
        hint = "copy the file of its catalog and its objects: see docs/operations.md"
        raise UnsupportedError(f'backups of the warehouse at "{uri.shown(catalog.warehouse_dir)}"', hint=hint)
    folder = _new_folder(target, Path(catalog.warehouse_dir))
    links = Path(catalog.state_dir, f"backup-{uuid.uuid4().hex}")
    catalog.unfinished.begin(str(links))
    try:
        return _copied(catalog, folder, links)
    finally:
        shutil.rmtree(links, ignore_errors=True)
        catalog.unfinished.end(str(links))


def _new_folder(target: Path, warehouse: Path) -> Path:
    folder = target.expanduser().resolve()
    if folder.is_relative_to(warehouse):
        raise BindError(f'the backup "{folder}" would lie in the warehouse itself', sqlstate="42000")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise SourceError(f'"{folder}" exists and is not empty', hint="name a new folder", sqlstate="58030")
        (folder / WAREHOUSE).mkdir(parents=True)
    except OSError as error:
        raise storage_error(str(folder), error) from None
    return folder


def _copied(catalog: Catalog, folder: Path, links: Path) -> Manifest:
    warehouse, copy = folder / WAREHOUSE, links / "catalog.sqlite"
    saved = SavedTables(catalog.warehouse_dir)
    try:
        links.mkdir()
        with catalog.transaction():
            catalog.copy_file(str(copy))
            saved.add_all(catalog)
            sources = _linked(saved.files, links)
        for place in saved.folders:
            (warehouse / place).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(str(links), error) from None
    settle_catalog(str(copy), saved, str(warehouse))
    sources[str(Path(catalog.file_path).relative_to(catalog.warehouse_dir))] = str(copy)
    with ThreadPoolExecutor(COPIES_AT_ONCE) as pool:
        files = list(pool.map(lambda place: copy_file(sources[place], warehouse / place, place), sources))
    _sync_folders(warehouse)
    manifest = new_manifest(saved.num_tables, files, saved.left_out)
    write_manifest(folder, manifest)
    return manifest


def _linked(files: dict[str, str], links: Path) -> dict[str, str]:
    """Second names of files, which stay when a table is renamed or dropped; those of another file system have none."""
    linked = dict(files)
    for number, (place, source) in enumerate(files.items()):
        with suppress(OSError):
            _link(links / str(number), source)
            linked[place] = str(links / str(number))
    return linked


def _link(link: Path, source: str) -> None:
    link.hardlink_to(source)


def _sync_folders(folder: Path) -> None:
    try:
        for one in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
            sync_directory(str(one))
    except OSError as error:
        raise storage_error(str(folder), error) from None
