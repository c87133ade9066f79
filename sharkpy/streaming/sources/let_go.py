"""Removal of a table's remote files that a stream of its rows does not need any more."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SharkError
from sharkpy.catalog.folder_readers import wanted_file
from sharkpy.sources.folders.manifests import home_of_staging, write_of
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.open_files import store_for_access

if TYPE_CHECKING:
    from sharkpy.catalog.catalog import Catalog
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.stream_store import StreamFile

_log = logging.getLogger(__name__)


def fed_table(stream: Table, catalog: Catalog) -> Table | None:
    """Return the table this stream follows, or None if it was dropped."""
    table_id = catalog.streams.feeding(stream.table_id)
    return None if table_id is None else catalog.current_table(table_id)


def remove_let_go(files: Iterable[StreamFile], table: Table | None, catalog: Catalog) -> None:
    """Remove files of a stream of `table` that the table dropped while the stream still needed them.

    The catalog no longer counts them as the stream's files. A file that cannot be removed now stays until the table is
    dropped.
    """
    found: dict[tuple[str, bool], list[str]] = {}
    for partition, path in (wanted_file(one.name) for one in files):
        if table is not None and write_of(path):
            found.setdefault(_named_in(table, partition, path, catalog), []).append(path)
    for (folder, is_deep), paths in found.items():
        try:
            access = catalog.access_id(folder)
            Removal(folder, store_for_access(folder, access), access).remove_unnamed(paths, is_deep=is_deep)
        except SharkError as error:
            _log.warning('files that were read stay in "%s": %s', uri.redacted(folder), error)


def _named_in(table: Table, partition: str, path: str, catalog: Catalog) -> tuple[str, bool]:
    """Return the folder whose manifests may name a file, and whether manifests of its subfolders may too.

    The file belongs to a table, or to a Hive partition of it. A file may have another name by now, or belong to another
    table. So all subfolders count if it was written to another folder than the current one.
    """
    home = home_of_staging(path)
    folder = uri.join(home, partition) if partition else home
    return (folder, False) if folder == _folder(table, partition, catalog) else (home, True)


def _folder(table: Table, partition: str, catalog: Catalog) -> str | None:
    """Return the folder of a table or of its Hive partition, or None if the table no longer has the partition."""
    if not partition:
        return table.location
    known = next((one for one in catalog.partitions(table) if one.name == partition), None)
    return None if known is None else known.folder(table)
