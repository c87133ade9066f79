"""Lowering of joins to DuckDB's, and of two that SQL lacks: NULL-aware anti join and single join."""

from __future__ import annotations

from sharkpy.base.errors import InternalError
from sharkpy.physical.lowering.lower_expr import lower, lower_logical
from sharkpy.physical.lowering.select import Builder, Select
from sharkpy.physical.lowering.value import Scope, Value
from sharkpy.physical.operators import HashJoin, NestedLoopJoin
from sharkpy.plan.logical import LEFT_ONLY_JOINS, JoinKind

AnyJoin = HashJoin | NestedLoopJoin

_SQL = {
    JoinKind.INNER: "JOIN",
    JoinKind.CROSS: "JOIN",
    JoinKind.LEFT: "LEFT JOIN",
    JoinKind.RIGHT: "RIGHT JOIN",
    JoinKind.FULL: "FULL JOIN",
    JoinKind.SEMI: "SEMI JOIN",
    JoinKind.ANTI: "ANTI JOIN",
    JoinKind.SINGLE: "LEFT JOIN",
}
_MOVES_LEFT_FILTERS = frozenset(JoinKind) - {JoinKind.RIGHT, JoinKind.FULL}
_MOVES_RIGHT_FILTERS = frozenset({JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT})
_TOO_MANY = "error('a scalar subquery gives more than one row [SQLSTATE 21000]')"


def lower_join(plan: AnyJoin, left: Select, right: Select, builder: Builder) -> Select:
    left = _side(left, plan.kind in _MOVES_LEFT_FILTERS, builder)
    right = _side(right, plan.kind in _MOVES_RIGHT_FILTERS, builder)
    if plan.kind is JoinKind.NULL_AWARE_ANTI:
        return _null_aware_anti(plan, left, right)
    if plan.kind is JoinKind.SINGLE and plan.checks_single:
        return _single(plan, left, right, builder)
    return _joined(plan, left, right, plan.kind)


def _side(select: Select, moves_filters: bool, builder: Builder) -> Select:
    """Return a side with the columns of its source. Its filters move above the join only if they may."""
    plain = select.is_open and select.is_simple and (moves_filters or not select.where)
    return select if plain else builder.wrapped(select)


def _joined(plan: AnyJoin, left: Select, right: Select, kind: JoinKind) -> Select:
    scope = _merged(left, right)
    condition = _condition(plan, scope)
    source = f"{left.source}\n  {_SQL[kind]} {_operand(right)} ON {condition or 'true'}"
    visible = left.scope if kind in LEFT_ONLY_JOINS else scope
    return Select(source, visible, (*left.where, *right.where), is_join=True)


def _operand(select: Select) -> str:
    return f"({select.source})" if select.is_join else select.source


def _merged(left: Select, right: Select) -> dict[int, Value]:
    if shared := left.scope.keys() & right.scope.keys():
        raise InternalError(f"both sides of a join produce column #{min(shared)}")
    return {**left.scope, **right.scope}


def _condition(plan: AnyJoin, scope: Scope) -> str:
    terms = [
        _equality(lower(one, scope), lower(other, scope), null_safe)
        for one, other, null_safe in zip(plan.left_keys, plan.right_keys, plan.null_safe, strict=True)
    ]
    if plan.residual is not None:
        terms.append(lower_logical(plan.residual, scope))
    return " AND ".join(terms)


def _equality(left: Value, right: Value, null_safe: bool) -> str:
    sign = "IS NOT DISTINCT FROM" if null_safe else "="
    same_unit = left.integer() and right.integer() and left.scale == right.scale
    one, other = (left.sql, right.sql) if same_unit else (left.logical(), right.logical())
    return f"{one} {sign} {other}"


def _null_aware_anti(plan: AnyJoin, left: Select, right: Select) -> Select:
    """Return rows for which the condition is FALSE on each right row: neither TRUE nor unknown on any."""
    if len(plan.left_keys) == 1 and plan.residual is None and not plan.null_safe[0]:
        probe = lower_logical(plan.left_keys[0], left.scope)
        item = lower_logical(plan.right_keys[0], right.scope)
        return left.filtered(f"{probe} NOT IN ({right.text([item])})")
    condition = _condition(plan, _merged(left, right)) or "true"
    source = f"{left.source}\n  ANTI JOIN {_operand(right)} ON ({condition}) IS NOT FALSE"
    return Select(source, left.scope, left.where, is_join=True)


def _single(plan: AnyJoin, left: Select, right: Select, builder: Builder) -> Select:
    """Return a left join that fails if a left row has several matches."""
    number = builder.name("matches")
    if plan.residual is None:
        keys = ", ".join(lower_logical(key, right.scope) for key in plan.right_keys)
        counted = builder.wrapped(right, [f"count(*) OVER ({f'PARTITION BY {keys}' if keys else ''}) AS {number}"])
        joined = _joined(plan, left, counted, JoinKind.SINGLE)
        return joined.filtered(f"CASE WHEN {number} > 1 THEN CAST({_TOO_MANY} AS BOOLEAN) ELSE true END")
    row = builder.name("row")
    numbered = builder.wrapped(left, [f"row_number() OVER () AS {row}"])
    joined = _joined(plan, numbered, right, JoinKind.SINGLE)
    counted = builder.wrapped(joined, [f"count(*) OVER (PARTITION BY {row}) AS {number}"])
    return counted.filtered(f"CASE WHEN {number} > 1 THEN CAST({_TOO_MANY} AS BOOLEAN) ELSE true END")
