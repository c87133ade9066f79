"""Hive partitions are added, changed, dropped and looked for."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.plan.commands.command import Command, PartitionFilter, PartitionSpec, Properties
from sharkpy.values.types import Schema


@dataclass(frozen=True, slots=True)
class AddPartitions(Command):
    """ALTER TABLE ADD PARTITION: each with its folder, if given."""

    table: Table
    partitions: tuple[tuple[PartitionSpec, str | None], ...]
    if_not_exists: bool


@dataclass(frozen=True, slots=True)
class AlterPartition(Command):
    """New place, storage format or columns of a Hive partition; None: as it is."""

    table: Table
    partition: PartitionSpec
    location: str | None = None
    storage: StorageFormat | None = None
    serde_properties: Properties = ()
    columns: Schema | None = None


@dataclass(frozen=True, slots=True)
class DropPartitions(Command):
    """ALTER TABLE DROP PARTITION: those that any of `filters` takes."""

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
    """Hive partitions of `source` with these values, and their data, become the table's."""

    table: Table
    source: Table
    partition: PartitionSpec


@dataclass(frozen=True, slots=True)
class RepairTable(Command):
    """MSCK REPAIR TABLE: register the folders that are there (`adds`), forget those that are not (`drops`).

    `is_dry`: MSCK TABLE, which only tells of them. The answer has a line for each change, and for what is left alone.
    """

    table: Table
    adds: bool
    drops: bool
    is_dry: bool = False

    @property
    def yields_rows(self) -> bool:
        return True
