"""User table functions, as a step between two queries of a task."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.steps.row_step import RowStep
from sharkpy.udf.user.function import FunctionUse
from sharkpy.udf.user.table import UserTable


@dataclass(frozen=True, slots=True)
class TableFunctionStep(RowStep):
    """Passes on a row with each row that the function makes from it. If `outer`, a row without results gets NULLs.

    Rows that the function makes at the end of a task are joined with the task's last row, as in Hive.
    """

    use: FunctionUse
    outer: bool = False

    @property
    def function(self) -> UserTable:
        return self.use.function  # type: ignore[return-value]

    @property
    def label(self) -> str:
        return f"{'outer ' if self.outer else ''}{self.use.function.name}"
