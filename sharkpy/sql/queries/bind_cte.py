"""WITH queries: uses of a CTE, and WITH RECURSIVE.

A CTE is part of each query that uses it, or a table if it would become too large. A recursive CTE has a query of first
rows, UNION [ALL], and a query that reads the rows found last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.catalog.catalog import new_table_id
from sharkpy.catalog.model import CacheMode, TableKind
from sharkpy.plan.logical import Distribute, LogicalPlan, Scan
from sharkpy.plan.subqueries import SUBQUERIES, QueryTable, RecursiveTable
from sharkpy.sql.context import BoundCte, Context, Cte
from sharkpy.sql.expressions.bind_subquery import cast_output
from sharkpy.values.common_types import common_type
from sharkpy.values.types import NULL, STRING, DataType, Field, Schema, is_interval, is_nested

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


_CACHE = ("shark.cache", CacheMode.MEMORY_ONLY.value)


def refers_to(query: exp.Expr, name: str) -> bool:
    return any(table.name.lower() == name and not table.args.get("db") for table in query.find_all(exp.Table))


def recursive_cte(name: str, cte: exp.Expr, names: tuple[str, ...], context: Context) -> Cte:
    """Bind a CTE that refers to itself."""
    query = cte.this
    if not isinstance(query, exp.Union) or refers_to(query.this, name):
        hint = "first rows UNION ALL a query of more rows; only the second part may read the WITH query"
        raise context.error(
            f'the recursive query "{name}" is not a UNION of two parts', cte, hint=hint, sqlstate="42836"
        )
    context.only(query, "this", "expression", "distinct")
    first = context.bind_query(query.this, context, None)
    types = [STRING if column.dtype == NULL else column.dtype for column in first.output]
    step = _step(name, query, names, context, cast_output(context, first, types))
    wider = _wider(name, cte, context, types, step[1])
    if wider != types:
        types = wider
        step = _step(name, query, names, context, cast_output(context, first, types))
    last, more = step
    table = RecursiveTable(
        new_table_id(),
        "",
        name,
        TableKind.TEMPORARY,
        last.schema,
        properties=(_CACHE,),
        query=last.query,
        step=cast_output(context, more, types),
        last=last,
        is_distinct=bool(query.args.get("distinct")),
    )
    return Cte(name, query, names, context, 2, BoundCte(is_known=True, table=table))


def _step(
    name: str, query: exp.Expr, names: tuple[str, ...], context: Context, first: LogicalPlan
) -> tuple[QueryTable, LogicalPlan]:
    """Table of the rows found last, with the columns of `first`, and the query of further rows over it."""
    for column in first.output:
        if is_interval(column.dtype):
            raise context.unsupported(f"{column.dtype} in a recursive query", query)
    fields = tuple(Field(f"c{index}", column.dtype) for index, column in enumerate(first.output))
    last = QueryTable(new_table_id(), "", name, TableKind.TEMPORARY, Schema(fields), properties=(_CACHE,), query=first)
    own = Cte(name, query, names, context, 2, BoundCte(is_known=True, table=last))
    inner = replace(context, ctes={**context.ctes, name: own})
    more = inner.bind_query(query.expression, inner, None)
    if len(more.output) != len(first.output):
        message = f"UNION of {len(first.output)} and {len(more.output)} columns"
        raise context.error(message, query.expression, sqlstate="42826")
    if any(
        _reads(part.plan, last)
        for node in more.walk()
        for expr in node.expressions
        for part in expr.walk()
        if isinstance(part, SUBQUERIES)
    ):
        raise context.unsupported(f'"{name}" in a subquery of an expression of its own query', query.expression)
    return last, more


def _reads(plan: LogicalPlan, table: QueryTable) -> bool:
    """Return whether a plan, or a subquery in it, scans a table."""
    for node in plan.walk():
        if isinstance(node, Scan) and node.table.table_id == table.table_id:
            return True
        inner = (part for expr in node.expressions for part in expr.walk() if isinstance(part, SUBQUERIES))
        if any(_reads(part.plan, table) for part in inner):
            return True
    return False


def _wider(name: str, cte: exp.Expr, context: Context, types: Sequence[DataType], more: LogicalPlan) -> list[DataType]:
    found = []
    for index, (dtype, column) in enumerate(zip(types, more.output, strict=True), start=1):
        wider = common_type(dtype, column.dtype)
        if wider is None:
            message = f'column {index} of "{name}" has no common type: {dtype} and {column.dtype}'
            raise context.error(message, cte, TypeMismatchError)
        found.append(wider)
    return found
