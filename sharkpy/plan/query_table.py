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
