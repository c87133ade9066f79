"""Commands that add, change, drop and find Hive partitions."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.plan.commands.command import Command, PartitionFilter, PartitionSpec, Properties
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class AddPartitions(Command):
    """ALTER TABLE ADD PARTITION: each partition with its folder, if given."""

    table: Table
    partitions: tuple[tuple[PartitionSpec, str | None], ...]
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class AlterPartition(Command):
    """New location, storage format or columns of a Hive partition. None: unchanged."""

    table: Table
    partition: PartitionSpec
    location: str | None = None
    storage: StorageFormat | None = None
    serde_properties: Properties = ()
    columns: Schema | None = None


@dataclass(frozen=True, slots=True)
class DropPartitions(Command):
    """ALTER TABLE DROP PARTITION: the partitions that match any of `filters`."""

    table: Table
    filters: tuple[PartitionFilter, ...]
    if_exists: bool


@dataclass(frozen=True, slots=True)
class RenamePartition(Command):
    table: Table
    old: PartitionSpec
    new: PartitionSpec


@dataclass(frozen=True, slots=True)
class ExchangePartition(Command):
    """Move the Hive partitions of `source` with these values, and their data, to the table."""

    table: Table
    source: Table
    partition: PartitionSpec


@dataclass(frozen=True, slots=True)
class RepairTable(Command):
    """MSCK REPAIR TABLE: register folders without a partition (`adds`), drop partitions without a folder (`drops`).

    `is_dry`: MSCK TABLE, which only reports them. The result has a line for each change, and for each skipped folder.
    """

    table: Table
    adds: bool
    drops: bool
    is_dry: bool = False

    @property
    def yields_rows(self) -> bool:
        return True
