"""Current statistics of a table by ANALYZE TABLE: figures of files that have changed since are left out."""

from __future__ import annotations

from sharkpy.base.errors import SourceError, UnsupportedError
from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_statistics import TableStatistics
from sharkpy.execution.engine_session import EngineSession
from sharkpy.execution.tables.analyzed import all_partitions_statistics, is_content_of, table_statistics
from sharkpy.execution.tables.data_files import partition_files, table_files


def current_statistics(table: Table, one: HivePartition | None, session: EngineSession) -> TableStatistics | None:
    """Statistics of the table, or of one of its Hive partitions, if they still hold and the files can be listed."""
    if table.is_view or table.location is None or is_lake(table):
        return None
    catalog = session.catalog
    try:
        if one is not None:
            found = catalog.statistics(table).get(one.name)
            return found if found is not None and is_content_of(found.content, partition_files(table, [one])) else None
        if table.is_partitioned:
            return all_partitions_statistics(catalog, table)
        return table_statistics(catalog, table, table_files(table, catalog))
    except (SourceError, UnsupportedError):
        return None
