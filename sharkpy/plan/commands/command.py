"""Base of commands, and specifications of Hive partitions in statements."""

from __future__ import annotations

from sharkpy.base.records import dataclass

Properties = tuple[tuple[str, str], ...]
PartitionSpec = tuple[tuple[str, str | None], ...]
"""PARTITION (ds='x', hr): columns in the table's order, with their values as written, or None without a value."""
PartitionFilter = tuple[tuple[str, str, str], ...]
"""PARTITION (ds < 'x', hr = 1): column, comparison, value as written. All of them must hold."""


@dataclass(frozen=True, slots=True)
class Command:
    """Base of commands. Only listings yield rows by default."""

    @property
    def yields_rows(self) -> bool:
        """Whether the result is a set of rows, possibly empty. It is known before the command runs."""
        return False


@dataclass(frozen=True, slots=True)
class Listing(Command):
    """SHOW, DESCRIBE and EXPLAIN."""

    @property
    def yields_rows(self) -> bool:
        return True
