"""The rows of a query that stands in several places of one statement, as a table that is in no catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sharkpy.catalog.model import Table

if TYPE_CHECKING:
    from sharkpy.plan.logical import LogicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTable(Table):
    """Computed when a snapshot of the statement first looks at it, and there as long as the snapshot is."""

    query: LogicalPlan = field(compare=False, repr=False)

    @property
    def qualified_name(self) -> str:
        return self.name

    @property
    def queries(self) -> tuple[LogicalPlan, ...]:
        return (self.query,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveTable(QueryTable):
    """WITH RECURSIVE: the rows of `query`, and those that `step` gives again and again of the last new rows, which it
    reads as `last`, until there are none. With `is_distinct`, rows that were there before are not new.
    """

    step: LogicalPlan = field(compare=False, repr=False)
    last: QueryTable = field(compare=False, repr=False)
    is_distinct: bool = field(compare=False, repr=False)

    @property
    def queries(self) -> tuple[LogicalPlan, ...]:
        return (self.query, self.step)
