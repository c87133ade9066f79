"""Commands about the statistics of a table's rows."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import Table
from sharkpy.plan.commands.command import Command, PartitionSpec, Properties
from sharkpy.plan.logical import LogicalPlan


@dataclass(frozen=True, slots=True)
class AnalyzeTable(Command):
    """ANALYZE TABLE: `query` counts the rows and figures of `columns`, for each Hive partition with these values.

    It yields the partition columns, the count, and `columns` times the figures of
    `sharkpy.sql.statements.bind_analyze`; None: NOSCAN, files alone are looked at.
    """

    table: Table
    partition: PartitionSpec = ()
    columns: tuple[str, ...] = ()
    query: LogicalPlan | None = None


@dataclass(frozen=True, slots=True)
class UpdateStatistics(Command):
    """ALTER TABLE UPDATE STATISTICS [FOR COLUMN c] SET (…): `figures` under Hive's names."""

    table: Table
    partition: PartitionSpec
    column: str | None
    figures: Properties
