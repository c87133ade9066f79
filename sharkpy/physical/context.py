"""Facts about the session and machine for the planner."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.columnar.version import TableVersion
from sharkpy.optimizer.replan.place_stage import Place
from sharkpy.optimizer.statistics import NoStatistics, StatisticsProvider
from sharkpy.physical.hive_partitions import HivePartitions
from sharkpy.sources.source import Split

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
