"""Moves rows between tasks: the border between two stages."""

from __future__ import annotations

from dataclasses import dataclass

from sharkpy.physical.distribution import DealtBuckets, Distribution, ExchangeStatistics, Partitioning
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.node import listed


@dataclass(frozen=True, slots=True)
class Exchange(PhysicalPlan):
    """The child's rows, moved as `partitioning` says. `estimated_bytes` decides what runs first."""

    exchange_id: int
    child: PhysicalPlan
    partitioning: Partitioning
    estimated_bytes: int | None = None

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.child.output

    @property
    def distribution(self) -> Distribution:
        return self.partitioning.distribution

    @property
    def label(self) -> str:
        return f"Exchange {self.exchange_id} {self.partitioning}"


@dataclass(frozen=True, slots=True)
class ExchangeRead(PhysicalPlan):
    """The rows of an exchange whose map stage has run.

    `partitioning` is how its buckets are read: Single reads all of them in one task, Broadcast all of them
    in every task, whatever they were written as. `dealt`: which task reads which bucket, where keys were spread.
    """

    exchange_id: int
    columns: tuple[ColumnRef, ...]
    partitioning: Partitioning
    observed: ExchangeStatistics | None = None
    dealt: DealtBuckets | None = None

    @property
    def output(self) -> tuple[ColumnRef, ...]:
        return self.columns

    @property
    def num_tasks(self) -> int:
        """The tasks that the read asks for."""
        return len(self.dealt.buckets) if self.dealt else self.partitioning.num_buckets

    @property
    def distribution(self) -> Distribution:
        return self.partitioning.distribution

    @property
    def label(self) -> str:
        seen = f" ({self.observed.rows} rows, {self.observed.size_bytes} bytes)" if self.observed else ""
        return f"ExchangeRead {self.exchange_id} {self.partitioning} {listed(self.columns)}{seen}"
