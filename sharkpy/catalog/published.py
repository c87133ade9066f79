"""State of a table's files in the catalog at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.hive_partition import HivePartition


@dataclass(frozen=True, slots=True)
class Published:
    """Files of a table that count: those up to the generation `newest` (None: all), or those of its Hive partitions."""

    newest: int | None = None
    partitions: tuple[HivePartition, ...] = ()
