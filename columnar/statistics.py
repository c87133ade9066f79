"""Statistics of blocks and of table versions, importable from one place."""

from sharkpy.columnar.column_statistics import BlockStatistics, ColumnStatistics, column_statistics
from sharkpy.columnar.packed_statistics import PackedStatistics
from sharkpy.columnar.statistics_table import ColumnTable, StatisticsAnswer, StatisticsTable

__all__ = [
    "BlockStatistics",
    "ColumnStatistics",
    "ColumnTable",
    "PackedStatistics",
    "StatisticsAnswer",
    "StatisticsTable",
    "column_statistics",
]
