"""Base of commands, and the names that statements give Hive partitions."""

from __future__ import annotations

from dataclasses import dataclass

Properties = tuple[tuple[str, str], ...]
PartitionSpec = tuple[tuple[str, str | None], ...]
"""PARTITION (ds='x', hr): columns with their values as written, in the table's order; None where there is none."""
PartitionFilter = tuple[tuple[str, str, str], ...]
"""PARTITION (ds < 'x', hr = 1): column, comparison, value as written; all of them hold."""


@dataclass(frozen=True, slots=True)
class Command:
    """Base of commands, which yield no rows but for listings."""

    @property
    def yields_rows(self) -> bool:
        """Whether the answer is rows, though there may be none of them: known before the command is carried out."""
        return False


@dataclass(frozen=True, slots=True)
class Listing(Command):
    """SHOW, DESCRIBE and EXPLAIN."""

    @property
    def yields_rows(self) -> bool:
        return True
