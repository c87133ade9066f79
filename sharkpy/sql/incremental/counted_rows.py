"""The number of rows that have come, as what closes windows of rows."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.expr import Call, ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project
from sharkpy.sql.incremental.state import Kept, NewColumn
from sharkpy.sql.incremental.watermarks import beside_least
from sharkpy.udf.time_window_functions import TIME_OF_ROW
from sharkpy.values.types import TIMESTAMP


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The number of rows that have come as the watermark of their numbers: no row comes with an earlier one."""

    place: int
    """Of the part with that number."""
    new_column: NewColumn

    @property
    def places(self) -> tuple[int, ...]:
        return (self.place,)

    @property
    def label(self) -> str:
        """When windows are closed, for people."""
        return "all their rows have come"

    def beside(self, rows: LogicalPlan, kept: Kept, mark: ColumnRef) -> LogicalPlan:
        """Rows with the watermark, as it is kept, as their last column `mark`."""
        counted = kept(self.place)
        time = Call(TIME_OF_ROW, counted.output[:1], TIMESTAMP)
        return beside_least(rows, [Project(counted, (self.new_column("watermark", TIMESTAMP).holding(time),))], mark)
