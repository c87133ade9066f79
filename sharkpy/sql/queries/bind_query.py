"""Queries: WITH, followed by a SELECT block, a set operation, VALUES, or a query in parentheses."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from sqlglot import exp

from sharkpy.base.errors import BindError
from sharkpy.plan.logical import LogicalPlan
from sharkpy.sql.context import Context, Cte
from sharkpy.sql.expressions.expr_binder import ORDER_BY, ExprBinder
from sharkpy.sql.queries.bind_from import bind_relation
from sharkpy.sql.queries.bind_limit import bind_limit
from sharkpy.sql.queries.bind_recursive import recursive_cte, refers_to
from sharkpy.sql.queries.bind_script import ORDERING, bind_script, find_script
from sharkpy.sql.queries.bind_select import bind_select
from sharkpy.sql.queries.bind_set_operation import bind_set_operation
from sharkpy.sql.queries.ordering import bind_ordering, order
from sharkpy.sql.scope import Scope, relation_scope

MOST_SUBQUERIES = 100
"""Maximum nesting of subqueries. DuckDB plans them in seconds, and cannot be cancelled during that time."""


def bind_query(node: exp.Expr, context: Context, parent: Scope | None) -> LogicalPlan:
    """Bind a query. `parent` is the scope around a subquery, which may use its columns."""
    if parent is not None and parent.depth > MOST_SUBQUERIES:
        message = f"queries within expressions are nested too deeply: more than {MOST_SUBQUERIES} levels"
        raise context.error(message, node, hint="write them as joins", sqlstate="54001")
    if with_ := node.args.get("with_"):
        context = with_ctes(with_, context)
    match node:
        case exp.Select() if (script := find_script(node)) is not None:
            return _ordered(node, context, bind_script(node, script, context, parent))
        case exp.Select():
            return bind_select(node, context, parent)
        case exp.Union() | exp.Intersect() | exp.Except():
            return bind_set_operation(node, context, parent)
        case exp.Subquery():
            return _bind_parenthesised(node, context, parent)
        case exp.Values():
            return bind_relation(context, node, parent).plan
    raise context.unsupported(f"{node.key.upper()} as a query", node)


def _bind_parenthesised(node: exp.Expr, context: Context, parent: Scope | None) -> LogicalPlan:
    context.only(node, "this", "with_", *ORDERING)
    if isinstance(node.this, exp.Table):
        raise context.error("a query expected in parentheses", node)
    return _ordered(node, context, bind_query(node.this, context, parent))


def _ordered(node: exp.Expr, context: Context, plan: LogicalPlan) -> LogicalPlan:
    """Order and limit `plan` by its own columns, as `node` says."""
    scope = relation_scope(None, None, plan.output, None)
    ordering = bind_ordering(
        node, ExprBinder(context, scope, replace(ORDER_BY, aggregates=False, windows=False)), plan.output
    )
    return bind_limit(node, context, order(plan, ordering, ordering.exprs))


def with_ctes(with_: exp.Expr, context: Context) -> Context:
    """Add CTEs to the context. Each CTE can use the CTEs before it."""
    added: set[str] = set()
    tables = with_.parent.find_all(exp.Table) if with_.parent is not None else ()
    uses = Counter(table.name.lower() for table in tables if not table.args.get("db"))
    for cte in with_.expressions:
        context.only(cte, "this", "alias")
        alias = cte.args["alias"]
        name = alias.this.name.lower()
        if name in added:
            raise context.error(f'the name "{name}" is defined twice in WITH', alias, BindError)
        added.add(name)
        columns = tuple(column.name.lower() for column in alias.args.get("columns") or ())
        if with_.args.get("recursive") and refers_to(cte.this, name):
            definition = recursive_cte(name, cte, columns, context)
        else:
            definition = Cte(name, cte.this, columns, context, max(uses[name], 1))
        context = replace(context, ctes={**context.ctes, name: definition})
    return context
