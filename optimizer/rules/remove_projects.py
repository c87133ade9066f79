"""Drop projections without an effect."""

from __future__ import annotations

from sharkpy.optimizer.context import Context
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import LogicalPlan, Project


def remove_projects(plan: LogicalPlan, _context: Context) -> LogicalPlan:
    """Drop each projection to exactly its child's columns."""
    plan = plan.map_children(lambda child: remove_projects(child, _context))
    if isinstance(plan, Project) and all(isinstance(item, ColumnRef) for item in plan.items):
        ids = [item.column_id for item in plan.items]
        child_ids = [column.column_id for column in plan.child.output]
        if ids == child_ids and [i.name for i in plan.items] == [c.name for c in plan.child.output]:
            return plan.child
    return plan
