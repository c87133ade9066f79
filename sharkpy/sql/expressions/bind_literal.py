"""Literals, their negation, and casts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import ParseError, SharkError, TypeMismatchError
from sharkpy.plan.expr import Call, Expr, Literal, string_literal
from sharkpy.sql.expressions import literals
from sharkpy.sql.expressions.bind_function import call_scalar
from sharkpy.sql.expressions.coercion import cast
from sharkpy.udf.casts import can_cast
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    INTEGER_TYPES,
    NULL,
    ArrayType,
    DataType,
    MapType,
    StructType,
    is_nested,
    is_string,
)

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def bind_literal(binder: ExprBinder, node: exp.Expr) -> Expr:
    if node.args.get("is_string"):
        return string_literal(node.this)
    return _at(binder, node, lambda: literals.number_literal(node.this))


def _at(binder: ExprBinder, node: exp.Expr, make: object) -> Literal:
    """Return the literal that `make` makes, with errors at the place of `node`."""
    try:
        return make()  # type: ignore[operator,no-any-return]
    except SharkError as error:
        placed = binder.context.error(error.message, node, type(error), error.hint)
        placed.sqlstate = error.sqlstate
        raise placed from None


def bind_bytes(_binder: ExprBinder, node: exp.Expr) -> Expr:
    """Bind X'4142'."""
    return Literal(bytes.fromhex(node.this), BINARY)


def bind_null(_binder: ExprBinder, _node: exp.Expr) -> Expr:
    return Literal(None, NULL)


def bind_boolean(_binder: ExprBinder, node: exp.Expr) -> Expr:
    return Literal(bool(node.this), BOOLEAN)


def bind_interval(binder: ExprBinder, node: exp.Expr) -> Expr:
    value, sign = node.this, ""
    unit = node.args["unit"].name if node.args.get("unit") else ""
    while isinstance(value, (exp.Neg, exp.Paren)):
        sign = ("" if sign else "-") if isinstance(value, exp.Neg) else sign
        value = value.this
    if isinstance(value, exp.Literal):
        return _at(binder, value, lambda: literals.interval_literal(sign + value.this, unit))
    return _interval_of(binder, node, unit)


def _interval_of(binder: ExprBinder, node: exp.Expr, unit: str) -> Expr:
    """Bind INTERVAL (expression) unit: a multiple of one unit."""
    amount = binder.bind(node.this)
    one = literals.interval_literal("1", unit) if " " not in unit else None
    if one is None or not (amount.dtype in INTEGER_TYPES or amount.dtype == NULL):
        message = f"INTERVAL takes a whole number of {unit.lower()}s, and {amount} is {amount.dtype}"
        raise binder.context.error(message, node, TypeMismatchError)
    if isinstance(amount, Literal) and isinstance(amount.value, int):
        return literals.interval_literal(str(amount.value), unit)
    return Call("multiply", (one, cast(amount, BIGINT)), one.dtype)


def bind_negation(binder: ExprBinder, node: exp.Expr) -> Expr:
    if isinstance(node.this, exp.Cast) and (suffix := _suffix(node.this)) is not None:
        # -128Y: 128Y without the sign would not fit.
        number = node.this.this.this
        return _at(binder, node, lambda: literals.suffixed_literal(f"-{number}", suffix))
    operand = binder.bind(node.this)
    if isinstance(operand, Literal) and (negated := literals.negated(operand)):
        return negated
    return call_scalar(binder, "negate", (operand,), node)


def bind_cast(binder: ExprBinder, node: exp.Expr) -> Expr:
    target, value = node.args["to"], node.this
    if isinstance(target, exp.DataType):
        return _typed_literal(binder, node, target)
    if (suffix := _suffix(node)) is not None:
        return _at(binder, value, lambda: literals.suffixed_literal(value.this, suffix))
    expr = binder.bind(value)
    try:
        dtype = parse_type(target.name)
    except ParseError as error:
        raise binder.context.error(error.message, target, ParseError, error.hint, error.sqlstate) from None
    return cast_checked(binder, expr, dtype, node)


def _suffix(node: exp.Expr) -> str | None:
    """Suffix of a number, which the parser turns into a Cast; None for other casts."""
    target = node.args["to"]
    return target.name[1:] if isinstance(target, exp.Var) and target.name.startswith("#") else None


def cast_checked(binder: ExprBinder, expr: Expr, target: DataType, node: exp.Expr) -> Expr:
    """Bind CAST. Raise TypeMismatchError if it is not defined between the types."""
    if not castable(expr.dtype, target):
        message = f"{expr} is {expr.dtype} and cannot be cast to {target}"
        raise binder.context.error(message, node, TypeMismatchError)
    return cast(expr, target)


def _typed_literal(binder: ExprBinder, node: exp.Expr, target: exp.DataType) -> Expr:
    """Bind `date '…'` and `timestamp '…'`."""
    makers = {exp.DType.DATE: literals.date_literal, exp.DType.TIMESTAMP: literals.timestamp_literal}
    maker = makers.get(target.this)
    if maker is None or not isinstance(node.this, exp.Literal):
        name = "TIMESTAMP WITH LOCAL TIME ZONE" if target.this == exp.DType.TIMESTAMPLTZ else target.this.value
        raise binder.context.unsupported(f"a literal of type {name}", node)
    return _at(binder, node.this, lambda: maker(node.this.this))


def castable(source: DataType, target: DataType) -> bool:
    """Return whether CAST is defined between the types. Values that do not fit become NULL."""
    if source in (target, NULL):
        return True
    match source, target:
        case ArrayType(one), ArrayType(other):
            return castable(one, other)
        case MapType(key, value), MapType(other_key, other_value):
            return castable(key, other_key) and castable(value, other_value)
        case StructType(_, types), StructType(_, other_types):
            return len(types) == len(other_types) and all(map(castable, types, other_types))
    if is_nested(source):
        return is_string(target)
    if is_nested(target) or target == NULL:
        return False
    return can_cast(source, target)
