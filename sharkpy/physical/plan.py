"""Base of physical operators: how a relation is computed and where its rows are."""

from __future__ import annotations

from typing import ClassVar

from sharkpy.physical.distribution import Broadcast, Distribution, Hashed, Single, Unspecified
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.node import PlanNode
from sharkpy.values.types import Field, Schema


class PhysicalPlan(PlanNode["PhysicalPlan"]):
    """Physical operator.

    1. `output` is the ordered tuple of its columns; the column with id 12 is named "c12" in SQL and Arrow.
    2. `distribution` says in which tasks the rows are; only Exchanges move rows.
    3. `label` is its one line in EXPLAIN, tests, logs and errors.
    """

    __slots__ = ()
    family: ClassVar[type]

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        raise NotImplementedError(type(self).__name__)

    @property
    def distribution(self) -> Distribution:
        raise NotImplementedError(type(self).__name__)

    @property
    def schema(self) -> Schema:
        """Names and types of the columns that tasks pass on."""
        return Schema(tuple(Field(column_name(column.column_id), column.dtype) for column in self.output))


PhysicalPlan.family = PhysicalPlan


def column_name(column_id: int) -> str:
    """Return the name of a column in SQL and in the Arrow data between stages."""
    return f"c{column_id}"


def union_distribution(distributions: tuple[Distribution, ...]) -> Distribution:
    """Return the distribution of a union of several inputs."""
    if all(isinstance(one, Single) for one in distributions):
        return Single()
    if all(isinstance(one, Broadcast) for one in distributions):
        return Broadcast()
    return Unspecified()


def retained(distribution: Distribution, output: tuple[ColumnRef, ...]) -> Distribution:
    """Return `distribution` after a projection to `output`; a hash of removed columns says nothing."""
    ids = {column.column_id for column in output}
    if isinstance(distribution, Hashed) and not ids.issuperset(distribution.keys):
        return Unspecified()
    return distribution
