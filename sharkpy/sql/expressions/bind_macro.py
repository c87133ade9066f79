"""Macros: expressions over parameters, bound at each call with the cast arguments in place of the parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sharkpy.base.errors import BindError, ParseError, SharkError, TypeMismatchError
from sharkpy.catalog.function_catalog import Macro
from sharkpy.plan.expr import ColumnRef, Expr
from sharkpy.plan.references import substitute
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.coercion import cast_all
from sharkpy.sql.expressions.function_names import called_macro
from sharkpy.sql.grammar.parser import parse
from sharkpy.sql.scope import relation_scope

if TYPE_CHECKING:
    from sharkpy.sql.expressions.expr_binder import ExprBinder

_open_macros: ContextVar[tuple[str, ...]] = ContextVar("open_macros", default=())
"""Macros whose expressions are being bound, the outermost first."""


def bind_macro(binder: ExprBinder, macro: Macro, node: exp.Expr) -> Expr:
    """Expression of a macro over the call's arguments, each cast to the type of its parameter."""
    if len(node.expressions) != len(macro.parameters):
        message = f"the macro {macro.signature} does not take {len(node.expressions)} arguments"
        raise binder.context.error(message, node, TypeMismatchError)
    args = tuple(map(binder.bind, node.expressions))
    with _opened(macro, binder.context, node):
        try:
            expr, columns = macro_expression(macro, binder.context)
        except SharkError as error:
            hint = f"in the macro {macro.signature} {macro.text}"
            raise binder.context.error(error.message, node, type(error), hint, error.sqlstate) from None
    _check_repeated(binder, macro, expr, columns, args, node)
    taken = cast_all(args, [dtype for _, dtype in macro.parameters])
    return substitute(expr, {column.column_id: arg for column, arg in zip(columns, taken, strict=True)})


def macro_expression(macro: Macro, context: Context) -> tuple[Expr, tuple[ColumnRef, ...]]:
    """Expression of a macro over columns that stand for the parameters."""
    from sharkpy.sql.expressions.expr_binder import Clause, ExprBinder

    columns = tuple(context.column(name, dtype) for name, dtype in macro.parameters)
    own = replace(context, text=f"SELECT {macro.text}", ctes={})
    items = parse(own.text).expressions
    if len(items) != 1 or isinstance(items[0], (exp.Alias, exp.Star)):
        raise ParseError("a macro is one expression")
    scope = relation_scope(macro.name, None, columns, None)
    return ExprBinder(own, scope, Clause("a macro")).bind(items[0]), columns


def check_calls(macro: Macro, context: Context) -> None:
    """BindError if the macro calls itself, perhaps through others."""
    waiting, seen = [macro], {macro.name}
    while waiting:
        for node in parse(f"SELECT {waiting.pop().text}").find_all(exp.Anonymous):
            if node.name.lower() == macro.name:
                raise BindError(f"the macro {macro.name} calls itself")
            inner = called_macro(context, node)
            if inner is not None and inner.name not in seen:
                seen.add(inner.name)
                waiting.append(inner)


def _check_repeated(
    binder: ExprBinder, macro: Macro, expr: Expr, columns: Sequence[ColumnRef], args: Sequence[Expr], node: exp.Expr
) -> None:
    """Refuse a repeated parameter for an argument such as rand(), which has one value in a call."""
    from sharkpy.optimizer.function_traits import is_deterministic_function

    uses = [part.column_id for part in expr.walk() if isinstance(part, ColumnRef)]
    for column, arg in zip(columns, args, strict=True):
        if not all(binder.context.budget.take_copy(arg) for _ in range(uses.count(column.column_id))):
            raise binder.context.too_large(node)
        calls = [getattr(part, "function", "") for part in arg.walk()]
        if uses.count(column.column_id) > 1 and not all(map(is_deterministic_function, filter(None, calls))):
            construct = f"{arg} for the parameter {column.name} of {macro.name}, which has it in several places,"
            raise binder.context.unsupported(construct, node)


@contextmanager
def _opened(macro: Macro, context: Context, node: exp.Expr) -> Iterator[None]:
    outer = _open_macros.get()
    if macro.name in outer:
        raise context.error(f"the macro {macro.name} calls itself", node, BindError)
    token = _open_macros.set((*outer, macro.name))
    try:
        yield
    finally:
        _open_macros.reset(token)
