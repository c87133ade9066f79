"""The number of rows that have arrived, which closes windows of rows."""

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
    """The number of rows that have arrived, as the watermark of row numbers: later rows have larger numbers."""

    place: int
    """Place of the part with that number."""
    new_column: NewColumn

    @property
    def places(self) -> tuple[int, ...]:
        return (self.place,)

    @property
    def label(self) -> str:
        """Text that says when windows are closed."""
        return "all their rows have come"

    def beside(self, rows: LogicalPlan, kept: Kept, mark: ColumnRef) -> LogicalPlan:
        """Append the current watermark to rows, as column `mark`."""
        counted = kept(self.place)
        time = Call(TIME_OF_ROW, counted.output[:1], TIMESTAMP)
        return beside_least(rows, [Project(counted, (self.new_column("watermark", TIMESTAMP).holding(time),))], mark)
