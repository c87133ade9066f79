"""Count of changed rows, as a step between the query of a write and its sink."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.steps.row_step import RowStep


@dataclass(frozen=True, slots=True)
class CountChanges(RowStep):
    """Passes on all rows and counts the rows whose argument, a BOOLEAN, is true."""
