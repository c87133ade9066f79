"""Values by which a lake table divides its files, as a step between two queries of a task."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.plan.steps.row_step import RowStep


@dataclass(frozen=True, slots=True)
class TransformStep(RowStep):
    """Makes of each argument the text of the value that the field at its place takes from it; NULL for NULL."""

    fields: tuple[PartitionField, ...]

    @property
    def label(self) -> str:
        return ", ".join(map(str, self.fields))
