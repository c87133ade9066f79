"""Exchange of rows between tasks: the border between two stages."""

from __future__ import annotations

from sharkpy.base.records import dataclass
from sharkpy.physical.plan import DealtBuckets, Distribution, ExchangeStatistics, Partitioning, PhysicalPlan
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.node import bracketed


@dataclass(frozen=True, slots=True)
class Exchange(PhysicalPlan):
    """Exchange of the child's rows by `partitioning`; `estimated_bytes` decides which exchange runs first."""

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
    """Rows of an exchange whose map stage has run.

    `partitioning` is how its buckets are read, however they were written: Single reads all of them in one task,
    Broadcast in each task. `dealt` says which task reads which bucket, if keys were spread.
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
        """Number of tasks that the read requires."""
        return len(self.dealt.buckets) if self.dealt else self.partitioning.num_buckets

    @property
    def distribution(self) -> Distribution:
        return self.partitioning.distribution

    @property
    def label(self) -> str:
        seen = f" ({self.observed.rows} rows, {self.observed.size_bytes} bytes)" if self.observed else ""
        return f"ExchangeRead {self.exchange_id} {self.partitioning} {bracketed(self.columns)}{seen}"
