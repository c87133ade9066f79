"""Data files of a table, by Hive partition if it has any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.catalog.serialize import form_to_text
from sharkpy.sources.layout import DataFile, list_data_files, list_partition_files


def table_files(table: Table, partitions: Iterable[HivePartition]) -> tuple[DataFile, ...]:
    """Data files of `partitions` for a partitioned table, else all of the table."""
    if not table.is_partitioned:
        return tuple(list_data_files(table.location or ""))
    return tuple(file for one in partitions for file in _partition_files(table, one))


def _partition_files(table: Table, one: HivePartition) -> list[DataFile]:
    files, form = list_partition_files(one.folder(table), one.newest, one.name), form_to_text(one.storage, one.columns)
    return [replace(file, form=form) for file in files] if form else files
