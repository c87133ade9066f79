"""Commands about earlier versions of tables, and dropped ones."""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.catalog.model import Table
from sharkpy.catalog.table_history import VersionPoint
from sharkpy.plan.commands.command import Command, Listing


@dataclass(frozen=True, slots=True)
class DescribeHistory(Listing):
    """DESCRIBE HISTORY t."""

    table: Table


@dataclass(frozen=True, slots=True)
class RestoreTable(Command):
    """RESTORE TABLE t TO VERSION | TIMESTAMP AS OF …."""

    table: Table
    to: VersionPoint


@dataclass(frozen=True, slots=True)
class VacuumTable(Listing):
    """VACUUM t [RETAIN n HOURS] [DRY RUN]. `seconds` None: the table's retention."""

    table: Table
    seconds: float | None = None
    is_dry: bool = False


@dataclass(frozen=True, slots=True)
class UndropTable(Command):
    """UNDROP TABLE."""

    database: str
    name: str


@dataclass(frozen=True, slots=True)
class UndropDatabase(Command):
    """UNDROP DATABASE."""

    name: str
