"""Files that hold the rows of tables, as the catalog and their folders tell."""

from __future__ import annotations

import sharkpy
from sharkpy.catalog.model import Table
from sharkpy.execution.tables.data_files import table_files
from sharkpy.sources.folders.generations import Generation
from sharkpy.sources.folders.table_folder import table_folder
from sharkpy.sources.layout import DataFile


def files_of(context: sharkpy.SharkContext, table: Table | str = "t") -> list[DataFile]:
    """Current data files of a table, or of the one with that name, in the order of their rows."""
    found = context.catalog.table("default", table) if isinstance(table, str) else table
    return list(table_files(found, context.catalog))


def generations_of(context: sharkpy.SharkContext, table: Table) -> list[tuple[Generation, list[DataFile]]]:
    """Visible generations of a table without Hive partitions, with their files."""
    newest = context.catalog.newest_generation(table)
    return table_folder(table.location or "", context.catalog).visible(newest)
