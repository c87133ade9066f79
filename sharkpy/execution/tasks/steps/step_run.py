"""Run of a step: all that it gets beside its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import Cancellation
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.sources.metrics import ReadMetrics


@dataclass(frozen=True, slots=True)
class StepRun:
    """Run of a step: `passed` are the columns that it passes on; `output` is `passed` and the step's own columns."""

    passed: Schema
    arguments: Schema
    output: Schema
    end: Cancellation
    """Ends the run: the statement was cancelled, or nobody wants more rows."""
    read: ReadMetrics
    """Metrics in which malformed values are counted."""

    @property
    def made(self) -> Schema:
        """Schema of the step's own columns."""
        return Schema(self.output.fields[len(self.passed) :])
