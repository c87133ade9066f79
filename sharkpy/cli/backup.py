"""`sharkpy backup` and `sharkpy restore`: save a warehouse as files, and create it again from them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from sharkpy.base import settings, uri
from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.readable_catalog import CATALOG_FILE
from sharkpy.execution.backup.backup_folder import Manifest
from sharkpy.execution.backup.make_backup import make_backup
from sharkpy.execution.backup.restore_backup import restore_backup
from sharkpy.execution.restrictions import Restrictions
from sharkpy.session.defaults import catalog_home, warehouse_location
from sharkpy.session.remote_storage import SessionAccesses, claimed, require_claimable
from sharkpy.session.surroundings import ReachedStorage


def run_backup(target: str, warehouse: str | None, given: Mapping[str, str]) -> int:
    """Make a backup of the warehouse in the folder `target`, and print what the backup contains and leaves out."""
    conf = Conf(given)
    if conf.value(settings.METASTORE) != settings.EMBEDDED:
        hint = "back up the metastore with its own tools, then the folders of its tables"
        raise UnsupportedError("a backup of the tables of a Hive metastore", hint=hint)
    location = warehouse_location(warehouse, conf)
    home = catalog_home(location, conf)
    if not Path(home, CATALOG_FILE).exists():
        raise SourceError(f'there is no warehouse at "{uri.redacted(location)}"', sqlstate="58P01")
    catalog = claimed(Catalog(location, home=home), conf)
    try:
        catalog.surroundings = ReachedStorage(conf, conf, Restrictions)
        manifest = make_backup(catalog, target)
    finally:
        catalog.close()
    sys.stdout.write(f"saved {_content(manifest)} in {target}\n")
    for line in manifest.left_out:
        sys.stdout.write(f"not saved, outside of the warehouse: {line}\n")
    return 0


def run_restore(source: str, warehouse: str | None, given: Mapping[str, str]) -> int:
    """Create the warehouse, which must not exist, from the backup in the folder `source`."""
    conf = Conf(given)
    location = warehouse_location(warehouse, conf)
    require_claimable(location, conf)
    accesses = SessionAccesses(conf, conf, Restrictions)
    manifest = restore_backup(
        source, location, catalog_home(location, conf), lambda place: accesses.find(place, is_named=True)
    )
    sys.stdout.write(f"restored {_content(manifest)} of {manifest.made_at} to {uri.redacted(location)}\n")
    return 0


def _content(manifest: Manifest) -> str:
    megabytes = manifest.size_bytes / (1 << 20)
    return f"{manifest.num_tables:,} tables and views, {len(manifest.files):,} files, {megabytes:,.1f} MB,"
