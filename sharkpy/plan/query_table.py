"""The rows of a query that occurs several times in one statement, as a table outside the catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sharkpy.catalog.model import Table

if TYPE_CHECKING:
    from sharkpy.plan.logical import LogicalPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTable(Table):
    """A table computed when a snapshot of the statement first reads it. It lasts as long as the snapshot."""

    query: LogicalPlan = field(compare=False, repr=False)

    @property
    def qualified_name(self) -> str:
        return self.name

    @property
    def queries(self) -> tuple[LogicalPlan, ...]:
        return (self.query,)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecursiveTable(QueryTable):
    """WITH RECURSIVE: the rows of `query`, and the rows of `step`, which runs repeatedly until it adds no rows. `step`
    reads the newest rows as `last`. With `is_distinct`, only rows that did not exist before are new.
    """

    step: LogicalPlan = field(compare=False, repr=False)
    last: QueryTable = field(compare=False, repr=False)
    is_distinct: bool = field(compare=False, repr=False)

    @property
    def queries(self) -> tuple[LogicalPlan, ...]:
        return (self.query, self.step)
