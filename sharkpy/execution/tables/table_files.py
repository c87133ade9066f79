"""The data files of a table, Hive partition by Hive partition where it has them."""

from __future__ import annotations

from collections.abc import Iterable

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.sources.layout import DataFile, list_data_files, list_partition_files


def table_files(table: Table, partitions: Iterable[HivePartition]) -> tuple[DataFile, ...]:
    """Those of `partitions` for a partitioned table, else all."""
    if not table.is_partitioned:
        return tuple(list_data_files(table.location or ""))
    return tuple(file for one in partitions for file in list_partition_files(one.folder(table), one.newest, one.name))
