"""Files of continuous tables by the number of the last generation that counts: their folders need not be listed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sharkpy.catalog.model import Table
from sharkpy.execution.tables.entry import Entry
from sharkpy.sources import layout
from sharkpy.sources.layout import DataFile

if TYPE_CHECKING:
    from sharkpy.catalog.published import Published
    from sharkpy.catalog.store import Catalog

_LIST_SECONDS = 10.0
"""Time after which a folder is listed nevertheless: another process may have folded files, which changes no row."""
_MOST_GENERATIONS = 1000


def counted_generation(table: Table, catalog: Catalog, published: Published | None) -> int | None:
    """Number that grows with each change of the rows of a table; None for one that has no such number.

    A continuous table has it, since its query alone writes its files.
    """
    if not table.continuous or table.is_partitioned or table.as_of is not None:
        return None
    return catalog.newest_generation(table) if published is None else published.newest


def added_files(entry: Entry, newest: int) -> list[DataFile] | None:
    """Files of the generations up to `newest` behind those that `entry` has blocks of; None where the folder has to be
    listed to know.
    """
    before = entry.newest
    if entry.version is None or entry.files is None or before is None:
        return None
    if not 0 <= newest - before <= _MOST_GENERATIONS or time.monotonic() - entry.listed >= _LIST_SECONDS:
        return None
    return layout.delta_files(entry.table.location or "", range(before + 1, newest + 1))
