"""Drop orderings that no node above depends on."""

from __future__ import annotations

from sharkpy.optimizer.context import Context
from sharkpy.optimizer.function_traits import ORDER_SENSITIVE_AGGREGATES
from sharkpy.plan.expr import AggregateCall, Alias
from sharkpy.plan.logical import Aggregate, Filter, Join, Limit, LogicalPlan, Project, Sort


def remove_sorts(plan: LogicalPlan, _context: Context) -> LogicalPlan:
    """Drop each Sort below a join, another Sort or an aggregate, unless a Limit is directly above it."""
    return _visit(plan, is_seen=True)


def _visit(plan: LogicalPlan, is_seen: bool) -> LogicalPlan:
    match plan:
        case Sort(child, _, is_global):
            if not is_seen:
                return _visit(child, False)
            return plan.with_children(_visit(child, is_seen=not is_global))
        case Project(child) | Filter(child):
            return plan.with_children(_visit(child, is_seen))
        case Aggregate(child, _, aggregates):
            return plan.with_children(_visit(child, is_seen=any(map(_is_order_sensitive, aggregates))))
        case Join():
            return plan.map_children(lambda child: _visit(child, False))
        case Limit(child):
            return plan.with_children(_visit(child, True))
    return plan.map_children(lambda child: _visit(child, True))


def _is_order_sensitive(item: Alias) -> bool:
    return isinstance(item.expr, AggregateCall) and item.expr.function in ORDER_SENSITIVE_AGGREGATES
