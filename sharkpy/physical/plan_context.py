"""Context of planning: facts about the session and the machine, and fresh ids of columns and exchanges."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import field

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.records import dataclass
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.columnar.version import TableVersion
from sharkpy.optimizer.context import NoStatistics, StatisticsProvider
from sharkpy.optimizer.decisions import Place
from sharkpy.physical.hive_partitions import HivePartitions
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sources.source import Split
from sharkpy.values.types import DataType

ScanSource = Callable[[Table], TableVersion | Sequence[Split] | HivePartitions]
"""Function that returns a table's cached version, its files' splits, or its Hive partitions."""


def _no_files(table: Table) -> Sequence[Split]:
    raise UnsupportedError(f"virtual columns of {table.qualified_name}, which has no files")


@dataclass(frozen=True, slots=True)
class PlanContext:
    """Context of planning.

    `placement` is the place in which the query must run. If None, it runs in the driver if it `is_local` and the
    scanned bytes allow it.
    """

    conf: Conf
    scan_source: ScanSource
    statistics: StatisticsProvider = field(default_factory=NoStatistics)
    default_parallelism: int = 2
    placement: Place | None = None
    is_local: bool = True
    file_source: ScanSource = _no_files
    """Like `scan_source`, but only files, for scans of virtual columns."""


class FreshIds:
    def __init__(self, plan: LogicalPlan) -> None:
        self._columns = itertools.count(_largest_id(plan) + 1)
        self._exchanges = itertools.count(1)

    def column(self, name: str, dtype: DataType) -> ColumnRef:
        return ColumnRef(next(self._columns), name, dtype)

    def alias(self, expr: Expr, name: str) -> Alias:
        return Alias(expr, next(self._columns), name)

    def exchange(self) -> int:
        return next(self._exchanges)


def _largest_id(plan: LogicalPlan) -> int:
    largest = 0
    for node in plan.walk():
        for root in node.expressions:
            for expr in (root,) if isinstance(root, ColumnRef) else root.walk():
                if isinstance(expr, (Alias, ColumnRef)):
                    largest = max(largest, expr.column_id)
    return largest
