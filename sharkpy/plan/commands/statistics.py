"""Commands about the statistics of a table's rows."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.model import Table
from sharkpy.plan.commands.command import Command, PartitionSpec, Properties
from sharkpy.plan.logical import LogicalPlan


@dataclass(frozen=True, slots=True)
class AnalyzeTable(Command):
    """ANALYZE TABLE. `query` computes row counts and figures of `columns`, per Hive partition with these values.

    It yields the partition columns, the count, and for each of `columns` the figures of
    `sharkpy.sql.statements.bind_analyze`. None: NOSCAN, which only reads the sizes of files.
    """

    table: Table
    partition: PartitionSpec = ()
    columns: tuple[str, ...] = ()
    query: LogicalPlan | None = None


@dataclass(frozen=True, slots=True)
class UpdateStatistics(Command):
    """ALTER TABLE UPDATE STATISTICS [FOR COLUMN c] SET (…). `figures` have Hive's names."""

    table: Table
    partition: PartitionSpec
    column: str | None
    figures: Properties
