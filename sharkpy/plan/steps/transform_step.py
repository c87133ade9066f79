"""Partition values of a lake table, as a step between two queries of a task."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.catalog.lake_tables import PartitionField
from sharkpy.plan.steps.row_step import RowStep


@dataclass(frozen=True, slots=True)
class TransformStep(RowStep):
    """Computes the text of each argument's partition value, by the field at its position. NULL gives NULL."""

    fields: tuple[PartitionField, ...]

    @property
    def label(self) -> str:
        return ", ".join(map(str, self.fields))
