"""Files named by a query, as a table outside of any catalog."""

from __future__ import annotations

from dataclasses import dataclass, field

from sharkpy.catalog.hive_partition import HivePartition
from sharkpy.catalog.model import Table
from sharkpy.sources.named_files import NamedFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTable(Table):
    """Table of the rows of `named` files, which have not changed since."""

    named: NamedFiles = field(compare=False, repr=False)

    @property
    def qualified_name(self) -> str:
        return f"{self.database}.`{self.name}`"

    @property
    def partitions(self) -> tuple[HivePartition, ...]:
        """Hive partitions of a partitioned table, by name."""
        return tuple(
            HivePartition(number, name, folder) for number, (name, folder) in enumerate(self.named.partitions, 1)
        )
