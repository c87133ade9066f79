"""Statistics of blocks and of whole table versions: one place to import them from."""

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
