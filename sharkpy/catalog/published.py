"""State of a table's files in the catalog at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.hive_partition import HivePartition


@dataclass(frozen=True, slots=True)
class Published:
    """Committed files of a table: generations up to `newest` (None: all), or the files of its Hive partitions."""

    newest: int | None = None
    partitions: tuple[HivePartition, ...] = ()
