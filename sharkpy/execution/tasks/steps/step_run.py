"""What one run of a step is given beside its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import Cancellation
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.sources.metrics import ReadMetrics


@dataclass(frozen=True, slots=True)
class StepRun:
    """`passed` are the columns that the step hands on; `output` is `passed` and the step's own columns."""

    passed: Schema
    arguments: Schema
    output: Schema
    end: Cancellation
    """Ends the run: the statement was cancelled, or nobody wants more rows."""
    read: ReadMetrics
    """Where malformed values are counted."""

    @property
    def made(self) -> Schema:
        """The step's own columns."""
        return Schema(self.output.fields[len(self.passed) :])
