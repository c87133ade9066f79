"""Replace every subquery expression, and every lateral join, by joins of independent sides."""

from __future__ import annotations

from sharkpy.base.errors import UnsupportedError
from sharkpy.optimizer.context import Context, has_subquery, keep_columns, node_has_subquery
from sharkpy.optimizer.subqueries.attach import Attachment
from sharkpy.optimizer.subqueries.domain import Domain, is_one_empty_row, null_safe_equal
from sharkpy.optimizer.subqueries.pull_up import Pulled, pull_up
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, conjunction, conjuncts
from sharkpy.plan.logical import (
    LATERAL_JOINS,
    Aggregate,
    Expand,
    Filter,
    Join,
    JoinKind,
    LogicalPlan,
    Project,
    Scan,
    Union,
    Values,
)
from sharkpy.plan.references import column_ids, free_column_ids, substitute
from sharkpy.plan.subqueries import SUBQUERIES, Exists, InSubquery

_RIGHT_FILTERED = (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI)
"""Joins for which a condition term over only the right side is a filter of that side."""


def unnest_subqueries(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Return a plan with the same rows and without subquery expressions.

    EXISTS and IN become semi joins if they are terms of a filter, and their negations become anti joins. Elsewhere they
    become a left join with distinct keys and a flag. Scalar subqueries become a join with the subquery's single row, or
    a left join with an aggregate grouped by the correlated columns. Lateral joins become plain joins.
    """
    plan = plan.map_children(lambda child: unnest_subqueries(child, context))
    if isinstance(plan, Join) and plan.kind in LATERAL_JOINS:
        plan = plain_join(plan, context)
    if not node_has_subquery(plan):
        return plan
    match plan:
        case Filter(child, predicate):
            return _unnest_filter(child, predicate, context)
        case Join():
            return _unnest_join(plan, context)
        case Scan() | Values() | Union():
            raise UnsupportedError(f"subquery in {plan.label}")
    attachment = Attachment(plan.child, unnest_subqueries, context)  # type: ignore[attr-defined]
    replaced = plan.map_expressions(attachment.replace)
    joined = replaced.with_children(attachment.plan)
    return joined if isinstance(plan, (Project, Aggregate, Expand)) else keep_columns(joined, plan.output)


def _unnest_filter(child: LogicalPlan, predicate: Expr, context: Context) -> LogicalPlan:
    terms = conjuncts(predicate)
    plain = [term for term in terms if not has_subquery(term)]
    attachment = Attachment(_filtered(child, plain), unnest_subqueries, context)
    rest: list[Expr] = []
    for term in terms:
        match term:
            case _ if not has_subquery(term):
                pass
            case Exists(plan):
                attachment.semi(plan, (), JoinKind.SEMI)
            case Call("not", (Exists(plan),)):
                attachment.semi(plan, (), JoinKind.ANTI)
            case InSubquery(values, plan):
                attachment.semi(plan, values, JoinKind.SEMI)
            case Call("not", (InSubquery(values, plan),)):
                attachment.semi(plan, values, JoinKind.ANTI)
            case _:
                rest.append(attachment.replace(term, null_is_false=True))
    return keep_columns(_filtered(attachment.plan, rest), child.output)


def _filtered(plan: LogicalPlan, terms: list[Expr]) -> LogicalPlan:
    predicate = conjunction(terms)
    return plan if predicate is None else Filter(plan, predicate)


def _unnest_join(plan: Join, context: Context) -> LogicalPlan:
    terms = conjuncts(plan.condition)
    nested = [term for term in terms if has_subquery(term)]
    condition = conjunction(term for term in terms if not has_subquery(term))
    predicate = conjunction(nested) or nested[0]
    if plan.kind in (JoinKind.INNER, JoinKind.CROSS):
        joined = Join(plan.left, plan.right, JoinKind.INNER if condition else JoinKind.CROSS, condition, plan.hint)
        return _unnest_filter(joined, predicate, context)
    if plan.kind in _RIGHT_FILTERED and not column_ids(predicate) & context.output_ids(plan.left):
        right = _unnest_filter(plan.right, predicate, context)
        return Join(plan.left, right, plan.kind, condition, plan.hint)
    return _unnest_sides(plan, context)


def _unnest_sides(plan: Join, context: Context) -> LogicalPlan:
    """Attach each subquery to the side whose columns it uses. Raise UnsupportedError if it uses both."""
    left, right = (Attachment(side, unnest_subqueries, context) for side in (plan.left, plan.right))
    left_ids, right_ids = (context.output_ids(side) for side in (plan.left, plan.right))

    def placed(expr: Expr) -> Expr:
        if not isinstance(expr, SUBQUERIES):
            return expr
        used = column_ids(expr)
        if not used & right_ids:
            return left.replace(expr)
        if not used & left_ids:
            return right.replace(expr)
        message = f"a subquery over both sides in the condition of a {plan.kind.value} join"
        raise UnsupportedError(message, hint="join with a query that computes it for one side")

    terms = [term.transform_down(placed) for term in conjuncts(plan.condition)]
    joined = Join(left.plan, right.plan, plan.kind, conjunction(terms), plan.hint)
    return keep_columns(joined, plan.output)


# Lateral joins


def plain_join(plan: Join, context: Context) -> LogicalPlan:
    """Return an equivalent join, on the conditions in the right side, or else on the left values used there.

    The ON condition of an inner join becomes a filter above it.
    """
    if plan.kind is JoinKind.LATERAL and plan.condition is not None:
        return Filter(plain_join(Join(plan.left, plan.right, plan.kind), context), plan.condition)
    free = free_column_ids(plan.right)
    kind = JoinKind.INNER if plan.kind is JoinKind.LATERAL else JoinKind.LEFT
    if not free & context.output_ids(plan.left):
        return _joined(plan.left, plan.right, kind, plan.condition)
    pulled = pull_up(plan.right, free, context)
    if pulled is None or pulled.empty is not None or (pulled.deferred and kind is JoinKind.LEFT):
        pulled = _over_domain(plan, free, context)
    condition = conjunction((*pulled.conditions, *(() if plan.condition is None else (plan.condition,))))
    joined = _joined(plan.left, pulled.plan, kind, condition)
    right = (_column(column, pulled.deferred) for column in plan.right.output)
    return Project(joined, (*plan.left.output, *right))


def _over_domain(plan: Join, free: frozenset[int], context: Context) -> Pulled:
    """Compute the right side for each distinct combination of the left values that it uses."""
    columns = [column for column in plan.left.output if column.column_id in free]
    domain = Domain(plan.left, columns, context)
    right, refs = domain.push(plan.right)
    return Pulled(right, tuple(null_safe_equal(column, refs[column.column_id]) for column in columns))


def _joined(left: LogicalPlan, right: LogicalPlan, kind: JoinKind, condition: Expr | None) -> LogicalPlan:
    if kind is JoinKind.LEFT or condition is not None:
        return Join(left, right, kind, condition)
    return left if is_one_empty_row(right) else Join(left, right, JoinKind.CROSS)


def _column(column: ColumnRef, deferred: dict[int, Expr]) -> Alias | ColumnRef:
    """Return a column of the right side. A column that could not be computed there is computed above the join."""
    value = deferred.get(column.column_id)
    return column if value is None else Alias(substitute(value, deferred), column.column_id, column.name)
