"""Description of Python code between two queries of one task: plain data that plans and tasks carry."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowStep:
    """Base of frozen, slotted dataclasses that describe such a step.

    1. Equal descriptions do the same; they are hashable, and pickled for the tasks.
    2. The function that carries a step out is in the table of `sharkpy.execution.tasks.steps`, by the type of this.
    """

    @property
    def label(self) -> str:
        """Text of the step in EXPLAIN."""
        return type(self).__name__
