"""Uses of WITH queries: as part of each using query, or as a table if that would become too large."""

from __future__ import annotations

from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import CacheMode, TableKind
from sharkpy.plan.logical import Distribute, LogicalPlan, Scan
from sharkpy.plan.subqueries import SUBQUERIES, QueryTable
from sharkpy.sql.context import Context, Cte
from sharkpy.values.types import NULL, Field, Schema, is_interval, is_nested

MOST_SOURCES = 16
"""Maximum number of sources of a CTE that becomes part of each using query. Each use then prunes separately."""


def bind_cte(context: Context, cte: Cte) -> LogicalPlan:
    """Bind a use of a CTE, with its own column ids.

    A CTE with several uses and many sources is computed once. If it were repeated in each use, a chain of CTEs that
    each use the previous one twice would double at every link.
    """
    if cte.num_uses == 1:
        return context.bind_query(cte.query, cte.context, None)
    bound = cte.bound
    if not bound.is_known:
        bound.plan = context.bind_query(cte.query, cte.context, None)
        bound.table, bound.is_known = _query_table(cte, bound.plan), True
    if bound.table is not None:
        schema = bound.table.schema
        names = (column.name for column in bound.table.query.output)
        columns = tuple(context.column(name, one.dtype) for name, one in zip(names, schema, strict=True))
        return Scan(bound.table, columns, schema.names)
    first, bound.plan = bound.plan, None
    return context.bind_query(cte.query, cte.context, None) if first is None else first


def _query_table(cte: Cte, plan: LogicalPlan) -> QueryTable | None:
    """Table of the rows of `plan`; None if the plan has few sources, or its rows cannot be stored."""
    is_kept = all(not is_interval(one.dtype) and one.dtype != NULL and not is_nested(one.dtype) for one in plan.output)
    is_clustered = any(isinstance(node, Distribute) for node in plan.walk())
    if not is_kept or is_clustered or _num_sources(plan) <= MOST_SOURCES:
        return None
    return QueryTable(
        new_table_id(),
        "",
        cte.name,
        TableKind.TEMPORARY,
        Schema(tuple(Field(f"c{index}", column.dtype) for index, column in enumerate(plan.output))),
        properties=(("shark.cache", CacheMode.MEMORY_ONLY.value),),
        query=plan,
    )


def _num_sources(plan: LogicalPlan) -> int:
    """Number of leaves of a plan, including its subqueries."""
    number = 0
    for node in plan.walk():
        number += not node.children
        inner = (part for expr in node.expressions for part in expr.walk() if isinstance(part, SUBQUERIES))
        number += sum(_num_sources(part.plan) for part in inner)
    return number
