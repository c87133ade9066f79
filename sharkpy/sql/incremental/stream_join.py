"""Joins of streams: the rows that an epoch adds, computed from its own rows and the stored rows of both sides.

Conditions on one side are applied before the join, and unused columns are left out, so that fewer rows and columns are
stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sharkpy.base.records import dataclass
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
    Union,
    Window,
)
from sharkpy.plan.references import column_ids, free_column_ids, renumbered
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.sql.incremental.row_wise import (
    Streams,
    expressions_of,
    has_subqueries,
    is_stream_join,
    unsupported,
    varying_function,
)
from sharkpy.sql.incremental.state import NewColumn
from sharkpy.values.types import BOOLEAN

JOIN_GROWTH = "the rows of both sides of a join of streams are kept"
"""Reason why the state of a join grows with the streams."""


@dataclass(frozen=True, slots=True)
class StreamJoin:
    """Inner join of streams. The rows of its sides are stored in the parts `left` and `right` of the state."""

    node: Join
    left: int
    right: int

    def added(self, join: LogicalPlan, kept: Callable[[int], LogicalPlan], new_column: NewColumn) -> LogicalPlan:
        """Rows that an epoch adds. `join` joins the epoch's own rows, `kept` reads the rows of earlier epochs."""
        left, right = join.children
        pairs = (left, right), (left, kept(self.right)), (kept(self.left), right)
        return Union(tuple(with_new_ids(join.with_children(*pair), new_column) for pair in pairs), join.output)


def stream_joins(rows: LogicalPlan, streams: Streams) -> list[Join]:
    """Joins of streams in a row-wise plan. Raise UnsupportedError if their sides cannot be computed twice."""
    found = [node for node in rows.walk() if is_stream_join(node, streams)]
    for side in (side for join in found for side in join.children):
        # A side is computed for the join and again for the state: both have to be equal.
        if (name := varying_function(expressions_of(side))) is not None:
            raise unsupported(f"{name} below a join of two streams", "compute it above the join")
    if any(map(has_subqueries, found)):
        raise unsupported("a subquery in a side of a join of two streams")
    # The plan of a correlated subquery would need the new ids of the columns.
    if found and any(isinstance(part, SUBQUERIES) and free_column_ids(part.plan) for part in expressions_of(rows)):
        raise unsupported("a correlated subquery together with a join of two streams")
    return found


def with_new_ids(plan: LogicalPlan, new_column: NewColumn) -> LogicalPlan:
    """Copy of the plan with new column ids."""
    known: dict[int, int] = {}

    def new_id(column_id: int) -> int:
        if column_id not in known:
            known[column_id] = new_column("", BOOLEAN).column_id
        return known[column_id]

    return renumbered(plan, new_id)


_NAMING = (Project, Filter, Join, Aggregate, Generate, Window, Sort, Limit, Distribute, Scan)
"""Nodes that use only the columns in their expressions. Other nodes use all columns, by position."""


def narrow_joins(query: LogicalPlan, streams: Streams) -> LogicalPlan:
    """Narrow the sides of joins of streams. Return the query itself if it has no such join."""
    if not any(_is_join(node, streams) for node in query.walk()):
        return query
    query = _filtered_sides(query, streams)
    return _with_used(query, query.output_ids, streams)


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


def _with_used(plan: LogicalPlan, used: frozenset[int], streams: Streams) -> LogicalPlan:
    """Plan whose joins have the `used` columns, and the columns that the plan's own nodes above a side use."""
    # A node does not use the columns that it creates.
    own = frozenset(plan.new_columns)
    used |= {one for expr in plan.expressions if expr not in own for one in column_ids(expr)}
    if not isinstance(plan, _NAMING):
        used |= {column.column_id for child in plan.children for column in child.output}
    made = plan.map_children(lambda child: _with_used(child, used, streams))
    return made.with_children(*(_used_of(side, used) for side in made.children)) if _is_join(plan, streams) else made


def _used_of(side: LogicalPlan, used: frozenset[int]) -> LogicalPlan:
    columns = [column for column in side.output if column.column_id in used] or list(side.output[:1])
    return side if len(columns) == len(side.output) else Project(side, tuple(columns))
