"""Python code from batches to batches as a step between two queries of a task."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.steps.row_step import RowStep


@dataclass(frozen=True, slots=True)
class BatchStep(RowStep):
    """Hands each Arrow batch of its arguments, columns by place, to a function that gives batches of its columns."""

    name: str
    function: bytes
    """The function, pickled by value: one batch in, an iterable of batches out."""

    @property
    def label(self) -> str:
        return self.name
