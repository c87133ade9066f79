"""Target of an ALTER TABLE clause: a table or one of its Hive partitions."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import Table
from sharkpy.plan.commands import PartitionSpec
from sharkpy.sql.statements.command_binder import CommandBinder


@dataclass(frozen=True, slots=True)
class Target:
    """Target of a clause: a table, or the Hive partition in PARTITION (…) before the clause."""

    table: Table
    partition: PartitionSpec | None = None

    def full_partition(self, binder: CommandBinder) -> PartitionSpec:
        """Return the values of all partition columns. Raise BindError if one is missing."""
        spec = self.partition or ()
        if missing := [name for name in self.table.partition_columns if name not in dict(spec)]:
            raise binder.error(f'PARTITION lacks the partition column "{missing[0]}"', None)
        return spec
