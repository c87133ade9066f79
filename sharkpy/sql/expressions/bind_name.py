"""Names: columns, struct fields, array items and map entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import (
    AmbiguousColumnError,
    ColumnNotFoundError,
    SharkError,
    TypeMismatchError,
    did_you_mean,
    there_are,
)
from sharkpy.plan.expr import AggregateCall, Call, Expr, string_literal
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.scope import Resolved
from sharkpy.values.types import BIGINT, INT, INTEGER_TYPES, ArrayType, DataType, MapType, StructType

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

GROUPING_ID = "grouping_id"
MOST_BITS = 63
"""Maximum number of grouping expressions for a grouping id, which is a BIGINT."""
_BESIDE_TEXT = (exp.EQ, exp.NEQ, exp.Like, exp.In, exp.Tuple)
"""Comparisons in which an unknown name may be text without quotes."""
_VIRTUAL_COLUMNS = ("row__offset__inside__block", "row__id")


def name_parts(node: exp.Expr) -> list[str]:
    """Return the parts of a Column's name in lower case, outermost first."""
    keys = ("catalog", "db", "table", "this")
    return [node.args[key].name.lower() for key in keys if node.args.get(key) is not None]


def bind_column(binder: ExprBinder, node: exp.Expr) -> Expr:
    if not isinstance(node.this, exp.Identifier):
        raise binder.context.unsupported(f'"{node.this.key}" here', node)
    return resolve(binder, name_parts(node), node)


def resolve(binder: ExprBinder, parts: Sequence[str], node: exp.Expr) -> Expr:
    """Resolve a dotted name to a column or select item, and select the fields that follow it."""
    name = parts[0]
    if name in binder.variables:
        return _select_fields(binder, binder.variables[name], parts[1:], node)
    if binder.aliases_first and name in binder.aliases:
        return _select_fields(binder, _alias(binder, name, node), parts[1:], node)
    for scope in binder.scope.chain():
        if found := scope.find(parts):
            return _select_fields(binder, _only_one(binder, found, parts, node), found.fields, node)
        # A select item comes before the columns of an outer query.
        if scope is binder.scope and name in binder.aliases:
            return _select_fields(binder, _alias(binder, name, node), parts[1:], node)
    if list(parts) == ["grouping__id"] and binder.clause.aggregates:
        return AggregateCall(GROUPING_ID, (), BIGINT)
    if name in _VIRTUAL_COLUMNS:
        raise binder.context.unsupported(f"the virtual column {name.upper()}", node)
    raise _not_found(binder, parts, node)


def _only_one(binder: ExprBinder, found: Resolved, parts: Sequence[str], node: exp.Expr) -> Expr:
    if len(found.columns) > 1:
        places = dict.fromkeys(f"{column.relation}.{column.name}" for column in found.columns)
        message = f'the column "{".".join(parts)}" is ambiguous'
        hint = f"write {' or '.join(places)}" if len(places) == len(found.columns) else "give each table its own alias"
        raise binder.context.error(message, node, AmbiguousColumnError, hint)
    return found.columns[0].expr


def _alias(binder: ExprBinder, name: str, node: exp.Expr) -> Expr:
    expr = binder.aliases[name]
    if expr is None:
        raise binder.context.error(f'the column "{name}" is ambiguous', node, AmbiguousColumnError)
    if not binder.context.budget.take_copy(expr):
        raise binder.context.too_large(node)
    return expr


def _not_found(binder: ExprBinder, parts: Sequence[str], node: exp.Expr) -> SharkError:
    scopes = list(binder.scope.chain())
    relations = {name for scope in scopes for name in scope.relations}
    names: set[str]
    if len(parts) > 1 and parts[0] not in relations:
        # Neither the table nor a column with fields is known for this qualified name.
        hint = did_you_mean(parts[0], relations) or there_are(relations)
        return binder.context.error(f'no table or alias "{parts[0]}" here', node, ColumnNotFoundError, hint)
    if len(parts) > 1:
        columns = next(found for scope in scopes if (found := scope.relation_columns(parts[0])))
        message, wanted, names = f'no column "{parts[1]}" in "{parts[0]}"', parts[1], {c.name for c in columns}
    else:
        names = {column.name for scope in scopes for column in scope.columns} | set(binder.aliases)
        message, wanted = f'no column "{parts[0]}"', parts[0]
    hint = _meant(binder, parts, node) or did_you_mean(wanted, names) or there_are(names)
    return binder.context.error(message, node, ColumnNotFoundError, hint)


def _meant(binder: ExprBinder, parts: Sequence[str], node: exp.Expr) -> str | None:
    """Hint for an unknown name that names a select item, or that may be text without quotes."""
    select = node.find_ancestor(exp.Select)
    if len(parts) > 1 or not isinstance(node.this, exp.Identifier) or node.this.quoted:
        return None
    if select is not None and parts[0] in (str(item.alias).lower() for item in select.expressions):
        return f"names of select items cannot be used in {binder.clause.name}: write the expression"
    if isinstance(node.parent, _BESIDE_TEXT) and node is not node.parent.this:
        return f"is it text? Then write '{node.this.name}'"
    return None


def bind_dot(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind `expr.field`. A long dotted name is a Column inside Dots."""
    fields: list[str] = []
    inner: exp.Expr = node
    while isinstance(inner, exp.Dot):
        if not isinstance(inner.expression, (exp.Identifier, exp.Var)):
            raise binder.context.unsupported("a function qualified by a database", node)
        fields.insert(0, inner.expression.name.lower())
        inner = inner.this
    if isinstance(inner, exp.Column):
        return resolve(binder, [*name_parts(inner), *fields], node)
    return _select_fields(binder, binder.bind(inner), fields, node)


def _select_fields(binder: ExprBinder, expr: Expr, fields: Sequence[str], node: exp.Expr) -> Expr:
    for name in fields:
        expr = _select_field(binder, expr, name, node)
    return expr


def _select_field(binder: ExprBinder, expr: Expr, name: str, node: exp.Expr) -> Expr:
    dtype = expr.dtype
    struct = dtype.element if isinstance(dtype, ArrayType) else dtype
    if not isinstance(struct, StructType):
        message = f'no field "{name}": {expr} is {dtype}, not a struct'
        raise binder.context.error(message, node, TypeMismatchError)
    if name not in struct.names:
        hint = did_you_mean(name, struct.names)
        raise binder.context.error(f'no field "{name}" in {dtype}', node, ColumnNotFoundError, hint)
    field_type: DataType = struct.types[struct.names.index(name)]
    result = ArrayType(field_type) if isinstance(dtype, ArrayType) else field_type
    return Call("field", (expr, string_literal(name)), result)


def bind_bracket(binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind `array[index]`, counted from 0, and `map[key]`."""
    if len(node.expressions) != 1:
        raise binder.context.unsupported("a slice", node)
    container, key = binder.bind(node.this), binder.bind(node.expressions[0])
    match container.dtype:
        case ArrayType(element) if key.dtype in INTEGER_TYPES:
            return Call("element_at", (container, cast(key, INT)), element)
        case MapType(key_type, value_type):
            return Call("element_at", (container, cast(key, key_type)), value_type)
    message = f"{container} is {container.dtype}: it has no element [{key}]"
    raise binder.context.error(message, node, TypeMismatchError)
