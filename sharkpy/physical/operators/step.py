"""Python code over the rows of the operators below, whose output goes to the operators above."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import Distribution
from sharkpy.physical.plan import PhysicalPlan, retained
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.node import bracketed
from sharkpy.plan.row_steps import RowStep


@dataclass(frozen=True, slots=True)
class StepOperator(PhysicalPlan):
    """Step of Python code; the child's columns are `passed`, then the step's arguments."""

    child: PhysicalPlan
    step: RowStep
    columns: tuple[ColumnRef, ...]
    passed: tuple[ColumnRef, ...] = ()

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.passed + self.columns

    @property
    def distribution(self) -> Distribution:
        return retained(self.child.distribution, self.output)

    @property
    def label(self) -> str:
        return f"Step {self.step.label} as {bracketed(self.columns)}"
