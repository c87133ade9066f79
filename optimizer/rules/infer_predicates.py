"""Infer conditions from the equalities of joins: a = b and a = 5 imply b = 5."""

from __future__ import annotations

from sharkpy.optimizer.context import Context
from sharkpy.optimizer.function_traits import COMPARISONS
from sharkpy.plan.expr import Alias, Call, ColumnRef, Expr, Literal, conjunction, conjuncts
from sharkpy.plan.logical import (
    LEFT_ONLY_JOINS,
    Aggregate,
    Distribute,
    Filter,
    Join,
    JoinKind,
    Limit,
    LogicalPlan,
    Project,
    Scan,
    Sort,
    Union,
    Values,
)
from sharkpy.plan.references import substitute

Facts = dict[int, tuple[Expr, ...]]
"""Output column -> terms over only that column and literals that hold for every row."""

_CARRIED = COMPARISONS | {"in", "like", "between"}
_TO_RIGHT = (JoinKind.INNER, JoinKind.SEMI, JoinKind.LEFT, JoinKind.SINGLE, JoinKind.ANTI)
_TO_LEFT = (JoinKind.INNER, JoinKind.SEMI, JoinKind.RIGHT)
_ROUNDS = 3


def infer_predicates(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Add filters to the sides of joins; `push_down_filters` moves them on.

    Each filter is added once: below a projection it is no longer a term over a column, and would be inferred again.
    """
    return _visit(plan, context)[0]


def _visit(plan: LogicalPlan, context: Context) -> tuple[LogicalPlan, Facts]:
    match plan:
        case Scan(_, _, _, predicate):
            return plan, _facts(predicate, {})
        case Filter(child, predicate):
            child, facts = _visit(child, context)
            return plan.with_children(child), _facts(predicate, facts)
        case Project(child, items) | Aggregate(child, items, _):
            child, facts = _visit(child, context)
            return plan.with_children(child), _renamed(items, facts) if facts else facts
        case Sort(child) | Distribute(child) | Limit(child):
            child, facts = _visit(child, context)
            return plan.with_children(child), facts
        case Join():
            return _visit_join(plan, context)
        case Values() | Union():
            pass
    return plan.map_children(lambda child: _visit(child, context)[0]), {}


def _facts(predicate: Expr | None, known: Facts) -> Facts:
    new: dict[int, list[Expr]] = {}
    for term in conjuncts(predicate):
        match term:
            case Call(function, (ColumnRef(column_id), *rest)) if function in _CARRIED:
                if all(isinstance(arg, Literal) for arg in rest):
                    new.setdefault(column_id, []).append(term)
    return known | {column_id: (*known.get(column_id, ()), *terms) for column_id, terms in new.items()}


def _renamed(items: tuple[Alias | ColumnRef, ...], facts: Facts) -> Facts:
    found: Facts = {}
    for item in items:
        expr = item.expr if isinstance(item, Alias) else item
        if isinstance(expr, ColumnRef) and expr.column_id in facts:
            terms = facts[expr.column_id]
            if expr is not item:
                ref = ColumnRef(item.column_id, item.name, item.dtype)
                terms = tuple(substitute(term, {expr.column_id: ref}) for term in terms)
            found[item.column_id] = terms
    return found


def _pairs(plan: Join, context: Context) -> list[tuple[ColumnRef, ColumnRef]]:
    """Return the equalities of left and right columns of one type."""
    left_ids = context.output_ids(plan.left)
    found = []
    for term in conjuncts(plan.condition):
        match term:
            case Call("eq", (ColumnRef() as one, ColumnRef() as other)) if one.dtype == other.dtype:
                left_first = one.column_id in left_ids
                if left_first != (other.column_id in left_ids):
                    found.append((one, other) if left_first else (other, one))
    return found


def _visit_join(plan: Join, context: Context) -> tuple[LogicalPlan, Facts]:
    left, left_facts = _visit(plan.left, context)
    right, right_facts = _visit(plan.right, context)
    new_left: list[Expr] = []
    new_right: list[Expr] = []
    if left_facts or right_facts:
        pairs = _pairs(plan, context)
        for _ in range(_ROUNDS):
            before = len(new_left) + len(new_right)
            for one, other in pairs:
                if plan.kind in _TO_RIGHT:
                    new_right += _carry(one, other, left_facts, right_facts)
                if plan.kind in _TO_LEFT:
                    new_left += _carry(other, one, right_facts, left_facts)
            if len(new_left) + len(new_right) == before:
                break
        new_left = _never_added(new_left, plan.left, context)
        new_right = _never_added(new_right, plan.right, context)
    if left is not plan.left or right is not plan.right or new_left or new_right:
        plan = Join(_filtered(left, new_left), _filtered(right, new_right), plan.kind, plan.condition, plan.hint)
    return plan, _output_facts(plan.kind, left_facts, right_facts)


def _never_added(terms: list[Expr], side: LogicalPlan, context: Context) -> list[Expr]:
    """Return the `terms` that no earlier round has added to a side with these columns."""
    ids = context.output_ids(side)
    new = [term for term in terms if (ids, term) not in context.inferred]
    context.inferred.update((ids, term) for term in new)
    return new


def _carry(source: ColumnRef, target: ColumnRef, facts: Facts, target_facts: Facts) -> list[Expr]:
    """Return the facts of `source` as terms over `target`, if they are new there, and add them to its facts."""
    known = dict.fromkeys(target_facts.get(target.column_id, ()))
    carried = [substitute(term, {source.column_id: target}) for term in facts.get(source.column_id, ())]
    new = [term for term in dict.fromkeys(carried) if term not in known]
    if new:
        target_facts[target.column_id] = (*known, *new)
    return new


def _filtered(plan: LogicalPlan, terms: list[Expr]) -> LogicalPlan:
    predicate = conjunction(terms)
    return plan if predicate is None else Filter(plan, predicate)


def _output_facts(kind: JoinKind, left: Facts, right: Facts) -> Facts:
    if kind in (JoinKind.INNER, JoinKind.CROSS):
        return {**left, **right}
    if kind in LEFT_ONLY_JOINS or kind in (JoinKind.LEFT, JoinKind.SINGLE):
        return left
    return right if kind is JoinKind.RIGHT else {}
