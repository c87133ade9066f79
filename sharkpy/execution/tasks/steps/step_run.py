"""Context of a step's run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sharkpy.base.cancellation import Cancellation
from sharkpy.values.types import Schema

if TYPE_CHECKING:
    from sharkpy.sources.source import ReadMetrics


@dataclass(frozen=True, slots=True)
class StepRun:
    """Context of a step's run: `passed` are the columns passed on, `output` these and the step's own."""

    passed: Schema
    arguments: Schema
    output: Schema
    end: Cancellation
    """Cancellation of the run: the statement was cancelled, or no more rows are needed."""
    read: ReadMetrics
    """Metrics that count malformed values."""

    @property
    def made(self) -> Schema:
        """Schema of the step's own columns."""
        return Schema(self.output.fields[len(self.passed) :])
