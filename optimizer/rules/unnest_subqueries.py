"""Replace every subquery expression by a join."""

from __future__ import annotations

from sharkpy.base.errors import UnsupportedError
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.subqueries.attach import Attachment
from sharkpy.optimizer.subqueries.columns import has_subquery, keep_columns, node_has_subquery
from sharkpy.optimizer.subqueries.lateral import plain_join
from sharkpy.plan.expr import Call, Expr, conjunction, conjuncts
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
    from sharkpy.plan.references import column_ids

    if plan.kind in _RIGHT_FILTERED and not column_ids(predicate) & context.output_ids(plan.left):
        right = _unnest_filter(plan.right, predicate, context)
        return Join(plan.left, right, plan.kind, condition, plan.hint)
    return _unnest_sides(plan, context)


def _unnest_sides(plan: Join, context: Context) -> LogicalPlan:
    """Attach each subquery to the side whose columns it uses. Raise UnsupportedError if it uses both."""
    from sharkpy.plan.references import column_ids

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
