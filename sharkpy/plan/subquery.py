"""Expressions that hold a plan.

A correlated subquery refers to columns of the enclosing plan by the same ids. Columns that it uses but does not produce
are its outer references.
"""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.plan.expr import Expr
from sharkpy.plan.logical import LogicalPlan
from sharkpy.values.types import BOOLEAN, DataType


@dataclass(frozen=True, slots=True)
class ScalarSubquery(Expr):
    """The single value of a plan with one column. NULL without a row, an error with several rows."""

    plan: LogicalPlan

    @property
    def dtype(self) -> DataType:
        return self.plan.output[0].dtype

    def __str__(self) -> str:
        return f"scalar_subquery({self.plan.label})"


@dataclass(frozen=True, slots=True)
class Exists(Expr):
    """Whether a plan has a row."""

    plan: LogicalPlan

    @property
    def dtype(self) -> DataType:
        return BOOLEAN

    def __str__(self) -> str:
        return f"exists({self.plan.label})"


@dataclass(frozen=True, slots=True)
class InSubquery(Expr):
    """`values IN (plan)` under three-valued logic, with as many values as the plan has columns."""

    values: tuple[Expr, ...]
    plan: LogicalPlan

    @property
    def dtype(self) -> DataType:
        return BOOLEAN

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.values))}) IN ({self.plan.label})"


SUBQUERIES = (ScalarSubquery, Exists, InSubquery)
