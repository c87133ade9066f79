"""Session and machine, as far as the planner knows them."""

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
from sharkpy.sources.split import Split

ScanSource = Callable[[Table], TableVersion | Sequence[Split] | HivePartitions]
"""The cached version of a table, or else the splits of its files, or its Hive partitions to choose from."""


def _no_files(table: Table) -> Sequence[Split]:
    raise UnsupportedError(f"virtual columns of {table.qualified_name}, which has no files")


@dataclass(frozen=True, slots=True)
class PlanContext:
    """`placement`: where the query has to run; None: in the driver where the scanned bytes allow it and `is_local`."""

    conf: Conf
    scan_source: ScanSource
    statistics: StatisticsProvider = field(default_factory=NoStatistics)
    default_parallelism: int = 2
    placement: Place | None = None
    is_local: bool = True
    file_source: ScanSource = _no_files
    """As `scan_source`, of files alone: for scans of virtual columns."""
