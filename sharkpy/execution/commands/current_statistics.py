"""Statistics of ANALYZE TABLE that are still current. Statistics of changed files are left out."""

from __future__ import annotations

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_statistics import TableStatistics
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.analyzed import all_partitions_statistics, is_content_of, table_statistics
from sharkpy.execution.tables.data_files import files_if_listed


def current_statistics(table: Table, one: HivePartition | None, session: EngineSession) -> TableStatistics | None:
    """Return a table's or Hive partition's statistics, or None if they are stale or cannot be checked."""
    if table.is_view or table.location is None or is_lake(table):
        return None
    catalog = session.catalog
    if one is None and table.is_partitioned:
        return all_partitions_statistics(catalog, table)
    found = catalog.statistics(table).get("" if one is None else one.name)
    if found is None or (files := files_if_listed(table, one, catalog)) is None:
        return None
    if one is not None:
        return found if is_content_of(found.content, files) else None
    return table_statistics(catalog, table, files)
