"""What Python code does to the rows between two queries of one task, as plain data that plans and tasks carry."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowStep:
    """Base of frozen, slotted dataclasses that describe such a step.

    1. Equal descriptions do the same; they are hashable, and pickled for the tasks.
    2. What carries a step out stands in the table of `sharkpy.execution.tasks.steps`, by the description's type.
    """

    @property
    def label(self) -> str:
        """What EXPLAIN says of it."""
        return type(self).__name__
