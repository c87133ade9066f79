"""Files of a table in a remote folder that a stream of its rows does not want any more."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sharkpy.base import uri
from sharkpy.base.errors import SharkError
from sharkpy.catalog.wanted_files import wanted_file
from sharkpy.sources.folders.manifest import home_of_staging, write_of
from sharkpy.sources.folders.remote_removal import Removal
from sharkpy.sources.local_copy import store_with

if TYPE_CHECKING:
    from sharkpy.catalog.model import Table
    from sharkpy.catalog.store import Catalog
    from sharkpy.catalog.stream_store import StreamFile

_log = logging.getLogger(__name__)


def fed_table(stream: Table, catalog: Catalog) -> Table | None:
    """Table of whose appended rows a stream is; None where it was dropped."""
    table_id = catalog.streams.feeding(stream.table_id)
    return None if table_id is None else catalog.current_table(table_id)


def remove_let_go(files: Iterable[StreamFile], table: Table | None, catalog: Catalog) -> None:
    """Remove those of some files of a stream of `table` that the table has let go of while the stream wanted them. The
    catalog does not count them as the stream's any more. What cannot be removed now stays until the table is dropped.
    """
    found: dict[tuple[str, bool], list[str]] = {}
    for partition, path in (wanted_file(one.name) for one in files):
        if table is not None and write_of(path):
            found.setdefault(_named_in(table, partition, path, catalog), []).append(path)
    for (folder, is_deep), paths in found.items():
        try:
            access = catalog.access_id(folder)
            Removal(folder, store_with(folder, access), access).remove_unnamed(paths, is_deep=is_deep)
        except SharkError as error:
            _log.warning('files that were read stay in "%s": %s', uri.shown(folder), error)


def _named_in(table: Table, partition: str, path: str, catalog: Catalog) -> tuple[str, bool]:
    """Folder whose manifests may name a file of a table, or of a Hive partition of it, and whether those of all folders
    below it may too: what was written there may have another name, or be another table's, by now.
    """
    home = home_of_staging(path)
    folder = uri.join(home, partition) if partition else home
    return (folder, False) if folder == _folder(table, partition, catalog) else (home, True)


def _folder(table: Table, partition: str, catalog: Catalog) -> str | None:
    """Folder of a table, or of a Hive partition of it; None for one that the table does not have any more."""
    if not partition:
        return table.location
    known = next((one for one in catalog.partitions(table) if one.name == partition), None)
    return None if known is None else known.folder(table)
