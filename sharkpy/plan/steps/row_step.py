"""Description of Python code between two queries of one task, as data in plans and tasks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowStep:
    """Base of frozen, slotted dataclasses that describe a step.

    1. Equal descriptions have the same effect. They are hashable, and pickled for the tasks.
    2. The table of `sharkpy.execution.tasks.steps` maps the type of a description to the function that runs it.
    """

    @property
    def label(self) -> str:
        """The text of the step in EXPLAIN."""
        return type(self).__name__
