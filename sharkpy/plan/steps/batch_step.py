"""Python code from batches to batches, as a step between two queries of a task."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.steps.row_step import RowStep


@dataclass(frozen=True, slots=True)
class BatchStep(RowStep):
    """Passes each Arrow batch of its arguments, with columns by position, to a function that returns batches of its
    columns.
    """

    name: str
    function: bytes
    """The function, pickled by value. It takes a batch and returns an iterable of batches."""

    @property
    def label(self) -> str:
        return self.name
