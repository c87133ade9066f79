"""Fewer stored rows and columns for joins of streams.

Conditions on one side are applied before the join, and unused columns are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.optimizer.function_traits import is_deterministic_function
from sharkpy.plan.expr import Call, Expr, conjunction, conjuncts
from sharkpy.plan.logical import (
    Aggregate,
    Distribute,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Window,
)
from sharkpy.plan.references import column_ids
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.sql.incremental.row_wise import Streams, is_stream_join

_NAMING = (Project, Filter, Join, Aggregate, Generate, Window, Sort, Limit, Distribute, Scan)
"""Nodes that use only the columns in their expressions. Other nodes use all columns, by position."""


def narrowed(query: LogicalPlan, streams: Streams) -> LogicalPlan:
    """Narrow the sides of joins of streams. Return the query itself if it has no such join."""
    if not any(_is_join(node, streams) for node in query.walk()):
        return query
    query = _filtered_sides(query, streams)
    used = {column.column_id for column in query.output}
    for node in query.walk():
        # A node does not use the columns that it creates.
        own = frozenset(node.new_columns)
        for expr in node.expressions:
            used |= frozenset() if expr in own else column_ids(expr)
        if not isinstance(node, _NAMING):
            used |= {column.column_id for child in node.children for column in child.output}
    return _with_used(query, used, streams)


def _is_join(node: LogicalPlan, streams: Streams) -> bool:
    return isinstance(node, Join) and all(map(streams.below, node.children))


def _filtered_sides(plan: LogicalPlan, streams: Streams) -> LogicalPlan:
    """Move conditions on one side of an inner join below the join."""
    terms: Sequence[Expr] = ()
    join = plan
    if isinstance(plan, Filter) and is_stream_join(plan.child, streams):
        terms, join = conjuncts(plan.predicate), plan.child
    if is_stream_join(join, streams):
        sides = (join.left, join.right)
        terms = (*conjuncts(join.condition), *terms)
        own = [[term for term in terms if _is_of(term, side)] for side in sides]
        both = conjunction([term for term in terms if not any(term in some for some in own)])
        left, right = (_filtered(side, some) for side, some in zip(sides, own, strict=True))
        plan = Join(left, right, JoinKind.CROSS if both is None else JoinKind.INNER, both, join.hint)
    return plan.map_children(lambda child: _filtered_sides(child, streams))


def _is_of(term: Expr, side: LogicalPlan) -> bool:
    """Return whether a condition can be checked before the join, for rows of one side."""
    is_plain = not any(
        isinstance(part, SUBQUERIES) or (isinstance(part, Call) and not is_deterministic_function(part.function))
        for part in term.walk()
    )
    ids = column_ids(term)
    return is_plain and bool(ids) and ids <= side.output_ids


def _filtered(side: LogicalPlan, terms: Sequence[Expr]) -> LogicalPlan:
    predicate = conjunction(terms)
    return side if predicate is None else Filter(side, predicate)


def _with_used(plan: LogicalPlan, used: set[int], streams: Streams) -> LogicalPlan:
    made = plan.map_children(lambda child: _with_used(child, used, streams))
    return made.with_children(*(_used_of(side, used) for side in made.children)) if _is_join(plan, streams) else made


def _used_of(side: LogicalPlan, used: set[int]) -> LogicalPlan:
    columns = [column for column in side.output if column.column_id in used] or list(side.output[:1])
    return side if len(columns) == len(side.output) else Project(side, tuple(columns))
