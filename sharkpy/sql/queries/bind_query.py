"""Queries: WITH, followed by a SELECT block, a set operation, VALUES, or a query in parentheses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from sharkpy.base.errors import BindError, TypeMismatchError
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, WindowCall, conjunction
from sharkpy.plan.logical import Aggregate, Join, JoinKind, LogicalPlan, Project, Union, Window
from sharkpy.sql.context import Context, Cte
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.bind_subquery import cast_output
from sharkpy.sql.expressions.expr_binder import ORDER_BY, ExprBinder
from sharkpy.sql.queries.bind_cte import recursive_cte, refers_to
from sharkpy.sql.queries.bind_from import bind_relation
from sharkpy.sql.queries.bind_script import ORDERING, bind_script, find_script
from sharkpy.sql.queries.bind_select import bind_select
from sharkpy.sql.queries.ordering import bind_limit, bind_ordering, order
from sharkpy.sql.scope import Scope, relation_scope
from sharkpy.values.common_types import common_type
from sharkpy.values.types import BOOLEAN, INT

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


_ORDERING = ("order", "sort", "cluster", "distribute", "limit", "offset")
_MAX_JOINS = 200
"""Maximum number of INTERSECTs and EXCEPTs in a chain. Each is a join over the previous ones."""
_WORDS: dict[type[exp.Expr], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}


def bind_set_operation(node: exp.Expr, context: Context, parent: Scope | None) -> LogicalPlan:
    """Bind a chain of set operations, without recursion along its left side."""
    chain: list[exp.Expr] = []
    current = node
    while type(current) in _WORDS and (current is node or not _is_finished(current)):
        chain.append(current)
        current = current.this
    num_joins = sum(not isinstance(operation, exp.Union) for operation in chain)
    if num_joins > _MAX_JOINS:
        message = f"{num_joins} INTERSECTs and EXCEPTs are nested, more than {_MAX_JOINS}"
        raise context.error(message, current, sqlstate="54001")
    plan = context.bind_query(current, context, parent)
    # Inputs of the current union, and whether its rows are distinct. a UNION b UNION c is one union of three inputs.
    unions: list[LogicalPlan] = []
    is_distinct = False
    for operation in reversed(chain):
        # The outermost WITH is already bound. The chain has no other operation with WITH.
        context.only(operation, "this", "expression", "with_", "distinct", *_ORDERING)
        right = context.bind_query(operation.expression, context, parent)
        _check_count(context, operation, plan, right)
        if isinstance(operation, exp.Union):
            wants_distinct = bool(operation.args.get("distinct"))
            if is_distinct and not wants_distinct:
                plan, unions = _distinct(_union(context, node, unions)), []
            if not unions:
                unions.append(plan)
            unions.append(right)
            is_distinct = wants_distinct
            continue
        if unions:
            plan, unions = _united(context, node, unions, is_distinct), []
        plan, is_distinct = _combine(context, operation, plan, right), False
    if unions:
        plan = _united(context, node, unions, is_distinct)
    return _order_and_limit(node, context, plan)


def _is_finished(node: exp.Expr) -> bool:
    """Return whether an operand has its own ORDER BY, LIMIT or WITH, and so is bound separately."""
    return any(node.args.get(key) for key in ("with_", *_ORDERING))


def _check_count(context: Context, node: exp.Expr, left: LogicalPlan, right: LogicalPlan) -> None:
    if len(left.output) != len(right.output):
        message = f"{_WORDS[type(node)]} of {len(left.output)} and {len(right.output)} columns"
        raise context.error(message, node.expression, sqlstate="42826")


def _unified(context: Context, node: exp.Expr, plans: Sequence[LogicalPlan]) -> list[LogicalPlan]:
    """Cast the columns of the plans to common types."""
    targets = []
    for index, columns in enumerate(zip(*(plan.output for plan in plans), strict=True), start=1):
        target = columns[0].dtype
        for column in columns[1:]:
            wider = common_type(target, column.dtype)
            if wider is None:
                message = f"column {index} of {_WORDS[type(node)]} has no common type: {target} and {column.dtype}"
                raise context.error(message, node, TypeMismatchError)
            target = wider
        targets.append(target)
    return [cast_output(context, plan, targets) for plan in plans]


def _union(context: Context, node: exp.Expr, plans: Sequence[LogicalPlan]) -> Union:
    unified = _unified(context, node, plans)
    columns = tuple(context.column(column.name, column.dtype) for column in unified[0].output)
    return Union(tuple(unified), columns)


def _united(context: Context, node: exp.Expr, plans: Sequence[LogicalPlan], is_distinct: bool) -> LogicalPlan:
    union = _union(context, node, plans)
    return _distinct(union) if is_distinct else union


def _distinct(plan: LogicalPlan) -> Aggregate:
    return Aggregate(plan, plan.output, ())


def _combine(context: Context, node: exp.Expr, left: LogicalPlan, right: LogicalPlan) -> LogicalPlan:
    """Bind INTERSECT or EXCEPT. NULL equals NULL."""
    one, other = _unified(context, node, [left, right])
    kind = JoinKind.SEMI if isinstance(node, exp.Intersect) else JoinKind.ANTI
    if node.args.get("distinct"):
        return Join(_distinct(one), other, kind, _equal(one.output, other.output))
    # ALL: the n-th of equal rows matches the n-th one on the other side.
    numbered, other = _numbered(context, one), _numbered(context, other)
    return Project(Join(numbered, other, kind, _equal(numbered.output, other.output)), one.output)


def _equal(left: Sequence[ColumnRef], right: Sequence[ColumnRef]) -> Expr | None:
    return conjunction(Call("eq_null_safe", pair, BOOLEAN) for pair in zip(left, right, strict=True))


def _numbered(context: Context, plan: LogicalPlan) -> Window:
    """Add a column to `plan` that numbers equal rows."""
    number = WindowCall("row_number", (), plan.output, (), None, INT)
    return Window(plan, (Alias(number, next(context.ids), "number"),))


def _order_and_limit(node: exp.Expr, context: Context, plan: LogicalPlan) -> LogicalPlan:
    """Bind ORDER BY and similar clauses over the columns of the result, by name or position."""
    scope = relation_scope(None, None, plan.output, None)
    binder = expr_binder.ExprBinder(context, scope, expr_binder.Clause("ORDER BY"))
    ordering = bind_ordering(node, binder, plan.output)
    return bind_limit(node, context, order(plan, ordering, ordering.exprs))
