"""Joins: kinds, ON, USING, NATURAL, and hints that choose the side to broadcast."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sharkpy.base.errors import ColumnNotFoundError, ParseError, TypeMismatchError
from sharkpy.plan.expr import Call, Expr, conjunction
from sharkpy.plan.logical import LEFT_ONLY_JOINS, Join, JoinKind
from sharkpy.sql.context import Context
from sharkpy.sql.expressions import expr_binder
from sharkpy.sql.expressions.coercion import comparable
from sharkpy.sql.queries.bind_from import Relation, bind_lateral, bind_lateral_view, bind_relation
from sharkpy.sql.queries.table_functions import lateral_join
from sharkpy.sql.scope import Scope, ScopeColumn
from sharkpy.values.types import BOOLEAN

_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.CROSS,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
    ("", "ANTI"): JoinKind.ANTI,
}
_LATERAL_KINDS = {
    JoinKind.INNER: JoinKind.LATERAL,
    JoinKind.CROSS: JoinKind.LATERAL,
    JoinKind.LEFT: JoinKind.LATERAL_LEFT,
}


def bind_joined(
    context: Context, first: exp.Expr, joins: Sequence[exp.Expr], parent: Scope | None, broadcast: frozenset[str]
) -> Relation:
    """Bind a FROM item, and the joins and lateral views that follow it, from left to right.

    `broadcast` are the aliases in MAPJOIN and BROADCAST hints.
    """
    relation = bind_relation(context, first, parent)
    for node in [*(first.args.get("joins") or [] if joins is not first.args.get("joins") else []), *joins]:
        if isinstance(node, exp.Lateral):
            relation = bind_lateral_view(context, relation, node)
        else:
            relation = _bind_join(context, relation, node, parent, broadcast)
    return relation


def _bind_join(
    context: Context, left: Relation, node: exp.Expr, parent: Scope | None, broadcast: frozenset[str]
) -> Relation:
    context.only(node, "this", "on", "using", "side", "kind", "method")
    kind = _kind(context, node)
    item = node.this
    if isinstance(item, exp.Lateral):
        return _bind_lateral_join(context, left, node, kind)
    right = bind_joined(context, item, item.args.get("joins") or [], parent, broadcast)
    natural = node.args.get("method") == "NATURAL"
    if node.args.get("using") or natural:
        names = _shared_names(left.scope, right.scope) if natural else [c.name.lower() for c in node.args["using"]]
        condition, scope = _merge(context, left.scope, right.scope, names, kind, node)
    else:
        scope = left.scope + right.scope
        binder = expr_binder.ExprBinder(context, scope, expr_binder.JOIN_ON)
        condition = binder.predicate(node.args["on"]) if node.args.get("on") else None
        if kind in LEFT_ONLY_JOINS:
            scope = left.scope
    if condition is None:
        kind = JoinKind.CROSS if kind is JoinKind.INNER else kind
    elif kind is JoinKind.CROSS:
        kind = JoinKind.INNER
    hint = _hint(left.scope, right.scope, broadcast)
    return Relation(Join(left.plan, right.plan, kind, condition, hint), scope)


def _bind_lateral_join(context: Context, left: Relation, node: exp.Expr, kind: JoinKind) -> Relation:
    """Bind JOIN LATERAL (query) | function(…). Its right side can use the columns to its left."""
    context.only(node, "this", "on", "side", "kind")
    if kind not in _LATERAL_KINDS:
        raise context.error(f"a {kind.value} join cannot be LATERAL", node, ParseError, "use INNER, CROSS or LEFT JOIN")
    right = bind_lateral(context, node.this, left.scope)
    scope = left.scope + right.scope
    binder = expr_binder.ExprBinder(context, scope, expr_binder.JOIN_ON)
    condition = binder.predicate(node.args["on"]) if node.args.get("on") else None
    return Relation(lateral_join(left.plan, right.plan, _LATERAL_KINDS[kind], condition), scope)


def _kind(context: Context, node: exp.Expr) -> JoinKind:
    method = node.args.get("method")
    if method not in (None, "", "NATURAL"):
        raise context.unsupported(f"{method} JOIN", node)
    words = (node.args.get("side") or "", node.args.get("kind") or "")
    if words not in _KINDS:
        raise context.unsupported(f"{' '.join(words).strip()} JOIN", node)
    kind = _KINDS[words]
    if kind is JoinKind.LEFT and isinstance(node.this, exp.Lateral):
        return kind
    return kind


def _shared_names(left: Scope, right: Scope) -> list[str]:
    names = {column.name for column in right.columns if not column.qualified_only}
    return [column.name for column in left.columns if column.name in names and not column.qualified_only]


def _merge(
    context: Context, left: Scope, right: Scope, names: Sequence[str], kind: JoinKind, node: exp.Expr
) -> tuple[Expr | None, Scope]:
    """Condition of USING or NATURAL, and a scope in which the shared columns come first, once each."""
    terms: list[Expr] = []
    merged: list[ScopeColumn] = []
    for name in names:
        one, other = _using_column(context, left, name, node), _using_column(context, right, name, node)
        operands = comparable((one, other))
        if operands is None:
            message = f'the columns "{name}" cannot be compared: {one.dtype} and {other.dtype}'
            raise context.error(message, node, TypeMismatchError)
        terms.append(Call("eq", operands, BOOLEAN))
        value: Expr = one
        if kind is JoinKind.RIGHT:
            value = other
        elif kind is JoinKind.FULL:
            value = Call("coalesce", operands, operands[0].dtype)
        merged.append(ScopeColumn(None, None, name, value))
    rest = left.columns if kind in LEFT_ONLY_JOINS else left.columns + right.columns
    hidden = [
        ScopeColumn(column.relation, column.database, column.name, column.expr, True)
        if column.name in names
        else column
        for column in rest
    ]
    return conjunction(terms), Scope([*merged, *hidden], left.parent, left.hidden + right.hidden)


def _using_column(context: Context, scope: Scope, name: str, node: exp.Expr) -> Expr:
    found = scope.find([name])
    if found is None:
        raise context.error(f'no column "{name}" on both sides of USING', node, ColumnNotFoundError)
    if len(found.columns) > 1:
        raise context.error(f'the column "{name}" of USING is ambiguous', node, ColumnNotFoundError)
    return found.columns[0].expr


def _hint(left: Scope, right: Scope, broadcast: frozenset[str]) -> str | None:
    if right.relations and right.relations <= broadcast:
        return "broadcast_right"
    if left.relations and left.relations <= broadcast:
        return "broadcast_left"
    return None
