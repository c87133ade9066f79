"""Table as input of a transformer: its query, and the statistics of its blocks if they describe all its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base import settings
from sharkpy.columnar.statistics_table import ColumnTable, StatisticsTable
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.engine_session import newest_session
from sharkpy.ml.models.predictor import is_table
from sharkpy.physical.statistics_answers import scan_below

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.ml.rdd.table_rdd import TableRDD


def given_table(data: object, session: EngineSession | None) -> TableRDD | None:
    """Return the TableRDD of `data`, a TableRDD or a table's name, or None for any other data."""
    if is_table(data):
        return data
    if not isinstance(data, str):
        return None
    from sharkpy.ml.rdd.table_rdd import TableRDD

    quoted = ".".join(f"`{part.strip('`')}`" for part in data.strip().split("."))
    return TableRDD.of_text(session or newest_session(), f"SELECT * FROM {quoted}")


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Statistics of exactly the rows of a query, and the stored column of each of its columns by name."""

    statistics: StatisticsTable
    stored: dict[str, str]

    @classmethod
    def of(cls, table: TableRDD) -> KnownColumns | None:
        """Return the statistics of a query, or None if it is more than columns of one table in memory, or statistics
        are off.
        """
        found = scan_below(table.plan)
        if found is None or not table.session.conf.value(settings.STATISTICS_ANSWERS):
            return None
        scan, names = found
        if scan.predicate is not None or scan.sample is not None or scan.is_of_files:
            return None
        version = table._query.snapshot.scan_source(scan.table)
        if not isinstance(version, TableVersion):
            return None
        stored = {column.name: names[column.column_id] for column in table.plan.output if column.column_id in names}
        return cls(version.statistics, stored)

    def column(self, name: str) -> ColumnTable | None:
        """Return the stored column of a column of the query, or None if that is computed."""
        stored = self.stored.get(name)
        return None if stored is None else self.statistics.columns[stored]

    def num_missing(self, name: str) -> int | None:
        """Return the number of NULLs of a column, or None if there may be NaN too."""
        column = self.column(name)
        return None if column is None or column.has_nan.any() else int(column.null_counts.sum())

    def constant(self, name: str) -> object | None:
        """Return the single value that a column has apart from NULL, or None if there are several values, or this is
        unknown.
        """
        stored = self.stored.get(name)
        if stored is None:
            return None
        low, high = self.statistics.minimum(stored), self.statistics.maximum(stored)
        return low.value if low is not None and high is not None and low.value == high.value else None
