"""`sharkpy backup` and `sharkpy restore`: a warehouse saved as files, and made from them again."""

from __future__ import annotations

import sys
from pathlib import Path

from sharkpy.base import settings, uri
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.catalog.store import Catalog
from sharkpy.execution.backup.make_backup import make_backup
from sharkpy.execution.backup.manifest import Manifest
from sharkpy.execution.backup.restore_backup import restore_backup
from sharkpy.session.defaults import warehouse_location


def run_backup(target: Path, warehouse: str | None, metastore: str | None) -> int:
    """Make a backup of the warehouse in the folder `target`, and print what it holds and what it does not."""
    if metastore not in (None, settings.EMBEDDED):
        hint = "save the metastore by its own means, then the folders of its tables"
        raise UnsupportedError("a backup of the tables of a Hive metastore", hint=hint)
    folder = _warehouse(warehouse)
    if not Path(folder, CATALOG_FILE).exists():
        raise SourceError(f'there is no warehouse at "{folder}"', sqlstate="58P01")
    catalog = Catalog(folder)
    try:
        manifest = make_backup(catalog, target)
    finally:
        catalog.close()
    sys.stdout.write(f"saved {_content(manifest)} in {target}\n")
    for line in manifest.left_out:
        sys.stdout.write(f"not saved, outside of the warehouse: {line}\n")
    return 0


def run_restore(source: Path, warehouse: str | None) -> int:
    """Make the warehouse, which must not be there, from the backup in the folder `source`."""
    folder = _warehouse(warehouse)
    manifest = restore_backup(source, folder)
    sys.stdout.write(f"restored {_content(manifest)} of {manifest.made_at} to {folder}\n")
    return 0


def _warehouse(given: str | None) -> Path:
    """Folder of a local warehouse; UnsupportedError for one at a URI."""
    location = warehouse_location(given, Conf())
    if uri.is_remote(location):
        hint = "copy the file of its catalog and its objects: see docs/operations.md"
        raise UnsupportedError(f'backups of the warehouse at "{uri.shown(location)}"', hint=hint)
    return Path(location)


def _content(manifest: Manifest) -> str:
    megabytes = manifest.size_bytes / (1 << 20)
    return f"{manifest.num_tables:,} tables and views, {len(manifest.files):,} files, {megabytes:,.1f} MB,"
