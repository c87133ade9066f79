"""from_json with its options, and schema_of_json, which takes a constant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import TypeMismatchError
from sharkpy.base.parse_limits import shortened
from sharkpy.plan.expr import Call, Expr, Literal
from sharkpy.sql.expressions.function_names import function_name
from sharkpy.udf.from_json import schema_of_json
from sharkpy.values.types import STRING

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder


def bind_from_json(binder: ExprBinder, node: exp.Expr) -> Expr:
    from sharkpy.sql.expressions.bind_function import call_scalar

    args = tuple(map(binder.bind, node.expressions))
    if len(args) == 3:
        args = (*args[:2], _options(binder, args[2], node))
    try:
        return call_scalar(binder, "from_json", args, node)
    except TypeMismatchError as error:
        raise binder.context.error(error.message, node, TypeMismatchError, error.hint) from None


def bind_schema_of_json(binder: ExprBinder, node: exp.Expr) -> Expr:
    match tuple(map(binder.bind, node.expressions)):
        case (Literal(str() as text),):
            try:
                return Literal(schema_of_json(text), STRING)
            except ValueError:
                message = f'schema_of_json: "{shortened(text)}" is not JSON'
                raise binder.context.error(message, node, TypeMismatchError) from None
    raise binder.context.error("schema_of_json takes a constant text", node, TypeMismatchError)


def _options(binder: ExprBinder, given: Expr, node: exp.Expr) -> Literal:
    """Options of a call: a map of constants, as JSON text with names in lower case."""
    match given:
        case Call("map", args) if all(isinstance(arg, Literal) for arg in args):
            texts = [str(arg.value) for arg in args if isinstance(arg, Literal)]
            names = (text.lower() for text in texts[::2])
            return Literal(json.dumps(dict(zip(names, texts[1::2], strict=True))), STRING)
    message = f"the options of {function_name(node)} are a map of constants"
    raise binder.context.error(message, node, TypeMismatchError, "map('dateFormat', 'dd/MM/yyyy')")
